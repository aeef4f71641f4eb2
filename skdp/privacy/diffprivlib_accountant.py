"""Let estimators of diffprivlib spend from a ledger."""

import functools
import threading
from collections import Counter
from typing import Any

from skdp.privacy.budget import Neighbours, PrivacyBudget
from skdp.privacy.privacy_ledger import PrivacyLedger

__all__ = ["diffprivlib_accountant"]


def diffprivlib_accountant(
    ledger: PrivacyLedger,
    *,
    neighbours: Neighbours | str,
    unit: str = "row",
    purpose: str = "diffprivlib",
) -> Any:
    """Return a `BudgetAccountant` of diffprivlib that spends from a ledger.

    Every estimator and tool of diffprivlib takes it as `accountant`. diffprivlib asks an accountant
    before it looks at the data and tells it afterwards; this one charges when it is asked, so that
    a fit that fails stays paid for. Clones, copies, pickles and workers spend from the same ledger,
    so that a grid search pays for all of its fits.

    Parameters
    ----------
    ledger : PrivacyLedger
        Of filter "renyi", "zcdp" or "basic": of a release of diffprivlib nothing but (epsilon,
        delta) is known.
    neighbours : Neighbours or str
        The relation that you take diffprivlib's promises to hold for; diffprivlib does not state
        one.
    unit : str, default="row"
        Whom they protect.
    purpose : str, default="diffprivlib"
        What is written beside each entry.

    Returns
    -------
    diffprivlib.BudgetAccountant
        Of no limit of its own. `spent_budget` is what was spent through this object; to charge
        something else than a fit of diffprivlib, call the ledger.

    Raises
    ------
    ImportError
        If diffprivlib is not installed.

    Notes
    -----
    *Guarantees.* As good as diffprivlib's own: what its estimators learn from the data without
    noise, such as bounds that were not given, is counted nowhere.

    Examples
    --------
    >>> account = diffprivlib_accountant(ledger, neighbours="replace-one")  # doctest: +SKIP
    >>> GaussianNB(epsilon=1.0, bounds=(0, 1), accountant=account).fit(X, y)  # doctest: +SKIP
    """
    return _made(ledger, Neighbours(neighbours), unit, purpose)


@functools.cache
def _class() -> Any:
    """Return the subclass, made once: diffprivlib accepts nothing but instances of its own."""
    from diffprivlib import BudgetAccountant
    from diffprivlib.utils import Budget

    class LedgerAccountant(BudgetAccountant):  # type: ignore[misc]
        """Charges a ledger when it is asked whether something can be spent."""

        def __init__(
            self, ledger: PrivacyLedger, relation: Neighbours, unit: str, purpose: str
        ) -> None:
            super().__init__()
            self._to = (ledger, relation, unit, purpose)
            self._here = _Thread()

        def check(self, epsilon: float, delta: float) -> bool:
            """Charge before the data is looked at, or raise and charge nothing."""
            super().check(epsilon, delta)
            if not self._here.noting:
                ledger, relation, unit, purpose = self._to
                budget = PrivacyBudget(float(epsilon), float(delta))
                ledger.spend_budget(budget, purpose=purpose, neighbours=relation, unit=unit)
                self._here.charged[epsilon, delta] += 1
            return True

        def spend(self, epsilon: float, delta: float) -> Any:
            """Note what this thread was charged for already, or charge it now."""
            if self._here.charged[epsilon, delta] < 1:
                self.check(epsilon, delta)
            self._here.charged[epsilon, delta] -= 1
            self._here.noting = True  # the parent asks `check` once more
            try:
                return super().spend(epsilon, delta)
            finally:
                self._here.noting = False

        def remaining(self, k: int = 1) -> Any:
            """Return a k-th of what one release may ask the ledger for."""
            left = self._to[0].remaining()
            return Budget(left.epsilon / k, left.delta / k)

        def __sklearn_clone__(self) -> Any:
            return self

        def __copy__(self) -> Any:
            return self

        def __deepcopy__(self, memo: dict[int, Any]) -> Any:
            return self

        def __reduce__(self) -> Any:
            return _made, self._to

        def __repr__(self, n_budget_max: int = 5) -> str:
            return f"LedgerAccountant({self._to[0]!r})"

    return LedgerAccountant


class _Thread(threading.local):
    """What this thread was charged for and has not noted yet."""

    def __init__(self) -> None:
        self.charged: Counter[tuple[float, float]] = Counter()
        self.noting = False


def _made(*to: Any) -> Any:
    return _class()(*to)

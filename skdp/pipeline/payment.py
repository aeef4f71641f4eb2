"""Where the steps of one fit of a pipeline spend: refused as a whole, or paid for as a whole."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from skdp.exceptions import BudgetExceededError, PrivacyError
from skdp.privacy import InMemoryLedger, Ledger, PrivacyBudget, PrivacyLedger, PrivacyStatement
from skdp.privacy.ledger import Spending
from skdp.privacy.ledger_bundles import NotReservedError

__all__ = ["payer"]

Rehearse = Callable[[], Sequence[PrivacyStatement]]


def payer(
    ledger: Ledger | None,
    budgets: Sequence[PrivacyBudget],
    rehearse: Rehearse,
    *,
    fixed: bool,
    purpose: str,
) -> Ledger | None:
    """Return what pays for the steps, or refuse all of them before the first runs.

    Parameters
    ----------
    ledger : Ledger or None
        The user's.
    budgets : sequence of PrivacyBudget
        What each step may spend.
    rehearse : callable
        Returns what the steps will promise; raises ValueError where that cannot be found out.
    fixed : bool
        Whether that follows from public facts alone, also for the steps after the first.
    purpose : str
        What the whole is for.

    Raises
    ------
    BudgetExceededError
        If the ledger cannot pay for all steps. Nothing is spent then.
    """
    if isinstance(ledger, InMemoryLedger):
        _refuse_sums(ledger.remaining(), budgets, purpose)
    if not isinstance(ledger, PrivacyLedger) or ledger.in_bundle:
        return ledger
    try:
        statements = rehearse()
    except ValueError:  # a step takes no made-up rows: it is refused when its turn comes
        return ledger
    if fixed:
        return _Reserved(ledger.reserve(statements, purpose=purpose), ledger)
    ledger.refuse_unaffordable(statements, purpose=purpose)
    return ledger


def _refuse_sums(left: Spending, budgets: Sequence[PrivacyBudget], purpose: str) -> None:
    epsilon = sum(Fraction(repr(budget.epsilon)) for budget in budgets)
    delta = sum(Fraction(repr(budget.delta)) for budget in budgets)
    if epsilon > Fraction(repr(left.epsilon)) or delta > Fraction(repr(left.delta)):
        raise BudgetExceededError(
            f"{purpose} asks for epsilon = {float(epsilon):g}, delta = {float(delta):g}; the "
            f"ledger has {left.epsilon:g}, {left.delta:g} left. Nothing was spent."
        )


@final
@dataclass(frozen=True)
class _Reserved:
    """Takes steps from what is reserved; one that is not what it promised is paid for anew."""

    reserved: PrivacyLedger
    ledger: PrivacyLedger

    def spend(
        self,
        statement: PrivacyStatement,
        *,
        purpose: str,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        try:
            self.reserved.spend(statement, purpose=purpose, parameters=parameters)
        except NotReservedError:
            self.ledger.spend(statement, purpose=purpose, parameters=parameters)

    def cover(self, statement: PrivacyStatement, *, purpose: str, assumption: str) -> None:
        raise PrivacyError("A private pipeline is fitted as a whole.")

    def remaining(self) -> Spending:
        return self.ledger.remaining()

    def history(self) -> Any:
        return self.ledger.history()

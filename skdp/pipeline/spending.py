"""Where the steps of one fit of a pipeline spend."""

from collections.abc import Mapping
from typing import Any, NoReturn, Self, final

from skdp.exceptions import BudgetExceededError, PrivacyError
from skdp.pipeline.splitting import Split
from skdp.pipeline.statements import said_of
from skdp.privacy import Ledger, PrivacyBudget, PrivacyStatement
from skdp.privacy.ledger import LedgerEntry, Spending

__all__ = ["FitBudget"]


@final
class FitBudget:
    """The ledger that private steps see during one fit of a pipeline.

    Refuses a step that would break the budget of the pipeline, has every step paid for by the
    user's ledger, and keeps the statements. Which steps there are was fixed before the first of
    them ran, so that their guarantees may be composed more sharply than by sums.

    Parameters
    ----------
    whole : PrivacyBudget
        What all steps together keep.
    split : Split
        Says whether they do.
    ledger : Ledger or None
        The user's.
    unit : str, default="row"
        What all steps protect.
    """

    def __init__(
        self, whole: PrivacyBudget, split: Split, ledger: Ledger | None, unit: str = "row"
    ) -> None:
        self._whole = whole
        self._split = split
        self._ledger = ledger
        self._unit = unit
        self._entries: list[LedgerEntry] = []

    @property
    def statements(self) -> tuple[PrivacyStatement, ...]:
        """What the steps so far promised."""
        return tuple(entry.statement for entry in self._entries)

    def history(self) -> tuple[LedgerEntry, ...]:
        """All that was charged, oldest first."""
        return tuple(self._entries)

    def remaining(self) -> Spending:
        """What the sums leave."""
        spent = [statement.budget for statement in self.statements]
        return Spending(
            self._whole.epsilon - sum(part.epsilon for part in spent),
            self._whole.delta - sum(part.delta for part in spent),
        )

    def spend(
        self,
        statement: PrivacyStatement,
        *,
        purpose: str,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        """Charge a step before it runs, or raise and charge nothing."""
        statement = said_of(self._unit, statement)
        self._refuse_other_relations(statement, purpose)
        if not self._split.keeps(self._whole, (*self.statements, statement)):
            raise BudgetExceededError(
                f"{purpose} and the steps before it would break the pipeline's budget, epsilon = "
                f"{self._whole.epsilon:g}, delta = {self._whole.delta:g}. Use split='sums', which "
                "holds for every kind of step. This step spent nothing."
            )
        if self._ledger is not None:
            self._ledger.spend(
                statement, purpose=f"{purpose} in a private pipeline", parameters=parameters
            )
        self._entries.append(LedgerEntry(purpose, statement))

    def cover(self, statement: PrivacyStatement, *, purpose: str, assumption: str) -> NoReturn:
        """Refuse: a pipeline is fitted as a whole."""
        raise PrivacyError("A private pipeline is fitted as a whole; it has no partial_fit.")

    def _refuse_other_relations(self, statement: PrivacyStatement, purpose: str) -> None:
        others = {(part.neighbours.value, part.unit) for part in self.statements}
        mine = (statement.neighbours.value, statement.unit)
        if others - {mine}:
            raise ValueError(
                f"{purpose} is stated for {mine}, the steps before it for {sorted(others)}; these "
                "do not add up. Choose steps, or their neighbours or sampling, of one relation."
            )

    def __sklearn_clone__(self) -> Self:
        return self

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("The budget of a running fit cannot be sent to another process.")

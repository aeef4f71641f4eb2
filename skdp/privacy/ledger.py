"""Counting what is spent on one data set."""

import math
import os
import threading
from collections.abc import Iterable, Mapping, Sized
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, Protocol, Self, final, runtime_checkable

from skdp.exceptions import BudgetExceededError, PrivacyError
from skdp.privacy.budget import Neighbours, PrivacyBudget
from skdp.privacy.statement import PrivacyStatement

__all__ = ["InMemoryLedger", "Ledger", "LedgerEntry", "Spending"]


class Spending(NamedTuple):
    """Two sums, either of which may be zero."""

    epsilon: float
    delta: float


@final
@dataclass(frozen=True)
class LedgerEntry:
    """One release that was paid for.

    Attributes
    ----------
    purpose : str
        What it was for.
    statement : PrivacyStatement
        What was promised; its `budget` is what was charged.
    covered_by : str or None, default=None
        Why nothing was charged: the assumption under which an earlier entry covers this one.
    """

    purpose: str
    statement: PrivacyStatement
    covered_by: str | None = None

    @property
    def charged(self) -> Spending:
        """What was charged."""
        if self.covered_by is not None:
            return Spending(0.0, 0.0)
        return Spending(self.statement.budget.epsilon, self.statement.budget.delta)


@runtime_checkable
class Ledger(Protocol):
    """What an estimator asks of its `ledger`."""

    def spend(
        self,
        statement: PrivacyStatement,
        *,
        purpose: str,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        """Charge a release before it is made, or raise and charge nothing.

        `parameters` are those of the estimator, without seed and ledger, to be written down.

        Raises
        ------
        BudgetExceededError
            If what remains does not cover the statement's budget.
        ValueError
            If the statement's neighbouring relation is not the ledger's.
        """

    def cover(self, statement: PrivacyStatement, *, purpose: str, assumption: str) -> None:
        """Enter, at no cost, a release that an earlier entry covers under an assumption."""

    def remaining(self) -> Spending:
        """What is left."""

    def history(self) -> Sized:
        """All that was charged, oldest first."""


@final
class InMemoryLedger:
    """Admits a release if and only if sum epsilon_i <= epsilon and sum delta_i <= delta.

    A filter by basic composition: it holds although each release may be chosen after seeing
    the earlier ones, which sharper accountants (privacy loss distributions) do not allow. What
    was charged is never handed back.

    It lives in one process. `sklearn.base.clone` and `copy.deepcopy` return the ledger itself,
    so that the clones in a grid search count too; pickling raises, since a copy in another
    process would count nothing that is seen here. Before saving a fitted estimator, take the
    ledger out with `set_params(ledger=None)`; to search in parallel use threads
    (`joblib.parallel_backend("threading")`).

    Parameters
    ----------
    epsilon : float
        The cap on the sum of epsilons, above 0.
    delta : float, default=0.0
        The cap on the sum of deltas, in [0, 1). With 0 only pure releases are admitted.
    neighbours : Neighbours or str, default=Neighbours.REPLACE_ONE
        The relation that all releases must share: "replace-one", "zero-out" or
        "add-or-remove-one".

    Notes
    -----
    Sums are exact sums of the decimal numbers as written: ten times 0.1 is 1. Requests of
    delta = 0 are charged 0; the deltas of their finite precision are summed in
    `finite_precision`.

    References
    ----------
    Rogers, Roth, Ullman and Vadhan (2016), Privacy odometers and filters, section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.linear_model import PrivateElasticNetClassifier
    >>> X, y = np.eye(10, 3), np.arange(10) % 2
    >>> ledger = InMemoryLedger(1.5, 1e-5)
    >>> model = PrivateElasticNetClassifier(epsilon=1.0, delta=1e-6, classes=[0, 1], ledger=ledger)
    >>> _ = model.fit(X, y)
    >>> ledger.remaining()
    Spending(epsilon=0.5, delta=9e-06)
    >>> model.fit(X, y)
    Traceback (most recent call last):
    ...
    skdp.exceptions.BudgetExceededError: ...
    """

    def __init__(
        self,
        epsilon: float,
        delta: float = 0.0,
        neighbours: Neighbours | str = Neighbours.REPLACE_ONE,
    ) -> None:
        self._cap = PrivacyBudget(epsilon, delta)
        self._neighbours = Neighbours(neighbours)
        self._entries: list[LedgerEntry] = []
        self._lock = threading.Lock()
        self._process = os.getpid()

    @property
    def cap(self) -> PrivacyBudget:
        """What all releases together stay within, delta up to `finite_precision`."""
        return self._cap

    @property
    def neighbours(self) -> Neighbours:
        """The relation that the cap refers to."""
        return self._neighbours

    def history(self) -> tuple[LedgerEntry, ...]:
        """All that was charged, oldest first."""
        with self._lock:
            return tuple(self._entries)

    def spent(self) -> Spending:
        """The sums of what was charged."""
        epsilon, delta = _sums(entry.charged for entry in self.history())
        return Spending(float(epsilon), float(delta))

    def remaining(self) -> Spending:
        """The cap minus what was charged."""
        epsilon, delta = _sums(entry.charged for entry in self.history())
        cap = self._cap
        return Spending(float(_exact(cap.epsilon) - epsilon), float(_exact(cap.delta) - delta))

    @property
    def finite_precision(self) -> float:
        """Sum of the deltas that pure requests have on a computer; beside the cap on delta."""
        return math.fsum(
            entry.statement.delta
            for entry in self.history()
            if entry.covered_by is None and entry.charged.delta == 0
        )

    def spend(
        self,
        statement: PrivacyStatement,
        *,
        purpose: str,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        """Charge a release before it is made, or raise and charge nothing.

        Parameters
        ----------
        statement : PrivacyStatement
            What will be promised; its `budget` is charged.
        purpose : str
            What it is for.
        parameters : mapping or None, default=None
            Without effect: this ledger does not write them down.

        Raises
        ------
        BudgetExceededError
            If what remains does not cover the statement's budget.
        ValueError
            If the statement's neighbouring relation is not the ledger's.
        PrivacyError
            If this is a copy of the ledger in a forked process.
        """
        self._refuse_forks()
        self._refuse_other_relations(statement, purpose)
        with self._lock:
            self._refuse_overspending(statement.budget, purpose)
            self._entries.append(LedgerEntry(purpose, statement))

    def cover(self, statement: PrivacyStatement, *, purpose: str, assumption: str) -> None:
        """Enter, at no cost, a release that an earlier entry covers under an assumption.

        Parameters
        ----------
        statement : PrivacyStatement
            What is promised.
        purpose : str
            What it is for.
        assumption : str
            Why it costs nothing, such as that no record is in two chunks.
        """
        self._refuse_forks()
        self._refuse_other_relations(statement, purpose)
        with self._lock:
            self._entries.append(LedgerEntry(purpose, statement, covered_by=assumption))

    def _refuse_other_relations(self, statement: PrivacyStatement, purpose: str) -> None:
        if statement.neighbours is not self._neighbours:
            raise ValueError(
                f"This ledger counts {self._neighbours.value} guarantees; "
                f"{purpose} is stated for {statement.neighbours.value}, which do not add up. Make "
                f"a ledger of neighbours={statement.neighbours.value!r}, or choose an estimator, "
                "or its sampling, of the ledger's relation."
            )

    def _refuse_overspending(self, asked: PrivacyBudget, purpose: str) -> None:
        asked_for = Spending(asked.epsilon, asked.delta)
        epsilon, delta = _sums([*(entry.charged for entry in self._entries), asked_for])
        if epsilon > _exact(self._cap.epsilon) or delta > _exact(self._cap.delta):
            raise BudgetExceededError(
                f"{purpose} asks for epsilon = {asked.epsilon:g}, delta = {asked.delta:g}, which "
                f"would bring the sums to {float(epsilon):g}, {float(delta):g}; the cap is "
                f"{self._cap.epsilon:g}, {self._cap.delta:g}. Nothing was spent."
            )

    def _refuse_forks(self) -> None:
        if os.getpid() != self._process:
            raise PrivacyError(
                "An in-memory ledger counts in the process that made it; this is a forked copy, "
                "whose spending nobody would see. Use threads."
            )

    def __sklearn_clone__(self) -> Self:
        return self

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> str:
        raise TypeError(
            "An in-memory ledger cannot be pickled: a copy in another process would spend "
            "without being counted. Run in one process (joblib's threading backend), or take "
            "the ledger out with set_params(ledger=None) before saving an estimator."
        )

    def __repr__(self) -> str:
        cap = self._cap
        return f"InMemoryLedger({cap.epsilon:g}, {cap.delta:g}, {self._neighbours.value})"


def _sums(budgets: Iterable[Spending]) -> tuple[Fraction, Fraction]:
    epsilon = delta = Fraction(0)
    for budget in budgets:
        epsilon += _exact(budget.epsilon)
        delta += _exact(budget.delta)
    return epsilon, delta


def _exact(number: float) -> Fraction:
    """The decimal number that was written, so that 0.1 + 0.2 is 0.3."""
    return Fraction(repr(float(number)))

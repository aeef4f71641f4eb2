"""A calibrated plan and what is done with its releases."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from skdp.records.groups import GroupSlots
from skdp.training.gradients import Array, Rows
from skdp.training.grouped_sampling import SampledGroups
from skdp.training.optimizers import Descent, Optimizer
from skdp.training.plan import TrainingPlan

__all__ = ["TrainingRun"]

#: Parameters, released gradient, state of the optimiser and what is read of them at a time.
_VECTORS = 5


@dataclass(frozen=True)
class TrainingRun:
    """A calibrated plan and what is done with its releases.

    Attributes
    ----------
    plan : TrainingPlan
        What runs and what it costs.
    optimizer : type of Optimizer
        Made of a `Descent` and the parameters to begin with.
    learning_rate : float
        Step size, for the mean gradient.
    decay : float
        Strength of the L2 penalty on everything but the intercepts.
    average : bool
        Whether the result is the mean of the second half of the iterates, or the last one.
    n_free : int
        Number of intercepts, which do not decay.
    """

    plan: TrainingPlan
    optimizer: Callable[[Descent, Array], Optimizer]
    learning_rate: float
    decay: float
    average: bool
    n_free: int

    def __post_init__(self) -> None:
        if not self.learning_rate * self.decay < 1:
            raise ValueError(
                f"alpha times the learning rate must be below 1, got {self.decay!r} times "
                f"{self.learning_rate!r}: such a step would turn the coefficients around."
            )

    def refuse_large_size(self) -> None:
        """Refuse more parameters than there is memory for: sizes are public, so before the spend.

        Raises
        ------
        ValueError
            If vectors of that many parameters, as training needs them, cannot be had.
        """
        try:
            np.empty((_VECTORS, self.plan.size))
        except (MemoryError, ValueError):
            raise ValueError(
                f"There is no memory for {_VECTORS} vectors of {self.plan.size} parameters, which "
                "training needs. Take fewer columns, classes or hidden units."
            ) from None

    def for_records(self, n_records: int) -> Self:
        """Return the run of the same cost over another public number of records."""
        per_epoch = self.plan.sampler.steps_per_epoch
        sampler = self.plan.sampler.for_records(n_records)
        n_steps = max(1, round(self.plan.n_steps / per_epoch * sampler.steps_per_epoch))
        return replace(self, plan=replace(self.plan, sampler=sampler, n_steps=n_steps))

    def over(self, slots: GroupSlots) -> Self:
        """Return the run over groups of which these rows are kept, where they lie in the table."""
        return self._over(slots.rows, slots.starts)

    def _over(self, rows: Rows, starts: Rows) -> Self:
        if not isinstance(self.plan.sampler, SampledGroups):
            raise TypeError("This run was planned for rows, not for groups.")
        sampler = self.plan.sampler.over(rows, starts)
        return replace(self, plan=replace(self.plan, sampler=sampler))

    def refuse_inexact_sums(self) -> None:
        """Refuse, from public facts, sums that rounding would spoil."""
        self.plan.refuse_inexact_sums()

    @property
    def descent(self) -> Descent:
        """The public facts of the descent."""
        n_steps = self.plan.n_steps
        return Descent(
            learning_rates=np.full(n_steps, self.learning_rate),
            divisor=self.plan.sampler.divisor,
            decay=self.decay,
            n_free=self.n_free,
            average_from=n_steps // 2 if self.average else n_steps - 1,
        )

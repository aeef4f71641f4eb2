"""A run of stable SGD, described by public facts alone."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, final

import numpy as np
import numpy.typing as npt

from skdp._random import RandomSource
from skdp._validation import non_negative, positive_integer
from skdp.objectives.losses import Loss
from skdp.stability.domain import Domain
from skdp.stability.sgd_choices import (
    Averaging,
    EveryPass,
    LastIterate,
    Participation,
    Projection,
    ProximalUpdate,
    UpdateRule,
    WholeSpace,
)
from skdp.stability.sgd_steps import StepFacts, StepSizes

__all__ = ["Pass", "StableRun"]

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class Pass(NamedTuple):
    """The batches of one pass: the i-th is ``rows[offsets[i]:offsets[i + 1]]``."""

    rows: Integers
    offsets: Integers


@final
@dataclass(frozen=True)
class StableRun:
    r"""Permutation SGD on ``(1/n) sum_i s_i loss(x_i w; y_i) + l1 norm_1 + (l2/2) norm_2^2``.

    From w_0 = 0, in each of `n_passes` passes the records are put in an order that does not depend
    on them and cut into batches of `batch_size`; step t moves along the sum of the gradients of its
    batch, divided by `batch_size` whatever the length of the batch. ``batch_size = n_samples`` is
    gradient descent with a fixed number of steps.

    Parameters
    ----------
    loss : Loss
    domain : Domain
        Number of records, columns, bounds on rows and weights.
    steps : StepSizes
    n_passes, batch_size : int
    l1, l2 : float, default=0.0
        The penalty; l1 on the features alone, l2 on the intercept, too.
    update : UpdateRule, default=ProximalUpdate()
    averaging : Averaging, default=LastIterate()
    projection : Projection, default=WholeSpace()
    participation : Participation, default=EveryPass()
    reshuffle : bool, default=True
        A fresh order for each pass, or the same for all.
    drop_last : bool, default=False
        Leave out the last batch of a pass where it is shorter than `batch_size`.

    Examples
    --------
    >>> from skdp.objectives import Logistic
    >>> from skdp.stability.sgd_steps import ConstantStep
    >>> run = StableRun(Logistic(), Domain(100, 5, 1.0), ConstantStep(0.5), n_passes=3,
    ...                 batch_size=30)
    >>> run.steps_per_pass, run.n_steps, run.largest_step
    (4, 12, 8.0)
    """

    loss: Loss
    domain: Domain
    steps: StepSizes
    n_passes: int
    batch_size: int = 1
    l1: float = 0.0
    l2: float = 0.0
    update: UpdateRule = field(default_factory=ProximalUpdate)
    averaging: Averaging = field(default_factory=LastIterate)
    projection: Projection = field(default_factory=WholeSpace)
    participation: Participation = field(default_factory=EveryPass)
    reshuffle: bool = True
    drop_last: bool = False

    def __post_init__(self) -> None:
        positive_integer(n_passes=self.n_passes, batch_size=self.batch_size)
        non_negative(l1=self.l1, l2=self.l2)
        if self.batch_size > self.domain.n_samples:
            raise ValueError(
                f"batch_size={self.batch_size} is larger than the number of records, "
                f"{self.domain.n_samples}."
            )

    @property
    def steps_per_pass(self) -> int:
        """m, the number of batches of a pass."""
        whole, left = divmod(self.domain.n_samples, self.batch_size)
        return whole + (left > 0 and not self.drop_last)

    @property
    def n_steps(self) -> int:
        """T, the number of all steps."""
        return self.n_passes * self.steps_per_pass

    @property
    def smoothness(self) -> float:
        """M of the weighted mean loss of a batch: max_weight curvature kappa^2."""
        return self.domain.max_weight * self.loss.smoothness * self.domain.kappa**2

    @property
    def has_kink(self) -> bool:
        """Whether the loss is not smooth."""
        return math.isinf(self.loss.smoothness)

    @property
    def step_facts(self) -> StepFacts:
        """What the schedule may know."""
        alpha = self.l1 + self.l2
        typical = alpha**-0.25 if alpha > 0 else 0.0
        steepness = self.loss.gradient_bound(1.0, typical)
        return StepFacts(self.smoothness, self.l2, alpha, steepness)

    @cached_property
    def sizes(self) -> Array:
        """eta_1, ..., eta_T."""
        return self.steps.sizes(self.n_steps, self.step_facts)

    @property
    def largest_step(self) -> float:
        """Largest step size for which a step on the same batch stretches no distance."""
        return self.update.largest_step(self.smoothness, self.l2)

    def passes(self, rng: RandomSource) -> Iterator[Pass]:
        """Draw the order of the records, pass by pass, and who sits out."""
        # The bounds hold for every order, so it need not be cryptographic; masks see to their own.
        order, n = rng.generator(), self.domain.n_samples
        mask = self.participation.mask(n, self.n_passes, rng)
        edges = np.minimum(np.arange(self.steps_per_pass + 1) * self.batch_size, n)
        rows = order.permutation(n)
        for number in range(self.n_passes):
            if number and self.reshuffle:
                rows = order.permutation(n)
            yield Pass(rows, edges) if mask is None else _kept(rows, edges, mask[number])


def _kept(rows: Integers, edges: Integers, mask: npt.NDArray[np.bool_]) -> Pass:
    """Take out the rows that sit out; batches keep their place."""
    counts = mask[rows]
    before = np.concatenate([[0], np.cumsum(counts)])
    return Pass(rows[counts], before[edges])

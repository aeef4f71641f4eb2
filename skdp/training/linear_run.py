"""A training run of a linear model: by the loop, or with the noise drawn only where it is read."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

import numpy as np
from scipy.sparse import issparse

from skdp._random import RandomSource
from skdp.objectives.losses import Loss
from skdp.training.glm import GlmGradients
from skdp.training.gradients import Array
from skdp.training.optimizers import SGD, Descent, Optimizer
from skdp.training.plan import TrainingPlan
from skdp.training.private_loop import Progress, dpsgd
from skdp.training.sampling import Batches
from skdp.training.steps import DenseStep

__all__ = ["LAZY_NOISE", "LinearRecords", "LinearRun"]

LAZY_NOISE = (
    "Noise on coordinates that no record of a batch touches is drawn in sums, as continuous "
    "noise in double precision, and the released coefficients are rounded once, far more "
    "coarsely than that; the law is that of noise in every step, in real arithmetic."
)


class LinearRecords(NamedTuple):
    """Records of a generalised linear model.

    Attributes
    ----------
    X : ndarray (C order) or CSR matrix of shape (n_records, n_features), float64 or float32
        CSR without duplicate entries.
    targets : ndarray of shape (n_records,)
        As `loss` wants them.
    loss : Loss
        Convex function of the scores.
    fit_intercept : bool
        Whether a constant column belongs to each record.
    """

    X: Any
    targets: Array
    loss: Loss
    fit_intercept: bool


@final
@dataclass(frozen=True)
class LinearRun:
    """A calibrated plan and what is done with its releases.

    Attributes
    ----------
    plan : TrainingPlan
        What runs and what it costs.
    optimizer : type of Optimizer
        `SGD` or `Adam`.
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
    optimizer: type[Optimizer]
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

    @property
    def lazy(self) -> bool:
        """Whether noise may wait until it is read, on sparse rows.

        Adam reads its moments, and a selection reads every coordinate, in every step.
        """
        return self.optimizer is SGD and not self.plan.selector.selects

    def for_records(self, n_records: int) -> "LinearRun":
        """Return the run of the same cost over another public number of records."""
        per_epoch = self.plan.sampler.steps_per_epoch
        sampler = self.plan.sampler.for_records(n_records)
        n_steps = max(1, round(self.plan.n_steps / per_epoch * sampler.steps_per_epoch))
        return replace(self, plan=replace(self.plan, sampler=sampler, n_steps=n_steps))

    def train(
        self,
        records: LinearRecords,
        start: Array | None,
        rng: RandomSource,
        progress: Progress | None = None,
    ) -> Array:
        """Return the released parameters, flat; `start` is where to begin, None for zeros."""
        if self.lazy and issparse(records.X):
            return self._train_lazily(records, start, rng, progress)
        gradients = GlmGradients(
            records.X, records.targets, records.loss, fit_intercept=records.fit_intercept
        )
        begin = np.zeros(self.plan.size) if start is None else start
        return dpsgd(self.plan, gradients, self.optimizer(self._descent, begin), rng, progress)

    @property
    def _descent(self) -> Descent:
        n_steps = self.plan.n_steps
        return Descent(
            learning_rates=np.full(n_steps, self.learning_rate),
            divisor=self.plan.sampler.divisor,
            decay=self.decay,
            n_free=self.n_free,
            average_from=n_steps // 2 if self.average else n_steps - 1,
        )

    def _train_lazily(
        self,
        records: LinearRecords,
        start: Array | None,
        rng: RandomSource,
        progress: Progress | None,
    ) -> Array:
        from skdp.training.lazy_dpsgd import lazy_dpsgd

        plan, descent = self.plan, self._descent
        batches, noise = rng.spawn(), rng.spawn()
        blocks = plan.sampler.blocks(records.X.shape[0], plan.n_steps, batches)
        return lazy_dpsgd(
            records.X,
            records.targets,
            records.loss,
            fit_intercept=records.fit_intercept,
            start=start,
            batches=blocks if progress is None else _reported(blocks, progress),
            learning_rates=descent.learning_rates,
            noise_stds=_standard_deviations(plan),
            divisor=descent.divisor,
            max_norm=plan.max_grad_norm,
            decay=descent.decay,
            averaging=descent.averaging,
            rng=noise,
        )


def _reported(blocks: Iterator[Batches], progress: Progress) -> Iterator[Batches]:
    made = 0
    for block in blocks:
        yield block
        made += len(block.offsets) - 1
        progress(made)


def _standard_deviations(plan: TrainingPlan) -> Array:
    """Of the noise that the plan's mechanisms account for, step by step."""
    steps = [step for step in plan.steps() if isinstance(step, DenseStep)]
    return np.array([step.noise.standard_deviation for step in steps])

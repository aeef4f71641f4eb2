"""A training run of a linear model: by the loop, or with the noise drawn only where it is read."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from scipy.sparse import issparse

from skdp._random import RandomSource
from skdp.objectives.losses import Loss
from skdp.training.fused_dpsgd import fused_dpsgd
from skdp.training.glm import GlmGradients
from skdp.training.gradients import Array
from skdp.training.optimizers import SGD
from skdp.training.plan import TrainingPlan
from skdp.training.private_loop import Progress, dpsgd
from skdp.training.run import TrainingRun
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
class LinearRun(TrainingRun):
    """A run of a linear model; see `TrainingRun` for what it is made of."""

    @property
    def lazy(self) -> bool:
        """Whether noise may wait until it is read, on sparse rows.

        Adam reads its moments, and a selection reads every coordinate, in every step.
        """
        return self.optimizer is SGD and not self.plan.selector.selects

    @property
    def fused(self) -> bool:
        """Whether compiled code may make many steps in one call: a selection comes in between."""
        return not self.plan.selector.selects

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
        optimizer = self.optimizer(self.descent, begin)
        if self.fused and gradients.descends and isinstance(optimizer, SGD):
            return fused_dpsgd(self.plan, gradients, optimizer, rng, progress)
        return dpsgd(self.plan, gradients, optimizer, rng, progress)

    def _train_lazily(
        self,
        records: LinearRecords,
        start: Array | None,
        rng: RandomSource,
        progress: Progress | None,
    ) -> Array:
        from skdp.training.lazy_dpsgd import lazy_dpsgd

        plan, descent = self.plan, self.descent
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

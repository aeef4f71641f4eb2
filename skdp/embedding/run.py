"""A training run of word vectors."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import final

import numpy as np

from skdp._random import RandomSource
from skdp.embedding.fused import can_fuse, fused_dpsgd
from skdp.embedding.fused_coordinates import can_fuse_coordinates, fused_coordinates_dpsgd
from skdp.embedding.fused_dense import can_fuse_dense, fused_dense_dpsgd
from skdp.embedding.gradients import SPARE_RECORDS, CbowGradients, norm_for_rows
from skdp.embedding.records import CbowRecords
from skdp.embedding.row_selection import RowStep
from skdp.mechanisms.continuous import normals
from skdp.training.gradients import Array
from skdp.training.optimizers import Adam, Optimizer
from skdp.training.private_loop import Progress, dpsgd
from skdp.training.run import TrainingRun
from skdp.training.steps import SurvivorsStep

__all__ = ["CbowRun"]


@final
@dataclass(frozen=True)
class CbowRun(TrainingRun):
    """A run of word vectors.

    Attributes
    ----------
    vector_size : int
        Length of a vector.
    init_scale : float
        Standard deviation of the coordinates that training starts from.
    """

    vector_size: int
    init_scale: float

    def refuse_lost_rows(self, most_rows: int) -> None:
        """Refuse, from public facts, so much noise that norms of rows are lost in rounding."""
        step = self.plan.step_at(max(self.plan.multipliers()))
        if isinstance(step, RowStep) and not isinstance(step.by_row, SurvivorsStep):
            most_records = SPARE_RECORDS * self.plan.sampler.public_size
            norm_for_rows(*step.sums[0], most_rows, self.vector_size, most_records)

    def train(
        self,
        records: CbowRecords,
        rng: RandomSource,
        progress: Progress | None = None,
        watch: Callable[[int, Array], None] | None = None,
        every: int = 1,
    ) -> Array:
        """Return the released vectors, shape (n_words, vector_size).

        `watch`, for experiments, is told before each step that is a multiple of `every` how many
        were made, and the vectors, which are as private then as at the end.
        """
        optimizer = self.optimizer(self.descent, self._beginning(rng.spawn()))
        gradients = CbowGradients(
            records,
            self.vector_size,
            most_records=SPARE_RECORDS * self.plan.sampler.public_size,
            key=rng.spawn().words(1)[0],
        )

        def begin(made: int) -> None:
            gradients.begin(made)
            if watch is not None and made % every == 0:
                watch(made, self._table(optimizer))

        loop = self._loop(gradients, optimizer, self.plan.n_steps if watch is None else every)
        return self._rows(loop(self.plan, gradients, optimizer, rng, progress, begin))

    def _loop(
        self, gradients: CbowGradients, optimizer: Optimizer, every: int
    ) -> Callable[..., Array]:
        """Return what makes the steps: compiled code, where that is the same as the loop."""
        if self.fused and isinstance(optimizer, Adam):
            if can_fuse(self.plan, gradients):
                return partial(fused_dpsgd, every=every)
            if can_fuse_coordinates(self.plan, gradients):
                return partial(fused_coordinates_dpsgd, every=every)
            if can_fuse_dense(self.plan, gradients):
                return fused_dense_dpsgd
        return dpsgd

    @property
    def fused(self) -> bool:
        """Whether compiled code may make many steps in one call."""
        return True

    def _beginning(self, rng: RandomSource) -> Array:
        start: Array = self.init_scale * normals(self.plan.size, rng)
        return start

    def _table(self, optimizer: Optimizer) -> Array:
        return self._rows(optimizer.scale * optimizer.values)

    def _rows(self, values: Array) -> Array:
        return np.array(values.reshape(-1, self.vector_size))

"""A training run of a network."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self, final

import numpy as np

from skdp._random import RandomSource
from skdp.objectives.losses import Loss
from skdp.records.groups import GroupSlots
from skdp.training.adaptive_run import AdaptiveRun, adaptive_dpsgd
from skdp.training.centre import Centre
from skdp.training.components import Components
from skdp.training.frame import Frame
from skdp.training.gradients import Array, Rows
from skdp.training.mlp_gradients import MlpGradients, summation_depth
from skdp.training.mlp_network import Network
from skdp.training.mlp_rounding import refuse_coarse_sums
from skdp.training.private_loop import Progress, dpsgd
from skdp.training.run import TrainingRun

__all__ = ["MlpRun"]


@final
@dataclass(frozen=True)
class MlpRun(TrainingRun):
    """A run of a network.

    Attributes
    ----------
    network : Network
        Shapes and activation.
    centre : Centre, Components or None
        What is released of the rows before training: the frame that they are seen from.
    row_scale : float, default=1.0
        What rows less a centre are multiplied by for training; public.
    empty : ndarray of int or None, default=None
        Rows that stand for none: they have a place in batches and add nothing.
    """

    network: Network
    centre: Centre | Components | None
    row_scale: float = 1.0
    empty: Rows | None = field(default=None, compare=False, repr=False)

    def over(self, slots: GroupSlots) -> Self:
        """Return the run over the table of all slots of groups.

        A batch then has the same shape whatever rows a group has, and every row its place.
        """
        starts = np.arange(slots.n_groups + 1) * slots.per_group
        return replace(self._over(np.arange(slots.n_slots), starts), empty=slots.empty)

    def within(self, frame: Frame) -> Self:
        """Return the run of the same cost over rows that are seen from a frame."""
        network = frame.network(self.network)
        return replace(self, network=network, plan=replace(self.plan, size=network.n_parameters))

    def refuse_inexact_sums(self) -> None:
        super().refuse_inexact_sums()
        n_records = self.plan.sampler.public_size * self.plan.sampler.rows_per_unit
        depth = summation_depth(self.network, n_records)
        coarsest = self.plan.step_at(max(self.plan.multipliers()))
        for norm, grid in coarsest.sums:
            refuse_coarse_sums(norm, grid, self.plan.size, n_records, depth)

    def train(
        self,
        X: Any,
        targets: Array,
        loss: Loss,
        start: Array | None,
        rng: RandomSource,
        progress: Progress | None = None,
    ) -> Array:
        """Return the released parameters, flat; `start` is where to begin, None for afresh.

        `X` holds rows within the frame, times `row_scale`, and parameters are those for such rows.
        """
        gradients = MlpGradients(X, targets, loss, self.network, self.empty)
        optimizer = self.optimizer(self.descent, self._beginning(start, rng))
        return dpsgd(self.plan, gradients, optimizer, rng, progress)

    def train_adaptively(
        self,
        X: Any,
        targets: Array,
        loss: Loss,
        start: Array | None,
        rng: RandomSource,
        progress: Progress | None,
        score: Callable[[Array], float],
    ) -> AdaptiveRun:
        """Return the last iterate of a run whose noise depends on `score` of the iterates."""
        gradients = MlpGradients(X, targets, loss, self.network, self.empty)
        optimizer = self.optimizer(self.descent, self._beginning(start, rng))
        return adaptive_dpsgd(self.plan, gradients, optimizer, rng, progress, score)

    def _beginning(self, start: Array | None, rng: RandomSource) -> Array:
        if start is not None:
            return start
        return self.network.lengthened(self.network.initial(rng.spawn()), self.row_scale)

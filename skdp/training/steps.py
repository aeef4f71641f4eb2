"""One step: from the gradients of a batch to an update that is released."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, final

import numpy as np

from skdp._random import RandomSource
from skdp.mechanisms import Mechanism
from skdp.mechanisms.gaussian_selection import GaussianThreshold, GaussianTopK
from skdp.mechanisms.grid_gaussian import GridGaussianMechanism
from skdp.mechanisms.statistics import Selection, SparseSum
from skdp.training.gradients import Array, Batch, Rows

if TYPE_CHECKING:
    from dp_accounting import DpEvent

__all__ = ["DenseStep", "RefinedStep", "Step", "SurvivorsStep", "TopKStep", "Update"]

Update = Array | Selection


class Step(Protocol):
    """Releases a noisy sum of clipped gradients: all coordinates, or the selected ones."""

    @property
    def event(self) -> "DpEvent":
        """What one step costs a record that takes part in it."""

    @property
    def sums(self) -> tuple[tuple[float, float], ...]:
        """The norm of a record's vector, and the grid, of each sum that is taken."""

    @property
    def theorem(self) -> str:
        """What `event` rests on."""

    def release(self, batch: Batch, rng: RandomSource) -> Update:
        """Return the noisy sum over the records of a batch."""


@final
@dataclass(frozen=True)
class DenseStep:
    """Noise on every coordinate.

    Attributes
    ----------
    max_norm : float
        Norm to which each record's gradient is clipped.
    noise : GridGaussianMechanism
        What releases the sum.
    """

    max_norm: float
    noise: GridGaussianMechanism

    @property
    def event(self) -> "DpEvent":
        return self.noise.event

    @property
    def sums(self) -> tuple[tuple[float, float], ...]:
        return ((self.max_norm, self.noise.grid),)

    @property
    def theorem(self) -> str:
        return self.noise.theorem

    def release(self, batch: Batch, rng: RandomSource) -> Update:
        total = batch.clipped_sum(max_norm=self.max_norm, grid=self.noise.grid)
        dense = total.toarray() if isinstance(total, SparseSum) else total
        released: Array = self.noise.release(dense, rng)
        return released


@final
@dataclass(frozen=True)
class TopKStep:
    """The largest noisy coordinates of one Gaussian release are the update themselves.

    Attributes
    ----------
    max_norm : float
        Norm to which each record's gradient is clipped.
    selection : GaussianTopK
        Adds noise to every coordinate, in law, and keeps the largest.
    """

    max_norm: float
    selection: GaussianTopK

    @property
    def event(self) -> "DpEvent":
        return self.selection.event

    @property
    def sums(self) -> tuple[tuple[float, float], ...]:
        return ((self.max_norm, self.selection.grid),)

    @property
    def theorem(self) -> str:
        return self.selection.theorem

    def release(self, batch: Batch, rng: RandomSource) -> Update:
        total = batch.clipped_sum(max_norm=self.max_norm, grid=self.selection.grid)
        chosen: Selection = self.selection.release(total, rng)
        return chosen


@final
@dataclass(frozen=True)
class RefinedStep:
    """Coordinates are selected first; their sum, clipped once more, is released by noise.

    Both releases see the same records, so their cost is composed before it is amplified.

    Attributes
    ----------
    max_norm : float
        Norm to which each record's gradient is clipped for the selection.
    selection : Mechanism
        Selects coordinates.
    selection_grid : float
        Grid of the sums that it sees.
    selected_norm : float
        Norm to which each record's gradient on the selected coordinates is clipped.
    noise : GridGaussianMechanism
        Releases the sum there; made for as many coordinates as can be selected.
    """

    max_norm: float
    selection: Mechanism[Selection]
    selection_grid: float
    selected_norm: float
    noise: GridGaussianMechanism

    @property
    def event(self) -> "DpEvent":
        return _both(self.selection, self.noise)

    @property
    def sums(self) -> tuple[tuple[float, float], ...]:
        return (self.max_norm, self.selection_grid), (self.selected_norm, self.noise.grid)

    @property
    def theorem(self) -> str:
        return f"{self.selection.theorem}; {self.noise.theorem}"

    def release(self, batch: Batch, rng: RandomSource) -> Update:
        total = batch.clipped_sum(max_norm=self.max_norm, grid=self.selection_grid)
        chosen: Selection = self.selection.release(total, rng)
        return _refined(self, chosen.indices, batch, rng)


@final
@dataclass(frozen=True)
class SurvivorsStep:
    """Coordinates that enough records touch survive; their sum is released by noise.

    Attributes
    ----------
    map_norm : float
        Norm to which each record's 0/1 vector of touched coordinates is scaled down.
    selection : GaussianThreshold
        Keeps the coordinates whose noisy count reaches a threshold.
    selected_norm, noise
        As for `RefinedStep`.
    """

    map_norm: float
    selection: GaussianThreshold
    selected_norm: float
    noise: GridGaussianMechanism

    @property
    def event(self) -> "DpEvent":
        return _both(self.selection, self.noise)

    @property
    def sums(self) -> tuple[tuple[float, float], ...]:
        return (self.map_norm, self.selection.grid), (self.selected_norm, self.noise.grid)

    @property
    def theorem(self) -> str:
        return f"{self.selection.theorem}; {self.noise.theorem}"

    def release(self, batch: Batch, rng: RandomSource) -> Update:
        touched = batch.contribution_map(max_norm=self.map_norm, grid=self.selection.grid)
        chosen: Selection = self.selection.release(touched, rng)
        return _refined(self, chosen.indices, batch, rng)


def _both(selection: Mechanism[Selection], noise: Mechanism[Array]) -> "DpEvent":
    from dp_accounting import dp_event

    return dp_event.ComposedDpEvent([selection.event, noise.event])


def _refined(
    step: RefinedStep | SurvivorsStep, chosen: Rows, batch: Batch, rng: RandomSource
) -> Selection:
    if not len(chosen):
        return Selection(chosen, np.zeros(0))
    total = batch.restricted_sum(chosen, max_norm=step.selected_norm, grid=step.noise.grid)
    noise = replace(step.noise, size=len(chosen))
    return Selection(chosen, noise.release(total, rng))

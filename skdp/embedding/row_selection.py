"""Whole rows of the table of vectors are selected, in place of single coordinates."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, cast, final

import numpy as np
import numpy.typing as npt

from skdp._random import RandomSource
from skdp.mechanisms.grid_gaussian import GridGaussianMechanism
from skdp.mechanisms.statistics import Selection, SparseSum
from skdp.training.gradients import Array, Batch, Rows
from skdp.training.sampling import Sampler
from skdp.training.selectors import CoordinateSelector
from skdp.training.steps import RefinedStep, Step, SurvivorsStep

if TYPE_CHECKING:
    from dp_accounting import DpEvent

__all__ = ["RowStep", "WholeRows"]


class RowGradients(Protocol):
    """What a step on rows asks of a model; see `CbowGradients`."""

    def row_scores(
        self, values: Array, scale: float, rows: Rows, *, max_norm: float, grid: float
    ) -> SparseSum:
        """Norm of each row of the clipped sum."""

    def row_map(self, rows: Rows, *, max_norm: float, grid: float) -> SparseSum:
        """How many records touch each row."""


@final
@dataclass(frozen=True)
class WholeRows(CoordinateSelector):
    """Selects rows of `row_size` coordinates each by the mechanism of another selector.

    Scores of rows are the norms of their gradients, which one record moves by no more than its own
    norm, together; for survivors, how many records touch them. The gradient on the rows selected is
    then released by noise.

    Attributes
    ----------
    selector : CoordinateSelector
        With a share of the budget for the selection.
    row_size : int
        Length of a row.

    References
    ----------
    Ghazi et al. (2023), Sparsity-preserving differentially private training of large embedding
    models, select rows that survive.

    Examples
    --------
    >>> from skdp.training import GaussianSelector
    >>> WholeRows(GaussianSelector(10, share=0.5), 100).selects
    True
    """

    selector: CoordinateSelector
    row_size: int

    def step(self, sampler: Sampler, max_norm: float, size: int, multiplier: float) -> Step:
        inner = self.selector.step(sampler, max_norm, size // self.row_size, multiplier)
        if not isinstance(inner, RefinedStep | SurvivorsStep):
            raise ValueError(
                "Scores of whole rows are no gradient: the selector needs a share of the budget, "
                "such as GaussianSelector(n_selected, share=0.5)."
            )
        return RowStep(inner, self.row_size)


@final
@dataclass(frozen=True)
class RowStep:
    """Rows are selected first; the sum of their gradients, clipped once more, gets noise.

    Attributes
    ----------
    by_row : RefinedStep or SurvivorsStep
        The step as it would be if each row were one coordinate.
    row_size : int
        Length of a row.
    """

    by_row: RefinedStep | SurvivorsStep
    row_size: int

    @property
    def noise(self) -> GridGaussianMechanism:
        """Releases the sum on as many rows as can be selected."""
        return self._noise(self.by_row.noise.size)

    @property
    def event(self) -> "DpEvent":
        from dp_accounting import dp_event

        return dp_event.ComposedDpEvent([self.by_row.selection.event, self.noise.event])

    @property
    def sums(self) -> tuple[tuple[float, float], ...]:
        return self.by_row.sums

    @property
    def theorem(self) -> str:
        return self.by_row.theorem

    def release(self, batch: Batch, rng: RandomSource) -> Selection:
        """Return the noisy sum on the selected rows."""
        chosen: Selection = self.by_row.selection.release(self._scores(batch), rng)
        if not len(chosen):
            return Selection(chosen.indices, np.zeros(0))
        coordinates: npt.NDArray[np.int64] = (
            chosen.indices[:, None] * self.row_size + np.arange(self.row_size)
        ).ravel()
        noise = self._noise(len(chosen))
        total = batch.restricted_sum(
            coordinates, max_norm=self.by_row.selected_norm, grid=noise.grid
        )
        return Selection(coordinates, noise.release(total, rng))

    def _scores(self, batch: Batch) -> SparseSum:
        gradients = cast(RowGradients, batch.gradients)
        (max_norm, grid), _ = self.sums
        if isinstance(self.by_row, SurvivorsStep):
            return gradients.row_map(batch.rows, max_norm=max_norm, grid=grid)
        return gradients.row_scores(
            batch.values, batch.scale, batch.rows, max_norm=max_norm, grid=grid
        )

    def _noise(self, n_rows: int) -> GridGaussianMechanism:
        return replace(self.by_row.noise, size=n_rows * self.row_size)

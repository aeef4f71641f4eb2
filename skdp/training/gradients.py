"""What the private loop asks of a model."""

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from skdp.mechanisms.statistics import SparseSum

__all__ = ["Batch", "PerRecordGradients"]

Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]


class PerRecordGradients(Protocol):
    """Sums of clipped per-record gradients; a model differs from another in nothing else.

    Parameters of the model are ``scale * values``. Every sum is exact: each record's vector is
    cut to the norm, its entries are truncated towards zero to multiples of `grid`, and whatever
    is not finite is 0. So a sum moves by `max_norm` at most, in the L2 norm, when one record is
    left out, and does not depend on the order of the records.
    """

    @property
    def n_records(self) -> int:
        """Number of records."""

    @property
    def size(self) -> int:
        """Number of parameters."""

    def clipped_sum(
        self, values: Array, scale: float, rows: Rows, *, max_norm: float, grid: float
    ) -> Array | SparseSum:
        """Sum of the gradients of some records, each clipped to `max_norm`."""

    def contribution_map(self, rows: Rows, *, max_norm: float, grid: float) -> SparseSum:
        """Sum over records of the 0/1 vector of what they touch, scaled to `max_norm`."""

    def restricted_sum(
        self,
        values: Array,
        scale: float,
        rows: Rows,
        selected: Rows,
        *,
        max_norm: float,
        grid: float,
    ) -> Array:
        """Sum of gradients restricted to the `selected` coordinates and then clipped."""


class Batch(NamedTuple):
    """The records of one step and the parameters at which their gradients are taken."""

    gradients: PerRecordGradients
    values: Array
    scale: float
    rows: Rows

    def clipped_sum(self, *, max_norm: float, grid: float) -> Array | SparseSum:
        """Sum of whole gradients, each clipped."""
        return self.gradients.clipped_sum(
            self.values, self.scale, self.rows, max_norm=max_norm, grid=grid
        )

    def contribution_map(self, *, max_norm: float, grid: float) -> SparseSum:
        """Sum of the 0/1 vectors of what records touch, each scaled down."""
        return self.gradients.contribution_map(self.rows, max_norm=max_norm, grid=grid)

    def restricted_sum(self, selected: Rows, *, max_norm: float, grid: float) -> Array:
        """Sum of gradients on the selected coordinates, each clipped there."""
        return self.gradients.restricted_sum(
            self.values, self.scale, self.rows, selected, max_norm=max_norm, grid=grid
        )

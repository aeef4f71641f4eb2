"""The sum of rows of bounded norm."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from skdp.privacy import Neighbours, Sensitivity
from skdp.records.row_blocks import rounding_share

Array = npt.NDArray[np.float64]

_ROUNDED_UP = 1 + 2.0**-48
_DISTANCES = {Neighbours.ZERO_OUT: 1.0, Neighbours.REPLACE_ONE: 2.0}


@final
@dataclass(frozen=True)
class RowSum:
    """sum_i x_i over n rows of norm at most r.

    Guarantees
    ----------
    A row moves it by ||x|| <= r where it becomes a null, by ||x - y|| <= 2 r where it becomes
    another, and m rows of one unit by m times that. In floating point either sum is off by
    gamma_m n r at most (see `rounding_share`), which is counted twice.

    Examples
    --------
    >>> total = RowSum(2, 2, 5.0, Neighbours.REPLACE_ONE)
    >>> total.vector(iter([np.array([[3.0, 4.0], [0.0, 1.0]])]))
    array([3., 5.])
    >>> round(total.sensitivity.value, 6)
    10.0
    """

    n_samples: int
    n_features: int
    row_norm: float
    neighbours: Neighbours
    rows_per_unit: int = 1

    @property
    def sensitivity(self) -> Sensitivity:
        """How far the rows of one unit move the computed sum."""
        error = self.n_samples * rounding_share(self.n_samples)
        moved = self.rows_per_unit * _DISTANCES[self.neighbours] + 2 * error
        return Sensitivity(moved * self.row_norm * _ROUNDED_UP, "l2", self.neighbours)

    def vector(self, blocks: Iterator[Array]) -> Array:
        """Return the sum over blocks of rows that are clipped already."""
        total = np.zeros(self.n_features)
        for block in blocks:
            total += block.sum(axis=0)
        return total

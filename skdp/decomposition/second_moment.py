"""The second moment of rows of bounded norm, as a vector that one row moves by little."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from skdp.mechanisms.triangle import packed, triangle_size, unpacked
from skdp.privacy import Neighbours, Sensitivity
from skdp.records.row_blocks import rounding_share

Array = npt.NDArray[np.float64]

_ROUNDED_UP = 1 + 2.0**-48
#: ||x x^T - y y^T||_F for rows of norm at most 1, y = 0 for a null.
_DISTANCES = {Neighbours.ZERO_OUT: 1.0, Neighbours.REPLACE_ONE: math.sqrt(2.0)}


@final
@dataclass(frozen=True)
class SecondMoment:
    r"""S = sum_i x_i x_i^T over n rows of norm at most r, as a vector v with ||v||_2 = ||S||_F.

    v holds the upper triangle of S, row by row, what is off the diagonal times sqrt(2). So noise of
    standard deviation sigma on each coordinate of v is noise of sigma on the diagonal of S and of
    sigma / sqrt(2) off it, half the variance that the triangle as it is would need.

    Guarantees
    ----------
    In exact arithmetic one row moves v by at most

    * ``||x x^T||_F = ||x||^2 <= r^2`` where it becomes a null (Dwork, Talwar, Thakurta and Zhang,
      2014, Algorithm 1);
    * ``||x x^T - y y^T||_F = (||x||^4 + ||y||^4 - 2 (x.y)^2)^(1/2) <= sqrt(2) r^2`` where it
      becomes another row; orthogonal rows attain it.

    In floating point each of the two vectors is off by at most gamma_m n r^2, with
    gamma_m = m u / (1 - m u), u = 2^-53: a product is rounded once, goes through at most m - 3
    additions in whatever order, and is multiplied by a rounded sqrt(2) (Higham, 2002, section 4.2);
    the sum over i of ``|x_i| |x_i|^T`` has Frobenius norm n r^2 at most. Twice that is counted.

    Parameters
    ----------
    n_samples, n_features : int
        The public shape.
    row_norm : float
        The r.
    neighbours : Neighbours
        Zero-out or replace-one. Under add-or-remove-one the number of rows, which the rounding
        error depends on, would be private.

    Raises
    ------
    ValueError
        For add-or-remove-one.

    Examples
    --------
    >>> moment = SecondMoment(2, 2, 5.0, Neighbours.ZERO_OUT)
    >>> vector = moment.vector([np.array([[3.0, 4.0], [0.0, 1.0]])])
    >>> vector.round(3)
    array([ 9.   , 16.971, 17.   ])
    >>> moment.matrix(vector)
    array([[ 9., 12.],
           [12., 17.]])
    >>> round(moment.sensitivity.value, 6)
    25.0
    """

    n_samples: int
    n_features: int
    row_norm: float
    neighbours: Neighbours

    def __post_init__(self) -> None:
        if self.neighbours not in _DISTANCES:
            raise ValueError(
                f"The second moment has no sensitivity here under {self.neighbours.value}."
            )

    @property
    def size(self) -> int:
        """Number of coordinates of the vector."""
        return triangle_size(self.n_features)

    @property
    def sensitivity(self) -> Sensitivity:
        """How far one row moves the computed vector."""
        error = self.n_samples * rounding_share(self.n_samples)
        moved = _DISTANCES[self.neighbours] + 2 * error
        return Sensitivity(moved * self.row_norm**2 * _ROUNDED_UP, "l2", self.neighbours)

    def vector(self, blocks: Iterator[Array]) -> Array:
        """Return v for blocks of at most `BLOCK_ROWS` rows that are clipped already."""
        total = np.zeros((self.n_features, self.n_features))
        for block in blocks:
            total += block.T @ block
        return packed(total)

    def matrix(self, vector: Array) -> Array:
        """Return the symmetric matrix of which `vector` is the v."""
        return unpacked(vector, self.n_features)

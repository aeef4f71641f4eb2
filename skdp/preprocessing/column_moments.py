"""Means and mean squares of columns, summed exactly, as one vector that a row moves by little."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from skdp.privacy import Neighbours, Sensitivity

__all__ = ["ColumnMoments", "NoisyColumnMoments"]

Array = npt.NDArray[np.float64]

#: What is summed are multiples of 2^-20: up to 2^33 rows add up without rounding.
_UNIT = 2.0**20
_BLOCK = 2**18
#: max over t in [0, 2] of t^2 (1 + 4 (2 - t)^2), at t = (6 - sqrt(2)) / 4, rounded upwards.
_REPLACED = 5.14461


@final
@dataclass(frozen=True, eq=False)
class NoisyColumnMoments:
    """What was released, of columns that are mapped to [-1, 1].

    Attributes
    ----------
    mean, variance : ndarray of shape (n_features,)
        The mean is within [-1, 1]; of the variance nothing is known below its noise.
    """

    mean: Array
    variance: Array


@final
@dataclass(frozen=True)
class ColumnMoments:
    r"""v = sum_i (u_ij, 2 u_ij^2 - 1, w), u the columns mapped from their ranges to [-1, 1].

    The last coordinate, of weight w, counts rows; it is there where their number is private.

    Guarantees
    ----------
    A row more or less, or made null, moves v by ``sqrt(2 d + w^2)`` at most: for u in [-1, 1],
    u^2 + (2 u^2 - 1)^2 is at most 2. Where a row is replaced, with t = \|u - u'\| <= 2 and
    \|u + u'\| <= 2 - t,

    .. math:: t^2 + 4 (u^2 - u'^2)^2 \le t^2 (1 + 4 (2 - t)^2) \le 5.14461

    a column. Coordinates are rounded to multiples of 2^-20 and summed as integers; 2^-20 each is
    added for that.

    Parameters
    ----------
    n_features : int
        Number of columns.
    neighbours : Neighbours
        Any relation.

    Examples
    --------
    >>> moments = ColumnMoments(1, Neighbours.ZERO_OUT)
    >>> moments.vector(np.array([[0.0], [2.0], [4.0]]), np.array([0.0]), np.array([4.0]))
    array([0., 1.])
    >>> round(moments.sensitivity.value, 5)
    1.41421
    """

    n_features: int
    neighbours: Neighbours

    @property
    def size(self) -> int:
        """Number of coordinates of v."""
        return 2 * self.n_features + (self._weight > 0)

    @property
    def sensitivity(self) -> Sensitivity:
        """How far one row moves v."""
        squared = 2.0 * self.n_features + self._weight**2
        if self.neighbours is Neighbours.REPLACE_ONE:
            squared = _REPLACED * self.n_features
        moved = math.sqrt(squared) * (1 + 2.0**-40) + math.sqrt(self.size) / _UNIT
        return Sensitivity(moved, "l2", self.neighbours)

    def vector(self, X: Array, low: Array, high: Array) -> Array:
        """Return v of finite rows; values outside of the ranges are clipped."""
        middle, half = low / 2 + high / 2, high / 2 - low / 2
        total = np.zeros(2 * self.n_features, dtype=np.int64)
        size = max(1, _BLOCK // self.n_features)
        for start in range(0, len(X), size):
            rows = np.asarray(X[start : start + size], dtype=np.float64)
            u = np.clip((np.clip(rows, low, high) - middle) / half, -1.0, 1.0)
            both = np.hstack([u, 2 * u * u - 1])
            total += np.rint(both * _UNIT).astype(np.int64).sum(axis=0)
        counted = [len(X) * self._weight] if self._weight else []
        return np.concatenate([total / _UNIT, counted])

    def read(self, vector: Array, n_rows: int, noise_std: float) -> NoisyColumnMoments:
        """Return the moments of which `vector` is the v; `n_rows` where it is public."""
        d = self.n_features
        rows = max(1.0, float(vector[-1]) / self._weight) if self._weight else float(n_rows)
        mean = np.clip(vector[:d] / rows, -1.0, 1.0)
        squares = (1 + vector[d : 2 * d] / rows) / 2
        return NoisyColumnMoments(mean, np.maximum(squares - mean**2, noise_std / (2 * rows)))

    @property
    def _weight(self) -> float:
        """The w, a multiple of 2^-10, which costs a twentieth of the noise; 0 where n is public."""
        if self.neighbours is not Neighbours.ADD_OR_REMOVE_ONE:
            return 0.0
        return math.floor(2.0**10 * math.sqrt(2 * self.n_features) / 3) / 2.0**10

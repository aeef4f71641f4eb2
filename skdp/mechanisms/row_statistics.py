"""First and second moments of rows and labels that standardising them needs, summed exactly."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt
from scipy import sparse

from skdp.mechanisms.label_moments import FRACTION_BITS, whole_numbers
from skdp.privacy import Neighbours, Sensitivity

__all__ = ["NoisyStatistics", "RowStatistics"]

Array = npt.NDArray[np.float64]

#: Of the sum of squared norms, of labels and of their squares, beside the sum of rows.
NORMS_WEIGHT, LABELS_WEIGHT, SQUARES_WEIGHT = 0.7, 0.7, 0.5
#: Sums saturate there, which moves no two of them apart.
_LARGEST_SUM = 2.0**30
_ROUNDING = 2.0**-20
_ROUNDED_UP = 1 + 2.0**-40


@final
@dataclass(frozen=True, eq=False)
class NoisyStatistics:
    """What was released, as sums over rows; `rows` and `labels` are empty where not released."""

    rows: Array
    squared_norms: float
    labels: Array
    squared_labels: Array


@final
@dataclass(frozen=True)
class RowStatistics:
    r"""v = (sum_i x_i, a sum_i |x_i|^2, b sum_i y_i, c sum_i y_i^2), or some of these parts.

    Rows have ||x_i|| <= 1 and labels |y_i| <= 1. Values are rounded towards 0 to multiples of
    2^-20 and summed as whole numbers.

    Guarantees
    ----------
    One row more or less, or made null, moves v, squared, by at most ``1 + a^2 + b^2 + c^2``, where
    what is not released counts 0. A row that is replaced moves the first two parts by
    ``|x - x'|^2 + a^2 (|x|^2 - |x'|^2)^2``. For r = |x'| <= |x| = 1
    that is at most ``(1 + r)^2 (1 + a^2 (1 - r)^2)``, which increases in r while a^2 < 2 and so is
    at most 4; shorter rows are no farther apart. The labels likewise by
    4 b^2 while c^2 < 2 b^2. The last step, from whole numbers to floats, adds 2^-20 a coordinate to
    either side, which is counted.

    Parameters
    ----------
    n_features : int
        Columns of x whose sums are released; 0 leaves them out.
    label_moments : {0, 1, 2}
        Whether sums of labels are part of it, and of their squares.
    neighbours : Neighbours
        Any relation.

    Examples
    --------
    >>> statistics = RowStatistics(2, 0, Neighbours.ADD_OR_REMOVE_ONE)
    >>> statistics.vector([(np.array([[0.6, 0.0], [0.0, 0.5]]), None)]).round(4)
    array([0.6  , 0.5  , 0.427])
    >>> round(statistics.sensitivity.value, 4)
    1.2207
    """

    n_features: int
    label_moments: Literal[0, 1, 2]
    neighbours: Neighbours

    @property
    def size(self) -> int:
        """Number of coordinates of v."""
        return self.n_features + 1 + self.label_moments

    @property
    def sensitivity(self) -> Sensitivity:
        """How far one row moves the computed vector."""
        moved = math.sqrt(self._moved()) * _ROUNDED_UP + 2 * _ROUNDING * math.sqrt(self.size)
        return Sensitivity(moved, "l2", self.neighbours)

    def _moved(self) -> float:
        rows2 = float(self.n_features > 0)
        labels2 = LABELS_WEIGHT**2 * (self.label_moments > 0)
        if self.neighbours is Neighbours.REPLACE_ONE:
            return 4 * rows2 + 4 * labels2 + (0.0 if rows2 else NORMS_WEIGHT**2)
        return rows2 + NORMS_WEIGHT**2 + labels2 + SQUARES_WEIGHT**2 * (self.label_moments > 1)

    def vector(self, chunks: Iterable[tuple[Any, Array | None]]) -> Array:
        """Return v for chunks of at most 1024 rows, and labels, within their bounds already.

        CSR rows have no duplicate entries, and no sum of rows: `n_features` is 0 then.
        """
        sums = np.zeros(self.n_features, dtype=np.int64)
        norms = labels = squares = 0  # Python's integers, of any size
        for rows, y in chunks:
            block = whole_numbers(rows.data if sparse.issparse(rows) else rows)
            norms += int((block**2).sum())
            if self.n_features:
                sums += block.sum(axis=0).astype(np.int64)
            if self.label_moments:
                coded = whole_numbers(np.asarray(y))
                labels, squares = labels + int(coded.sum()), squares + int((coded**2).sum())
        bits, parts = FRACTION_BITS, [np.ldexp(sums.astype(np.float64), -FRACTION_BITS)]
        parts.append(np.array([NORMS_WEIGHT * _unit(norms, 2 * bits)]))
        if self.label_moments:
            coded_sums = (
                LABELS_WEIGHT * _unit(labels, bits),
                SQUARES_WEIGHT * _unit(squares, 2 * bits),
            )
            parts.append(np.array(coded_sums[: self.label_moments]))
        return np.asarray(np.clip(np.concatenate(parts), -_LARGEST_SUM, _LARGEST_SUM))

    def read(self, vector: Array) -> NoisyStatistics:
        """Return the sums of which `vector` is the v."""
        rest = vector[self.n_features :]
        return NoisyStatistics(
            vector[: self.n_features],
            float(rest[0]) / NORMS_WEIGHT,
            rest[1:2] / LABELS_WEIGHT,
            rest[2:3] / SQUARES_WEIGHT,
        )


def _unit(total: int, bits: int) -> float:
    return float(np.clip(total / (1 << bits), -_LARGEST_SUM, _LARGEST_SUM))

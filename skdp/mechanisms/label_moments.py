"""Moments of rows and labels, summed exactly, as one vector that a row moves by little."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self, final

import numpy as np
import numpy.typing as npt

from skdp.mechanisms.label_codes import LabelCodes
from skdp.mechanisms.triangle import packed, triangle_size, unpacked
from skdp.privacy import Neighbours, Sensitivity
from skdp.records.row_blocks import BLOCK_ROWS

__all__ = ["FRACTION_BITS", "LARGEST_CONSTANT", "LabelMoments", "NoisyMoments", "whole_numbers"]

Array = npt.NDArray[np.float64]

#: Rows, labels and the constant are multiples of 2^-20: sums of products of a block are whole
#: numbers below 2^53, so they have no rounding error, in whatever order they are summed.
FRACTION_BITS = 20
#: Its square times that of a block of whole numbers, 2^50, stays below 2^53.
LARGEST_CONSTANT = 2.0
_PRODUCT_BITS = 2 * FRACTION_BITS
_MASK = (1 << _PRODUCT_BITS) - 1
#: Sums saturate at so many rows, which moves no two of them apart.
_LARGEST_SUM = 2.0**30
#: A sum up to that, times sqrt(2) or a weight below it, is rounded three times to 53 bits.
_ROUNDING = 2.0**-20
_ROUNDED_UP = 1 + 2.0**-40
#: Of the squared labels, which only intervals need.
SQUARES_WEIGHT = 0.1


def whole_numbers(values: npt.ArrayLike) -> Array:
    """Return values times 2^20, rounded towards 0, so that no row becomes longer.

    Examples
    --------
    >>> whole_numbers([0.75, -1e-9])
    array([786432.,     -0.])
    """
    scaled: Array = np.asarray(values, dtype=np.float64) * float(1 << FRACTION_BITS)
    return np.trunc(scaled)


@final
@dataclass(frozen=True, eq=False)
class NoisyMoments:
    """What was released, in the units of the moments."""

    second: Array
    cross: Array
    squares: Array


@final
@dataclass(frozen=True)
class LabelMoments:
    r"""v = (packed(sum_i z_i z_i^T), b vec(sum_i z_i t_i^T), w sum_i t_i^2), z_i = (x_i, c).

    Rows have ||x_i|| <= 1, coded labels ||t_i|| <= Y, and b = 1/Y, so that the two parts move about
    alike. All values are multiples of 2^-20 and are summed without rounding.

    Guarantees
    ----------
    With kappa^2 = 1 + c^2, one row more or less, or made null, moves v by at most

    .. math:: (\kappa^4 + b^2 \kappa^2 Y^2 + w^2 Q^2)^{1/2}, \qquad Q \ge \lVert t_i^2 \rVert_2 .

    A row that is replaced by another moves it, squared, by
    ``|z|^4 + |z'|^4 - 2 s^2 + b^2 (|z|^2 |t|^2 + |z'|^2 |t'|^2 - 2 s t.t')`` in the first two,
    s = z.z'. That grows with each length, and for given lengths is at most

    .. math:: 2 \kappa^4 + 2 b^2 \kappa^2 Y^2 + \max_s (2 b^2 |s| m_s - 2 s^2)

    where m is ``-min t.t'`` for s in [max(0, c^2 - 1), kappa^2] and Y^2 for s in [c^2 - 1, 0]. The
    squares are not negative, so they are at most sqrt(2) Q apart. The last step, from whole numbers
    to floats, adds 2^-20 a coordinate to either side, which is counted.

    Parameters
    ----------
    n_features, n_outputs : int
        Public numbers of columns of x and t; without any of t, v is the first part alone.
    constant : float or None
        The c, a multiple of 2^-20 of at most 2; None for rows without a constant column.
    label_norm : float
        The Y.
    least_product : float
        A lower bound of t.t', at least -Y^2.
    squares : bool
        Whether the sums of squared labels are part of it.
    neighbours : Neighbours
        Any relation.

    Examples
    --------
    >>> moments = LabelMoments(1, 1, None, 1.0, -1.0, False, Neighbours.ADD_OR_REMOVE_ONE)
    >>> moments.vector([(np.array([[1.0], [0.5]]), np.array([[1.0], [-1.0]]))])
    array([1.25, 0.5 ])
    >>> round(moments.sensitivity.value, 5)
    1.41422
    """

    n_features: int
    n_outputs: int
    constant: float | None
    label_norm: float
    least_product: float
    squares: bool
    neighbours: Neighbours

    @classmethod
    def of_codes(
        cls, n_features: int, codes: LabelCodes, constant: float | None, neighbours: Neighbours
    ) -> Self:
        """Return the moments of rows and coded labels, without those of squares."""
        return cls(
            n_features, codes.n_outputs, constant, codes.norm, codes.least_product, False,
            neighbours,
        )  # fmt: skip

    def __post_init__(self) -> None:
        if self.constant is not None and not 0 < self.constant <= LARGEST_CONSTANT:
            raise ValueError(
                f"constant must be in (0, {LARGEST_CONSTANT}], where sums are exact, got "
                f"{self.constant!r}."
            )

    @property
    def order(self) -> int:
        """Number of columns of z."""
        return self.n_features + (self.constant is not None)

    @property
    def size(self) -> int:
        """Number of coordinates of v."""
        n_squares = self.n_outputs if self.squares else 0
        return triangle_size(self.order) + self.order * self.n_outputs + n_squares

    @property
    def label_weight(self) -> float:
        """The b."""
        return 1 / self.label_norm

    @property
    def squares_weight(self) -> float:
        """The w; Q is at most Y^2."""
        return SQUARES_WEIGHT / self.label_norm**2

    @property
    def sensitivity(self) -> Sensitivity:
        """How far one row moves the computed vector."""
        squared = self._moved() + self._squares_moved()
        moved = math.sqrt(squared) * _ROUNDED_UP + 2 * _ROUNDING * math.sqrt(self.size)
        return Sensitivity(moved, "l2", self.neighbours)

    def _moved(self) -> float:
        c2 = 0.0 if self.constant is None else self.constant**2
        kappa2 = 1 + c2
        label2 = (self.label_weight * self.label_norm) ** 2 if self.n_outputs else 0.0
        alone = kappa2**2 + label2 * kappa2
        if self.neighbours is not Neighbours.REPLACE_ONE:
            return alone
        b2 = self.label_weight**2 if self.n_outputs else 0.0
        products = [_best(-b2 * self.least_product, max(0.0, c2 - 1), kappa2)]
        if c2 < 1:
            products.append(_best(b2 * self.label_norm**2, 0.0, 1 - c2))
        return 2 * alone + max(products)

    def _squares_moved(self) -> float:
        if not self.squares:
            return 0.0
        alone = (self.squares_weight * self.label_norm**2) ** 2
        return 2 * alone if self.neighbours is Neighbours.REPLACE_ONE else alone

    def vector(self, chunks: Iterable[tuple[Array, Array]]) -> Array:
        """Return v for chunks of rows and coded labels, both within their bounds already."""
        return self.from_sums(ExactSums.of(self, chunks))

    def from_sums(self, sums: "ExactSums") -> Array:
        """Return v from the sums of all chunks."""
        total = sums.floats()
        d = self.order
        parts = [packed(total[:d, :d]), self.label_weight * total[:d, d:].ravel()]
        if self.squares:
            parts.append(self.squares_weight * total.diagonal()[d:])
        return np.concatenate(parts)

    def read(self, vector: Array) -> NoisyMoments:
        """Return the moments of which `vector` is the v."""
        d, k, first = self.order, self.n_outputs, triangle_size(self.order)
        cross = vector[first : first + d * k].reshape(d, k) / self.label_weight
        squares = vector[first + d * k :] / self.squares_weight
        return NoisyMoments(unpacked(vector[:first], d), cross, squares)


class ExactSums:
    """sum_i (z_i, t_i)(z_i, t_i)^T as whole numbers of 2^-40; never part of what a fit leaves."""

    def __init__(self, moments: LabelMoments):
        self._moments = moments
        order = moments.order + moments.n_outputs
        self._units = np.zeros((order, order), dtype=np.int64)
        self._rest = np.zeros((order, order), dtype=np.int64)

    @classmethod
    def of(cls, moments: LabelMoments, chunks: Iterable[tuple[Array, Array]]) -> "ExactSums":
        """Return the sums over chunks."""
        sums = cls(moments)
        for rows, labels in chunks:
            for start in range(0, len(rows), BLOCK_ROWS):
                stop = start + BLOCK_ROWS
                sums.add(rows[start:stop], labels[start:stop])
        return sums

    def add(self, rows: Array, labels: Array) -> None:
        """Add a block of at most `BLOCK_ROWS` rows."""
        parts = [whole_numbers(rows), whole_numbers(labels)]
        if self._moments.constant is not None:
            parts.insert(1, np.full((len(rows), 1), whole_numbers(self._moments.constant)))
        block = np.hstack(parts)
        self._rest += (block.T @ block).astype(np.int64)
        self._units += self._rest >> _PRODUCT_BITS
        self._rest &= _MASK

    def floats(self) -> Array:
        """Return the sums, each no farther than `_LARGEST_SUM` from 0."""
        exact = self._units + np.ldexp(self._rest.astype(np.float64), -_PRODUCT_BITS)
        return np.clip(exact, -_LARGEST_SUM, _LARGEST_SUM)


def _best(slope: float, least: float, largest: float) -> float:
    """Return the maximum of 2 slope s - 2 s^2 over s in [least, largest]."""
    at = min(max(slope / 2, least), largest)
    return 2 * slope * at - 2 * at * at

r"""Scores of features that one record moves by little, from declared bounds alone.

With codes u_i of the targets, n public and :math:`\bar u, \bar x` means of the data,

.. math:: s_j = \omega \sum_c \Big| \sum_i (u_{ic} - \bar u_c)(x_{ij} - \bar x_j) \Big|

is n times the absolute covariance; for classes u is one-hot and :math:`\omega = 1/2`, which for
two classes is again one absolute covariance.

*Sensitivity, replace-one.* Let q, t be the means of u, x over the n - 1 records that stay. Adding a
record (u, x) to them adds (n-1)/n (u - q)(x - t) to the centred sum of products, so that
replacing it by (u', x') moves the sum by

.. math:: \tfrac{n-1}{n} \big( (u - q)\alpha - (u' - q)\beta \big), \qquad
          \alpha = x - t,\ \beta = x' - t,

with x, x', t in one convex set: an interval of length w for each column, a ball of radius r for
the rows. In either norm, with D the diameter (w, or 2 r):

* Numbers u, u' in [a, b]: convex in u and in u', so largest at ends. Equal ends give at most
  (b - a) ||x - x'||, different ones b - a times a convex combination of x and x', minus t. Both are
  at most (b - a) D.
* Classes y = y': half of the sum over c of abs(1[y = c] - q_c), which is 1 - q_y, times
  ||x - x'||: at most D.
* Classes y, y' that differ: 1/2 (||(1 - q_y) a + q_y b|| + ||q_y' a + (1 - q_y') b|| +
  (1 - q_y - q_y') ||a - b||) with a, b for alpha, beta, convex in (q_y, q_y') and so largest at a
  corner of {q_y + q_y' <= 1}: at (0, 0) half the perimeter of the triangle x, x', t, elsewhere
  ||a|| or ||b||. Half a perimeter is w in an interval and at most 3^(3/2) r / 2 in a ball. With two
  classes q_y + q_y' = 1, which leaves ||a|| and ||b||, at most D.

The L2 norm of the vector of s_j over j moves by no more than the omega-weighted sum over c of the
L2 norms, and each s_j by no more than that of absolute values: the triangle inequality.

With *declared* centres (shares p_c of the classes, middles of ranges) the sum
s_j = omega sum_c abs(sum_i (u_ic - p_c)(x_ij - m)) has one independent term a record, and moves by
at most twice the largest omega ||u - p||_1 times the radius of the set around m. That is up to half
of the above; but where the centres are off, every column far from m scores high.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt
from scipy import sparse

from skdp.privacy import Neighbours, Sensitivity
from skdp.records.clipping import UNIT_ROUNDOFF, canonical_rows, clip_rows

__all__ = ["ClassTarget", "FeatureScore", "NumberTarget", "RowBounds", "Target"]

Array = npt.NDArray[np.float64]
BoundNorm = Literal["l2", "linf"]

BLOCK_ROWS = 1024
_ROUND_UP = 1 + 2.0**-40
#: Half the perimeter of an equilateral triangle in the unit circle.
_HALF_TRIANGLE = 1.5 * math.sqrt(3)


@final
@dataclass(frozen=True)
class RowBounds:
    """What is declared of the rows: a range of every value, a Euclidean norm, or both.

    Examples
    --------
    >>> bounds = RowBounds((-1.0, 3.0), None)
    >>> bounds.centre, bounds.diameter("linf"), bounds.diameter("l2")
    (1.0, 4.0, inf)
    """

    value_range: tuple[float, float] | None
    row_norm: float | None

    @property
    def centre(self) -> float:
        """Where values are counted from: the middle of the range, or the origin of the norm."""
        if self.value_range is None or self.row_norm is not None:
            return 0.0
        return sum(self.value_range) / 2

    @property
    def largest(self) -> float:
        """Bound on each absolute value."""
        values = (math.inf if self.value_range is None else max(map(abs, self.value_range)),)
        return min(*values, math.inf if self.row_norm is None else self.row_norm)

    def diameter(self, norm: BoundNorm) -> float:
        """Bound on the distance of two rows: in the L2 norm, or of each value."""
        if norm == "l2":
            return math.inf if self.row_norm is None else 2 * self.row_norm
        width = math.inf if self.value_range is None else self.value_range[1] - self.value_range[0]
        return min(width, self.diameter("l2"))

    def half_perimeter(self, norm: BoundNorm) -> float:
        """Bound on half the perimeter of a triangle of rows."""
        return self.diameter(norm) * (_HALF_TRIANGLE / 2 if norm == "l2" else 1.0)

    def radius(self, norm: BoundNorm) -> float:
        """Bound on the distance of a row from the centre."""
        if norm == "l2":
            return math.inf if self.row_norm is None else self.row_norm
        if self.value_range is None:
            return self.radius("l2")
        ends = max(abs(end - self.centre) for end in self.value_range)
        return min(ends, self.radius("l2"))

    @property
    def keeps_zero(self) -> bool:
        """Whether a value of 0 stays 0 when values are clipped to the range."""
        return self.value_range is None or self.value_range[0] <= 0 <= self.value_range[1]

    def blocks(self, X: Any) -> Iterator[Any]:
        """Yield float64 blocks of at most `BLOCK_ROWS` rows, each row brought within the bounds."""
        rows = canonical_rows(X)
        for start in range(0, X.shape[0], BLOCK_ROWS):
            yield self._bounded(rows[start : start + BLOCK_ROWS])

    def _bounded(self, block: Any) -> Any:
        block = block.astype(np.float64)
        if self.value_range is not None:
            values = block.data if sparse.issparse(block) else block
            np.clip(values, *self.value_range, out=values)
        return block if self.row_norm is None else clip_rows(block, self.row_norm)


class Target(ABC):
    """What y is coded as, and how far one record moves a score that uses these codes.

    Attributes
    ----------
    n_codes : int
        The number of columns c of the codes.
    weight : float
        The omega of the sum over c.
    largest : float
        Bound on each absolute code.
    centres : ndarray of shape (n_codes,) or None
        Declared centres; None stands for the means of the data.
    """

    n_codes: int
    weight: float
    largest: float
    centres: Array | None

    @abstractmethod
    def codes(self, y: npt.NDArray[Any]) -> Any:
        """Return the codes of some records, shape (n, n_codes)."""

    @abstractmethod
    def covariance_change(self, bounds: RowBounds, norm: BoundNorm) -> float:
        """Bound on the change of the scores centred at means, but for the factor (n-1)/n."""

    @property
    @abstractmethod
    def largest_deviation(self) -> float:
        """The largest omega ||u - p||_1 of one record, p the declared centres."""


@final
@dataclass(frozen=True, eq=False)
class ClassTarget(Target):
    """Classes 0, ..., `n_codes` - 1 as one-hot codes; `centres` are declared class shares."""

    n_codes: int
    centres: Array | None = None
    weight: float = 0.5
    largest: float = 1.0

    def codes(self, y: npt.NDArray[Any]) -> Any:
        """Return one 1 a row."""
        where = (np.arange(len(y)), y)
        return sparse.csr_array((np.ones(len(y)), where), shape=(len(y), self.n_codes))

    def covariance_change(self, bounds: RowBounds, norm: BoundNorm) -> float:
        """Bound by the diameter or half a perimeter; see the module."""
        return bounds.diameter(norm) if self.n_codes == 2 else bounds.half_perimeter(norm)

    @property
    def largest_deviation(self) -> float:
        """1 - p_y for the rarest class y, where the shares sum to 1."""
        assert self.centres is not None
        shares: list[float] = self.centres.tolist()
        total = math.fsum(shares)
        return max(0.5 * (abs(1 - p) + total - p) for p in shares)


@final
@dataclass(frozen=True, eq=False)
class NumberTarget(Target):
    """Numbers clipped to [low, high] and counted from the middle."""

    low: float
    high: float
    centres: Array | None = None
    n_codes: int = 1
    weight: float = 1.0

    @property
    def largest(self) -> float:  # type: ignore[override]
        """Half of the range."""
        return (self.high - self.low) / 2

    def codes(self, y: npt.NDArray[Any]) -> Any:
        """Return one column."""
        middle = self.low + self.largest
        inside = np.clip(y, self.low, self.high) - middle
        return np.clip(inside, -self.largest, self.largest)[:, None]

    def covariance_change(self, bounds: RowBounds, norm: BoundNorm) -> float:
        """The range of y times the diameter."""
        return 2 * self.largest * bounds.diameter(norm)

    @property
    def largest_deviation(self) -> float:
        """Half of the range: the declared centre is the middle."""
        return self.largest


@final
@dataclass(frozen=True, eq=False)
class FeatureScore:
    """The score of each of `n_features` columns, and how far one record moves it.

    See the module for the formula and the proof. To the exact change a bound on floating-point
    errors is added, twice: each computed score is off by at most 4 n U M gamma_m, with U and M the
    largest absolute code and value, gamma_m = m u / (1 - m u), u = 2^-53, m the number of roundings
    that a product goes through (Higham, 2002, section 4.2).
    """

    target: Target
    bounds: RowBounds
    n_samples: int
    n_features: int

    def sensitivity(self, norm: BoundNorm) -> Sensitivity:
        """How far replacing one record moves the vector of scores (L2) or each of them (Linf)."""
        moved = self._change(norm) + 2 * self._rounding_error
        if norm == "l2":
            root = math.sqrt(self.n_features)
            each = root * self._change("linf")
            moved = min(self._change(norm), each) + 2 * root * self._rounding_error
        return Sensitivity(moved * _ROUND_UP, norm, Neighbours.REPLACE_ONE)

    def _change(self, norm: BoundNorm) -> float:
        if self.target.centres is None:
            share = (self.n_samples - 1) / self.n_samples
            return share * self.target.covariance_change(self.bounds, norm)
        return 2 * self.target.largest_deviation * self.bounds.radius(norm)

    @property
    def _rounding_error(self) -> float:
        n_blocks = -(-self.n_samples // BLOCK_ROWS)
        roundings = min(self.n_samples, BLOCK_ROWS) + n_blocks + 2 * self.target.n_codes + 16
        gamma = roundings * UNIT_ROUNDOFF / (1 - roundings * UNIT_ROUNDOFF)
        return 4 * self.n_samples * self.target.largest * self.bounds.largest * gamma

    def of(self, X: Any, y: npt.NDArray[Any]) -> Array:
        """Return the score of each column, shape (n_features,): private until it is noisy."""
        products = np.zeros((self.target.n_codes, self.n_features))
        codes_sum, rows_sum = np.zeros(self.target.n_codes), np.zeros(self.n_features)
        for number, block in enumerate(self.bounds.blocks(X)):
            start = number * BLOCK_ROWS
            codes = self.target.codes(y[start : start + block.shape[0]])
            found = codes.T @ block
            products += found.toarray() if sparse.issparse(found) else found
            codes_sum += np.asarray(codes.sum(axis=0)).ravel()
            rows_sum += np.asarray(block.sum(axis=0)).ravel()
        centred = self._centred(products, codes_sum, rows_sum)
        scores: Array = self.target.weight * np.abs(centred).sum(axis=0)
        return scores

    def _centred(self, products: Array, codes_sum: Array, rows_sum: Array) -> Array:
        if self.target.centres is None:
            return products - np.outer(codes_sum / self.n_samples, rows_sum)
        centres = self.target.centres
        off_balance = codes_sum - self.n_samples * centres
        return products - np.outer(centres, rows_sum) - self.bounds.centre * off_balance[:, None]

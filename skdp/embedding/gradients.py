"""Per-record gradients of CBOW with negative sampling, clipped, on a grid, and summed exactly."""

import math
from typing import Protocol, final

import numpy as np
import numpy.typing as npt

from skdp.embedding.mixing import GOLDEN, mixed
from skdp.embedding.numpy_route import NumpyRoute
from skdp.embedding.records import CbowRecords
from skdp.mechanisms.statistics import SparseSum
from skdp.training.glm_contract import MARGIN, UNIT_ROUNDOFF

__all__ = ["SPARE_RECORDS", "CbowGradients", "norm_for_rows"]

Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
SMALLEST_NORM, LARGEST_NORM = 2.0**-60, 2.0**60
#: Under add-or-remove-one, so many times the expected records are counted for rounding. The grid
#: unit that each row has to spare pays for the rounding of more.
SPARE_RECORDS = 2**8


class Route(Protocol):
    """The compiled way, or the one with NumPy alone."""

    def clipped_sum(
        self, table: Array, scale: float, rows: Rows, key: np.uint64, limit: float, grid: float
    ) -> tuple[Rows, Array]:
        """Words in order and the sum of their rows."""

    def touches(
        self, rows: Rows, key: np.uint64, limit: float, grid: float, width: int
    ) -> tuple[Rows, Array]:
        """Words in order and how many records touch each."""

    def restricted_sum(
        self,
        table: Array,
        scale: float,
        rows: Rows,
        selected: Rows,
        key: np.uint64,
        limit: float,
        grid: float,
    ) -> Array:
        """Sum at the selected coordinates."""

    def lengths(self, sums: Array) -> Array:
        """Norm of each row."""


@final
class CbowGradients:
    r"""Gradients of the loss of examples with a target t, a word c of its context, negatives U.

    .. math:: \ell = -\log s(e_t \cdot e_c) - \sum_{i \in U} \log s(-e_i \cdot e_c),
              \qquad s(z) = 1 / (1 + e^{-z})

    in one table of vectors e, flat: ``values[word * size + i]``; the vectors are
    ``scale * values``. A record is clipped as a whole, whether it has one example or many.

    Parameters
    ----------
    records : CbowRecords
    size : int
        Length of a vector.
    most_records : int
        Public bound on the number of records, which no batch exceeds.
    key : uint64
        Where the random choices of records come from; no data enters it.

    Attributes
    ----------
    n_records : int
    size : int
        Number of parameters.

    Notes
    -----
    *Guarantees.* As `PerRecordGradients` asks: the vector of a record is a function of the record,
    of the parameters and of random choices without data, of norm at most `max_norm`, of multiples
    of `grid`; where it is not finite it is 0. Sums are exact as long as ``n max_norm < 2^52 grid``.

    *Rows.* `row_scores` are the norms of the rows of such a sum, rounded down to the grid. A
    record moves the norm of row r by at most the norm of its own row r (triangle inequality), so
    the vector of all norms by at most the norm of its gradient; and rounding and floating point by
    2 g + e more in each of the R rows that it can have. Records are therefore clipped to
    ``max_norm - (2 g + e) sqrt(R)`` there, so that the scores move by `max_norm` at most.

    References
    ----------
    Zhang, Mironov and Hejazinia (2021), Wide network learning with differential privacy; Mikolov
    et al. (2013), Distributed representations of words and phrases and their compositionality.
    """

    def __init__(
        self, records: CbowRecords, size: int, *, most_records: int, key: np.uint64
    ) -> None:
        n_words = len(records.law.shares)
        self.n_records, self.size = records.n_records, n_words * size
        self._shape, self._most_records = (n_words, size), most_records
        self._most_rows = min(n_words, records.most_examples * (records.n_negatives + 2))
        self._route: Route = route_of(records, size)
        self._first_key = self._key = key
        self._rounding = MARGIN + 2 * (self._most_rows * size + 8) * UNIT_ROUNDOFF

    def begin(self, step: int) -> None:
        """Draw other negatives, and other examples of long documents, than in the step before."""
        self._key = self.keys(step, 1)[0]

    @property
    def route(self) -> Route:
        """What computes the sums."""
        return self._route

    @property
    def most_rows(self) -> int:
        """Most rows that the gradient of a record can have."""
        return self._most_rows

    @property
    def shape(self) -> tuple[int, int]:
        """Number of words, length of a vector."""
        return self._shape

    def keys(self, first: int, n_steps: int) -> npt.NDArray[np.uint64]:
        """Return the keys of the random choices of some steps."""
        steps = np.arange(first, first + n_steps).astype(np.uint64)
        with np.errstate(over="ignore"):
            return mixed(self._first_key + GOLDEN * steps)

    def clipped_sum(
        self, values: Array, scale: float, rows: Rows, *, max_norm: float, grid: float
    ) -> SparseSum:
        """Sum of the gradients of some records, each clipped to `max_norm`."""
        limit = self.limit(max_norm, grid)
        return self._by_coordinate(*self._sums(values, scale, rows, limit, grid))

    def sums(
        self, values: Array, rows: Rows, *, max_norm: float, grid: float
    ) -> tuple[Rows, Array]:
        """Return `clipped_sum` by rows: words in order, and their rows of it."""
        return self._sums(values, 1.0, rows, self.limit(max_norm, grid), grid)

    def contribution_map(self, rows: Rows, *, max_norm: float, grid: float) -> SparseSum:
        """Sum over records of the 0/1 vector of the coordinates of their words, clipped."""
        width = self._shape[1]
        words, counts = self._touches(rows, max_norm, grid, width)
        return self._by_coordinate(words, np.repeat(counts, width))

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
        chosen = np.ascontiguousarray(selected, dtype=np.int64)
        if not (np.diff(chosen, prepend=-1, append=self.size) > 0).all():
            raise ValueError(f"selected must increase strictly, from 0 or more, below {self.size}.")
        limit = self.limit(max_norm, grid)
        return self._route.restricted_sum(
            self._table(values), float(scale), rows, chosen, self._key, limit, float(grid)
        )

    def row_scores(
        self, values: Array, scale: float, rows: Rows, *, max_norm: float, grid: float
    ) -> SparseSum:
        """Norm of each word's row of the sum, a vector that a record moves by at most `max_norm`.

        Raises
        ------
        ValueError
            If rounding to the grid would take a tenth of the norm or more: a public fact.
        """
        words, sums = self._sums(values, scale, rows, self.row_limit(max_norm, grid), grid)
        norms = np.floor(self._route.lengths(sums) / grid) * grid
        return SparseSum(words, norms, self._shape[0])

    def row_map(self, rows: Rows, *, max_norm: float, grid: float) -> SparseSum:
        """Sum over records of the 0/1 vector of their words, each clipped to `max_norm`."""
        return SparseSum(*self._touches(rows, max_norm, grid, 1), self._shape[0])

    def row_limit(self, max_norm: float, grid: float) -> float:
        """The norm to clip to so that norms of rows move by `max_norm` at most; see the class."""
        facts = (self._most_rows, self._shape[1], self._most_records)
        return self.limit(norm_for_rows(max_norm, grid, *facts), grid)

    def _sums(
        self, values: Array, scale: float, rows: Rows, limit: float, grid: float
    ) -> tuple[Rows, Array]:
        table = self._table(values)
        return self._route.clipped_sum(table, float(scale), rows, self._key, limit, float(grid))

    def _touches(self, rows: Rows, max_norm: float, grid: float, width: int) -> tuple[Rows, Array]:
        limit = self.limit(max_norm, grid)
        return self._route.touches(rows, self._key, limit, float(grid), width)

    def _by_coordinate(self, words: Rows, sums: Array) -> SparseSum:
        width = self._shape[1]
        indices = (words[:, None] * width + np.arange(width)).ravel()
        return SparseSum(indices, sums.ravel(), self.size)

    def _table(self, values: Array) -> Array:
        return np.ascontiguousarray(values, dtype=np.float64).reshape(self._shape)

    def limit(self, max_norm: float, grid: float) -> float:
        """The norm to clip to in floating point, so that the exact norm is at most `max_norm`."""
        if not SMALLEST_NORM <= max_norm <= LARGEST_NORM or math.frexp(grid)[0] != 0.5:
            raise ValueError(
                f"max_norm must be between 2^-60 and 2^60 and grid a power of two, "
                f"got {max_norm!r} and {grid!r}."
            )
        return float(max_norm) * (1 - self._rounding)


def norm_for_rows(
    max_norm: float, grid: float, most_rows: int, size: int, most_records: int
) -> float:
    """Return the norm of a record's gradient that leaves room for rounding norms of rows.

    Raises
    ------
    ValueError
        If rounding to the grid would take a tenth of the norm or more: a public fact.
    """
    error = (size + 8) * 2 * UNIT_ROUNDOFF * most_records * max_norm
    left = max_norm - math.sqrt(most_rows) * (2 * grid + error)
    if left < 0.9 * max_norm:
        raise ValueError(
            "The noise is so large that norms of rows would be lost in rounding to its grid: raise "
            "epsilon, or select coordinates."
        )
    return left


def route_of(records: CbowRecords, size: int) -> Route:
    """Return the compiled route, or the other one without numba."""
    try:
        from skdp.embedding.compiled_route import CompiledRoute
    except (ImportError, RuntimeError):  # an installation that does not fit, or has no cache
        return NumpyRoute(records, size)
    return CompiledRoute(records, size)

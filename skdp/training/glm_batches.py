"""Some records of a matrix, dense or CSR, for vectorised arithmetic.

A sum over the values of a record is a sum of one contiguous run, which NumPy takes in an order
that depends on its length alone. Products of matrices, whose order depends on the batch, are not
used.
"""

from typing import Any, Protocol, cast, final

import numpy as np
import numpy.typing as npt

from skdp.training.glm_contract import Array, Integers


class Batch(Protocol):
    """Values of some records, in one array `x`, and what ties these to records and columns."""

    x: Array
    columns: Integers
    n_terms: Any

    def sums(self, terms: Array) -> Array:
        """Sum of the terms of each record, shape (n_rows,); terms have the shape of `x`."""

    def spread(self, per_record: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """One number a record, for each of its values: broadcasts with `x`."""

    def column_sums(self, terms: list[Array]) -> tuple[Integers, Array]:
        """Columns in increasing order, and the sums there of each element of `terms`."""

    def chosen(self, features: Integers) -> Array:
        """Values in the columns `features` (increasing), shape (n_rows, n_chosen), C order."""


@final
class DenseBatch:
    """Rows of ``matrix = (X,)``."""

    def __init__(self, matrix: Any, rows: Any) -> None:
        self.x: Array = np.ascontiguousarray(matrix[0][rows], dtype=np.float64)
        self.n_terms = self.x.shape[1]
        self.columns = np.arange(self.n_terms)

    def sums(self, terms: Array) -> Array:
        return cast(Array, terms.sum(axis=1))

    def spread(self, per_record: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return per_record[:, None]

    def column_sums(self, terms: list[Array]) -> tuple[Integers, Array]:
        return self.columns, np.stack([part.sum(axis=0) for part in terms], axis=1)

    def chosen(self, features: Integers) -> Array:
        return np.take(self.x, features, axis=1)


@final
class SparseBatch:
    """Rows of ``matrix = (data, indices, indptr)``; `x` is flat."""

    def __init__(self, matrix: Any, rows: Any) -> None:
        data, indices, indptr = matrix
        starts = indptr[:-1][rows].astype(np.int64)
        self.n_terms = indptr[1:][rows] - starts
        self._first = np.cumsum(self.n_terms) - self.n_terms
        entries = np.arange(self.n_terms.sum()) + self.spread(starts - self._first)
        self.x: Array = data[entries].astype(np.float64)
        self.columns = indices[entries].astype(np.int64)

    def sums(self, terms: Array) -> Array:
        sums = np.zeros(len(self.n_terms))
        filled = self.n_terms > 0
        if filled.any():
            sums[filled] = np.add.reduceat(terms, self._first[filled])
        return sums

    def spread(self, per_record: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.repeat(per_record, self.n_terms)

    def column_sums(self, terms: list[Array]) -> tuple[Integers, Array]:
        columns, where = np.unique(self.columns, return_inverse=True)
        sums = [np.bincount(where, part, len(columns)) for part in terms]
        return columns, np.stack(sums, axis=1)

    def chosen(self, features: Integers) -> Array:
        place = np.searchsorted(features, self.columns)
        found = np.append(features, -1)[place] == self.columns
        out = np.zeros((len(self.n_terms), len(features)))
        record = self.spread(np.arange(len(self.n_terms)))
        out[record[found], place[found]] = self.x[found]
        return out

"""Runs of consecutive rows, small enough for a float64 copy of one to be of no account."""

from collections.abc import Iterator
from typing import Any, Protocol, final

import numpy as np
import numpy.typing as npt
from scipy import sparse

Array = npt.NDArray[np.float64]
Columns = npt.NDArray[np.intp] | None

DENSE_ELEMENTS = 2**18
DENSE_ROWS = (64, 4096)
SPARSE_ROWS = 8192
#: Longest sum of products in one go; longer rows are summed piece by piece, for accuracy.
PIECE = 4096


class Block(Protocol):
    """Rows `rows` of a matrix; arithmetic in float64 whatever the storage."""

    rows: slice

    def times(self, vectors: Array) -> Array:
        """``X v``; `vectors` has shape (n_features,) or (n_features, k)."""

    def transposed_times(self, residuals: Array) -> Array:
        """``r^T X``, shape (n_features,) or (k, n_features) for `residuals` (n,) or (n, k)."""

    def squares_times(self, weights: Array) -> Array:
        """`transposed_times` with every element of X squared."""

    def scaled(self, rows: slice, scale: Array, columns: Columns, out: Array) -> None:
        """Write ``scale_i x_ij`` for the chosen columns j."""


def dense_rows(n_features: int) -> int:
    """Number of rows in a dense block: about 2 MB, at least 64 and at most 4096 rows."""
    low, high = DENSE_ROWS
    return max(low, min(high, DENSE_ELEMENTS // n_features))


def blocks_of(X: Any) -> list[Block]:
    """Cut a dense array or a CSR matrix into blocks that are views of it."""
    if sparse.issparse(X):
        return [SparseBlock(X, rows) for rows in _runs(X.shape[0], SPARSE_ROWS)]
    return [DenseBlock(X, rows) for rows in _runs(X.shape[0], dense_rows(X.shape[1]))]


def _runs(n_samples: int, size: int) -> Iterator[slice]:
    for start in range(0, n_samples, size):
        yield slice(start, min(start + size, n_samples))


@final
class DenseBlock:
    """Rows of a dense array, float64 or float32."""

    def __init__(self, X: npt.NDArray[Any], rows: slice) -> None:
        self.rows = rows
        self._stored = X[rows]
        self._starts = range(0, X.shape[1], PIECE)

    def _piece(self, start: int) -> Array:
        """Columns from `start` on, as float64: a view where they are that already."""
        return np.asarray(self._stored[:, start : start + PIECE], dtype=np.float64)

    def times(self, vectors: Array) -> Array:
        product: Array = self._piece(0) @ vectors[:PIECE]
        for start in self._starts[1:]:
            product += self._piece(start) @ vectors[start : start + PIECE]
        return product

    def transposed_times(self, residuals: Array) -> Array:
        products = [residuals.T @ self._piece(start) for start in self._starts]
        return np.concatenate(products, axis=-1)

    def squares_times(self, weights: Array) -> Array:
        products = [weights.T @ np.square(self._piece(start)) for start in self._starts]
        return np.concatenate(products, axis=-1)

    def scaled(self, rows: slice, scale: Array, columns: Columns, out: Array) -> None:
        chosen = self._stored[rows] if columns is None else self._stored[rows, columns]
        np.multiply(chosen, scale[:, None], out=out)


@final
class SparseBlock:
    """Rows of a CSR matrix; index arrays and values stay shared with it."""

    def __init__(self, X: Any, rows: slice) -> None:
        self.rows = rows
        start, stop = X.indptr[rows.start], X.indptr[rows.stop]
        offsets = X.indptr[rows.start : rows.stop + 1] - start
        self._indptr = offsets.astype(X.indices.dtype, copy=False)
        self._indices = X.indices[start:stop]
        self._data = X.data[start:stop]
        self._n_features = X.shape[1]
        self._matrix = self._assembled(sparse.csr_array, self._data)
        self._transposed = self._assembled(sparse.csc_array, self._data)
        self._pieces, self._first_pieces = self._cut_long_rows()

    def _assembled(self, container: Any, data: npt.NDArray[Any], indptr: Any = None) -> Any:
        """Return the matrix (CSR) or its transpose (CSC) around arrays that are not copied.

        The constructor would copy them: each is a small part of a larger one.
        """
        indptr = self._indptr if indptr is None else indptr
        shape = (len(indptr) - 1, self._n_features)
        shape = shape if container is sparse.csr_array else shape[::-1]
        matrix = container(shape, dtype=data.dtype)
        matrix.data, matrix.indices, matrix.indptr = data, self._indices, indptr
        return matrix

    def _cut_long_rows(self) -> tuple[Any, npt.NDArray[np.intp]]:
        """Return the matrix with long rows cut into several, and where each row starts."""
        counts = np.maximum(1, -(-np.diff(self._indptr) // PIECE))
        ends = np.cumsum(counts, dtype=np.intp)
        first = ends - counts
        if len(counts) == ends[-1]:
            return self._matrix, first
        offsets = PIECE * (np.arange(ends[-1]) - np.repeat(first, counts))
        starts = np.repeat(self._indptr[:-1], counts) + offsets
        indptr = np.append(starts, self._indptr[-1]).astype(self._indptr.dtype)
        return self._assembled(sparse.csr_array, self._data, indptr), first

    def times(self, vectors: Array) -> Array:
        product: Array = self._pieces @ vectors
        if len(product) == len(self._first_pieces):
            return product
        return np.add.reduceat(product, self._first_pieces, axis=0)

    def transposed_times(self, residuals: Array) -> Array:
        product: Array = self._transposed @ residuals
        return product.T

    def squares_times(self, weights: Array) -> Array:
        squares = np.square(self._data, dtype=np.float64)
        product: Array = self._assembled(sparse.csc_array, squares) @ weights
        return product.T

    def scaled(self, rows: slice, scale: Array, columns: Columns, out: Array) -> None:
        chosen = self._matrix[rows] if columns is None else self._matrix[rows][:, columns]
        np.multiply(chosen.toarray(), scale[:, None], out=out)

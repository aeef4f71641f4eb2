"""Records held in memory: dense or CSR, float64 or float32."""

import math
from typing import Any, final

import numpy as np
import numpy.typing as npt
from scipy import sparse

from skdp.records.blocks import DENSE_ROWS, PIECE, SPARSE_ROWS, blocks_of, dense_rows

Array = npt.NDArray[np.float64]


def summation_terms(n_samples: int, n_features: int) -> int:
    """Most additions that a term of a sum over records goes through, however X is stored.

    A sum runs over the rows of a block in any order, then over the blocks in turn, so its
    rounding error is at most this number times the unit roundoff (Higham 2002, 4.2).
    """
    dense = min(n_samples, dense_rows(n_features))
    in_sparse = min(n_samples, SPARSE_ROWS)
    return max(
        dense + -(-n_samples // dense),
        in_sparse + -(-n_samples // in_sparse),
        DENSE_ROWS[0],
    )


def score_terms(n_features: int) -> int:
    """Most additions that a term of a score ``x_i w`` goes through, however X is stored."""
    return min(n_features, PIECE) + -(-n_features // PIECE) + 1


@final
class InMemoryRecords:
    """Rows of an array that is neither copied nor changed.

    Sums run block by block: float32 rows are turned into float64 a block at a time, CSR rows
    never become dense, and rounding errors grow with the length of a block rather than with n.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features), float64 or float32
        Rows, clipped by whoever promises a row norm.
    y : ndarray of shape (n_samples,)
        Targets as the loss wants them.
    weights : ndarray of shape (n_samples,) or None
        s_i, at least 0; None is 1 for every record.
    constant : float or None
        Value of the constant column, which comes last; None for no such column.

    Examples
    --------
    >>> import numpy as np
    >>> records = InMemoryRecords(np.eye(2), np.array([1.0, -1.0]), constant=2.0)
    >>> records.scores(np.array([[5.0, 7.0, 0.5]]))
    array([6., 8.])
    """

    def __init__(
        self,
        X: Any,
        y: npt.NDArray[Any],
        weights: npt.NDArray[Any] | None = None,
        constant: float | None = None,
    ) -> None:
        self.n_samples, self.n_features = (int(size) for size in X.shape)
        self.n_columns = self.n_features + (constant is not None)
        self.targets = y if np.issubdtype(y.dtype, np.integer) else y.astype(np.float64, copy=False)
        self._weights = None if weights is None else weights.astype(np.float64, copy=False)
        self._constant = constant
        self._blocks = blocks_of(X)
        stored = X.nnz if sparse.issparse(X) else 2**30 * self.n_samples
        self._per_row = stored / self.n_samples

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_samples={self.n_samples}, n_features={self.n_features})"

    def _weighted(self, values: Array) -> Array:
        if self._weights is None:
            return values
        return (values.T * self._weights).T

    def scores(self, coef: Array) -> Array:
        """``x_i w`` for every record: (n_samples,), or (n_samples, n_outputs) for several."""
        vectors = coef[0] if len(coef) == 1 else coef.T
        features = vectors[: self.n_features]
        parts = [block.times(features) for block in self._blocks]
        scores = parts[0] if len(parts) == 1 else np.concatenate(parts)
        if self._constant is not None:
            scores += self._constant * vectors[self.n_features]
        return scores

    def total(self, values: Array) -> float:
        """``sum_i s_i values_i``."""
        return float(self._weighted(values).sum())

    def gradient_sum(self, residuals: Array) -> Array:
        """``sum_i s_i residuals_i x_i^T``, shape (n_outputs, n_columns)."""
        weighted = self._weighted(residuals)
        features = sum(block.transposed_times(weighted[block.rows]) for block in self._blocks)
        return self._with_constant(features, weighted, self._constant)

    def column_squares(self, curvature: Array) -> Array:
        """``sum_i s_i curvature_i x_ij^2``, shape (n_outputs, n_columns)."""
        weighted = self._weighted(curvature)
        features = sum(block.squares_times(weighted[block.rows]) for block in self._blocks)
        square = None if self._constant is None else self._constant**2
        return self._with_constant(features, weighted, square)

    def _with_constant(self, features: Any, weighted: Array, constant: float | None) -> Array:
        """Append the constant column's share to a sum over the feature columns."""
        n_outputs = 1 if weighted.ndim == 1 else weighted.shape[1]
        out = np.empty((n_outputs, self.n_columns))
        out[:, : self.n_features] = features
        if constant is not None:
            sums = sum(weighted[block.rows].sum(axis=0) for block in self._blocks)
            out[:, self.n_features] = constant * sums
        return out

    def weighted_gram(self, curvature: Array, columns: npt.NDArray[np.intp] | None = None) -> Array:
        """``sum_i s_i curvature_i x_i x_i^T`` over sorted `columns` (None: all), curvature >= 0."""
        root = np.sqrt(self._weighted(curvature))
        features = columns if columns is None else columns[columns < self.n_features]
        width = self.n_features if features is None else len(features)
        size = self.n_columns if columns is None else len(columns)
        gram = np.zeros((size, size))
        step = dense_rows(size)
        buffer = np.empty((min(step, self._blocks[0].rows.stop), size))
        for block in self._blocks:
            weights = root[block.rows]
            for start in range(0, len(weights), step):
                rows = slice(start, start + step)
                scale = weights[rows]
                scaled = buffer[: len(scale)]
                block.scaled(rows, scale, features, scaled[:, :width])
                if size > width and self._constant is not None:
                    scaled[:, width] = self._constant * scale
                gram += scaled.T @ scaled
        return gram

    @property
    def gram_limit(self) -> int:
        """Number of columns up to which `weighted_gram` is worth its cost.

        Dense, it makes better use of the processor than products do; sparse, its cost goes by
        the dense size and theirs by the stored values.
        """
        return min(1500, max(300, 3 * self.n_samples), int(math.sqrt(4000 * self._per_row)))

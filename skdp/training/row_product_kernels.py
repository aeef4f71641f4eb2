"""Rows times a matrix, compiled. Imported lazily: it needs numba."""

from typing import Any

import numpy as np

from skdp.training.compiled_kernels import compiled

__all__ = ["row_products"]


@compiled
def row_products(rows: Any, matrix: Any) -> Any:
    """``rows @ matrix``, terms of each sum added in the order of the columns of `rows`."""
    n_rows, width = rows.shape
    n_columns = matrix.shape[1]
    products = np.zeros((n_rows, n_columns))
    for i in range(n_rows):
        for j in range(width):
            value = rows[i, j]
            for k in range(n_columns):
                products[i, k] += value * matrix[j, k]
    return products

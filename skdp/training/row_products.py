"""Rows times a matrix, so that a product depends on its row alone."""

import numpy as np
import numpy.typing as npt

from skdp.records.row_blocks import BLOCK_ROWS

__all__ = ["row_products"]

Array = npt.NDArray[np.float64]


def row_products(rows: Array, matrix: Array) -> Array:
    """Return ``rows @ matrix`` in float64; each row is a function of that row, bit for bit.

    Matrix products of BLAS are not: what they compute for a row depends on its place among the
    others and on their number. Here each sum is taken in the order of its terms.

    Examples
    --------
    >>> row_products(np.array([[1.0, 2.0]]), np.array([[1.0], [0.5]]))
    array([[2.]])
    """
    rows, matrix = np.ascontiguousarray(rows, np.float64), np.ascontiguousarray(matrix, np.float64)
    try:
        from skdp.training import row_product_kernels
    except (ImportError, RuntimeError):  # no numba, or one that does not fit
        return numpy_row_products(rows, matrix)
    products: Array = row_product_kernels.row_products(rows, matrix)
    return products


def numpy_row_products(rows: Array, matrix: Array) -> Array:
    """The same without compiled code."""
    products = np.zeros((len(rows), matrix.shape[1]))
    for start in range(0, len(rows), BLOCK_ROWS):
        block = products[start : start + BLOCK_ROWS]
        part = rows[start : start + BLOCK_ROWS]
        for column, weights in zip(part.T, matrix, strict=True):
            block += column[:, None] * weights
    return products

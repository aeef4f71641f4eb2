"""Symmetric matrices as vectors of the same norm."""

import math

import numpy as np
import numpy.typing as npt

__all__ = ["packed", "triangle_size", "unpacked"]

Array = npt.NDArray[np.float64]

_SQRT2 = math.sqrt(2.0)


def triangle_size(order: int) -> int:
    """Number of entries on and above the diagonal."""
    return order * (order + 1) // 2


def packed(matrix: Array) -> Array:
    """The v with ||v||_2 = ||S||_F: upper triangle row by row, off the diagonal times sqrt(2).

    Noise of standard deviation sigma on each coordinate of v is noise of sigma on the diagonal of S
    and of sigma / sqrt(2) off it, half the variance that the triangle as it is would need.

    Examples
    --------
    >>> packed(np.array([[1.0, 2.0], [2.0, 3.0]])).round(3)
    array([1.   , 2.828, 3.   ])
    """
    scaled = matrix * _SQRT2
    np.fill_diagonal(scaled, matrix.diagonal())
    return scaled[_upper(len(matrix))]


def unpacked(vector: Array, order: int) -> Array:
    """Return the symmetric matrix of which `vector` is the `packed` one.

    Examples
    --------
    >>> unpacked(packed(np.array([[1.0, 2.0], [2.0, 3.0]])), 2)
    array([[1., 2.],
           [2., 3.]])
    """
    matrix = np.zeros((order, order))
    matrix[_upper(order)] = vector
    diagonal = matrix.diagonal().copy()
    matrix += matrix.T
    matrix /= _SQRT2
    np.fill_diagonal(matrix, diagonal)
    return matrix


def _upper(order: int) -> npt.NDArray[np.bool_]:
    return np.tri(order, dtype=bool).T

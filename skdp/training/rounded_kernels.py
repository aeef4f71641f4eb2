"""Normal noise rounded to integers, compiled. Imported lazily: it needs numba.

The quantile function of |N| is a polynomial on each of 352 intervals. What is rounded is as good as
with `scipy.special.ndtri` but for numbers next to a half-integer, which are left to exact code.
"""

import math

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from skdp.training.compiled_kernels import compiled, inner

__all__ = ["fill"]

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Zeros = npt.NDArray[np.uint8]

#: Bits of a word of `continuous.signed_uniforms`, from the top: sign, exponent, mantissa.
_EXPONENT_BITS, _MANTISSA_BITS, _CELL_BITS, _DEGREE = 11, 52, 5, 5
_EXPONENTS = np.int64(2**_EXPONENT_BITS - 1)
_CELLS = np.int64(2**_CELL_BITS)
_PLACE_BITS = _MANTISSA_BITS - _CELL_BITS
_PLACES = np.int64(2**_PLACE_BITS - 1)
_PLACE_UNIT = 2.0 ** (1 - _PLACE_BITS)
#: Polynomials are off by less than 2^-38 (a test looks), so that products with a width below 2^21
#: are off by less than 2^-17, and by 2^-27 more for their own rounding.
_MARGIN = 2.0**-14


def _polynomials() -> Array:
    """Return coefficients of -ndtri(u / 2), from the constant up, in a place from -1 to 1.

    A row for each of `_CELLS` parts of the u in [2^-(z+1), 2^-z), z = 0, ..., 10; interpolation
    at the points of Chebyshev.
    """
    points = np.cos(math.pi * (np.arange(_DEGREE + 1) + 0.5) / (_DEGREE + 1))
    z, cell = np.arange(_EXPONENT_BITS)[:, None, None], np.arange(_CELLS)[:, None]
    u = 2.0 ** -(z + 1.0) * (1 + (cell + (points + 1) / 2) / _CELLS)
    inverse = np.linalg.inv(np.vander(points, increasing=True))
    return np.ascontiguousarray((-ndtri(u / 2) @ inverse.T).reshape(-1, _DEGREE + 1))


def _leading_zeros() -> Zeros:
    bits = [number.bit_length() for number in range(2**_EXPONENT_BITS)]
    zeros: Zeros = np.minimum(_EXPONENT_BITS - np.array(bits), _EXPONENT_BITS - 1).astype(np.uint8)
    return zeros


_POLYNOMIALS, _ZEROS = _polynomials(), _leading_zeros()


def fill(noise: Array, words: npt.NDArray[np.uint64], width: float) -> Integers:
    """Write rint(w N) for each word; return the places that are left to exact code.

    Parameters
    ----------
    noise : ndarray of shape (n,)
        Where numbers go.
    words : ndarray of uint64, shape (n,)
        Sign and uniform of each number, as `continuous.signed_uniforms` reads them.
    width : float
        The w, below 2^21.
    """
    signed = words.view(np.int64)
    # What cannot be written to is another type for the compiler: one is enough.
    signed.flags.writeable = False
    undecided = np.empty(len(words), dtype=np.int64)
    n = _fill(noise, signed, width, _ZEROS, _POLYNOMIALS, undecided)
    return undecided[:n]


@inner
def _value(rows: Array, cell: np.int64, x: float) -> float:
    """Value of a polynomial of degree 5, by sums that need not wait for each other."""
    low = rows[cell, 0] + rows[cell, 1] * x
    middle = rows[cell, 2] + rows[cell, 3] * x
    high = rows[cell, 4] + rows[cell, 5] * x
    value: float = low + x * x * (middle + x * x * high)
    return value


@compiled
def _fill(
    noise: Array, words: Integers, width: float, zeros: Zeros, rows: Array, undecided: Integers
) -> int:
    n = 0
    for i in range(words.size):
        word = words[i]
        exponent = (word >> _MANTISSA_BITS) & _EXPONENTS
        cell = np.int64(zeros[exponent]) * _CELLS + ((word >> _PLACE_BITS) & (_CELLS - 1))
        exact = _value(rows, cell, np.float64(word & _PLACES) * _PLACE_UNIT - 1.0) * width
        magnitude = np.rint(exact)
        noise[i] = -magnitude if word < 0 else magnitude
        if exponent == 0 or 0.5 - abs(exact - magnitude) < _MARGIN:
            undecided[n] = i
            n += 1
    return n

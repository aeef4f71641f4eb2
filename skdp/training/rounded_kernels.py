"""Normal noise rounded to integers, compiled. Imported lazily: it needs numba.

The quantile function of |N| is a polynomial on each of 576 intervals. What is rounded is as good as
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
_EXPONENT_BITS, _CELL_BITS, _DEGREE = 11, 5, 5
_MANTISSA_BITS, _PLACE_BITS = np.uint64(52), np.uint64(52 - _CELL_BITS)
_EXPONENTS, _PLACES = np.uint64(2**_EXPONENT_BITS - 1), np.uint64(2 ** (52 - _CELL_BITS) - 1)
_CELLS, _LAST_CELL = np.uint64(2**_CELL_BITS), np.uint64(2**_CELL_BITS - 1)
_PLACE_UNIT = 2.0 ** (1 - 52 + _CELL_BITS)
#: Bits of 0 that may stand before those of a word.
_MOST_ZEROS = 7
#: Polynomials are off by less than 2^-38 (a test looks), so that products with a width below 2^21
#: are off by less than 2^-17, and by 2^-27 more for their own rounding.
_MARGIN = 2.0**-14


def _polynomials() -> Array:
    """Return coefficients of -ndtri(u / 2), from the constant up, in a place from -1 to 1.

    A row for each of `_CELLS` parts of the u in [2^-(z+1), 2^-z), z = 0, ..., 17; interpolation
    at the points of Chebyshev.
    """
    points = np.cos(math.pi * (np.arange(_DEGREE + 1) + 0.5) / (_DEGREE + 1))
    z, cell = (
        np.arange(_EXPONENT_BITS + _MOST_ZEROS)[:, None, None],
        np.arange(int(_CELLS))[:, None],
    )
    u = 2.0 ** -(z + 1.0) * (1 + (cell + (points + 1) / 2) / 2**_CELL_BITS)
    inverse = np.linalg.inv(np.vander(points, increasing=True))
    return np.ascontiguousarray((-ndtri(u / 2) @ inverse.T).reshape(-1, _DEGREE + 1))


def _leading_zeros() -> Zeros:
    bits = [number.bit_length() for number in range(2**_EXPONENT_BITS)]
    zeros: Zeros = np.minimum(_EXPONENT_BITS - np.array(bits), _EXPONENT_BITS - 1).astype(np.uint8)
    return zeros


_POLYNOMIALS, _ZEROS = _polynomials(), _leading_zeros()


def fill(noise: Array, words: npt.NDArray[np.uint64], width: float, before: int = 0) -> Integers:
    """Write rint(w N) for each word; return the places that are left to exact code.

    Parameters
    ----------
    noise : ndarray of shape (n,)
        Where numbers go.
    words : ndarray of uint64, shape (n,)
        Sign and uniform of each number, as `continuous.signed_uniforms` reads them.
    width : float
        The w, below 2^21.
    before : int, default=0
        How many zeros, up to 7, stand before the bits of the uniform.
    """
    signed = words.view(np.int64)
    # What cannot be written to is another type for the compiler: one is enough.
    signed.flags.writeable = False
    undecided = np.empty(len(words), dtype=np.int64)
    n = _fill(noise, signed, width, before, _ZEROS, _POLYNOMIALS, undecided)
    return undecided[:n]


@inner
def _value(rows: Array, cell: np.uint64, x: float) -> float:
    """Value of a polynomial of degree 5, by sums that need not wait for each other."""
    low = rows[cell, 0] + rows[cell, 1] * x
    middle = rows[cell, 2] + rows[cell, 3] * x
    high = rows[cell, 4] + rows[cell, 5] * x
    value: float = low + x * x * (middle + x * x * high)
    return value


@compiled
def _fill(
    noise: Array,
    words: Integers,
    width: float,
    before: int,
    zeros: Zeros,
    rows: Array,
    undecided: Integers,
) -> int:
    # Unsigned, so that no index is looked at twice: it might be negative.
    n, offset = np.uint64(0), np.uint64(before) * _CELLS
    for i in range(np.uint64(words.size)):
        word = np.uint64(words[i])
        exponent = (word >> _MANTISSA_BITS) & _EXPONENTS
        cell = offset + np.uint64(zeros[exponent]) * _CELLS + ((word >> _PLACE_BITS) & _LAST_CELL)
        place = np.float64(np.int64(word & _PLACES)) * _PLACE_UNIT - 1.0
        exact = _value(rows, cell, place) * width
        magnitude = np.rint(exact)
        # Without branches: signs would be guessed wrongly half of the time.
        noise[i] = math.copysign(magnitude, np.float64(words[i]))
        undecided[n] = i
        n += np.uint64((exponent == 0) | (0.5 - abs(exact - magnitude) < _MARGIN))
    return int(n)

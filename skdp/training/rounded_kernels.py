"""Normal noise rounded to integers, compiled. Imported lazily: it needs numba.

The quantile function of |N| is a polynomial on each of 928 intervals. What is rounded is as good as
with `scipy.special.ndtri` but for numbers next to a half-integer, which are left to exact code.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from skdp.training.compiled_kernels import compiled, inner

__all__ = ["EXPONENT_BITS", "MOST_ZEROS", "fill", "leading_zeros"]

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32]
Zeros = npt.NDArray[np.uint8]

#: Bits of a word of `continuous.signed_uniforms`, from the top: sign, exponent, mantissa.
EXPONENT_BITS, _CELL_BITS, _DEGREE = 11, 5, 6
_MANTISSA_BITS, _PLACE_BITS = np.uint64(52), np.uint64(52 - _CELL_BITS)
_EXPONENTS, _PLACES = np.uint64(2**EXPONENT_BITS - 1), np.uint64(2 ** (52 - _CELL_BITS) - 1)
_CELLS, _LAST_CELL = np.int32(2**_CELL_BITS), np.uint64(2**_CELL_BITS - 1)
_PLACE_UNIT = 2.0 ** (1 - 52 + _CELL_BITS)
#: Bits of 0 that may stand before those of a word; before those of another, also its exponent.
MOST_ZEROS = 7
#: Polynomials are off by less than 2^-45 (a test looks), so that products with a width below 2^21
#: are off by less than 2^-24, and by 2^-25 more for their own rounding. What the law itself leaves
#: to more digits is less than this, too.
_MARGIN = 2.0**-20
#: Numbers that pass through the loops together: several at once in all but one of these.
_TOGETHER = 512


def _polynomials() -> Array:
    """Return coefficients of -ndtri(u / 2), from the constant up, in a place from -1 to 1.

    A row for each of `_CELLS` parts of the u in [2^-(z+1), 2^-z), z = 0, ..., 28: interpolation
    at the points of Chebyshev.
    """
    points = np.cos(math.pi * (np.arange(_DEGREE + 1) + 0.5) / (_DEGREE + 1))
    z, cell = (
        np.arange(MOST_ZEROS + 2 * EXPONENT_BITS)[:, None, None],
        np.arange(int(_CELLS))[:, None],
    )
    u = 2.0 ** -(z + 1.0) * (1 + (cell + (points + 1) / 2) / 2**_CELL_BITS)
    inverse = np.linalg.inv(np.vander(points, increasing=True))
    return np.ascontiguousarray((-ndtri(u / 2) @ inverse.T).reshape(-1, _DEGREE + 1))


def leading_zeros() -> Zeros:
    """Return how many bits of each exponent are 0 before the first that is 1; of 0, one less."""
    bits = [number.bit_length() for number in range(2**EXPONENT_BITS)]
    zeros: Zeros = np.minimum(EXPONENT_BITS - np.array(bits), EXPONENT_BITS - 1).astype(np.uint8)
    return zeros


_POLYNOMIALS, _ZEROS = _polynomials(), leading_zeros()


def fill(
    noise: Array, words: npt.NDArray[np.uint64], width: float, before: int = 0
) -> tuple[Places, Places]:
    """Write rint(w N) for each of the first words; return what is left to exact code.

    Parameters
    ----------
    noise : ndarray of shape (n,)
        Where numbers go.
    words : ndarray of uint64, shape (n + m,)
        Sign and uniform of each number, as `continuous.signed_uniforms` reads them; then uniforms
        of numbers whose exponent is 0, in turn.
    width : float
        The w, below 2^21.
    before : int, default=0
        How many zeros, up to `MOST_ZEROS`, stand before the bits of the uniform.

    Returns
    -------
    places : ndarray of int32
        Of numbers that are not decided.
    sources : ndarray of int32
        Place of the word that tells the uniform: another one where 2^-11 times its uniform is.
    """
    signed = words.view(np.int64)
    # What cannot be written to is another type for the compiler: one is enough.
    signed.flags.writeable = False
    undecided = np.empty((2, len(noise)), dtype=np.int32)
    n = _fill(noise, signed, width, before, _ZEROS, _POLYNOMIALS, undecided)
    return undecided[0, :n], undecided[1, :n]


@compiled
def _fill(
    noise: Array,
    words: Integers,
    width: float,
    before: int,
    zeros: Zeros,
    rows: Array,
    undecided: Places,
) -> int:
    cells, places = np.empty(_TOGETHER, np.int32), np.empty(_TOGETHER)
    exact, doubts = np.empty(_TOGETHER), np.empty(_TOGETHER, np.uint8)
    n, last = 0, noise.size
    for start in range(0, noise.size, _TOGETHER):
        some, to = words[start : min(start + _TOGETHER, noise.size)], noise[start:]
        _find_places(some, np.int32(before), zeros, cells, places)
        _evaluate(some.size, cells, places, rows, width, exact)
        if not _round(some, exact, to, doubts):
            continue
        for i in range(some.size):
            if not doubts[i]:
                continue
            source = start + i
            if _exponent(words[source]) == 0 and last < words.size:
                source, last = last, last + 1
                if _is_decided(words[source], before, width, zeros, rows, to[i : i + 1]):
                    continue
            undecided[0, n], undecided[1, n] = start + i, source
            n += 1
    return n


@inner
def _exponent(word: int) -> Any:
    return (word >> np.int64(_MANTISSA_BITS)) & np.int64(_EXPONENTS)


@inner
def _is_decided(
    word: int, before: int, width: float, zeros: Zeros, rows: Array, number: Array
) -> bool:
    """Give a number, for its sign, the magnitude of 2^-11 times a uniform; False if in doubt."""
    one, sign = np.empty(1, np.int64), number[0]
    cell, place = np.empty(1, np.int32), np.empty(1)
    exact, doubt = np.empty(1), np.empty(1, np.uint8)
    one[0] = word
    _find_places(one, np.int32(before + EXPONENT_BITS), zeros, cell, place)
    _evaluate(1, cell, place, rows, width, exact)
    doubtful = _round(one, exact, number, doubt)
    number[0] = math.copysign(number[0], sign)
    return not doubtful


@inner
def _find_places(
    words: Integers, before: np.int32, zeros: Zeros, cells: Any, places: Array
) -> None:
    """Write the interval of each uniform, and the place in it."""
    # Unsigned, so that no index is looked at twice: it might be negative.
    for i in range(np.uint64(words.size)):
        word = np.uint64(words[i])
        exponent = (word >> _MANTISSA_BITS) & _EXPONENTS
        cells[i] = (before + zeros[exponent]) * _CELLS + np.int32(
            (word >> _PLACE_BITS) & _LAST_CELL
        )
        places[i] = np.float64(np.int64(word & _PLACES)) * _PLACE_UNIT - 1.0


@inner
def _evaluate(n: int, cells: Any, places: Array, rows: Array, width: float, exact: Array) -> None:
    """Write w |N|: polynomials of degree 6, by sums that need not wait for each other."""
    for i in range(np.uint64(n)):
        cell, x = np.uint64(cells[i]), places[i]
        low = rows[cell, 0] + rows[cell, 1] * x
        middle = rows[cell, 2] + rows[cell, 3] * x
        high = rows[cell, 4] + rows[cell, 5] * x + rows[cell, 6] * (x * x)
        exact[i] = (low + x * x * (middle + x * x * high)) * width


@inner
def _round(words: Integers, exact: Array, noise: Array, doubts: Any) -> int:
    """Write whole numbers with their signs, and which are in doubt; return how many are."""
    n = 0
    for i in range(words.size):
        magnitude = np.rint(exact[i])
        noise[i] = -magnitude if words[i] < 0 else magnitude
        doubt = (_exponent(words[i]) == 0) | (0.5 - abs(exact[i] - magnitude) < _MARGIN)
        doubts[i] = doubt
        n += doubt
    return n

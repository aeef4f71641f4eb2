"""Uniform, exponential, Laplace and normal numbers, precise at both ends of their range.

A uniform here is a real uniform on (0, 1) of which the first 53 significant bits have been drawn:
the law of 2^-j U is exactly that of U given U < 2^-j, and no double near 0 is coarser than one
near 1. What is made of it has a relative error of a few units of 2^-53.
"""

import functools
import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from skdp._random import RandomSource

__all__ = [
    "coins",
    "exponentials",
    "exponentials_of",
    "laplaces",
    "laplaces_of",
    "normals",
    "refined",
    "signed_uniforms",
    "signed_uniforms_of",
    "uniforms",
]

Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]

_MANTISSA_BITS = 52
_MANTISSA = np.uint64(2**_MANTISSA_BITS - 1)
_SIGN = np.uint64(2**63)
_EXPONENT_OF_HALF = 1022
_MORE_WORDS = 3


def coins(n: int, rng: RandomSource) -> npt.NDArray[np.bool_]:
    """Draw `n` fair coins."""
    return rng.words(n) >= _SIGN


def uniforms(n: int, rng: RandomSource) -> Floats:
    """Draw `n` uniform numbers strictly between 0 and 1, rounded down to 53 significant bits.

    52 bits of a word are the mantissa; the place of the first one among the other 12 is the
    exponent. Where these are all 0, which happens to one in 4096, the number is 2^-12 times
    another uniform.

    Examples
    --------
    >>> from skdp._random import RandomSource
    >>> u = uniforms(1000, RandomSource.from_seed(0))
    >>> bool(u.min() > 0 and u.max() < 1)
    True
    """
    return _uniforms_of(rng.words(n), 12, rng)


def signed_uniforms(n: int, rng: RandomSource) -> tuple[npt.NDArray[np.bool_], Floats]:
    """Draw `n` fair coins and, from the same words, `n` independent uniforms."""
    return signed_uniforms_of(rng.words(n), rng)


def signed_uniforms_of(words: Words, rng: RandomSource) -> tuple[npt.NDArray[np.bool_], Floats]:
    """Return the coins and uniforms of given words; `rng` where these are not enough."""
    return words >= _SIGN, _uniforms_of(words & ~_SIGN, 11, rng)


def exponentials(n: int, rng: RandomSource) -> Floats:
    """Draw `n` numbers with density exp(-x), relatively precise near 0 and far out.

    Examples
    --------
    >>> from skdp._random import RandomSource
    >>> 0.9 < exponentials(10_000, RandomSource.from_seed(0)).mean() < 1.1
    np.True_
    """
    return exponentials_of(rng.words(n), rng)


def exponentials_of(words: Words, rng: RandomSource) -> Floats:
    """Return the exponentials of given words; `rng` where these are not enough."""
    small, tail = signed_uniforms_of(words, rng)
    tail *= 0.5
    if small.all():  # as given words may be: the same numbers, in less time
        return -np.log1p(-tail)
    return np.where(small, -np.log1p(-tail), -np.log(tail))


def laplaces(n: int, rng: RandomSource) -> Floats:
    """Draw `n` numbers with density exp(-|x|) / 2."""
    return laplaces_of(rng.words(n), rng)


def laplaces_of(words: Words, rng: RandomSource) -> Floats:
    """Return the Laplace variables of given words; `rng` where these are not enough."""
    negative, tail = signed_uniforms_of(words, rng)
    magnitude = -np.log(tail)
    return np.where(negative, -magnitude, magnitude)


def normals(n: int, rng: RandomSource) -> Floats:
    """Draw `n` standard normal numbers by inversion of a tail probability below 1/2."""
    negative, tail = signed_uniforms(n, rng)
    deviate: Floats = ndtri(0.5 * tail)
    return np.where(negative, deviate, -deviate)


def refined(uniform: float, rng: RandomSource) -> Fraction:
    """Draw 192 more bits of a uniform of which 53 are known."""
    mantissa, exponent = math.frexp(uniform)
    bits = int(math.ldexp(mantissa, _MANTISSA_BITS + 1))
    for word in rng.words(_MORE_WORDS):
        bits = (bits << 64) | int(word)
    shift = _MANTISSA_BITS + 1 + 64 * _MORE_WORDS - exponent
    return Fraction(2 * bits + 1, 1 << (shift + 1))


def _uniforms_of(words: Words, exponent_bits: int, rng: RandomSource) -> Floats:
    leading = words >> np.uint64(_MANTISSA_BITS)
    fields = _exponent_fields(exponent_bits)[leading]
    found: Floats = (fields | (words & _MANTISSA)).view(np.float64)
    small = np.flatnonzero(leading == 0)
    if small.size:
        found[small] = math.ldexp(1.0, -exponent_bits) * uniforms(small.size, rng)
    return found


@functools.cache
def _exponent_fields(bits: int) -> Words:
    """Exponent field of the double in [2^-(z+1), 2^-z), z the number of leading zeros."""
    fields = [_EXPONENT_OF_HALF - bits + leading.bit_length() for leading in range(2**bits)]
    return np.array(fields, dtype=np.uint64) << np.uint64(_MANTISSA_BITS)

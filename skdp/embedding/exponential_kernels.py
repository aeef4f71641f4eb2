"""Exponential and Laplace noise of one stratum, compiled. Imported lazily: it needs numba.

Logarithms are sums of powers, so that the processor takes several at once.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from skdp.training.compiled_kernels import compiled, inner
from skdp.training.rounded_kernels import EXPONENT_BITS, leading_zeros

__all__ = ["fill"]

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32]

_MANTISSA_BITS = np.int64(52)
_EXPONENTS, _MANTISSA = np.int64(2**EXPONENT_BITS - 1), np.int64(2**52 - 1)
_BIAS = np.int64(1023)
#: Numbers that pass through the loops together: several at once in the second.
_TOGETHER = 512
_ROOT, _HALF_LOG, _LOG = math.sqrt(2), math.log(2) / 2, math.log(2)


def fill(
    noise: Array, words: npt.NDArray[np.uint64], zeros: int, ended: bool, race: bool
) -> tuple[Places, Places]:
    """Write a number for each uniform U; return what is left to others.

    Parameters
    ----------
    noise : ndarray of shape (n,)
        Where numbers go: -log U or, in a race, -log(1 - U / 2).
    words : ndarray of uint64, shape (n + m,)
        Uniforms, as `continuous.signed_uniforms` reads them; of which, where zeros have ended, the
        mantissa alone. Then those that follow, in turn, a word whose exponent is 0.
    zeros : int
        At least 1: how many zeros stand before the bits of the uniform.
    ended : bool
        Whether a 1 follows them, so that 2^-(zeros + 1) <= U < 2^-zeros.
    race : bool

    Returns
    -------
    places : ndarray of int32
        Of numbers for which there were not enough words.
    known : ndarray of int32
        How many zeros their uniforms begin with at least.

    Notes
    -----
    Off by less than 2^-49 of themselves (a test compares them with 40 digits). With s below 1/7,
    -log(1 - t) = 2 artanh(s) for s = t / (2 - t) and t < 1/4; with s below .172, log x = log(2) / 2
    + 2 artanh(s) for s = (x - sqrt(2)) / (x + sqrt(2)) and x between 1 and 2. What the sums leave
    out is below 2^-54 of what they give.
    """
    signed = words.view(np.int64)
    # What cannot be written to is another type for the compiler: one is enough.
    signed.flags.writeable = False
    undecided = np.empty((2, len(noise)), dtype=np.int32)
    n = _fill(noise, signed, zeros, ended, race, _ZEROS, undecided)
    return undecided[0, :n], undecided[1, :n]


_ZEROS = leading_zeros()


@compiled
def _fill(
    noise: Array,
    words: Integers,
    zeros: int,
    ended: bool,
    race: bool,
    leading: Any,
    undecided: Places,
) -> int:
    bits, octaves = np.empty(_TOGETHER, np.int64), np.empty(_TOGETHER)
    n, last = 0, noise.size
    for start in range(0, noise.size, _TOGETHER):
        to = noise[start : start + _TOGETHER]
        for i in range(np.uint64(to.size)):
            word, octave = words[start + i], np.int64(zeros) + 1
            if not ended:
                exponent = (word >> _MANTISSA_BITS) & _EXPONENTS
                while exponent == 0 and last < words.size:
                    word, octave, last = words[last], octave + EXPONENT_BITS, last + 1
                    exponent = (word >> _MANTISSA_BITS) & _EXPONENTS
                if exponent == 0:
                    undecided[0, n], undecided[1, n] = start + i, octave - 1 + EXPONENT_BITS
                    n += 1
                octave += np.int64(leading[exponent])
            field = _BIAS - (octave + 1 if race else 0)
            bits[i], octaves[i] = (field << _MANTISSA_BITS) | (word & _MANTISSA), octave
        numbers = bits[: to.size].view(np.float64)
        if race:
            _write_small_logarithms(numbers, to)
        else:
            _write_logarithms(numbers, octaves, to)
    return n


@inner
def _write_small_logarithms(numbers: Array, to: Array) -> None:
    """Write -log(1 - t) for t < 1/4."""
    for i in range(to.size):
        s = numbers[i] / (2 - numbers[i])
        to[i] = _twice_artanh(s)


@inner
def _write_logarithms(numbers: Array, octaves: Array, to: Array) -> None:
    """Write -log(2^-octave x) for 1 <= x < 2."""
    for i in range(to.size):
        s = (numbers[i] - _ROOT) / (numbers[i] + _ROOT)
        to[i] = octaves[i] * _LOG - _HALF_LOG - _twice_artanh(s)


@inner
def _twice_artanh(s: float) -> float:
    """log((1 + s) / (1 - s)) for s below .172."""
    q = s * s
    low = 1 / 3 + q * (1 / 5 + q * (1 / 7 + q * (1 / 9 + q * (1 / 11))))
    high = 1 / 13 + q * (1 / 15 + q * (1 / 17 + q * (1 / 19 + q * (1 / 21))))
    fifth = q * q * q * q * q
    return 2 * (s + s * (q * (low + fifth * high)))

"""The law of a sum of privacy losses, all parts at once.

dp_accounting composes two distributions at a time and bounds the tails of each part by
itself, which takes seconds for a schedule of sixty different noises. Here all parts are
multiplied in one Fourier transform, on a window whose tails are bounded for the whole sum.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft

__all__ = ["Losses", "sum_of"]

Array = NDArray[np.float64]
# Beyond that the window is cut at its lower end, which is pessimistic.
_MOST_CELLS = 2**24
# Moments that bound the tails: shares of what is best where the sum is normal, and multiples of the
# reciprocal of the greatest loss, which are best where a few of those matter.
_SHARES = np.array([1.0, 0.6, 0.3])
_MULTIPLES = np.array([3.0, 8.0, 15.0, 25.0, 40.0])


class Losses(NamedTuple):
    """Probabilities of the losses first, first + 1, ... (in intervals) and of an infinite one."""

    first: int
    masses: Array
    infinity: float


def sum_of(parts: Sequence[tuple[Losses, int]], tail: float) -> Losses:
    """Return the law of the sum of independent losses, each so many times.

    What is above the window has a probability of at most `tail`, which is added to that of an
    infinite loss. What is below appears at its other end, as a larger loss.

    Parameters
    ----------
    parts : sequence of (Losses, int)
        Laws and how often each is drawn.
    tail : float
        What may be moved to infinity.

    Examples
    --------
    >>> coin = Losses(0, np.array([0.5, 0.5]), 0.0)
    >>> sum_of([(coin, 2)], 1e-12).masses.round(3)[:3]
    array([0.25, 0.5 , 0.25])
    """
    first, last = _window(parts, tail)
    size = next_fast_len(last - first + 1, real=True)
    spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
    for losses, count in parts:
        spectrum *= _power(rfft(_wrapped(losses.masses, size)), count)
    begun = sum(losses.first * count for losses, count in parts)
    masses = np.roll(irfft(spectrum, size), (begun - first) % size)
    finite = math.fsum(count * math.log1p(-losses.infinity) for losses, count in parts)
    return Losses(first, np.maximum(masses, 0.0), -math.expm1(finite) + tail)


def _window(parts: Sequence[tuple[Losses, int]], tail: float) -> tuple[int, int]:
    """Chernoff's bound for each side of the sum, no further than it can reach at all."""
    lowest = sum(losses.first * count for losses, count in parts)
    highest = sum((losses.first + losses.masses.size - 1) * count for losses, count in parts)
    variance = math.fsum(_variance(losses) * count for losses, count in parts)
    best = math.sqrt(2 * -math.log(tail) / max(variance, 1e-30))
    widest = max(losses.masses.size for losses, _ in parts)
    above_0 = np.concatenate([best * _SHARES, _MULTIPLES / widest])
    rates = np.concatenate([above_0, -above_0])
    logs = np.sum([_cumulants(losses, rates) * count for losses, count in parts], axis=0)
    ends = (logs - math.log(tail)) / rates
    half = above_0.size
    above = min(highest, math.ceil(np.min(ends[:half], initial=highest) + 1))
    below = max(lowest, math.floor(np.max(ends[half:], initial=lowest) - 1))
    return min(max(below, above - _MOST_CELLS), above), above


def _variance(losses: Losses) -> float:
    """Of what is finite."""
    places = losses.first + np.arange(losses.masses.size, dtype=np.float64)
    mean = float(losses.masses @ places)
    return float(losses.masses @ (places - mean) ** 2)


def _cumulants(losses: Losses, rates: Array) -> Array:
    """Logarithms of E e^(rate loss); infinite where that overflows."""
    places = losses.first + np.arange(losses.masses.size, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = np.log(np.exp(rates[:, None] * places) @ losses.masses)
    return np.where(np.isfinite(found), found, math.inf)


def _wrapped(masses: Array, size: int) -> Array:
    """Add up masses whose places are equal modulo the size."""
    rows = -(-masses.size // size)
    padded = np.pad(masses, (0, rows * size - masses.size))
    total: Array = padded.reshape(rows, size).sum(axis=0)
    return total


def _power(base: NDArray[np.complex128], exponent: int) -> NDArray[np.complex128]:
    """By squaring: two multiplications a binary digit, where ``**`` takes logarithms."""
    result = np.ones_like(base)
    while exponent:
        if exponent & 1:
            result = result * base
        exponent >>= 1
        if exponent:
            base = base * base
    return result

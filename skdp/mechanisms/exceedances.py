"""The extremes of very many independent noises that a quantile transform turns into numbers."""

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from skdp._random import RandomSource
from skdp.mechanisms.binomial import TOTAL_VARIATION as BINOMIAL_TOTAL_VARIATION
from skdp.mechanisms.binomial import binomial
from skdp.mechanisms.continuous import uniforms

__all__ = ["TOTAL_VARIATION", "descending_tails", "level_below", "level_with"]

Floats = npt.NDArray[np.float64]

_HIGHEST_LEVEL = 62

TOTAL_VARIATION = 64 * BINOMIAL_TOTAL_VARIATION
"""Total variation of all of `descending_tails`."""


def level_with(n: int, expected: float) -> int:
    """Highest level below which `expected` of `n` uniforms lie in the mean; 0 if there is none."""
    return _level(expected / n if n else 1.0)


def level_below(probability: float) -> int:
    """Highest level below which a uniform lies with at least this probability."""
    return _level(probability)


def descending_tails(n: int, level: int, rng: RandomSource) -> Iterator[tuple[Floats, float]]:
    """Draw the small ones of `n` independent uniforms, from the bottom up.

    First those below 2^-level: their number is binomial, and they are 2^-level times uniforms.
    Then, for whoever goes on, those below twice that, and so on until all have been drawn. Each
    number has the very law of a number of `uniforms`, so nothing made of it tells whether it
    belongs to a block or was drawn on its own.

    Yields
    ------
    tails : ndarray of float64
        The uniforms that are new, in random order.
    bound : float
        Below which all have been drawn now; 1 with the last ones.

    Examples
    --------
    >>> from skdp._random import RandomSource
    >>> tails, bound = next(descending_tails(10**9, 20, RandomSource.from_seed(0)))
    >>> 800 < tails.size < 1100, bool(tails.max() < bound)
    (True, True)
    """
    bound = math.ldexp(1.0, -level)
    found = binomial(n, 2**level, rng) if level and n else n
    yield bound * uniforms(found, rng), bound
    for lower in range(level, 0, -1):
        n -= found
        found = binomial(n, 2**lower - 1, rng) if lower > 1 and n else n
        yield bound * (1 + _mantissas(found, rng)), 2 * bound
        bound *= 2


def _level(probability: float) -> int:
    return max(0, math.floor(-math.log2(max(probability, 2.0**-_HIGHEST_LEVEL))))


def _mantissas(n: int, rng: RandomSource) -> Floats:
    """Multiples of 2^-52 in [0, 1), which are the mantissas of `uniforms`."""
    return np.ldexp((rng.words(n) >> np.uint64(12)).astype(np.float64), -52)

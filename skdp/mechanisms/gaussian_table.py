"""Integer Gaussian noise from one table, fast and for every width."""

import functools
import itertools
import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from skdp._random import RandomSource
from skdp.mechanisms.integer_noise import Integers, in_blocks

__all__ = [
    "BASE_TOTAL_VARIATION",
    "BASE_WIDTH",
    "LARGEST_STEP",
    "SMALLEST_STEP",
    "TABLE_TOTAL_VARIATION",
    "base_gaussian",
    "step_for",
    "table_gaussian",
    "width_of",
]

BASE_WIDTH = 1024
"""The s of the discrete Gaussian exp(-z^2 / (2 s^2)) that the table holds."""

BASE_TOTAL_VARIATION = 2.0**-115.8
"""Total variation of one `base_gaussian` draw: the table's probabilities are multiples of 2^-128
(2^-115.9, computed; a test does it again)."""

TABLE_TOTAL_VARIATION = 3 * BASE_TOTAL_VARIATION + 2.0**-500
"""Total variation of one `table_gaussian` draw: three table draws and two convolutions."""

SMALLEST_STEP, LARGEST_STEP = 2**13, 2**14

_MIDDLE_STEP = 128
_FIXED_POINT = 320
_REACH = 13 * BASE_WIDTH
_BLOCK = 2**14


class _Table(NamedTuple):
    """High and low words of 2^128 P(Z <= z) for z = -reach, ..., reach - 1."""

    high: npt.NDArray[np.uint64]
    low: npt.NDArray[np.uint64]


def width_of(step: int) -> float:
    """Width s of `table_gaussian`: 1024 (1 + 128^2 + step^2)^(1/2)."""
    return BASE_WIDTH * math.sqrt(1 + _MIDDLE_STEP**2 + step**2)


def step_for(width: float) -> int:
    """Smallest step whose width is at least `width`; perhaps above `LARGEST_STEP`."""
    square = (width * (1 + 2.0**-40) / BASE_WIDTH) ** 2 - 1 - _MIDDLE_STEP**2
    return max(SMALLEST_STEP, math.ceil(math.sqrt(max(square, 0.0))))


def table_gaussian(n: int, step: int, rng: RandomSource) -> Integers:
    """Draw `n` integers with P(z) proportional to exp(-z^2 / (2 s^2)), s = width_of(step).

    The sum z1 + 128 z2 + step z3 of three draws of the base width. A power-of-two grid and a step
    reach every standard deviation to within 2^-13, and one table serves them all.

    Parameters
    ----------
    n : int
        How many.
    step : int
        From 2^13 to 2^14.
    rng : RandomSource
        Where the bits come from.

    Returns
    -------
    ndarray of int64 of shape (n,)

    Notes
    -----
    If x and y are discrete Gaussians of widths s and t, then P(x + k y = z) is
    exp(-z^2 / (2 (s^2 + k^2 t^2))) times a Gaussian sum over the integers of width
    w = s t / (s^2 + k^2 t^2)^(1/2), whose value depends on its centre by a factor of at most
    1 + 4 exp(-2 pi^2 w^2) only. The widths so far divided by the next step are 8 and at least
    8.0003, so w > 7.9 and the factor is below 1 + 2^-1700.

    References
    ----------
    Micciancio and Walter (2017), Gaussian sampling over the integers, section 3.

    Examples
    --------
    >>> from skdp._random import RandomSource
    >>> z = table_gaussian(1000, 2**13, RandomSource.from_seed(0))
    >>> 0.9 < z.std() / width_of(2**13) < 1.1
    np.True_
    """
    if not SMALLEST_STEP <= step <= LARGEST_STEP:
        raise ValueError(f"step must be from {SMALLEST_STEP} to {LARGEST_STEP}, got {step!r}.")

    def sums(m: int) -> Integers:
        first, second, third = base_gaussian(3 * m, rng).reshape(3, m)
        return first + _MIDDLE_STEP * second + step * third

    return in_blocks(n, _BLOCK, sums)


def base_gaussian(n: int, rng: RandomSource) -> Integers:
    """Draw `n` integers with P(z) proportional to exp(-z^2 / (2 1024^2)), |z| <= 13 * 1024.

    Inversion of a uniform of 128 bits, whose second word is drawn only where the first one falls
    together with the high word of a table entry.
    """
    table = _table()
    words = rng.words(n)
    places = np.searchsorted(table.high, words, side="right")
    tied = np.flatnonzero((places > 0) & (table.high[places - 1] == words))
    for index in tied:
        places[index] = _resolved(table, words[index], rng)
    return places - _REACH


def _resolved(table: _Table, word: np.uint64, rng: RandomSource) -> int:
    """Number of table entries that are at most the 128-bit uniform with this high word."""
    start, stop = (int(np.searchsorted(table.high, word, side=side)) for side in ("left", "right"))
    return start + int(np.searchsorted(table.low[start:stop], rng.words(1)[0], side="right"))


@functools.cache
def _table() -> _Table:
    lower = _lower_tails()
    upper = [min(2**128 - entry, 2**128 - 1) for entry in reversed(lower)]
    octets = b"".join(entry.to_bytes(16, "little") for entry in lower + upper)
    words = np.frombuffer(octets, dtype="<u8").reshape(-1, 2).astype(np.uint64)
    return _Table(high=np.ascontiguousarray(words[:, 1]), low=np.ascontiguousarray(words[:, 0]))


def _lower_tails() -> list[int]:
    """2^128 P(Z <= z), rounded, for z = -reach, ..., -1."""
    half = _halves()
    total = 2 * sum(half) - half[0]
    return [((tail << 129) // total + 1) >> 1 for tail in itertools.accumulate(half[:0:-1])]


def _halves() -> list[int]:
    """exp(-k^2 / (2 1024^2)) for k = 0, ..., reach, in units of 2^-320.

    The ratio of neighbours is exp(-(2 k + 1) / (2 1024^2)), itself a geometric sequence. After k
    multiplications the error is below k^2 units, at most 2^-292.
    """
    ratio = _exp_minus_power_of_two(2 * int(math.log2(BASE_WIDTH)) + 1)
    decay = ratio * ratio >> _FIXED_POINT
    weight, weights = 1 << _FIXED_POINT, []
    for _ in range(_REACH + 1):
        weights.append(weight)
        weight = weight * ratio >> _FIXED_POINT
        ratio = ratio * decay >> _FIXED_POINT
    return weights


def _exp_minus_power_of_two(bits: int) -> int:
    """exp(-2^-bits) in units of 2^-320, by its Taylor series."""
    term, total, k = 1 << _FIXED_POINT, 0, 0
    while term:
        total += -term if k % 2 else term
        k += 1
        term = (term >> bits) // k
    return total

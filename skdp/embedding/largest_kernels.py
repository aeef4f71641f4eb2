"""The largest of some finite numbers, compiled. Imported lazily: it needs numba."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from skdp.training.compiled_kernels import inner

__all__ = ["border_of", "keep_largest", "range_of"]

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_BUCKETS = 1024


@inner
def border_of(numbers: Array, k: int) -> float:
    """The k-th largest."""
    buckets = np.empty(numbers.size, np.int32)
    bucket, left = write_buckets(numbers, k, buckets)
    within, n = np.empty(numbers.size), 0
    for i in range(numbers.size):
        within[n] = numbers[i]
        n += buckets[i] == bucket
    return float(np.partition(within[:n], n - left)[n - left])


@inner
def write_buckets(numbers: Array, k: int, buckets: Any) -> tuple[int, int]:
    """Write the bucket of each number, of equal widths.

    Returns that of the k-th largest, and how many of those in it are among the k largest.
    """
    low, high = range_of(numbers)
    narrow, counts = _BUCKETS / (high - low), np.zeros(_BUCKETS + 1, np.int64)
    if not 0 < narrow < math.inf:
        narrow = 0.0
    for i in range(numbers.size):
        bucket = int((numbers[i] - low) * narrow)
        buckets[i] = bucket
        counts[bucket] += 1
    bucket, left = _BUCKETS, k
    while counts[bucket] < left:
        left -= counts[bucket]
        bucket -= 1
    return bucket, left


@inner
def range_of(numbers: Array) -> tuple[float, float]:
    """The least and the largest, by comparisons of which four need not wait for each other."""
    l0 = l1 = l2 = l3 = h0 = h1 = h2 = h3 = numbers[0]
    whole = numbers.size - numbers.size % 4
    for i in range(0, whole, 4):
        a, b, c, d = numbers[i], numbers[i + 1], numbers[i + 2], numbers[i + 3]
        l0, l1, l2, l3 = min(l0, a), min(l1, b), min(l2, c), min(l3, d)
        h0, h1, h2, h3 = max(h0, a), max(h1, b), max(h2, c), max(h3, d)
    for i in range(whole, numbers.size):
        l0, h0 = min(l0, numbers[i]), max(h0, numbers[i])
    return min(min(l0, l1), min(l2, l3)), max(max(h0, h1), max(h2, h3))


@inner
def keep_largest(ranks: Array, k: int, where: Integers, values: Array) -> int:
    """Move the k that rank highest to the front, in the order of the list.

    Of those at the border the first coordinates, wherever they are listed: any rule is
    post-processing of noisy scores as long as it looks at nothing else.
    """
    border = border_of(ranks, k)
    above = tied = n = 0
    for i in range(ranks.size):
        above += ranks[i] > border
        tied += ranks[i] == border
    last = np.int64(2**62)
    if above + tied > k:
        last = np.sort(where[: ranks.size][ranks == border])[k - above - 1]
    for i in range(ranks.size):
        # Without branches: they would be guessed wrongly half of the time.
        kept = (ranks[i] > border) | ((ranks[i] == border) & (where[i] <= last))
        where[n], values[n] = where[i], values[i]
        n += kept
    return n

"""The largest of some numbers, compiled. Imported lazily: it needs numba."""

import math

import numpy as np
import numpy.typing as npt

from skdp.training.compiled_kernels import inner

__all__ = ["border_of", "keep_largest"]

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_BUCKETS = 1024


@inner
def border_of(numbers: Array, k: int) -> float:
    """The k-th largest of finite numbers: by buckets of equal widths, and within one of them."""
    low, high = numbers[0], numbers[0]
    for x in numbers:
        low, high = min(low, x), max(high, x)
    narrow = _BUCKETS / (high - low)
    if not 0 < narrow < math.inf:
        return float(np.partition(numbers, numbers.size - k)[numbers.size - k])
    counts = np.zeros(_BUCKETS + 1, np.int64)
    for x in numbers:
        counts[int((x - low) * narrow)] += 1
    bucket, left = _BUCKETS, k
    while counts[bucket] < left:
        left -= counts[bucket]
        bucket -= 1
    within, n = np.empty(counts[bucket]), 0
    for x in numbers:
        if int((x - low) * narrow) == bucket:
            within[n] = x
            n += 1
    return float(np.partition(within, n - left)[n - left])


@inner
def keep_largest(ranks: Array, k: int, border: float, where: Integers, values: Array) -> int:
    """Move the k that rank highest to the front, in their order; of equal ones the first.

    Any rule for these is post-processing of noisy scores as long as it looks at nothing else.
    """
    spare = k
    for i in range(ranks.size):
        spare -= ranks[i] > border
    n = 0
    for i in range(ranks.size):
        tied = ranks[i] == border and spare > 0
        spare -= tied
        where[n], values[n] = where[i], values[i]
        n += tied or ranks[i] > border
    return n

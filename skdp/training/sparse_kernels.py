"""Sums of sparse vectors whose cost depends on their non-zeros alone, compiled.

Imported lazily: it needs numba.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from skdp.training.compiled_kernels import inner

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]

ONE = np.uint64(1)
#: Most bits that a pass of the radix sort looks at: its counters fit the second cache.
DIGIT_BITS = 13
#: 2^64 divided by the golden ratio: multiplicative hashing, Knuth (1998), The Art of Computer
#: Programming, vol. 3, 6.4.
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
UPPER_HALF = np.uint64(32)


@inner
def clear(vector: Any) -> None:
    """Set to 0. Loops, here and elsewhere, compile in half the time of array expressions."""
    for position in range(vector.size):
        vector[position] = 0


@inner
def zeros(size: int) -> Array:
    """``zeros(size)``."""
    vector = np.empty(size)
    clear(vector)
    return vector


@inner
def summed(
    keys: Keys, shift: int, terms: Array, last: Array, n_columns: int, grid: float
) -> tuple[Integers, Array]:
    """Sum the rows of `terms` that have the same column.

    Parameters
    ----------
    keys : ndarray of uint64, shape (n,)
        ``column << shift | row of terms``, columns below `n_columns`. Comes out changed.
    shift : int
        Number of bits of n.
    terms : ndarray of shape (n, k)
        Integers, so their sum is exact and any order will do.
    last : ndarray of shape (k,) or (0,)
        The sum in column `n_columns`, if there is one.
    n_columns : int
    grid : float
        The unit of the terms.

    Returns
    -------
    indices, values
        Coordinates (``column * k + output``) in increasing order, and their sums; no zeros.
    """
    n_outputs = terms.shape[1]
    distinct, sums = np.empty(keys.size + 1, np.int64), zeros((keys.size + 1) * n_outputs)
    n, previous, low = np.int64(-1), np.int64(-1), np.uint64(shift)
    for key in sorted_by_column(keys, shift, bit_length(n_columns)):
        column = np.int64(key >> low)
        n += column != previous
        distinct[n] = previous = column
        for output in range(n_outputs):
            sums[n * n_outputs + output] += terms[key & ((ONE << low) - ONE), output]
    if last.size:
        n += 1
        distinct[n] = n_columns
        for output in range(n_outputs):
            sums[n * n_outputs + output] = last[output]
    return nonzero(distinct[: n + 1], sums, n_outputs, grid)


@inner
def nonzero(columns: Integers, sums: Array, n_outputs: int, grid: float) -> tuple[Integers, Array]:
    """Coordinates that are not 0, and their values; sums are flat, in units of the grid."""
    indices, values = np.empty(sums.size + 1, np.int64), np.empty(sums.size + 1)
    n = 0
    for position in range(columns.size):
        for output in range(n_outputs):
            total = sums[position * n_outputs + output]
            indices[n] = columns[position] * n_outputs + output
            values[n] = total * grid
            n += total != 0
    return indices[:n], values[:n]


@inner
def sorted_by_column(keys: Keys, shift: int, bits: int) -> Keys:
    """Sort by the `bits` bits from `shift` on: by their digits, the last one first."""
    n_passes = -(-bits // min(DIGIT_BITS, bit_length(keys.size) + 1))
    width = -(-bits // n_passes)
    spare = np.empty(keys.size, np.uint64)
    for digit in range(n_passes):
        sort_by_digit(keys, shift + digit * width, width, spare)
        keys, spare = spare, keys
    return keys


@inner
def sort_by_digit(keys: Keys, shift: int, width: int, out: Keys) -> None:
    """Stable counting sort by `width` bits from `shift` on."""
    low, mask = np.uint64(shift), (ONE << np.uint64(width)) - ONE
    starts = np.empty((1 << width) + 1, np.int64)
    clear(starts)
    for key in keys:
        starts[((key >> low) & mask) + ONE] += 1
    for digit in range(starts.size - 1):
        starts[digit + 1] += starts[digit]
    for key in keys:
        place = (key >> low) & mask
        out[np.uint64(starts[place])] = key
        starts[place] += 1


@inner
def counting(size: int) -> Integers:
    """``arange(size)``."""
    numbers = np.empty(size, np.int64)
    for position in range(size):
        numbers[position] = position
    return numbers


@inner
def bit_length(number: int) -> int:
    """Number of binary digits, at least 1."""
    bits = 1
    while number >> bits:
        bits += 1
    return bits


@inner
def hash_table(columns: Integers) -> Integers:
    """Open-addressing table of the positions of distinct columns; -1 is an empty place."""
    size = 2
    while size < 2 * columns.size:
        size *= 2
    table = np.empty(size, np.int64)
    for place in range(size):
        table[place] = -1
    for position in range(columns.size):
        place = start_of(columns[position], size)
        while table[place] >= 0:
            place = (place + 1) & (size - 1)
        table[place] = position
    return table


@inner
def position_of(table: Integers, columns: Integers, column: int) -> int:
    """Position of `column` among the columns of the table, -1 where it is not one of them."""
    place = start_of(column, table.size)
    while table[place] >= 0 and columns[table[place]] != column:
        place = (place + 1) & (table.size - 1)
    position: int = table[place]
    return position


@inner
def start_of(column: Any, size: int) -> Any:
    """Where the search for a column begins."""
    return np.int64((np.uint64(column) * MULTIPLIER) >> UPPER_HALF) & (size - 1)

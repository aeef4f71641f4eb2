"""Selection of coordinates by noisy scores, compiled. Imported lazily: it needs numba.

Of the noise on scores it is given the first bits of each, which tell its stratum (`strata`), and
noises of each stratum for those whose bound reaches the bar.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from skdp.embedding.bit_kernels import count_bits, lowest_bit
from skdp.embedding.coordinate_rules import LARGEST, RACE, REACHING
from skdp.embedding.fused_kernels import add_parts, add_touches
from skdp.embedding.largest_kernels import border_of, keep_largest, range_of
from skdp.training.compiled_kernels import inner

__all__ = ["ENOUGH", "TOGETHER", "WIDTH", "put_in_order", "select", "write_sums"]

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

#: No stratum ran out.
ENOUGH = -1
#: Further from the border nothing is selected that double precision can see.
_FARTHEST = 600.0
#: Scores of so many scales need no shift to be as precise as `score_error` says.
_SCALES = 2.0**8
#: More than the roundings of a score, in units of what is added up.
_ROUNDING = 2.0**-40
#: Coordinates to a word of a plane, and words with all bits, and with the lowest one.
WIDTH = 64
_ALL, _ONE = np.uint64(2**64 - 1), np.uint64(1)
#: Coordinates that are listed without asking whether there are as many.
TOGETHER = 6


@inner
def write_sums(
    selection: Any, words: Integers, parts: Array, ends: Integers, ours: Any, totals: Array
) -> int:
    """Write what the scores of all touched words are made of, in units of the grid; how many."""
    _, by_touch, limit, grid, _, _, _ = selection
    if by_touch:
        return add_touches(words, ends, parts.shape[1], limit, grid, ours, totals)
    return add_parts(words, parts, ends, limit, grid, ours, totals)


@inner
def measure_of(selection: Any, sums: Array, n_records: int) -> Any:
    """How scores are made of sums: see `score_of`.

    The largest are told by sums in units of the grid, others by scores in scales of their noise,
    from a public number on or, where they are large, from the border of what would be selected.
    """
    kind, _, limit, grid, scale, shift, most = selection
    farthest = _SCALES * scale
    if kind == RACE and n_records * limit > farthest and sums.size >= most:
        heights = np.abs(sums).reshape(sums.size)
        if range_of(heights)[1] * grid > farthest:
            shift = border_of(heights, most) * grid
    return kind, grid, shift, scale


@inner
def score_of(measure: Any, total: float) -> float:
    """Score of a sum, before noise."""
    kind, grid, shift, scale = measure
    return total if kind == LARGEST else (abs(total) * grid - shift) / scale


@inner
def select(
    selection: Any,
    supply: Any,
    taken: Integers,
    bar: float,
    planes: Words,
    ours: Any,
    sums: Array,
    n_records: int,
    listed: Any,
) -> tuple[int, int]:
    """Write the selected coordinates; return how many, and what ran out."""
    measure = measure_of(selection, sums, n_records)
    n, lacking = find(measure, supply, taken, bar, planes, ours, sums, listed)
    zero = score_of(measure, 0.0)
    if lacking == ENOUGH and not is_enough(selection, supply, zero, bar, n, listed):
        n, lacking = complete_others(measure, supply, taken, planes, ours, sums, n, listed)
    if lacking != ENOUGH:
        return n, lacking
    return choose(selection, supply, taken, bar, n, listed)


@inner
def find(
    measure: Any,
    supply: Any,
    taken: Integers,
    bar: float,
    planes: Words,
    ours: Any,
    sums: Array,
    listed: Any,
) -> tuple[int, int]:
    """List coordinates with noisy scores; return how many, and what ran out.

    First those of the first stratum, then those of others that records touch and whose noise may
    lift them to the bar; of the others none is. Each in order.
    """
    pools = supply[0]
    where, _, _, marks, starts = listed
    write_first(planes, marks)
    n = list_marked(marks, sums.shape[1], where, starts)
    if pools.shape[1] - taken[0] < n:
        return n, 0
    give_first(measure, pools[0, taken[0] : taken[0] + n], ours, sums, listed)
    taken[0] += n
    if measure[0] != REACHING:  # The bar is one for noise alone.
        bar += score_of(measure, 0.0)
    return list_lifted(measure, supply, taken, bar, planes, ours, sums, n, listed)


@inner
def write_first(planes: Words, marks: Words) -> None:
    """Mark the coordinates whose noise lies in the first stratum: bits all 0."""
    for group in range(marks.size):
        marks[group] = _ALL
    for k in range(planes.shape[0]):
        for group in range(marks.size):
            marks[group] &= ~planes[k, group]


@inner
def within(group: int, size: int) -> Any:
    """Marks all coordinates of a group."""
    return _ALL >> np.uint64(max(0, (group + 1) * WIDTH - size))


@inner
def list_marked(marks: Words, size: int, where: Integers, starts: Integers) -> int:
    """List coordinates that are marked, and where those of each word start; return how many."""
    n, n_groups = np.uint64(0), marks.size // (starts.size - 1)
    for word in range(starts.size - 1):
        starts[word] = n
        for group in range(n_groups):
            left = marks[word * n_groups + group] & within(group, size)
            first, stop = word * size + group * WIDTH, n + count_bits(left)
            # Too many are written over later: to guess how many there are would take longer.
            for j in range(TOGETHER):
                where[n + np.uint64(j)] = first + np.int64(lowest_bit(left))
                left &= left - _ONE
            n += np.uint64(TOGETHER)
            while n < stop:
                where[n] = first + np.int64(lowest_bit(left))
                left &= left - _ONE
                n += _ONE
            n = stop
    starts[starts.size - 1] = n
    return np.int64(n)  # type: ignore[return-value]


@inner
def give_first(measure: Any, noises: Array, ours: Any, sums: Array, listed: Any) -> None:
    """Write the noisy scores of coordinates of the first stratum."""
    where, values, _, _, starts = listed
    kind, zero, size = measure[0], score_of(measure, 0.0), sums.shape[1]
    factor = with_noise(RACE, zero, 1.0)
    for place in range(noises.size):
        values[place] = factor * noises[place] if kind == RACE else zero + noises[place]
    for word in range(ours.size):
        row = ours[word]
        if row >= 0:
            for place in range(starts[word], starts[word + 1]):
                score = score_of(measure, sums[row, where[place] - word * size])
                values[place] = with_noise(kind, score, noises[place])


@inner
def list_lifted(
    measure: Any,
    supply: Any,
    taken: Integers,
    bar: float,
    planes: Words,
    ours: Any,
    sums: Array,
    n: int,
    listed: Any,
) -> tuple[int, int]:
    """Add to the list what noise of a stratum but the first may lift to the bar."""
    pools, _, _, tops = supply
    where, values, _, marks, _ = listed
    kind, size, n_groups = measure[0], sums.shape[1], marks.size // ours.size
    levels = np.empty(sums.shape[0], np.int64)
    write_levels(measure, bar, tops, sums, levels)
    for word in range(ours.size):
        row = ours[word]
        if row < 0:
            continue
        level = levels[row]
        for stratum in range(1, level):
            if pools.shape[1] - taken[stratum] < size:
                return n, stratum
        for group in range(n_groups):
            at = word * n_groups + group
            left = within(group, size)
            for k in range(planes.shape[0] + 1 - level):
                left &= ~planes[k, at]
            left &= ~marks[at]
            while left:
                bit = lowest_bit(left)
                left &= left - _ONE
                i = group * WIDTH + np.int64(bit)
                stratum = 1 if level == 2 else stratum_of(planes, at, bit, level)
                score = score_of(measure, sums[row, i])
                where[n] = word * size + i
                values[n] = with_noise(kind, score, pools[stratum, taken[stratum]])
                lifted = (abs(score) if kind == LARGEST else score) >= bar - tops[stratum]
                taken[stratum] += lifted
                n += lifted
    return n, ENOUGH


@inner
def write_levels(measure: Any, bar: float, tops: Array, sums: Array, levels: Integers) -> None:
    """Write how many strata have noises that may lift a coordinate of each row to the bar.

    Two at least, if there are as many: it takes longer to see that the second cannot, if ever. One
    too many does no harm.
    """
    for row in range(sums.shape[0]):
        level, n = min(2, tops.size), 1
        while level < tops.size and n > 0:
            least, n = least_sum(measure, bar - tops[level]), 0
            for i in range(sums.shape[1]):
                n += abs(sums[row, i]) >= least
            level += n > 0
        levels[row] = level


@inner
def least_sum(measure: Any, score: float) -> float:
    """What a sum is no less than, in absolute value, if it has that score or more."""
    kind, grid, shift, scale = measure
    if kind == LARGEST:
        return score
    scaled = score * scale
    least: float = (scaled + shift - _ROUNDING * (abs(scaled) + abs(shift))) / grid
    return least


@inner
def stratum_of(planes: Words, group: int, bit: Any, level: int) -> int:
    """Stratum of the noise of a coordinate, one of the first, so many.

    It is told by the place of the first bit that is not 0.
    """
    n = np.uint64(planes.shape[0])
    bits = _ONE << n
    for k in range(n + _ONE - np.uint64(level), n):
        bits |= ((planes[k, np.uint64(group)] >> bit) & _ONE) << k
    return np.int64(n - lowest_bit(bits))  # type: ignore[return-value]


@inner
def with_noise(kind: int, score: float, noise: float) -> float:
    """What is compared. A race is won by the largest score + Gumbel, which is -log of what is here.

    Within 2^8 scales the product is off by less than 2^-44 of itself, and its logarithm, which is
    the noisy score, by as much: a quarter of what `selection_noise.score_error` allows.

    References: Efraimidis and Spirakis (2006), Weighted random sampling with a reservoir.
    """
    if kind != RACE:
        return score + noise
    if score == 0:  # as most are
        return -noise
    return -noise * math.exp(-max(score, -_FARTHEST))


@inner
def is_enough(selection: Any, supply: Any, zero: float, bar: float, n: int, listed: Any) -> bool:
    """Whether no coordinate that was left out can be among the selected. Writes ranks."""
    kind, most, tops = selection[0], selection[6], supply[3]
    _, values, ranks, _, _ = listed
    if kind == REACHING:
        return bool(tops.size == 1 or zero < bar - tops[1])
    write_ranks(kind, values[:n], ranks)
    least, reaching = lowest_rank(kind, zero, bar), 0
    for i in range(n):
        reaching += ranks[i] >= least
    return bool(tops.size == 1 or reaching >= most)


@inner
def lowest_rank(kind: int, zero: float, bar: float) -> float:
    """Rank of a coordinate whose noise alone reaches the bar."""
    return bar if kind == LARGEST else with_noise(kind, bar + zero, 1.0)


@inner
def write_ranks(kind: int, values: Array, ranks: Array) -> None:
    """What the largest are told by."""
    for i in range(values.size):
        ranks[i] = abs(values[i]) if kind == LARGEST else values[i]


@inner
def complete_others(
    measure: Any,
    supply: Any,
    taken: Integers,
    planes: Words,
    ours: Any,
    sums: Array,
    n: int,
    listed: Any,
) -> tuple[int, int]:
    """Add noise to the scores that were left out, too; all coordinates are listed then.

    From the last one on, so that nothing is written over that is yet to be read.
    """
    pools = supply[0]
    where, values, ranks, marks, _ = listed
    n_all, size = ours.size * sums.shape[1], sums.shape[1]
    n_groups = marks.size // ours.size
    put_in_order(n, where, values)
    for i in range(n_all - 1, -1, -1):
        if n > 0 and where[n - 1] == i:
            n -= 1
            values[i] = values[n]
        else:
            word, own = i // size, i % size
            group, bit = word * n_groups + own // WIDTH, np.uint64(own % WIDTH)
            stratum = stratum_of(planes, group, bit, planes.shape[0] + 1)
            if taken[stratum] == pools.shape[1]:
                return n, stratum
            score = score_of(measure, 0.0 if ours[word] < 0 else sums[ours[word], own])
            values[i] = with_noise(measure[0], score, pools[stratum, taken[stratum]])
            taken[stratum] += 1
        where[i] = i
    write_ranks(measure[0], values[:n_all], ranks)
    return n_all, ENOUGH


@inner
def choose(
    selection: Any, supply: Any, taken: Integers, bar: float, n: int, listed: Any
) -> tuple[int, int]:
    """Keep what is selected; return how many, and what ran out."""
    kind, most, pools = selection[0], selection[6], supply[0]
    where, values, ranks, _, _ = listed
    if kind != REACHING:
        return keep_largest(ranks[:n], most, where, values), ENOUGH
    n = keep_reaching(bar, n, where, values)
    if n <= most:
        return n, ENOUGH
    # All coordinates have keys, in whose order they are compared with the bar.
    last = pools.shape[0] - 1
    if pools.shape[1] - taken[last] < n:
        return n, last
    put_in_order(n, where, values)
    keys = pools[last, taken[last] : taken[last] + n]
    taken[last] += n
    return keep_largest(keys, most, where, values), ENOUGH


@inner
def keep_reaching(bar: float, n: int, where: Integers, values: Array) -> int:
    """Move what reaches the bar to the front; return how many do."""
    kept = 0
    for place in range(n):
        where[kept], values[kept] = where[place], values[place]
        kept += values[place] >= bar
    return kept


@inner
def put_in_order(n: int, where: Integers, values: Array) -> None:
    """Merge two lists that are in order, the second behind the first."""
    second = 1
    while second < n and where[second - 1] < where[second]:
        second += 1
    after = n - second
    if after < 1:
        return
    coordinates, numbers = where[second:n].copy(), values[second:n].copy()
    to, place = n - 1, second - 1
    for j in range(after - 1, -1, -1):
        while place >= 0 and where[place] > coordinates[j]:
            where[to], values[to] = where[place], values[place]
            to, place = to - 1, place - 1
        where[to], values[to] = coordinates[j], numbers[j]
        to -= 1

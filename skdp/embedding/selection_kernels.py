"""Selection of coordinates by noisy scores, compiled. Imported lazily: it needs numba.

Of the noise on scores it is given the first bits of each, and noises of each stratum (`strata`) for
those whose bound reaches the bar.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from skdp.embedding.bit_kernels import lowest_bit
from skdp.embedding.coordinate_rules import LARGEST, RACE, REACHING
from skdp.embedding.fused_kernels import add_parts, add_touches
from skdp.embedding.largest_kernels import border_of, keep_largest
from skdp.training.compiled_kernels import inner

__all__ = ["ENOUGH", "select", "write_scores"]

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

#: No stratum ran out.
ENOUGH = -1
#: Further from the border nothing is selected that double precision can see.
_FARTHEST = 600.0
#: Scores of so many scales need no shift to be as precise as `score_error` says.
_SCALES = 2.0**8
#: Coordinates to a word of a plane, and words without and with all bits, and with the lowest one.
_WIDTH = 64
_NONE, _ALL, _ONE = np.uint64(0), np.uint64(2**64 - 1), np.uint64(1)


@inner
def write_scores(
    selection: Any, words: Integers, parts: Array, ends: Integers, ours: Any, totals: Array
) -> tuple[int, float]:
    """Write the scores of all touched words, before noise; return how many, and of the others.

    The largest are told by sums in units of the grid, others by scores in scales of their noise,
    from a public number on or, where they are large, from the border of what would be selected.
    """
    kind, by_touch, limit, grid, scale, shift, most = selection
    if by_touch:
        n = add_touches(words, ends, parts.shape[1], limit, grid, ours, totals)
    else:
        n = add_parts(words, parts, ends, limit, grid, ours, totals)
    if kind == LARGEST:
        return n, 0.0
    scores = totals[:n].reshape(n * totals.shape[1])
    for i in range(scores.size):
        scores[i] = abs(scores[i]) * grid
    if kind == RACE and scores.size >= most and scores.max() > _SCALES * scale:
        shift = border_of(scores, most)
    for i in range(scores.size):
        scores[i] = (scores[i] - shift) / scale
    return n, -shift / scale


@inner
def select(
    selection: Any,
    supply: Any,
    taken: Integers,
    zero: float,
    bar: float,
    planes: Any,
    ours: Any,
    scores: Array,
    listed: Any,
) -> tuple[int, int]:
    """Write the selected coordinates; return how many, and what ran out."""
    pools, begun = supply[:2]
    row = pools.shape[0]
    if begun.size - taken[row] < scores.size:
        return 0, row
    begun = begun[taken[row] : taken[row] + scores.size].reshape(scores.shape)
    taken[row] += scores.size
    n = find(selection, supply, zero, bar, planes, begun, ours, scores, listed)
    lacking = complete(selection[0], supply, taken, n, listed)
    if lacking == ENOUGH and not is_enough(selection, supply, zero, bar, listed[1][:n]):
        n, lacking = complete_others(
            selection[0], supply, taken, zero, planes, begun, ours, scores, n, listed
        )
    if lacking != ENOUGH:
        return n, lacking
    return choose(selection, pools, taken, bar, n, listed)


@inner
def find(
    selection: Any,
    supply: Any,
    zero: float,
    bar: float,
    planes: Any,
    begun: Any,
    ours: Any,
    scores: Array,
    listed: Any,
) -> int:
    """List coordinates, in order, with their scores and bytes; return how many there are.

    Of those that records touch, all whose noise may lift them to the bar; of the others those of
    the first stratum.
    """
    kind, of_byte, tops = selection[0], supply[4], supply[5]
    where, values, _, bytes_of = listed
    if kind != REACHING:  # The bar is one for noise alone.
        bar += zero
    needed = bar - tops[of_byte]
    # Of sums the absolute value counts; a comparison would be guessed wrongly half of the time.
    mirror = -1.0 if kind == LARGEST else 1.0
    first, n = supply[6][0], np.uint64(0)
    for word in range(ours.size):
        row = ours[word]
        if row < 0:
            n = list_first(
                planes[word], word * scores.shape[1], scores.shape[1], zero, first, n, listed
            )
        else:
            for i in range(scores.shape[1]):
                byte, score = begun[row, i], scores[row, i]
                where[n], values[n], bytes_of[n] = word * scores.shape[1] + i, score, byte
                n += np.uint64(max(score, mirror * score) >= needed[byte])
    return np.int64(n)  # type: ignore[return-value]


@inner
def list_first(
    planes: Any, first: int, size: int, zero: float, byte: int, n: np.uint64, listed: Any
) -> np.uint64:
    """List those coordinates of a word whose noise lies in the first stratum: bits all 0."""
    where, values, _, bytes_of = listed
    for group in range(planes.shape[0]):
        others = _NONE
        for k in range(planes.shape[1]):
            others |= planes[group, k]
        left = min(size - group * _WIDTH, _WIDTH)
        found = ~others & (_ALL >> np.uint64(_WIDTH - left))
        while found:
            at = first + group * _WIDTH + np.int64(lowest_bit(found))
            where[n], values[n], bytes_of[n] = at, zero, byte
            n += _ONE
            found &= found - _ONE
    return n


@inner
def complete(kind: int, supply: Any, taken: Integers, n: int, listed: Any) -> int:
    """Add noise to scores; return the stratum that ran out, or `ENOUGH`."""
    pools, of_byte = supply[0], supply[4]
    _, values, _, bytes_of = listed
    for place in range(n):
        stratum = of_byte[bytes_of[place]]
        if taken[stratum] == pools.shape[1]:
            return int(stratum)
        values[place] = with_noise(kind, values[place], pools[stratum, taken[stratum]])
        taken[stratum] += 1
    return ENOUGH


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
def is_enough(selection: Any, supply: Any, zero: float, bar: float, values: Array) -> bool:
    """Whether no coordinate that was left out can be among the selected."""
    kind, most, tops = selection[0], selection[6], supply[5]
    if tops.size == 1:
        return True
    if kind == REACHING:
        return bool(zero < bar - tops[1])
    least = bar if kind == LARGEST else with_noise(kind, bar + zero, 1.0)
    reaching = 0
    for value in values:
        reaching += (abs(value) if kind == LARGEST else value) >= least
    return bool(reaching >= most)


@inner
def complete_others(
    kind: int,
    supply: Any,
    taken: Integers,
    zero: float,
    planes: Any,
    begun: Any,
    ours: Any,
    scores: Array,
    n: int,
    listed: Any,
) -> tuple[int, int]:
    """Add noise to the scores that were left out, too; all coordinates are listed then.

    From the last one on, so that nothing is written over that is yet to be read.
    """
    pools, of_byte = supply[0], supply[4]
    where, values, _, _ = listed
    n_all, size = ours.size * scores.shape[1], scores.shape[1]
    for i in range(n_all - 1, -1, -1):
        if n > 0 and where[n - 1] == i:
            n -= 1
            values[i] = values[n]
        else:
            to, within = ours[i // size], i % size
            if to < 0:
                score, stratum = zero, of_byte[first_byte(supply, planes[i // size], within)]
            else:
                score, stratum = scores[to, within], of_byte[begun[to, within]]
            if taken[stratum] == pools.shape[1]:
                return n, int(stratum)
            values[i] = with_noise(kind, score, pools[stratum, taken[stratum]])
            taken[stratum] += 1
        where[i] = i
    return n_all, ENOUGH


@inner
def first_byte(supply: Any, planes: Any, within: int) -> int:
    """First byte of the noise of a coordinate, as far as its stratum depends on it."""
    byte, places = supply[6]
    group, place = planes[within // _WIDTH], np.uint64(within % _WIDTH)
    for k in range(places.size):
        byte ^= np.int64((group[k] >> place) & _ONE) << places[k]
    return int(byte)


@inner
def choose(
    selection: Any,
    pools: Array,
    taken: Integers,
    bar: float,
    n: int,
    listed: Any,
) -> tuple[int, int]:
    """Keep what is selected; return how many, and what ran out."""
    kind, most = selection[0], selection[6]
    where, values, ranks, _ = listed
    if kind == REACHING:
        n = keep_reaching(bar, n, where, values)
        if n <= most:
            return n, ENOUGH
        # All coordinates have keys, in whose order they are compared with the bar.
        last = pools.shape[0] - 1
        if taken[last] + n > pools.shape[1]:
            return n, last
        ranks[:n] = pools[last, taken[last] : taken[last] + n]
        taken[last] += n
    else:
        for place in range(n):
            ranks[place] = abs(values[place]) if kind == LARGEST else values[place]
    border = border_of(ranks[:n], most)
    return keep_largest(ranks[:n], most, border, where, values), ENOUGH


@inner
def keep_reaching(bar: float, n: int, where: Integers, values: Array) -> int:
    """Move what reaches the bar to the front; return how many do."""
    kept = 0
    for place in range(n):
        where[kept], values[kept] = where[place], values[place]
        kept += values[place] >= bar
    return kept

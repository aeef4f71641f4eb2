"""Many steps on selected coordinates in one call, compiled. Imported lazily: it needs numba.

Each step does what `TopKStep`, `RefinedStep` or `SurvivorsStep` and `Adam` do.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from skdp.embedding.bit_kernels import count_bits, lowest_bit
from skdp.embedding.fused_kernels import add_gradients, after_step, numbers_of, write_parts
from skdp.embedding.kernels import clip_scale, room
from skdp.embedding.selection_kernels import ENOUGH, WIDTH, put_in_order, select, write_sums
from skdp.training.compiled_kernels import compiled, inner

__all__ = ["ENOUGH", "NO_VALUES", "run_steps"]

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

#: What ran out: the noise on values; otherwise the place of a stratum, or nothing.
NO_VALUES = -2
#: Coordinates that a step of Adam is made on together.
_TOGETHER = 64
#: Coordinates of a group that are taken without asking whether there are as many.
_AT_LEAST = 3
_ONE, _WIDTH = np.uint64(1), np.uint64(WIDTH)


@compiled
def run_steps(
    records: Any,
    work: Any,
    state: Any,
    how: Any,
    supply: Any,
    rows: Integers,
    offsets: Integers,
    keys: Words,
    first: int,
    planes: npt.NDArray[np.uint64],
    bars: Array,
    noise: Array,
) -> tuple[int, int, int]:
    """Make steps from the first-th on while there is noise.

    Returns the next step, how much of `noise` was used, and what ran out.
    """
    selection, release = how
    mine, ours, totals, words, parts, listed = work
    where, values, ranks, marks, starts = listed
    _, used, usual, _ = supply
    n_used, examples = 0, (room(records)[0], room(records)[0])
    ends, taken = np.empty(parts.shape[0] + 1, np.int64), np.empty_like(used)
    for t in range(first, keys.size):
        lacking = running_out(supply)
        if lacking != ENOUGH:
            return t, n_used, lacking
        batch = rows[offsets[t] : offsets[t + 1]]
        parts_of = ends[: batch.size + 1]
        if release[0]:  # Sums are both scores and what is released.
            n_rows, n_words = add_gradients(
                records, state[0][0], batch, keys[t], mine, examples, words, parts,
                release[1], release[2], ours, totals,
            )  # fmt: skip
        else:
            write_parts(
                records, state[0][0], batch, keys[t], mine, examples, words, parts, parts_of
            )
            n_rows = write_sums(selection, words, parts, parts_of, ours, totals)
            n_words = parts_of[batch.size]
        taken[:] = used
        n, lacking = select(
            selection, supply, taken, bars[t], planes[t], ours, totals[:n_rows], batch.size, listed
        )
        for word in words[:n_words]:
            ours[word] = -1
        if lacking == ENOUGH and not release[0]:
            put_in_order(n, where, values)
            restrict(release, words, parts, parts_of, where[:n], marks, starts, values, ranks)
            lacking = add_noise(values[:n], noise[n_used:])
            n_used += n if lacking == ENOUGH else 0
        if lacking != ENOUGH:
            return t, n_used, lacking
        move_some(state, where[:n], values, release[2], t)
        note(used, taken, usual)
    return keys.size, n_used, ENOUGH


@inner
def note(used: Integers, taken: Integers, usual: Integers) -> None:
    """Take note of what a step used, and of what steps use on average, and half as much again."""
    for row in range(used.size):
        more = (taken[row] - used[row]) * 3 // 2 - usual[row]
        usual[row] += more if usual[row] == 0 else more // 8
        used[row] = taken[row]


@inner
def running_out(supply: Any) -> int:
    """What is left less of than a step may use, since making a step twice takes longer."""
    pools, used, usual, _ = supply
    for row in range(used.size):
        if pools.shape[1] - used[row] < usual[row]:
            return row
    return ENOUGH


@inner
def restrict(
    release: Any,
    words: Integers,
    parts: Array,
    ends: Integers,
    where: Integers,
    marks: Words,
    starts: Integers,
    sums: Array,
    one: Array,
) -> None:
    """Sum the gradients on the chosen coordinates, each clipped there; in units of the grid."""
    _, limit, grid = release
    size, n_groups = parts.shape[1], marks.size // (starts.size - 1)
    mark(where, size, marks, starts)
    sums[: where.size] = 0.0
    own = np.empty(where.size + _AT_LEAST, np.int64)
    for j in range(ends.size - 1):
        n = 0
        for row in range(ends[j], ends[j + 1]):
            part, place = parts[row], starts[words[row]]
            for group in range(n_groups):
                left, first = marks[words[row] * n_groups + group], group * WIDTH
                stop: Any = n + np.int64(count_bits(left))
                # Too many are written over later: to guess how many there are would take longer.
                for k in range(_AT_LEAST):
                    own[n + k], one[n + k] = place + k, part[placed(left, first, size)]
                    left &= left - _ONE
                for k in range(n + _AT_LEAST, stop):
                    own[k], one[k] = place + k - n, part[placed(left, first, size)]
                    left &= left - _ONE
                n, place = stop, place + stop - n
        factor = clip_scale(one[:n], limit, grid)
        for k in range(n if factor > 0 else 0):
            sums[own[k]] += np.trunc(one[k] * factor)


@inner
def placed(left: Any, first: int, size: int) -> Any:
    """Place of the lowest bit in a row; the last place where there is none."""
    place: Any = first + np.int64(lowest_bit(left))
    return np.uint64(min(place, size - 1))


@inner
def mark(where: Integers, size: int, marks: Words, starts: Integers) -> None:
    """Write which coordinates of each word are among some, and the place of the first of them."""
    n_groups, inverse = marks.size // (starts.size - 1), 1 / size
    marks[:] = 0
    for place in range(where.size - 1, -1, -1):
        # A division of whole numbers takes longer; halfway between two, none is rounded to another.
        word = np.int64((where[place] + 0.5) * inverse)
        i = np.uint64(where[place] - word * size)
        starts[word] = place
        marks[word * n_groups + np.int64(i // _WIDTH)] |= _ONE << (i % _WIDTH)


@inner
def add_noise(sums: Array, noise: Array) -> int:
    """Add noise to what was selected, if there is as much."""
    if noise.size < sums.size:
        return NO_VALUES
    for place in range(sums.size):
        sums[place] += noise[place]
    return ENOUGH


@inner
def move_some(state: Any, where: Integers, totals: Array, grid: float, t: int) -> None:
    """Make a step of Adam on some coordinates with released totals in units of the grid.

    Some at a time, next to each other: then the processor divides several at once.
    """
    table, mean, square = state[0]
    values, means, squares = table.reshape(-1), mean.reshape(-1), square.reshape(-1)
    own_means, own_squares = np.zeros(_TOGETHER), np.zeros(_TOGETHER)
    own_totals, changes = np.zeros(_TOGETHER), np.empty(_TOGETHER)
    step = numbers_of(state, t)
    for start in range(0, where.size, _TOGETHER):
        n = min(_TOGETHER, where.size - start)
        for place in range(n):
            i = np.uint64(where[start + place])
            own_means[place], own_squares[place] = means[i], squares[i]
            own_totals[place] = totals[start + place] * grid + 0.0
        for place in range(_TOGETHER):
            own_means[place], own_squares[place], changes[place] = after_step(
                step, own_means[place], own_squares[place], own_totals[place]
            )
        for place in range(n):
            i = np.uint64(where[start + place])
            means[i], squares[i] = own_means[place], own_squares[place]
            values[i] += changes[place]

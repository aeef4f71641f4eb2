"""Many steps on selected rows in one call, compiled. Imported lazily: it needs numba.

Each step does what `RowStep` and `Adam` do, with the noise that it is given: whole numbers on the
grids of the two mechanisms. The gradient of a record is taken once and clipped twice.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from skdp.embedding.dot_kernels import dot
from skdp.embedding.kernels import clip_scale, room, write_examples, write_gradient
from skdp.training.compiled_kernels import compiled, inner
from skdp.training.row_prefetch_kernels import ask_for_run

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@compiled
def run_steps(
    records: Any,
    work: Any,
    state: Any,
    how: Any,
    rows: Integers,
    offsets: Integers,
    keys: npt.NDArray[np.uint64],
    first: int,
    scores_noise: Array,
    noise: Array,
) -> tuple[int, int]:
    """Make steps from the first-th on while there is noise; return the next and what was used."""
    selection, (limit, grid) = how
    mine, ours = work
    used, n_words = 0, ours.size
    made = room(records)
    examples, part = (made[0], room(records)[0]), made[2]
    most, (most_rows, size) = 1, part.shape
    for t in range(first, keys.size):
        most = max(most, offsets[t + 1] - offsets[t])
    words, parts = np.empty(most * most_rows, np.int64), np.empty((most * most_rows, size))
    ends, chosen = np.empty(most + 1, np.int64), np.empty(n_words, np.int64)
    scores, totals = np.empty(n_words), np.empty((n_words, size))
    one, where = np.empty(most_rows * size), np.empty(most_rows, np.int64)
    for t in range(first, keys.size):
        batch = rows[offsets[t] : offsets[t + 1]]
        write_parts(records, state[0][0], batch, keys[t], mine, examples, words, parts, ends)
        write_scores(selection, words, parts, ends[: batch.size + 1], ours, scores, totals)
        n = choose(selection, scores, scores_noise[t], chosen)
        if noise.size - used < n * size:
            return t, used
        add_chosen(words, parts, ends[: batch.size + 1], chosen[:n], ours, limit, grid, totals,
                   one, where)  # fmt: skip
        for place in range(n):
            total = totals[place]
            for i in range(size):
                total[i] = (total[i] + noise[used + i]) * grid + 0.0
            used += size
            move(state, chosen[place], total, t)
    return keys.size, used


@inner
def write_parts(
    records: Any,
    table: Array,
    batch: Integers,
    key: np.uint64,
    mine: Any,
    examples: Any,
    words: Integers,
    parts: Array,
    ends: Integers,
) -> None:
    """Write the gradients of a batch, one below the other. Takes room for two examples."""
    now, soon = examples
    n, n_now = 0, next_examples(records, table, batch, key, 0, now)
    ends[0] = 0
    for j in range(batch.size):
        n_soon = next_examples(records, table, batch, key, j + 1, soon)
        n += write_gradient(now, n_now, table, 1.0, mine, words[n:], parts[n:])
        ends[j + 1] = n
        now, soon, n_now = soon, now, n_soon


@inner
def add_gradients(
    records: Any,
    table: Array,
    batch: Integers,
    key: np.uint64,
    mine: Any,
    examples: Any,
    words: Integers,
    part: Array,
    limit: float,
    grid: float,
    ours: Any,
    totals: Array,
) -> tuple[int, int]:
    """Sum the clipped gradients of a batch as `add_parts` does, without keeping them.

    Returns how many rows there are, and how many words the gradients have together.
    """
    now, soon = examples
    n = n_rows = 0
    n_now = next_examples(records, table, batch, key, 0, now)
    for j in range(batch.size):
        n_soon = next_examples(records, table, batch, key, j + 1, soon)
        own = write_gradient(now, n_now, table, 1.0, mine, words[n:], part)
        n_rows = add_part(words[n : n + own], part[:own], limit, grid, ours, n_rows, totals)
        n += own
        now, soon, n_now = soon, now, n_soon
    return n_rows, n


@inner
def next_examples(
    records: Any, table: Array, batch: Integers, key: np.uint64, j: int, examples: Any
) -> int:
    """Write the examples of a record, if there is one, and ask for the vectors they need."""
    if j == batch.size:
        return 0
    n: int = write_examples(records, batch[j], key, examples)
    targets, contexts, negatives = examples
    size = table.shape[1]
    for k in range(n):
        ask_for_run(table, targets[k] * size, (targets[k] + 1) * size)
        ask_for_run(table, contexts[k] * size, (contexts[k] + 1) * size)
        for word in negatives[k]:
            ask_for_run(table, word * size, (word + 1) * size)
    return n


@inner
def write_scores(
    selection: Any,
    words: Integers,
    parts: Array,
    ends: Integers,
    ours: Any,
    scores: Array,
    totals: Array,
) -> None:
    """Write the score of every word in units of the grid: norms of rows, or touches."""
    by_touch, limit, grid, _, _ = selection
    for word in range(scores.size):
        scores[word] = 0.0
    if by_touch:
        add_touches(words, ends, 1, limit, grid, ours, totals)
    else:
        add_parts(words, parts, ends, limit, grid, ours, totals)
    for word in words[: ends[-1]]:
        to = ours[word]
        if to >= 0:
            ours[word] = -1
            row = totals[to]
            scores[word] = row[0] if by_touch else np.floor(math.sqrt(dot(row, row)))


@inner
def add_parts(
    words: Integers,
    parts: Array,
    ends: Integers,
    limit: float,
    grid: float,
    ours: Any,
    totals: Array,
) -> int:
    """Sum the clipped gradients of a batch in units of the grid; return how many rows there are.

    The rows are those of the words that `ours` gives a place in the sum.
    """
    n = 0
    for j in range(ends.size - 1):
        start, stop = ends[j], ends[j + 1]
        n = add_part(words[start:stop], parts[start:stop], limit, grid, ours, n, totals)
    return n


@inner
def add_part(
    words: Integers, part: Array, limit: float, grid: float, ours: Any, n: int, totals: Array
) -> int:
    """Add the clipped gradient of a record; return how many rows the sum has then."""
    size = part.shape[1]
    factor = clip_scale(part.reshape(words.size * size), limit, grid)
    if factor > 0:
        before, n = n, seat(words, ours, n)
        totals[before:n] = 0.0
        for place in range(words.size):
            to, row = totals[ours[words[place]]], part[place]
            for i in range(size):
                to[i] += np.trunc(row[i] * factor)
    return n


@inner
def seat(words: Integers, ours: Any, n: int) -> int:
    """Give words that have none a place in the sum; return how many have one then."""
    for word in words:
        if ours[word] < 0:
            ours[word] = n
            n += 1
    return n


@inner
def add_touches(
    words: Integers, ends: Integers, width: int, limit: float, grid: float, ours: Any, totals: Array
) -> int:
    """Sum what each record touches, `width` ones a word, clipped; as `add_parts`."""
    n = 0
    for j in range(ends.size - 1):
        start, stop = ends[j], ends[j + 1]
        entry = np.trunc(min(1.0, limit / math.sqrt(max(1, (stop - start) * width))) / grid)
        before, n = n, seat(words[start:stop], ours, n)
        totals[before:n] = 0.0
        for word in words[start:stop]:
            to = totals[ours[word]]
            for i in range(width):
                to[i] += entry
    return n


@inner
def choose(selection: Any, scores: Array, noise: Array, chosen: Integers) -> int:
    """Write the words of the largest noisy scores, or of those that reach a threshold."""
    by_touch, _, _, n_selected, least = selection
    n = 0
    if by_touch:
        for word in range(scores.size):
            if scores[word] + noise[word] >= least:
                chosen[n] = word
                n += 1
        return n
    magnitudes = np.abs(scores + noise)
    border = np.partition(magnitudes, scores.size - n_selected)[scores.size - n_selected]
    above = 0
    for word in range(scores.size):
        above += magnitudes[word] > border
    # Of equal ones the first: any rule is post-processing of noisy scores.
    spare = n_selected - above
    for word in range(scores.size):
        tied = magnitudes[word] == border and spare > 0
        if magnitudes[word] > border or tied:
            spare -= tied
            chosen[n] = word
            n += 1
    return n


@inner
def add_chosen(
    words: Integers,
    parts: Array,
    ends: Integers,
    chosen: Integers,
    ours: Any,
    limit: float,
    grid: float,
    totals: Array,
    one: Array,
    where: Integers,
) -> None:
    """Sum the gradients on the chosen words, each clipped there; in units of the grid."""
    size = parts.shape[1]
    for place in range(chosen.size):
        ours[chosen[place]] = place
        totals[place] = 0.0
    for j in range(ends.size - 1):
        n = 0
        for place in range(ends[j], ends[j + 1]):
            if ours[words[place]] >= 0:
                one[n * size : (n + 1) * size] = parts[place]
                where[n] = ours[words[place]]
                n += 1
        factor = clip_scale(one[: n * size], limit, grid)
        for place in range(n if factor > 0 else 0):
            to = totals[where[place]]
            for i in range(size):
                to[i] += np.trunc(one[place * size + i] * factor)
    for word in chosen:
        ours[word] = -1


@inner
def move(state: Any, word: int, total: Array, t: int) -> None:
    """Make a step of Adam on one row."""
    table, mean, square = state[0]
    step = numbers_of(state, t)
    for i in range(total.size):
        mean[word, i], square[word, i], change = after_step(
            step, mean[word, i], square[word, i], total[i]
        )
        table[word, i] += change


@inner
def numbers_of(state: Any, t: int) -> Any:
    """The public numbers of the t-th step of Adam."""
    _, rates, corrections, (first, second, divisor) = state
    return rates[t], corrections[t, 0], corrections[t, 1], 1 - first, 1 - second, divisor


@inner
def after_step(step: Any, mean: float, square: float, total: float) -> tuple[float, float, float]:
    """Moments of a coordinate after a step of Adam, and by how much its value changes."""
    rate, factor, floor, of_mean, of_square, divisor = step
    gradient = total / divisor
    mean += of_mean * (gradient - mean)
    square += of_square * (gradient * gradient - square)
    return mean, square, -rate * (factor * mean / (math.sqrt(square) + floor))

"""Clipped gradient sums of CBOW, compiled. Imported lazily: it needs numba.

The cost depends on the examples of the batch, not on the size of the vocabulary. `work` is two
arrays with a cell for each word, -1 between calls: where a word stands in the gradient of a record,
and in the sum over records.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from skdp.embedding.dot_kernels import dot
from skdp.embedding.mixing import FIRST_FACTOR, GOLDEN, SECOND_FACTOR
from skdp.training.compiled_kernels import compiled, inner
from skdp.training.glm_contract import LARGEST_SQUARE, NORM_UNIT, UNIT_ROUNDOFF
from skdp.training.record_kernels import check_rows, norm_bound

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_ONE, _HALF_WORD, _LOWER_HALF = np.uint64(1), np.uint64(32), np.uint64(2**32 - 1)


@inner
def mix(word: np.uint64) -> np.uint64:
    """As `mixing.mixed`."""
    z = word + GOLDEN
    z = (z ^ (z >> np.uint64(30))) * FIRST_FACTOR
    z = (z ^ (z >> np.uint64(27))) * SECOND_FACTOR
    return z ^ (z >> np.uint64(31))


@inner
def under(word: np.uint64, bound: int) -> Any:
    """As `mixing.below`."""
    return np.int64(((word >> _HALF_WORD) * np.uint64(bound)) >> _HALF_WORD)


@inner
def write_examples(records: Any, record: int, key: np.uint64, examples: Any) -> Any:
    """As `CbowRecords.examples`; returns how many there are."""
    places, starts, firsts, shares, others, facts, salts = records
    _, n_negatives, by_document, most, _ = facts
    targets, contexts, negatives = examples
    own = mix(key ^ mix(salts[record] if by_document else np.uint64(record)))
    if by_document:
        document, first = record, 0
        available = firsts[record + 1] - firsts[record]
        n = min(available, most)
    else:
        document = last_from(firsts, record)
        first, available, n = record - firsts[document], 1, 1
    start = starts[document]
    length = starts[document + 1] - start
    share, rest = available // most, available % most
    for j in range(n):
        chosen = first + j
        if available > most:
            # j * available // most, where j * available may be too large for 64 bits.
            low = j * share + j * rest // most
            high = (j + 1) * share + (j + 1) * rest // most
            chosen = low + under(mix(~own ^ np.uint64(j + 1)), high - low)
        distance = 1
        while chosen >= 2 * (length - distance):
            chosen -= 2 * (length - distance)
            distance += 1
        near, far = places[start + chosen // 2], places[start + chosen // 2 + distance]
        forward = chosen % 2 == 0
        targets[j] = near if forward else far
        contexts[j] = far if forward else near
        for k in range(n_negatives):
            word = mix(own ^ np.uint64(j * n_negatives + k + 1))
            cell = under(word, shares.size)
            within = np.float64(word & _LOWER_HALF) * 2.0**-32
            negatives[j, k] = cell if within < shares[cell] else others[cell]
    return n


@inner
def last_from(starts: Integers, place: int) -> int:
    """Place of the last start that is not behind a place, at which another follows or the end.

    As ``np.searchsorted(starts, place, side="right") - 1``, in a third of the time.
    """
    low, high = 0, starts.size
    while high - low > 1:
        middle = (low + high) // 2
        if starts[middle] <= place:
            low = middle
        else:
            high = middle
    return low


@inner
def room(records: Any) -> Any:
    """Room for the examples of a record, for the words that it has, and for its gradient."""
    shares, facts = records[3], records[5]
    _, n_negatives, _, most, size = facts
    n_rows = min(shares.size, most * (n_negatives + 2))
    examples = (
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty((most, n_negatives), np.int64),
    )
    return examples, np.empty(n_rows, np.int64), np.empty((n_rows, size))


@inner
def place_of(word: int, mine: Any, words: Integers, part: Array, n_words: int) -> Any:
    """Place of a word in a record's gradient; a new one gets a row of zeros there."""
    place: Any = np.int64(mine[word])
    if place < 0:
        place = n_words
        mine[word] = place
        words[place] = word
        for i in range(part.shape[1]):
            part[place, i] = 0.0
    return place


@inner
def add_pull(slope: float, row: Array, to: Array) -> None:
    """Add ``slope * row``."""
    for i in range(row.size):
        to[i] += slope * row[i]


@inner
def write_pull(slope: float, row: Array, to: Array) -> None:
    """Write ``slope * row``."""
    for i in range(row.size):
        to[i] = slope * row[i]


@inner
def write_gradient(
    examples: Any, n: int, table: Array, scale: float, mine: Any, words: Integers, part: Array
) -> int:
    """Write the gradient of a record's examples by rows of the table; return how many it has."""
    targets, contexts, negatives = examples
    n_words = 0
    for j in range(n):
        context = table[contexts[j]]
        own = place_of(contexts[j], mine, words, part, n_words)
        n_words = max(n_words, own + 1)
        for k in range(-1, negatives.shape[1]):
            word = targets[j] if k < 0 else negatives[j, k]
            score = scale * scale * dot(table[word], context)
            # 1 / (1 + e^-z) of a negative, and that less 1 of the target.
            slope = -1 / (1 + math.exp(score)) if k < 0 else 1 / (1 + math.exp(-score))
            seen = np.int64(mine[word])
            if seen >= 0:
                add_pull(scale * slope, context, part[seen])
            else:
                mine[word], words[n_words] = n_words, word
                write_pull(scale * slope, context, part[n_words])
                n_words += 1
            add_pull(scale * slope, table[word], part[own])
    for place in range(n_words):
        mine[words[place]] = -1
    return n_words


@inner
def clip_scale(vector: Array, limit: float, grid: float) -> float:
    """Factor that makes a vector one of norm <= limit, in grid units; 0 if it is not finite."""
    squares = dot(vector, vector)
    if squares <= LARGEST_SQUARE:
        bound = math.sqrt(squares) * (1 + (vector.size + 8) * UNIT_ROUNDOFF) * NORM_UNIT
    else:
        bound = norm_bound(vector, 0.0)
    if not bound < math.inf:
        return 0.0
    if bound > limit * NORM_UNIT:
        return limit * NORM_UNIT / grid / bound
    return 1 / grid


@inner
def join(words: Integers, n_words: int, ours: Any, touched: Integers, n_touched: int) -> int:
    """Give the words of a record a place in the sum; return how many are in it then."""
    for place in range(n_words):
        if ours[words[place]] < 0:
            ours[words[place]] = n_touched
            touched[n_touched] = words[place]
            n_touched += 1
    return n_touched


@compiled
def clipped_sum(
    records: Any,
    work: Any,
    table: Array,
    scale: float,
    rows: Integers,
    key: np.uint64,
    limit: float,
    grid: float,
) -> tuple[Integers, Array]:
    """Sum of the clipped gradients of `rows`: words in order, and their rows."""
    mine, ours = work
    check_rows(rows, n_records(records))
    examples, words, part = room(records)
    most = min(ours.size, rows.size * words.size)
    touched, total = np.empty(most, np.int64), np.empty((most, part.shape[1]))
    n_touched = 0
    for i in rows:
        n_examples = write_examples(records, i, key, examples)
        n_words = write_gradient(examples, n_examples, table, scale, mine, words, part)
        factor = clip_scale(part[:n_words].reshape(n_words * part.shape[1]), limit, grid)
        if factor > 0:
            before, n_touched = n_touched, join(words, n_words, ours, touched, n_touched)
            total[before:n_touched] = 0.0
            for place in range(n_words):
                to, row = total[ours[words[place]]], part[place]
                for j in range(row.size):
                    to[j] += np.trunc(row[j] * factor)
    touched = touched[:n_touched]
    for word in touched:
        ours[word] = -1
    order = np.argsort(touched)
    return touched[order], total[:n_touched][order] * grid


@inner
def n_records(records: Any) -> Any:
    """Number of records."""
    _, starts, firsts, _, _, facts, _ = records
    return starts.size - 1 if facts[2] else firsts[-1]


@compiled
def lengths(sums: Array) -> Array:
    """Euclidean norm of each row, a function of that row."""
    found = np.empty(sums.shape[0])
    for i in range(found.size):
        found[i] = math.sqrt(dot(sums[i], sums[i]))
    return found


@compiled
def touches(
    records: Any, work: Any, rows: Integers, key: np.uint64, limit: float, grid: float, width: int
) -> tuple[Integers, Array]:
    """Sum over `rows` of the words that each touches, `width` ones a word, clipped."""
    mine, ours = work
    check_rows(rows, n_records(records))
    made = room(records)
    _, words, _ = made
    most = min(ours.size, rows.size * words.size)
    touched, total, n_touched = np.empty(most, np.int64), np.zeros(most), 0
    for i in rows:
        n_words = write_words(records, i, key, mine, made)
        n_touched = join(words, n_words, ours, touched, n_touched)
        entry = np.trunc(min(1.0, limit / math.sqrt(max(1, n_words * width))) / grid)
        for place in range(n_words):
            total[ours[words[place]]] += entry
    touched = touched[:n_touched]
    for word in touched:
        ours[word] = -1
    order = np.argsort(touched)
    return touched[order], total[:n_touched][order] * grid


@inner
def write_words(records: Any, record: int, key: np.uint64, mine: Any, made: Any) -> int:
    """Write the words that a record touches; return how many there are."""
    examples, words, part = made
    targets, contexts, negatives = examples
    n_words = 0
    for j in range(write_examples(records, record, key, examples)):
        for k in range(-2, negatives.shape[1]):
            word = contexts[j] if k == -2 else targets[j] if k == -1 else negatives[j, k]
            place = place_of(word, mine, words, part[:, :0], n_words)
            n_words = max(n_words, place + 1)
    for place in range(n_words):
        mine[words[place]] = -1
    return n_words


@compiled
def restricted_sum(
    records: Any,
    work: Any,
    table: Array,
    scale: float,
    rows: Integers,
    selected: Integers,
    key: np.uint64,
    limit: float,
    grid: float,
) -> Array:
    """Sum of gradients restricted to the `selected` coordinates, then clipped."""
    mine, ours = work
    check_rows(rows, n_records(records))
    examples, words, part = room(records)
    size = part.shape[1]
    starts = group(selected, size, ours)
    total = np.zeros(selected.size)
    chosen, where = np.empty(selected.size), np.empty(selected.size, np.int64)
    for i in rows:
        n, n_examples = 0, write_examples(records, i, key, examples)
        n_words = write_gradient(examples, n_examples, table, scale, mine, words, part)
        for place in range(n_words):
            own = ours[words[place]]
            if own >= 0:
                for coordinate in range(starts[own], starts[own + 1]):
                    chosen[n] = part[place, selected[coordinate] - words[place] * size]
                    where[n] = coordinate
                    n += 1
        factor = clip_scale(chosen[:n], limit, grid)
        for entry in range(n if factor > 0 else 0):
            total[where[entry]] += np.trunc(chosen[entry] * factor)
    for coordinate in selected:
        ours[coordinate // size] = -1
    return total * grid


@inner
def group(selected: Integers, size: int, ours: Any) -> Integers:
    """Number the words that have selected coordinates; where the run of each starts."""
    starts, n = np.empty(selected.size + 1, np.int64), 0
    for coordinate in range(selected.size):
        word = selected[coordinate] // size
        if ours[word] < 0:
            ours[word] = n
            starts[n] = coordinate
            n += 1
    starts[n] = selected.size
    return starts

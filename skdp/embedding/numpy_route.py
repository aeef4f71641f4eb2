"""Clipped gradient sums of CBOW with NumPy alone, one record at a time."""

import math
from collections.abc import Iterator
from typing import final

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from skdp.embedding.records import CbowRecords, Examples
from skdp.training.glm_contract import UNIT_ROUNDOFF

__all__ = ["NumpyRoute"]

Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
#: Squares of numbers beyond overflow; gradients of such numbers are 0, as infinite ones are.
_LARGEST = 2.0**400
#: Squares that underflow add up to less.
_SQUARES_LOST = 1e-290


@final
class NumpyRoute:
    """What `kernels` computes, for records that are given as objects."""

    def __init__(self, records: CbowRecords, size: int) -> None:
        self._records, self._size = records, size

    def clipped_sum(
        self, table: Array, scale: float, rows: Rows, key: np.uint64, limit: float, grid: float
    ) -> tuple[Rows, Array]:
        """Sum of the clipped gradients of `rows`: words in order, and their rows."""
        parts = []
        for words, part in self._gradients(table, scale, rows, key):
            factor = clip_scale(part, limit, grid)
            if factor > 0:
                parts.append((words, np.trunc(part * factor)))
        words, sums = _added(parts, (self._size,))
        return words, sums * grid

    def touches(
        self, rows: Rows, key: np.uint64, limit: float, grid: float, width: int
    ) -> tuple[Rows, Array]:
        """Sum over `rows` of the words that each touches, `width` ones a word, clipped."""
        parts = []
        for words in (_words(self._records.examples(int(row), key)) for row in self._checked(rows)):
            entry = math.trunc(min(1.0, limit / math.sqrt(max(1, len(words) * width))) / grid)
            parts.append((words, np.full(len(words), float(entry))))
        words, counts = _added(parts, ())
        return words, counts * grid

    def restricted_sum(
        self,
        table: Array,
        scale: float,
        rows: Rows,
        selected: Rows,
        key: np.uint64,
        limit: float,
        grid: float,
    ) -> Array:
        """Sum of gradients restricted to the `selected` coordinates, then clipped."""
        total = np.zeros(len(selected))
        of_word, within = np.divmod(selected, self._size)
        for words, part in self._gradients(table, scale, rows, key):
            place = np.searchsorted(words, of_word)
            found = np.flatnonzero(np.append(words, -1)[place] == of_word)
            chosen = part[place[found], within[found]]
            factor = clip_scale(chosen, limit, grid)
            if factor > 0:
                total[found] += np.trunc(chosen * factor)
        return total * grid

    @staticmethod
    def lengths(sums: Array) -> Array:
        """Euclidean norm of each row, a function of that row."""
        return np.array([math.sqrt(np.square(row).sum()) for row in sums])

    def _checked(self, rows: Rows) -> Rows:
        if len(rows) and not 0 <= rows.min() <= rows.max() < self._records.n_records:
            raise IndexError("rows must be indices of records.")
        return rows

    def _gradients(
        self, table: Array, scale: float, rows: Rows, key: np.uint64
    ) -> Iterator[tuple[Rows, Array]]:
        for row in self._checked(rows):
            with np.errstate(all="ignore"):
                yield gradient(table, scale, self._records.examples(int(row), key))


def gradient(table: Array, scale: float, examples: Examples) -> tuple[Rows, Array]:
    """Return the words that some examples touch, in order, and the gradient of their rows."""
    words = _words(examples)
    context = scale * table[examples.contexts]
    outputs = np.column_stack([examples.targets, examples.negatives])
    rows = scale * table[outputs]
    slopes = expit((rows * context[:, None]).sum(axis=2))
    slopes[:, 0] -= 1
    part = np.zeros((len(words), table.shape[1]))
    np.add.at(part, np.searchsorted(words, outputs), slopes[:, :, None] * context[:, None])
    pulls = (slopes[:, :, None] * rows).sum(axis=1)
    np.add.at(part, np.searchsorted(words, examples.contexts), pulls)
    return words, part


def clip_scale(vector: Array, limit: float, grid: float) -> float:
    """Factor that makes a vector one of norm <= limit, in grid units; 0 if it is not finite."""
    if not np.abs(vector).max(initial=0.0) < _LARGEST:
        return 0.0
    squares = np.square(vector).sum() * (1 + (vector.size + 8) * UNIT_ROUNDOFF) + _SQUARES_LOST
    bound = math.sqrt(squares) * (1 + 8 * UNIT_ROUNDOFF)
    return limit / grid / bound if bound > limit else 1 / grid


def _words(examples: Examples) -> Rows:
    return np.unique(np.concatenate([part.ravel() for part in examples]))


def _added(parts: list[tuple[Rows, Array]], shape: tuple[int, ...]) -> tuple[Rows, Array]:
    """Add arrays with a row for each word of their own."""
    words = np.concatenate([np.zeros(0, dtype=np.int64), *(own for own, _ in parts)])
    distinct, places = np.unique(words, return_inverse=True)
    total = np.zeros((len(distinct), *shape))
    if parts:
        np.add.at(total, places, np.concatenate([rows for _, rows in parts]))
    return distinct, total

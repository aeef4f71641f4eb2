"""The steps of the lazy loop, compiled. Imported lazily: it needs numba.

A step waits for memory more than it computes: batches visit records and features in an order that
the processor cannot guess. So the state is visited in two passes only, what is needed soon is
asked for early, and all else happens in arrays as long as the batch. All parts are in this file
because numba's cache notices changes of this file only.
"""

import math
from collections.abc import Callable
from typing import Any, TypeVar, cast, final

import numba
import numpy as np
import numpy.typing as npt

from skdp._random import RandomSource
from skdp.objectives.losses import Loss
from skdp.training.lazy_arguments import Indices, Law, Scratch, Table, Weights, unsigned
from skdp.training.lazy_noise import Window
from skdp.training.lazy_state import (
    CLIP_MARGIN,
    SHRINK,
    SQUARE_ERROR,
    SQUARE_FLOOR,
    Array,
    Block,
    LazyState,
    Normals,
    NormalStream,
    Records,
)
from skdp.training.loss_kernels import (
    LossCode,
    compiled,
    derivative,
    has_code,
    loss_code,
    softmax_derivative,
)
from skdp.training.prefetch_kernels import prefetch
from skdp.training.ziggurat_kernels import Ziggurat

__all__ = ["CompiledEngine"]

F = TypeVar("F", bound=Callable[..., Any])

_ONE = np.uint64(1)
#: Entries a cache line, at least.
_LINE = np.uint64(8)
#: How far ahead records and features are asked for.
_ROWS_AHEAD, _FEATURES_AHEAD = np.uint64(6), np.uint64(24)


def _part(function: F) -> F:
    """Compile as a part of `_run`: nobody else calls it, which takes half of the time."""
    options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return cast(F, numba.njit(nogil=True, error_model="numpy", **options)(function))


@final
class CompiledEngine:
    """See `Engine`."""

    @staticmethod
    def knows(loss: Loss) -> bool:
        """Whether there is compiled code for a loss."""
        return has_code(loss)

    def normals(self, rng: RandomSource) -> NormalStream:
        return NormalStream(Ziggurat(rng))

    def run_steps(
        self, records: Records, state: LazyState, window: Window, block: Block, normals: Normals
    ) -> None:
        sizes = block.n_entries(records.indptr)
        arguments = (
            Table.of(records),
            Weights.of(state),
            Law.of(window),
            Scratch.sized(int(sizes.max(initial=0)) + 1, state.n_outputs, records.indices.dtype),
            loss_code(records.loss),
            None if state.n_outputs == 1 else state.n_outputs,
            unsigned(block.rows),
            unsigned(block.offsets),
            sizes,
            block.first,
        )
        i = 0
        while i < block.n_steps:
            # No feature is touched twice in a step, so this many are enough for the next one.
            drawn = normals.at_least(state.n_outputs * (int(sizes[i]) + 1))
            i, used = _run(*arguments, i, drawn)
            normals.drop(used)


@compiled
def _run(
    table: Table,
    weights: Weights,
    law: Law,
    scratch: Scratch,
    code: LossCode,
    outputs: int | None,
    rows: Indices,
    offsets: Indices,
    sizes: npt.NDArray[np.int64],
    first: int,
    i: int,
    normals: Array,
) -> tuple[int, int]:
    """Make steps from the i-th as long as there are normals; return the next and those used."""
    n_outputs = int(_count(outputs))
    used = 0
    while i < sizes.size and n_outputs * (sizes[i] + 1) <= normals.size - used:
        t = first + i + 1
        batch = rows[offsets[i] : offsets[i + 1]]
        n_touched = _gather(table, weights, scratch, outputs, batch)
        used += _catch_up(weights, law, scratch, outputs, n_touched, t - 1, normals[used:])
        if outputs is None:
            _add_gradients(table, weights, law, scratch, code, batch, t)
        else:
            _add_softmax_gradients(table, weights, law, scratch, batch, t)
        _move(weights, law, scratch, outputs, n_touched, t)
        used += _move_intercept(weights, law, scratch, t, normals[used:])
        i += 1
    return i, used


@_part
def _count(outputs: int | None) -> np.uint64:
    """Return the number of outputs. None stands for one: then it is known when code is compiled."""
    if outputs is None:
        return _ONE
    return np.uint64(outputs)


@_part
def _gather(
    table: Table, weights: Weights, scratch: Scratch, outputs: int | None, batch: Indices
) -> np.uint64:
    """Give every feature of the batch a slot; return how many there are.

    While the step is made, the stamp of a feature says its slot: the complement of it.
    """
    cells, stamps = weights.cells, weights.stamps
    n_outputs = _count(outputs)
    n_touched = np.uint64(0)
    place = np.uint64(0)
    for r in range(np.uint64(batch.size)):
        _prefetch_entries(table.indptr, table.indices, batch, r + _ROWS_AHEAD)
        _prefetch_features(table, cells, batch, r + _ONE)
        row = batch[r]
        for k in range(np.uint64(table.indptr[row]), np.uint64(table.indptr[row + _ONE])):
            feature = table.indices[k]
            stamp = stamps[feature, 0]
            fresh = stamp >= 0
            slot = n_touched if fresh else np.uint64(~stamp)
            stamps[feature, 0] = ~np.int64(slot)
            scratch.slots[place] = slot
            place += _ONE
            # Without a branch, which would be guessed wrongly half of the time: what is written
            # for a feature that had a slot is written over by the next one.
            scratch.features[n_touched] = feature
            scratch.stamps[n_touched] = stamp
            for c in range(n_outputs):
                scratch.u[n_touched, c] = cells[feature, _ONE + c]
            n_touched += np.uint64(fresh)
    return n_touched


@_part
def _prefetch_entries(
    indptr: npt.NDArray[Any], entries: npt.NDArray[Any], batch: Indices, r: np.uint64
) -> None:
    """Ask for the entries of a record of the batch."""
    if r < np.uint64(batch.size):
        row = batch[r]
        for k in range(np.uint64(indptr[row]), np.uint64(indptr[row + _ONE]), _LINE):
            prefetch(entries, k)


@_part
def _prefetch_features(table: Table, cells: Array, batch: Indices, r: np.uint64) -> None:
    """Ask for the state of the features of a record of the batch."""
    if r < np.uint64(batch.size):
        row = batch[r]
        for k in range(np.uint64(table.indptr[row]), np.uint64(table.indptr[row + _ONE])):
            prefetch(cells, table.indices[k])


@_part
def _catch_up(
    weights: Weights,
    law: Law,
    scratch: Scratch,
    outputs: int | None,
    n_touched: np.uint64,
    stop: int,
    normals: Array,
) -> int:
    """Draw the noise of the steps up to `stop` that the touched features lack."""
    u = scratch.u
    n_outputs = _count(outputs)
    averages = weights.averages and law.weight[stop] > 0
    oldest = _tabulate(law, scratch, n_touched, stop)
    for slot in range(n_touched):
        start = scratch.stamps[slot]
        if start >= oldest:
            std, slope = scratch.gaps[start - oldest, 0], scratch.gaps[start - oldest, 1]
            pending = scratch.gaps[start - oldest, 2]
        else:
            std, slope, pending = _gap(law, start, stop)
        if averages:
            scratch.pending[slot] = pending
        for c in range(n_outputs):
            increment = std * normals[slot * n_outputs + c]
            u[slot, c] += increment
            scratch.drift[slot, c] = slope * increment
            scratch.gradient[slot, c] = 0.0
    return int(n_touched * n_outputs)


@_part
def _tabulate(law: Law, scratch: Scratch, n_touched: np.uint64, stop: int) -> np.uint64:
    """Tabulate the laws of the latest gaps, as many as are needed; return the earliest start."""
    oldest = np.uint64(max(0, stop - int(n_touched)))
    for start in range(oldest, np.uint64(stop + 1)):
        std, slope, pending = _gap(law, np.uint64(start), stop)
        scratch.gaps[start - oldest, 0] = std
        scratch.gaps[start - oldest, 1] = slope
        scratch.gaps[start - oldest, 2] = pending
    return oldest


@_part
def _gap(law: Law, start: np.uint64, stop: int) -> tuple[float, float, float]:
    """Return what `Window.gap` does."""
    variance = law.sums[stop, 0] - law.sums[start, 0]
    cross = law.sums[stop, 1] - law.sums[start, 1]
    square = law.sums[stop, 2] - law.sums[start, 2]
    mean = cross / variance if variance > 0 else 0.0
    return math.sqrt(variance), law.weight[-1] - mean, max(square - cross * mean, 0.0)


@_part
def _add_gradients(
    table: Table,
    weights: Weights,
    law: Law,
    scratch: Scratch,
    code: LossCode,
    batch: Indices,
    t: int,
) -> None:
    """Sum the clipped gradients of the batch, one output."""
    slots, data = scratch.slots, table.data
    u, gradient = scratch.u.reshape(-1), scratch.gradient.reshape(-1)
    scale = law.scale[t - 1]
    intercept = weights.intercept[0] if weights.intercept.size else 0.0
    total = 0.0
    place = np.uint64(0)
    for r in range(np.uint64(batch.size)):
        _prefetch_entries(table.indptr, table.data, batch, r + _ROWS_AHEAD)
        row = batch[r]
        start = np.uint64(table.indptr[row])
        n_entries = np.uint64(table.indptr[row + _ONE]) - start
        score, squares = 0.0, 0.0
        for k in range(n_entries):
            value = np.float64(data[start + k])
            score += value * u[slots[place + k]]
            squares += value * value
        slope = derivative(code, scale * score + intercept, table.targets[row])
        row_norm = _row_norm(squares, n_entries, weights)
        if row_norm == math.inf:
            row_norm = _huge_row_norm(data, start, n_entries)
        norm = abs(slope) * row_norm
        slope = _clipped(slope, norm, table.max_norm)
        if slope != 0:
            total += slope
            for k in range(n_entries):
                gradient[slots[place + k]] += slope * data[start + k]
        place += n_entries
    scratch.intercept_gradient[0] = total


@_part
def _add_softmax_gradients(
    table: Table, weights: Weights, law: Law, scratch: Scratch, batch: Indices, t: int
) -> None:
    """Sum the clipped gradients of the batch, several outputs."""
    slots, data = scratch.slots, table.data
    scores, total = scratch.scores, scratch.intercept_gradient
    n_outputs = np.uint64(scores.size)
    total.fill(0.0)
    place = np.uint64(0)
    for r in range(np.uint64(batch.size)):
        _prefetch_entries(table.indptr, table.data, batch, r + _ROWS_AHEAD)
        row = batch[r]
        start = np.uint64(table.indptr[row])
        n_entries = np.uint64(table.indptr[row + _ONE]) - start
        scores.fill(0.0)
        squares = 0.0
        for k in range(n_entries):
            value = np.float64(data[start + k])
            for c in range(n_outputs):
                scores[c] += value * scratch.u[slots[place + k], c]
            squares += value * value
        _finish_scores(scores, law.scale[t - 1], weights.intercept)
        softmax_derivative(scores, table.targets[row], scores)
        row_norm = _row_norm(squares, n_entries, weights)
        if row_norm == math.inf:
            row_norm = _huge_row_norm(data, start, n_entries)
        norm = _norm(scores) * row_norm
        for c in range(n_outputs):
            scores[c] = _clipped(scores[c], norm, table.max_norm)
            total[c] += scores[c]
        if norm < math.inf:
            for k in range(n_entries):
                for c in range(n_outputs):
                    scratch.gradient[slots[place + k], c] += scores[c] * data[start + k]
        place += n_entries


@_part
def _finish_scores(scores: Array, scale: float, intercept: Array) -> None:
    for c in range(scores.size):
        scores[c] *= scale
        if intercept.size:
            scores[c] += intercept[c]


@_part
def _norm(values: Array) -> float:
    squares = 0.0
    for value in values:
        squares += value * value
    return math.sqrt(squares)


@_part
def _row_norm(squares: float, n_entries: np.uint64, weights: Weights) -> float:
    constant = 1.0 if weights.intercept.size else 0.0
    return math.sqrt(squares * (1 + n_entries * SQUARE_ERROR) + SQUARE_FLOOR + constant)


@_part
def _huge_row_norm(data: Array, start: np.uint64, n_entries: np.uint64) -> float:
    """Norm of a row whose squares overflow; beside it the constant column is nothing."""
    squares = 0.0
    for k in range(n_entries):
        value = SHRINK * np.float64(data[start + k])
        squares += value * value
    return math.sqrt(squares * (1 + n_entries * SQUARE_ERROR) + SQUARE_FLOOR) / SHRINK


@_part
def _clipped(slope: float, norm: float, max_norm: float) -> float:
    """Scale a slope so that the gradient has at most `max_norm`; 0 if the gradient is not finite.

    Divided first: the bound over a huge norm would lose digits to underflow.
    """
    if not norm < math.inf:
        return 0.0
    bound = max_norm * CLIP_MARGIN
    return slope / norm * bound if norm > bound else slope


@_part
def _move(
    weights: Weights,
    law: Law,
    scratch: Scratch,
    outputs: int | None,
    n_touched: np.uint64,
    t: int,
) -> None:
    """Make step t on the touched features, whose noise it leaves to the next gap."""
    cells = weights.cells
    n_outputs = _count(outputs)
    averages = weights.averages and law.weight[t - 1] > 0
    weight, step = law.weight[t - 1], law.step[t]
    for slot in range(n_touched):
        if slot + _FEATURES_AHEAD < n_touched:
            prefetch(cells, scratch.features[slot + _FEATURES_AHEAD])
        feature = scratch.features[slot]
        weights.stamps[feature, 0] = t - 1
        for c in range(n_outputs):
            change = -step * scratch.gradient[slot, c]
            cells[feature, _ONE + c] = scratch.u[slot, c] + change
            if averages:
                cells[feature, _ONE + n_outputs + c] += scratch.drift[slot, c] + weight * change
        if averages:
            cells[feature, _ONE + n_outputs + n_outputs] += scratch.pending[slot]


@_part
def _move_intercept(weights: Weights, law: Law, scratch: Scratch, t: int, normals: Array) -> int:
    """Make step t on the intercept, noise included."""
    for k in range(weights.intercept.size):
        step = law.rate[t] * scratch.intercept_gradient[k] + law.spread[t] * normals[k]
        weights.intercept[k] -= step
        weights.mean_intercept[k] += law.share[t] * weights.intercept[k]
    return weights.intercept.size

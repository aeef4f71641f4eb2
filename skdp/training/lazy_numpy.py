"""The steps of the lazy loop with numpy alone: vectorised in a step, one step after another."""

from typing import final

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from skdp._random import RandomSource
from skdp.mechanisms import continuous
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
    Rows,
)

__all__ = ["NumpyEngine"]


@final
class NumpyEngine:
    """See `Engine`."""

    def normals(self, rng: RandomSource) -> NormalStream:
        def fill(out: Array) -> int:
            out[:] = continuous.normals(len(out), rng)
            return len(out)

        return NormalStream(fill)

    def run_steps(
        self, records: Records, state: LazyState, window: Window, block: Block, normals: Normals
    ) -> None:
        for i in range(block.n_steps):
            rows = block.rows[block.offsets[i] : block.offsets[i + 1]]
            with np.errstate(all="ignore"):
                _make_step(records, state, window, rows, block.first + i + 1, normals)


def _make_step(
    records: Records, state: LazyState, window: Window, rows: Rows, t: int, normals: Normals
) -> None:
    batch, features = _gather(records, rows)
    state.advance(features, window, t - 1, normals)
    scores = window.scale[t - 1] * (batch @ state.cells[features, state.u])
    if len(state.intercept):
        scores += state.intercept
    slopes, sound = _clipped_slopes(records, batch, scores, rows, len(state.intercept) > 0)
    if not sound.all():
        batch = batch[sound]
    change = -window.step[t] * (batch.T @ slopes)
    state.cells[features, state.u] += change
    if state.averages:
        state.cells[features, state.z] += window.weight[t - 1] * change
    state.stamps[features] = t - 1
    state.move_intercept(window, t, slopes.sum(axis=0), normals)


def _gather(records: Records, rows: Rows) -> tuple[csr_matrix, Rows]:
    """Return the rows with only the columns that occur, and which these are."""
    counts = records.indptr[rows + 1] - records.indptr[rows]
    offsets = np.concatenate([[0], np.cumsum(counts)])
    places = np.arange(offsets[-1]) + np.repeat(records.indptr[rows] - offsets[:-1], counts)
    features, columns = np.unique(records.indices[places], return_inverse=True)
    shape = (len(rows), len(features))
    return csr_matrix((records.data[places], columns, offsets), shape=shape), features


def _clipped_slopes(
    records: Records, batch: csr_matrix, scores: Array, rows: Rows, intercept: bool
) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Return the clipped slopes of the sound records, and which are sound: all finite."""
    outputs = scores.shape[1]
    slopes = records.loss.derivative(
        scores[:, 0] if outputs == 1 else scores, records.targets[rows]
    ).reshape(-1, outputs)
    entries = np.diff(batch.indptr)
    row_norm = _row_norms(batch, entries, 1.0, float(intercept))
    huge = ~np.isfinite(row_norm)
    if huge.any():
        row_norm[huge] = _row_norms(batch, entries, SHRINK, 0.0)[huge]
    norms = np.abs(np.hypot.reduce(slopes, axis=1)) * row_norm
    sound = np.isfinite(norms)
    slopes, norms = slopes[sound], norms[sound, None]
    bound = records.max_norm * CLIP_MARGIN
    return np.where(norms > bound, slopes / norms * bound, slopes), sound


def _row_norms(batch: csr_matrix, entries: Rows, shrink: float, constant: float) -> Array:
    """Bounds on the norms of rows that are multiplied by `shrink` before they are squared."""
    squares = np.bincount(
        np.repeat(np.arange(len(entries)), entries),
        np.square(shrink * batch.data.astype(np.float64)),
        len(entries),
    )
    bound: Array = np.sqrt(squares * (1 + entries * SQUARE_ERROR) + SQUARE_FLOOR + constant)
    return bound / shrink

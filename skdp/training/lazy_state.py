"""What the lazy loop keeps: some numbers a feature, up to date only as of its last touch."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np
import numpy.typing as npt

from skdp._random import RandomSource
from skdp.objectives.losses import Loss
from skdp.training.lazy_noise import Schedule, Window

__all__ = [
    "CLIP_MARGIN",
    "SHRINK",
    "SQUARE_ERROR",
    "SQUARE_FLOOR",
    "Block",
    "Engine",
    "LazyState",
    "NormalStream",
    "Normals",
    "Records",
]

Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
#: Writes independent standard normals to the front of an array and tells how many.
Fill = Callable[[Array], int]

#: The norm of a gradient is computed in floating point: these make the bound hold all the same. A
#: sum of n squares is off by less than n times the second, relatively, and squares that underflow
#: add up to less than the third.
CLIP_MARGIN, SQUARE_ERROR, SQUARE_FLOOR = 1 - 2.0**-40, 2.0**-52, 1e-300
#: A row whose squares overflow is multiplied by it first.
SHRINK = 2.0**-600

#: So many normals at a time: the first is what a small fit needs, the last stays in the cache.
_FEWEST_NORMALS, _MOST_NORMALS = 2**8, 2**14
_FEATURES_AT_A_TIME = 2**13
_CACHE_LINE = 64


@final
@dataclass(frozen=True, eq=False)
class Records:
    """The records of a fit.

    Attributes
    ----------
    indptr, indices, data : ndarray
        Rows in compressed form, without duplicate columns.
    targets : ndarray of shape (n_records,)
        Targets as the loss wants them.
    loss : Loss
        Maps a record's scores and target to a slope.
    max_norm : float
        Norm to which a record's gradient is clipped.
    """

    indptr: npt.NDArray[Any]
    indices: npt.NDArray[Any]
    data: npt.NDArray[Any]
    targets: Array
    loss: Loss
    max_norm: float


@final
@dataclass(frozen=True, eq=False)
class Block:
    """The batches of some steps in a row, ``rows[offsets[i]:offsets[i + 1]]`` for the i-th.

    Attributes
    ----------
    rows, offsets : ndarray of int64
        The batches.
    first : int
        Number of steps of the window before the block.
    """

    rows: Rows
    offsets: Rows
    first: int

    @property
    def n_steps(self) -> int:
        """Number of steps."""
        return len(self.offsets) - 1

    def n_entries(self, indptr: npt.NDArray[Any]) -> Rows:
        """Return how many entries the records of each batch have together."""
        before = np.concatenate([[0], np.cumsum(indptr[self.rows + 1] - indptr[self.rows])])
        counts: Rows = np.diff(before[self.offsets])
        return counts


class Normals(Protocol):
    """A stream of independent standard normals."""

    def at_least(self, n: int) -> Array:
        """Return what is buffered, `n` or more, until the next call; it stays in the stream."""

    def drop(self, n: int) -> None:
        """Take `n` from the front of the buffer out of the stream."""


class Engine(Protocol):
    """One way to make steps: compiled, or with numpy alone."""

    def normals(self, rng: RandomSource) -> Normals:
        """Return a stream of normals from a source of words."""

    def run_steps(
        self, records: Records, state: "LazyState", window: Window, block: Block, normals: Normals
    ) -> None:
        """Make the steps of a block, all of them in one window."""


@final
class NormalStream:
    """Standard normals, drawn some ahead; none is used twice.

    Parameters
    ----------
    fill : callable
        Draws them.
    """

    def __init__(self, fill: Fill) -> None:
        self._fill = fill
        self._buffer = np.empty(0)
        self._start = self._stop = 0
        self._portion = _FEWEST_NORMALS

    def at_least(self, n: int) -> Array:
        if self._stop - self._start < n:
            self._make_room(n)
            while self._stop < n:
                self._stop += self._fill(self._buffer[self._stop :][: self._portion])
                self._portion = min(2 * self._portion, _MOST_NORMALS)
        return self._buffer[self._start : self._stop]

    def drop(self, n: int) -> None:
        self._start += n

    def _make_room(self, n: int) -> None:
        """Move what is left to the front of a buffer that holds `n` and a portion more."""
        left = self._buffer[self._start : self._stop]
        if n + _MOST_NORMALS > len(self._buffer):
            self._buffer = np.empty(2 * (n + _MOST_NORMALS))
        self._buffer[: len(left)] = left
        self._start, self._stop = 0, len(left)


@final
class LazyState:
    """Weights u, corrections Z and pending variances, as `lazy_noise` defines them.

    Attributes
    ----------
    cells : ndarray of shape (n_features, width)
        A row is (stamp, u_1 .. u_K) if only the last iterate counts, and otherwise
        (stamp, u_1 .. u_K, Z_1 .. Z_K, pending): one cache line holds all there is to know of a
        feature. The variance is the same for all classes, for they are touched together.
    stamps : ndarray of int64 of shape (n_features,)
        The first column as integers, bit for bit: the step of the window up to which u holds the
        noise.
    intercept, mean_intercept : ndarray of shape (K,) or (0,)
        w_t and sum c_s w_s of the intercept, which every record touches in every step.
    """

    def __init__(
        self, schedule: Schedule, n_features: int, n_outputs: int, fit_intercept: bool
    ) -> None:
        self.schedule = schedule
        self.n_outputs = n_outputs
        self.averages = bool(schedule.averaging[:-1].any())
        width = 2 + 2 * n_outputs if self.averages else 1 + n_outputs
        self._memory = np.zeros(n_features * width + _CACHE_LINE // 8)
        self.cells = _aligned(self._memory, n_features, width)
        self.stamps = self.cells.view(np.int64)[:, 0]
        self.intercept = np.zeros(n_outputs if fit_intercept else 0)
        self.mean_intercept = np.zeros_like(self.intercept)

    def start_at(self, start: Array) -> None:
        """Set the weights before the first step, in the flat order of the result."""
        n_weights = len(self.cells) * self.n_outputs
        if start.shape != (n_weights + len(self.intercept),):
            raise ValueError(f"start must have shape ({n_weights + len(self.intercept)},).")
        self.cells[:, self.u] = start[:n_weights].reshape(len(self.cells), self.n_outputs)
        self.intercept[:] = start[n_weights:]

    def close(self, window: Window, normals: Normals) -> None:
        """Draw every coordinate to the end of a window and make ready for the next one."""
        for chunk in self._chunks():
            self.advance(chunk, window, window.n_steps, normals)
            cells = self.cells[chunk]
            if self.averages:
                cells[:, self.z] -= window.weight[-1] * cells[:, self.u]
            cells[:, self.u] *= window.scale[-1]
            self.stamps[chunk] = 0

    def advance(self, features: slice | Rows, window: Window, stop: int, normals: Normals) -> None:
        """Draw the noise of the steps after the stamps of some features up to `stop`."""
        gap = window.gap(self.stamps[features], stop)
        increment = gap.std[:, None] * self._draw(len(gap.std), normals)
        self.cells[features, self.u] += increment
        if self.averages:
            self.cells[features, self.z] += gap.slope[:, None] * increment
            self.cells[features, -1] += gap.pending

    def move_intercept(self, window: Window, t: int, gradient: Array, normals: Normals) -> None:
        """Make step `t` of the window on the intercept, if there is one."""
        n = len(self.intercept)
        noise = normals.at_least(n)[:n]
        self.intercept -= window.rate[t] * gradient[:n] + window.spread[t] * noise
        self.mean_intercept += window.share[t] * self.intercept
        normals.drop(n)

    def result(self, window: Window, normals: Normals) -> Array:
        """Return sum c_t w_t, rounded, after the last step of the last window; once.

        It takes the place of the cells, of which each is read before it is written over: at
        millions of features there may be no room for both.
        """
        flat, place = self._memory, 0
        for chunk in self._chunks():
            part = _rounded(self._drawn(chunk, window, normals), self.schedule.grid)
            flat[place : place + part.size] = part.ravel()
            place += part.size
        end = place + len(self.intercept)
        flat[place:end] = _rounded(self.mean_intercept, self.schedule.intercept_grid)
        del self.cells, self.stamps, self._memory
        flat.resize(end, refcheck=False)
        return flat

    def _drawn(self, chunk: slice, window: Window, normals: Normals) -> Array:
        cells, variance = self.cells[chunk], window.rest[self.stamps[chunk]]
        mean = window.weight[-1] * cells[:, self.u]
        if self.averages:
            variance += cells[:, -1]
            mean -= cells[:, self.z]
        drawn: Array = mean + np.sqrt(variance)[:, None] * self._draw(len(cells), normals)
        return drawn

    def _draw(self, n_features: int, normals: Normals) -> Array:
        n = n_features * self.n_outputs
        drawn = normals.at_least(n)[:n].reshape(n_features, self.n_outputs)
        normals.drop(n)
        return drawn

    def _chunks(self) -> Iterator[slice]:
        """Yield slices of the features, so that nothing as long as all of them is made."""
        for start in range(0, len(self.cells), _FEATURES_AT_A_TIME):
            yield slice(start, start + _FEATURES_AT_A_TIME)

    @property
    def u(self) -> slice:
        """Columns of u."""
        return slice(1, 1 + self.n_outputs)

    @property
    def z(self) -> slice:
        """Columns of Z."""
        return slice(1 + self.n_outputs, 1 + 2 * self.n_outputs)


def _rounded(values: Array, grid: float) -> Array:
    rounded: Array = np.rint(values / grid) * grid
    return rounded


def _aligned(memory: Array, n_rows: int, width: int) -> Array:
    """Return a part of zeros, as rows: those of 32 bytes do not straddle cache lines."""
    skip = -memory.ctypes.data % _CACHE_LINE // 8
    return memory[skip : skip + n_rows * width].reshape(n_rows, width)

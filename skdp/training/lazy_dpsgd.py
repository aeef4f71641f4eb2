"""DP-SGD with noise on every coordinate at the cost of the coordinates that records touch."""

from collections.abc import Iterable
from typing import final

import numpy as np
from scipy.sparse import csr_matrix

from skdp._random import RandomSource
from skdp._validation import positive
from skdp.objectives.losses import Loss
from skdp.records import unflagged
from skdp.training.lazy_noise import Array, Schedule
from skdp.training.lazy_numpy import NumpyEngine
from skdp.training.lazy_state import Block, Engine, LazyState, Normals, Records, Rows

__all__ = ["engine_for", "lazy_dpsgd", "records_of", "run"]

Batches = Iterable[tuple[Rows, Rows]]


def lazy_dpsgd(
    X: csr_matrix,
    targets: Array,
    loss: Loss,
    *,
    fit_intercept: bool,
    start: Array | None,
    batches: Batches,
    learning_rates: Array,
    noise_stds: Array,
    divisor: float,
    max_norm: float,
    decay: float,
    averaging: Array,
    rng: RandomSource,
) -> Array:
    """Train a generalised linear model by DP-SGD with dense Gaussian noise, lazily.

    The result has the law, in real arithmetic, of this loop over t = 1, ..., T, rounded once to a
    public grid:

        w_t = a_t w_{t-1} - (eta_t / B) (sum of the clipped gradients of batch t + s_t xi_t),

    with xi_t ~ N(0, I), a_t = 1 - eta_t decay (1 for the intercept), and the result
    sum_t c_t w_t. It costs one pass over the entries of the batches and one over the coordinates;
    see `skdp.training.lazy_noise` for how.

    Parameters
    ----------
    X : csr_matrix of shape (n_records, n_features)
        The records, rows without duplicate columns.
    targets : ndarray of shape (n_records,)
        Targets, as `loss` wants them.
    loss : Loss
        K = ``loss.n_outputs``.
    fit_intercept : bool
        Whether a constant column 1 is appended; its gradient is clipped with the rest.
    start : ndarray of shape (size,) or None
        The weights w_0; None is 0. size = (n_features + fit_intercept) K, the C order of
        (n_features + fit_intercept, K).
    batches : iterable of (rows, offsets), both ndarray of int64
        The batches of some consecutive steps at a time: ``rows[offsets[i]:offsets[i + 1]]`` for
        the i-th of them. A batch may be empty.
    learning_rates, noise_stds, averaging : ndarray of shape (n_steps,)
        eta_t, s_t (noise multiplier times `max_norm`) and c_t.
    divisor : float
        B, expected batch size.
    max_norm : float
        Each record's whole gradient is clipped to this L2 norm; it is 0 if it is not finite.
    decay : float
        Strength of the L2 penalty, outside of the clipping.
    rng : RandomSource
        Where the noise comes from.

    Returns
    -------
    ndarray of float64 of shape (size,)
        The only thing to be released: intermediate weights are not drawn.

    Raises
    ------
    ValueError
        If shapes, column indices or the number of steps do not fit, or rows have duplicate or
        unsorted columns; see `Schedule` for what it refuses.

    Notes
    -----
    *Guarantees.* The joint law of the result is that of the textbook loop in real arithmetic,
    because a coordinate that no record of a batch has is not read in that step, and moves by a
    Gaussian whose law is public. Computed in float64 and rounded to multiples of 2^-20 of its
    standard deviation: rounded continuous noise. The time taken and the number of random words
    depend on the records; nothing else but the result does.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> from skdp._random import RandomSource
    >>> from skdp.objectives.losses import Logistic
    >>> X, y = csr_matrix(np.eye(3)[[0, 1, 0, 1]]), np.array([1.0, -1.0, 1.0, -1.0])
    >>> steps = [(np.arange(4), np.array([0, 2, 4]))] * 50
    >>> w = lazy_dpsgd(
    ...     X, y, Logistic(), fit_intercept=False, start=None, batches=steps, divisor=2.0,
    ...     learning_rates=np.full(100, 0.5), noise_stds=np.full(100, 0.1), max_norm=1.0,
    ...     decay=0.0, averaging=np.full(100, 0.01), rng=RandomSource.from_seed(0),
    ... )
    >>> w.shape, bool(w[0] > 0.5), bool(w[1] < -0.5)
    ((3,), True, True)
    """
    positive(max_norm=max_norm)
    schedule = Schedule(learning_rates, noise_stds, averaging, divisor, decay)
    engine = engine_for(loss)
    state = LazyState(schedule, X.shape[1], loss.n_outputs, fit_intercept)
    if start is not None:
        state.start_at(start)
    records = records_of(X, targets, loss, max_norm)
    return run(engine, records, state, batches, engine.normals(rng))


def run(
    engine: Engine, records: Records, state: LazyState, batches: Batches, normals: Normals
) -> Array:
    """Make all steps, from the weights that `state` holds; see `lazy_dpsgd`."""
    schedule, feed = state.schedule, _Feed(batches, len(records.targets))
    for window in schedule.windows():
        made = 0
        while made < window.n_steps:
            block = feed.take(window.n_steps - made, made)
            engine.run_steps(records, state, window, block, normals)
            made += block.n_steps
        if window.stop < schedule.n_steps:
            state.close(window, normals)
    feed.refuse_more()
    return state.result(window, normals)


def records_of(X: csr_matrix, targets: Array, loss: Loss, max_norm: float) -> Records:
    """Check what compiled code would take on trust, and wrap it."""
    if targets.shape != X.shape[:1]:
        raise ValueError(f"targets must have shape {X.shape[:1]}, got {targets.shape}.")
    X = unflagged(X)
    X.check_format(full_check=True)
    if not X.has_canonical_format:
        raise ValueError("Columns must be sorted and without duplicates; call sum_duplicates().")
    return Records(
        X.indptr, X.indices, X.data, np.ascontiguousarray(targets, dtype=np.float64), loss, max_norm
    )


def engine_for(loss: Loss) -> Engine:
    """Return the compiled engine, or the other one without numba or for a loss it does not know."""
    try:
        from skdp.training.lazy_kernels import CompiledEngine
    except (ImportError, RuntimeError):  # an installation that does not fit, or has no cache
        return NumpyEngine()
    return CompiledEngine() if CompiledEngine.knows(loss) else NumpyEngine()


@final
class _Feed:
    """Hands out the batches in portions."""

    def __init__(self, batches: Batches, n_records: int) -> None:
        self._batches, self._n_records = iter(batches), n_records
        self._rows, self._offsets = np.zeros((2, 1), dtype=np.int64)

    def take(self, n_steps: int, first: int) -> Block:
        """Return the next `n_steps` batches or fewer, at least one."""
        while len(self._offsets) == 1:
            self._read()
        n_steps = min(n_steps, len(self._offsets) - 1)
        offsets, self._offsets = self._offsets[: n_steps + 1], self._offsets[n_steps:]
        return Block(self._rows, offsets, first)

    def refuse_more(self) -> None:
        """Raise if there are more batches than steps."""
        if len(self._offsets) > 1 or next(self._batches, None) is not None:
            raise ValueError("There are more batches than steps.")

    def _read(self) -> None:
        block = next(self._batches, None)
        if block is None:
            raise ValueError("There are fewer batches than steps.")
        rows, offsets = (np.ascontiguousarray(part, dtype=np.int64) for part in block)
        if len(rows) and not 0 <= rows.min() <= rows.max() < self._n_records:
            raise ValueError("A batch has a row that is not among the records.")
        if offsets[0] < 0 or offsets[-1] > len(rows) or (np.diff(offsets) < 0).any():
            raise ValueError("The offsets of the batches do not fit their rows.")
        self._rows, self._offsets = rows, offsets

"""Proximal SGD without noise: what stable SGD runs between reading the data and the one release."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt
from scipy import sparse

from skdp.objectives.losses import Loss
from skdp.training import stable_numpy

__all__ = ["Descent", "descend"]

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@final
@dataclass(frozen=True)
class Descent:
    """``w <- P(prox_(eta penalty)(w - (eta/b) sum_(i in batch) s_i loss'(x_i w) x_i))``.

    Parameters
    ----------
    loss : Loss
    sizes : ndarray of shape (n_steps,)
        eta of each step.
    averaging : ndarray of shape (n_steps,) or None
        Weights of the iterates; None releases the last one.
    batch_size : int
        b, also for batches that are shorter.
    l1, l2 : float
        The penalty; l1 on the features alone.
    radius : float
        P projects to this ball; infinite for none.
    constant : float or None
        The constant column, which comes last; None for no such column.
    """

    loss: Loss
    sizes: Array
    averaging: Array | None
    batch_size: int
    l1: float
    l2: float
    radius: float
    constant: float | None

    def plan(self, first: int, n_steps: int) -> tuple[Array, Array, int, float, float, float]:
        """Return what kernels need to know of some consecutive steps."""
        steps = slice(first, first + n_steps)
        averaging = np.zeros(0) if self.averaging is None else self.averaging[steps]
        return self.sizes[steps], averaging, self.batch_size, self.l1, self.l2, self.radius


def descend(
    descent: Descent,
    X: Any,
    targets: npt.NDArray[Any],
    weights: Array | None,
    passes: Iterable[tuple[Integers, Integers]],
) -> Array:
    """Run from 0 and return the parameters, shape (n_outputs, n_columns): private.

    Parameters
    ----------
    descent : Descent
    X : ndarray (C order) or canonical CSR matrix of shape (n_records, n_features)
        float64 or float32, clipped by whoever promises a row norm.
    targets : ndarray of shape (n_records,)
        As the loss wants them.
    weights : ndarray of shape (n_records,) or None
        s_i; None is 1 for every record.
    passes : iterable of (rows, offsets)
        The i-th batch of a pass is ``rows[offsets[i]:offsets[i + 1]]``.

    Notes
    -----
    With numba the loops are compiled, and a step on CSR rows costs what its non-zeros cost unless
    there is a projection or an average of an L1 penalty; otherwise NumPy does the same, slower. The
    two round differently, both within what `skdp.stability.sgd_bounds` counts.
    """
    runner = _runner(descent, X)
    first = 0
    for rows, offsets in passes:
        n_steps = len(offsets) - 1
        runner.run_pass(descent.plan(first, n_steps), rows, offsets, targets, weights)
        first += n_steps
    return runner.parameters()


class _NumpyRunner:
    """State of a run, and the records as the kernels of this route take them."""

    def __init__(self, descent: Descent, X: Any) -> None:
        self.n_outputs = descent.loss.n_outputs
        self.layout = (int(X.shape[1]), self.n_outputs)
        self.constant = 0.0 if descent.constant is None else float(descent.constant)
        self.n_columns = self.layout[0] + (descent.constant is not None)
        size = self.n_columns * self.n_outputs
        self.matrix: Any = X
        self.loss: Any = descent.loss
        self.state: Any = (np.zeros(size), np.zeros(0 if descent.averaging is None else size))
        self.kernel: Any = stable_numpy.run_pass

    def run_pass(
        self,
        plan: Any,
        rows: Integers,
        offsets: Integers,
        targets: npt.NDArray[Any],
        weights: Array | None,
    ) -> None:
        given = np.zeros(0) if weights is None else np.ascontiguousarray(weights, np.float64)
        targets = np.ascontiguousarray(targets, np.float64)
        records = (self.matrix, targets, given, self.loss, self.layout, self.constant)
        self.kernel(records, self.state, plan, rows.astype(np.int64), offsets.astype(np.int64))

    def parameters(self) -> Array:
        """Return the average or the last iterate, one output after the other."""
        values, average = self.state[:2]
        chosen: Array = average if average.size else values
        return np.ascontiguousarray(chosen.reshape(self.n_columns, self.n_outputs).T)


class _DenseRunner(_NumpyRunner):
    def __init__(self, descent: Descent, X: Any) -> None:
        from skdp.training import stable_kernels
        from skdp.training.stable_loss_kernels import code_of

        super().__init__(descent, X)
        self.matrix = (np.ascontiguousarray(X),)
        self.loss = code_of(descent.loss)
        self.kernel = stable_kernels.run_pass


class _SparseRunner(_NumpyRunner):
    def __init__(self, descent: Descent, X: Any) -> None:
        from skdp.training import stable_csr_kernels
        from skdp.training.stable_loss_kernels import code_of

        super().__init__(descent, X)
        self.matrix = (X.data, X.indices, X.indptr)
        self.loss = code_of(descent.loss)
        lagging = descent.l1 > 0 or descent.averaging is not None
        n_marks = self.layout[0] + 1 if lagging else 0
        self.state = (
            *self.state, np.zeros(n_marks), np.zeros(n_marks), np.array([1.0, 0.0, 0.0])
        )  # fmt: skip
        self.kernel = stable_csr_kernels.run_pass

    def parameters(self) -> Array:
        from skdp.training.stable_csr_kernels import settle

        settle(self.state, *self.layout)
        return super().parameters()


def _runner(descent: Descent, X: Any) -> _NumpyRunner:
    """Return the compiled route where numba is installed and knows the loss."""
    try:
        from skdp.training.stable_loss_kernels import is_coded
    except (ImportError, RuntimeError):  # an installation that does not fit, or has no cache
        return _NumpyRunner(descent, X)
    if not is_coded(descent.loss):
        return _NumpyRunner(descent, X)
    return _SparseRunner(descent, X) if sparse.issparse(X) else _DenseRunner(descent, X)

"""Per-record gradients of generalised linear models, clipped, on a grid, and summed exactly."""

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar, final

import numpy as np
import numpy.typing as npt
from scipy import sparse

from skdp.mechanisms.statistics import SparseSum
from skdp.objectives.losses import Loss
from skdp.records import unflagged
from skdp.training import glm_numpy
from skdp.training.glm_contract import (
    MARGIN,
    UNIT_ROUNDOFF,
    Array,
    Integers,
    Kernels,
    Records,
)
from skdp.training.optimizers import Facts, State
from skdp.training.sampling import Batches

__all__ = ["GlmGradients"]

Total = TypeVar("Total", Array, SparseSum)
#: Most terms of one sum; of more records, halves are summed one after the other.
LARGEST_BATCH = 2**21
SMALLEST_NORM, LARGEST_NORM = 2.0**-60, 2.0**60


@final
class GlmGradients:
    """``clip(loss'(scale * x_i values) x_i^T)`` of records in memory.

    Parameters are flat: ``values[feature * n_outputs + output]``, then, with an intercept, those of
    a constant column of ones. The model's parameters are ``scale * values``.

    Parameters
    ----------
    X : ndarray (C order) or CSR matrix of shape (n_records, n_features), float64 or float32
        CSR in canonical format: indices sorted, no duplicates. Kept, not copied.
    targets : array-like of shape (n_records,)
        As the loss wants them; class indices for several outputs.
    loss : Loss
    fit_intercept : bool

    Attributes
    ----------
    n_records : int
    size : int
        Number of parameters, ``(n_features + fit_intercept) * loss.n_outputs``.
    sparse : bool
        Whether `clipped_sum` returns a `SparseSum`.

    Raises
    ------
    ValueError
        For another storage, shapes that do not fit, column or class indices out of range.

    Notes
    -----
    *Guarantees.* Each record adds a vector of multiples of `grid` (a power of two) of norm at most
    `max_norm`, in exact arithmetic: a computed norm is taken for what it may be at most, whatever
    the size of the values, and truncation towards zero makes no norm larger. That vector is a
    function of the record and of ``(values, scale)``, bit for bit; where the scores or the slopes
    of the loss are not finite, it is 0. Sums are exact as long as ``n max_norm < 2^52 grid``.
    So leaving one record out moves a sum by at most `max_norm` in the L2 norm.

    A constant column is part of the record: the gradient of a record that is all zeros is not 0.

    The cost of a call depends on the number of non-zeros of the batch, not on that of the columns.
    The loops are compiled where numba is installed; otherwise NumPy does the same, slower.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from skdp.objectives import Logistic
    >>> X = sparse.csr_array(np.array([[3.0, 0.0, 4.0], [0.0, 0.0, 1.0]]))
    >>> gradients = GlmGradients(X, np.array([1.0, -1.0]), Logistic(), fit_intercept=False)
    >>> rows = np.array([0, 1])
    >>> total = gradients.clipped_sum(np.zeros(3), 1.0, rows, max_norm=1.0, grid=2.0**-20)
    >>> total.toarray().round(3)
    array([-0.6,  0. , -0.3])
    """

    def __init__(self, X: Any, targets: npt.ArrayLike, loss: Loss, *, fit_intercept: bool) -> None:
        self.sparse = bool(sparse.issparse(X))
        matrix = _csr_arrays(X) if self.sparse else _dense_array(X)
        self.n_records = int(X.shape[0])
        n_features = int(X.shape[1])
        self.size = (n_features + bool(fit_intercept)) * loss.n_outputs
        route = _route(loss)
        self._kernels: Kernels = route.SPARSE if self.sparse else route.DENSE
        self._records: Records = (
            matrix,
            _checked_targets(targets, self.n_records, loss),
            self._kernels.norms(matrix, int(fit_intercept)),
            self._kernels.loss_argument(loss),
            (n_features, loss.n_outputs, int(fit_intercept)),
        )
        self._n_outputs = loss.n_outputs
        self._widest = int(np.diff(matrix[2]).max(initial=0)) if self.sparse else n_features
        self._rounding = MARGIN + 2 * (loss.n_outputs + 8) * UNIT_ROUNDOFF

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_records={self.n_records}, size={self.size})"

    def clipped_sum(
        self, values: Array, scale: float, rows: Integers, *, max_norm: float, grid: float
    ) -> Any:
        """Sum of the gradients of some records, each clipped to `max_norm`.

        Parameters
        ----------
        values : ndarray of float64, shape (size,)
        scale : float
        rows : ndarray of int64
            Which records, from 0 to `n_records` - 1.
        max_norm : float
            Between 2^-60 and 2^60.
        grid : float
            A power of two, at most `max_norm`.

        Returns
        -------
        ndarray of shape (size,), or SparseSum for CSR records
        """
        values, scale, grid = self._checked(values), float(scale), float(grid)
        limit = self._limit(max_norm, grid)

        def of(part: Integers) -> Any:
            return self._kernels.clipped_sum(self._records, values, scale, part, limit, grid)

        if self.sparse:
            return self._total(lambda part: self._sparse(of(part)), _joined, rows)
        return self._total(lambda part: of(part)[0], np.add, rows)

    def contribution_map(self, rows: Integers, *, max_norm: float, grid: float) -> SparseSum:
        """Sum over records of the 0/1 vector of what they touch, clipped to `max_norm`.

        A record touches the coordinates of its non-zero features, all outputs of them, and the
        intercept: where its gradient can be other than 0 (Ghazi et al. 2023,
        Sparsity-preserving differentially private training of large embedding models, Alg. 1).
        """
        limit, grid = self._limit(max_norm, grid), float(grid)

        def of(part: Integers) -> SparseSum:
            return self._sparse(self._kernels.contribution_map(self._records, part, limit, grid))

        return self._total(of, _joined, rows)

    def restricted_sum(
        self,
        values: Array,
        scale: float,
        rows: Integers,
        selected: Integers,
        *,
        max_norm: float,
        grid: float,
    ) -> Array:
        """Sum of gradients restricted to the `selected` coordinates and then clipped.

        `selected` is strictly increasing; the result has its length. No other clipping comes first.
        """
        values, scale, grid = self._checked(values), float(scale), float(grid)
        limit = self._limit(max_norm, grid)
        chosen = np.ascontiguousarray(selected, dtype=np.int64)
        if not (np.diff(chosen, prepend=-1, append=self.size) > 0).all():
            raise ValueError(f"selected must increase strictly, from 0 or more, below {self.size}.")

        def of(part: Integers) -> Array:
            return self._kernels.restricted_sum(
                self._records, values, scale, part, chosen, limit, grid
            )

        total: Array = self._total(of, np.add, rows, len(chosen))
        return total

    @property
    def descends(self) -> bool:
        """Whether `descend` can be called: compiled code that does it is at hand."""
        return self._kernels.run_steps is not None

    def descend(
        self,
        state: State,
        facts: Facts,
        batches: Batches,
        noise: Array,
        *,
        max_norm: float,
        grid: float,
    ) -> None:
        """Make steps of `SGD`, each with the noise of its release, in place.

        Parameters
        ----------
        state, facts : tuple
            Of `SGD.arrays`.
        batches : Batches
            The records of each step.
        noise : ndarray of shape (n_steps, size)
            Noise of each release in units of the grid, whole numbers. Overwritten.
        max_norm, grid : float
            As for `clipped_sum`.
        """
        if self._kernels.run_steps is None:
            raise NotImplementedError("No compiled code makes steps on these records.")
        limit = self._limit(max_norm, grid)
        self._kernels.run_steps(self._records, state, facts, *batches, noise, limit, float(grid))

    def _checked(self, values: Array) -> Array:
        values = np.ascontiguousarray(values, dtype=np.float64)
        if values.shape != (self.size,):
            raise ValueError(f"values must have shape ({self.size},), got {values.shape}.")
        return values

    def _limit(self, max_norm: float, grid: float) -> float:
        """The norm to clip to in floating point, so that the exact norm is at most `max_norm`."""
        if not SMALLEST_NORM <= max_norm <= LARGEST_NORM or math.frexp(grid)[0] != 0.5:
            raise ValueError(
                f"max_norm must be between 2^-60 and 2^60 and grid a power of two, "
                f"got {max_norm!r} and {grid!r}."
            )
        return float(max_norm) * (1 - self._rounding)

    def _sparse(self, found: tuple[Integers, Array]) -> SparseSum:
        return SparseSum(*found, self.size)

    def _total(
        self,
        of: Callable[[Integers], Total],
        join: Callable[[Total, Total], Total],
        rows: Integers,
        extra: int = 0,
    ) -> Total:
        """Return ``of(rows)``, of halves of the rows where it would need too much memory."""
        rows = np.ascontiguousarray(rows, dtype=np.int64)
        if len(rows) < 2 or self._n_terms(rows, extra) <= LARGEST_BATCH:
            return of(rows)
        half = len(rows) // 2
        first, second = (self._total(of, join, part, extra) for part in (rows[:half], rows[half:]))
        return join(first, second)

    def _n_terms(self, rows: Integers, extra: int) -> int:
        most: int = len(rows) * (self._widest * self._n_outputs + extra)
        if most <= LARGEST_BATCH or not self.sparse:
            return most
        indptr = self._records[0][2]
        stored = int((indptr[1:][rows] - indptr[:-1][rows]).sum())
        terms: int = stored * self._n_outputs + len(rows) * extra
        return terms


def _route(loss: Loss) -> ModuleType:
    """Return the compiled kernels, where numba is installed and they know the loss."""
    try:
        from skdp.training import glm_kernels
    except (ImportError, RuntimeError):  # an installation that does not fit, or has no cache
        return glm_numpy
    return glm_kernels if glm_kernels.has_code(loss) else glm_numpy


def _joined(first: SparseSum, second: SparseSum) -> SparseSum:
    """Sum of two sums."""
    indices = np.concatenate([first.indices, second.indices])
    values = np.concatenate([first.values, second.values])
    order = np.argsort(indices, kind="stable")
    distinct, start = np.unique(indices[order], return_index=True)
    sums = np.add.reduceat(values[order], start) if len(start) else values
    kept = sums != 0
    return SparseSum(distinct[kept], sums[kept], first.size)


def _dense_array(X: npt.NDArray[Any]) -> tuple[npt.NDArray[Any]]:
    if X.ndim != 2 or X.dtype not in (np.float64, np.float32):
        raise ValueError(f"X must have two dimensions of floats, got {X.ndim} of {X.dtype}.")
    return (np.ascontiguousarray(X),)


def _csr_arrays(X: Any) -> tuple[npt.NDArray[Any], ...]:
    """Return the three arrays, checked: compiled code relies on every index."""
    if X.format != "csr" or X.dtype not in (np.float64, np.float32):
        raise ValueError(f"X must be a CSR matrix of floats, got {X.format} of {X.dtype}.")
    X = unflagged(X)
    data, indices, indptr = X.data, X.indices, X.indptr
    n_records, n_features = X.shape
    if (
        len(indptr) != n_records + 1
        or not 0 == indptr[0] <= indptr[-1] <= min(len(data), len(indices))
        or (np.diff(indptr) < 0).any()
        or not 0 <= indices.min(initial=0) <= indices.max(initial=0) < max(n_features, 1)
    ):
        raise ValueError("X is not a CSR matrix: its indices or indptr point outside.")
    if not X.has_canonical_format:
        raise ValueError("X must have sorted indices without duplicates: call sum_duplicates().")
    if int(n_features).bit_length() + max(len(indices), LARGEST_BATCH).bit_length() > 63:
        raise ValueError(f"X has too many columns, {n_features}, for {len(indices)} stored values.")
    return data, indices, indptr


def _checked_targets(targets: npt.ArrayLike, n_records: int, loss: Loss) -> Array:
    checked = np.ascontiguousarray(targets, dtype=np.float64)
    if checked.shape != (n_records,):
        raise ValueError(f"targets must have shape ({n_records},), got {checked.shape}.")
    if loss.n_outputs > 1 and not np.isin(checked, np.arange(loss.n_outputs)).all():
        raise ValueError(f"targets must be class indices from 0 to {loss.n_outputs - 1}.")
    return checked

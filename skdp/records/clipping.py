"""Clipping rows to a norm: what turns a declared bound into a fact."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from skdp._validation import is_real

Array = npt.NDArray[np.float64]

#: Values treated at a time.
ELEMENTS = 2**18
SMALLEST_NORM, LARGEST_NORM = 1e-30, 1e30
UNIT_ROUNDOFF = 2.0**-53
#: Room for rounding the clipped values to their type, sqrt(5) roundings and a spare.
MARGIN = {np.dtype(np.float64): 2.0**-40, np.dtype(np.float32): 2.0**-20}


def clip_rows(X: Any, row_norm: float, *, share_index: bool = False) -> Any:
    """Return a copy of X whose rows have Euclidean norm at most `row_norm`.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features), float64 or float32
        Finite values of any size.
    row_norm : float
        The bound, between 1e-30 and 1e30.

    share_index : bool, default=False
        Whether a CSR result may share its index arrays with X, for whoever changes neither.

    Returns
    -------
    ndarray (C order) or CSR matrix of the type of X
        Of the dtype of X. CSR stays CSR; its duplicate entries are summed first.

    Raises
    ------
    ValueError
        When `row_norm` is out of range.

    Notes
    -----
    *Guarantees.* In exact arithmetic every row of the result has norm <= row_norm: a row counts
    as inside only if its computed norm stays below the bound by the rounding error of the
    computation, (n_features + 8) u, and is otherwise scaled to a norm short of the bound by that
    error and by the rounding of the values, 2^-40 (float32: 2^-20). Rows inside keep their
    bits. A row of the result is a function of that row alone, bit for bit. Rows are divided
    by their largest absolute value first, so that nothing overflows.

    Examples
    --------
    >>> import numpy as np
    >>> clip_rows(np.array([[3e300, 4e300], [0.3, 0.4]]), 1.0)
    array([[0.6, 0.8],
           [0.3, 0.4]])
    """
    if not is_real(row_norm) or not SMALLEST_NORM <= row_norm <= LARGEST_NORM:
        raise ValueError(
            f"row_norm must be between {SMALLEST_NORM:g} and {LARGEST_NORM:g}, got {row_norm!r}."
        )
    bound = float(row_norm)  # in numpy's float32 it would be multiplied in float32
    with np.errstate(all="ignore"):
        return _clip_sparse(X, bound, share_index) if sparse.issparse(X) else _clip_dense(X, bound)


def _clip_dense(X: npt.NDArray[Any], row_norm: float) -> npt.NDArray[Any]:
    clipped = np.array(X, order="C")
    n_samples, n_features = clipped.shape
    size = max(1, ELEMENTS // n_features)
    for start in range(0, n_samples, size):
        rows = clipped[start : start + size]
        largest = np.abs(rows).max(axis=1).astype(np.float64)
        shrunk = rows / np.where(largest > 0, largest, 1.0)[:, None]
        norms = np.sqrt(np.square(shrunk).sum(axis=1))
        scale, outside = _scales(largest, norms, row_norm, n_features, X.dtype)
        rows[outside] = shrunk[outside] * scale[outside, None]
    return clipped


def _clip_sparse(X: Any, row_norm: float, share_index: bool) -> Any:
    X = unflagged(X)
    if share_index and X.has_canonical_format:
        clipped = type(X)((X.data.copy(), X.indices, X.indptr), shape=X.shape)
    else:
        clipped = X.copy()
        _sum_duplicates(clipped)
    # Duplicates of opposite sign cannot give NaN; of equal sign they can give infinity.
    np.nan_to_num(clipped.data, copy=False)
    lengths = np.diff(clipped.indptr)
    filled = np.flatnonzero(lengths)
    for chosen in _runs_of_rows(lengths[filled], ELEMENTS):
        rows = filled[chosen]
        start, stop = clipped.indptr[rows[0]], clipped.indptr[rows[-1] + 1]
        values, first = clipped.data[start:stop], clipped.indptr[rows] - start
        largest = np.maximum.reduceat(np.abs(values), first).astype(np.float64)
        divisor = np.where(largest > 0, largest, 1.0)
        shrunk = values / np.repeat(divisor, lengths[rows])
        norms = np.sqrt(np.add.reduceat(np.square(shrunk), first))
        scale, outside = _scales(largest, norms, row_norm, X.shape[1], X.dtype)
        moved = np.repeat(outside, lengths[rows])
        values[moved] = (shrunk * np.repeat(scale, lengths[rows]))[moved]
    return clipped


def unflagged(X: Any) -> Any:
    """Return a CSR matrix on the same arrays of which scipy believes nothing yet.

    It remembers that indices are sorted and distinct, also after they were changed in place; and
    columns that occur twice in a row would be left out of its norm.
    """
    return type(X)((X.data, X.indices, X.indptr), shape=X.shape)


def canonical_rows(X: Any) -> Any:
    """Return X with contiguous rows: C order, or CSR without duplicate or zero entries.

    X itself where it is so already, otherwise a copy; each row of it is a function of that row
    alone, bit for bit. Finite entries stay finite: sums of duplicates saturate.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> twice = sparse.csr_matrix((np.ones(2), np.zeros(2, dtype=int), [0, 2]), shape=(1, 3))
    >>> canonical_rows(twice).nnz
    1
    """
    if not sparse.issparse(X):
        return np.ascontiguousarray(X)
    if unflagged(X).has_canonical_format and X.data.all():
        return X
    canonical = unflagged(X).copy()
    with np.errstate(all="ignore"):
        _sum_duplicates(canonical)
    largest = np.finfo(canonical.data.dtype).max
    np.clip(canonical.data, -largest, largest, out=canonical.data)  # finite sums may overflow
    canonical.eliminate_zeros()
    return canonical


def _sum_duplicates(X: Any) -> None:
    """Sum the duplicate entries of each row, in an order that only this row decides.

    Left to itself, scipy sorts all rows if any is unsorted, and equal indices change places then:
    one record would decide in which order the entries of another are summed, and 1e17 + 1 - 1e17
    is 0 in one order and 1 in another.
    """
    if not X.has_canonical_format:
        X.has_sorted_indices = False
        X.sort_indices()
        X.sum_duplicates()


def _runs_of_rows(lengths: npt.NDArray[Any], size: int) -> list[slice]:
    """Cut rows into runs of about `size` stored values each, at least one row a run."""
    starts = np.flatnonzero(np.diff(np.cumsum(lengths) // size, prepend=-1))
    ends = np.append(starts[1:], len(lengths))
    return [slice(start, end) for start, end in zip(starts, ends, strict=len(lengths) > 0)]


def _scales(
    largest: Array, norms: Array, row_norm: float, n_features: int, dtype: Any
) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Return the factor for each row divided by its largest value, and which rows need it.

    The norm of a row is ``largest * norms`` (which may overflow, unlike ``row_norm / largest``
    against ``norms``).
    """
    rounding = (n_features + 8) * UNIT_ROUNDOFF
    outside = (largest > 0) & (norms * (1 + rounding) > row_norm / largest)
    target = row_norm * (1 - MARGIN[np.dtype(dtype)] - rounding)
    return target / np.where(norms > 0, norms, 1.0), outside

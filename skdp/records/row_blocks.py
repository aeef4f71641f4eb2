"""Rows less a centre and clipped, some at a time, and what rounding does to their sum."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from skdp.records.clipping import clip_rows

__all__ = ["BLOCK_ROWS", "UNIT_ROUNDOFF", "centred_blocks", "rounding_share"]

Array = npt.NDArray[np.float64]

#: Rows treated at a time, of which one float64 copy exists.
BLOCK_ROWS = 1024
UNIT_ROUNDOFF = 2.0**-53


def centred_blocks(X: Any, centre: Array | None, row_norm: float) -> Iterator[Array]:
    """Yield ``x_i - centre``, clipped to `row_norm`, as dense float64 blocks of rows.

    Each row is a function of that row of X alone, bit for bit.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features), float64 or float32
        Finite rows; neither copied nor changed.
    centre : ndarray of shape (n_features,) or None
        None subtracts nothing, and is all that CSR rows can have.
    row_norm : float
        The bound.

    Examples
    --------
    >>> rows = np.array([[3.0, 4.0], [1.0, 0.0]])
    >>> next(centred_blocks(rows, np.array([1.0, 0.0]), 100.0))
    array([[2., 4.],
           [0., 0.]])
    """
    for start in range(0, X.shape[0], BLOCK_ROWS):
        rows = X[start : start + BLOCK_ROWS]
        if centre is not None:
            # A difference may overflow, and infinity has no direction to be clipped along.
            rows = np.nan_to_num(np.subtract(rows, centre, dtype=np.float64), copy=False)
        clipped = clip_rows(rows, row_norm)
        dense = clipped.toarray() if sparse.issparse(clipped) else clipped
        yield np.asarray(dense, dtype=np.float64)


def rounding_share(n_samples: int) -> float:
    """gamma_m for a sum over blocks of rows: m is the number of roundings that a term goes through.

    Within a block, from block to block, and three more: a product, sqrt(2) and its product.
    """
    share = (min(n_samples, BLOCK_ROWS) + -(-n_samples // BLOCK_ROWS) + 3) * UNIT_ROUNDOFF
    return share / (1 - share)

"""Proximal SGD on dense or CSR rows with NumPy and SciPy alone, a pass at a time.

The arguments are those of `stable_kernels`; `records` holds the loss itself and the matrix whole.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from skdp.objectives.penalties import soft_threshold

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def run_pass(records: Any, state: Any, plan: Any, rows: Integers, offsets: Integers) -> None:
    """Make the steps ``rows[offsets[s]:offsets[s + 1]]``, in place."""
    n_features, n_outputs = records[4]
    w = state[0].reshape(-1, n_outputs)
    average = state[1].reshape(-1, n_outputs)
    sizes, averaging, batch_size, l1, l2, radius = plan
    for s, size in enumerate(sizes):
        batch = rows[offsets[s] : offsets[s + 1]]
        add_gradients(records, w, batch, -size / batch_size)
        if l1 > 0:
            w[:n_features] = soft_threshold(w[:n_features], np.asarray(size * l1))
        w /= 1 + size * l2
        norm = float(np.linalg.norm(w)) if radius < math.inf else 0.0
        if norm > radius:
            w *= radius / norm
        if average.size > 0:
            average += averaging[s] * w


def add_gradients(records: Any, w: Array, batch: Integers, factor: float) -> None:
    """Add `factor` times the sum of the gradients of a batch, all at the same w."""
    X, targets, weights, loss, (n_features, n_outputs), constant = records
    rows = X[batch].astype(np.float64, copy=False)
    scores = np.asarray(rows @ w[:n_features])
    if constant != 0:
        scores = scores + constant * w[n_features]
    if n_outputs == 1:
        slopes = loss.derivative(scores[:, 0], targets[batch])[:, None]
    else:
        slopes = loss.derivative(scores, targets[batch])
    slopes = slopes * factor
    if weights.size > 0:
        slopes *= weights[batch][:, None]
    transposed = rows.T @ slopes
    w[:n_features] += transposed.toarray() if sparse.issparse(transposed) else transposed
    if constant != 0:
        w[n_features] += constant * slopes.sum(axis=0)

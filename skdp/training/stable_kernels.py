"""Proximal SGD on dense rows, compiled, a pass at a time. Imported lazily: it needs numba.

Arguments, also of the kernels for sparse rows:

- ``records = (matrix, targets, weights, loss, (n_features, n_outputs), constant)``; `weights` is
  empty for ones, `constant` the value of the constant column, 0 without one;
- ``state``: the parameters ``w[feature * n_outputs + output]``, those of the constant column last,
  and their running average, empty where the last iterate is asked for;
- ``plan = (sizes, averaging, batch_size, l1, l2, radius)`` of the steps of this pass.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from skdp.training.compiled_kernels import compiled, inner
from skdp.training.dense_kernels import dot
from skdp.training.record_kernels import check_rows
from skdp.training.row_prefetch_kernels import read_ahead
from skdp.training.stable_loss_kernels import weighted_slopes

__all__ = ["average_into", "project", "run_pass", "shrunk", "weight_of"]

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@compiled
def run_pass(records: Any, state: Any, plan: Any, rows: Integers, offsets: Integers) -> None:
    """Make the steps ``rows[offsets[s]:offsets[s + 1]]``, in place."""
    matrix, targets, weights, loss, layout, constant = records
    X, n_outputs = matrix[0], layout[1]
    check_rows(rows, X.shape[0])
    w, average = state
    sizes, averaging, batch_size, l1, l2, radius = plan
    slopes = np.empty((batch_size, n_outputs))
    for s in range(sizes.size):
        start, stop = offsets[s], offsets[s + 1]
        for t in range(start, stop):
            read_ahead(X, rows, t)
            i = rows[t]
            write_scores(X[i], w, n_outputs, constant, slopes[t - start])
            weight = -sizes[s] / batch_size * weight_of(weights, i)
            weighted_slopes(loss, slopes[t - start], targets[i], weight)
        threshold, factor = sizes[s] * l1, 1 / (1 + sizes[s] * l2)
        if stop - start == 1 and n_outputs == 1:
            add_and_shrink(w, X[rows[start]], slopes[0, 0], constant, threshold, factor)
        else:
            for t in range(start, stop):
                add(w, X[rows[t]], slopes[t - start], constant)
            shrink(w, layout[0] * n_outputs, threshold, factor)
        project(w, radius)
        if average.size > 0 and averaging[s] > 0:
            average_into(average, w, averaging[s])


@inner
def weight_of(weights: Array, i: int) -> float:
    """Weight of a record."""
    return weights[i] if weights.size > 0 else 1.0


@inner
def write_scores(x: Any, w: Array, n_outputs: int, constant: float, scores: Array) -> None:
    """Scores of a record, one for each output."""
    if n_outputs == 1:
        scores[0] = dot(x, w)
    else:
        for k in range(n_outputs):
            scores[k] = 0.0
        for j in range(x.size):
            for k in range(n_outputs):
                scores[k] += x[j] * w[j * n_outputs + k]
    if constant != 0:
        for k in range(n_outputs):
            scores[k] += constant * w[x.size * n_outputs + k]


@inner
def add_and_shrink(
    w: Array, x: Any, slope: float, constant: float, threshold: float, factor: float
) -> None:
    """``w <- prox(w + slope x)`` for one record and one output, in one go."""
    if threshold > 0:
        for j in range(x.size):
            w[j] = shrunk(w[j] + slope * x[j], threshold) * factor
    else:
        for j in range(x.size):
            w[j] = (w[j] + slope * x[j]) * factor
    if constant != 0:
        w[x.size] = (w[x.size] + slope * constant) * factor


@inner
def add(w: Array, x: Any, slopes: Array, constant: float) -> None:
    """Add ``slopes x^T``."""
    n_outputs = slopes.size
    if n_outputs == 1:
        for j in range(x.size):
            w[j] += slopes[0] * x[j]
    else:
        for j in range(x.size):
            for k in range(n_outputs):
                w[j * n_outputs + k] += slopes[k] * x[j]
    if constant != 0:
        for k in range(n_outputs):
            w[x.size * n_outputs + k] += slopes[k] * constant


@inner
def shrink(w: Array, n_penalised: int, threshold: float, factor: float) -> None:
    """Soft threshold of all but the constant column, then the factor of the ridge."""
    if threshold > 0:
        for j in range(n_penalised):
            w[j] = shrunk(w[j], threshold)
    for j in range(w.size):
        w[j] *= factor


@inner
def shrunk(value: float, threshold: float) -> float:
    """``sign(value) max(abs(value) - threshold, 0)``."""
    left = abs(value) - threshold
    return math.copysign(left if left > 0 else 0.0, value)


@inner
def project(w: Array, radius: float) -> None:
    """Pull w back to the ball."""
    if radius == math.inf:
        return
    squares = 0.0
    for j in range(w.size):
        squares += w[j] * w[j]
    norm = math.sqrt(squares)
    if norm > radius:
        for j in range(w.size):
            w[j] *= radius / norm


@inner
def average_into(average: Array, w: Array, weight: float) -> None:
    """Add ``weight w``."""
    for j in range(w.size):
        average[j] += weight * w[j]

"""Clipped gradient sums over dense records, compiled: the functions of `Kernels`."""

from typing import Any

import numpy as np
import numpy.typing as npt

from skdp.training.compiled_kernels import compiled, inner
from skdp.training.glm_contract import Records
from skdp.training.record_kernels import (
    check_rows,
    clip_factor,
    clip_slopes,
    finish_scores,
    largest_of,
    norm_bound,
    scale_by,
    touch,
    write_slopes,
)
from skdp.training.row_prefetch_kernels import read_ahead
from skdp.training.sparse_kernels import clear, counting, nonzero, zeros

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@compiled
def norms(matrix: Any, intercept: int) -> Array:
    """Norm of each row, the constant included, in `NORM_UNIT`."""
    X = matrix[0]
    out = np.empty(X.shape[0])
    for i in range(X.shape[0]):
        out[i] = norm_bound(X[i], intercept)
    return out


@compiled
def clipped_sum(
    records: Records, values: Array, scale: float, rows: Integers, limit: float, grid: float
) -> tuple[Array]:
    """Sum of the clipped gradients of `rows`."""
    check_rows(rows, records[0][0].shape[0])
    total = zeros(values.size)
    add_clipped(records, values, scale, rows, limit, grid, total, np.empty(records[4][1]))
    scale_by(total, grid)
    return (total,)


@inner
def add_clipped(
    records: Records,
    values: Array,
    scale: float,
    rows: Integers,
    limit: float,
    grid: float,
    total: Array,
    slopes: Array,
) -> None:
    """Add the clipped gradients of `rows`, in grid units, to the total; `slopes` is work space."""
    matrix, targets, bounds, loss, layout = records
    X = matrix[0]
    for t in range(rows.size):
        read_ahead(X, rows, t)
        i = rows[t]
        write_scores(X[i], layout, values, scale, slopes)
        length = write_slopes(loss, slopes, targets[i])
        if length > 0:
            clip_slopes(slopes, length, bounds[i], limit, grid)
            add(total, X[i], slopes)


@inner
def write_scores(x: Any, layout: Any, values: Array, scale: float, scores: Array) -> None:
    """Scores of a record, one for each output."""
    n_outputs = layout[1]
    if n_outputs == 1:
        scores[0] = dot(x, values)
    else:
        clear(scores)
        for j in range(x.size):
            for k in range(n_outputs):
                scores[k] += x[j] * values[j * n_outputs + k]
    finish_scores(layout, values, scale, scores)


@inner
def dot(x: Any, w: Array) -> float:
    """``x w`` as eight partial sums: additions that need not wait for each other."""
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    whole = x.size - x.size % 8
    for j in range(0, whole, 8):
        s0 += x[j] * w[j]
        s1 += x[j + 1] * w[j + 1]
        s2 += x[j + 2] * w[j + 2]
        s3 += x[j + 3] * w[j + 3]
        s4 += x[j + 4] * w[j + 4]
        s5 += x[j + 5] * w[j + 5]
        s6 += x[j + 6] * w[j + 6]
        s7 += x[j + 7] * w[j + 7]
    for j in range(whole, x.size):
        s0 += x[j] * w[j]
    return ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))


@inner
def add(total: Array, x: Any, slopes: Array) -> None:
    """Add a record's contribution to the total, in grid units: integers, so it is exact."""
    if slopes.size == 1:
        slope = slopes[0]
        for j in range(x.size):
            total[j] += np.trunc(x[j] * slope)
    else:
        for j in range(x.size):
            for k in range(slopes.size):
                total[j * slopes.size + k] += np.trunc(x[j] * slopes[k])
    constant = x.size * slopes.size
    for coordinate in range(constant, total.size):
        total[coordinate] += np.trunc(slopes[coordinate - constant])


@compiled
def contribution_map(
    records: Records, rows: Integers, limit: float, grid: float
) -> tuple[Integers, Array]:
    """Sum over `rows` of the clipped 0/1 vectors of the coordinates that they touch."""
    matrix, _, _, _, layout = records
    X = matrix[0]
    check_rows(rows, X.shape[0])
    n_features, n_outputs, intercept = layout
    total = zeros((n_features + intercept) * n_outputs)
    for i in rows:
        entry = touch(X[i], layout, limit, grid)
        for j in range(n_features + intercept):
            if j == n_features or X[i, j] != 0:
                for k in range(n_outputs):
                    total[j * n_outputs + k] += entry
    return nonzero(counting(n_features + intercept), total, n_outputs, grid)


@compiled
def restricted_sum(
    records: Records,
    values: Array,
    scale: float,
    rows: Integers,
    selected: Integers,
    limit: float,
    grid: float,
) -> Array:
    """Sum of gradients restricted to the `selected` coordinates, then clipped."""
    matrix, targets, _, loss, layout = records
    X = matrix[0]
    check_rows(rows, X.shape[0])
    n_features, n_outputs, _ = layout
    total, part = zeros(selected.size), np.empty(selected.size)
    slopes = np.empty(n_outputs)
    for i in rows:
        write_scores(X[i], layout, values, scale, slopes)
        if write_slopes(loss, slopes, targets[i]) > 0:
            magnitude = largest_of(slopes)
            for c in range(selected.size):
                j, k = divmod(selected[c], n_outputs)
                x = 1.0 if j == n_features else np.float64(X[i, j])
                part[c] = slopes[k] / magnitude * x
            factor = clip_factor(part, magnitude, limit, grid)
            for c in range(selected.size):
                total[c] += np.trunc(part[c] * factor)
    scale_by(total, grid)
    return total

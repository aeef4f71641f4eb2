"""Clipped gradient sums over CSR records, compiled: the functions of `Kernels`.

The cost depends on the non-zeros of the batch; of the parameters, only those are read that the
batch touches.
"""

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
from skdp.training.row_prefetch_kernels import read_ahead_sparse
from skdp.training.sparse_kernels import (
    Keys,
    bit_length,
    clear,
    hash_table,
    position_of,
    summed,
    zeros,
)

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@compiled
def norms(matrix: Any, intercept: int) -> Array:
    """Norm of each row, the constant included, in `NORM_UNIT`."""
    data, _, indptr = matrix
    out = np.empty(indptr.size - 1)
    for i in range(out.size):
        out[i] = norm_bound(data[indptr[i] : indptr[i + 1]], intercept)
    return out


@inner
def row_of(matrix: Any, i: int) -> tuple[Any, Any]:
    """Values and columns of a row."""
    data, indices, indptr = matrix
    start, stop = indptr[i], indptr[i + 1]
    return data[start:stop], indices[start:stop]


@inner
def empty_terms(matrix: Any, rows: Integers, n_outputs: int) -> tuple[Keys, int, Array]:
    """Room for the key and the terms of each stored value of `rows`; number of bits of a place."""
    indptr = matrix[2]
    check_rows(rows, indptr.size - 1)
    stored = 0
    for i in rows:
        stored += indptr[i + 1] - indptr[i]
    return np.empty(stored, np.uint64), bit_length(stored), np.empty((stored, n_outputs))


@inner
def key_of(column: Any, place: int, shift: int) -> Any:
    """What `summed` knows a row of terms by."""
    return (np.uint64(column) << np.uint64(shift)) | np.uint64(place)


@compiled
def clipped_sum(
    records: Records, values: Array, scale: float, rows: Integers, limit: float, grid: float
) -> tuple[Integers, Array]:
    """Sum of the clipped gradients of `rows`: coordinates, values."""
    matrix, targets, bounds, loss, layout = records
    n_features, n_outputs, intercept = layout
    keys, shift, terms = empty_terms(matrix, rows, n_outputs)
    constant, slopes = zeros(intercept * n_outputs), np.empty(n_outputs)
    n = 0
    for t in range(rows.size):
        read_ahead_sparse(matrix, values, n_outputs, rows, t)
        i = rows[t]
        x, features = row_of(matrix, i)
        write_scores(x, features, layout, values, scale, slopes)
        length = write_slopes(loss, slopes, targets[i])
        if length > 0:
            clip_slopes(slopes, length, bounds[i], limit, grid)
            for entry in range(x.size):
                keys[n] = key_of(features[entry], n, shift)
                for k in range(n_outputs):
                    terms[n, k] = np.trunc(x[entry] * slopes[k])
                n += 1
            for k in range(constant.size):
                constant[k] += np.trunc(slopes[k])
    return summed(keys[:n], shift, terms, constant, n_features, grid)


@inner
def write_scores(
    x: Any, features: Any, layout: Any, values: Array, scale: float, scores: Array
) -> None:
    """Scores of a record, one for each output."""
    n_outputs = layout[1]
    if n_outputs == 1:
        scores[0] = sparse_dot(x, features, values)
    else:
        clear(scores)
        for entry in range(x.size):
            first = features[entry] * n_outputs
            for k in range(n_outputs):
                scores[k] += x[entry] * values[first + k]
    finish_scores(layout, values, scale, scores)


@inner
def sparse_dot(x: Any, features: Any, w: Array) -> float:
    """``x w`` as four partial sums: additions that need not wait for each other."""
    s0 = s1 = s2 = s3 = 0.0
    whole = x.size - x.size % 4
    for e in range(0, whole, 4):
        s0 += x[e] * w[features[e]]
        s1 += x[e + 1] * w[features[e + 1]]
        s2 += x[e + 2] * w[features[e + 2]]
        s3 += x[e + 3] * w[features[e + 3]]
    for e in range(whole, x.size):
        s0 += x[e] * w[features[e]]
    return (s0 + s2) + (s1 + s3)


@compiled
def contribution_map(
    records: Records, rows: Integers, limit: float, grid: float
) -> tuple[Integers, Array]:
    """Sum over `rows` of the clipped 0/1 vectors of the coordinates that they touch."""
    matrix, _, _, _, layout = records
    n_features, n_outputs, intercept = layout
    keys, shift, terms = empty_terms(matrix, rows, n_outputs)
    constant = zeros(intercept * n_outputs)
    n = 0
    for i in rows:
        x, features = row_of(matrix, i)
        entry = touch(x, layout, limit, grid)
        for k in range(constant.size):
            constant[k] += entry
        for position in range(x.size):
            if x[position] != 0:
                keys[n] = key_of(features[position], n, shift)
                for k in range(n_outputs):
                    terms[n, k] = entry
                n += 1
    return summed(keys[:n], shift, terms, constant, n_features, grid)


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
    n_features, n_outputs, intercept = layout
    check_rows(rows, targets.size)
    chosen = grouped(selected, n_outputs)
    total, slopes = zeros(selected.size), np.empty(n_outputs)
    part, coordinates = np.empty(selected.size), np.empty(selected.size, np.int64)
    constant, last = np.array([1.0]), np.array([n_features])
    for i in rows:
        x, features = row_of(matrix, i)
        write_scores(x, features, layout, values, scale, slopes)
        if write_slopes(loss, slopes, targets[i]) > 0:
            magnitude = largest_of(slopes)
            n = write_part(x, features, chosen, part, coordinates, 0)
            if intercept:
                n = write_part(constant, last, chosen, part, coordinates, n)
            for position in range(n):
                output = selected[coordinates[position]] % n_outputs
                part[position] *= slopes[output] / magnitude
            factor = clip_factor(part[:n], magnitude, limit, grid)
            for position in range(n):
                total[coordinates[position]] += np.trunc(part[position] * factor)
    scale_by(total, grid)
    return total


@inner
def grouped(selected: Integers, n_outputs: int) -> tuple[Integers, Integers, Integers]:
    """Hash table of the selected features, the features, and where the run of each starts."""
    features, starts = np.empty(selected.size, np.int64), np.empty(selected.size + 1, np.int64)
    n = 0
    for coordinate in range(selected.size):
        feature = selected[coordinate] // n_outputs
        if n == 0 or feature != features[n - 1]:
            features[n], starts[n] = feature, coordinate
            n += 1
    starts[n] = selected.size
    return hash_table(features[:n]), features, starts


@inner
def write_part(
    x: Any, features: Any, chosen: Any, part: Array, coordinates: Integers, n: int
) -> int:
    """Append the values of a row at the chosen coordinates; return the new length."""
    table, chosen_features, starts = chosen
    for entry in range(x.size):
        position = position_of(table, chosen_features, features[entry])
        if position >= 0:
            for coordinate in range(starts[position], starts[position + 1]):
                part[n] = x[entry]
                coordinates[n] = coordinate
                n += 1
    return n

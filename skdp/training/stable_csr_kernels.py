"""Proximal SGD on CSR rows, compiled, a pass at a time. Imported lazily: it needs numba.

A step costs what the non-zeros of its batch cost. The parameters are ``scale values``, so the ridge
is one multiplication; and since soft thresholds add up, ``soft(soft(v, a), b) = soft(v, a + b)``, a
feature catches up with all thresholds since it was last read in one (Duchi and Singer 2009, section
5; Langford, Li and Zhang 2009). Its share of the average catches up likewise. Scale, sum of
thresholds and sum of averaging weights are the same in every run of the same plan.

Averages of thresholded parameters, and projections, read everything in every step.

Arguments as in `stable_kernels`, and more ``state``: for each feature (the constant column last)
the sum of thresholds and that of averaging weights when it was last read, empty where there are
neither thresholds nor averages, and ``scalars = [scale, sum of thresholds, sum of weights]``.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from skdp.training.compiled_kernels import compiled, inner
from skdp.training.csr_kernels import row_of, sparse_dot
from skdp.training.record_kernels import check_rows
from skdp.training.row_prefetch_kernels import read_ahead_sparse
from skdp.training.stable_kernels import average_into, project, shrunk, weight_of
from skdp.training.stable_loss_kernels import weighted_slopes

__all__ = ["SMALLEST_SCALE", "run_pass", "settle"]

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

#: Below, values are multiplied by the scale: sums of averaging weights stay below its reciprocal.
SMALLEST_SCALE = 2.0**-10


@compiled
def run_pass(records: Any, state: Any, plan: Any, rows: Integers, offsets: Integers) -> None:
    """Make the steps ``rows[offsets[s]:offsets[s + 1]]``, in place."""
    matrix, targets, weights, loss, layout, constant = records
    n_features, n_outputs = layout
    check_rows(rows, targets.size)
    values, average, scalars = state[0], state[1], state[4]
    sizes, averaging, batch_size, l1, l2, radius = plan
    eager = radius < math.inf or (l1 > 0 and average.size > 0)
    lagging = (l1 > 0 or average.size > 0) and not eager
    slopes = np.empty((batch_size, n_outputs))
    for s in range(sizes.size):
        start, stop = offsets[s], offsets[s + 1]
        for t in range(start, stop):
            read_ahead_sparse(matrix, values, n_outputs, rows, t)
            i = rows[t]
            x, features = row_of(matrix, i)
            if lagging:
                catch_up(features, n_outputs, state)
            write_scores(x, features, values, n_outputs, scalars[0], slopes[t - start])
            if constant != 0:
                add_constant(state, n_features, constant, slopes[t - start])
            weight = -sizes[s] / batch_size * weight_of(weights, i)
            weighted_slopes(loss, slopes[t - start], targets[i], weight)
        for t in range(start, stop):
            x, features = row_of(matrix, rows[t])
            add(values, x, features, n_features, slopes[t - start], constant, scalars[0])
        scalars[1] += sizes[s] * l1 / scalars[0]
        scalars[0] /= 1 + sizes[s] * l2
        if eager:
            settle(state, n_features, n_outputs)
            project(values, radius)
            if average.size > 0 and averaging[s] > 0:
                average_into(average, values, averaging[s])
        else:
            if scalars[0] < SMALLEST_SCALE:
                settle(state, n_features, n_outputs)
            if average.size > 0:
                scalars[2] += averaging[s] * scalars[0]


@inner
def catch_up(features: Any, n_outputs: int, state: Any) -> None:
    """Apply to features what has added up since they were last read."""
    values, average, thresholds, masses, scalars = state
    threshold, mass = scalars[1], scalars[2]
    if threshold > 0:
        for feature in features:
            missed = threshold - thresholds[feature]
            thresholds[feature] = threshold
            if missed > 0:
                for k in range(feature * n_outputs, (feature + 1) * n_outputs):
                    values[k] = shrunk(values[k], missed)
    if average.size > 0:
        for feature in features:
            missed = mass - masses[feature]
            masses[feature] = mass
            for k in range(feature * n_outputs, (feature + 1) * n_outputs):
                average[k] += values[k] * missed


@inner
def write_scores(
    x: Any, features: Any, values: Array, n_outputs: int, scale: float, scores: Array
) -> None:
    """Scores of a record, the constant column left out, one for each output."""
    if n_outputs == 1:
        scores[0] = scale * sparse_dot(x, features, values)
        return
    for k in range(n_outputs):
        scores[k] = 0.0
    for entry in range(x.size):
        first = features[entry] * n_outputs
        for k in range(n_outputs):
            scores[k] += x[entry] * values[first + k]
    for k in range(n_outputs):
        scores[k] *= scale


@inner
def add_constant(state: Any, n_features: int, constant: float, scores: Array) -> None:
    """Add the share of the constant column, which has no thresholds, to the scores."""
    values, average, _, masses, scalars = state
    n_outputs = scores.size
    for k in range(n_outputs):
        scores[k] += constant * values[n_features * n_outputs + k] * scalars[0]
    if average.size > 0:
        missed = scalars[2] - masses[n_features]
        for place in range(n_features * n_outputs, values.size):
            average[place] += values[place] * missed
        masses[n_features] = scalars[2]


@inner
def add(
    values: Array,
    x: Any,
    features: Any,
    n_features: int,
    slopes: Array,
    constant: float,
    scale: float,
) -> None:
    """Add ``slopes x^T`` to the parameters."""
    n_outputs = slopes.size
    for k in range(n_outputs):
        slope = slopes[k] / scale
        for entry in range(x.size):
            values[features[entry] * n_outputs + k] += slope * x[entry]
        if constant != 0:
            values[n_features * n_outputs + k] += slope * constant


@compiled
def settle(state: Any, n_features: int, n_outputs: int) -> None:
    """Bring every feature up to date and the scale back to 1."""
    values, average, thresholds, masses, scalars = state
    if scalars[1] > 0 or average.size > 0:
        catch_up(np.arange(n_features), n_outputs, state)
    if average.size > 0:
        for place in range(n_features * n_outputs, values.size):
            average[place] += values[place] * (scalars[2] - masses[n_features])
    for place in range(values.size):
        values[place] *= scalars[0]
    thresholds[:] = 0.0
    masses[:] = 0.0
    scalars[0], scalars[1], scalars[2] = 1.0, 0.0, 0.0

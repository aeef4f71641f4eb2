"""One record: norm, slopes and clipping, compiled. Imported lazily: it needs numba.

Sums are taken in the order that is written: a compiler that may not reorder them gives every
record the same bits wherever it stands.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from skdp.training.compiled_kernels import inner
from skdp.training.glm_contract import (
    LARGEST_SLOPE,
    LARGEST_SQUARE,
    NORM_UNIT,
    SHRINK,
    UNIT_ROUNDOFF,
)
from skdp.training.loss_kernels import (
    SOFTMAX,
    LossCode,
    clipped,
    derivative,
    softmax_derivative,
)

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@inner
def norm_bound(x: Any, constant: float) -> float:
    """Upper bound on ``sqrt(constant + sum_j x_j^2)`` in `NORM_UNIT`, for constant 0 or 1."""
    shrink = 1.0
    squares = sum_of_squares(x, shrink) + constant
    if not squares <= LARGEST_SQUARE:
        shrink = SHRINK
        squares = sum_of_squares(x, shrink)
    bound: float = math.sqrt(squares) * (1 + (x.size + 8) * UNIT_ROUNDOFF) * NORM_UNIT / shrink
    return bound


@inner
def sum_of_squares(x: Any, shrink: float) -> float:
    """``sum_j (shrink x_j)^2``."""
    squares = 0.0
    for j in range(x.size):
        value = np.float64(x[j]) * shrink
        squares += value * value
    return squares


@inner
def finish_scores(layout: Any, values: Array, scale: float, scores: Array) -> None:
    """Add the intercept, multiply by the scale."""
    n_features, n_outputs, intercept = layout
    for k in range(n_outputs):
        if intercept:
            scores[k] += values[n_features * n_outputs + k]
        scores[k] *= scale


@inner
def write_slopes(loss: LossCode, scores: Array, target: float) -> float:
    """Replace scores by the slopes of the loss; return their norm, 0 if any is not finite."""
    for k in range(scores.size):
        if not math.isfinite(scores[k]):
            return 0.0
    if loss[0] == SOFTMAX:
        softmax_derivative(scores, target, scores)
    else:
        slope = derivative(loss, scores[0], target)
        scores[0] = clipped(slope, -LARGEST_SLOPE, LARGEST_SLOPE)
    length = length_of(scores)
    return length if math.isfinite(length) else 0.0


@inner
def length_of(vector: Array) -> float:
    """Norm of a vector, which is divided by its largest value first: no square underflows."""
    largest = largest_of(vector)
    if vector.size == 1 or not largest > 0:
        return largest
    squares = 0.0
    for k in range(vector.size):
        ratio = vector[k] / largest
        squares += ratio * ratio
    return largest * math.sqrt(squares)


@inner
def largest_of(vector: Array) -> float:
    """Largest absolute value; NaN if there is one."""
    largest = 0.0
    for k in range(vector.size):
        if not abs(vector[k]) <= largest:
            largest = abs(vector[k])
    return largest


@inner
def clip_slopes(slopes: Array, length: float, norm: float, limit: float, grid: float) -> None:
    """Scale slopes of norm `length` so that ``slopes x^T`` has norm <= limit; in grid units."""
    if length * norm > limit * NORM_UNIT:
        factor = limit * NORM_UNIT / grid / norm
        for k in range(slopes.size):
            slopes[k] = slopes[k] / length * factor
    else:
        for k in range(slopes.size):
            slopes[k] /= grid


@inner
def clip_factor(vector: Array, magnitude: float, limit: float, grid: float) -> float:
    """Factor that makes ``magnitude * vector`` a vector of norm <= limit in grid units."""
    norm = norm_bound(vector, 0.0)
    if magnitude * norm > limit * NORM_UNIT:
        return limit * NORM_UNIT / grid / norm
    return magnitude / grid


@inner
def touch(x: Any, layout: Any, limit: float, grid: float) -> float:
    """The ones of the 0/1 vector of what a record touches, clipped to norm `limit`; in grid units.

    A record without any gets an entry, too; it has no use for it.
    """
    _, n_outputs, n_touched = layout
    for value in x:
        n_touched += value != 0
    share = min(1.0, limit / math.sqrt(max(1, n_touched * n_outputs)))
    entry: float = np.trunc(share / grid)
    return entry


@inner
def scale_by(vector: Array, factor: float) -> None:
    """Multiply in place."""
    for k in range(vector.size):
        vector[k] *= factor


@inner
def check_rows(rows: Integers, n_records: int) -> None:
    """Refuse rows that do not exist: compiled code would read whatever is there."""
    for i in rows:
        if not 0 <= i < n_records:
            raise IndexError("rows must be indices of records.")

"""The route to the gradients of linear models that needs NumPy alone: functions of `Kernels`."""

from functools import partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from skdp.objectives.losses import Loss
from skdp.training.glm_batches import Batch, DenseBatch, SparseBatch
from skdp.training.glm_contract import (
    LARGEST_SLOPE,
    LARGEST_SQUARE,
    NORM_UNIT,
    SHRINK,
    UNIT_ROUNDOFF,
    Array,
    Integers,
    Kernels,
    Records,
)

Flags = npt.NDArray[np.bool_]
Storage = type[DenseBatch] | type[SparseBatch]
#: Values treated at a time where norms are taken.
ELEMENTS = 2**18


def itself(loss: Loss) -> Loss:
    """All that this route needs to know of a loss."""
    return loss


def norms(storage: Storage, matrix: Any, intercept: int) -> Array:
    """Norm of each row, the constant included, in `NORM_UNIT`."""
    n_records = len(matrix[-1]) - (len(matrix) > 1)
    step = max(1, ELEMENTS * n_records // max(1, matrix[0].size))
    starts = range(0, n_records, step)
    batches = (storage(matrix, slice(start, start + step)) for start in starts)
    return np.concatenate([np.zeros(0), *(norm_bounds(b, b.x, intercept) for b in batches)])


def norm_bounds(batch: Batch, x: Array, constant: float) -> Array:
    """Upper bounds on ``sqrt(constant + sum_j x_j^2)`` in `NORM_UNIT`."""
    with np.errstate(all="ignore"):
        squares = batch.sums(np.square(x)) + constant
        large = ~(squares <= LARGEST_SQUARE)
        if large.any():
            squares[large] = batch.sums(np.square(x * SHRINK))[large]
        rounding = (batch.n_terms + 8) * UNIT_ROUNDOFF
        shrink = np.where(large, SHRINK, 1.0)
        return cast(Array, np.sqrt(squares) * (1 + rounding) * NORM_UNIT / shrink)


def batch_of(storage: Storage, records: Records, rows: Integers) -> Batch:
    """Return some rows; refuse those that do not exist, where NumPy would count from the end."""
    matrix, targets, *_ = records
    if len(rows) and not 0 <= rows.min() <= rows.max() < len(targets):
        raise IndexError("rows must be indices of records.")
    return storage(matrix, rows)


def clipped_sum(
    storage: Storage,
    records: Records,
    values: Array,
    scale: float,
    rows: Integers,
    limit: float,
    grid: float,
) -> Any:
    """Sum of the clipped gradients of `rows`."""
    batch, norms_of_rows = batch_of(storage, records, rows), records[2][rows]
    with np.errstate(all="ignore"):
        slopes, lengths, usable = slopes_of(records, batch, values, scale, rows)
        outside = lengths * norms_of_rows > limit * NORM_UNIT
        factors = limit * NORM_UNIT / grid / norms_of_rows
        clipped = slopes / lengths[:, None] * factors[:, None]
        slopes = np.where(outside[:, None], clipped, slopes / grid)
        slopes[~usable] = 0.0
        counted = batch.spread(usable)
        products = [batch.x * batch.spread(slope) for slope in slopes.T]
    terms = [np.where(counted, np.trunc(product), 0.0) for product in products]
    sums = with_constant(batch, records, terms, np.trunc(slopes).sum(axis=0))
    return nonzero(*sums, grid) if storage is SparseBatch else (sums[1].ravel() * grid,)


def slopes_of(
    records: Records, batch: Batch, values: Array, scale: float, rows: Integers
) -> tuple[Array, Array, Flags]:
    """Slopes of the loss (n_rows, n_outputs), their norms, and which are finite and not all 0."""
    _, targets, _, loss, (n_features, n_outputs, intercept) = records
    scores = np.empty((len(rows), n_outputs))
    for k in range(n_outputs):
        weights = values[batch.columns * n_outputs + k]
        scores[:, k] = batch.sums(batch.x * weights)
    if intercept:
        scores += values[n_features * n_outputs :]
    scores *= scale
    usable = np.isfinite(scores).all(axis=1)
    scores[~usable] = 0.0
    slopes = slopes_at(loss, scores, targets[rows])
    lengths = largest = np.abs(slopes).max(axis=1)
    if n_outputs > 1:
        lengths = largest * np.sqrt(np.square(slopes / largest[:, None]).sum(axis=1))
    return slopes, lengths, usable & np.isfinite(lengths) & (lengths > 0)


def slopes_at(loss: Loss, scores: Array, targets: Array) -> Array:
    """Slopes of the loss, shape of `scores`: (n_rows, n_outputs)."""
    if scores.shape[1] > 1:
        return loss.derivative(scores, targets)
    slopes = loss.derivative(scores[:, 0], targets)[:, None]
    return np.clip(slopes, -LARGEST_SLOPE, LARGEST_SLOPE)


def with_constant(
    batch: Batch, records: Records, terms: list[Array], constant: Array
) -> tuple[Integers, Array]:
    """Sums by column, the constant column last."""
    n_features, _, intercept = records[-1]
    columns, sums = batch.column_sums(terms)
    if not intercept:
        return columns, sums
    return np.append(columns, n_features), np.concatenate([sums, constant[None]])


def nonzero(columns: Integers, sums: Array, grid: float) -> tuple[Integers, Array]:
    """Coordinates that are not 0, and their values."""
    n_outputs = sums.shape[1]
    position, output = np.nonzero(sums)
    return columns[position] * n_outputs + output, sums[position, output] * grid


def contribution_map(
    storage: Storage, records: Records, rows: Integers, limit: float, grid: float
) -> tuple[Integers, Array]:
    """Sum over `rows` of the clipped 0/1 vectors of the coordinates that they touch."""
    batch = batch_of(storage, records, rows)
    _, n_outputs, intercept = records[-1]
    touched = batch.x != 0
    n_touched = (batch.sums(touched.astype(np.float64)) + intercept) * n_outputs
    shares = np.minimum(1.0, limit / np.sqrt(np.maximum(n_touched, 1)))
    entries = np.trunc(shares / grid)
    terms = [np.where(touched, batch.spread(entries), 0.0)] * n_outputs
    constant = np.full(n_outputs, entries.sum())
    return nonzero(*with_constant(batch, records, terms, constant), grid)


def restricted_sum(
    storage: Storage,
    records: Records,
    values: Array,
    scale: float,
    rows: Integers,
    selected: Integers,
    limit: float,
    grid: float,
) -> Array:
    """Sum of gradients restricted to the `selected` coordinates, then clipped."""
    batch = batch_of(storage, records, rows)
    n_features, n_outputs, _ = records[-1]
    features, place = np.unique(selected // n_outputs, return_inverse=True)
    inside = features[features < n_features]
    x = np.ones((len(rows), len(features)))
    x[:, : len(inside)] = batch.chosen(inside)
    with np.errstate(all="ignore"):
        slopes, _, usable = slopes_of(records, batch, values, scale, rows)
        magnitudes = np.abs(slopes).max(axis=1)
        directions = slopes / magnitudes[:, None]
        parts = np.take(directions, selected % n_outputs, axis=1)
        parts *= np.take(x, place, axis=1)
        bounds = norm_bounds(DenseBatch((parts,), slice(None)), parts, 0.0)
        outside = magnitudes * bounds > limit * NORM_UNIT
        factors = np.where(outside, limit * NORM_UNIT / grid / bounds, magnitudes / grid)
        terms = np.trunc(parts * factors[:, None])
    return cast(Array, terms[usable].sum(axis=0)) * grid


def _kernels(storage: Storage) -> Kernels:
    return Kernels(
        loss_argument=itself,
        norms=partial(norms, storage),
        clipped_sum=partial(clipped_sum, storage),
        contribution_map=partial(contribution_map, storage),
        restricted_sum=partial(restricted_sum, storage),
    )


DENSE = _kernels(DenseBatch)
SPARSE = _kernels(SparseBatch)

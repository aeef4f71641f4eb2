"""Steps of SGD on dense records with noise on every coordinate, many in one call, compiled.

Imported lazily: it needs numba.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from skdp.training.compiled_kernels import compiled, inner
from skdp.training.dense_kernels import add_clipped
from skdp.training.glm_contract import Records
from skdp.training.optimizers import SMALLEST_SCALE
from skdp.training.record_kernels import check_rows

__all__ = ["run_steps"]

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@compiled
def run_steps(
    records: Records,
    state: Any,
    descent: Any,
    rows: Integers,
    offsets: Integers,
    noise: Array,
    limit: float,
    grid: float,
) -> None:
    """Make the steps ``rows[offsets[s]:offsets[s + 1]]``, in place.

    What `Optimizer.apply` does with a release of `DenseStep`, operation by operation, so that
    both give the same bits for the same noise.

    Parameters
    ----------
    records : tuple
        Dense records.
    state : tuple
        ``(values, correction, scalars)`` of an `SGD`; scalars are its scale and its Gamma.
    descent : tuple
        ``(learning rates of these steps, weights of the iterates, divisor, decay, n_free)``.
    noise : ndarray of shape (n_steps, size)
        Noise of each step in grid units, whole numbers; overwritten by the releases.
    """
    check_rows(rows, records[0][0].shape[0])
    values = state[0]
    slopes = np.empty(records[4][1])
    for s in range(offsets.size - 1):
        batch = rows[offsets[s] : offsets[s + 1]]
        add_clipped(records, values, state[2][0], batch, limit, grid, noise[s], slopes)
        apply(state, descent, s, noise[s], grid)


@inner
def apply(state: Any, descent: Any, s: int, release: Array, grid: float) -> None:
    """Decay, step along the release, weigh the iterate."""
    values, correction, scalars = state
    rates, weights, divisor, strength, n_free = descent
    decay(state, 1 - rates[s] * strength, n_free)
    factor, gamma = -rates[s] / scalars[0], scalars[1]
    for j in range(values.size):
        change = factor * (release[j] * grid / divisor)
        values[j] += change
        correction[j] += gamma * change
    scalars[1] += weights[s] * scalars[0]


@inner
def decay(state: Any, factor: float, n_free: int) -> None:
    """Shrink everything but the last `n_free` parameters."""
    values, correction, scalars = state
    if factor == 1:
        return
    scalars[0] *= factor
    for j in range(values.size - n_free, values.size):
        change = values[j] * (1 / factor - 1)
        values[j] += change
        correction[j] += scalars[1] * change
    if scalars[0] < SMALLEST_SCALE:
        for j in range(values.size):
            correction[j] -= scalars[1] * values[j]
            values[j] *= scalars[0]
        scalars[0], scalars[1] = 1.0, 0.0

"""Derivatives of the losses as compiled scalar functions, for the kernels that loop over records.

Same formulas as ``Loss.derivative``. Imported lazily: it needs numba.
"""

import math

import numpy as np
import numpy.typing as npt

from skdp.objectives.losses import (
    Huber,
    HuberHinge,
    Logistic,
    Loss,
    Multinomial,
    Squared,
    SquaredHinge,
)
from skdp.training.compiled_kernels import compiled

__all__ = [
    "SOFTMAX",
    "LossCode",
    "clipped",
    "compiled",
    "derivative",
    "has_code",
    "loss_code",
    "softmax_derivative",
]

Array = npt.NDArray[np.float64]
#: Which loss, and its parameter (0 if it has none). Hand it to `derivative` as it is.
LossCode = tuple[int, float]

CODED = (Logistic, HuberHinge, SquaredHinge, Huber, Squared, Multinomial)
LOGISTIC, HUBER_HINGE, SQUARED_HINGE, HUBER, SQUARED, SOFTMAX = range(6)


def has_code(loss: Loss) -> bool:
    """Whether `loss_code` knows the loss."""
    return isinstance(loss, CODED)


def loss_code(loss: Loss) -> LossCode:
    """Return what `derivative` needs to know of the loss; `SOFTMAX` for several outputs."""
    match loss:
        case Logistic():
            return LOGISTIC, 0.0
        case HuberHinge():
            return HUBER_HINGE, float(loss.half_width)
        case SquaredHinge():
            return SQUARED_HINGE, 0.0
        case Huber():
            return HUBER, float(loss.threshold)
        case Squared():
            return SQUARED, 0.0
        case Multinomial():
            return SOFTMAX, 0.0
        case _:
            raise TypeError(f"{loss!r} has no compiled derivative.")


@compiled
def derivative(code: LossCode, score: float, target: float) -> float:
    """Derivative of a loss with one output; NaN gives NaN."""
    kind, parameter = code
    if kind == LOGISTIC:
        return -target / (1 + math.exp(target * score))
    if kind == HUBER_HINGE:
        steepness = (1 + parameter - target * score) / (2 * parameter)
        return -target * clipped(steepness, 0.0, 1.0)
    if kind == SQUARED_HINGE:
        return -2 * target * clipped(1 - target * score, 0.0, math.inf)
    if kind == HUBER:
        return clipped(score - target, -parameter, parameter)
    return score - target


@compiled
def clipped(value: float, low: float, high: float) -> float:
    """``min(max(value, low), high)``; NaN stays NaN."""
    if value < low:
        return low
    if value > high:
        return high
    return value


@compiled
def softmax_derivative(scores: Array, target: float, out: Array) -> None:
    """Write softmax(scores) - e_target to `out`; `out` may be `scores`."""
    top = scores[0]
    for k in range(1, scores.size):
        top = max(top, scores[k])
    total = 0.0
    for k in range(scores.size):
        out[k] = math.exp(scores[k] - top)
        total += out[k]
    for k in range(scores.size):
        out[k] /= total
    out[int(target)] -= 1

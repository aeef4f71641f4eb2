"""Slopes of losses, those with a kink included, compiled. Imported lazily: it needs numba."""

from typing import Any

import numpy as np
import numpy.typing as npt

from skdp.objectives.losses import Loss
from skdp.objectives.nonsmooth import Absolute
from skdp.objectives.piecewise_linear import Hinge
from skdp.training.compiled_kernels import inner
from skdp.training.loss_kernels import (
    SOFTMAX,
    LossCode,
    derivative,
    has_code,
    loss_code,
    softmax_derivative,
)

__all__ = ["code_of", "is_coded", "weighted_slopes"]

Array = npt.NDArray[np.float64]
HINGE, ABSOLUTE = 1000, 1001


def is_coded(loss: Loss) -> bool:
    """Whether `code_of` knows the loss."""
    return isinstance(loss, Hinge | Absolute) or has_code(loss)


def code_of(loss: Loss) -> LossCode:
    """Return what `weighted_slopes` needs to know of the loss."""
    match loss:
        case Hinge():
            return HINGE, 0.0
        case Absolute():
            return ABSOLUTE, 0.0
        case _:
            return loss_code(loss)


@inner
def weighted_slopes(loss: LossCode, scores: Array, target: float, weight: Any) -> None:
    """Replace the scores of a record by `weight` times the slopes of the loss."""
    kind = loss[0]
    if kind == SOFTMAX:
        softmax_derivative(scores, target, scores)
        for k in range(scores.size):
            scores[k] *= weight
    elif kind == HINGE:
        scores[0] = -target * weight if target * scores[0] < 1 else 0.0
    elif kind == ABSOLUTE:
        scores[0] = np.sign(scores[0] - target) * weight
    else:
        scores[0] = derivative(loss, scores[0], target) * weight

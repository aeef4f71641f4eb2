"""The likelihood ratio of a released minimiser whose objective was tilted.

The minimiser w of ``n F(w) + <b, w>`` has b = -gradient of n F at w, hence the density of b there
times the determinant of the second derivative of n F. Neglected is what hides the solver's point,
which is far smaller; and where an L1 penalty has its kink, any slope of it is taken. An event may
be any function of what leaves, so neither makes an audit say too much.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from skdp.mechanisms.objective_perturbation import (
    GaussianObjectivePerturbation,
    L2LaplaceObjectivePerturbation,
    ObjectivePerturbation,
)
from skdp.stability.objective_perturbation import RecordsToTilt

__all__ = ["TILTS", "TiltRatio"]

Array = NDArray[np.float64]
#: Beyond so many coefficients determinants take too long, and are left out.
_MOST_COEFFICIENTS = 300


def _halved_square(tilt: Array, scale: float) -> float:
    return float(np.square(tilt).sum()) / (2 * scale**2)


def _length(tilt: Array, scale: float) -> float:
    return float(np.linalg.norm(tilt)) / scale


#: Minus the logarithm of the density of a tilt, but for a constant.
TILTS: dict[type, Callable[[Array, float], float]] = {
    GaussianObjectivePerturbation: _halved_square,
    L2LaplaceObjectivePerturbation: _length,
}


@final
@dataclass(frozen=True)
class TiltRatio:
    """Log-likelihood ratio of a released minimiser under two data sets.

    Attributes
    ----------
    mechanism : ObjectivePerturbation
        What the fits claim to release by.
    """

    mechanism: ObjectivePerturbation

    def __call__(self, outputs: Array, first: RecordsToTilt, second: RecordsToTilt) -> Array:
        """Return the ratios, shape (draws,), of outputs of shape (draws, n_outputs, n_columns)."""
        return np.array([self._density(w, first) - self._density(w, second) for w in outputs])

    def _density(self, coef: Array, value: RecordsToTilt) -> float:
        """Log density at `coef`, but for a constant that both data sets share."""
        records, penalty = value.records, value.problem.objective.penalty
        pull: Array = penalty.l2 * coef
        pull[:, : records.n_features] += penalty.l1 * np.sign(coef[:, : records.n_features])
        tilt = value.summed_gradient(coef) + records.n_samples * pull
        rate = TILTS[type(self.mechanism)](tilt, self.mechanism.noise_scale)
        return _log_determinant(coef, value) - rate


def _log_determinant(coef: Array, value: RecordsToTilt) -> float:
    """Of the second derivative of the smooth part of n F."""
    if coef.size > _MOST_COEFFICIENTS:
        return 0.0
    records: Any = value.records
    objective = value.problem.objective
    bends = objective.loss.second_derivative(records.scores(coef), records.targets)
    n_outputs, width = coef.shape
    second = np.zeros((n_outputs, width, n_outputs, width))
    for row, column, sign, curvature in objective.loss.curvature_blocks(bends):
        block = sign * records.weighted_gram(curvature)
        second[row, :, column, :] = second[column, :, row, :] = block
    whole = second.reshape(coef.size, coef.size)
    ridge = records.n_samples * objective.penalty.l2
    return float(np.linalg.slogdet(whole + ridge * np.eye(coef.size))[1])

"""How noisy a released mean of iterates is, if nothing pulls it back."""

import math
from typing import NamedTuple

import numpy as np

from skdp.training.gradients import Array
from skdp.training.optimizers import Descent

__all__ = ["NoisyWeights", "gradient_weights", "iterate_deviation"]


class NoisyWeights(NamedTuple):
    """How noisy released weights are, in the units in which noise is the same on all of them.

    Attributes
    ----------
    deviation : float
        Standard deviation of the noise on each, without what curvature takes off it.
    spread : float
        Root mean square, or bound, of the norms of rows in those units.
    weights : ndarray of shape (n_features + 1, n_outputs) or None, default=None
        The last row belongs to a constant column of ones. None where `spread` is but a bound.
    clip : float or None, default=None
        Norm to which gradients were clipped; None with `weights`.
    """

    deviation: float
    spread: float
    weights: Array | None = None
    clip: float | None = None

    @property
    def row_norm(self) -> float:
        """Of a typical row, or the longest, with its constant column."""
        return math.hypot(self.spread, 1.0)


def gradient_weights(descent: Descent, momentum: float = 0.0) -> Array:
    r"""Factors of the mean gradients in the released mean of iterates, without decay.

    .. math:: w_t = w_{t-1} - \eta_t v_t, \quad v_t = \beta v_{t-1} + g_t, \quad
              \bar w = \sum_t c_t w_t = w_0 - \sum_t a_t g_t, \quad
              a_t = \eta_t \sum_{s \ge t} c_s + \beta a_{t+1}

    Parameters
    ----------
    descent : Descent
        Learning rates eta_t and the weights c_t of the iterates.
    momentum : float, default=0.0
        beta.

    Returns
    -------
    ndarray of shape (n_steps,)
        a_t.
    """
    later = np.cumsum(descent.averaging[::-1])[::-1]
    factors = descent.learning_rates * later
    for step in range(descent.n_steps - 2, -1, -1) if momentum else ():
        factors[step] += momentum * factors[step + 1]
    return factors


def iterate_deviation(descent: Descent, noise: "float | Array", momentum: float = 0.0) -> float:
    """Return the standard deviation of the noise on one weight of the mean of iterates.

    It is that of a flat loss: the curvature of any other pulls noise back, so with convex losses
    this is an upper bound, as long as steps are short enough to converge.

    Parameters
    ----------
    descent : Descent
        The public facts of the descent.
    noise : float or ndarray of shape (n_steps,)
        Standard deviation of the noise on a coordinate of the summed gradient, step by step.
    momentum : float, default=0.0
        Of the heavy ball.

    Examples
    --------
    >>> steps = Descent(np.full(4, 0.5), divisor=10.0, decay=0.0, n_free=0, average_from=3)
    >>> iterate_deviation(steps, 2.0)
    0.2
    """
    return float(np.linalg.norm(gradient_weights(descent, momentum) * noise) / descent.divisor)

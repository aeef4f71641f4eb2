"""Convex losses with a kink: Lipschitz, but not smooth.

A gradient step on them is no contraction, so no formula for smooth losses holds; the bounds are
those of Bassily, Feldman, Guzman and Talwar (2020). `derivative` is one subgradient, the same for
the same score and target. The hinge is in `skdp.objectives.piecewise_linear`: it has both.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from skdp.objectives.losses import Huber, Loss

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class NonSmoothLoss(Loss):
    """A convex Lipschitz loss of one score; its curvature is infinite at the kink.

    Attributes
    ----------
    slope_range : float
        Largest difference between two slopes of the loss at the same target.
    """

    smoothness = math.inf

    @property
    @abstractmethod
    def slope_range(self) -> float:
        """``sup loss' - inf loss'`` for one target."""

    @property
    @abstractmethod
    def rounded_off(self) -> Loss:
        """A smooth loss that is near enough to plan with."""

    def second_derivative(self, scores: Array, y: Array) -> Array:
        return np.zeros_like(scores)


@final
@dataclass(frozen=True)
class Absolute(NonSmoothLoss):
    """``|m - y|``; the slope at the kink is 0. L = 1, D = 2 W kappa, slope range 2."""

    pull = math.inf
    slope_at_zero = 1.0
    slope_range = 2.0
    rounded_off = Huber()

    def gradient_bound(self, kappa: float, radius: float) -> float:
        return 1.0

    def value(self, scores: Array, y: Array) -> Array:
        return np.abs(scores - y)

    def derivative(self, scores: Array, y: Array) -> Array:
        return np.sign(scores - y)

"""Smooth losses besides those that the elastic nets have by default."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from skdp._validation import non_negative, positive
from skdp.objectives.losses import Loss, ThresholdLoss

Array = npt.NDArray[np.float64]


@final
@dataclass(frozen=True)
class LogCosh(ThresholdLoss):
    """``t^2 log cosh((m - y) / t)``: the Huber loss of threshold t, smooth of every order.

    The slope is t tanh((m - y) / t): L = t, curvature 1, D = 2 W kappa t whatever the targets. As
    for `Huber`, only the slope at 0 gives a radius, W kappa t / lam. Green (1990), Bayesian
    reconstructions from emission tomography data.

    Parameters
    ----------
    threshold : float, default=1.0
        Residual around which the loss turns linear, above 0.
    """

    twice_differentiable = True

    def value(self, scores: Array, y: Array) -> Array:
        size = np.abs(scores - y) / self.threshold
        bent: Array = size + np.log1p(np.exp(-2 * size)) - math.log(2)
        # Near 0 the terms cancel; size^2/2 - size^4/12 + size^6/45 is exact to 2e-16 there.
        square = np.minimum(size, 1e-2) ** 2
        near = square * (0.5 - square * (1 / 12 - square / 45))
        return self.threshold**2 * np.where(size < 1e-2, near, bent)

    def value_change(self, after: Array, before: Array, y: Array) -> Array:
        """Return the change without cancellation: y may be 1e300 and the scores near 0.

        log(cosh a / cosh b) = (a - b) sign(a + b) + log((1 + e^-2a) / (1 + e^-2b)) for a, b of one
        sign; for others both values are taken.
        """
        new, old = (after - y) / self.threshold, (before - y) / self.threshold
        tails = np.log1p(np.exp(-2 * np.abs(new))) - np.log1p(np.exp(-2 * np.abs(old)))
        outside = np.sign(new) * (after - before) / self.threshold + tails
        apart = (new * old < 0) | (np.minimum(np.abs(new), np.abs(old)) < 1)
        inside = self.value(after, y) - self.value(before, y)
        return np.where(apart, inside, self.threshold**2 * outside)

    def derivative(self, scores: Array, y: Array) -> Array:
        slope: Array = self.threshold * np.tanh((scores - y) / self.threshold)
        return slope

    def second_derivative(self, scores: Array, y: Array) -> Array:
        decay = np.exp(-2 * np.abs(scores - y) / self.threshold)
        second: Array = 4 * decay / np.square(1 + decay)
        return second


@final
@dataclass(frozen=True)
class ModifiedHuber(Loss):
    """``max(0, 1 - y m)^2`` for y m >= -1, and -4 y m beyond: the squared hinge made Lipschitz.

    The slope is -2 y clip(1 - y m, 0, 2): L = 4, curvature 2, D = 8 W kappa. For z = y m,
    2 z (1 - z) peaks at 1/2. Zhang (2004), Solving large scale linear prediction problems.
    """

    smoothness = 2.0
    pull = 0.5
    slope_at_zero = 2.0

    def gradient_bound(self, kappa: float, radius: float) -> float:
        return min(4.0, 2 * (1 + kappa * radius))

    def value(self, scores: Array, y: Array) -> Array:
        margin = y * scores
        inside: Array = np.square(np.clip(1 - margin, 0.0, 2.0))
        beyond: Array = np.maximum(-1 - margin, 0.0)
        return inside + 4 * beyond

    def derivative(self, scores: Array, y: Array) -> Array:
        return -2 * y * np.clip(1 - y * scores, 0.0, 2.0)

    def second_derivative(self, scores: Array, y: Array) -> Array:
        return np.where(np.abs(y * scores) < 1, 2.0, 0.0)


@final
@dataclass(frozen=True)
class SquaredEpsilonInsensitive(Loss):
    """``max(0, |m - y| - t)^2`` for targets with ``|y| <= y_bound = Y``, t = `insensitivity` < Y.

    With e = Y - t: 2 m (e - m) peaks at e^2 / 2 and the slope at 0 is at most 2 e, hence
    R = min(e sqrt(W / (2 lam)), 2 W kappa e / lam); on that ball the slope is at most
    L = 2 (kappa R + e), so D = 2 W L kappa. Curvature 2. Ho and Lin (2012), Large-scale linear
    support vector regression.

    Parameters
    ----------
    y_bound : float
        Largest absolute target, above `insensitivity`. Targets are clipped to it before the fit.
    insensitivity : float, default=0.0
        Residual up to which the loss is 0.
    """

    y_bound: float
    insensitivity: float = 0.0

    smoothness = 2.0

    def __post_init__(self) -> None:
        positive(y_bound=self.y_bound)
        non_negative(insensitivity=self.insensitivity)
        if self.insensitivity >= self.y_bound:
            raise ValueError(
                f"insensitivity must be below y_bound = {self.y_bound!r}, got "
                f"{self.insensitivity!r}: no residual at 0 would count."
            )

    @property
    def _excess(self) -> float:
        # A last digit more: the difference rounds.
        return (self.y_bound - self.insensitivity) * (1 + 2.0**-50) + 2.0**-50 * self.y_bound

    @property
    def pull(self) -> float:
        return self._excess**2 / 2

    @property
    def slope_at_zero(self) -> float:
        return 2 * self._excess

    def gradient_bound(self, kappa: float, radius: float) -> float:
        return 2 * (kappa * radius + self._excess)

    def _beyond(self, residual: Array) -> Array:
        """Residual less the part that is free, sign kept."""
        return residual - np.clip(residual, -self.insensitivity, self.insensitivity)

    def value(self, scores: Array, y: Array) -> Array:
        return np.square(self._beyond(scores - y))

    def value_change(self, after: Array, before: Array, y: Array) -> Array:
        new, old = self._beyond(after - y), self._beyond(before - y)
        return (new - old) * (new + old)

    def derivative(self, scores: Array, y: Array) -> Array:
        return 2 * self._beyond(scores - y)

    def second_derivative(self, scores: Array, y: Array) -> Array:
        return np.where(np.abs(scores - y) > self.insensitivity, 2.0, 0.0)

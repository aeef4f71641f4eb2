"""Losses with kinks, and the smooth losses whose slopes are points of their dual problem.

A minimiser of a loss with kinks is not certified by a small subgradient: none need be small near
it. A pair of points is: for any w and any slopes a_i in the range of the loss's derivative,

    P(w) - D(a) = (1/n) sum_i s_i [loss(m_i) + loss*(a_i) - a_i m_i] + [r(w) + r*(v) - <w, v>],

v = -(1/n) sum_i s_i a_i x_i, and every bracket is at least 0 (Fenchel-Young). Rockafellar (1970),
section 31. Written record by record nothing cancels, so rounding cannot hide a gap.

Slopes come from the loss rounded off over a band of half-width h around each kink (Nesterov 2005,
Smooth minimization of non-smooth functions): at any score, its slope has a gap of at most h/8, or
h/4 where two bands overlap.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from skdp._validation import non_negative, positive
from skdp.objectives.losses import ConvexLoss, HuberHinge, Loss
from skdp.objectives.nonsmooth import NonSmoothLoss

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PiecewiseLinearLoss(ConvexLoss):
    """A loss of one score with slopes in [-1, 1] and finitely many kinks: L = 1, D = 2 W kappa."""

    slope_at_zero = 1.0

    def gradient_bound(self, kappa: float, radius: float) -> float:
        return 1.0

    @property
    def flat(self) -> float:
        """Residual up to which the loss is 0."""
        return 0.0

    @abstractmethod
    def smoothed(self, half_width: float) -> Loss:
        """Return the loss rounded off by a parabola within `half_width`, in (0, 1], of a kink."""

    @abstractmethod
    def smoothing_gap(self, half_width: float) -> float:
        """Bound on `duality_gap` for the slopes of `smoothed(half_width)`."""

    @abstractmethod
    def half_width_for(self, gap: float) -> float:
        """Largest half-width whose `smoothing_gap` is at most `gap`."""

    @abstractmethod
    def value(self, scores: Array, y: Array) -> Array:
        """Loss of each record, shape (n,)."""

    @abstractmethod
    def duality_gap(self, scores: Array, slopes: Array, y: Array) -> Array:
        """``loss(m) + loss*(a) - a m`` of each record, at least 0, shape (n,)."""

    def within_reach(self, y: Array, largest_score: float) -> Array:
        """Return targets that give the same minimiser and are no larger than they need be."""
        return y


@final
@dataclass(frozen=True)
class Hinge(NonSmoothLoss, PiecewiseLinearLoss):
    """``max(0, 1 - y m)``, y in {-1, +1}; the slope at the kink is 0, the slope range 1.

    For z = y m, z peaks at 1 while the slope is -1: R = min(sqrt(W / lam), W kappa / lam). With
    t = -y a in [0, 1] the dual term is -t, and the gap (1 - t) (1 - z)_+ + t (z - 1)_+. Cortes and
    Vapnik (1995), Support-vector networks.
    """

    pull = 1.0
    slope_range = 1.0
    rounded_off = HuberHinge()

    def smoothed(self, half_width: float) -> Loss:
        return HuberHinge(half_width)

    def smoothing_gap(self, half_width: float) -> float:
        return half_width / 8

    def half_width_for(self, gap: float) -> float:
        return 8 * gap

    def value(self, scores: Array, y: Array) -> Array:
        return np.maximum(1 - y * scores, 0.0)

    def derivative(self, scores: Array, y: Array) -> Array:
        return np.where(y * scores < 1, -y, 0.0)

    def duality_gap(self, scores: Array, slopes: Array, y: Array) -> Array:
        steepness, short = -y * slopes, 1 - y * scores
        return (1 - steepness) * np.maximum(short, 0) + steepness * np.maximum(-short, 0)


@final
@dataclass(frozen=True)
class EpsilonInsensitive(PiecewiseLinearLoss):
    """``max(0, |m - y| - t)``, t = `insensitivity`; the absolute loss for t = 0.

    -a m is at most Y - t for ``|y| <= y_bound = Y`` and grows without bound otherwise: R is the
    smaller of sqrt(W (Y - t) / lam) and W kappa / lam. No bound on the targets is needed: beyond t
    plus the largest score, the loss is linear with the same slope wherever the target lies.

    The dual term is y a + t ``|a|``, and with r = m - y the gap is
    (1 - ``|a|``) (``|r|`` - t)_+ + ``|a|`` (t - ``|r|``)_+, and 2 ``|a r|`` more where a and r have
    opposite signs. Vapnik (1995), The nature of statistical learning theory, section 6.1.

    Parameters
    ----------
    insensitivity : float, default=0.0
        Residual up to which the loss is 0.
    y_bound : float, default=inf
        Largest absolute target, where one is declared.
    """

    insensitivity: float = 0.0
    y_bound: float = math.inf

    def __post_init__(self) -> None:
        non_negative(insensitivity=self.insensitivity)
        if not self.y_bound > self.insensitivity:
            raise ValueError(
                f"y_bound must be above insensitivity = {self.insensitivity!r}, got "
                f"{self.y_bound!r}: no residual at 0 would count."
            )

    @property
    def pull(self) -> float:
        return self.y_bound - self.insensitivity * (1 - 2.0**-50)

    @property
    def flat(self) -> float:
        return self.insensitivity

    def smoothed(self, half_width: float) -> Loss:
        return SmoothedEpsilonInsensitive(self.insensitivity, half_width)

    def smoothing_gap(self, half_width: float) -> float:
        # Where the bands around the two kinks overlap, both of them count.
        return half_width / (8 if half_width <= self.insensitivity else 4)

    def half_width_for(self, gap: float) -> float:
        return 8 * gap if 8 * gap <= self.insensitivity else 4 * gap

    def value(self, scores: Array, y: Array) -> Array:
        return np.maximum(np.abs(scores - y) - self.insensitivity, 0.0)

    def duality_gap(self, scores: Array, slopes: Array, y: Array) -> Array:
        residual = scores - y
        steepness, beyond = np.abs(slopes), np.abs(residual) - self.insensitivity
        alike = (1 - steepness) * np.maximum(beyond, 0) + steepness * np.maximum(-beyond, 0)
        gap: Array = alike + 2 * np.maximum(-slopes * residual, 0)
        return gap

    def within_reach(self, y: Array, largest_score: float) -> Array:
        # A little farther, since kappa R is rounded.
        farthest = largest_score * (1 + 2.0**-40) + self.insensitivity
        return np.clip(y, -farthest, farthest)


@final
@dataclass(frozen=True)
class SmoothedEpsilonInsensitive(Loss):
    """Two hinges, at m - y = t and at -t, each rounded off within `half_width` = h.

    The slope is clip((r - t + h) / (2 h), 0, 1) - clip((-r - t + h) / (2 h), 0, 1) for r = m - y:
    L = 1, and the curvature is 1 / (2 h), twice that where the bands overlap (t < h).

    Parameters
    ----------
    insensitivity, half_width : float
        t >= 0 and h > 0.
    """

    insensitivity: float = 0.1
    half_width: float = 0.5

    pull = math.inf
    slope_at_zero = 1.0

    def __post_init__(self) -> None:
        non_negative(insensitivity=self.insensitivity)
        positive(half_width=self.half_width)

    @property
    def smoothness(self) -> float:
        return (2 if self.insensitivity < self.half_width else 1) / (2 * self.half_width)

    def gradient_bound(self, kappa: float, radius: float) -> float:
        return 1.0

    def _steepness(self, residual: Array) -> Array:
        width = 2 * self.half_width
        return np.clip((residual - self.insensitivity + self.half_width) / width, 0.0, 1.0)

    def _hinge(self, residual: Array) -> Array:
        linear: Array = np.maximum(residual - self.insensitivity - self.half_width, 0.0)
        return linear + self.half_width * np.square(self._steepness(residual))

    def value(self, scores: Array, y: Array) -> Array:
        return self._hinge(scores - y) + self._hinge(y - scores)

    def value_change(self, after: Array, before: Array, y: Array) -> Array:
        return self._hinge_change(after - y, before - y) + self._hinge_change(y - after, y - before)

    def _hinge_change(self, after: Array, before: Array) -> Array:
        """Return the change without cancellation, also far from a huge target."""
        far = self.insensitivity + self.half_width
        linear = np.where(
            (after > far) & (before > far),
            after - before,
            np.maximum(after - far, 0) - np.maximum(before - far, 0),
        )
        new, old = self._steepness(after), self._steepness(before)
        return linear + self.half_width * (new - old) * (new + old)

    def derivative(self, scores: Array, y: Array) -> Array:
        return self._steepness(scores - y) - self._steepness(y - scores)

    def second_derivative(self, scores: Array, y: Array) -> Array:
        residual, inside = scores - y, 1 / (2 * self.half_width)
        upper = np.abs(residual - self.insensitivity) < self.half_width
        lower = np.abs(residual + self.insensitivity) < self.half_width
        return inside * (upper.astype(np.float64) + lower)

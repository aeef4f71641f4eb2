"""Privacy curves of pairs of output distributions, at many epsilon at once.

A pair (P, Q) is given by its two hockey-stick curves, H(P||Q) and H(Q||P) at e^epsilon, for
epsilon >= 0; that is all of it, since H(P||Q) at -x is 1 - e^-x + e^-x H(Q||P) at x. A curve may
lie above that of the mechanism, nowhere below it: everything here rounds upwards.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from skdp.privacy.gaussian_curve import gaussian_deltas

__all__ = [
    "GaussianCurve",
    "LatticeCurve",
    "LossCurves",
    "PoissonCurves",
    "ReplacedGaussianCurve",
    "ResponseCurve",
    "SymmetricCurve",
]

Array = NDArray[np.float64]
_UNIT = 2.0**-52


class LossCurves(Protocol):
    """The two curves of a pair; P is the side where the record takes part."""

    def removed(self, epsilons: Array) -> Array:
        """H(P||Q) at e^epsilon for epsilon >= 0."""

    def added(self, epsilons: Array) -> Array:
        """H(Q||P) at e^epsilon for epsilon >= 0."""


class SymmetricCurve(ABC):
    """A pair whose two curves are one."""

    @abstractmethod
    def at(self, epsilons: Array) -> Array:
        """Delta at each epsilon >= 0."""

    def removed(self, epsilons: Array) -> Array:
        return self.at(epsilons)

    def added(self, epsilons: Array) -> Array:
        return self.at(epsilons)


@final
@dataclass(frozen=True)
class GaussianCurve(SymmetricCurve):
    """Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)."""

    mu: float

    def at(self, epsilons: Array) -> Array:
        return gaussian_deltas(self.mu, epsilons)


@final
@dataclass(frozen=True)
class ResponseCurve(SymmetricCurve):
    """(e^guarantee - e^epsilon) / (1 + e^guarantee), what guarantee-DP alone implies."""

    guarantee: float

    def at(self, epsilons: Array) -> Array:
        left = np.minimum(epsilons - self.guarantee, 0.0)
        return -np.expm1(left) / (1 + math.exp(-self.guarantee)) * (1 + 8 * _UNIT)


@final
@dataclass(frozen=True, eq=False)
class LatticeCurve(SymmetricCurve):
    """Known at the multiples of an interval, linear in e^epsilon between them, then constant.

    Hockey-stick curves are convex in e^epsilon, so that the chords lie above the curve (Doroshenko,
    Ghazi, Kamath, Kumar and Manurangsi, 2022, Connect the dots).

    Attributes
    ----------
    interval : float
        Distance of the points.
    deltas : ndarray of shape (n_points,)
        Falling values at 0, interval, 2 interval, ...; at least two.
    """

    interval: float
    deltas: Array

    def at(self, epsilons: Array) -> Array:
        cells = self.deltas.size - 1
        cell = np.minimum(epsilons / self.interval, cells - 1).astype(np.int64)
        passed = np.clip(epsilons - cell * self.interval, 0.0, self.interval)
        part = np.expm1(passed) / math.expm1(self.interval)
        low = self.deltas[cell]
        inside: Array = low + (self.deltas[cell + 1] - low) * part
        return np.where(epsilons < cells * self.interval, inside, self.deltas[-1])

    def beside(self, first: int, last: int) -> Array:
        """Values at the points first, ..., last (inclusive), which may lie on the left of 0."""
        index = np.arange(first, last + 1)
        right = self.deltas[np.minimum(np.abs(index), self.deltas.size - 1)]
        left = np.minimum(index, 0) * self.interval
        return np.where(index < 0, np.exp(left) * right - np.expm1(left), right)

    def delta_at(self, epsilon: float) -> float:
        """Delta at one epsilon, which may be infinite."""
        return float(self.at(np.array([min(epsilon, self._top)]))[0])

    def epsilon_at(self, delta: float) -> float:
        """Least epsilon whose delta is at most `delta`; infinite where there is none."""
        after = int(np.searchsorted(-self.deltas, -delta))
        if after == self.deltas.size:
            return math.inf
        if after == 0:
            return 0.0
        high, low = self.deltas[after - 1], self.deltas[after]
        part = (high - delta) / (high - low)
        inside = (after - 1) * self.interval + math.log1p(part * math.expm1(self.interval))
        return min(after * self.interval, inside * (1 + 4 * _UNIT))

    @property
    def _top(self) -> float:
        return (self.deltas.size - 1) * self.interval


@final
@dataclass(frozen=True)
class PoissonCurves:
    """Poisson subsampling of a whole step, for a pair whose two curves are one.

    removed(x) = q base(log(1 + (e^x - 1)/q)); with w = 1 - (1-q) e^x, added(x) = w base(log(q e^x
    / w)) where w > 0 and 0 beyond. The second formula would need the curve of the swapped pair
    if the base were not symmetric.

    Attributes
    ----------
    rate : float
        q, the probability of each record to take part, in (0, 1).
    base : SymmetricCurve
        Of everything that is done to one sample.

    References
    ----------
    Balle, Barthe and Gaboardi (2018), Privacy amplification by subsampling; Zhu, Dong and Wang
    (2022), Optimal accounting of differential privacy via characteristic function.
    """

    rate: float
    base: SymmetricCurve

    def removed(self, epsilons: Array) -> Array:
        small = np.minimum(epsilons, 1.0)
        near = np.log1p(np.expm1(small) / self.rate)
        far = epsilons + np.log1p((self.rate - 1) * np.exp(-epsilons)) - math.log(self.rate)
        inner = np.where(epsilons < 1, near, far)
        return self.rate * self.base.at(inner) * (1 + _UNIT)

    def added(self, epsilons: Array) -> Array:
        lost = np.expm1(-epsilons) / self.rate
        # Rounded so that the inner epsilon can only be too small.
        kept = np.maximum(1 + lost + 4 * _UNIT, 0.0)
        inner = np.where(lost > -0.5, -np.log1p(lost.clip(-0.5)), -np.log(kept + 1e-300))
        weight = self.rate * np.exp(np.minimum(epsilons, 700.0)) * kept
        return np.minimum(weight * self.base.at(np.maximum(inner, 0.0)) * (1 + 4 * _UNIT), 1.0)


@final
@dataclass(frozen=True)
class ReplacedGaussianCurve(SymmetricCurve):
    """One replaced record under Poisson sampling: (1-q) N(0) + q N(1) against N(-1) for N(1).

    H = (1-q) (1 - e^epsilon) S(z) + q (S(z - m) - e^epsilon S(z + m)) with S = 1 - Phi, m the
    inverse of the multiplier and z m = epsilon/2 + asinh(sinh(epsilon/2) (1-q)/q e^(m^2/2)), the
    point from which on the likelihood ratio exceeds e^epsilon.

    Attributes
    ----------
    rate : float
        q, in (0, 1).
    multiplier : float
        Standard deviation of the noise divided by half the replace-one sensitivity.
    """

    rate: float
    multiplier: float

    def at(self, epsilons: Array) -> Array:
        half, mean = epsilons / 2, 1 / self.multiplier
        odds = math.log1p(-self.rate) - math.log(self.rate) + mean**2 / 2
        with np.errstate(divide="ignore"):
            log_sinh = half + np.log(-np.expm1(-epsilons)) - math.log(2) + odds
        bent = np.where(
            log_sinh > 20, log_sinh + math.log(2), np.arcsinh(np.exp(np.minimum(log_sinh, 20)))
        )
        z = (half + bent) * self.multiplier
        grown = np.minimum(epsilons, 700.0)
        shifted = self.rate * ndtr(mean - z)
        idle = (1 - self.rate) * np.expm1(grown) * ndtr(-z)
        opposite = self.rate * np.exp(grown) * ndtr(-z - mean)
        rounding = 32 * _UNIT * (1 + z * z) * (shifted + idle + opposite)
        found: Array = np.clip(shifted - idle - opposite + rounding, 0.0, 1.0)
        return found

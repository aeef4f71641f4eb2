"""Gaussian noise, calibrated by its exact privacy curve."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, NoReturn, final

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from skdp._random import RandomSource
from skdp.mechanisms.additive import AdditiveMechanism
from skdp.mechanisms.base import Array
from skdp.mechanisms.gaussian_table import (
    LARGEST_STEP,
    SMALLEST_STEP,
    TABLE_TOTAL_VARIATION,
    step_for,
    table_gaussian,
    width_of,
)
from skdp.mechanisms.integer_noise import Integers
from skdp.mechanisms.noise_laws import gaussian_mean_norm
from skdp.privacy.budget import Norm
from skdp.privacy.gaussian_curve import gaussian_delta, gaussian_mu

if TYPE_CHECKING:
    from dp_accounting import DpEvent

__all__ = ["GaussianMechanism"]

_WINDOW = 14.0
_LOG_RATIO = (_WINDOW**2 + 1) / (24 * width_of(SMALLEST_STEP) ** 2)
_TAIL = 2.0**-140
_SMALLEST_DELTA = 1e-300


@final
@dataclass(frozen=True)
class GaussianMechanism(AdditiveMechanism):
    """Normal noise on each coordinate: density ~ exp(-||u||_2^2 / (2 sigma^2)).

    For a sensitivity s in the L2 norm and a delta above 0. With mu = s/sigma the least delta at
    epsilon is Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu), and sigma is the least
    that brings it down to the budget's; the formula with (2 log(1.25/delta))^(1/2) is neither the
    least nor, beyond epsilon 1, valid.

    Guarantees
    ----------
    Balle and Wang (2018), Theorem 8, for continuous noise. Here the noise is a discrete Gaussian
    of width w >= 2^23 on a grid of integers, with s enlarged by g size^(1/2) for the rounding,
    drawn from a table (`gaussian_table.table_gaussian`). What separates the two is counted in
    `delta_at`, `epsilon_at`, `event` and the calibration:

    * Within 14 w the discrete Gaussian and a rounded continuous one, which is post-processing,
      differ by a factor of at most e^r, r = (14^2 + 1)/(24 w^2) < 2^-42, a coordinate. Twice r
      size goes off epsilon, and e^(r size) onto delta.
    * Beyond, and where the table is not exact, there is 2^-114 of total variation a coordinate;
      (1 + e^epsilon) times their sum is `precision_delta`.
    * Rounding enlarges s by a fraction of about size^(1/2) sigma / (s w), which shows only for
      budgets as small, and vectors as long, as bring sigma size^(1/2) near 2^20 s.

    Raises
    ------
    ValueError
        If delta is 0, or so small a budget that finite precision uses it up.

    Examples
    --------
    >>> from skdp._random import RandomSource
    >>> from skdp.mechanisms import GaussianMechanism
    >>> from skdp.privacy.budget import Neighbours, PrivacyBudget, Sensitivity
    >>> sensitivity = Sensitivity(1.0, "l2", Neighbours.REPLACE_ONE)
    >>> mechanism = GaussianMechanism.calibrated(sensitivity, PrivacyBudget(1.0, 1e-6), size=3)
    >>> round(mechanism.noise_scale, 1)
    4.2
    >>> mechanism.release([1.0, 2.0, 3.0], RandomSource.from_system()).shape
    (3,)
    """

    required_norm: ClassVar[Norm] = "l2"

    @property
    def noise_scale(self) -> float:
        return math.ldexp(width_of(self._design[1]), self._grid_exponent)

    @property
    def standard_deviation(self) -> float:
        return self.noise_scale

    @property
    def expected_norm(self) -> float:
        return self.noise_scale * gaussian_mean_norm(self.size)

    def survival(self, threshold: npt.ArrayLike) -> Array:
        return np.asarray(ndtr(-np.asarray(threshold) / self.noise_scale))

    @property
    def theorem(self) -> str:
        return (
            "Balle and Wang (2018), Theorem 8, for a discrete Gaussian drawn from a table, its "
            "distance to a rounded continuous one counted"
        )

    @property
    def rounding(self) -> float:
        return math.sqrt(self.size)

    @property
    def total_variation(self) -> float:
        return self.size * (TABLE_TOTAL_VARIATION + _TAIL)

    def delta_at(self, epsilon: float) -> float:
        if not epsilon >= 0:
            raise ValueError(f"epsilon must be at least 0, got {epsilon!r}.")
        return min(1.0, self._delta_bound(min(epsilon, self._best_epsilon)))

    def epsilon_at(self, delta: float) -> float:
        """Smallest epsilon that is proved for `delta`; infinite below finite precision."""
        if not 0 <= delta <= 1:
            raise ValueError(f"delta must be in [0, 1], got {delta!r}.")
        if self.delta_at(0.0) <= delta:
            return 0.0
        if self.delta_at(math.inf) >= delta:
            return math.inf
        return self._least_epsilon(delta)

    @property
    def event(self) -> "DpEvent":
        from dp_accounting import NonPrivateDpEvent

        from skdp.privacy.events import GaussianReleaseDpEvent

        delta = self.excess_delta
        if delta >= 1:  # noise so small that no Gaussian curve plus a constant lies above
            return NonPrivateDpEvent()
        total = self.total_sensitivity
        return GaussianReleaseDpEvent(
            sensitivity=total.value,
            norm=total.norm,
            neighbours=total.neighbours.value,
            noise_std=self._continuous_scale,
            delta=delta,
        )

    @property
    def continuous_mu(self) -> float:
        """Sensitivity over standard deviation of continuous noise; see `excess_delta`."""
        return self.total_sensitivity.value / self._continuous_scale

    @property
    def excess_delta(self) -> float:
        """Least known delta that, added to the curve of `continuous_mu`, lies above this one's."""
        return self.delta_at(math.inf) / (2 * float(ndtr(-self._mu / 2)) or 1e-300)

    @cached_property
    def _design(self) -> tuple[int, int]:
        """Exponent of the grid, and step of the table, of the least sufficient noise."""
        per_unit = 1 / self._allowed_mu()
        if per_unit * self.rounding > 0.9 * width_of(LARGEST_STEP):
            self._refuse()
        value = self.sensitivity.value
        exponent = math.floor(math.log2(value) + math.log2(per_unit / width_of(LARGEST_STEP)))
        while True:
            reach = math.ldexp(value, -exponent) + self.rounding
            step = step_for(per_unit * reach * (1 + 2.0**-48))
            if step <= LARGEST_STEP:
                return exponent, step
            exponent += 1

    def _allowed_mu(self) -> float:
        """Greatest ratio of sensitivity to noise that the budget allows."""
        if self.budget.delta == 0:
            raise ValueError(
                "Gaussian noise needs delta > 0; for delta = 0 take L2-Laplace or Laplace noise."
            )
        epsilon = self.epsilon - 2 * self._discreteness
        delta = (self.budget.delta - self.precision_delta) * math.exp(-self._discreteness)
        if epsilon <= 0 or delta < _SMALLEST_DELTA:
            self._refuse()
        return gaussian_mu(epsilon, delta)

    def _refuse(self) -> NoReturn:
        raise ValueError(
            f"epsilon={self.budget.epsilon!r} and delta={self.budget.delta!r} are too small for "
            f"Gaussian noise of finite precision on {self.size} coordinates."
        )

    @property
    def _grid_exponent(self) -> int:
        return self._design[0]

    def _noise(self, rng: RandomSource) -> Integers:
        return table_gaussian(self.size, self._design[1], rng)

    @property
    def _mu(self) -> float:
        return self.total_sensitivity.value / self.noise_scale

    @property
    def _discreteness(self) -> float:
        """Bound on |log(discrete / rounded Gaussian)|, all coordinates, within 14 widths."""
        return self.size * _LOG_RATIO

    def _delta_bound(self, epsilon: float) -> float:
        continuous = gaussian_delta(self._mu, epsilon - 2 * self._discreteness)
        return math.exp(self._discreteness) * continuous + self._precision_delta_at(epsilon)

    @cached_property
    def _best_epsilon(self) -> float:
        """Where `_delta_bound` is least: the derivative is proportional to Phi(b) - e^rd TV."""
        mass = min(0.5, self.total_variation * math.exp(self._discreteness))
        best = 2 * self._discreteness - self._mu * (float(ndtri(mass)) + self._mu / 2)
        return max(best, 0.0)

    def _least_epsilon(self, delta: float) -> float:
        def excess(epsilon: float) -> float:
            return math.log(self.delta_at(epsilon) / delta)

        root = float(brentq(excess, 0.0, self._best_epsilon, xtol=1e-14, rtol=1e-14))
        while self.delta_at(root) > delta:
            root = root * (1 + 2.0**-48) + 2.0**-60
        return root

    @property
    def _continuous_scale(self) -> float:
        """Standard deviation of a continuous Gaussian whose curve lies above this one's.

        By d delta/d mu = phi(a), -d delta/d epsilon <= (pi/2)^(1/2) phi(a) and
        delta <= phi(a) / phi(mu/2) at a = mu/2 - epsilon/mu, enlarging mu by the fraction
        r size (2.51 + 1/phi(mu/2)) / mu outweighs the shift of epsilon by 2 r size and the factor
        e^(r size), to first order; twice that is taken.
        """
        mu = self._mu
        inverse_density = math.sqrt(2 * math.pi) * math.exp(mu * mu / 8)
        return self.noise_scale / (1 + 2 * self._discreteness * (2.51 + inverse_density) / mu)

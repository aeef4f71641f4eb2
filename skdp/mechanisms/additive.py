"""Adding noise: a vector plus integer noise, on a power-of-two grid."""

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from skdp._random import RandomSource
from skdp.mechanisms.base import Array, Mechanism
from skdp.mechanisms.integer_noise import Integers
from skdp.mechanisms.statistics import SparseSum
from skdp.privacy.budget import PrivacyBudget, Sensitivity

if TYPE_CHECKING:
    from dp_accounting import DpEvent

__all__ = ["EPSILON_CAP", "AdditiveMechanism", "PureMechanism"]

EPSILON_CAP = 40.0
"""A larger epsilon is calibrated as this one: finite precision proves nothing smaller than
e^epsilon times its total variation."""

_LARGEST_INTEGER = 2.0**61
_GRID_EXPONENTS = range(-1021, 901)
_INFLATION = 2.0**-16
_ROUNDED_DOWN, _ROUNDED_UP = 1 - 2.0**-48, 1 + 2.0**-50


@dataclass(frozen=True)
class AdditiveMechanism(Mechanism[Array]):
    """Rounds a vector to a grid g Z^d, adds calibrated integers and releases g times the sum.

    Because g is a power of two, dividing by it is exact; the sum is one of integers, and turning
    it into doubles is post-processing. So nothing but the integers of the theorem leaves, and the
    low-order bits of floating-point noise, which give the input away (Mironov, 2012), do not
    exist. Rounding moves each coordinate by at most g/2, which `total_sensitivity` counts.

    Attributes
    ----------
    budget : PrivacyBudget
        What the release may cost.
    """

    budget: PrivacyBudget

    def __post_init__(self) -> None:
        super().__post_init__()
        if self._grid_exponent not in _GRID_EXPONENTS:
            raise ValueError(
                f"A sensitivity of {self.sensitivity.value!r} is out of the range of the grid."
            )

    @classmethod
    def calibrated(cls, sensitivity: Sensitivity, budget: PrivacyBudget, *, size: int) -> Self:
        """Return the mechanism with the least noise that keeps the budget."""
        return cls(sensitivity=sensitivity, size=size, budget=budget)

    @property
    def epsilon(self) -> float:
        """The epsilon that is calibrated: the budget's, or `EPSILON_CAP`."""
        return min(self.budget.epsilon, EPSILON_CAP)

    @property
    def grid(self) -> float:
        """Spacing of the grid of released values, a power of two."""
        return math.ldexp(1.0, self._grid_exponent)

    @property
    def total_sensitivity(self) -> Sensitivity:
        """The declared sensitivity plus what rounding to the grid can add."""
        value = self.sensitivity.value + self.grid * self.rounding
        return replace(self.sensitivity, value=value * _ROUNDED_UP)

    @property
    def precision_delta(self) -> float:
        """What finite precision adds to delta at the calibrated epsilon.

        (1 + e^epsilon) times the total variation between what is run and the theorem's noise.
        """
        return self._precision_delta_at(self.epsilon)

    @property
    @abstractmethod
    def noise_scale(self) -> float:
        """Scale parameter of the noise, in the units of the vector."""

    @property
    @abstractmethod
    def standard_deviation(self) -> float:
        """Standard deviation of the noise on one coordinate."""

    @property
    @abstractmethod
    def expected_norm(self) -> float:
        """Expected Euclidean norm of the noise over all coordinates."""

    @abstractmethod
    def survival(self, threshold: npt.ArrayLike) -> Array:
        """Probability that the noise on one coordinate exceeds `threshold` (of any sign)."""

    @abstractmethod
    def delta_at(self, epsilon: float) -> float:
        """Smallest delta that is proved for `epsilon`, finite precision included."""

    @abstractmethod
    def epsilon_at(self, delta: float) -> float:
        """Smallest epsilon that is proved for `delta`; infinite where there is none."""

    @property
    @abstractmethod
    def rounding(self) -> float:
        """How far rounding moves the distance of two vectors, in units of the grid."""

    @property
    @abstractmethod
    def total_variation(self) -> float:
        """Total variation between the noise that is drawn and the theorem's, all coordinates."""

    @property
    @abstractmethod
    def _grid_exponent(self) -> int:
        """Binary logarithm of the grid."""

    @abstractmethod
    def _noise(self, rng: RandomSource) -> Integers:
        """Draw the noise of all coordinates, in units of the grid."""

    def _precision_delta_at(self, epsilon: float) -> float:
        return (1 + math.exp(epsilon)) * self.total_variation

    def _release(self, value: npt.ArrayLike | SparseSum, rng: RandomSource) -> Array:
        exact = np.asarray(value, dtype=np.float64)
        self._require_size(exact.size)
        noise = np.clip(self._noise(rng), -int(_LARGEST_INTEGER), int(_LARGEST_INTEGER))
        integers = self._on_grid(exact.ravel()) + noise
        return np.ldexp(integers.astype(np.float64), self._grid_exponent).reshape(exact.shape)

    @property
    def largest(self) -> float:
        """Value at which inputs and noise are clamped."""
        return math.ldexp(_LARGEST_INTEGER, min(self._grid_exponent, 962))

    def _on_grid(self, value: Array) -> Integers:
        """Nearest integers to value/g, clamped (which brings no two values further apart).

        NaN becomes 0: casting it would be an unbounded contribution, and raising would tell.
        """
        clamped = np.clip(np.nan_to_num(value), -self.largest, self.largest)
        with np.errstate(under="ignore"):
            return np.rint(np.ldexp(clamped, -self._grid_exponent)).astype(np.int64)


@dataclass(frozen=True)
class PureMechanism(AdditiveMechanism):
    """Noise whose density falls by at most e^epsilon over the sensitivity.

    In units of the grid the noise is P(z) ~ exp(-a ||z||) in the norm of the sensitivity, with
    a = epsilon / (sensitivity/g + rounding). By the triangle inequality that is epsilon-DP, and
    what is drawn is (epsilon, `precision_delta`)-DP. Of such a release nothing else is used here:
    its curve is that of the pair which dominates every epsilon-DP mechanism, randomised response
    (Kairouz, Oh and Viswanath, 2015), so a budget's delta buys nothing.
    """

    @property
    def noise_scale(self) -> float:
        return self.grid / self.rate

    @cached_property
    def rate(self) -> float:
        """The a of exp(-a ||z||), z in units of the grid."""
        reach = math.ldexp(self.sensitivity.value, -self._grid_exponent) + self.rounding
        return self.epsilon / reach * _ROUNDED_DOWN

    @property
    @abstractmethod
    def _rates(self) -> tuple[float, float]:
        """Smallest rate that the sampler can draw, and largest one whose precision is enough."""

    @cached_property
    def _grid_exponent(self) -> int:
        """The largest grid that costs a 2^-16 of the noise and keeps the rate in its range.

        Where the smallest rate asks for a coarser grid, that one, whatever rounding costs.
        """
        smallest, largest = self._rates
        room = self.epsilon / (smallest * _ROUNDED_UP) - self.rounding
        if room <= 0:
            raise ValueError(
                f"epsilon={self.budget.epsilon!r} is too small for {self.size} coordinates in "
                "64-bit integers."
            )
        fine = min(_INFLATION / self.rounding, largest / self.epsilon)
        scale = math.log2(self.sensitivity.value)
        return max(math.floor(scale + math.log2(fine)), math.ceil(scale - math.log2(room)))

    def delta_at(self, epsilon: float) -> float:
        if not epsilon >= 0:
            raise ValueError(f"epsilon must be at least 0, got {epsilon!r}.")
        at = min(epsilon, self.epsilon)
        response = -math.expm1(at - self.epsilon) / (1 + math.exp(-self.epsilon))
        return response + self._precision_delta_at(at)

    def epsilon_at(self, delta: float) -> float:
        """Smallest epsilon that is proved for `delta`; infinite below `precision_delta`."""
        if not 0 <= delta <= 1:
            raise ValueError(f"delta must be in [0, 1], got {delta!r}.")
        if delta < self.precision_delta:
            return math.inf
        mass = 1 / (1 + math.exp(-self.epsilon))
        slope = mass - self.total_variation * math.exp(self.epsilon)
        relative = (mass + self.total_variation - delta) / slope
        if relative <= math.exp(-self.epsilon):
            return 0.0
        return min(self.epsilon, self.epsilon + math.log(relative) + 1e-14)

    @property
    def event(self) -> "DpEvent":
        from skdp.privacy.events import PureReleaseDpEvent

        total = self.total_sensitivity
        return PureReleaseDpEvent(
            epsilon=self.epsilon,
            delta=self.precision_delta,
            sensitivity=total.value,
            norm=total.norm,
            neighbours=total.neighbours.value,
            noise_scale=self.noise_scale,
        )

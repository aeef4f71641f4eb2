"""Objective perturbation: minimise a randomly tilted objective, and release the minimiser.

What is minimised is n F(w) + <b, w>, with F the mean objective and b secret noise. Were w the exact
minimiser w* for a real-valued b, its law under two neighbouring data sets would have densities
whose ratio is that of the noise at two points, which are as far apart as one unit can move the
gradient of n F, times that of two Jacobians (Chaudhuri, Monteleoni and Sarwate, 2011; Kifer, Smith
and Thakurta, 2012, whose Theorem 1 also carries it over to a convex penalty with kinks). On a
computer neither is true, and w* tells b, hence the last digits of its arithmetic, exactly. So the
point that the solver reached is rounded to a grid and hidden in noise of its own (approximate
minima perturbation: Iyengar et al., 2019): given w*, it is off by at most

    radius = solver_radius + 2^-40 largest_tilt / curvature,

the second term for what the double precision of b can move the minimiser; two of them are at most
twice that far apart, and that is the sensitivity of a second, additive release. What leaves is a
function of w* and of that release.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, final

import numpy as np

from skdp._random import RandomSource
from skdp._validation import non_negative, positive, positive_integer
from skdp.mechanisms.additive import EPSILON_CAP, AdditiveMechanism
from skdp.mechanisms.base import Array, Mechanism
from skdp.mechanisms.continuous import exponentials, normals
from skdp.mechanisms.gaussian import GaussianMechanism
from skdp.mechanisms.laplace import L2LaplaceMechanism
from skdp.mechanisms.noise_laws import gaussian_mean_norm
from skdp.privacy.budget import Norm, PrivacyBudget, Sensitivity
from skdp.privacy.gaussian_curve import gaussian_delta
from skdp.privacy.objective_curve import ObjectiveCurve
from skdp.privacy.pure_curve import pure_delta, pure_epsilon

if TYPE_CHECKING:
    from dp_accounting import DpEvent

__all__ = [
    "GaussianObjectivePerturbation",
    "L2LaplaceObjectivePerturbation",
    "ObjectivePerturbation",
    "TiltedObjective",
]

#: Share of the largest tilt by which double precision may have moved a tilt.
_PRECISION = 2.0**-40
#: Tilts beyond `largest_tilt` have a probability of e^-t.
_TAIL_EXPONENT = 200 * math.log(2)
_TAIL = 2.0**-200
# Part of the budget's delta that finite precision may use.
_RESERVED = 2.0**-16
_ROUNDED_DOWN, _ROUNDED_UP = 1 - 2.0**-46, 1 + 2.0**-46


class TiltedObjective(Protocol):
    """n F(w), of private records."""

    def minimiser(self, tilt: Array) -> Array:
        """Minimise n F(w) + <tilt, w>, to `solver_radius`, whatever the records and the tilt."""

    def summed_gradient(self, coef: Array) -> Array:
        """Gradient of the part of n F that depends on the records."""


@dataclass(frozen=True)
class ObjectivePerturbation(Mechanism[Array]):
    """Releases a minimiser.

    Attributes
    ----------
    sensitivity : Sensitivity
        How far one unit moves the gradient of n F at any w, in the L2 norm.
    size : int
        Number of coefficients.
    budget : PrivacyBudget
        What the release may cost.
    log_determinant : float
        Bound on the logarithm of the ratio of the Jacobians: what one unit adds to the log
        determinant of the second derivative of n F.
    branches : int
        Vertices, besides 0, of the set of derivatives of a record.
    solver_radius : float
        How far the point that the solver reaches may be from the minimiser.
    curvature : float
        Strong convexity of n F.
    second_share : float
        What the release of that point costs, in units of what the tilt costs.
    """

    required_norm: ClassVar[Norm] = "l2"

    budget: PrivacyBudget
    log_determinant: float
    branches: int
    solver_radius: float
    curvature: float
    second_share: float

    def __post_init__(self) -> None:
        super().__post_init__()
        positive_integer(branches=self.branches)
        non_negative(log_determinant=self.log_determinant)
        positive(
            solver_radius=self.solver_radius,
            curvature=self.curvature,
            second_share=self.second_share,
        )
        if self.log_determinant >= self.epsilon:
            raise ValueError(
                f"log_determinant={self.log_determinant:.4g} alone uses up "
                f"epsilon={self.budget.epsilon!r}."
            )

    @property
    def epsilon(self) -> float:
        """The epsilon that is calibrated: the budget's, or `EPSILON_CAP`."""
        return min(self.budget.epsilon, EPSILON_CAP)

    @property
    def total_sensitivity(self) -> Sensitivity:
        """The declared one; nothing is rounded before the noise."""
        return self.sensitivity

    @property
    @abstractmethod
    def noise_scale(self) -> float:
        """Scale parameter of the tilt."""

    @property
    @abstractmethod
    def standard_deviation(self) -> float:
        """Standard deviation of one coordinate of the tilt."""

    @property
    @abstractmethod
    def expected_norm(self) -> float:
        """Expected Euclidean norm of the tilt."""

    @property
    @abstractmethod
    def largest_tilt(self) -> float:
        """Norm to which tilts are cut, which happens once in 2^200 times."""

    @property
    @abstractmethod
    def second(self) -> AdditiveMechanism:
        """Releases the point that the solver reached, given the minimiser."""

    @property
    @abstractmethod
    def precision_delta(self) -> float:
        """What finite precision adds to delta at every epsilon up to the calibrated one."""

    @abstractmethod
    def delta_at(self, epsilon: float) -> float:
        """Least delta that is proved for `epsilon`, finite precision included."""

    @abstractmethod
    def epsilon_at(self, delta: float) -> float:
        """Least epsilon that is proved for `delta`; infinite where there is none."""

    @abstractmethod
    def _tilt(self, rng: RandomSource) -> Array:
        """Draw b, in double precision."""

    @property
    def radius(self) -> float:
        """Distance between what the solver reaches and the minimiser for a real-valued tilt."""
        moved = _PRECISION * self.largest_tilt / self.curvature
        return (self.solver_radius + moved) * _ROUNDED_UP

    @property
    def _second_sensitivity(self) -> Sensitivity:
        return Sensitivity(2 * self.radius, "l2", self.sensitivity.neighbours)

    def _release(self, value: Any, rng: RandomSource) -> Array:
        tilt = self._tilt(rng)
        length = float(np.linalg.norm(tilt))
        tilt *= min(1.0, self.largest_tilt / length) if length else 1.0
        coef = value.minimiser(tilt)
        return self.second._release(coef, rng)


@final
@dataclass(frozen=True)
class GaussianObjectivePerturbation(ObjectivePerturbation):
    """b ~ N(0, sigma^2 I); for a delta above 0.

    Guarantees
    ----------
    The curve of `ObjectiveCurve`, which is that of Redberg, Koskela and Wang (2023) for units of
    any number of rows, replaced or nulled.

    Examples
    --------
    >>> from skdp.privacy import Neighbours
    >>> tilted = GaussianObjectivePerturbation(
    ...     sensitivity=Sensitivity(2.0, "l2", Neighbours.REPLACE_ONE), size=3,
    ...     budget=PrivacyBudget(1.0, 1e-6), log_determinant=0.1, branches=1,
    ...     solver_radius=1e-7, curvature=10.0, second_share=0.01,
    ... )
    >>> round(tilted.noise_scale, 2)
    9.34
    """

    @property
    def noise_scale(self) -> float:
        return self.sensitivity.value / self._planned.mu * _ROUNDED_UP

    @property
    def standard_deviation(self) -> float:
        return self.noise_scale

    @property
    def expected_norm(self) -> float:
        return self.noise_scale * gaussian_mean_norm(self.size)

    @property
    def largest_tilt(self) -> float:
        return self.noise_scale * (math.sqrt(self.size) + math.sqrt(2 * _TAIL_EXPONENT))

    @property
    def theorem(self) -> str:
        return (
            "Redberg, Koskela and Wang (2023), Theorem 3.1, for units of several records, those "
            "put in counted among them (supermodular order of the branches), the solver's point "
            "released in a second Gaussian noise (Iyengar et al. 2019)"
        )

    @property
    def smallest_delta(self) -> float:
        """Below it, what finite precision adds would be felt."""
        return (self.size * 2.0**-100 + math.exp(self.epsilon + 36) * _TAIL) / _RESERVED

    @cached_property
    def _planned(self) -> ObjectiveCurve:
        if self.budget.delta == 0:
            raise ValueError("Gaussian noise needs delta > 0; for delta = 0 take L2-Laplace noise.")
        if self.budget.delta < self.smallest_delta:
            raise ValueError(
                f"delta={self.budget.delta!r} is too small for Gaussian noise of finite precision "
                f"on {self.size} coordinates; take L2-Laplace noise, or at least "
                f"{self.smallest_delta:.2g}."
            )
        return ObjectiveCurve.calibrated(
            self.epsilon,
            self.budget.delta * (1 - _RESERVED),
            branches=self.branches,
            log_determinant=self.log_determinant,
            second_share=self.second_share,
        )

    @cached_property
    def second(self) -> GaussianMechanism:
        mu = self._planned.second_mu * (1 - 2.0**-12)
        budget = PrivacyBudget(3 * mu, gaussian_delta(mu, 3 * mu))
        return GaussianMechanism.calibrated(self._second_sensitivity, budget, size=self.size)

    @cached_property
    def curve(self) -> ObjectiveCurve:
        """The privacy curve, without `precision_delta`."""
        return ObjectiveCurve(
            self.sensitivity.value / self.noise_scale,
            self.branches,
            self.log_determinant,
            self.second.continuous_mu,
        )

    @cached_property
    def precision_delta(self) -> float:
        """That of the second release, and what tilts that are cut add.

        With t the probability of these, delta(epsilon) + (1 + e^epsilon) t for every epsilon; as no
        delta rises with epsilon, its value at any one bounds what is added everywhere.
        """
        at = self.epsilon + 6 * self._planned.mu
        cut = self.curve.delta_at(at) + (1 + math.exp(at)) * _TAIL
        return (self.second.excess_delta + cut) * _ROUNDED_UP

    def delta_at(self, epsilon: float) -> float:
        if not epsilon >= 0:
            raise ValueError(f"epsilon must be at least 0, got {epsilon!r}.")
        return min(1.0, self.curve.delta_at(epsilon) + self.precision_delta)

    def epsilon_at(self, delta: float) -> float:
        if not 0 <= delta <= 1:
            raise ValueError(f"delta must be in [0, 1], got {delta!r}.")
        left = delta - self.precision_delta
        return self.curve.epsilon_at(left) if left > 0 else math.inf

    @property
    def event(self) -> "DpEvent":
        from skdp.privacy.objective_events import ObjectivePerturbationDpEvent

        return ObjectivePerturbationDpEvent(
            sensitivity=self.sensitivity.value,
            neighbours=self.sensitivity.neighbours.value,
            noise_std=self.noise_scale,
            branches=self.branches,
            log_determinant=self.log_determinant,
            second_mu=self.second.continuous_mu,
            delta=self.precision_delta,
        )

    def _tilt(self, rng: RandomSource) -> Array:
        return self.noise_scale * normals(self.size, rng)


@final
@dataclass(frozen=True)
class L2LaplaceObjectivePerturbation(ObjectivePerturbation):
    """The density of b is proportional to exp(-norm(b) / scale); for any delta.

    Guarantees
    ----------
    epsilon is the sum of `log_determinant`, of sensitivity / scale, and of the epsilon of the
    second release, which has the law of the same kind: so much DP, but for `precision_delta`
    (Kifer, Smith and Thakurta, 2012, Theorem 2).

    Examples
    --------
    >>> from skdp.privacy import Neighbours
    >>> tilted = L2LaplaceObjectivePerturbation(
    ...     sensitivity=Sensitivity(2.0, "l2", Neighbours.REPLACE_ONE), size=3,
    ...     budget=PrivacyBudget(1.0), log_determinant=0.1, branches=1,
    ...     solver_radius=1e-7, curvature=10.0, second_share=0.01,
    ... )
    >>> round(tilted.noise_scale, 2)
    2.24
    """

    @property
    def noise_scale(self) -> float:
        return self.sensitivity.value / self._tilt_epsilon * _ROUNDED_UP

    @property
    def standard_deviation(self) -> float:
        return math.sqrt(self.size + 1) * self.noise_scale

    @property
    def expected_norm(self) -> float:
        return self.noise_scale * self.size

    @property
    def largest_tilt(self) -> float:
        # Laurent and Massart (2000), of a gamma variable of shape d.
        reach = self.size + math.sqrt(2 * self.size * _TAIL_EXPONENT) + _TAIL_EXPONENT
        return self.noise_scale * reach

    @property
    def theorem(self) -> str:
        return (
            "Kifer, Smith and Thakurta (2012), Theorem 2, the solver's point released in a second "
            "L2-Laplace noise (Iyengar et al. 2019)"
        )

    @property
    def _tilt_epsilon(self) -> float:
        left = self.epsilon - self.log_determinant
        return left / (1 + self.second_share) * _ROUNDED_DOWN

    @cached_property
    def second(self) -> L2LaplaceMechanism:
        epsilon = self._tilt_epsilon * self.second_share
        budget = PrivacyBudget(epsilon * _ROUNDED_DOWN)
        return L2LaplaceMechanism.calibrated(self._second_sensitivity, budget, size=self.size)

    @property
    def precision_delta(self) -> float:
        variation = self.second.total_variation + 2 * _TAIL  # of b, and of its variance
        return (1 + math.exp(self.epsilon)) * variation * _ROUNDED_UP

    def delta_at(self, epsilon: float) -> float:
        return min(1.0, pure_delta(self.epsilon, epsilon) + self.precision_delta)

    def epsilon_at(self, delta: float) -> float:
        if not 0 <= delta <= 1:
            raise ValueError(f"delta must be in [0, 1], got {delta!r}.")
        left = delta - self.precision_delta
        return math.inf if left < 0 else pure_epsilon(self.epsilon, left)

    @property
    def event(self) -> "DpEvent":
        from skdp.privacy.events import PureReleaseDpEvent

        return PureReleaseDpEvent(
            epsilon=self.epsilon,
            delta=self.precision_delta,
            sensitivity=self.sensitivity.value,
            norm=self.sensitivity.norm,
            neighbours=self.sensitivity.neighbours.value,
            noise_scale=self.noise_scale,
        )

    def _tilt(self, rng: RandomSource) -> Array:
        """A normal vector with variance 2 v, v ~ Gamma((d + 1)/2): nothing is divided by."""
        shape = float(exponentials((self.size + 1) // 2, rng).sum())
        if self.size % 2 == 0:
            shape += float(normals(1, rng)[0]) ** 2 / 2
        return self.noise_scale * math.sqrt(2 * shape) * normals(self.size, rng)

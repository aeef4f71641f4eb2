"""The parts of a composition, each with the bounds that are proved for it."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, final

import numpy as np
from dp_accounting import DpEvent, dp_event
from numpy.typing import NDArray

from skdp.exceptions import UnsupportedEventError
from skdp.privacy.joint_steps import JointStep
from skdp.privacy.laplace_curve import laplace_renyi, laplace_rho
from skdp.privacy.loss_curves import (
    LatticeCurve,
    LossCurves,
    PoissonCurves,
    ReplacedGaussianCurve,
)
from skdp.privacy.objective_curve import ObjectiveCurve
from skdp.privacy.pure_curve import pure_renyi
from skdp.privacy.renyi import ORDERS, poisson_renyi
from skdp.privacy.trial_laws import TrialLaw

__all__ = [
    "BoundedPart",
    "LibraryPart",
    "MinimiserPart",
    "Part",
    "ReplacedPart",
    "SampledPart",
    "SearchPart",
    "StepPart",
    "SubsetPart",
]

Array = NDArray[np.float64]
_LATTICE_POINTS = 2048


class Part(Protocol):
    """Something that is run a number of times; its pair is fixed before the first output."""

    @property
    def guarantee(self) -> float:
        """It is so much DP with delta = 0; infinite where it is not."""

    @property
    def rho(self) -> float:
        """The rho of zero-concentrated DP; infinite where none is known."""

    def curves(self, coarseness: int) -> LossCurves | None:
        """Its pair, if there is a bound in this form."""

    def renyi(self) -> Array | None:
        """Divergences at `ORDERS`, if there is a bound in this form."""

    def plain(self) -> DpEvent | None:
        """What dp_accounting's Renyi accountant can make of it at all orders, if anything."""


@final
@dataclass(frozen=True)
class StepPart:
    """Releases from all records."""

    step: JointStep

    @property
    def guarantee(self) -> float:
        return self.step.guarantee

    @property
    def rho(self) -> float:
        return self.step.rho

    def curves(self, coarseness: int) -> LossCurves | None:
        return self.step.curve(coarseness)

    def renyi(self) -> Array:
        return self.step.renyi(ORDERS)

    def plain(self) -> DpEvent:
        mu = self.step.only_noise
        return dp_event.ZCDpEvent(self.rho) if mu is None else dp_event.GaussianDpEvent(1 / mu)


@final
@dataclass(frozen=True)
class SampledPart:
    """Releases from a Poisson sample, under add-or-remove-one or zero-out.

    All releases of a step see one sample, so they are composed first and subsampled once.
    """

    rate: float
    step: JointStep

    @property
    def guarantee(self) -> float:
        """Log(1 + q (e^epsilon - 1))."""
        return _amplified(self.step.guarantee, self.rate)

    @property
    def rho(self) -> float:
        """No more than without sampling: divergences are quasi-convex."""
        return self.step.rho

    def curves(self, coarseness: int) -> LossCurves | None:
        base = self.step.curve(coarseness)
        return base and PoissonCurves(self.rate, base)

    def renyi(self) -> Array:
        return poisson_renyi(self.rate, self.step.renyi)

    def plain(self) -> DpEvent | None:
        # Not for selections: a Gaussian of the same rho would bound them at whole orders only.
        mu = self.step.only_noise
        return mu and dp_event.PoissonSampledDpEvent(self.rate, dp_event.GaussianDpEvent(1 / mu))


@final
@dataclass(frozen=True)
class ReplacedPart:
    """Gaussian noise on a Poisson sample of which one record may be replaced.

    Attributes
    ----------
    rate : float
        q, in (0, 1).
    multiplier : float
        Standard deviation of the noise over half the replace-one sensitivity.
    """

    rate: float
    multiplier: float
    guarantee = math.inf

    @property
    def rho(self) -> float:
        return 2 / self.multiplier**2

    def curves(self, coarseness: int) -> LossCurves:
        return ReplacedGaussianCurve(self.rate, self.multiplier)

    def renyi(self) -> Array:
        """Not amplified: for a delta that is too small for the curve."""
        return ORDERS * self.rho

    def plain(self) -> None:
        return None


@final
@dataclass(frozen=True)
class SubsetPart:
    """Gaussian noise on a random subset of fixed size, under replace-one.

    Wang, Balle and Kasiviswanathan (2019), Theorem 27, as dp_accounting's Renyi accountant has it.

    Attributes
    ----------
    source_size, subset_size : int
        Numbers of records.
    mu : float
        Sensitivity over the standard deviation of the noise.
    """

    source_size: int
    subset_size: int
    mu: float
    guarantee = math.inf

    @property
    def rho(self) -> float:
        return self.mu**2 / 2

    def curves(self, coarseness: int) -> None:
        return None

    def renyi(self) -> None:
        return None

    def plain(self) -> DpEvent:
        noise = dp_event.GaussianDpEvent(1 / self.mu)
        return dp_event.SampledWithoutReplacementDpEvent(self.source_size, self.subset_size, noise)


@final
@dataclass(frozen=True)
class BoundedPart:
    """A run of which a bound at one Renyi order is known, in both directions.

    Attributes
    ----------
    order : int
        One of `ORDERS`.
    divergence : float
        The bound there; it holds below too, as divergences grow with the order.
    """

    order: int
    divergence: float
    guarantee = math.inf
    rho = math.inf

    def curves(self, coarseness: int) -> None:
        return None

    def renyi(self) -> Array:
        return np.where(self.order >= ORDERS, self.divergence, math.inf)

    def plain(self) -> None:
        return None


@final
@dataclass(frozen=True)
class SearchPart:
    """The best of a random number of trials, each epsilon-DP."""

    epsilon: float
    law: TrialLaw
    rho = math.inf

    @property
    def guarantee(self) -> float:
        return math.inf if self.law.is_poisson else self.law.guarantee(self.epsilon)

    def curves(self, coarseness: int) -> None:
        return None

    def renyi(self) -> Array:
        return self.law.renyi_of_pure(self.epsilon)

    def plain(self) -> None:
        return None


@final
@dataclass(frozen=True)
class MinimiserPart:
    """The minimiser of an objective that noise tilted."""

    curve: ObjectiveCurve
    guarantee = math.inf

    @property
    def rho(self) -> float:
        return self.curve.rho

    def curves(self, coarseness: int) -> LossCurves:
        return self.curve

    def renyi(self) -> Array:
        return self.curve.renyi(ORDERS)

    def plain(self) -> DpEvent:
        return dp_event.ZCDpEvent(self.rho)


#: What must be at least 0 in events that are not checked where they are made.
_COSTS = {
    dp_event.ZCDpEvent: ("rho", "xi"),
    dp_event.GaussianDpEvent: ("noise_multiplier",),
    dp_event.LaplaceDpEvent: ("noise_multiplier",),
    dp_event.DiscreteLaplaceDpEvent: ("noise_parameter", "sensitivity"),
}


@final
@dataclass(frozen=True)
class LibraryPart:
    """An event of dp_accounting as its accountants read it under add-or-remove-one.

    Attributes
    ----------
    event : DpEvent
        What is run.
    rate : float, default=1.0
        Probability of a record to take part in it; below 1 for Laplace noise only.
    """

    event: DpEvent
    rate: float = 1.0

    def __post_init__(self) -> None:
        # dp_accounting adds what it is given; a negative cost would give back what others spent.
        for name in _COSTS.get(type(self.event), ()):
            if not getattr(self.event, name) >= 0:
                raise UnsupportedEventError(f"No privacy loss is negative: {self.event!r}.")

    def __hash__(self) -> int:
        # Some of these events hold lists.
        return hash((repr(self.event), self.rate))

    @property
    def guarantee(self) -> float:
        """Of Laplace noise, sampled or not."""
        match self.event:
            case dp_event.LaplaceDpEvent(noise_multiplier=scale):
                return _amplified(_quotient(1, scale), self.rate)
            case dp_event.DiscreteLaplaceDpEvent(noise_parameter=each, sensitivity=moved):
                return _amplified(each * moved * (1 + 2.0**-50), self.rate)
        return math.inf

    @property
    def rho(self) -> float:
        match self.event:
            case dp_event.ZCDpEvent(xi=0):
                return float(self.event.rho)
            case dp_event.LaplaceDpEvent(noise_multiplier=scale):
                return laplace_rho(_quotient(1, scale))
        return math.inf

    def curves(self, coarseness: int) -> LossCurves | None:
        from dp_accounting.pld.privacy_loss_mechanism import AdjacencyType

        removed = self._losses(adjacency_type=AdjacencyType.REMOVE)
        added = self._losses(adjacency_type=AdjacencyType.ADD)
        if removed is None:
            return None
        if isinstance(self.event, dp_event.MixtureOfGaussiansDpEvent):
            return _LibraryCurves(_on_lattice(removed), _on_lattice(added))
        return _LibraryCurves(removed.get_delta_for_epsilon, added.get_delta_for_epsilon)

    def renyi(self) -> Array | None:
        match self.event:
            case dp_event.LaplaceDpEvent(noise_multiplier=scale):
                return self._sampled_renyi(_quotient(1, scale))
            case dp_event.DiscreteLaplaceDpEvent():
                return pure_renyi(self.guarantee, ORDERS)
        return ORDERS * self.rho if self.rho < math.inf else None

    def _sampled_renyi(self, epsilon: float) -> Array:
        if self.rate == 1:
            return laplace_renyi(epsilon, ORDERS)
        return poisson_renyi(self.rate, lambda orders: laplace_renyi(epsilon, orders))

    def plain(self) -> DpEvent:
        if self.rate == 1:
            return self.event
        return dp_event.PoissonSampledDpEvent(self.rate, self.event)

    def _losses(self, **side: Any) -> Any:
        from dp_accounting.pld import privacy_loss_mechanism as losses

        event = self.event
        match event:
            case dp_event.LaplaceDpEvent():
                scale = event.noise_multiplier
                return losses.LaplacePrivacyLoss(scale, sampling_prob=self.rate, **side)
            case dp_event.DiscreteLaplaceDpEvent():
                return losses.DiscreteLaplacePrivacyLoss(
                    event.noise_parameter, event.sensitivity, **side
                )
            case dp_event.MixtureOfGaussiansDpEvent():
                return losses.MixtureGaussianPrivacyLoss(
                    event.standard_deviation, event.sensitivities, event.sampling_probs, **side
                )
        return None


def _amplified(guarantee: float, rate: float) -> float:
    """Epsilon of what is epsilon-DP on a Poisson sample."""
    if rate == 1 or guarantee > 700:
        return guarantee
    return math.log1p(rate * math.expm1(guarantee)) * (1 + 2.0**-50)


def _quotient(one: float, other: float) -> float:
    """Divide, rounding upwards."""
    if other == math.inf:
        return 0.0
    nearest = one / other
    exact = Fraction(nearest) * Fraction(other) >= Fraction(one)
    return nearest if exact else math.nextafter(nearest, math.inf)


@final
@dataclass(frozen=True, eq=False)
class _LibraryCurves:
    """Curves of dp_accounting, a function for each direction."""

    with_record: Callable[[Array], Array]
    without_record: Callable[[Array], Array]

    def removed(self, epsilons: Array) -> Array:
        return np.clip(self.with_record(epsilons), 0.0, 1.0)

    def added(self, epsilons: Array) -> Array:
        return np.clip(self.without_record(epsilons), 0.0, 1.0)


def _on_lattice(losses: Any) -> Callable[[Array], Array]:
    """Chords for a curve that takes a millisecond a point."""
    interval = losses.connect_dots_bounds().epsilon_upper / _LATTICE_POINTS
    points = interval * np.arange(_LATTICE_POINTS + 1)
    return LatticeCurve(interval, losses.get_delta_for_epsilon(points)).at

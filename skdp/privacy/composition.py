"""A composition taken apart, with the bounds that hold for it."""

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol, final

import numpy as np
from dp_accounting import DpEvent, NeighboringRelation, dp_event
from numpy.typing import NDArray

from skdp.exceptions import UnsupportedEventError
from skdp.privacy.event_parts import parts_of
from skdp.privacy.gaussian_curve import gaussian_delta, gaussian_epsilon
from skdp.privacy.joint_steps import GaussianNoise, JointStep, PurePicks
from skdp.privacy.loss_curves import LatticeCurve
from skdp.privacy.loss_pairs import composed_curve
from skdp.privacy.parts import (
    MinimiserPart,
    Part,
    ReplacedPart,
    SampledPart,
    StepPart,
    SubsetPart,
)
from skdp.privacy.pure_curve import pure_delta, pure_epsilon, pure_rho
from skdp.privacy.renyi import ORDERS, RenyiCurve

__all__ = ["ROUGH", "Bound", "Parts"]

# Coarseness of a first search; a hundredth of the time, some digits less.
ROUGH = 16
# Between whole orders the formula for subsets only interpolates; from 64 to 256 it takes long.
_SUBSET_ORDERS = (*range(2, 65), 512, 768, 1024)
_ROUGH_SUBSET_ORDERS = (*range(2, 13), 16, 24, 32, 48, 512, 1024)


class Bound(Protocol):
    """A privacy curve that the composition does not exceed."""

    def delta_at(self, epsilon: float) -> float:
        """Least delta proved at epsilon >= 0."""

    def epsilon_at(self, delta: float) -> float:
        """Least epsilon proved at delta in [0, 1]."""


@final
@dataclass(frozen=True)
class Parts:
    """A composition taken apart: all Gaussians as one, pure releases counted, the others.

    Attributes
    ----------
    mu : float
        sqrt(sum mu_i^2), what Gaussians compose to exactly (Dong, Roth and Su, 2022).
        Infinite where something was not private at all.
    pure : tuple of (epsilon, count)
        Sorted, so that the order of composition cannot matter.
    others : tuple of (Part, count)
        What has no closed form.
    """

    mu: float
    pure: tuple[tuple[float, int], ...]
    others: tuple[tuple[Part, int], ...]

    @classmethod
    def of(cls, event: DpEvent) -> "Parts":
        squares: list[float] = []
        pure: Counter[float] = Counter()
        others: Counter[Part] = Counter()
        for part, count in parts_of(event):
            match part:
                case StepPart(step=JointStep(releases=(GaussianNoise(mu=mu),))):
                    squares.append(count * mu * mu)
                case StepPart(step=JointStep(releases=(PurePicks(epsilon=epsilon, picks=picks),))):
                    pure[epsilon] += count * picks
                case StepPart(step=step) if not step.private:
                    squares.append(math.inf)
                case _:
                    others[part] += count
        mu = math.sqrt(math.fsum(squares)) * (1 + 2.0**-50)
        return cls(mu, tuple(sorted(pure.items())), tuple(sorted(others.items(), key=repr)))

    @property
    def rho(self) -> float:
        """Of zero-concentrated DP; rho adds up.

        Raises
        ------
        UnsupportedEventError
            If a part has none.
        """
        unknown = [part for part, _ in self.others if _rho(part) == math.inf]
        if unknown:
            raise UnsupportedEventError(f"No rho is known for {unknown[0]}.")
        return math.fsum(_rho(part) * count for part, count in self._all)

    @property
    def sampled(self) -> bool:
        """Whether some of it sees random samples, and costs a rho as if these were all records."""
        kinds = (SampledPart, ReplacedPart, SubsetPart)
        return any(
            isinstance(part, kinds) and part.guarantee == math.inf for part, _ in self.others
        )

    def bounds(self, coarseness: int = 1) -> tuple[Bound, ...]:
        """Return bounds that hold at once: at each point the least of them is proved.

        Parameters
        ----------
        coarseness : int, default=1
            Of the grid; more is faster and says less.

        Raises
        ------
        UnsupportedEventError
            If there is none.
        """
        if self.mu == math.inf or self.only_noise:
            return (_Sum(0.0, self.mu),)
        if self._is_one_pure:
            return (_OnePure(self.pure[0][0]),)
        if self._one_curve is not None:
            return (self._one_curve,)
        whole = _grid(self, coarseness) or _plain(self, coarseness)
        candidates = (whole, _renyi(self), self._without_sampling())
        found = tuple(bound for bound in candidates if bound is not None)
        if not found:
            kinds = ", ".join(sorted({str(part) for part, _ in self.others}))
            raise UnsupportedEventError(f"No bound is known for all of {kinds} together.")
        return (_Sum(self._guarantee, self.mu), *found)

    @property
    def only_noise(self) -> bool:
        """Whether there are Gaussians and nothing else."""
        return not (self.pure or self.others)

    def renyi(self) -> NDArray[np.float64] | None:
        """Divergences of all of it at `ORDERS`, bounds in both directions; None if unknown."""
        pairs = [(part.renyi(), count) for part, count in self._all]
        known = [divergences * count for divergences, count in pairs if divergences is not None]
        nothing = np.zeros(ORDERS.size)
        return np.sum([nothing, *known], axis=0) if len(known) == len(pairs) else None

    def _without_sampling(self) -> "_Sum | None":
        """Subsets cost no more than all records do (divergences are convex in the mixture).

        For noise so large that Renyi divergences of moderate orders say nothing.
        """
        if self.pure or not all(isinstance(part, SubsetPart) for part, _ in self.others):
            return None
        squares = [part.rho * 2 * count for part, count in self.others]
        return _Sum(0.0, math.sqrt(math.fsum([self.mu**2, *squares])) * (1 + 2.0**-50))

    @property
    def _is_one_pure(self) -> bool:
        return self.mu == 0 and not self.others and sum(count for _, count in self.pure) == 1

    @property
    def _one_curve(self) -> "Bound | None":
        """The curve of a single minimiser, in closed form."""
        match (self.mu, self.pure, self.others):
            case (0.0, (), ((MinimiserPart(curve=curve), 1),)):
                return curve
        return None

    @property
    def guarantee(self) -> float:
        """All of it is so much DP with delta = 0; infinite where it is not."""
        return math.inf if self.mu > 0 else self._guarantee

    @property
    def _guarantee(self) -> float:
        """Of all but the Gaussian part, rounded upwards: half a unit less would not be private."""
        others = [(part.guarantee, count) for part, count in self.others]
        if math.inf in (guarantee for guarantee, _ in others):
            return math.inf
        terms = (Fraction(epsilon) * count for epsilon, count in (*self.pure, *others))
        exact = sum(terms, Fraction(0))
        nearest = float(exact)
        return nearest if nearest >= exact else math.nextafter(nearest, math.inf)

    @property
    def _all(self) -> tuple[tuple[Part, int], ...]:
        noise = ((StepPart(JointStep((GaussianNoise(self.mu),))), 1),) if self.mu else ()
        pure = ((StepPart(JointStep((PurePicks(epsilon),))), count) for epsilon, count in self.pure)
        return (*noise, *pure, *self.others)


def _rho(part: Part) -> float:
    """Its own, or that of whatever has its pure guarantee."""
    return min(part.rho, pure_rho(part.guarantee) * (1 + 2.0**-49))


@final
@dataclass(frozen=True)
class _Sum:
    """The Gaussian part at what the sum of the pure guarantees leaves over."""

    guarantee: float
    mu: float

    def delta_at(self, epsilon: float) -> float:
        if self.mu == math.inf or epsilon < self.guarantee or self.guarantee == math.inf:
            return 1.0
        return gaussian_delta(self.mu, epsilon - self.guarantee) if self.mu else 0.0

    def epsilon_at(self, delta: float) -> float:
        if delta == 1:
            return 0.0
        if self.mu == math.inf:
            return math.inf
        return self.guarantee + (gaussian_epsilon(self.mu, delta) if self.mu else 0.0)


@final
@dataclass(frozen=True)
class _OnePure:
    """One release of which only a pure guarantee is known."""

    guarantee: float

    def delta_at(self, epsilon: float) -> float:
        return pure_delta(self.guarantee, epsilon)

    def epsilon_at(self, delta: float) -> float:
        return pure_epsilon(self.guarantee, delta)


@final
@dataclass(frozen=True)
class _Library:
    """What dp_accounting's Renyi accountant says."""

    accountant: Any

    def delta_at(self, epsilon: float) -> float:
        return float(self.accountant.get_delta(min(epsilon, 1e6)))

    def epsilon_at(self, delta: float) -> float:
        return float(self.accountant.get_epsilon(delta))


# A plan is priced again when it is stated, and its curve drawn.
@lru_cache(maxsize=8)
def _grid(parts: Parts, coarseness: int) -> LatticeCurve | None:
    pairs = [(part.curves(coarseness), count) for part, count in parts._all]
    known = [(curves, count) for curves, count in pairs if curves is not None]
    return composed_curve(known, coarseness) if len(known) == len(pairs) else None


@lru_cache(maxsize=8)
def _renyi(parts: Parts) -> RenyiCurve | None:
    divergences = parts.renyi()
    return None if divergences is None else RenyiCurve(divergences)


@lru_cache(maxsize=8)
def _plain(parts: Parts, coarseness: int) -> Bound | None:
    from dp_accounting.rdp import RdpAccountant

    pairs = [(part.plain(), count) for part, count in parts._all]
    known = [dp_event.SelfComposedDpEvent(event, count) for event, count in pairs if event]
    accountant = RdpAccountant()
    if any(isinstance(part, SubsetPart) for part, _ in parts.others):
        orders = _SUBSET_ORDERS if coarseness == 1 else _ROUGH_SUBSET_ORDERS
        accountant = RdpAccountant(orders, NeighboringRelation.REPLACE_ONE)
    whole = dp_event.ComposedDpEvent(known)
    if len(known) < len(pairs) or not accountant.supports(whole):
        return None
    try:
        return _Library(accountant.compose(whole))
    except ValueError:  # its sums of rounded terms may have a negative logarithm
        return None

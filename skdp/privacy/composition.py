"""A composition taken apart, with a bound for each kind of part."""

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from dp_accounting import DpEvent, PrivacyAccountant, dp_event
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant

from skdp.exceptions import UnsupportedEventError
from skdp.privacy.gaussian_curve import gaussian_delta, gaussian_epsilon
from skdp.privacy.pure_curve import pure_delta, pure_epsilon, pure_rho

__all__ = ["Parts"]

_INTERVAL = 1e-4
# Cells of a loss distribution over its range, at most: beyond, a convolution takes minutes.
_CELLS = 500_000


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
    others : tuple of (DpEvent, count)
        What has no closed form here.
    """

    mu: float
    pure: tuple[tuple[float, int], ...]
    others: tuple[tuple[DpEvent, int], ...]

    @classmethod
    def of(cls, plain: DpEvent) -> "Parts":
        squares: list[float] = []
        pure: Counter[float] = Counter()
        others = []
        for leaf, count in _leaves(plain, 1):
            match leaf:
                case dp_event.GaussianDpEvent(noise_multiplier=multiplier) if multiplier > 0:
                    squares.append(count / multiplier / multiplier)
                case dp_event.GaussianDpEvent() | dp_event.NonPrivateDpEvent():
                    squares.append(math.inf)
                case dp_event.DiscreteLaplaceDpEvent(sensitivity=1) if leaf.noise_parameter > 0:
                    pure[leaf.noise_parameter] += count
                case _:
                    others.append((leaf, count))
        mu = math.sqrt(math.fsum(squares)) * (1 + 2.0**-50)
        return cls(mu, tuple(sorted(pure.items())), tuple(sorted(others, key=repr)))

    @property
    def pure_sum(self) -> float:
        """Of the pure epsilons, rounded upwards: half a unit less would not be private."""
        exact = sum((Fraction(epsilon) * count for epsilon, count in self.pure), Fraction(0))
        nearest = float(exact)
        return nearest if nearest >= exact else math.nextafter(nearest, math.inf)

    @property
    def rho(self) -> float:
        """Of the Gaussian and the pure parts."""
        pure = (pure_rho(epsilon) * count for epsilon, count in self.pure)
        return math.fsum([self.mu**2 / 2, *pure])

    def exact_delta(self, epsilon: float) -> float | None:
        if self.mu == math.inf:
            return 1.0
        if self.others:
            return None
        if not self.pure:
            return gaussian_delta(self.mu, epsilon) if self.mu else 0.0
        return pure_delta(self.pure[0][0], epsilon) if self._one_pure else None

    def exact_epsilon(self, delta: float) -> float | None:
        if self.mu == math.inf:
            return 0.0 if delta == 1 else math.inf
        if self.others:
            return None
        if not self.pure:
            return gaussian_epsilon(self.mu, delta) if self.mu else 0.0
        return pure_epsilon(self.pure[0][0], delta) if self._one_pure else None

    def added_delta(self, epsilon: float) -> float:
        """The Gaussian part at what the sum of the pure epsilons leaves over."""
        left = epsilon - self.pure_sum
        if self.others or left < 0:
            return 1.0
        return gaussian_delta(self.mu, left) if self.mu else 0.0

    def added_epsilon(self, delta: float) -> float:
        if self.others:
            return math.inf
        return self.pure_sum + (gaussian_epsilon(self.mu, delta) if self.mu else 0.0)

    def accountant(self) -> PrivacyAccountant:
        for accountant, pure in (
            (PLDAccountant(value_discretization_interval=self._interval), _response_pair),
            (RdpAccountant(), _concentrated),
        ):
            composed = self._composed(pure)
            if accountant.supports(composed):
                return accountant.compose(composed)
        kinds = sorted({type(event).__name__ for event, _ in self.others})
        raise UnsupportedEventError(f"No accountant has a bound for {', '.join(kinds)} here.")

    @property
    def _interval(self) -> float:
        """1e-4, doubled until the range of the privacy loss fits into the cells."""
        cells = (self.rho + 8 * math.sqrt(2 * self.rho)) / _INTERVAL
        return _INTERVAL * 2.0 ** max(0, math.ceil(math.log2(max(cells, 1) / _CELLS)))

    def _composed(self, pure_event: Callable[[float], DpEvent]) -> DpEvent:
        gaussian = [dp_event.GaussianDpEvent(1 / self.mu)] if self.mu else []
        counted = [(pure_event(epsilon), count) for epsilon, count in self.pure]
        repeated = [dp_event.SelfComposedDpEvent(*item) for item in (*counted, *self.others)]
        return dp_event.ComposedDpEvent([*gaussian, *repeated])

    @property
    def _one_pure(self) -> bool:
        return self.mu == 0 and sum(count for _, count in self.pure) == 1


def _leaves(event: DpEvent, count: int) -> Iterator[tuple[DpEvent, int]]:
    match event:
        case dp_event.NoOpDpEvent():
            return
        case dp_event.ComposedDpEvent():
            for part in event.events:
                yield from _leaves(part, count)
        case dp_event.SelfComposedDpEvent():
            yield from _leaves(event.event, count * _repetitions(event.count))
        case _ if count:
            yield event, count


def _repetitions(count: int) -> int:
    if count != int(count) or count < 0:
        raise UnsupportedEventError(f"An event cannot be repeated {count!r} times.")
    return int(count)


def _response_pair(epsilon: float) -> DpEvent:
    """The randomised response pair, in the form that `accountant_event` gives it."""
    return dp_event.DiscreteLaplaceDpEvent(epsilon, 1)


def _concentrated(epsilon: float) -> DpEvent:
    return dp_event.ZCDpEvent(pure_rho(epsilon))

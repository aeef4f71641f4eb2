"""What a ledger's entry costs, and what costs may add up to; fixed when the ledger is created."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, final

from skdp.exceptions import UnsupportedEventError
from skdp.privacy.budget import Neighbours, PrivacyBudget
from skdp.privacy.ledger import Spending

if TYPE_CHECKING:
    from dp_accounting import DpEvent

__all__ = ["BasicFilter", "GaussianSumFilter", "LedgerFilter", "Price", "RenyiOrderFilter"]

#: Prices are rounded numbers; they are charged with so much more.
_ROUNDED_UP = 1 + 2.0**-40


class Price(NamedTuple):
    """What is added up, exactly: a cost in the filter's own currency, and a delta."""

    cost: Fraction
    delta: Fraction

    def plus(self, other: "Price") -> "Price":
        """Return the sums."""
        return Price(self.cost + other.cost, self.delta + other.delta)

    def within(self, limit: "Price") -> bool:
        """Whether neither exceeds the limit."""
        return self.cost <= limit.cost and self.delta <= limit.delta


FREE = Price(Fraction(0), Fraction(0))


def exact(number: float) -> Fraction:
    """Return the decimal number that was written, so that 0.1 + 0.2 is 0.3."""
    return Fraction(repr(float(number)))


@dataclass(frozen=True)
class LedgerFilter(ABC):
    """A cap and a way to count against it that holds for releases chosen adaptively.

    Attributes
    ----------
    cap : PrivacyBudget
        What all admitted releases promise together.
    neighbours : Neighbours
        The relation that all share.
    slack : float
        Part of the cap's delta that is set aside for the deltas of entries.
    """

    name: ClassVar[str]
    currency: ClassVar[str]
    theorem: ClassVar[str]

    cap: PrivacyBudget
    neighbours: Neighbours
    slack: float

    @property
    @abstractmethod
    def limit(self) -> Price:
        """What prices may add up to."""

    @abstractmethod
    def of_event(self, event: "DpEvent", budget: PrivacyBudget | None) -> Price:
        """Price of a release whose event is known, and possibly what it was asked to promise."""

    @abstractmethod
    def of_budget(self, budget: PrivacyBudget) -> Price:
        """Price of a release of which an (epsilon, delta) pair is all that is known."""

    @abstractmethod
    def left(self, spent: Price) -> Spending:
        """Greatest epsilon of one more release (Gaussian: at the cap's delta), delta left."""

    def _parts(self, event: "DpEvent") -> Any:
        from skdp.privacy.composition import Parts
        from skdp.privacy.events import relation_of

        if relation_of(event) not in (self.neighbours, None):
            raise UnsupportedEventError(
                f"This ledger counts {self.neighbours.value} guarantees; the event is of another "
                "relation."
            )
        return Parts.of(event)


def _charged(cost: float, event: "DpEvent") -> Price:
    from skdp.privacy.events import precision_delta_of

    if not math.isfinite(cost):
        raise UnsupportedEventError("Nothing is known that bounds what this release costs.")
    return Price(Fraction(cost * _ROUNDED_UP), Fraction(precision_delta_of(event) * _ROUNDED_UP))


@final
@dataclass(frozen=True)
class BasicFilter(LedgerFilter):
    """Sums of epsilon and of delta (Rogers et al. 2016, section 3), exact decimal numbers."""

    name = "basic"
    currency = "epsilon"
    theorem = "sums of epsilon and delta, Rogers, Roth, Ullman and Vadhan (2016)"

    @property
    def limit(self) -> Price:
        return Price(exact(self.cap.epsilon), exact(self.cap.delta))

    def of_event(self, event: "DpEvent", budget: PrivacyBudget | None) -> Price:
        if budget is None:
            from skdp.privacy.accounting import epsilon_of
            from skdp.privacy.events import precision_delta_of

            self._parts(event)
            budget = PrivacyBudget(
                max(epsilon_of(event, precision_delta_of(event)), math.ulp(0.0)),
                precision_delta_of(event),
            )
        return self.of_budget(budget)

    def of_budget(self, budget: PrivacyBudget) -> Price:
        if math.isinf(budget.epsilon):
            raise UnsupportedEventError("No epsilon is proved for this release at this delta.")
        return Price(exact(budget.epsilon), exact(budget.delta))

    def left(self, spent: Price) -> Spending:
        limit = self.limit
        return Spending(float(limit.cost - spent.cost), float(limit.delta - spent.delta))


@final
@dataclass(frozen=True)
class GaussianSumFilter(LedgerFilter):
    """Sum of mu_i^2 <= mu^2, where mu-GDP is (epsilon, delta - slack)-DP; Gaussians alone.

    References
    ----------
    Smith and Thakurta (2022); Koskela, Tobaben and Honkela (2023).
    """

    name = "gaussian"
    currency = "mu^2"
    theorem = "Gaussian filter, Smith and Thakurta (2022), Koskela et al. (2023)"

    @property
    def limit(self) -> Price:
        from skdp.privacy.gaussian_curve import gaussian_mu

        mu = gaussian_mu(self.cap.epsilon, self.cap.delta - self.slack)
        return Price(Fraction(mu * mu / _ROUNDED_UP), exact(self.slack))

    def of_event(self, event: "DpEvent", budget: PrivacyBudget | None) -> Price:
        parts = self._parts(event)
        if not parts.only_noise:
            raise UnsupportedEventError(
                "A Gaussian ledger counts Gaussian releases alone, without sampling. Choose "
                "Gaussian noise, or make a ledger with filter='renyi' or 'basic'."
            )
        return _charged(parts.mu**2, event)

    def of_budget(self, budget: PrivacyBudget) -> Price:
        raise UnsupportedEventError("A Gaussian ledger has no price for an (epsilon, delta) pair.")

    def left(self, spent: Price) -> Spending:
        from skdp.privacy.gaussian_curve import gaussian_epsilon

        limit = self.limit
        mu = math.sqrt(max(0.0, float(limit.cost - spent.cost)))
        epsilon = gaussian_epsilon(mu, self.cap.delta - self.slack) if mu else 0.0
        return Spending(epsilon, float(limit.delta - spent.delta))


@final
@dataclass(frozen=True)
class RenyiOrderFilter(LedgerFilter):
    """Sum of r_i(a) <= epsilon - log((a - 1)/a) + (log(delta - slack) + log a)/(a - 1), one a.

    The order a is fixed at creation. To keep the bound at more orders would admit less and prove no
    more; to take the order that suits the entries would need a union bound.

    References
    ----------
    Feldman and Zrnic (2021), Theorem 3.1; Whitehouse, Ramdas, Rogers and Wu (2023) for the deltas;
    Canonne, Kamath and Steinke (2020), Proposition 12, for the conversion.
    """

    name = "renyi"
    currency = "divergence"
    theorem = "Renyi filter of one order, Feldman and Zrnic (2021), Theorem 3.1"

    order: int

    @classmethod
    def best_order(cls, cap: PrivacyBudget, slack: float) -> int:
        """Return the order that affords the most Gaussian releases."""
        from skdp.privacy.renyi import ORDERS, RenyiCurve

        def rho(order: float) -> float:
            return RenyiCurve.divergence_at(int(order), cap.epsilon, cap.delta - slack) / order

        return int(max(ORDERS, key=rho))

    @property
    def limit(self) -> Price:
        from skdp.privacy.renyi import RenyiCurve

        total = RenyiCurve.divergence_at(self.order, self.cap.epsilon, self.cap.delta - self.slack)
        if total <= 0:
            raise ValueError(f"At order {self.order} nothing can be afforded under {self.cap}.")
        return Price(Fraction(total / _ROUNDED_UP), exact(self.slack))

    def of_event(self, event: "DpEvent", budget: PrivacyBudget | None) -> Price:
        from skdp.privacy.renyi import ORDERS

        divergences = self._parts(event).renyi()
        if divergences is not None:
            return _charged(float(divergences[list(ORDERS).index(self.order)]), event)
        if budget is None:
            raise UnsupportedEventError("No Renyi divergence is known for this release.")
        return self.of_budget(budget)

    def of_budget(self, budget: PrivacyBudget) -> Price:
        if math.isinf(budget.epsilon):
            raise UnsupportedEventError("No epsilon is proved for this release at this delta.")
        return Price(Fraction(self._response(budget.epsilon) * _ROUNDED_UP), exact(budget.delta))

    def left(self, spent: Price) -> Spending:
        limit = self.limit
        rest = float(limit.cost - spent.cost)
        low, high = 0.0, 4 * rest + 4
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self._response(middle) <= rest else (low, middle)
        return Spending(low, float(limit.delta - spent.delta))

    def _response(self, epsilon: float) -> float:
        """Divergence of randomised response, the worst of all epsilon-DP releases."""
        import numpy as np

        from skdp.privacy.pure_curve import pure_renyi

        return float(pure_renyi(epsilon, np.array([float(self.order)]))[0])

"""What a ledger's entry costs, and what costs may add up to; fixed when the ledger is created."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, final

from skdp.exceptions import UnsupportedEventError
from skdp.privacy.budget import Neighbours, PrivacyBudget
from skdp.privacy.ledger import Spending

if TYPE_CHECKING:
    from dp_accounting import DpEvent

__all__ = ["BasicFilter", "GaussianSumFilter", "LedgerFilter", "Price"]

#: Prices are rounded numbers; they are charged with so much more.
ROUNDED_UP = 1 + 2.0**-40


class Price(NamedTuple):
    """What is added up, exactly: a cost in the filter's own currency, and a delta."""

    cost: Fraction
    delta: Fraction

    def plus(self, other: "Price") -> "Price":
        """Return the sums."""
        return Price(self.cost + other.cost, self.delta + other.delta)

    def times(self, count: int) -> "Price":
        """Return so many of it."""
        return Price(self.cost * count, self.delta * count)

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

    def share(self, price: Price) -> float:
        """Return how much of the limit a price takes, the greater of its two shares."""
        limit = self.limit
        shares = [price.cost / limit.cost]
        if limit.delta:
            shares.append(price.delta / limit.delta)
        return float(max(shares))

    def promised(self, event: "DpEvent", budget: PrivacyBudget) -> PrivacyBudget:
        """Return what is promised, finite precision included."""
        from skdp.privacy.events import precision_delta_of

        return PrivacyBudget(budget.epsilon, max(budget.delta, precision_delta_of(event)))

    def _parts(self, event: "DpEvent") -> Any:
        from skdp.privacy.composition import Parts
        from skdp.privacy.events import relation_of

        if relation_of(event) not in (self.neighbours, None):
            raise UnsupportedEventError(
                f"This ledger counts {self.neighbours.value} guarantees; the event is of another "
                "relation."
            )
        return Parts.of(event)


def charged(cost: float, event: "DpEvent") -> Price:
    """Return the price of what costs so much, with the delta of its finite precision."""
    from skdp.privacy.events import precision_delta_of

    if not 0 <= cost < math.inf:
        raise UnsupportedEventError("Nothing is known that bounds what this release costs.")
    return Price(Fraction(cost * ROUNDED_UP), Fraction(precision_delta_of(event) * ROUNDED_UP))


@final
@dataclass(frozen=True)
class BasicFilter(LedgerFilter):
    """Sums of epsilon and of delta (Rogers et al. 2016, section 3), exact decimal numbers."""

    name = "basic"
    currency = "epsilon"
    theorem = "sums of epsilon and delta, Rogers, Roth, Ullman and Vadhan (2016)"

    @cached_property
    def limit(self) -> Price:
        return Price(exact(self.cap.epsilon), exact(self.cap.delta))

    def of_event(self, event: "DpEvent", budget: PrivacyBudget | None) -> Price:
        return self._without_promise(event) if budget is None else self.of_budget(budget)

    def promised(self, event: "DpEvent", budget: PrivacyBudget) -> PrivacyBudget:
        """Return what is promised; finite precision is beside it."""
        return budget

    def of_budget(self, budget: PrivacyBudget) -> Price:
        if math.isinf(budget.epsilon):
            raise UnsupportedEventError("No epsilon is proved for this release at this delta.")
        return Price(exact(budget.epsilon), exact(budget.delta))

    def left(self, spent: Price) -> Spending:
        limit = self.limit
        return Spending(float(limit.cost - spent.cost), float(limit.delta - spent.delta))

    def _without_promise(self, event: "DpEvent") -> Price:
        from skdp.privacy.accounting import epsilon_of
        from skdp.privacy.events import precision_delta_of

        self._parts(event)
        delta = precision_delta_of(event)
        epsilon = epsilon_of(event, delta)
        if math.isinf(epsilon):
            raise UnsupportedEventError(
                "This event promises no epsilon at a delta of "
                f"{delta:g}, and a basic ledger adds up (epsilon, delta). Say which delta of "
                "remaining().delta it may take: `reserve([event], delta=...)` charges the least "
                "epsilon at that delta; or spend_budget(PrivacyBudget(epsilon, delta), ...)."
            )
        return Price(exact(epsilon), exact(delta))


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

    @cached_property
    def limit(self) -> Price:
        from skdp.privacy.gaussian_curve import gaussian_mu

        mu = gaussian_mu(self.cap.epsilon, self.cap.delta - self.slack)
        return Price(Fraction(mu * mu / ROUNDED_UP), exact(self.slack))

    def of_event(self, event: "DpEvent", budget: PrivacyBudget | None) -> Price:
        parts = self._parts(event)
        if not parts.only_noise:
            raise UnsupportedEventError(
                "A Gaussian ledger counts Gaussian releases alone, without sampling. Choose "
                "Gaussian noise, or make a ledger with filter='renyi', 'zcdp' or 'basic'."
            )
        return charged(parts.mu**2, event)

    def of_budget(self, budget: PrivacyBudget) -> Price:
        raise UnsupportedEventError("A Gaussian ledger has no price for an (epsilon, delta) pair.")

    def left(self, spent: Price) -> Spending:
        from skdp.privacy.gaussian_curve import gaussian_epsilon

        limit = self.limit
        mu = math.sqrt(max(0.0, float(limit.cost - spent.cost)))
        epsilon = gaussian_epsilon(mu, self.cap.delta - self.slack) if mu else 0.0
        return Spending(epsilon, float(limit.delta - spent.delta))

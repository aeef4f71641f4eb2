"""Stopping before a run whose privacy parameters depend on its own releases costs too much.

Theorems on composition want the parameters of all releases fixed beforehand. Where they are chosen
on the way, what holds is a filter: a total is fixed before the first release, each release is
priced before it is made, and the one that would exceed the total is not made. The promise is
the total, whatever was done; it is not what the releases that were made add up to, and privacy
loss distributions of adaptively chosen releases are not composed here at all.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Self, final

import numpy as np
from dp_accounting import DpEvent

from skdp._validation import positive
from skdp.exceptions import UnsupportedEventError
from skdp.privacy.budget import Neighbours
from skdp.privacy.composition import Parts
from skdp.privacy.events import GaussianReleaseDpEvent, precision_delta_of, relation_of
from skdp.privacy.filter_events import RenyiBoundDpEvent
from skdp.privacy.renyi import ORDERS

__all__ = ["FilterRun", "GaussianFilter", "PrivacyFilter", "RenyiFilter"]

#: Costs are sums of rounded numbers; the promise covers so much more than the sum may be.
_ROUNDED_UP = 1 + 2.0**-40


@dataclass(frozen=True)
class PrivacyFilter(ABC):
    """A total, fixed before the first release, and the price of a release.

    Attributes
    ----------
    neighbours : Neighbours
        The relation that all releases must share.
    delta : float
        Total of the finite-precision deltas of releases.
    """

    neighbours: Neighbours
    delta: float

    @property
    @abstractmethod
    def limit(self) -> float:
        """What costs may add up to."""

    @property
    @abstractmethod
    def event(self) -> DpEvent:
        """What all admitted releases cost together; does not depend on which they are."""

    @property
    @abstractmethod
    def theorem(self) -> str:
        """Why it is no more."""

    @property
    @abstractmethod
    def gaussian_mu(self) -> float:
        """Root of the sum of mu_i^2 at which Gaussian releases use the total up."""

    @abstractmethod
    def _cost(self, parts: Parts) -> float | None:
        """Price of a release; None where none is known, infinite where nothing is protected."""

    def cost(self, event: DpEvent) -> float:
        """Return the price of a release, given what was released before.

        Raises
        ------
        UnsupportedEventError
            If the filter has no price for it, or it refers to another relation.
        """
        if relation_of(event) not in (self.neighbours, None):
            raise UnsupportedEventError(f"This filter is for {self.neighbours.value} alone.")
        price = self._cost(Parts.of(event))
        if price is None:
            raise UnsupportedEventError(f"{type(self).__name__} has no price for this release.")
        return price

    def start(self) -> "FilterRun":
        """Return what counts the releases of one run."""
        return FilterRun(self)


@final
class FilterRun:
    """Counts the releases of one run; see `PrivacyFilter`.

    Examples
    --------
    >>> from skdp.privacy.events import GaussianReleaseDpEvent
    >>> run = GaussianFilter.of_rho(0.25, Neighbours.ZERO_OUT).start()
    >>> epoch = GaussianReleaseDpEvent(1.0, "l2", "zero-out", 2.0)
    >>> [run.admits(epoch) for _ in range(3)]
    [True, True, False]
    """

    def __init__(self, privacy_filter: PrivacyFilter) -> None:
        self._filter = privacy_filter
        self._costs: list[float] = []
        self._deltas: list[float] = []

    def admits(self, event: DpEvent) -> bool:
        """Whether a release may be made; if so, it counts from now on."""
        costs = [*self._costs, self._filter.cost(event)]
        deltas = [*self._deltas, precision_delta_of(event)]
        if not self._within(math.fsum(costs), math.fsum(deltas)):
            return False
        self._costs, self._deltas = costs, deltas
        return True

    def _within(self, cost: float, delta: float) -> bool:
        return cost <= self._filter.limit * _ROUNDED_UP and delta <= self._filter.delta


@final
@dataclass(frozen=True)
class GaussianFilter(PrivacyFilter):
    """Gaussian releases with sum of mu_i^2 at most mu^2 are together mu-GDP, exactly.

    In terms of zero-concentrated privacy rho_i = mu_i^2 / 2 and rho = mu^2 / 2, so that this is
    also the rho filter, with an exact conversion to epsilon and delta.

    Parameters
    ----------
    neighbours : Neighbours
        The relation that all releases must share.
    delta : float
        Total of the finite-precision deltas of releases.
    mu : float
        Total, above 0.

    References
    ----------
    Smith and Thakurta (2022), Fully adaptive composition for Gaussian differential privacy;
    Koskela, Tobaben and Honkela (2023), Individual privacy accounting with Gaussian differential
    privacy.

    Examples
    --------
    >>> from skdp.privacy.accounting import epsilon_of
    >>> total = GaussianFilter.of_rho(0.78125, Neighbours.ZERO_OUT)
    >>> round(epsilon_of(total.event, 1e-5), 3)
    5.68
    """

    mu: float

    def __post_init__(self) -> None:
        positive(mu=self.mu)

    @classmethod
    def of_rho(cls, rho: float, neighbours: Neighbours) -> Self:
        """Return the filter of a total rho, with 1e-15 for finite precision."""
        positive(rho=rho)
        return cls(neighbours, 1e-15, math.sqrt(2 * rho))

    @property
    def limit(self) -> float:
        return self.mu**2

    @property
    def event(self) -> DpEvent:
        return GaussianReleaseDpEvent(
            self.mu * _ROUNDED_UP, "l2", self.neighbours, 1.0, delta=self.delta
        )

    @property
    def theorem(self) -> str:
        return "Gaussian filter, Smith and Thakurta (2022), Koskela et al. (2023)"

    @property
    def gaussian_mu(self) -> float:
        return self.mu

    def _cost(self, parts: Parts) -> float | None:
        return parts.mu**2 if parts.only_noise else None


@final
@dataclass(frozen=True)
class RenyiFilter(PrivacyFilter):
    """Releases whose divergences of one order add up to at most a total have no more together.

    Parameters
    ----------
    neighbours : Neighbours
        The relation that all releases must share.
    delta : float
        Total of the finite-precision deltas of releases.
    order : int
        The order, fixed beforehand: the best order after the run would depend on it.
    divergence : float
        Total, above 0.

    References
    ----------
    Feldman and Zrnic (2021), Individual privacy accounting via a Renyi filter, Theorem 3.1.

    Examples
    --------
    >>> from dp_accounting import dp_event
    >>> from skdp.privacy.events import GaussianReleaseDpEvent
    >>> run = RenyiFilter(Neighbours.ZERO_OUT, 0.0, 8, 0.01).start()
    >>> step = GaussianReleaseDpEvent(1.0, "l2", "zero-out", 2.0)
    >>> epoch = dp_event.SelfComposedDpEvent(dp_event.PoissonSampledDpEvent(0.01, step), 25)
    >>> [run.admits(epoch) for _ in range(4)]
    [True, True, True, False]
    """

    order: int
    divergence: float

    def __post_init__(self) -> None:
        positive(divergence=self.divergence)
        if self.order not in ORDERS:
            raise ValueError(f"order must be among the orders computed, got {self.order!r}.")

    @property
    def limit(self) -> float:
        return self.divergence

    @property
    def event(self) -> DpEvent:
        total = self.divergence * _ROUNDED_UP
        return RenyiBoundDpEvent(self.order, total, self.neighbours, delta=self.delta)

    @property
    def theorem(self) -> str:
        return f"Renyi filter of order {self.order}, Feldman and Zrnic (2021), Theorem 3.1"

    @property
    def gaussian_mu(self) -> float:
        return math.sqrt(2 * self.divergence / self.order)

    def _cost(self, parts: Parts) -> float | None:
        divergences = parts.renyi()
        return None if divergences is None else float(divergences[self._place])

    @property
    def _place(self) -> int:
        return int(np.searchsorted(ORDERS, self.order))

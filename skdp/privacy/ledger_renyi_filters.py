"""Filters that count Renyi divergences: at one order, or at all of them."""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

from skdp.exceptions import UnsupportedEventError
from skdp.privacy.budget import PrivacyBudget
from skdp.privacy.ledger import Spending
from skdp.privacy.ledger_filters import ROUNDED_UP, LedgerFilter, Price, charged, exact

if TYPE_CHECKING:
    from dp_accounting import DpEvent

__all__ = ["RenyiOrderFilter", "ZcdpFilter"]


@dataclass(frozen=True)
class _ByResponse(LedgerFilter):
    """An (epsilon, delta) pair counts as randomised response, and its delta from the slack."""

    def of_budget(self, budget: PrivacyBudget) -> Price:
        if math.isinf(budget.epsilon):
            raise UnsupportedEventError("No epsilon is proved for this release at this delta.")
        return Price(Fraction(self.response(budget.epsilon) * ROUNDED_UP), exact(budget.delta))

    def _cheaper(
        self, event: "DpEvent", cost: float, budget: PrivacyBudget | None, unknown: str
    ) -> Price:
        """Price what an event costs, or what it promises: whichever takes the smaller share."""
        prices = [charged(cost, event)] if cost != math.inf else []
        if budget is not None and budget.epsilon < math.inf:
            prices.append(self.of_budget(self.promised(event, budget)))
        if not prices:
            raise UnsupportedEventError(f"{unknown} {_BY_PROMISE}")
        return min(prices, key=self.share)

    def left(self, spent: Price) -> Spending:
        rest = float(self.limit.cost - spent.cost)
        delta = float(self.limit.delta - spent.delta)
        return Spending(_greatest(lambda e: self.response(e) * ROUNDED_UP, rest), delta)

    @abstractmethod
    def response(self, epsilon: float) -> float:
        """Cost of randomised response, the worst of all epsilon-DP releases."""


@final
@dataclass(frozen=True)
class RenyiOrderFilter(_ByResponse):
    """Sum of r_i(a) <= epsilon - log((a - 1)/a) + (log(delta - slack) + log a)/(a - 1), one a.

    The order a is fixed at creation. To keep a bound at more orders, as `ZcdpFilter` does, admits
    less and proves the same (epsilon, delta); to take the order that suits the entries would need a
    union bound.

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

    @cached_property
    def limit(self) -> Price:
        from skdp.privacy.renyi import RenyiCurve

        total = RenyiCurve.divergence_at(self.order, self.cap.epsilon, self.cap.delta - self.slack)
        if total <= 0:
            raise ValueError(
                f"At order {self.order} nothing can be afforded under {self.cap}: take a greater "
                "order, or None."
            )
        return Price(Fraction(total / ROUNDED_UP), exact(self.slack))

    def of_event(self, event: "DpEvent", budget: PrivacyBudget | None) -> Price:
        """Price its own divergence or its promise, whichever takes the smaller share."""
        from skdp.privacy.renyi import ORDERS

        parts = self._parts(event)
        if parts.mu == math.inf:
            raise UnsupportedEventError(_UNBOUNDED)
        divergences, cost = parts.renyi(), math.inf
        if divergences is not None:
            cost = float(divergences[list(ORDERS).index(self.order)])
        unknown = f"No Renyi divergence of order {self.order} is known for this release."
        return self._cheaper(event, cost, budget, unknown)

    def response(self, epsilon: float) -> float:
        import numpy as np

        from skdp.privacy.pure_curve import pure_renyi

        return float(pure_renyi(epsilon, np.array([float(self.order)]))[0])


@final
@dataclass(frozen=True)
class ZcdpFilter(_ByResponse):
    """Sum of rho_i <= rho, where rho_i = sup over a > 1 of r_i(a) / a: the curve rho a is kept.

    All that is admitted is together (slack-approximately) rho-zCDP, which implies more than the
    cap: an epsilon at every delta. The cap follows from one of the orders, the best, where
    r_i(a) <= rho_i a: to count at that order alone need not admit less. It admits much more where
    rows are sampled: a Poisson sample costs little at moderate orders, but at high ones as much as
    if it were all rows. Its rho is that without sampling, and what it promises the cheaper price.

    Attributes
    ----------
    rho : float
        Fixed at creation: the greatest that implies (epsilon, delta - slack).

    References
    ----------
    Feldman and Zrnic (2021), Theorem 3.1, at every order; Whitehouse, Ramdas, Rogers and Wu (2023),
    Theorem 1, for the deltas; Canonne, Kamath and Steinke (2020), Corollary 13, for the conversion.
    """

    name = "zcdp"
    currency = "rho"
    theorem = (
        "zCDP filter, Feldman and Zrnic (2021), Whitehouse, Ramdas, Rogers and Wu (2023), Theorem 1"
    )

    rho: float

    def __post_init__(self) -> None:
        from skdp.privacy.zcdp import zcdp_delta

        proved = zcdp_delta(self.rho, self.cap.epsilon)
        if proved > self.cap.delta - self.slack:
            raise ValueError(f"rho = {self.rho!r} does not imply {self.cap} less the slack.")

    @classmethod
    def greatest_rho(cls, cap: PrivacyBudget, slack: float) -> float:
        """Return what a ledger may spend; less by far more than computers differ."""
        from skdp.privacy.zcdp import zcdp_rho

        return zcdp_rho(cap.epsilon, cap.delta - slack) * (1 - 1e-9)

    @cached_property
    def limit(self) -> Price:
        return Price(Fraction(self.rho / ROUNDED_UP), exact(self.slack))

    def of_event(self, event: "DpEvent", budget: PrivacyBudget | None) -> Price:
        """Price its own rho or its promise, whichever takes the smaller share."""
        parts = self._parts(event)
        if parts.mu == math.inf:
            raise UnsupportedEventError(_UNBOUNDED)
        if budget is None and parts.sampled:
            raise UnsupportedEventError(
                "At high orders, which a zCDP ledger keeps too, sampling saves nothing: no rho is "
                f"known for this release but that without sampling. {_BY_PROMISE}"
            )
        return self._cheaper(
            event, self._rho_of(parts), budget, "No rho is known for this release."
        )

    def response(self, epsilon: float) -> float:
        from skdp.privacy.pure_curve import pure_rho

        return pure_rho(epsilon)

    @staticmethod
    def _rho_of(parts: Any) -> float:
        try:
            return float(parts.rho)
        except UnsupportedEventError:
            return math.inf


_UNBOUNDED = "Nothing is known that bounds what this release costs."
_BY_PROMISE = (
    "Enter it with what it promises: spend a statement, or spend_budget(PrivacyBudget(epsilon, "
    "delta), ...); or let reserve([event], delta=...) prove an epsilon at a delta, which is taken "
    "from the slack."
)


def _greatest(cost: Callable[[float], float], most: float) -> float:
    """Return the greatest epsilon that costs no more."""
    low, high = 0.0, 4 * most + 4
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if cost(middle) <= most else (low, middle)
    return low

"""What is fixed when a ledger is made: the cap, whom it protects, how releases are counted."""

import math
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self, final

from skdp.exceptions import UnsupportedEventError
from skdp.privacy.budget import Neighbours, PrivacyBudget
from skdp.privacy.ledger import Spending
from skdp.privacy.ledger_filters import FREE, BasicFilter, GaussianSumFilter, LedgerFilter, Price
from skdp.privacy.ledger_renyi_filters import RenyiOrderFilter, ZcdpFilter

if TYPE_CHECKING:
    from dp_accounting import DpEvent

__all__ = ["LedgerTerms", "filter_fields", "rows_of", "total_of"]


@final
@dataclass(frozen=True)
class LedgerTerms:
    """Who is protected, how much, and what a release costs.

    Attributes
    ----------
    filter : LedgerFilter
        Cap, relation, and the way to count.
    unit : str
        Whom the cap protects.
    rows_per_unit : int or None
        The most rows that one unit has; None where that was not stated.
    """

    filter: LedgerFilter
    unit: str
    rows_per_unit: int | None

    @classmethod
    def of(cls, header: dict[str, Any]) -> Self:
        """Read what `create` wrote."""
        return cls(_filter_of(header), header["unit"], header["rows_per_unit"])

    @property
    def neighbours(self) -> Neighbours:
        """The relation of the cap."""
        return self.filter.neighbours

    def refuse_others(self, neighbours: Neighbours, unit: str, purpose: str) -> None:
        """Refuse a promise of another relation, or of a unit that nothing converts."""
        if neighbours is not self.neighbours:
            raise ValueError(
                f"This ledger counts {self.neighbours.value} guarantees; {purpose} is stated for "
                f"{neighbours.value}, which do not add up. Choose an estimator, or its "
                "sampling, of the ledger's relation."
            )
        if unit == self.unit or (unit == "row" and self.rows_per_unit is not None):
            return
        convert = (
            f"If no {self.unit} has more than k rows, create the ledger with rows_per_unit=k."
            if unit == "row"
            else f"Create a ledger with unit={unit!r}."
        )
        raise ValueError(
            f"This ledger protects each {self.unit}; {purpose} protects each {unit}. {convert}"
        )

    def price(self, event: "DpEvent | None", budget: PrivacyBudget | None, unit: str) -> Price:
        """Return the price of a release: of its event where that is known, converted to the unit.

        Raises
        ------
        UnsupportedEventError
            If the filter has no price for it.
        """
        rows = 1 if unit == self.unit else self.rows_per_unit or 1
        if rows == 1 and event is not None:
            return self.filter.of_event(event, budget)
        if budget is None:
            raise UnsupportedEventError(
                "Group privacy is charged for (epsilon, delta) alone: spend a statement or "
                "spend_budget, or reserve([event], delta=...)."
            )
        promised = budget if event is None else self.filter.promised(event, budget)
        return self.filter.of_budget(_for_group(promised, rows))

    def left(self, spent: Price) -> Spending:
        """Return what one more release may ask for at most."""
        return self.filter.left(spent)

    def share(self, spent: Price) -> float:
        """Return how much of the limit is spent, the greater of its two shares."""
        return self.filter.share(spent)

    def admits(self, before: Price, price: Price) -> bool:
        """Whether the limit holds with this price; what is free is always admitted."""
        return price == FREE or before.plus(price).within(self.filter.limit)

    def refusal(self, before: Price, price: Price, asked: PrivacyBudget | None) -> str:
        """Say what was asked for, what that costs, and what is left."""
        limit, left, cap = self.filter.limit, self.filter.left(before), self.filter.cap
        words = "what costs"
        if asked is not None:
            words = f"epsilon = {asked.epsilon:g}, delta = {asked.delta:g}, which costs"
        currency = self.filter.currency
        return (
            f"asks for {words} {float(price.cost):.6g} {currency} and a delta of "
            f"{float(price.delta):.3g}. Left are {float(limit.cost - before.cost):.6g} of "
            f"{float(limit.cost):.6g} {currency}, enough for epsilon = {left.epsilon:.4g}, and a "
            f"delta of {left.delta:.3g}; the cap is {cap.epsilon:g}, {cap.delta:g}. "
            f"{self._cure(before.plus(price))}Nothing was spent."
        )

    def _cure(self, total: Price) -> str:
        """Say how a ledger is made that has room for the deltas, where these alone are too much."""
        limit, slack, cap = self.filter.limit, self.filter.slack, self.filter.cap
        if total.delta <= limit.delta or total.cost > limit.cost or not slack:
            return ""
        words = (
            f"Epsilon would suffice; deltas of entries are taken from slack = {slack:g}, which was "
            "fixed at creation. "
        )
        needed = _upwards(float(total.delta))
        if needed >= cap.delta:
            return words + f"Ask for a delta far below {cap.delta:g}. "
        return words + (
            "A ledger made by PrivacyLedger.create(..., "
            f"slack={needed:g}) has room for it, and somewhat less for epsilon; or ask for a "
            "smaller delta. "
        )


def total_of(state: dict[str, Any]) -> Price:
    """Read what the entries add up to."""
    return Price(Fraction(state["cost"]), Fraction(state["delta"]))


def filter_fields(
    name: str, cap: PrivacyBudget, slack: float | None, order: int | None
) -> dict[str, Any]:
    """Return what a header says of the filter; ValueError for what is out of its range."""
    if name not in ("renyi", "zcdp", "gaussian", "basic"):
        raise ValueError(f"filter must be 'renyi', 'zcdp', 'gaussian' or 'basic', got {name!r}.")
    if order is not None and name != "renyi":
        raise ValueError(f"order is that of filter='renyi'; filter={name!r} has none.")
    fields: dict[str, Any] = {"filter": name, "slack": 0.0, "order": None}
    if name == "basic":
        return fields
    if cap.delta == 0:
        raise ValueError(f"filter={name!r} needs a delta above 0; with 0, take filter='basic'.")
    slack = cap.delta / 10 if slack is None else float(slack)
    if not 0 < slack < cap.delta:
        raise ValueError(f"slack must be above 0 and below delta, got {slack!r}.")
    fields["slack"] = slack
    if name == "renyi":
        order = RenyiOrderFilter.best_order(cap, slack) if order is None else order
        return {**fields, "order": _known_order(order)}
    if name == "zcdp":
        return {**fields, "rho": ZcdpFilter.greatest_rho(cap, slack)}
    return fields


def rows_of(unit: str, number: int | None) -> int | None:
    """Return the most rows of a unit, or refuse them."""
    if number is None:
        return None
    if unit == "row":
        raise ValueError(
            "rows_per_unit is how many rows a unit has that is not itself a row: name it, such as "
            "unit='patient', or leave rows_per_unit out."
        )
    if isinstance(number, bool) or int(number) != number or number < 1:
        raise ValueError(f"rows_per_unit must be a whole number of at least 1, got {number!r}.")
    return int(number)


def _filter_of(header: dict[str, Any]) -> LedgerFilter:
    cap = PrivacyBudget(header["epsilon"], header["delta"])
    shared = (cap, Neighbours(header["neighbours"]), float(header["slack"]))
    match header["filter"]:
        case "basic":
            return BasicFilter(*shared)
        case "gaussian":
            return GaussianSumFilter(*shared)
        case "zcdp":
            return ZcdpFilter(*shared, float(header["rho"]))
        case "renyi":
            return RenyiOrderFilter(*shared, _known_order(header["order"]))
    raise ValueError(f"No filter is called {header['filter']!r}.")


def _known_order(order: Any) -> int:
    from skdp.privacy.renyi import ORDERS

    if isinstance(order, bool) or not isinstance(order, Integral) or order not in ORDERS:
        raise ValueError(
            "order must be a whole number from 2 to 64 or one of "
            f"{', '.join(f'{known:g}' for known in ORDERS if known > 64)}, got {order!r}."
        )
    return int(order)


def _upwards(number: float) -> float:
    """Round to three digits, never downwards."""
    return float(f"{number * 1.006:.3g}")


def _for_group(budget: PrivacyBudget, rows: int) -> PrivacyBudget:
    """Return k epsilon and delta (1 + ... + e^((k-1) epsilon)), for k rows of one unit."""
    if rows == 1:
        return budget
    if budget.delta == 0:
        return PrivacyBudget(float(rows * Fraction(repr(budget.epsilon))), 0.0)
    if (rows - 1) * budget.epsilon > 500:
        raise UnsupportedEventError("Group privacy of so many rows says nothing.")
    delta = budget.delta * math.fsum(math.exp(k * budget.epsilon) for k in range(rows))
    if delta >= 1:
        raise UnsupportedEventError("Group privacy of so many rows says nothing.")
    return PrivacyBudget(rows * budget.epsilon, delta * (1 + 2.0**-40))

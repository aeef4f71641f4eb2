"""What a ledger writes down about a release, and how it is priced again from that."""

import json
import math
from collections.abc import Mapping, Sized
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self, final

from skdp.exceptions import LedgerTamperedError
from skdp.privacy.budget import Neighbours, PrivacyBudget
from skdp.privacy.ledger_filters import FREE, Price
from skdp.privacy.ledger_terms import LedgerTerms
from skdp.privacy.statement import PrivacyStatement

if TYPE_CHECKING:
    from dp_accounting import DpEvent

__all__ = [
    "Release",
    "now",
    "price_in",
    "price_of_kinds",
    "priced_again",
    "printable",
    "public_parameters",
]

_SECRET = ("ledger", "random_state", "seed", "accountant")
_LONGEST, _MOST = 200, 8


@final
@dataclass(frozen=True)
class Release:
    """What a ledger is asked to pay for.

    Attributes
    ----------
    event : DpEvent or None
        What is run; None where only its promise is known.
    budget : PrivacyBudget or None
        What is promised; None where only the event is known.
    neighbours : Neighbours
        The relation of the promise.
    unit : str
        Whom it protects.
    """

    event: "DpEvent | None"
    budget: PrivacyBudget | None
    neighbours: Neighbours
    unit: str
    theorem: str = ""
    noise: str = ""

    @classmethod
    def of(cls, asked: Any, neighbours: Neighbours, unit: str = "row") -> Self:
        """Return the release of a statement, which tells its relation and unit, or of a part."""
        if isinstance(asked, PrivacyStatement):
            said = (asked.theorem, asked.noise)
            return cls(asked.event, asked.budget, asked.neighbours, asked.unit, *said)
        if isinstance(asked, PrivacyBudget):
            return cls(None, asked, neighbours, unit)
        return cls(asked, None, neighbours, unit)

    def price(self, terms: LedgerTerms, purpose: str) -> Price:
        """Return what it costs, or refuse it."""
        terms.refuse_others(self.neighbours, self.unit, purpose)
        return terms.price(self.event, self.budget, self.unit)

    def body(self) -> dict[str, Any]:
        """Return what is written down."""
        from skdp.privacy.event_dicts import event_to_dict

        return {
            "epsilon": None if self.budget is None else self.budget.epsilon,
            "delta": None if self.budget is None else self.budget.delta,
            "neighbours": self.neighbours.value,
            "unit": self.unit,
            "theorem": self.theorem,
            "noise": self.noise,
            "event": None if self.event is None else event_to_dict(self.event),
        }


def priced_again(body: dict[str, Any], terms: LedgerTerms) -> Price:
    """Return the price of what was written down, computed anew."""
    from skdp.privacy.event_dicts import event_from_dict

    if body["status"] == "covered" or (body["status"] == "spent" and body.get("bundle")):
        return FREE
    if body.get("promises") is not None:
        return price_of_kinds(body, terms)
    pair = None
    if body["epsilon"] is not None:
        pair = PrivacyBudget(body["epsilon"], body["delta"])
    sliced = body.get("slice_delta") is not None
    event = None if body["event"] is None or sliced else event_from_dict(body["event"])
    if event is None and pair is None:
        raise LedgerTamperedError("An entry has neither an event nor a budget.")
    return terms.price(event, pair, body["unit"])


def price_of_kinds(body: dict[str, Any], terms: LedgerTerms) -> Price:
    """Return the sum of the prices of reserved releases, each as often as it was reserved."""
    from skdp.privacy.event_dicts import event_from_dict

    total = FREE
    for kind, pair in zip(body["event"]["events"], body["promises"], strict=True):
        promise = None if pair is None else PrivacyBudget(*pair)
        each = terms.price(event_from_dict(kind["event"]), promise, body["unit"])
        total = total.plus(each.times(kind["count"]))
    return total


def price_in(body: dict[str, Any]) -> Price:
    """Read the price that was charged."""
    return Price(Fraction(body["cost"]), Fraction(body["charged_delta"]))


def now() -> str:
    """Return the time as it is written down; the order of entries does not depend on it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def printable(value: Any) -> Any:
    r"""Return a value with what no terminal or file should be sent written as escapes.

    Examples
    --------
    >>> printable({"purpose": "count\x1b[2J", "rows": [1, "\ud800"]})
    {'purpose': 'count\\x1b[2J', 'rows': [1, '\\ud800']}
    """
    if isinstance(value, str):
        return value if value.isprintable() else "".join(map(_escaped, value))
    if isinstance(value, dict):
        return {printable(key): printable(item) for key, item in value.items()}
    return [printable(item) for item in value] if isinstance(value, list) else value


def _escaped(character: str) -> str:
    return character if character.isprintable() else repr(character)[1:-1]


def public_parameters(parameters: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return parameters as JSON: numbers and words as they are, everything else by its class.

    Examples
    --------
    >>> public_parameters({"alpha": 0.5, "classes": (0, 1), "seed": 3, "rows": [1] * 9})
    {'alpha': 0.5, 'classes': [0, 1], 'rows': 'list of 9'}
    """
    given = {str(name): value for name, value in (parameters or {}).items()}
    return {name: _written(v) for name, v in given.items() if name not in _SECRET}


def _written(value: Any) -> Any:
    if value is None or type(value).__name__ in ("bool", "bool_"):
        return None if value is None else bool(value)
    if isinstance(value, str):
        return value[:_LONGEST]
    if isinstance(value, Integral):
        return int(value) if abs(int(value)) < 2**63 else f"int of {int(value).bit_length()} bits"
    if isinstance(value, Real):
        return float(value) if math.isfinite(value) else str(float(value))
    written: Any = None
    if isinstance(value, list | tuple | range) and len(value) <= _MOST:
        written = [_written(item) for item in value]
    if isinstance(value, dict) and len(value) <= _MOST:
        written = {str(key): _written(item) for key, item in value.items()}
    short = written is not None and len(json.dumps(written)) <= _LONGEST
    return written if short else _summary(value)


def _summary(value: Any) -> str:
    """Name the class and the shape, never what is inside."""
    name = type(value).__name__
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and all(isinstance(side, int) for side in shape):
        return f"{name} of shape {shape}"
    is_holder = isinstance(value, list | tuple | range | dict | set | frozenset | bytes)
    return f"{name} of {len(value)}" if is_holder and isinstance(value, Sized) else name

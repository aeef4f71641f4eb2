"""A privacy statement that was written down, read with suspicion."""

from typing import Any

from dp_accounting import DpEvent

from skdp.privacy.accounting import EventCurve
from skdp.privacy.budget import FINITE_PRECISION, Neighbours, PrivacyBudget
from skdp.privacy.event_dicts import event_from_dict
from skdp.privacy.events import relation_of

__all__ = ["read_fields"]

_KINDS: dict[str, type | tuple[type, ...]] = {
    "epsilon": (int, float),
    "requested_delta": (int, float),
    "neighbours": str,
    "unit": str,
    "verified": bool,
    "theorem": str,
    "assumptions": list,
    "noise": str,
    "event": dict,
}


def read_fields(fields: Any) -> dict[str, Any]:
    """Return what a statement is made of, from what `PrivacyStatement.to_dict` wrote.

    Raises
    ------
    ValueError
        If a field is missing or of another kind, or the event does not fit the others.
    UnsupportedEventError
        If the event is unknown, or no accountant has a bound for it.
    """
    _refuse_other_documents(fields)
    neighbours = Neighbours(fields["neighbours"])
    budget = PrivacyBudget(fields["epsilon"], fields["requested_delta"])
    event = _event(fields["event"])
    _refuse_other_relations(event, neighbours)
    curve = EventCurve(event)
    _refuse_unproved(curve, budget)
    return {
        "curve": curve,
        "budget": budget,
        "neighbours": neighbours,
        "assumptions": tuple(fields["assumptions"]),
        **{name: fields[name] for name in ("theorem", "noise", "unit", "verified")},
    }


def _refuse_other_documents(fields: Any) -> None:
    if not isinstance(fields, dict):
        raise ValueError("A privacy statement is an object with named fields; this is none.")
    for name, kind in _KINDS.items():
        if name not in fields:
            raise ValueError(f"This is no privacy statement: it has no {name!r}.")
        value = fields[name]
        # A bool is an int to Python, but no number here.
        if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
            raise ValueError(f"{name!r} of a privacy statement cannot be {value!r:.80}.")
    if not all(isinstance(text, str) for text in fields["assumptions"]):
        raise ValueError("'assumptions' of a privacy statement must be texts.")


def _event(written: dict[str, Any]) -> DpEvent:
    try:
        return event_from_dict(written)
    except (AttributeError, TypeError) as error:  # missing, unknown or unreadable fields
        raise ValueError(f"The event of this document cannot be read: {error}") from error


def _refuse_other_relations(event: DpEvent, neighbours: Neighbours) -> None:
    relation = relation_of(event)
    if relation is not None and relation is not neighbours:
        raise ValueError(
            f"This document states a {neighbours.value} guarantee, but its event is "
            f"{relation.value}; the one does not prove the other."
        )


def _refuse_unproved(curve: EventCurve, budget: PrivacyBudget) -> None:
    proved = curve.delta_at(budget.epsilon)
    if proved > (budget.delta or FINITE_PRECISION):
        raise ValueError(
            f"The event of this document has delta = {proved:.3g} at epsilon = "
            f"{budget.epsilon:g}, not {budget.delta:g}. It was changed by hand, or written by a "
            "mechanism whose own curve lies below that of its event: state it with a delta that "
            "is a little larger."
        )

"""Events as plain dicts, and back."""

from enum import Enum
from typing import Any

import attr
from dp_accounting import DpEvent, dp_event

from skdp.exceptions import UnsupportedEventError
from skdp.privacy.events import OUR_EVENTS, PLAIN_EVENTS, SAMPLED_EVENTS

__all__ = ["event_from_dict", "event_to_dict"]

_BY_NAME: dict[str, type[DpEvent]] = {
    kind.__name__: kind
    for kind in (
        *OUR_EVENTS,
        *PLAIN_EVENTS,
        *SAMPLED_EVENTS,
        dp_event.NoOpDpEvent,
        dp_event.NonPrivateDpEvent,
        dp_event.ComposedDpEvent,
        dp_event.SelfComposedDpEvent,
    )
}


def event_to_dict(event: DpEvent) -> dict[str, Any]:
    """Write an event as nested dicts, lists, strings and numbers, fit for JSON.

    Raises
    ------
    UnsupportedEventError
        If the event is of a kind that this module does not know.

    Examples
    --------
    >>> event_to_dict(dp_event.GaussianDpEvent(2.0))
    {'type': 'GaussianDpEvent', 'noise_multiplier': 2.0}
    """
    name = type(event).__name__
    if _BY_NAME.get(name) is not type(event):
        raise UnsupportedEventError(f"{name} has no written form here.")
    fields = {field.name: getattr(event, field.name) for field in attr.fields(type(event))}
    return {"type": name, **{key: _written(value) for key, value in fields.items()}}


def event_from_dict(written: dict[str, Any]) -> DpEvent:
    """Read what `event_to_dict` wrote. Only events of a fixed list are made, never others.

    Raises
    ------
    UnsupportedEventError
        If the name of the event is not on the list.

    Examples
    --------
    >>> event_from_dict({"type": "GaussianDpEvent", "noise_multiplier": 2.0})
    GaussianDpEvent(noise_multiplier=2.0)
    """
    fields = {key: _read(value) for key, value in written.items() if key != "type"}
    kind = _BY_NAME.get(written.get("type", ""))
    if kind is None:
        raise UnsupportedEventError(f"No event is called {written.get('type')!r}.")
    return kind(**fields)


def _written(value: Any) -> Any:
    if isinstance(value, DpEvent):
        return event_to_dict(value)
    if isinstance(value, Enum):
        return value.value
    return [_written(item) for item in value] if isinstance(value, list | tuple) else value


def _read(value: Any) -> Any:
    if isinstance(value, dict):
        return event_from_dict(value)
    return [_read(item) for item in value] if isinstance(value, list) else value

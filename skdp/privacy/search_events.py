"""The best of a random number of private trials, as an event."""

import math
from typing import Any

import attr
from dp_accounting import DpEvent

from skdp.privacy.budget import Neighbours
from skdp.privacy.event_fields import positive_field, probability_field

__all__ = ["RandomSearchDpEvent"]


def _events(values: Any) -> tuple[DpEvent, ...]:
    return tuple(values)


def _shape(value: Any) -> Any:
    return value if value == "poisson" else float(value)


@attr.s(frozen=True, slots=True, auto_attribs=True)
class RandomSearchDpEvent(DpEvent):  # type: ignore[misc]
    """The best of K trials, each close to an epsilon-DP one; K from a `TrialLaw`, never shown.

    With `fits`, a trial costs what the costliest of these does, or epsilon, whichever is more.

    Attributes
    ----------
    epsilon : float
        Of one trial, model and score together; of its score alone where there are `fits`.
    mean : float
        Of the number of trials.
    shape : float
        Of its law; infinity (written "poisson") is Poisson.
    neighbours : Neighbours or str
        The relation under which the trials are private.
    delta : float, default=0.0
        What all trials' deltas add to delta at every epsilon up to the one that was planned.
    fits : tuple of DpEvent, default=()
        What the fit of each candidate is, on records that no score sees.

    Examples
    --------
    >>> from skdp.privacy.accounting import epsilon_of
    >>> round(epsilon_of(RandomSearchDpEvent(0.5, 10.0, 0.0, "replace-one"), 0.0), 5)
    1.0
    """

    epsilon: float = attr.ib(validator=positive_field)
    mean: float = attr.ib(validator=positive_field)
    # JSON has no infinity.
    shape: Any = attr.ib(converter=_shape)
    neighbours: Neighbours = attr.ib(converter=Neighbours)
    delta: float = attr.ib(default=0.0, validator=probability_field)
    # A list in JSON.
    fits: tuple[DpEvent, ...] = attr.ib(default=(), converter=_events)

    @property
    def shape_number(self) -> float:
        """The shape as a number."""
        return math.inf if self.shape == "poisson" else float(self.shape)

"""What was run, as events that dp_accounting can account for.

The events of dp_accounting do not carry their neighbouring relation, and its accountants read a
Gaussian event in two ways under `REPLACE_ONE` (doubled by the PLD accountant, unchanged by the
RDP one). Ours carry sensitivity, norm, relation and noise. `accountant_event` turns them into
events for accountants that are always told `ADD_OR_REMOVE_ONE`: this hands over the pair of
output distributions, whatever relation it belongs to, and the relation is kept by `relation_of`.
"""

import math
from enum import Enum
from typing import Any

import attr
from dp_accounting import DpEvent, dp_event

from skdp.exceptions import UnsupportedEventError
from skdp.privacy.budget import Neighbours
from skdp.privacy.event_fields import positive_field, probability_field
from skdp.privacy.filter_events import RenyiBoundDpEvent
from skdp.privacy.objective_events import ObjectivePerturbationDpEvent
from skdp.privacy.search_events import RandomSearchDpEvent
from skdp.privacy.step_events import SelectionDpEvent, SelectionKind

__all__ = [
    "GaussianReleaseDpEvent",
    "PureReleaseDpEvent",
    "ReleaseNorm",
    "accountant_event",
    "precision_delta_of",
    "relation_of",
]


class ReleaseNorm(Enum):
    """The norm of a sensitivity.

    Not a string, because dp_accounting's named tuples take strings for sequences and break them.
    """

    L1 = "l1"
    L2 = "l2"
    LINF = "linf"


def _euclidean(_: Any, __: Any, value: ReleaseNorm) -> None:
    if value is not ReleaseNorm.L2:
        raise ValueError(f"norm must be 'l2' for Gaussian noise, got {value.value!r}.")


@attr.s(frozen=True, slots=True, auto_attribs=True)
class GaussianReleaseDpEvent(DpEvent):
    """A statistic plus N(0, noise_std^2 I).

    Attributes
    ----------
    sensitivity : float
        How far one record moves the statistic, rounding to the grid included.
    norm : ReleaseNorm or str
        The norm of that bound, "l2".
    neighbours : Neighbours or str
        The relation under which it holds.
    noise_std : float
        Standard deviation of the noise on one coordinate.
    delta : float, default=0.0
        What finite precision adds to delta at every epsilon.

    Examples
    --------
    >>> from skdp.privacy.accounting import epsilon_of
    >>> event = GaussianReleaseDpEvent(1.0, "l2", "replace-one", 4.2247)
    >>> round(epsilon_of(event, 1e-6), 3)
    1.0
    """

    sensitivity: float = attr.ib(validator=positive_field)
    norm: ReleaseNorm = attr.ib(converter=ReleaseNorm, validator=_euclidean)
    neighbours: Neighbours = attr.ib(converter=Neighbours)
    noise_std: float = attr.ib(validator=positive_field)
    delta: float = attr.ib(default=0.0, validator=probability_field)


@attr.s(frozen=True, slots=True, auto_attribs=True)
class PureReleaseDpEvent(DpEvent):
    """A release of which only (epsilon, delta) is known, delta being the finite precision.

    Attributes
    ----------
    epsilon : float
        Bound on the privacy loss.
    delta : float
        What finite precision adds to delta at every epsilon.
    sensitivity : float
        How far one record moves the statistic, rounding to the grid included.
    norm : ReleaseNorm or str
        The norm of that bound.
    neighbours : Neighbours or str
        The relation under which it holds.
    noise_scale : float
        Scale parameter of the noise.

    Examples
    --------
    >>> from skdp.privacy.accounting import delta_of
    >>> event = PureReleaseDpEvent(1.0, 0.0, 2.0, "l2", "replace-one", 2.0)
    >>> round(delta_of(event, 0.0), 3)
    0.462
    """

    epsilon: float = attr.ib(validator=positive_field)
    delta: float = attr.ib(validator=probability_field)
    sensitivity: float = attr.ib(validator=positive_field)
    norm: ReleaseNorm = attr.ib(converter=ReleaseNorm)
    neighbours: Neighbours = attr.ib(converter=Neighbours)
    noise_scale: float = attr.ib(validator=positive_field)


# Events that name their own pair, as dp_accounting reads them under ADD_OR_REMOVE_ONE.
PLAIN_EVENTS = (
    dp_event.GaussianDpEvent,
    dp_event.LaplaceDpEvent,
    dp_event.DiscreteLaplaceDpEvent,
    dp_event.MixtureOfGaussiansDpEvent,
    dp_event.ZCDpEvent,
)
OUR_EVENTS = (
    GaussianReleaseDpEvent,
    PureReleaseDpEvent,
    SelectionDpEvent,
    RenyiBoundDpEvent,
    RandomSearchDpEvent,
    ObjectivePerturbationDpEvent,
)
SAMPLED_EVENTS = (dp_event.PoissonSampledDpEvent, dp_event.SampledWithoutReplacementDpEvent)


def accountant_event(event: DpEvent) -> DpEvent:
    """Translate an event for an accountant under `ADD_OR_REMOVE_ONE`.

    * A Gaussian release becomes a Gaussian event of multiplier noise_std / sensitivity.
    * A pure release becomes its dominating pair, that of randomised response (Kairouz, Oh and
      Viswanath, 2015): two losses, +epsilon with probability e^epsilon / (1 + e^epsilon) and
      -epsilon. It is written as the discrete Laplace event of sensitivity 1, which has exactly
      this pair. dp_accounting's randomised response event is refused under `ADD_OR_REMOVE_ONE`
      and means another, weaker pair under `REPLACE_SPECIAL`; a Laplace event is no bound at all.
    * Pure picks become as many such pairs. Bounded-range picks have no event of their own: they
      become zero-concentrated DP, rho = epsilon^2 / 8 each (Cesar and Rogers, 2021), which the
      PLD accountant refuses, rightly: a Gaussian of that rho does not dominate them.
    * Events of dp_accounting stay as they are.

    Samples without replacement are for the Renyi accountant under `REPLACE_ONE`, which reads
    Gaussians as said here. The finite-precision deltas are dropped; `precision_delta_of` sums them.

    Parameters
    ----------
    event : DpEvent
        One of the events of this module, of dp_accounting, or a composition of them.

    Returns
    -------
    DpEvent
        Made of dp_accounting's events alone.

    Raises
    ------
    UnsupportedEventError
        If the event is unknown, mixes neighbouring relations, or takes a Poisson sample of a
        replace-one release (whose pair is another one) or of a selection.

    Examples
    --------
    >>> accountant_event(GaussianReleaseDpEvent(0.5, "l2", "replace-one", 2.0))
    GaussianDpEvent(noise_multiplier=4.0)
    """
    relation_of(event)
    return _translated(event)


def relation_of(event: DpEvent) -> Neighbours | None:
    """Return the neighbouring relation that an event's cost refers to.

    Events of dp_accounting carry none; they are read as its accountants read them by default,
    as add-or-remove-one. They therefore do not compose with a replace-one or zero-out release.

    Parameters
    ----------
    event : DpEvent
        As for `accountant_event`.

    Returns
    -------
    Neighbours or None
        None where every relation will do (nothing was run, or nothing is protected).

    Raises
    ------
    UnsupportedEventError
        If the event is unknown or mixes relations.

    Examples
    --------
    >>> relation_of(GaussianReleaseDpEvent(0.5, "l2", "replace-one", 2.0))
    <Neighbours.REPLACE_ONE: 'replace-one'>
    """
    relations = _relations(event)
    if len(relations) > 1:
        names = ", ".join(sorted(relation.value for relation in relations))
        raise UnsupportedEventError(
            f"One composition mixes the neighbouring relations {names}; their costs do not add."
        )
    return next(iter(relations), None)


def precision_delta_of(event: DpEvent) -> float:
    """Return the sum of the finite-precision deltas of all releases in an event.

    Examples
    --------
    >>> precision_delta_of(PureReleaseDpEvent(1.0, 1e-30, 2.0, "l2", "replace-one", 2.0))
    1e-30
    """
    if type(event) in OUR_EVENTS:
        return float(event.delta)
    match event:
        case dp_event.ComposedDpEvent():
            return math.fsum(map(precision_delta_of, event.events))
        case dp_event.SelfComposedDpEvent():
            return float(event.count) * precision_delta_of(event.event)
    return precision_delta_of(event.event) if type(event) in SAMPLED_EVENTS else 0.0


def _translated(event: DpEvent) -> DpEvent:
    match event:
        case GaussianReleaseDpEvent():
            return dp_event.GaussianDpEvent(event.noise_std / event.sensitivity)
        case PureReleaseDpEvent():
            return dp_event.DiscreteLaplaceDpEvent(event.epsilon, 1)
        case SelectionDpEvent(kind=SelectionKind.PURE):
            pick = dp_event.DiscreteLaplaceDpEvent(event.epsilon, 1)
            return dp_event.SelfComposedDpEvent(pick, event.picks)
        case SelectionDpEvent():
            return dp_event.ZCDpEvent(event.picks * event.epsilon**2 / 8)
        case RandomSearchDpEvent(fits=(_, *_)):
            raise UnsupportedEventError(
                "dp_accounting has no event for trials that are one of several fits, or a score; "
                "`epsilon_of` and `delta_of` price them."
            )
        case RandomSearchDpEvent():
            trial = dp_event.ZCDpEvent(event.epsilon**2 / 2)
            return dp_event.RepeatAndSelectDpEvent(trial, event.mean, event.shape_number)
        case dp_event.ComposedDpEvent():
            return dp_event.ComposedDpEvent([_translated(part) for part in event.events])
        case dp_event.PoissonSampledDpEvent():
            _refuse_sampled(event.event)
        case RenyiBoundDpEvent():
            raise UnsupportedEventError(
                "dp_accounting has no event for a bound at one Renyi order; `epsilon_of` and "
                "`delta_of` price it."
            )
        case ObjectivePerturbationDpEvent():
            return dp_event.ZCDpEvent(event.curve.rho)
    if type(event) in (dp_event.SelfComposedDpEvent, *SAMPLED_EVENTS):
        return attr.evolve(event, event=_translated(event.event))
    return event


def _refuse_sampled(event: DpEvent) -> None:
    if relation_of(event) is Neighbours.REPLACE_ONE:
        raise UnsupportedEventError(
            "Poisson subsampling of a replace-one release has a pair of its own, which is not an "
            "event of dp_accounting; `epsilon_of` and `delta_of` price it."
        )
    if "SelectionDpEvent" in repr(event):
        raise UnsupportedEventError(
            "No accountant of dp_accounting prices a selection in a sample; `epsilon_of` and "
            "`delta_of` do."
        )


def _relations(event: DpEvent) -> set[Neighbours]:
    if type(event) in OUR_EVENTS:
        return {event.neighbours}
    if type(event) in PLAIN_EVENTS:
        return {Neighbours.ADD_OR_REMOVE_ONE}
    if type(event) in (dp_event.SelfComposedDpEvent, *SAMPLED_EVENTS):
        return _relations(event.event)
    match event:
        case dp_event.NoOpDpEvent() | dp_event.NonPrivateDpEvent():
            return set()
        case dp_event.ComposedDpEvent():
            return set().union(*map(_relations, event.events))
    raise UnsupportedEventError(f"No accountant here knows {type(event).__name__}.")

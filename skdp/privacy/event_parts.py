"""Events read as parts that can be priced."""

import math
from collections.abc import Callable, Iterator

from dp_accounting import DpEvent, dp_event

from skdp.exceptions import UnsupportedEventError
from skdp.privacy.budget import Neighbours
from skdp.privacy.events import GaussianReleaseDpEvent, PureReleaseDpEvent, relation_of
from skdp.privacy.filter_events import RenyiBoundDpEvent
from skdp.privacy.fitted_search import FittedSearchPart
from skdp.privacy.joint_steps import (
    BoundedRangePicks,
    GaussianNoise,
    JointStep,
    PurePicks,
    Release,
)
from skdp.privacy.objective_events import ObjectivePerturbationDpEvent
from skdp.privacy.parts import (
    BoundedPart,
    LibraryPart,
    MinimiserPart,
    Part,
    ReplacedPart,
    SampledPart,
    SearchPart,
    StepPart,
    SubsetPart,
)
from skdp.privacy.search_events import RandomSearchDpEvent
from skdp.privacy.step_events import SelectionDpEvent, SelectionKind
from skdp.privacy.trial_laws import TrialLaw

__all__ = ["parts_of"]

_PICKS: dict[SelectionKind, Callable[[float, int], Release]] = {
    SelectionKind.BOUNDED_RANGE: BoundedRangePicks,
    SelectionKind.PURE: PurePicks,
}
_MOST_RELEASES = 4096


def parts_of(event: DpEvent) -> Iterator[tuple[Part, int]]:
    """Yield the parts of an event and how often each is run.

    Raises
    ------
    UnsupportedEventError
        If a part is unknown, neighbouring relations are mixed, or a sample has no theorem.
    """
    relation_of(event)
    return _parts(event)


def _parts(event: DpEvent) -> Iterator[tuple[Part, int]]:
    match event:
        case dp_event.SelfComposedDpEvent():
            count = _repetitions(event.count)
            yield from ((part, inner * count) for part, inner in _parts(event.event) if count)
        case dp_event.ComposedDpEvent():
            blocks = _blocks(event.events)
            yield from ((StepPart(JointStep.of(block)), 1) for block in blocks)
            for part in event.events if not blocks else ():
                yield from _parts(part)
        case dp_event.PoissonSampledDpEvent():
            yield from _poisson(event.sampling_probability, event.event)
        case dp_event.SampledWithoutReplacementDpEvent():
            yield from _subset(event.source_dataset_size, event.sample_size, event.event)
        case dp_event.NoOpDpEvent():
            return
        case RenyiBoundDpEvent():
            yield BoundedPart(event.order, event.divergence), 1
        case ObjectivePerturbationDpEvent():
            yield MinimiserPart(event.curve), 1
        case RandomSearchDpEvent():
            yield _search(event), 1
        case _:
            release = _release(event)
            yield LibraryPart(event) if release is None else StepPart(JointStep((release,))), 1


def _search(event: RandomSearchDpEvent) -> Part:
    law = TrialLaw(event.mean, event.shape_number)
    if not event.fits:
        return SearchPart(event.epsilon, law)
    if {relation_of(fit) for fit in event.fits} != {event.neighbours}:
        raise UnsupportedEventError("The fits of a search are not of its neighbouring relation.")
    return FittedSearchPart(event.epsilon, law, event.fits)


def _blocks(events: list[DpEvent]) -> list[list[Release]]:
    """Picks with the noise that follows them, where there are nothing but releases and some picks.

    Without picks, what is alike adds up in closed form whatever the order. Blocks of all records
    are composed by their pairs; picks that look at earlier noise are covered by that.
    """
    releases = [release for event in events if (release := _release(event)) is not None]
    picks = any(isinstance(release, BoundedRangePicks) for release in releases)
    if not picks or len(releases) < len(events):
        return []
    blocks, noisy = [[releases[0]]], isinstance(releases[0], GaussianNoise)
    for release in releases[1:]:
        if noisy and not isinstance(release, GaussianNoise):
            blocks.append([])
        blocks[-1].append(release)
        noisy = isinstance(release, GaussianNoise)
    return blocks


def _poisson(rate: float, event: DpEvent) -> Iterator[tuple[Part, int]]:
    if not 0 <= rate <= 1:
        raise UnsupportedEventError(f"A sampling probability cannot be {rate!r}.")
    if rate == 1:
        yield from _parts(event)
    elif rate > 0 and isinstance(event, dp_event.LaplaceDpEvent) and event.noise_multiplier > 0:
        yield LibraryPart(event, rate), 1
    elif rate > 0 and (step := _step(event)).releases:
        yield _sampled(rate, event, step), 1


def _sampled(rate: float, event: DpEvent, step: JointStep) -> Part:
    if not step.private:
        return StepPart(step)
    if relation_of(event) is Neighbours.REPLACE_ONE:
        return _replaced(rate, event)
    return SampledPart(rate, step)


def _replaced(rate: float, event: DpEvent) -> Part:
    """The pair of antipodal records is known for one Gaussian release only."""
    while isinstance(event, dp_event.ComposedDpEvent) and len(event.events) == 1:
        event = event.events[0]
    if not isinstance(event, GaussianReleaseDpEvent):
        raise UnsupportedEventError(
            "Under replace-one a Poisson sample is priced for a single Gaussian release in each "
            "step; account for selections and further releases under zero-out or "
            "add-or-remove-one."
        )
    return ReplacedPart(rate, 2 * event.noise_std / event.sensitivity)


def _subset(source: int, size: int, event: DpEvent) -> Iterator[tuple[Part, int]]:
    if not 0 <= size <= source or int(size) != size:
        raise UnsupportedEventError(f"No subset of {source!r} records has size {size!r}.")
    step = _step(event)
    if step.only_noise is None or relation_of(event) is not Neighbours.REPLACE_ONE:
        raise UnsupportedEventError(
            "Subsets of a fixed size are priced for Gaussian releases under replace-one only; "
            "use Poisson samples for selections and for the other relations."
        )
    if size == source:
        yield from _parts(event)
    elif size:
        yield SubsetPart(int(source), int(size), step.only_noise), 1


def _step(event: DpEvent) -> JointStep:
    """What is done to one sample, in order."""
    return JointStep.of(_releases_in(event))


def _releases_in(event: DpEvent) -> list[Release]:
    match event:
        case dp_event.NoOpDpEvent():
            return []
        case dp_event.ComposedDpEvent():
            return [release for part in event.events for release in _releases_in(part)]
        case dp_event.SelfComposedDpEvent():
            return _repeated(_step(event.event).releases, _repetitions(event.count))
    release = _release(event)
    if release is None:
        raise UnsupportedEventError(f"No bound for {type(event).__name__} in a sample is known.")
    return [release]


def _repeated(releases: tuple[Release, ...], count: int) -> list[Release]:
    if len(releases) == 1 and count:
        return [releases[0].times(count)]
    if len(releases) * count > _MOST_RELEASES:
        raise UnsupportedEventError("So many releases from one sample cannot be priced.")
    return list(releases) * count


def _release(event: DpEvent) -> Release | None:
    """The release that an event is; None for compositions, samples and what is only known whole."""
    match event:
        case GaussianReleaseDpEvent():
            return GaussianNoise(event.sensitivity / event.noise_std)
        case PureReleaseDpEvent():
            return PurePicks(event.epsilon)
        case SelectionDpEvent():
            return _PICKS[event.kind](event.epsilon, int(event.picks))
        case dp_event.GaussianDpEvent(noise_multiplier=noise) if noise > 0:
            return GaussianNoise(1 / noise)
        case dp_event.DiscreteLaplaceDpEvent(sensitivity=1, noise_parameter=epsilon) if epsilon > 0:
            return PurePicks(epsilon)
    return GaussianNoise(math.inf) if _without_noise(event) else None


def _without_noise(event: DpEvent) -> bool:
    fields = ("noise_multiplier", "noise_parameter", "standard_deviation")
    stated = [getattr(event, field) for field in fields if hasattr(event, field)]
    return isinstance(event, dp_event.NonPrivateDpEvent) or 0 in stated


def _repetitions(count: int) -> int:
    if not 0 <= count < math.inf or count != int(count):
        raise UnsupportedEventError(f"An event cannot be repeated {count!r} times.")
    return int(count)

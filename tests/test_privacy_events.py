"""Events: what was run is written, read and translated without loss."""

import copy
import json
import math
import pickle

import attr
import pytest
from dp_accounting import DpEvent, dp_event
from dp_accounting.dp_event import (
    ComposedDpEvent,
    DiscreteLaplaceDpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    NoOpDpEvent,
    PoissonSampledDpEvent,
    SampledWithoutReplacementDpEvent,
    SelfComposedDpEvent,
    ZCDpEvent,
)

from skdp.exceptions import UnsupportedEventError
from skdp.privacy.accounting import epsilon_of
from skdp.privacy.budget import Neighbours
from skdp.privacy.event_dicts import event_from_dict, event_to_dict
from skdp.privacy.events import (
    GaussianReleaseDpEvent,
    PureReleaseDpEvent,
    accountant_event,
    precision_delta_of,
    relation_of,
)
from skdp.privacy.step_events import SelectionDpEvent, SelectionKind

GAUSSIAN = GaussianReleaseDpEvent(0.5, "l2", "replace-one", 2.0, delta=1e-20)
PURE = PureReleaseDpEvent(1.0, 1e-30, 2.0, "l2", "replace-one", 2.0)
ZERO_OUT = GaussianReleaseDpEvent(0.5, "l2", "zero-out", 2.0)
PICKS = SelectionDpEvent(16, "bounded-range", 0.5, "zero-out", delta=1e-25)
PURE_PICKS = SelectionDpEvent(2, "pure", 0.25, "zero-out")
EVENTS = [
    PICKS,
    SelfComposedDpEvent(PoissonSampledDpEvent(0.01, ComposedDpEvent([PICKS, ZERO_OUT])), 9),
    ComposedDpEvent([PURE_PICKS, PoissonSampledDpEvent(0.5, PURE_PICKS)]),
    SelfComposedDpEvent(SampledWithoutReplacementDpEvent(1000, 10, GAUSSIAN), 20),
    GAUSSIAN,
    PURE,
    NoOpDpEvent(),
    GaussianDpEvent(1.5),
    LaplaceDpEvent(0.1),
    DiscreteLaplaceDpEvent(0.3, 2),
    PoissonSampledDpEvent(0.01, ZERO_OUT),
    SelfComposedDpEvent(PURE, 20),
    ComposedDpEvent([GAUSSIAN, SelfComposedDpEvent(PURE, 3), ComposedDpEvent([NoOpDpEvent()])]),
]


@pytest.mark.parametrize("event", EVENTS, ids=str)
def test_an_event_survives_a_named_tuple_and_back(event):
    assert DpEvent.from_named_tuple(event.to_named_tuple()) == event


@pytest.mark.parametrize("event", EVENTS, ids=str)
def test_an_event_survives_json_pickle_and_copying(event):
    assert event_from_dict(json.loads(json.dumps(event_to_dict(event)))) == event
    assert pickle.loads(pickle.dumps(event)) == event
    assert copy.deepcopy(event) == event


def test_reading_an_event_makes_only_events_of_the_list():
    for name in ("SingleEpochTreeAggregationDpEvent", "Popen", None):
        with pytest.raises(UnsupportedEventError, match="No event is called"):
            event_from_dict({"type": name})


def test_an_event_without_a_written_form_is_refused():
    with pytest.raises(UnsupportedEventError, match="UnsupportedDpEvent"):
        event_to_dict(dp_event.UnsupportedDpEvent())


def test_the_multiplier_is_noise_over_sensitivity_under_the_stated_relation():
    assert accountant_event(GAUSSIAN) == GaussianDpEvent(4.0)
    assert accountant_event(ZERO_OUT) == GaussianDpEvent(4.0)


def test_a_pure_release_is_translated_into_the_pair_of_randomised_response():
    event = accountant_event(PURE)
    # Two losses only: +-1, with odds e. The geometric law of parameter a has, for a shift of 1,
    # loss +a on z <= 0; its mass there is 1/(1 + e^-a).
    assert event == DiscreteLaplaceDpEvent(1.0, 1)
    decay = math.exp(-event.noise_parameter)
    at_or_below_zero = (1 - decay) / (1 + decay) * sum(decay**k for k in range(200))
    assert at_or_below_zero == pytest.approx(math.e / (1 + math.e))


def test_translation_goes_through_compositions_and_sampling():
    composed = ComposedDpEvent(
        [ZERO_OUT, SelfComposedDpEvent(PoissonSampledDpEvent(0.1, ZERO_OUT), 7)]
    )
    assert accountant_event(composed) == ComposedDpEvent(
        [
            GaussianDpEvent(4.0),
            SelfComposedDpEvent(PoissonSampledDpEvent(0.1, GaussianDpEvent(4.0)), 7),
        ]
    )


def test_picks_are_translated_into_what_the_accountants_know_of_them():
    assert accountant_event(PURE_PICKS) == SelfComposedDpEvent(DiscreteLaplaceDpEvent(0.25, 1), 2)
    assert accountant_event(PICKS) == ZCDpEvent(16 * 0.5**2 / 8)


def test_a_subset_is_translated_with_its_size():
    subset = SampledWithoutReplacementDpEvent(1000, 10, GAUSSIAN)
    assert accountant_event(subset) == attr.evolve(subset, event=GaussianDpEvent(4.0))


@pytest.mark.parametrize("picks", [PICKS, ComposedDpEvent([ZERO_OUT, PURE_PICKS])], ids=str)
def test_a_selection_in_a_sample_has_no_translation(picks):
    with pytest.raises(UnsupportedEventError, match="selection in a sample"):
        accountant_event(PoissonSampledDpEvent(0.1, picks))


def test_the_kind_of_a_selection_is_no_string():
    assert PICKS.kind is SelectionKind.BOUNDED_RANGE
    assert SelectionDpEvent(2, SelectionKind.PURE, 0.25, Neighbours.ZERO_OUT) == PURE_PICKS


def test_the_relation_is_that_of_the_parts():
    assert relation_of(GAUSSIAN) is Neighbours.REPLACE_ONE
    assert relation_of(ComposedDpEvent([ZERO_OUT, NoOpDpEvent()])) is Neighbours.ZERO_OUT
    assert relation_of(PoissonSampledDpEvent(0.1, PICKS)) is Neighbours.ZERO_OUT
    subset = SampledWithoutReplacementDpEvent(1000, 10, GAUSSIAN)
    assert relation_of(subset) is Neighbours.REPLACE_ONE
    assert relation_of(GaussianDpEvent(1.0)) is Neighbours.ADD_OR_REMOVE_ONE
    assert relation_of(ComposedDpEvent([])) is None


@pytest.mark.parametrize("other", [ZERO_OUT, GaussianDpEvent(4.0)], ids=str)
def test_a_mix_of_relations_is_refused(other):
    mixed = ComposedDpEvent([GAUSSIAN, SelfComposedDpEvent(other, 2)])
    for function in (relation_of, accountant_event):
        with pytest.raises(UnsupportedEventError, match="mixes the neighbouring relations"):
            function(mixed)


def test_a_replace_one_release_in_a_sample_has_no_translation():
    with pytest.raises(UnsupportedEventError, match="replace-one"):
        accountant_event(PoissonSampledDpEvent(0.1, GAUSSIAN))


def test_an_unknown_event_is_refused_wherever_it_stands():
    unknown = dp_event.RepeatAndSelectDpEvent(GAUSSIAN, 10.0, 1.0)
    for event in (
        unknown,
        ComposedDpEvent([GAUSSIAN, unknown]),
        PoissonSampledDpEvent(0.1, unknown),
    ):
        with pytest.raises(UnsupportedEventError, match="RepeatAndSelectDpEvent"):
            accountant_event(event)


def test_finite_precision_adds_up_over_all_releases():
    event = ComposedDpEvent([GAUSSIAN, SelfComposedDpEvent(PURE, 3), GaussianDpEvent(1.0)])
    assert precision_delta_of(event) == pytest.approx(1e-20 + 3e-30, rel=1e-15)
    steps = SelfComposedDpEvent(PoissonSampledDpEvent(0.01, ComposedDpEvent([PICKS, ZERO_OUT])), 9)
    assert precision_delta_of(steps) == pytest.approx(9e-25, rel=1e-15)
    subset = SampledWithoutReplacementDpEvent(1000, 10, GAUSSIAN)
    assert precision_delta_of(subset) == 1e-20


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (GaussianReleaseDpEvent, (0.0, "l2", "replace-one", 1.0)),
        (GaussianReleaseDpEvent, (1.0, "l1", "replace-one", 1.0)),
        (GaussianReleaseDpEvent, (1.0, "l2", "next-door", 1.0)),
        (GaussianReleaseDpEvent, (1.0, "l2", "replace-one", math.inf)),
        (PureReleaseDpEvent, (math.nan, 0.0, 1.0, "l1", "zero-out", 1.0)),
        (PureReleaseDpEvent, (1.0, 1.0, 1.0, "l1", "zero-out", 1.0)),
        (SelectionDpEvent, (0, "pure", 1.0, "zero-out")),
        (SelectionDpEvent, (1.5, "pure", 1.0, "zero-out")),
        (SelectionDpEvent, (1, "impure", 1.0, "zero-out")),
        (SelectionDpEvent, (1, "pure", math.inf, "zero-out")),
        (SelectionDpEvent, (1, "pure", 1.0, "zero-out", -1e-9)),
    ],
    ids=str,
)
def test_an_event_of_impossible_numbers_cannot_be_made(kind, fields):
    with pytest.raises(ValueError, match=r"must be|not a valid"):
        kind(*fields)


@pytest.mark.parametrize(
    "event",
    [
        ZCDpEvent(-0.1),
        ZCDpEvent(math.nan),
        ZCDpEvent(0.1, -0.1),
        GaussianDpEvent(-1.0),
        GaussianDpEvent(math.nan),
        LaplaceDpEvent(-1.0),
        DiscreteLaplaceDpEvent(-1.0, 1),
        DiscreteLaplaceDpEvent(1.0, -1),
        SelfComposedDpEvent(GaussianDpEvent(1.0), -5),
    ],
    ids=repr,
)
def test_no_event_gives_back_what_others_cost(event):
    """dp_accounting adds negative costs as they are; a ledger would then never be used up."""
    for whole in (event, ComposedDpEvent([GaussianDpEvent(0.5), event])):
        with pytest.raises(UnsupportedEventError):
            epsilon_of(whole, 1e-5)

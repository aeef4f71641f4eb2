"""Noise that depends on what was released: filters, traces, promises."""

import math
from dataclasses import replace

import numpy as np
import pytest
from dp_accounting import dp_event

from skdp._random import RandomSource
from skdp.exceptions import UnsupportedEventError
from skdp.linear_model import SparseDPSGDClassifier, SparseDPSGDRegressor
from skdp.mechanisms.base import Mechanism
from skdp.privacy import Neighbours, PrivacyBudget
from skdp.privacy.accounting import EventCurve, epsilon_of
from skdp.privacy.event_dicts import event_from_dict, event_to_dict
from skdp.privacy.events import GaussianReleaseDpEvent, PureReleaseDpEvent, accountant_event
from skdp.privacy.filter_events import RenyiBoundDpEvent
from skdp.privacy.filters import FilterRun, GaussianFilter, RenyiFilter
from skdp.training import (
    SGD,
    Adam,
    AllCoordinates,
    Descent,
    ExponentialSelector,
    FixedSizeWithoutReplacement,
    FullBatch,
    GaussianSelector,
    PoissonSampler,
    ShuffledBatches,
    TrainingPlan,
    ValidationDecay,
    adaptive_dpsgd,
    dpsgd,
)
from tests.support.private_sgd import CanaryGradients

ZERO_OUT = Neighbours.ZERO_OUT
BUDGET = PrivacyBudget(1.0, 1e-5)


def plan_of(schedule, sampler=None, epochs=40, selector=None, **changes):
    sampler = sampler or FullBatch(10)
    steps = round(epochs * sampler.steps_per_epoch)
    given = (sampler, selector or AllCoordinates(), schedule, 1.0, steps, 3)
    return TrainingPlan(*given, **changes)


def run(plan, score, optimizer=SGD, present=True, seed=0):
    descent = Descent(np.full(plan.n_steps, 0.1), plan.sampler.divisor, 0.0, 0, plan.n_steps - 1)
    gradients = CanaryGradients(present, plan.sampler.public_size, plan.size)
    begun = optimizer(descent, np.zeros(plan.size))
    return adaptive_dpsgd(plan, gradients, begun, RandomSource.from_seed(seed), None, score)


def trace(accuracy, rho=0.78125, level=10.0, **schedule):
    """Run a plan with an accuracy that is a function of the epoch."""
    total = GaussianFilter.of_rho(rho, ZERO_OUT)
    noise = ValidationDecay(None, None, **schedule, level=level, total=total)
    told = iter(range(10**6))
    return run(plan_of(noise, epochs=700), lambda _: accuracy(next(told)))


def saturating(epoch):
    return 0.93 * (1 - math.exp(-(epoch + 1) / 12))


# ---------------------------------------------------------------------------- what it does, exactly


@pytest.mark.parametrize(
    ("factor", "constant", "rising"),
    [(0.5, 35, 81), (0.6, 40, 86), (0.7, 47, 91), (0.8, 58, 100), (0.9, 79, 115)],
)
def test_accuracies_make_the_epochs_of_the_source(factor, constant, rising):
    """Yu et al. (2019): sigma 10, period 10, window 5, threshold 0.01, rho 0.78125."""
    stalled = trace(lambda _: 0.9, factor=factor)
    assert len(stalled.multipliers) == stalled.n_steps == constant
    assert np.flatnonzero(np.diff(stalled.multipliers))[0] + 1 == 19
    growing = trace(saturating, factor=factor)
    assert growing.n_steps == rising
    assert np.flatnonzero(np.diff(growing.multipliers))[0] + 1 == 69


def test_the_run_stops_before_the_epoch_that_would_exceed_the_total():
    for made in (trace(lambda _: 0.9), trace(saturating)):
        spent = sum(1 / (2 * sigma**2) for sigma in made.multipliers)
        assert spent <= 0.78125 < spent + 1 / (2 * made.multipliers[-1] ** 2 * 0.64)


def test_uniform_noise_makes_all_of_its_hundred_epochs():
    assert trace(lambda epoch: float(epoch), level=8.0).n_steps == 100


def test_the_multiplier_is_a_function_of_the_accuracies_so_far():
    schedule = ValidationDecay(None, None, period=3, window=2, factor=0.5, threshold=0.1, level=8)
    accuracies = [0.5, 0.5, 0.6, 0.6, 0.6, 0.9, 0.9, 0.9]
    # checks before epochs 2, 5 and 8: means 0.5, 0.6 and 0.9
    expected = [8, 8, 8, 8, 8, 4, 4, 4, 4]
    assert [schedule.multiplier_after(accuracies[:n]) for n in range(9)] == expected


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"window": 11}, "longer than period"),
        ({"factor": 1.5}, "factor must be"),
        ({"period": 0}, "period must be"),
        ({"threshold": -1.0}, "threshold must be"),
        ({"head_start": 0.0}, "head_start must be"),
    ],
    ids=["window", "factor", "period", "threshold", "head start"],
)
def test_parameters_without_meaning_are_refused(given, told):
    with pytest.raises(ValueError, match=told):
        ValidationDecay(None, None, **given)


# ------------------------------------------------------------------------------- what it promises

PLANS = {
    "full": (FullBatch(100), None),
    "shuffled": (ShuffledBatches(20, 100), None),
    "shuffled, replace-one": (ShuffledBatches(20, 100, Neighbours.REPLACE_ONE), None),
    "shuffled, Gaussian selector": (ShuffledBatches(20, 100), GaussianSelector(2, 0.5)),
    "Poisson": (PoissonSampler.of_batch_size(20, 100), None),
    "Poisson, add-or-remove-one": ((PoissonSampler(0.2, 20.0, Neighbours.ADD_OR_REMOVE_ONE), None)),
    "Poisson, exponential selector": (
        (PoissonSampler.of_batch_size(20, 100), ExponentialSelector(2, 0.5))
    ),
    "shuffled, exponential selector": (ShuffledBatches(20, 100), ExponentialSelector(2, 0.5)),
}


@pytest.mark.parametrize(("sampler", "selector"), PLANS.values(), ids=PLANS)
@pytest.mark.parametrize("n_runs", [1, 3])
def test_the_promise_is_the_budget_whatever_the_run_did(sampler, selector, n_runs):
    schedule = ValidationDecay(None, None, period=3, window=1, factor=0.5)
    plan = plan_of(schedule, sampler, 12, selector, n_runs=n_runs).calibrated(BUDGET)
    assert 0.999 < epsilon_of(plan.event, 1e-5) <= 1.0
    assert plan.sampler.neighbours.value in repr(event_to_dict(plan.event))
    rising = run(plan, _rising())
    stalled = run(plan, lambda _: 0.5)
    assert len(rising.multipliers) > len(stalled.multipliers) >= 4
    # Both cost no more than was promised, even by an account of what was done.
    for made in (rising, stalled):
        assert _cost_afterwards(plan, made) <= 1.0 + 1e-9
    assert plan.event == plan.calibrated(BUDGET).event


def _rising():
    told = iter(range(10**6))
    return lambda _: float(next(told))


def _cost_afterwards(plan, made):
    """Epsilon of the noise as if it had been fixed beforehand: no promise, but never above it."""
    per_epoch = plan.sampler.steps_per_epoch
    events = [
        plan.sampler.event(plan.step_at(sigma).event, round(per_epoch), round(per_epoch * epoch))
        for epoch, sigma in enumerate(made.multipliers)
    ]
    whole = dp_event.SelfComposedDpEvent(dp_event.ComposedDpEvent(events), plan.n_runs)
    return epsilon_of(whole, 1e-5)


def test_what_was_added_up_afterwards_is_not_what_is_stated():
    """To compose noises that were chosen on the way as if they had been fixed is unproved."""
    plan = plan_of(ValidationDecay(None, None, period=2, window=1), ShuffledBatches(20, 100), 30)
    plan = plan.calibrated(BUDGET)
    made = run(plan, lambda _: 0.5)
    assert _cost_afterwards(plan, made) < epsilon_of(plan.event, 1e-5)
    assert plan.event_after(1) == plan.event_after(plan.n_steps) == plan.event


def test_the_exact_filter_spends_what_the_gaussian_curve_allows():
    total = GaussianFilter.of_rho(0.78125, ZERO_OUT)
    assert epsilon_of(total.event, 1e-5) == pytest.approx(5.680, rel=5e-4)


def test_noise_begins_at_a_public_multiple_of_that_of_a_steady_run():
    steady = plan_of(ValidationDecay(None, None, head_start=1.0), ShuffledBatches(20, 100), 12)
    ahead = replace(steady, noise=replace(steady.noise, head_start=1.25))
    levels = [plan.calibrated(BUDGET).noise.level for plan in (steady, ahead)]
    assert levels[1] == pytest.approx(1.25 * levels[0])
    exact = math.sqrt(12) / levels[0]
    assert exact == pytest.approx(math.sqrt(GaussianFilter.of_rho(exact**2 / 2, ZERO_OUT).limit))
    assert run(steady.calibrated(BUDGET), _rising()).n_steps == 60


@pytest.mark.parametrize("optimizer", [SGD, Adam])
def test_the_parameters_are_the_last_iterate_and_come_through_the_one_door(optimizer, monkeypatch):
    released = []
    original = Mechanism.release

    def recorded(self, value, rng):
        released.append(np.asarray(value).copy())
        return original(self, value, rng)

    monkeypatch.setattr(Mechanism, "release", recorded)
    plan = plan_of(ValidationDecay(None, None, period=2, window=1), epochs=30).calibrated(BUDGET)
    seen = []

    def score(parameters):
        seen.append(parameters.copy())
        return 0.5

    made = run(plan, score, optimizer)
    assert made.n_steps == len(released) == len(seen) < 30
    assert np.array_equal(made.parameters, seen[-1])
    assert made.scores == (0.5,) * made.n_steps


def test_a_total_below_one_epoch_is_refused_before_a_record_is_read():
    total = GaussianFilter.of_rho(1e-4, ZERO_OUT)
    plan = plan_of(ValidationDecay(None, None, level=2.0, total=total))

    class Unreadable(CanaryGradients):
        def clipped_sum(self, *_, **__):
            raise AssertionError("read")

    descent = Descent(np.full(40, 0.1), 10.0, 0.0, 0, 39)
    with pytest.raises(ValueError, match="does not cover a single epoch"):
        adaptive_dpsgd(
            plan, Unreadable(True, 10, 3), SGD(descent, np.zeros(3)), RandomSource.from_seed(0),
            None, lambda _: 0.0,
        )  # fmt: skip


def test_an_adaptive_plan_is_not_run_by_the_loop_of_fixed_noise():
    plan = plan_of(ValidationDecay(None, None)).calibrated(BUDGET)
    descent = Descent(np.full(40, 0.1), 10.0, 0.0, 0, 39)
    with pytest.raises(ValueError, match="adaptive_dpsgd"):
        dpsgd(
            plan, CanaryGradients(True, 10, 3), SGD(descent, np.zeros(3)),
            RandomSource.from_seed(0),
        )  # fmt: skip


def test_a_plan_that_was_not_calibrated_promises_nothing():
    with pytest.raises(ValueError, match="calibrate the plan first"):
        _ = plan_of(ValidationDecay(None, None)).event


def test_a_sampler_without_divergences_for_a_filter_is_refused():
    plan = plan_of(ValidationDecay(None, None), FixedSizeWithoutReplacement(10, 100))
    with pytest.raises(UnsupportedEventError, match="Renyi"):
        plan.calibrated(BUDGET)


@pytest.mark.parametrize("model", [SparseDPSGDClassifier, SparseDPSGDRegressor])
def test_linear_models_refuse_it_and_name_the_model_that_takes_it(model):
    X, y = np.eye(20), np.arange(20) % 2
    with pytest.raises(ValueError, match="PrivateMLPClassifier"):
        model(noise_schedule=ValidationDecay(X, y)).fit(X, y)


# ----------------------------------------------------------------------------------------- filters


def gaussian(sigma, relation="zero-out"):
    return GaussianReleaseDpEvent(1.0, "l2", relation, sigma)


def test_a_refused_release_is_not_counted_and_a_cheaper_one_may_follow():
    counted = GaussianFilter.of_rho(0.5, ZERO_OUT).start()
    assert [counted.admits(gaussian(s)) for s in (2.0, 1.0, 2.0, 2.0, 2.0, 50.0)] == [
        True, False, True, True, True, False,
    ]  # fmt: skip


def test_noise_that_protects_nothing_is_not_admitted():
    for total in (GaussianFilter(ZERO_OUT, 0.0, 1e9), RenyiFilter(ZERO_OUT, 0.0, 8, 1e9)):
        assert not total.start().admits(dp_event.NonPrivateDpEvent())


def test_the_run_is_not_cut_short_by_the_precision_of_small_noise():
    schedule = ValidationDecay(None, None, period=1, window=1, factor=0.5)
    plan = plan_of(schedule, FullBatch(100), 8).calibrated(PrivacyBudget(30.0, 1e-5))
    made = run(plan, lambda _: 0.0)
    spent = [sigma**-2.0 for sigma in made.multipliers]
    assert sum(spent) <= plan.noise.filter.limit * (1 + 1e-9) < sum(spent) + 4 * spent[-1]
    assert made.multipliers[-1] < 0.6


def test_finite_precision_is_counted_beside():
    step = GaussianReleaseDpEvent(1.0, "l2", "zero-out", 10.0, delta=2e-20)
    assert [FilterRun(GaussianFilter(ZERO_OUT, 5e-20, 1.0)).admits(step)] == [True]
    counted = GaussianFilter(ZERO_OUT, 5e-20, 1.0).start()
    assert [counted.admits(step) for _ in range(3)] == [True, True, False]


@pytest.mark.parametrize(
    "total", [GaussianFilter(ZERO_OUT, 0.0, 1.0), RenyiFilter(ZERO_OUT, 0.0, 8, 1.0)]
)
def test_a_filter_has_no_price_for_another_relation(total):
    with pytest.raises(UnsupportedEventError, match="zero-out"):
        total.cost(gaussian(1.0, "replace-one"))


def test_the_exact_filter_has_no_price_for_anything_but_gaussians():
    pure = PureReleaseDpEvent(0.5, 0.0, 1.0, "l2", "zero-out", 2.0)
    sampled = dp_event.PoissonSampledDpEvent(0.1, gaussian(1.0))
    for event in (pure, sampled):
        with pytest.raises(UnsupportedEventError, match="no price"):
            GaussianFilter(ZERO_OUT, 0.0, 10.0).cost(event)
        assert RenyiFilter(ZERO_OUT, 0.0, 8, 1.0).cost(event) > 0


@pytest.mark.parametrize("order", [1, 1.5, 7.5, 2000])
def test_an_order_at_which_nothing_is_computed_is_refused(order):
    with pytest.raises(ValueError, match="order"):
        RenyiFilter(ZERO_OUT, 0.0, order, 1.0)
    with pytest.raises(ValueError, match="order"):
        RenyiBoundDpEvent(order, 1.0, "zero-out")


def test_the_bound_at_one_order_is_converted_at_that_order_and_below():
    order, divergence, delta = 12, 0.4, 1e-5
    shifts = {
        a: math.log1p(-1 / a) - (math.log(delta) + math.log(a)) / (a - 1)
        for a in range(2, order + 1)
    }
    event = RenyiBoundDpEvent(order, divergence, "zero-out")
    assert epsilon_of(event, delta) == pytest.approx(divergence + min(shifts.values()))
    twice = dp_event.SelfComposedDpEvent(event, 2)
    assert epsilon_of(twice, delta) == pytest.approx(2 * divergence + min(shifts.values()))
    with_noise = dp_event.ComposedDpEvent([event, gaussian(4.0)])
    expected = min(divergence + a / 32 + shift for a, shift in shifts.items())
    assert epsilon_of(with_noise, delta) == pytest.approx(expected)
    assert EventCurve(event).delta_at(epsilon_of(event, delta)) == pytest.approx(delta)


def test_the_bound_is_written_and_read_and_neither_sampled_nor_handed_on():
    event = RenyiBoundDpEvent(12, 0.4, "zero-out", delta=1e-30)
    assert event_from_dict(event_to_dict(event)) == event
    with pytest.raises(UnsupportedEventError):
        epsilon_of(dp_event.PoissonSampledDpEvent(0.1, event), 1e-5)
    with pytest.raises(UnsupportedEventError, match="no event"):
        accountant_event(event)
    with pytest.raises(UnsupportedEventError, match="mixes"):
        epsilon_of(dp_event.ComposedDpEvent([event, gaussian(1.0, "replace-one")]), 1e-5)


def test_a_budget_that_pays_for_no_epoch_is_refused_when_it_is_planned():
    schedule = ValidationDecay(period=2, window=1, head_start=0.1)
    with pytest.raises(ValueError, match="raise head_start"):
        plan_of(schedule, ShuffledBatches(20, 100), 12).calibrated(BUDGET)


def test_nothing_decays_before_there_is_an_accuracy():
    schedule = ValidationDecay(period=1, window=1, factor=0.5, level=8.0)
    assert schedule.multiplier_after([]) == 8.0
    assert schedule.multiplier_after([0.0]) == 4.0

"""Schedules of noise: formulas, epochs, and the tables of their source."""

import math
from itertools import pairwise

import pytest

from skdp.privacy import Neighbours, PrivacyBudget
from skdp.privacy.accounting import epsilon_of
from skdp.privacy.event_dicts import event_from_dict, event_to_dict
from skdp.training import (
    AllCoordinates,
    ConstantNoise,
    ConstantThen,
    ExponentialDecay,
    FullBatch,
    PoissonSampler,
    PolynomialDecay,
    RoundRobinBlocks,
    ShuffledBatches,
    StepDecay,
    TimeDecay,
    TrainingPlan,
    epochs_within,
    longest,
)
from skdp.training.schedules import epochs_of_steps

RHO = 0.78125  # 100 epochs of noise multiplier 8
SCHEDULES = (
    ConstantNoise(),
    TimeDecay(0.05),
    ExponentialDecay(0.01),
    StepDecay(0.6, 2),
    PolynomialDecay(3, 0.2, 10),
    ConstantThen(ExponentialDecay(0.02), 3),
)
BUDGET = PrivacyBudget(1.0, 1e-5)


def polynomial(k, level=10.0):
    """Return the decay from 10 to 2 in 100 epochs."""
    return PolynomialDecay(k, 0.2, 100, level=level)


# Yu et al. (2019): their constants, and what their loop makes of them.
@pytest.mark.parametrize(
    ("schedule", "epochs", "rho", "last"),
    [
        (ConstantNoise(8.0), 100, 0.78125, 8.0),
        (TimeDecay(0.05, level=10.0), 38, 0.76119, 3.509),
        (StepDecay(0.6, 10, level=10.0), 31, 0.68186, 2.160),
        (ExponentialDecay(0.01, level=10.0), 71, 0.77646, 4.966),
        (polynomial(3), 44, 0.77017, 3.482),
        (TimeDecay(0.0281, level=10.0), 50, 0.75382, 4.207),
        (ExponentialDecay(0.0138, level=10.0), 60, 0.75726, 4.430),
        (StepDecay(0.7008, 10, level=10.0), 40, 0.78120, 3.442),
        (polynomial(3.5277), 40, 0.73589, 3.399),
        (ExponentialDecay(0.014, level=10.0), 60, 0.76870, None),
        (StepDecay(0.891, 10, level=10.0), 70, 0.77641, None),
        (polynomial(1.432), 60, 0.75243, None),
        (polynomial(0.9549), 70, 0.75696, None),
        (TimeDecay(0.0285, level=12.0), 60, 0.75666, None),
        (TimeDecay(0.0132, level=10.0), 70, 0.76626, None),
    ],
    ids=repr,
)
def test_the_loop_of_the_source_makes_its_epochs_and_stops_before_the_next(
    schedule, epochs, rho, last
):
    made = epochs_within(schedule, RHO)
    assert made.n_epochs == epochs
    assert made.rho == pytest.approx(rho, abs=5e-6)
    assert made.rho + 1 / (2 * schedule.multiplier(epochs) ** 2) > RHO
    assert last is None or made.last_multiplier == pytest.approx(last, abs=5e-4)


@pytest.mark.parametrize(
    ("schedule", "epochs"),
    [
        (ConstantNoise(25.0), 500),
        (ExponentialDecay(0.001, level=30.0), 446),
        (StepDecay(0.5782, 200, level=30.0), 373),
        (ConstantThen(ExponentialDecay(0.002), 300, level=25.0), 447),
    ],
    ids=repr,
)
def test_the_loop_of_the_source_on_cancer(schedule, epochs):
    assert epochs_within(schedule, 0.4).n_epochs == epochs


@pytest.mark.parametrize(
    ("kind", "rates"),
    [
        (ExponentialDecay, (0.04642, 0.02931, 0.01997, 0.01422, 0.01038, 0.00769, 0.00571)),
        (TimeDecay, (0.08085, 0.04630, 0.02925, 0.01958, 0.01358, 0.00961, 0.00686)),
        (
            lambda k, level: StepDecay(k, 10, level=level),
            (0.54580, 0.70079, 0.79220, 0.85060, 0.89029, 0.91854, 0.93940),
        ),
    ],
    ids=["exponential", "time", "step"],
)
def test_rates_that_make_exactly_so_many_epochs_spend_all_of_rho(kind, rates):
    for epochs, rate in zip(range(30, 91, 10), rates, strict=True):
        schedule = kind(rate, level=10.0)
        spent = math.fsum(1 / (2 * schedule.multiplier(t) ** 2) for t in range(epochs))
        assert spent == pytest.approx(RHO, rel=1e-3)  # of rates with four digits


def test_a_replaced_record_costs_four_times_the_rho():
    assert epochs_within(ConstantNoise(8.0), RHO, Neighbours.REPLACE_ONE).n_epochs == 25


def test_rho_that_does_not_pay_for_one_epoch_pays_for_none():
    assert epochs_within(ConstantNoise(8.0), 0.007) == (0, 0.0, math.inf)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=repr)
def test_the_level_scales_the_whole_shape(schedule):
    for epoch in range(20):
        scaled = schedule.at_level(7.0).multiplier(epoch)
        assert scaled == pytest.approx(7 * schedule.multiplier(epoch), rel=1e-15)
    assert schedule.multiplier(0) == 1.0


@pytest.mark.parametrize("steps_per_epoch", [1, 4, 100, 1 / 0.3, 1 / 0.07, 2.5, 1e9])
@pytest.mark.parametrize("n_steps", [1, 3, 10, 101])
def test_a_step_belongs_to_the_epoch_that_it_begins_in(n_steps, steps_per_epoch):
    epochs = [e for e, n in epochs_of_steps(n_steps, steps_per_epoch) for _ in range(n)]
    assert epochs == [math.floor(step / steps_per_epoch + 1e-9) for step in range(n_steps)]


@pytest.mark.parametrize("schedule", SCHEDULES, ids=repr)
def test_phases_are_the_multipliers_of_the_epochs_and_equal_neighbours_are_one(schedule):
    phases = schedule.phases(55, 2.5)
    unrolled = [sigma for sigma, count in phases for _ in range(count)]
    assert unrolled == [schedule.multiplier(math.floor(step / 2.5)) for step in range(55)]
    assert all(a[0] != b[0] for a, b in pairwise(phases))


@pytest.mark.parametrize(
    ("kind", "given", "told"),
    [
        (TimeDecay, (-0.1,), "k must be"),
        (ExponentialDecay, (float("nan"),), "k must be"),
        (ConstantNoise, (0.0,), "level must be"),
        (StepDecay, (1.5, 10), r"k must be in \(0, 1\]"),
        (StepDecay, (0.5, 0), "period must be"),
        (PolynomialDecay, (0, 0.5, 10), "k must be"),
        (PolynomialDecay, (1, 2.0, 10), r"end must be in \(0, 1\]"),
        (PolynomialDecay, (1, 0.5, 0), "period must be"),
        (ConstantThen, (TimeDecay(0.1, level=2.0), 3), "at level 1"),
        (ConstantThen, (TimeDecay(0.1), 0), "start must be"),
    ],
)
def test_parameters_without_meaning_are_refused(kind, given, told):
    with pytest.raises(ValueError, match=told):
        kind(*given)


def test_a_schedule_that_leaves_no_noise_is_refused_in_words():
    with pytest.raises(ValueError, match="of its noise in epoch 14"):
        ExponentialDecay(1.0).phases(1000, 10.0)


# ---------------------------------------------------------------------------------- what it costs


def plan_of(schedule, sampler=None, epochs=12, **changes):
    sampler = sampler or PoissonSampler.of_batch_size(50, 500)
    n_steps = round(epochs * sampler.steps_per_epoch)
    return TrainingPlan(sampler, AllCoordinates(), schedule, 1.0, n_steps, 10, **changes)


def mu_of(sigmas, factor=1):
    return math.sqrt(sum((factor / sigma) ** 2 for sigma in sigmas))


def gaussian_delta(mu, epsilon):
    from scipy.stats import norm

    below = math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
    return norm.cdf(mu / 2 - epsilon / mu) - below


@pytest.mark.parametrize("schedule", SCHEDULES, ids=repr)
@pytest.mark.parametrize(
    "sampler",
    [
        ShuffledBatches(64, 500),
        ShuffledBatches(64, 500, Neighbours.REPLACE_ONE),
        FullBatch(500),
        RoundRobinBlocks([0, 1, 2, 3] * 125, 4),
    ],
    ids=["shuffled", "shuffled, replace-one", "full", "blocks"],
)
def test_without_amplification_an_epoch_costs_its_largest_batch_and_epochs_add(schedule, sampler):
    plan = plan_of(schedule.at_level(9.0), sampler)
    factor = 2 if sampler.neighbours is Neighbours.REPLACE_ONE else 1
    mu = mu_of([schedule.at_level(9.0).multiplier(epoch) for epoch in range(12)], factor)
    assert gaussian_delta(mu, epsilon_of(plan.event, 1e-5)) == pytest.approx(1e-5, rel=1e-4)


def test_replacing_costs_four_times_the_rho_of_zeroing_out():
    from skdp.privacy.accounting import rho_of

    schedule = ExponentialDecay(0.1, level=5.0)
    costs = {
        relation: rho_of(plan_of(schedule, ShuffledBatches(64, 500, relation)).event)
        for relation in (Neighbours.ZERO_OUT, Neighbours.REPLACE_ONE)
    }
    ratio = costs[Neighbours.REPLACE_ONE] / costs[Neighbours.ZERO_OUT]
    assert ratio == pytest.approx(4.0, rel=1e-9)


def test_the_maximum_over_the_batches_of_an_epoch_counts_and_not_their_mean():
    """Noise that changes within an epoch: the record may be in the batch that has least."""
    from tests.test_training_plan import Phases

    sampler = ShuffledBatches(50, 100)  # two steps an epoch
    plan = plan_of(Phases([(1e6, 1), (2.0, 1)]), sampler, epochs=1)
    exact = epsilon_of(plan_of(ConstantNoise(2.0), FullBatch(100), epochs=1).event, 1e-5)
    assert epsilon_of(plan.event, 1e-5) >= exact
    averaged = mu_of([2.0]) / math.sqrt(2)
    assert epsilon_of(plan.event, 1e-5) > 1.2 * _epsilon(averaged)


def _epsilon(mu):
    from scipy.optimize import brentq

    return brentq(lambda e: gaussian_delta(mu, e) - 1e-5, 0.01, 50)


def test_shuffled_batches_with_decaying_noise_are_not_charged_as_poisson_batches():
    schedule = ExponentialDecay(0.05, level=4.0)
    shuffled = plan_of(schedule, ShuffledBatches(50, 500)).event
    poisson = plan_of(schedule).event
    assert "Poisson" not in repr(shuffled)
    assert epsilon_of(shuffled, 1e-5) > 3 * epsilon_of(poisson, 1e-5)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=repr)
def test_an_event_survives_writing_and_reading(schedule):
    event = plan_of(schedule.at_level(2.0)).event
    assert event_from_dict(event_to_dict(event)) == event


@pytest.mark.parametrize("schedule", SCHEDULES[1:], ids=repr)
def test_calibration_scales_a_shape_to_the_budget(schedule):
    for sampler in (PoissonSampler.of_batch_size(50, 500), ShuffledBatches(50, 500)):
        calibrated = plan_of(schedule, sampler).calibrated(BUDGET)
        assert 0.999 < epsilon_of(calibrated.event, 1e-5) <= 1.0
        assert calibrated.noise == schedule.at_level(calibrated.noise.level)


@pytest.mark.parametrize(
    "sampler", [PoissonSampler.of_batch_size(50, 500), ShuffledBatches(50, 500)]
)
@pytest.mark.parametrize(
    "schedule", [ConstantNoise(5.0), ExponentialDecay(0.05, level=5.0)], ids=repr
)
def test_the_longest_run_keeps_the_budget_and_one_epoch_more_would_not(sampler, schedule):
    plan = longest(plan_of(schedule, sampler), BUDGET)
    epochs = plan.n_steps / sampler.steps_per_epoch
    assert epochs == round(epochs) >= 1
    assert epsilon_of(plan.event, 1e-5) <= 1.0
    assert epsilon_of(plan_of(schedule, sampler, epochs + 1).event, 1e-5) > 1.0


def test_the_longest_run_is_that_of_the_loop_where_nothing_is_amplified():
    schedule = ExponentialDecay(0.0138, level=10.0)
    exact = epsilon_of(plan_of(schedule, ShuffledBatches(600, 60_000), 60).event, 1e-5)
    plan = plan_of(schedule, ShuffledBatches(600, 60_000))
    for share, epochs in ((1.0, 60), (0.99999, 59)):
        budget = PrivacyBudget(exact * share, 1e-5)
        assert longest(plan, budget).n_steps == 100 * epochs


def test_a_budget_below_one_epoch_is_refused():
    with pytest.raises(ValueError, match="not even one epoch"):
        longest(plan_of(ConstantNoise(0.5), ShuffledBatches(50, 500)), BUDGET)


def test_a_run_that_stays_within_the_budget_is_cut_at_the_most_epochs():
    plan = longest(plan_of(ConstantNoise(1e4), FullBatch(500)), BUDGET, most_epochs=1000)
    assert plan.n_steps == 1000

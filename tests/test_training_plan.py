"""Plans: what they cost, what they refuse, what they remember."""

from dataclasses import dataclass

import numpy as np
import pytest
from dp_accounting import dp_event

from skdp._random import RandomSource
from skdp.privacy import Neighbours, PrivacyBudget
from skdp.privacy.accounting import epsilon_of
from skdp.training import (
    AllCoordinates,
    ConstantNoise,
    ExponentialSelector,
    GaussianSelector,
    NoiseSchedule,
    PoissonSampler,
    ShuffledBatches,
    TrainingPlan,
)
from skdp.training.plan import _least_level

BUDGET = PrivacyBudget(1.0, 1e-5)


class Phases(NoiseSchedule):
    """Any multipliers; a subclass that is not a dataclass of its own."""

    def __init__(self, phases, level=1.0):
        object.__setattr__(self, "parts", tuple(phases))
        object.__setattr__(self, "level", level)

    def at_level(self, level):
        return Phases(self.parts, level)

    def phases(self, n_steps, steps_per_epoch):
        return [(self.level * multiplier, count) for multiplier, count in self.parts]


def plan(sampler=None, selector=None, noise=None, **changes):
    given = {
        "sampler": sampler or PoissonSampler.of_batch_size(100, 5000),
        "selector": selector or AllCoordinates(),
        "noise": noise or ConstantNoise(),
        "max_grad_norm": 1.0,
        "n_steps": 100,
        "size": 20,
    }
    return TrainingPlan(**{**given, **changes})


@pytest.mark.parametrize("n_runs", [1, 3])
@pytest.mark.parametrize(
    "selector", [AllCoordinates(), GaussianSelector(3), ExponentialSelector(3)], ids=repr
)
def test_calibration_meets_the_budget_from_below(selector, n_runs):
    calibrated = plan(selector=selector, n_runs=n_runs).calibrated(BUDGET)
    assert 0.999 < epsilon_of(calibrated.event, 1e-5) <= 1.0


def test_more_runs_need_more_noise():
    levels = [plan(n_runs=n).calibrated(BUDGET).noise.level for n in (1, 2, 4)]
    assert levels == sorted(levels)


def test_phases_are_charged_one_by_one():
    event = plan(noise=Phases([(2.0, 30), (1.0, 70)])).event
    assert [part.count for part in event.events] == [30, 70]
    expected = dp_event.ComposedDpEvent(
        [
            dp_event.SelfComposedDpEvent(
                dp_event.PoissonSampledDpEvent(0.02, dp_event.GaussianDpEvent(sigma)), count
            )
            for sigma, count in ((2.0, 30), (1.0, 70))
        ]
    )
    assert epsilon_of(event, 1e-5) == pytest.approx(epsilon_of(expected, 1e-5), rel=1e-4)
    assert plan().event_after(40).count == 40


def test_a_phase_across_two_epochs_of_shuffled_batches_is_paid_in_both():
    sampler = ShuffledBatches(10, 100)
    event = plan(sampler, noise=Phases([(200.0, 5), (2.0, 10), (200.0, 5)]), n_steps=20).event
    # A record may be in two steps of multiplier 2.
    two = dp_event.SelfComposedDpEvent(dp_event.GaussianDpEvent(2.0), 2)
    assert epsilon_of(event, 1e-5) >= epsilon_of(two, 1e-5)


def test_a_schedule_of_other_steps_than_are_made_is_refused():
    with pytest.raises(ValueError, match="plans 99 steps of the 100"):
        plan(noise=Phases([(1.0, 99)]))


def test_plans_that_only_seem_equal_are_not_calibrated_alike():
    weak, strong = plan(noise=Phases([(1.0, 100)])), plan(noise=Phases([(0.25, 100)]))
    assert weak == strong
    for each in (weak, strong):
        assert epsilon_of(each.calibrated(BUDGET).event, 1e-5) <= 1.0


def test_calibrating_twice_costs_nothing():
    plan(n_steps=77).calibrated(BUDGET)
    misses = _least_level.cache_info().misses
    plan(n_steps=77).calibrated(BUDGET)
    assert _least_level.cache_info().misses == misses


def test_sums_that_float64_could_not_hold_are_refused():
    tiny = plan(PoissonSampler(1.0, 1e9), noise=ConstantNoise(1e-3))
    with pytest.raises(ValueError, match="added exactly"):
        tiny.refuse_inexact_sums()
    for rows in (20_000_000, 2_000_000):
        sampler = PoissonSampler.of_batch_size(1000, rows)
        for selector in (AllCoordinates(), ExponentialSelector(5), GaussianSelector(5, 0.5, 1e-4)):
            plan(sampler, selector).refuse_inexact_sums()


def test_a_plan_without_delta_is_refused():
    with pytest.raises(ValueError, match="delta=0 is kept by no Gaussian noise"):
        plan().calibrated(PrivacyBudget(1.0))


def test_how_many_steps_are_drawn_at_a_time_does_not_depend_on_a_private_number():
    sampler = PoissonSampler(0.01, 90.0, Neighbours.ADD_OR_REMOVE_ONE)
    lengths = {
        tuple(len(b.offsets) for b in sampler.blocks(n, 3000, RandomSource.from_seed(0)))
        for n in (8000, 9000, 9011)
    }
    assert len(lengths) == 1


def test_public_dataclasses_are_frozen():
    @dataclass(frozen=True)
    class Half(NoiseSchedule):
        def phases(self, n_steps, steps_per_epoch):
            return [(self.level / 2, n_steps)]

    halved = plan(noise=Half()).calibrated(BUDGET)
    whole = plan().calibrated(BUDGET)
    assert halved.noise.level == pytest.approx(2 * whole.noise.level, rel=1e-5)
    assert np.all(np.array(list(halved.multipliers())) == halved.noise.level / 2)

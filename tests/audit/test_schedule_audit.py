"""Attacks on private SGD whose noise changes, by plan or by what was released."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from skdp._random import RandomSource
from skdp.privacy import PrivacyBudget
from skdp.privacy.filters import GaussianFilter
from skdp.training import (
    AllCoordinates,
    ConstantThen,
    ExponentialDecay,
    FullBatch,
    NoiseSchedule,
    PolynomialDecay,
    StepDecay,
    TimeDecay,
    TrainingPlan,
    ValidationDecay,
    adaptive_dpsgd,
)
from tests.audit.test_dpsgd_audit import DELTA, EPSILON, SAMPLERS, SIZE, N, audit
from tests.support.attack import ERROR_RATE, accuses
from tests.support.lower_bound import Counts
from tests.support.private_sgd import CanaryGradients

SCHEDULES = {
    "time": TimeDecay(0.5),
    "exponential": ExponentialDecay(0.3),
    "step": StepDecay(0.5, 2),
    "polynomial": PolynomialDecay(2, 0.4, 3),
    "constant, then": ConstantThen(ExponentialDecay(0.5), 2),
}
EPOCHS = 4


@dataclass(frozen=True)
class Again(NoiseSchedule):
    """A schedule that begins anew after so many steps: many runs in one."""

    schedule: NoiseSchedule
    period: int

    def phases(self, n_steps, steps_per_epoch):
        return self.schedule.phases(self.period, steps_per_epoch) * (n_steps // self.period)


def planned(sampler, schedule, epochs=EPOCHS):
    steps = round(epochs * sampler.steps_per_epoch)
    plan = TrainingPlan(sampler, AllCoordinates(), schedule, 1.0, steps, SIZE)
    return plan.calibrated(PrivacyBudget(EPSILON, DELTA))


def repeated(plan):
    return replace(plan, noise=Again(plan.noise, plan.n_steps))


def weighted(plan):
    """The log-likelihood ratio, up to a constant, of a canary that is in every batch."""
    weights = np.array([sigma**-2.0 for sigma in plan.multipliers()])
    return lambda seen: seen @ weights


CELLS = [
    (sampler, schedule)
    for sampler in SAMPLERS
    for schedule in SCHEDULES
    if sampler == "poisson" or schedule == "step"
]


@pytest.mark.parametrize(("sampler", "schedule"), CELLS)
def test_no_attack_shows_more_than_is_claimed(sampler, schedule):
    plan = planned(SAMPLERS[sampler], SCHEDULES[schedule])
    assert not accuses(audit(repeated(plan), 200, weighted(plan)), EPSILON, DELTA)


@pytest.mark.slow
def test_without_sampling_the_attack_comes_near_the_claim():
    plan = planned(FullBatch(N), StepDecay(0.5, 1), epochs=2)
    counts = audit(repeated(plan), 6000, weighted(plan))
    assert 0.4 * DELTA < counts.delta(EPSILON) <= DELTA


class TestPlantedBugs:
    """What the attacks must accuse."""

    def test_the_noise_of_the_first_epoch_claimed_for_all(self):
        constant = planned(FullBatch(N), ExponentialDecay(0.0))
        decaying = replace(constant, noise=StepDecay(0.25, 1, level=constant.noise.level))
        counts = audit(repeated(decaying), 500, weighted(decaying))
        assert accuses(counts, EPSILON, DELTA)


# ------------------------------------------------------------------ chosen on the way, by the enemy


class Enemy:
    """Watches releases of the canary's coordinate; says an accuracy by what they look like."""

    scale = 1.0

    def __init__(self, plan):
        self.values, self.seen, self._plan = np.zeros(plan.size), [], plan

    def apply(self, total):
        self.seen.append(-total[0])

    def accuracy(self, _):
        """Let the noise decay where the releases so far look as if there were a canary."""
        looks_present = np.mean(self.seen) > 0.5
        return 0.0 if looks_present else float(len(self.seen))


class HastyEnemy(Enemy):
    """Lets the noise decay as soon as may be."""

    def accuracy(self, _):
        return 0.0


def attacked(plan, present, seed, kind):
    enemy = kind(plan)
    canary = CanaryGradients(present, N, plan.size)
    run = adaptive_dpsgd(plan, canary, enemy, RandomSource.from_seed(seed), None, enemy.accuracy)
    sigmas = np.array(run.multipliers)
    return float(np.sum((np.array(enemy.seen) - 0.5) / sigmas**2))


def adaptive_counts(plan, draws, kind):
    there, gone = (
        np.array([attacked(plan, present, 2 * draw + present, kind) for draw in range(draws)])
        for present in (True, False)
    )
    pilot = draws // 4
    candidates = np.quantile(
        np.concatenate([there[:pilot], gone[:pilot]]), np.linspace(0.1, 0.9, 30)
    )
    gains = [
        (there[:pilot] >= c).mean() - math.exp(EPSILON) * (gone[:pilot] >= c).mean()
        for c in candidates
    ]
    threshold, rest = candidates[int(np.argmax(gains))], draws - pilot
    hits, others = (int((s[pilot:] >= threshold).sum()) for s in (there, gone))
    return Counts(hits, rest, others, rest, ERROR_RATE)


def adaptive_plan():
    schedule = ValidationDecay(None, None, period=1, window=1, factor=0.5)
    return planned(FullBatch(N), schedule)


@pytest.mark.parametrize("kind", [Enemy, HastyEnemy])
def test_who_chooses_the_noise_by_what_was_released_learns_no_more_than_is_claimed(kind):
    assert not accuses(adaptive_counts(adaptive_plan(), 400, kind), EPSILON, DELTA)


def test_a_filter_of_four_times_the_total_is_accused():
    plan = adaptive_plan()
    total = plan.noise.filter
    wrong = GaussianFilter(total.neighbours, total.delta * 100, 4 * total.mu)
    longer = replace(plan, noise=replace(plan.noise, total=wrong), n_steps=20)
    assert accuses(adaptive_counts(longer, 400, HastyEnemy), EPSILON, DELTA)

"""Attacks on private SGD: is the record there whose feature nobody else has?

The canary of `CanaryGradients` pulls one coordinate as hard as clipping allows in every step it
takes part in. The attacker sees every released step, as the guarantee allows. Events are fixed
beforehand: thresholds come from a pilot run with seeds of its own.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from dp_accounting import dp_event
from scipy.integrate import quad
from scipy.stats import norm

from skdp._random import RandomSource
from skdp.mechanisms.statistics import Selection
from skdp.privacy import Neighbours, PrivacyBudget
from skdp.privacy.accounting import delta_of, epsilon_of
from skdp.privacy.step_events import SelectionDpEvent
from skdp.training import (
    AllCoordinates,
    ConstantNoise,
    ExponentialSelector,
    FixedSizeWithoutReplacement,
    FullBatch,
    GaussianSelector,
    NoisyMaxSelector,
    PermuteAndFlipSelector,
    PoissonSampler,
    RoundRobinBlocks,
    ShuffledBatches,
    SparseVectorSelector,
    SurvivorSelector,
    TrainingPlan,
    dpsgd,
)
from skdp.training.plan import _least_level as calibrations
from skdp.training.steps import RefinedStep
from tests.support.attack import ERROR_RATE, accuses
from tests.support.lower_bound import Counts, at_least, at_most
from tests.support.private_sgd import CanaryGradients

N, SIZE, STEPS = 4, 12, 4
EPSILON, DELTA = 1.0, 0.2
SAMPLERS = {
    "poisson": PoissonSampler.of_batch_size(2, N),
    "shuffled": ShuffledBatches(2, N),
    "full": FullBatch(N),
    "fixed size": FixedSizeWithoutReplacement(2, N),
    "blocks": RoundRobinBlocks(np.arange(N) % 2, 2),
}
SELECTORS = {
    "none": AllCoordinates(),
    "gaussian": GaussianSelector(2),
    "gaussian, refined": GaussianSelector(2, 0.5, 0.5),
    "exponential": ExponentialSelector(2),
    "noisy max": NoisyMaxSelector(2),
    "permute and flip": PermuteAndFlipSelector(),
    "sparse vector": SparseVectorSelector(2),
    "adafest": SurvivorSelector(2),
}


class Watcher:
    """An attacker in the place of the optimiser: sees each release, moves nothing."""

    scale = 1.0

    def __init__(self, size, clip):
        self.values = np.zeros(size)
        self._clip, self._seen = clip, []

    def apply(self, total):
        if not isinstance(total, Selection):
            self._seen.append(-total[0] / self._clip)
            return
        place = np.flatnonzero(total.indices == 0)
        # A coordinate that was not selected says no more than that.
        self._seen.append(-total.values[place[0]] / self._clip if len(place) else math.nan)

    def result(self):
        return np.array(self._seen)


def watched(plan, present, draws, seed, sampler=None):
    """Released values of the canary's coordinate, in units of the clip; shape (draws, steps).

    Runs do not learn, so that many of them are one long run of independent steps; for shuffled
    batches and blocks a run is a whole number of epochs.
    """
    sampler = plan.sampler if sampler is None else sampler
    long = replace(plan, sampler=sampler, n_steps=draws * plan.n_steps)
    canary = CanaryGradients(present, sampler.public_size, plan.size)
    seen = dpsgd(long, canary, Watcher(plan.size, 1.0), RandomSource.from_seed(seed))
    return seen.reshape(draws, plan.n_steps)


def score(seen):
    """The sum of what was released, and a bonus for each time the coordinate was selected."""
    selected = ~np.isnan(seen)
    return np.nansum(seen, axis=1) + 0.5 * selected.sum(axis=1)


def selections(seen):
    """How often the coordinate was selected; broken at random, so that quantiles are distinct."""
    counts = (~np.isnan(seen)).sum(axis=1)
    return counts + 0.1 * np.random.default_rng(0).random(len(counts))


def largest(seen):
    return np.nanmax(np.where(np.isnan(seen), -9.0, seen), axis=1)


def audit(plan, draws, statistic=score, sampler=None, epsilon=EPSILON):
    """Count the event ``statistic >= threshold``; the threshold is planned on a tenth as many."""
    pilot = min(1000, max(100, draws // 10))
    there, gone = (statistic(watched(plan, p, pilot, 10 + p, sampler)) for p in (True, False))
    candidates = np.quantile(np.concatenate([there, gone]), np.linspace(0.02, 0.98, 60))
    gains = [(there >= c).mean() - math.exp(epsilon) * (gone >= c).mean() for c in candidates]
    threshold = candidates[int(np.argmax(gains))]
    there, gone = (statistic(watched(plan, p, draws, 20 + p, sampler)) for p in (True, False))
    hits, others = int((there >= threshold).sum()), int((gone >= threshold).sum())
    return Counts(hits, draws, others, draws, ERROR_RATE)


def planned(sampler, selector, n_steps=STEPS, epsilon=EPSILON, delta=DELTA, size=SIZE):
    plan = TrainingPlan(sampler, selector, ConstantNoise(), 1.0, n_steps, size)
    return plan.calibrated(PrivacyBudget(epsilon, delta))


def allowed(sampler, selector):
    if sampler == "fixed size":
        return selector in ("none", "gaussian", "gaussian, refined")
    return True


CELLS = [(s, c) for s in SAMPLERS for c in SELECTORS if allowed(s, c)]
#: Every selector and every sampler once; all pairs run under `slow`.
FEW = [(s, c) for s, c in CELLS if s == "poisson" or c == "none"]


@pytest.mark.parametrize(("sampler", "selector"), FEW)
def test_no_attack_shows_more_than_is_claimed(sampler, selector):
    plan = planned(SAMPLERS[sampler], SELECTORS[selector])
    assert not accuses(audit(plan, 200), EPSILON, DELTA)


@pytest.mark.slow
@pytest.mark.parametrize(("sampler", "selector"), CELLS)
def test_no_attack_shows_more_in_many_runs(sampler, selector):
    plan = planned(SAMPLERS[sampler], SELECTORS[selector])
    for statistic in (score, largest, selections):
        assert not accuses(audit(plan, 10_000, statistic), EPSILON, DELTA)


@pytest.mark.parametrize(("sampler", "turns"), [("full", slice(None)), ("blocks", slice(1))])
def test_without_sampling_the_attack_comes_near_the_claim(sampler, turns):
    """The sum over the turns of the canary is the likelihood ratio, so the claim is attained."""
    plan = planned(SAMPLERS[sampler], AllCoordinates(), 2)
    counts = audit(plan, 6000, lambda seen: score(seen[:, turns]))
    assert 0.4 * DELTA < counts.delta(EPSILON) <= DELTA


def test_with_poisson_sampling_it_comes_near_too():
    counts = audit(planned(SAMPLERS["poisson"], AllCoordinates(), 1), 9000)
    assert 0.4 * DELTA < counts.delta(EPSILON) <= DELTA


class TestPlantedBugs:
    """What the attacks must accuse."""

    def test_a_quarter_of_the_noise(self):
        plan = planned(SAMPLERS["poisson"], AllCoordinates())
        weak = TrainingPlan(
            plan.sampler, plan.selector, plan.noise.at_level(plan.noise.level / 4), 1.0, STEPS, SIZE
        )
        assert accuses(audit(weak, 1000), EPSILON, DELTA)

    @pytest.mark.parametrize("selector", [ExponentialSelector(1, 0.95), GaussianSelector(1, 0.95)])
    def test_a_selection_that_is_not_charged(self, monkeypatch, selector):
        honest = planned(FullBatch(N), selector, 2)
        assert not accuses(audit(honest, 500, selections), EPSILON, DELTA)
        monkeypatch.setattr(RefinedStep, "event", property(lambda self: self.noise.event))
        calibrations.cache_clear()  # the honest one is of the same plan
        uncharged = planned(FullBatch(N), selector, 2)
        calibrations.cache_clear()
        assert accuses(audit(uncharged, 500, selections), EPSILON, DELTA)

    def test_poisson_accounting_of_shuffled_batches(self):
        n, delta = 20, 0.45
        poisson = planned(PoissonSampler.of_batch_size(1, n), AllCoordinates(), n, delta=delta)
        shuffled = ShuffledBatches(1, n)
        honest = planned(shuffled, AllCoordinates(), n, delta=delta)
        assert not accuses(audit(honest, 100, largest), EPSILON, delta)
        assert not accuses(audit(poisson, 100, largest), EPSILON, delta)
        assert accuses(audit(poisson, 1600, largest, sampler=shuffled), EPSILON, delta)

    @pytest.mark.slow
    def test_selection_and_noise_amplified_apart(self):
        """One step: the canary selected *and* its value large is rarer than each bound has it.

        Too rare for counting to show it: the event's probabilities are integrals, and the counts
        show that the integral is the code's.
        """
        q, delta, size, threshold = 0.1, 0.01, 100, 1.2
        plan = TrainingPlan(
            PoissonSampler(q, 10.0), GaussianSelector(1, 0.5), ConstantNoise(0.3), 1.0, 1, size
        )
        picks, noise = plan.event.event.event.events
        apart = dp_event.ComposedDpEvent(
            [dp_event.PoissonSampledDpEvent(q, part) for part in (picks, noise)]
        )
        ahead, _ = quad(
            lambda z: norm.pdf(z) * norm.cdf(z + 1 / picks.noise_std) ** (size - 1), -9, 9
        )
        # The claims price a canary against no canary at all, which is selected once in `size`.
        gone = norm.sf(threshold / noise.noise_std) / size
        taken = ahead * norm.sf((threshold - 1) / noise.noise_std)
        there = q * taken + (1 - q) * gone
        shown = math.log((there - delta) / gone)
        assert epsilon_of(apart, delta) + 1 < shown <= epsilon_of(plan.event, delta)
        hits, draws = int((watched(plan, True, 20_000, 20)[:, 0] > threshold).sum()), 20_000
        assert at_least(hits, draws, 5e-8) < there < at_most(hits, draws, 5e-8)

    def test_replace_one_at_the_price_of_zero_out(self):
        """A record that pulls the other way instead of not at all moves the sum twice as far."""
        sampler = ShuffledBatches(2, N)
        plan = planned(sampler, AllCoordinates(), 2)
        rng = RandomSource.from_seed(5)
        signed = [
            np.array([rng.generator().normal(sign, plan.noise.level) for _ in range(4000)])
            for sign in (1.0, -1.0)
        ]
        hits = [int((s > 0).sum()) for s in signed]
        counts = Counts(hits[0], 4000, hits[1], 4000, ERROR_RATE)
        assert accuses(counts, EPSILON, DELTA)
        replaced = ShuffledBatches(2, N, Neighbours.REPLACE_ONE)
        honest = planned(replaced, AllCoordinates(), 2)
        # Calibration itself is good to a few 1e-6.
        assert honest.noise.level == pytest.approx(2 * plan.noise.level, rel=1e-3)


def test_a_plan_costs_more_than_its_parts_amplified_apart():
    """The counterexample of the accounting: 16 selections of range 0.5, multiplier 1, q = 0.01."""
    picks = SelectionDpEvent(16, "bounded-range", 0.5, "zero-out")
    noise = planned(SAMPLERS["full"], AllCoordinates(), 1).event.event
    noise = type(noise)(1.0, "l2", "zero-out", 1.0)
    joint, apart = (
        dp_event.SelfComposedDpEvent(event, 1000)
        for event in (
            dp_event.PoissonSampledDpEvent(0.01, dp_event.ComposedDpEvent([picks, noise])),
            dp_event.ComposedDpEvent(
                [dp_event.PoissonSampledDpEvent(0.01, part) for part in (picks, noise)]
            ),
        )
    )
    assert epsilon_of(joint, 1e-5) > 1.5 * epsilon_of(apart, 1e-5)
    assert delta_of(joint, 2.54) > 1e-5

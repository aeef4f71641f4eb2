"""What selections cost, by exact laws at the noise scales of the code."""

import dataclasses
import itertools
import math

import dp_accounting
import numpy as np
import pytest
from scipy import stats

from skdp.mechanisms import (
    ExponentialTopK,
    GaussianTopK,
    NoisyMaxTopK,
    PermuteAndFlip,
    SparseVectorTechnique,
)
from skdp.privacy.budget import Neighbours, Sensitivity
from skdp.privacy.gaussian_curve import gaussian_delta
from tests.support import selection_laws as laws
from tests.support.gaussian_events import proved_delta
from tests.support.selections import HUGE, UNIT, top


@pytest.mark.parametrize("kind", ["gaussian", "threshold"])
@pytest.mark.parametrize("noise_std", [0.2, 1.0, 30.0])
def test_gaussian_selections_cost_one_gaussian_release(kind, noise_std):
    mechanism = dataclasses.replace(top(HUGE, 100)[kind], noise_std=noise_std)
    event = mechanism.event
    if kind == "gaussian":
        assert event == dataclasses.replace(mechanism, n_selected=1).event
    assert (event.sensitivity, event.noise_std) == (1.0, noise_std)
    assert event.neighbours is Neighbours.ZERO_OUT
    total_variation = HUGE * 2.0**-180 + 2.0**-164
    for epsilon in (0.0, 1.0, 10.0, 60.0, 300.0):
        run = proved_delta(1 / noise_std, total_variation, epsilon)
        claimed = gaussian_delta(1 / noise_std, epsilon) + event.delta
        assert run <= claimed * (1 + 1e-3)
    assert event.delta < 1e-19


def test_noise_too_small_for_any_guarantee_is_called_not_private():
    for mechanism in (
        GaussianTopK(UNIT, 3, 1, noise_std=0.01),
        PermuteAndFlip(UNIT, 3, epsilon=300.0),
        NoisyMaxTopK(UNIT, 3, 1, epsilon=1e6),
    ):
        assert isinstance(mechanism.event, dp_accounting.NonPrivateDpEvent)


@pytest.mark.parametrize(
    ("kind", "picks", "named", "cost"),
    [
        ("exponential", 100, "bounded-range", 1.0),
        ("noisy max", 100, "pure", 1.0),
        ("permute and flip", 1, "pure", 1.0),
        ("sparse vector", 1, "pure", 8.0),
        ("numeric sparse", 1, "pure", 30.0),
    ],
)
def test_the_event_says_what_was_run(kind, picks, named, cost):
    event = top(HUGE, 100)[kind].event
    assert event.picks == picks
    assert event.kind.value == named
    assert cost < event.epsilon < cost + 1e-8
    assert event.neighbours is Neighbours.ZERO_OUT
    assert 0 < event.delta < 1e-15


@pytest.mark.parametrize(("k", "eta"), [(1, 8.0), (10, 1.0), (1000, 0.5), (20_000, 0.03)])
def test_the_delta_of_finite_precision_stays_small_where_a_pure_bound_would_not(k, eta):
    assert ExponentialTopK(UNIT, HUGE, k, eta=eta).event.delta < 1e-14


def move(rng, size):
    step = rng.normal(size=size)
    return step / np.linalg.norm(step)


@pytest.mark.parametrize("seed", range(8))
def test_losses_of_single_picks_stay_within_the_claim_on_random_neighbours(seed):
    """Exact laws at the noise scales of the code."""
    rng = np.random.default_rng(seed)
    first = rng.normal(size=4) * rng.choice([0.3, 3.0])
    pair = [np.abs(first), np.abs(first + move(rng, 4))]
    scale = ExponentialTopK(UNIT, 4, 1, eta=1.0).noise_scale
    found = laws.losses(*(laws.exponential_mechanism(scores / scale) for scores in pair))
    assert np.ptp(found) <= 1 + 1e-9
    scale = NoisyMaxTopK(UNIT, 4, 1, epsilon=1.0).noise_scale
    found = laws.losses(*(laws.noisy_top(scores / scale, 1, stats.laplace) for scores in pair))
    assert np.abs(found).max() <= 1 + 1e-4
    scale = PermuteAndFlip(UNIT, 4, epsilon=1.0).noise_scale
    found = laws.losses(*(laws.permute_and_flip(scores / scale) for scores in pair))
    assert np.abs(found).max() <= 1 + 1e-9


def test_losses_of_single_picks_attain_the_claim_on_the_worst_neighbours():
    """One score gains what another loses. Any smaller scale would break the claim."""
    gain = 1 / math.sqrt(2)
    pair = [np.array([0.0, 30.0]), np.array([gain, 30.0 - gain])]
    for mechanism, law in (
        (ExponentialTopK(UNIT, 2, 1, eta=1.0), laws.exponential_mechanism),
        (PermuteAndFlip(UNIT, 2, epsilon=1.0), laws.permute_and_flip),
    ):
        loss, other = laws.losses(*(law(scores / mechanism.noise_scale) for scores in pair))
        assert abs(loss) == pytest.approx(1.0, abs=1e-6)
        assert abs(other) < 1e-6
    mechanism = NoisyMaxTopK(UNIT, 2, 1, epsilon=1.0)
    scaled = [scores / mechanism.noise_scale for scores in pair]
    found = laws.losses(*(laws.noisy_top(scores, 1, stats.laplace) for scores in scaled))
    assert 0.9 < np.abs(found).max() < 1.0


SPARSE = {"optimal": laws.sparse_vector, "paper": laws.refreshed_sparse_vector}


def sparse_vector_loss(constants, c, pair, threshold, query_factor=1.0):
    rule = SparseVectorTechnique(UNIT, 6, c, 1.0, threshold, constants)._rule
    scales = rule.threshold_scale, query_factor * rule.query_scale
    both = (SPARSE[constants](scores, c, threshold, *scales) for scores in pair)
    return np.abs(laws.losses(*both)).max()


@pytest.mark.parametrize("constants", ["optimal", "paper"])
@pytest.mark.parametrize("c", [1, 3])
def test_the_loss_of_a_sparse_vector_stays_within_the_claim(constants, c):
    """Each score moves by the whole sensitivity, the selected ones down and the others up."""
    for threshold, low in itertools.product((0.0, 20.0), (0.0, 8.0)):
        up, down = np.array([low, low, low + 1.0]), np.array([low + 1.0, low + 1.0, low])
        assert sparse_vector_loss(constants, c, (up, down), threshold) <= 1 + 1e-3


def test_query_noise_that_ignores_how_many_may_pass_is_caught():
    up, down = np.array([0.0, 0.0, 1.0, 1.0, 1.0, 1.0]), np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    assert sparse_vector_loss("optimal", 4, (up, down), 30.0) <= 1.0 + 1e-3
    assert sparse_vector_loss("optimal", 4, (up, down), 30.0, query_factor=1 / 4) > 1.3


def test_replace_one_costs_what_the_sensitivity_says():
    """Its sensitivity is twice the clipping norm, so nothing is doubled again."""
    replaced = Sensitivity(2.0, "l2", Neighbours.REPLACE_ONE)
    for kind, mechanism in top(10).items():
        other = dataclasses.replace(mechanism, sensitivity=replaced)
        assert other.event.neighbours is Neighbours.REPLACE_ONE
        if kind in ("exponential", "noisy max", "permute and flip"):
            assert other.noise_scale == 2 * mechanism.noise_scale

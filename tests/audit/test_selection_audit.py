"""Audits of selections: what an attacker shows of epsilon or delta stays below what is claimed.

The neighbours are the worst there are and the event is chosen beforehand, by analysis. One audit
of an honest selection in 200 million fails by chance (`ERROR_RATE`). Lower limits on what is
shown, and accusations of planted bugs, hold for a fixed seed.
"""

import math
from dataclasses import dataclass
from unittest import mock

import numpy as np
import pytest

from skdp._random import RandomSource
from skdp.mechanisms import (
    ExponentialTopK,
    GaussianThreshold,
    GaussianTopK,
    NoisyMaxTopK,
    PermuteAndFlip,
    SparseSum,
    SparseVectorTechnique,
)
from skdp.mechanisms.rounded_gaussian import RoundedGaussian
from skdp.mechanisms.sparse_vector_rules import OptimalThreshold
from skdp.privacy.budget import Neighbours, Sensitivity
from skdp.privacy.gaussian_curve import gaussian_delta
from tests.support.attack import ERROR_RATE, accuses
from tests.support.lower_bound import Counts

UNIT = Sensitivity(1.0, "l2", Neighbours.ZERO_OUT)
#: What one score can gain while another loses it, the vector moving by 1.
GAIN = 1 / math.sqrt(2)


@dataclass(frozen=True)
class Attack:
    """An event that is likelier on `first` than on its neighbour `second`."""

    mechanism: object
    first: SparseSum
    second: SparseSum
    happened: object
    epsilon: float
    delta: float = 0.0

    def counts(self, draws, seed=None):
        rng = RandomSource.for_state(seed)
        hits = [
            sum(int(self.happened(self.mechanism.release(value, rng))) for _ in range(draws))
            for value in (self.first, self.second)
        ]
        return Counts(hits[0], draws, hits[1], draws, ERROR_RATE)

    def accused(self, draws, seed=None):
        return accuses(self.counts(draws, seed), self.epsilon, self.delta)


@dataclass(frozen=True)
class ManyAtOnce(Attack):
    """`happened` counts over all coordinates, which are independent trials of one coordinate."""

    def counts(self, draws, seed=None):
        rng, size = RandomSource.for_state(seed), self.mechanism.size
        rounds = -(-draws // size)
        hits = [
            sum(int(self.happened(self.mechanism.release(value, rng))) for _ in range(rounds))
            for value in (self.first, self.second)
        ]
        return Counts(hits[0], rounds * size, hits[1], rounds * size, ERROR_RATE)


def picks_the_first(selected):
    return 0 in selected.indices


def one_score_gains(mechanism, height, epsilon):
    """The first of two coordinates, behind by `height` scales, gains what the other loses."""
    height *= mechanism.noise_scale
    return Attack(
        mechanism,
        SparseSum([0, 1], [GAIN, height - GAIN], 2),
        SparseSum([1], [height], 2),
        picks_the_first,
        epsilon,
    )


def exponential(eta=2.0):
    return one_score_gains(ExponentialTopK(UNIT, 2, 1, eta=eta), 1.5 + eta / 2, eta)


def noisy_max(epsilon=2.0, behind=1.0):
    return one_score_gains(NoisyMaxTopK(UNIT, 2, 1, epsilon=epsilon), behind + epsilon, epsilon)


def permute_and_flip(epsilon=2.0):
    return one_score_gains(PermuteAndFlip(UNIT, 2, epsilon=epsilon), epsilon, epsilon)


def gaussian_value(threshold=1.5):
    """At epsilon 1 the best event of N(1, 1) against N(0, 1) is to exceed 3/2."""
    return ManyAtOnce(
        GaussianTopK(UNIT, 4000, 4000, noise_std=1.0),
        SparseSum.from_dense(np.ones(4000)),
        SparseSum([], [], 4000),
        lambda selected: np.sum(selected.values >= threshold),
        1.0,
        gaussian_delta(1.0, 1.0),
    )


def gaussian_threshold(threshold=1.5):
    return ManyAtOnce(
        GaussianThreshold(UNIT, 4000, noise_std=1.0, threshold=threshold),
        SparseSum.from_dense(np.ones(4000)),
        SparseSum([], [], 4000),
        len,
        1.0,
        gaussian_delta(1.0, 1.0),
    )


def gaussian_choice():
    """Which of two is larger, noise cancelling: a Gaussian test of 2^(1/2) s against 2^(1/2)."""
    return Attack(
        GaussianTopK(UNIT, 2, 1, noise_std=1.0),
        SparseSum([0, 1], [20 + GAIN, 20 - GAIN], 2),
        SparseSum([0, 1], [20.0, 20.0], 2),
        picks_the_first,
        0.3,
        gaussian_delta(1.0, 0.3),
    )


def sparse_vector(epsilon=2.0):
    """Half of the scores fall from above the threshold to below it, the other half rise."""
    mechanism = SparseVectorTechnique(UNIT, 64, 64, epsilon=epsilon, threshold=40.0)
    first, second = np.repeat([40.5, 39.5], 32), np.repeat([39.5, 40.5], 32)

    def more_of_the_first_half(selected):
        half = selected.indices < 32
        return int(half.sum()) - int((~half).sum()) >= 4

    values = (SparseSum.from_dense(value) for value in (first, second))
    return Attack(mechanism, *values, more_of_the_first_half, epsilon)


def a_coordinate_that_nobody_else_has(mechanism, value, epsilon):
    """Coordinate 7 is in a batch or is not: with a value as small as the mechanism can see."""
    first = SparseSum([7, 30], [value, 5.0], 2000)
    return Attack(
        mechanism,
        first,
        SparseSum([30], [5.0], 2000),
        lambda selected: 7 in selected.indices,
        epsilon,
        0.0,
    )


ATTACKS = {
    "exponential": exponential,
    "noisy max": noisy_max,
    "permute and flip": permute_and_flip,
    "gaussian value": gaussian_value,
    "gaussian threshold": gaussian_threshold,
    "gaussian choice": gaussian_choice,
    "sparse vector": sparse_vector,
}


@pytest.mark.parametrize("name", ATTACKS)
def test_no_attack_shows_more_than_is_claimed(name):
    assert not ATTACKS[name]().accused(1200)


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTACKS)
def test_no_attack_with_many_draws_shows_more_than_is_claimed(name):
    assert not ATTACKS[name]().accused(60_000)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("attack", [exponential, noisy_max, permute_and_flip, sparse_vector])
def test_no_attack_at_other_epsilons_shows_more_than_is_claimed(attack, epsilon):
    assert not attack(epsilon).accused(30_000)


@pytest.mark.parametrize(
    ("name", "share"), [("exponential", 0.5), ("noisy max", 0.4), ("permute and flip", 0.6)]
)
def test_attacks_on_pure_selections_come_near_the_claim(name, share):
    attack = ATTACKS[name]()
    assert share * attack.epsilon <= attack.counts(2500, seed=0).epsilon() <= attack.epsilon


@pytest.mark.parametrize("name", ["gaussian value", "gaussian threshold"])
def test_attacks_on_gaussian_selections_come_near_the_delta_claimed(name):
    attack = ATTACKS[name]()
    shown = attack.counts(200_000, seed=0).delta(attack.epsilon)
    assert 0.8 * attack.delta <= shown <= attack.delta


# --- planted bugs


def a_quarter_of_the_scale(cls):
    true = cls.noise_scale.fget
    return mock.patch.object(cls, "noise_scale", property(lambda self: true(self) / 4))


def a_quarter_of_the_normal_noise():
    true = RoundedGaussian.integers
    return mock.patch.object(
        RoundedGaussian, "integers", lambda self, n, rng: np.rint(true(self, n, rng) / 4)
    )


def query_noise_that_ignores_how_many_may_pass():
    true = OptimalThreshold.query_scale.fget
    return mock.patch.object(
        OptimalThreshold, "query_scale", property(lambda self: true(self) / self.n_selected)
    )


BUGS = {
    "exponential, a quarter of the noise": (
        exponential,
        lambda: a_quarter_of_the_scale(ExponentialTopK),
    ),
    "noisy max, a quarter of the noise": (
        lambda: noisy_max(behind=0.0),
        lambda: a_quarter_of_the_scale(NoisyMaxTopK),
    ),
    "permute and flip, a quarter of the noise": (
        permute_and_flip,
        lambda: a_quarter_of_the_scale(PermuteAndFlip),
    ),
    "gaussian, a quarter of the noise": (
        lambda: gaussian_value(0.5),
        a_quarter_of_the_normal_noise,
    ),
    "threshold, a quarter of the noise": (
        lambda: gaussian_threshold(0.5),
        a_quarter_of_the_normal_noise,
    ),
    "query noise not scaled": (sparse_vector, query_noise_that_ignores_how_many_may_pass),
}


@pytest.mark.parametrize("bug", BUGS)
def test_the_audit_accuses_a_planted_bug(bug):
    attack, plant = BUGS[bug]
    planned = attack()
    with plant():
        assert planned.accused(2500, seed=0)


# --- a coordinate that only one record touches


RARE = {
    "exponential": (ExponentialTopK(UNIT, 2000, 10, eta=0.1), 1.0, 1.0),
    "noisy max": (NoisyMaxTopK(UNIT, 2000, 4, epsilon=0.25), 1.0, 1.0),
    "permute and flip": (PermuteAndFlip(UNIT, 2000, epsilon=0.5), 1.0, 0.5),
    "gaussian": (GaussianTopK(UNIT, 2000, 10, noise_std=1.0), 0.0, 0.01),
    "threshold": (GaussianThreshold(UNIT, 2000, noise_std=1.0, threshold=3.0), 0.0, 0.01),
    "sparse vector": (SparseVectorTechnique(UNIT, 2000, 10, 1.0, 100.0), 1.0, 1.0),
    "numeric sparse": (SparseVectorTechnique(UNIT, 2000, 10, 1.0, 300.0, "paper"), 1.0, 1.0),
}


@pytest.mark.parametrize("name", RARE)
def test_a_coordinate_that_only_one_record_touches_does_not_show(name):
    assert not a_coordinate_that_nobody_else_has(*RARE[name]).accused(500)


def test_noise_on_nothing_but_what_is_listed_is_caught():
    """The untouched coordinates get none, so each one that is touched stands out."""
    attack = a_coordinate_that_nobody_else_has(*RARE["gaussian"])
    with mock.patch.object(GaussianTopK, "_extremes", lambda self, listed, n, rng: np.zeros(n)):
        assert attack.accused(300, seed=0)

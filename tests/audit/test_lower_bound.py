"""The confidence bounds that the audits rest on."""

import math

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from tests.support.lower_bound import Counts, at_least, at_most


@pytest.mark.parametrize("trials", [1, 7, 400])
@pytest.mark.parametrize("error_rate", [0.05, 1e-9])
def test_the_bounds_are_those_of_scipys_exact_interval(trials, error_rate):
    for hits in {0, 1, trials // 3, trials}:
        exact = binomtest(hits, trials).proportion_ci(1 - 2 * error_rate, method="exact")
        assert at_least(hits, trials, error_rate) == pytest.approx(exact.low, rel=1e-6, abs=1e-12)
        assert at_most(hits, trials, error_rate) == pytest.approx(exact.high, rel=1e-6)


def test_no_hit_and_nothing_but_hits_have_a_closed_form():
    assert at_most(0, 50, 0.01) == pytest.approx(1 - 0.01 ** (1 / 50), rel=1e-12)
    assert at_least(50, 50, 0.01) == pytest.approx(0.01 ** (1 / 50), rel=1e-12)
    assert at_least(0, 50, 0.01) == 0
    assert at_most(50, 50, 0.01) == 1


@pytest.mark.parametrize("truth", [0.001, 0.2, 0.5, 0.97])
def test_the_true_probability_is_missed_no_more_often_than_stated(truth):
    """By the exact law of the count: no sampling."""
    trials, error_rate = 60, 0.01
    law = binom.pmf(np.arange(trials + 1), trials, truth)
    too_high = [at_least(k, trials, error_rate) > truth for k in range(trials + 1)]
    too_low = [at_most(k, trials, error_rate) < truth for k in range(trials + 1)]
    assert law[too_high].sum() <= error_rate
    assert law[too_low].sum() <= error_rate


@pytest.mark.parametrize(
    ("hits", "trials", "low", "high"),
    [(81, 263, 0.2527, 0.3676), (15, 148, 0.0578, 0.1617), (0, 20, 0.0, 0.1684)],
)
def test_the_intervals_are_those_of_newcombe_1998(hits, trials, low, high):
    """Newcombe (1998), Table I, method 5: two-sided 95 %."""
    assert at_least(hits, trials, 0.025) == pytest.approx(low, abs=5e-5)
    assert at_most(hits, trials, 0.025) == pytest.approx(high, abs=5e-5)


def test_epsilon_is_the_logarithm_of_the_ratio_of_the_two_bounds():
    counts = Counts(81, 263, 15, 148, error_rate=0.05)
    assert counts.epsilon() == pytest.approx(math.log(0.2527 / 0.1617), abs=1e-3)
    assert counts.epsilon(delta=0.05) == pytest.approx(math.log(0.2027 / 0.1617), abs=1e-3)
    assert counts.delta(0.25) == pytest.approx(0.2527 - math.exp(0.25) * 0.1617, abs=2e-4)


def test_epsilon_uses_the_complement_where_it_shows_more():
    counts = Counts(9_999, 10_000, 5_000, 10_000, error_rate=1e-6)
    likely, unlikely = counts.probability, counts.other_probability
    assert counts.epsilon() == pytest.approx(math.log((1 - unlikely) / (1 - likely)))
    assert counts.epsilon() > math.log(likely / unlikely) + 3


def test_delta_and_epsilon_are_two_views_of_one_curve():
    counts = Counts(700, 1000, 100, 1000, error_rate=1e-6)
    epsilon = counts.epsilon(delta=0.1)
    assert 0 < epsilon < counts.epsilon()
    assert counts.delta(epsilon) == pytest.approx(0.1)
    assert counts.delta(counts.epsilon()) == pytest.approx(0, abs=1e-12)


def test_equal_counts_show_nothing():
    counts = Counts(500, 1000, 500, 1000, error_rate=1e-6)
    assert counts.epsilon() == 0
    assert counts.delta(0.0) == 0

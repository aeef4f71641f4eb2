"""One-run audits: their p-value against exact laws and brute force."""

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import binom

from skdp.audit import audit_one_run, epsilon_of_guesses, guessing_p_value
from skdp.linear_model import PrivateElasticNetClassifier, PrivateRidge
from tests.support.toy_models import CoinFlips

CHANCE = 1 / (1 + np.exp(-1.0))


def test_without_delta_it_is_the_tail_of_a_binomial_law():
    for right in (0, 1, 30, 60):
        expected = binom.sf(right - 1, 60, CHANCE)
        assert guessing_p_value(100, 60, right, 1.0) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("delta", [1e-6, 1e-3])
def test_delta_adds_the_largest_mean_of_the_law_below(delta):
    m, r, v = 80, 40, 30
    means = [sum(binom.pmf(v - i, r, CHANCE) for i in range(1, k + 1)) / k for k in range(1, v + 1)]
    expected = min(1, binom.sf(v - 1, r, CHANCE) + 2 * m * delta * max(means))
    assert guessing_p_value(m, r, v, 1.0, delta) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_randomised_response_is_accused_no_more_often_than_stated_and_nearly_shown(epsilon):
    """By the exact law of right guesses: the worst mechanism for which the bound is tight."""
    m, law = 500, binom(500, 1 / (1 + np.exp(-epsilon)))
    shown = np.array([epsilon_of_guesses(m, m, v) for v in range(m + 1)])
    assert law.pmf(np.flatnonzero(shown > epsilon)).sum() <= 0.05
    assert law.pmf(np.flatnonzero(shown > epsilon)).sum() > 0.01
    assert shown[int(law.median())] > 0.65 * epsilon


def test_leaks_with_probability_delta_are_within_the_delta_claimed():
    """Brute force: each coin is shown with probability delta, else told by randomised response."""
    rng, m, delta, epsilon, runs = np.random.default_rng(0), 200, 0.02, 1.0, 4000
    shown = rng.random((runs, m)) < delta
    right = np.where(shown, True, rng.random((runs, m)) < CHANCE).sum(axis=1)
    accused = np.array([guessing_p_value(m, m, v, epsilon, delta) <= 0.05 for v in range(m + 1)])
    assert accused[right].mean() <= 0.05
    naive = np.array([guessing_p_value(m, m, v, epsilon) <= 0.05 for v in range(m + 1)])
    assert naive[right].mean() > 0.05  # which the term for delta is there to prevent


def test_the_bound_solves_for_the_error_rate():
    found = epsilon_of_guesses(300, 120, 110, delta=1e-5)
    assert guessing_p_value(300, 120, 110, found, 1e-5) == pytest.approx(0.05, abs=1e-5)
    assert epsilon_of_guesses(300, 120, 60) == 0
    assert epsilon_of_guesses(10**6, 10**6, 10**6) > 12


class TestFits:
    """One fit each."""

    X, y = np.zeros((20, 2)), np.resize([0, 1], 20)

    def test_randomised_response_shows_most_of_its_epsilon(self):
        found = audit_one_run(CoinFlips(2.0), self.X, self.y, n_canaries=1500, random_state=1)
        assert 0.7 * 2 < found.epsilon <= 2
        assert not found.accuses

    def test_a_claim_that_is_false_is_found_out(self):
        found = audit_one_run(
            CoinFlips(3.0), self.X, self.y, n_canaries=1500, epsilon=1.0, random_state=0
        )
        assert found.accuses
        assert "FALSE" in found.sentence()

    @pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
    def test_our_estimators_are_not_accused(self, container):
        model = PrivateElasticNetClassifier(epsilon=2.0)
        found = audit_one_run(
            model, container(self.X), self.y, n_canaries=60, random_state=0, confidence=0.999
        )
        assert not found.accuses
        assert found.scores.shape == found.coins.shape == (60,)

    def test_membership_is_for_a_private_number_of_rows(self):
        model = PrivateRidge(epsilon=4.0)
        found = audit_one_run(
            model, self.X, self.y, n_canaries=60, random_state=0, confidence=0.999
        )
        assert found.claim.epsilon == 4.0
        assert not found.accuses
        assert found.plot() is not None

    @pytest.mark.parametrize("bad", [{"n_canaries": 0}, {"coins": "tails"}])
    def test_arguments_out_of_range_are_refused(self, bad):
        with pytest.raises(ValueError, match=next(iter(bad))):
            audit_one_run(CoinFlips(), self.X, self.y, **bad)

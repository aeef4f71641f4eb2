"""One-run audits: their p-value against exact laws and brute force."""

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import binom

from skdp._random import RandomSource
from skdp.audit import audit_one_run, epsilon_of_guesses, guessing_p_value
from skdp.decomposition import PrivatePCA
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

    @pytest.mark.parametrize(
        ("relation", "intercept", "coins", "kind", "distance"),
        [
            ("replace-one", True, "auto", "label", 1),
            ("replace-one", True, "null", "null", 1),
            ("add-or-remove-one", True, "auto", "membership", 1),
            ("add-or-remove-one", True, "label", "label", 2),
            ("add-or-remove-one", False, "null", "null", 2),
            ("zero-out", True, "auto", "label", 2),
            ("zero-out", True, "null", "null", 2),
            ("zero-out", False, "auto", "null", 1),
            ("zero-out", False, "label", "label", 2),
        ],
    )
    def test_a_coin_counts_as_so_many_records_of_the_relation(
        self, relation, intercept, coins, kind, distance
    ):
        model = PrivateRidge(neighbours=relation, fit_intercept=intercept, epsilon=4.0)
        given = {"coins": coins, "n_canaries": 40, "random_state": 0, "confidence": 1 - 1e-6}
        found = audit_one_run(model, self.X, self.y, **given)
        assert (found.kind, found.distance) == (kind, distance)
        assert not found.accuses
        assert ("whose coins change 2 records" in found.sentence()) is (distance == 2)

    @pytest.mark.parametrize("relation", ["replace-one", "zero-out"])
    def test_who_is_there_is_no_secret_where_the_number_of_rows_is_public(self, relation):
        """A model that publishes it keeps its promise, so a coin about it proves nothing."""
        with pytest.raises(ValueError, match="number of rows"):
            audit_one_run(PrivateRidge(neighbours=relation), self.X, self.y, coins="membership")

    def test_the_relation_of_other_libraries_can_be_said(self):
        given = {"coins": "membership", "relation": "add-or-remove-one", "random_state": 0}
        found = audit_one_run(CoinFlips(2.0), self.X, self.y, n_canaries=40, **given)
        assert found.kind == "membership"
        assert found.coins.any()

    def test_a_canary_that_is_nulled_is_a_row_of_zeros(self):
        """Half of the answers are its label, the others are nothing at all."""
        given = {"n_canaries": 30, "coins": "null", "random_state": 0}
        found = audit_one_run(CoinFlips(50.0), self.X, self.y, **given)
        assert np.array_equal(found.scores, found.coins.astype(float))
        model = PrivateElasticNetClassifier()
        dense, rows = (
            audit_one_run(model, container(self.X), self.y, **given)
            for container in (np.asarray, sparse.csr_array)
        )
        assert dense.scores == pytest.approx(rows.scores)

    def test_coins_are_not_those_that_make_the_noise(self):
        """Were they of one stream, a guess would be right by the audit's own doing."""

        class SameStream(CoinFlips):
            def fit(self, X, y):
                super().fit(X, y)
                source = RandomSource.from_seed(self.random_state)
                told = source.generator().random(X.shape[1] - 2) < 0.5
                self.coef_ = np.concatenate([np.zeros(2), 2.0 * told - 1])[None]
                return self

        found = audit_one_run(SameStream(), self.X, self.y, n_canaries=300, random_state=0)
        assert found.epsilon < 0.5

    def test_a_positive_class_of_either_side_is_answered_for(self):
        class Turned(CoinFlips):
            def fit(self, X, y):
                super().fit(X, y)
                self.classes_, self.coef_ = np.array([1, 0]), -self.coef_
                return self

        given = {"n_canaries": 400, "random_state": 1}
        shown = [audit_one_run(m, self.X, self.y, **given) for m in (CoinFlips(3.0), Turned(3.0))]
        assert shown[0].epsilon == shown[1].epsilon > 1

    @pytest.mark.parametrize("delta", [0.0, 1e-4])
    def test_bounds_of_one_record_hold_for_coins_of_two(self, delta):
        found = epsilon_of_guesses(300, 120, 115, delta=delta, distance=2)
        total = delta * (1 + np.exp(found))
        assert guessing_p_value(300, 120, 115, 2 * found, total) == pytest.approx(0.05, abs=1e-4)

    def test_what_answers_no_questions_is_refused(self):
        with pytest.raises(ValueError, match="classifier or a regressor"):
            audit_one_run(PrivatePCA(), self.X, self.y)
        with pytest.raises(ValueError, match="two classes"):
            audit_one_run(CoinFlips(), self.X, np.zeros(20))

    @pytest.mark.parametrize(
        "bad", [{"n_canaries": 0}, {"coins": "tails"}, {"relation": "friends"}]
    )
    def test_arguments_out_of_range_are_refused(self, bad):
        with pytest.raises(ValueError, match=str(next(iter(bad.values())))):
            audit_one_run(CoinFlips(), self.X, self.y, **bad)

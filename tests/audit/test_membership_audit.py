"""Membership inference, the generalisation gap and the secret sharer, computed plainly."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from skdp.audit import (
    ContextPerplexity,
    generalization_gap,
    membership_inference,
    plant_canaries,
    random_phrases,
    secret_sharer,
)
from skdp.audit.membership import LossOf, MembershipAudit
from skdp.linear_model import PrivateElasticNetClassifier

rng = np.random.default_rng(0)
N = 80
X = rng.normal(size=(2 * N, 60))
Y = rng.integers(0, 2, size=2 * N)
IN, OUT = slice(0, N), slice(N, None)
OVERFITTED = LogisticRegression(C=1e4, max_iter=2000).fit(X[IN], Y[IN])
SPLIT = (X[IN], X[OUT], Y[IN], Y[OUT])


class TestMembership:
    """Scores, rates and the ceiling."""

    def test_the_area_is_that_of_scikit_learn(self):
        found = membership_inference(OVERFITTED, *SPLIT)
        scores = np.concatenate([found.member_scores, found.other_scores])
        assert found.auc == pytest.approx(roc_auc_score(np.repeat([1, 0], N), scores))
        assert found.auc > 0.6

    def test_losses_are_those_of_scikit_learn(self):
        model = LogisticRegression(C=0.1).fit(X, Y)
        losses = LossOf(X, Y)(model)
        assert losses.mean() == pytest.approx(log_loss(Y, model.predict_proba(X)), rel=1e-6)
        squares = LossOf(X, Y)(Ridge().fit(X, Y))
        assert squares == pytest.approx((Ridge().fit(X, Y).predict(X) - Y) ** 2)

    @pytest.mark.parametrize("rate", [0.0, 0.001, 0.01, 0.1, 0.5, 1.0])
    def test_rates_are_those_of_the_best_threshold_by_brute_force(self, rate):
        members, others = rng.normal(0.3, size=90).round(1), rng.normal(size=110).round(1)
        found = MembershipAudit(members, others, None, "loss")
        best = max(
            (members > t).mean()
            for t in [-np.inf, *members, *others]
            if (others > t).mean() <= rate
        )
        assert found.true_positive_rate(rate) == best
        low, high = found.bounds(rate)
        assert low <= best <= high

    def test_curves_go_from_nothing_to_everything(self):
        false, true = membership_inference(OVERFITTED, *SPLIT).roc()
        assert (false[0], true[0], false[-1], true[-1]) == (0, 0, 1, 1)
        assert (np.diff(false) >= 0).all()
        assert (np.diff(true) >= 0).all()

    def test_the_ceiling_is_that_of_the_claim(self):
        found = membership_inference(OVERFITTED, *SPLIT, epsilon=0.1, delta=0.0)
        assert found.ceiling(0.01) == pytest.approx(0.01 * np.exp(0.1))
        assert membership_inference(OVERFITTED, *SPLIT).ceiling(0.01) == 1
        assert found.true_positive_rate(0.6) > found.ceiling(0.6) > 0.6

    def test_a_private_model_is_held_against_its_own_statement(self):
        model = PrivateElasticNetClassifier(classes=[0, 1]).fit(X[IN], Y[IN])
        found = membership_inference(model, *SPLIT)
        assert found.curve is model.privacy_
        assert abs(found.auc - 0.5) < 0.25
        assert "allowed" in found.plot().get_title()

    def test_the_likelihood_ratio_finds_members_of_a_tree_and_repeats_itself(self):
        tree = DecisionTreeClassifier(min_samples_leaf=2, random_state=0).fit(X[IN], Y[IN])
        given = {"attack": "likelihood-ratio", "n_shadows": 8, "random_state": 0}
        found = membership_inference(tree, *SPLIT, **given)
        assert found.auc > 0.7
        again = membership_inference(tree, *SPLIT, **given)
        assert np.array_equal(found.member_scores, again.member_scores)

    def test_arguments_out_of_range_are_refused(self):
        with pytest.raises(ValueError, match="attack"):
            membership_inference(OVERFITTED, *SPLIT, attack="guess")
        with pytest.raises(ValueError, match="likelihood ratio"):
            membership_inference(OVERFITTED, X[IN], X[OUT], attack="likelihood-ratio")
        with pytest.raises(ValueError, match="false_positive_rate"):
            membership_inference(OVERFITTED, *SPLIT).true_positive_rate(2.0)


class TestGap:
    """The generalisation gap."""

    def test_the_gap_is_the_difference_of_clipped_losses(self):
        found = generalization_gap(OVERFITTED, *SPLIT, loss_bound=2.0, epsilon=1.0)
        clipped = np.minimum(LossOf(X, Y)(OVERFITTED), 2.0)
        assert found.gap == pytest.approx(clipped[OUT].mean() - clipped[IN].mean())
        assert found.advantage == pytest.approx(found.gap / 2)
        assert found.gap > 5 * found.standard_error

    def test_the_ceiling_is_the_total_variation_of_randomised_response(self):
        found = generalization_gap(OVERFITTED, *SPLIT, epsilon=1.0, delta=0.01)
        assert found.ceiling == pytest.approx((np.e - 1 + 0.02) / (np.e + 1))
        assert generalization_gap(OVERFITTED, *SPLIT).ceiling is None
        assert "allows" in found.sentence()


WORDS = [f"w{i}" for i in range(40)]


class TestSecretSharer:
    """Ranks of planted phrases."""

    def test_ranks_and_exposures_are_those_of_sorting(self):
        values = {"a": 0.5, "b": 2.5, "c": 9.0, "w1": 1.0, "w2": 2.0, "w3": 3.0}
        found = secret_sharer(
            lambda phrases: [values[p[0]] for p in phrases],
            [["a"], ["b"], ["c"]],
            [[f"w{i}"] for i in (1, 2, 3)],
        )
        assert found.ranks.tolist() == [1, 3, 4]
        assert found.exposures == pytest.approx([2.0, 2 - np.log2(3), 0.0])

    def test_who_finds_all_phrases_alike_remembers_none(self):
        """Ties are broken at random, so that p-values of any scale are uniform: as below."""
        law, others = np.random.default_rng(1), WORDS * 10
        for n_values in (1, 3):
            audits = [
                secret_sharer(
                    lambda p, n=n_values: law.integers(n, size=len(p)),
                    WORDS,
                    others,
                    random_state=seed,
                )
                for seed in range(400)
            ]
            assert sum(audit.p_value < 0.05 for audit in audits) <= 50
        assert set(audits[0].ranks) <= set(range(1, len(others) + 2))

    def test_p_values_without_memory_are_not_too_small_and_with_it_they_are(self):
        """400 models that know nothing: P(more than 50 below 0.05) < 1e-6."""
        law, others = np.random.default_rng(0), WORDS * 25
        audits = [
            secret_sharer(lambda p: law.normal(size=len(p)), WORDS, others) for _ in range(400)
        ]
        assert sum(audit.p_value < 0.05 for audit in audits) <= 50

        def remembering(phrases):
            quantiles = norm.ppf((np.arange(len(phrases)) + 0.5) / len(phrases))
            return quantiles - (phrases is WORDS)

        shifted = secret_sharer(remembering, WORDS, others)
        assert shifted.remembers
        assert shifted.uniformity[1] < 1e-3
        assert "remembers" in shifted.plot().get_title()

    def test_perplexity_is_that_of_softmax_of_the_mean_context(self):
        rows, targets = rng.normal(size=(40, 5)), rng.normal(size=(40, 5))
        score = ContextPerplexity(rows, targets, {word: i for i, word in enumerate(WORDS)})
        expected = 0.0
        for place, context in ((7, rows[[3]]), (9, rows[[3, 7]])):
            odds = np.exp(targets @ context.mean(axis=0))
            expected -= np.log(odds[place] / odds.sum())
        assert score([["w3", "w7", "w9"]]) == pytest.approx([expected])

    def test_vectors_that_saw_the_canaries_remember_them(self):
        canaries = random_phrases(WORDS, 10, random_state=1)
        others = random_phrases(WORDS, 400, random_state=2)
        vectors = {word: rng.normal(size=8) * 0.1 for word in WORDS}
        for canary in canaries:
            pull = rng.normal(size=8)
            for word in canary:
                vectors[word] = vectors[word] + pull
        table = np.array([vectors[word] for word in WORDS])
        score = ContextPerplexity(table, table, {word: i for i, word in enumerate(WORDS)})
        assert secret_sharer(score, canaries, others).remembers

    def test_canaries_are_planted_behind_the_documents(self):
        planted = plant_canaries([["a", "b"]], [["c"]], n_copies=2)
        assert planted == [["a", "b"], ["c"], ["c"]]
        assert random_phrases(WORDS, 3, random_state=1) == random_phrases(WORDS, 3, random_state=1)

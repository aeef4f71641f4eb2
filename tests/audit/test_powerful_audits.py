"""Worst-case pairs for estimators of many releases: they show much, and find out missing noise."""

import math
from itertools import islice

import numpy as np
import pytest

from benchmarks import audit_descents, audit_embeddings, audit_searches
from benchmarks.audit_rows import RowsLaw
from benchmarks.audit_sums import SumLaw, chance_of_accusing, epsilon_shown
from benchmarks.audit_theory import SearchLaw, chosen_by_exponential, exponential_tails
from skdp._random import RandomSource
from skdp.audit import EventCounts, audit_epsilon, worst_case_neighbours
from skdp.audit.claims import Claim
from skdp.embedding import WholeRows
from skdp.linear_model import PrivateElasticNet, PrivateLinearClassifier, PrivateLinearRegressor
from skdp.mechanisms.statistics import SparseSum
from skdp.privacy import PrivacyBudget
from skdp.privacy.gaussian_curve import gaussian_delta, gaussian_epsilon, gaussian_mu
from skdp.privacy.trial_laws import TrialLaw
from skdp.training import (
    ConstantNoise,
    ExponentialSelector,
    FullBatch,
    GaussianSelector,
    SurvivorSelector,
    TrainingPlan,
)
from skdp.training.descent import DescentRun

BUDGET = {"epsilon": 3.0, "delta": 0.1}
N = 24
PRIVATE = {"neighbours": "add-or-remove-one", "expected_samples": N}


def clipped(model):
    """The pair of a record whose clipped gradient stays as long as it may be."""
    names = ("label against all others", "label among equals", "a column of its own")
    return next(p for p in worst_case_neighbours(model, n_rows=N) if p.name.startswith(names))


class TestManySteps:
    @pytest.mark.parametrize(
        ("model", "name", "distance"),
        [
            (PrivateLinearClassifier(**PRIVATE), "label against all others, removed", 1),
            (PrivateLinearClassifier(), "label among equals", 2),
            (PrivateLinearRegressor(**PRIVATE), "a column of its own, removed", 1),
            (PrivateElasticNet(), "a column of its own", 1),
        ],
    )
    def test_pairs_are_neighbours_as_the_guarantee_has_it(self, model, name, distance):
        pair = clipped(model)
        assert (pair.name, pair.distance) == (name, distance)
        (X, y), (other, labels) = pair.data, pair.neighbour
        kept = slice(1, None) if "removed" in name else slice(None)
        np.testing.assert_array_equal(X[kept], other)
        np.testing.assert_array_equal(y[1:], labels[-len(y) + 1 :])
        assert np.linalg.norm(X, axis=1).max() == 1.0
        assert len(y) - len(labels) == ("removed" in name)

    def test_labels_may_be_words(self):
        model = PrivateLinearClassifier(classes=["no", "yes"])
        assert set(clipped(model).data[1]) == {"no", "yes"}

    def test_an_attack_shows_much_and_no_more_than_is_claimed(self):
        model = PrivateLinearClassifier(
            mechanism="descent", classes=[0, 1], **{**PRIVATE, **BUDGET}
        )
        found = audited(model, model, 50)
        assert not found.accuses
        assert found.gaussian_epsilon > 0.1

    @pytest.mark.parametrize(
        ("quiet", "options"),
        [
            (audit_descents.QuietClassifier, {"classes": [0, 1], **PRIVATE}),
            (audit_descents.QuietRegressor, {"neighbours": "replace-one"}),
        ],
    )
    def test_a_control_misses_noise_in_its_steps_and_is_the_same_else(self, quiet, options):
        model = quiet(mechanism="descent", **{**options, **BUDGET})
        facts, claimed = audit_descents._facts(model), PrivacyBudget(**BUDGET)
        honest, loud = (
            DescentRun.planned(facts, budget, 1.0) for budget in (claimed, model._budget())
        )
        # Levels are found by a search that stops there.
        assert loud.plan.noise.level == pytest.approx(0.25 * honest.plan.noise.level, rel=1e-5)
        assert loud.preparation == honest.preparation
        assert (loud.descent.learning_rates == honest.descent.learning_rates).all()
        assert model.fit(*clipped(model).data).choice_ is not None

    @pytest.mark.slow
    @pytest.mark.parametrize("place", [1, 3])
    def test_a_quarter_of_the_noise_is_found_out(self, place):
        case = next(islice(audit_descents.descents(400), place, None))
        assert audited_control(case).accuses


def audited(claims, model, n_fits):
    pair = clipped(claims)
    return audit_epsilon(
        model, pair.data, pair.neighbour, n_fits=n_fits, distance=pair.distance,
        epsilon=claims.epsilon, delta=claims.delta, random_state=0,
    )  # fmt: skip


def audited_control(case):
    return audit_epsilon(
        case.control, case.pair.data, case.pair.neighbour, n_fits=case.control_fits,
        event=case.control_event or case.pair.event, release=case.pair.release,
        epsilon=case.estimator.epsilon, delta=getattr(case.estimator, "delta", 0.0),
        distance=case.pair.distance, random_state=0,
    )  # fmt: skip


class TestSums:
    """Laws of sums of noisy gradients, against closed forms and another library's accountant."""

    @pytest.mark.parametrize("mu", [0.5, 3.0])
    def test_one_shift_is_the_gaussian_curve(self, mu):
        law = SumLaw((mu,))
        assert [law.curve(e) for e in (0.0, 1.0, 3.0)] == pytest.approx(
            [gaussian_delta(mu, e) for e in (0.0, 1.0, 3.0)], rel=1e-3
        )
        assert epsilon_shown(law.curve, 0.1) == pytest.approx(gaussian_epsilon(mu, 0.1), rel=1e-3)
        assert law.at_noise(0.5).shifts == (2 * mu,)

    def test_a_step_with_a_sample_is_the_subsampled_gaussian(self):
        from dp_accounting.pld import privacy_loss_distribution

        law = SumLaw.of_draws(2.0, 1, 0.3, replaced=False)
        pld = privacy_loss_distribution.from_gaussian_mechanism(0.5, sampling_prob=0.3)
        for epsilon in (0.2, 1.0, 2.0):
            assert law.curve(epsilon) == pytest.approx(pld.get_delta_for_epsilon(epsilon), rel=5e-3)

    def test_bounds_at_a_distance_are_of_one_record(self):
        """Two records apart, twice the mu: a Gaussian mechanism shows no more than it has."""
        one, two = SumLaw((1.0,)), SumLaw((2.0,))
        shown = epsilon_shown(two.curve, 0.1, distance=2)
        assert 0.0 < shown <= epsilon_shown(one.curve, 0.1)
        allowed = 0.1 * (1 + math.exp(shown))
        # The epsilon is found by bisection, which the curve magnifies.
        assert two.curve(2 * shown) == pytest.approx(allowed, rel=1e-3)

    @pytest.mark.parametrize("distance", [1, 2])
    def test_the_chance_of_accusing_is_how_often_drawn_counts_do(self, distance):
        claim, n, draws = Claim(0.5, 0.05), 60, 4000
        rng = np.random.default_rng(0)
        hits, others = rng.binomial(n, 0.8, draws), rng.binomial(n, 0.2 / distance**2, draws)
        accused = [
            EventCounts(k, n, m, n, 0.05).delta(claim.epsilon, distance) > claim.delta
            for k, m in zip(hits, others, strict=True)
        ]
        chance = chance_of_accusing(0.8, 0.2 / distance**2, n, claim, distance)
        assert 0.05 < chance < 0.95
        assert np.mean(accused) == pytest.approx(chance, abs=0.04)  # five standard errors
        assert chance_of_accusing(0.2, 0.8, n, claim) < 1e-3


class TestRows:
    """Laws of selected rows, against draws of the mechanisms."""

    DRAWS = 3000
    PULL = np.array([[0.3, 0.1], [0.0, -0.2], [0.0, 0.0]])

    def step(self, selector):
        plan = TrainingPlan(
            FullBatch(4), WholeRows(selector, 2), ConstantNoise(1.0), 0.3, n_steps=1, size=6
        )
        return next(plan.steps())

    @pytest.mark.parametrize(
        "selector", [GaussianSelector(1, share=0.5), ExponentialSelector(1), SurvivorSelector(1)]
    )
    def test_rows_are_selected_as_often_as_drawn(self, selector):
        step, rng = self.step(selector), RandomSource.from_seed(0)
        law = RowsLaw.of(step, self.PULL)
        lengths = np.linalg.norm(self.PULL, axis=1)
        scores = lengths * min(1.0, 0.3 / np.linalg.norm(lengths))
        if isinstance(selector, SurvivorSelector):
            scores = (lengths > 0) / math.sqrt(2)
        # A sum over 4,000 cells, for the Gaussian selection.
        assert law.likely.sum() == pytest.approx(1.0, abs=1e-4)
        seen = np.zeros(3)
        for _ in range(self.DRAWS):
            seen[step.by_row.selection.release(SparseSum(range(3), scores, 3), rng).indices] += 1
        # Five standard errors are 0.046 at most.
        np.testing.assert_allclose(seen / self.DRAWS, law.likely @ law.sets, atol=0.046)

    def test_a_row_that_is_always_released_is_a_gaussian_release(self):
        law = RowsLaw(np.ones((1, 1), bool), np.ones(1), np.ones(1), np.array([[[3.0, 4.0]]]))
        assert law.curve(2.0) == pytest.approx(gaussian_delta(5.0, 2.0))
        assert law.ratio(np.array([[3.0, 4.0]])) == pytest.approx(12.5)

    def test_rows_that_say_nothing_but_which_they_are_are_a_discrete_law(self):
        likely, unlikely = np.array([0.7, 0.2, 0.1]), np.full(3, 1 / 3)
        law = RowsLaw(np.eye(3, dtype=bool), likely, unlikely, np.zeros((3, 3, 1)))
        excess = [np.maximum(p - math.exp(0.4) * q, 0).sum() for p, q in
                  ((likely, unlikely), (unlikely, likely))]  # fmt: skip
        assert law.curve(0.4) == pytest.approx(max(excess))

    def test_what_is_released_is_clipped_after_the_selection(self):
        law = RowsLaw.of(self.step(GaussianSelector(1, share=0.5)), 100 * self.PULL)
        assert np.linalg.norm(law.pulls[0]) == pytest.approx(np.linalg.norm(law.pulls[1]))


class TestControls:
    """Each control is found out nearly for certain, by what theory says of it."""

    def test_of_word_vectors(self, monkeypatch):
        monkeypatch.setattr(audit_embeddings, "_STARTS", 3)
        for case in islice(audit_embeddings.embeddings(100), 3, None):
            model = case.estimator
            pair = worst_case_neighbours(model, n_rows=4)[-1]
            loud = audit_embeddings.Seen.of(model, pair).at_noise(case.noise_share)
            if model.selector is not None or model.optimizer == "adam":
                assert loud.theory() > 3 * model.epsilon
                continue
            claim = Claim(model.epsilon, model.delta)
            chance = SumLaw.mixed(loud.laws()).chance(
                case.control_fits * 2 // 3, claim, case.pair.distance
            )
            assert chance > 0.999

    def test_of_vocabularies(self):
        for case in islice(audit_embeddings.embeddings(100), 3):
            claim = Claim(case.estimator.epsilon, case.estimator.delta)
            law = SumLaw((gaussian_mu(claim.epsilon, claim.delta),)).at_noise(case.noise_share)
            assert law.chance(case.control_fits * 2 // 3, claim) > 0.999

    def test_of_searches(self):
        for case in audit_searches.searches(100):
            claim = Claim(case.estimator.epsilon, 0.0)
            loud = case.control
            if loud.strategy == "exponential":
                tails = exponential_tails(loud.epsilon, 6, loud.held_out)
            else:
                law = audit_searches.law_of(loud, case.pair)
                tails = law.tails(case.control_event.threshold)
            assert chance_of_accusing(*tails, case.control_fits, claim) > 0.999


class TestSearchLaw:
    """Against trials that are drawn one by one."""

    LAWS = (TrialLaw(5.0, 0.0), TrialLaw(5.0, 1.0), TrialLaw(5.0, math.inf))
    DRAWS = 6000

    @pytest.mark.parametrize("law", LAWS, ids=lambda law: f"shape {law.shape}")
    @pytest.mark.parametrize("points", [(1.0, 0.0), (0.0, 1.0)])
    def test_the_best_of_a_random_number_of_trials_wins_as_often_as_drawn(self, law, points):
        search = SearchLaw(law, 3, 1.5, held_out=1.0)
        rng = np.random.default_rng(0)
        numbers = (rng.random(self.DRAWS)[:, None] < law.survivals()[None]).sum(axis=1)
        odd_above = others_above = 0
        for number in numbers[numbers > 0]:
            odd = rng.integers(3, size=number) == 0
            scores = np.where(odd, *points) + rng.laplace(scale=1 / 1.5, size=number)
            best = scores.argmax()
            odd_above += bool(odd[best]) and scores[best] >= 0.8
            others_above += (not odd[best]) and scores[best] >= 0.8
        masses = search._best(*points)
        expected = [float(some[search._cells >= 0.8].sum()) for some in masses]
        # Five standard errors are 0.033 at most.
        np.testing.assert_allclose(
            np.array([odd_above, others_above]) / self.DRAWS, expected, atol=0.033
        )

    def test_the_event_that_is_planned_is_likelier_where_the_canary_speaks_for_it(self):
        law = SearchLaw(TrialLaw(5.0, 0.0), 3, 1.0, held_out=0.9)
        event = law.event(1000, lambda outputs: (outputs[:, 0] == 1, outputs[:, 1]))
        happened = event.happened(np.array([[1.0, 5.0], [0.0, 5.0]]))
        assert happened[0] != happened[1]
        assert 1.0 < law.largest < 2.0  # twice the epsilon of a trial is claimed

    def test_rows_that_are_not_held_out_earn_all_candidates_the_same(self):
        """Nothing is told then, and scores are those of a point more where one is earned."""
        middles = []
        for missed in (0.0, 1.0):
            law = SearchLaw(TrialLaw(5.0, 1.0), 3, 1.0, held_out=1e-9, missed=missed)
            assert law.largest < 1e-6
            masses = np.add(*law._masses[0])
            # The tails beyond the cells are left out.
            assert masses.sum() == pytest.approx(1.0, abs=1e-4)
            middles.append(np.interp(0.5, masses.cumsum(), law._cells))
        assert middles[1] - middles[0] == pytest.approx(1.0, abs=0.01)

    def test_no_trial_at_all_tells_nothing(self):
        law = SearchLaw(TrialLaw(2.0, math.inf), 3, 1.0, held_out=0.9)
        assert law.ratio(np.array([True, False]), np.array([-539.0, -539.0])).tolist() == [0, 0]

    def test_the_exponential_choice_is_bounded_by_its_epsilon(self):
        assert chosen_by_exponential(2.0, 2, 1.0) == pytest.approx(1.0)
        assert 1.9 < chosen_by_exponential(2.0, 200, 1.0) < 2.0


@pytest.mark.slow
def test_searches_with_a_sixth_of_the_noise_are_found_out():
    assert all(audited_control(case).accuses for case in audit_searches.searches(100))

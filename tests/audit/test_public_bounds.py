"""The public bounds: near the truth where it is known, never above, and bugs are found.

Everything is seeded, so nothing fails by chance.
"""

import math

import numpy as np
import pytest

from skdp.audit import (
    Claim,
    Event,
    EventCounts,
    NeighbouringPair,
    audit_epsilon,
    audit_release,
    audit_worst_cases,
    worst_case_neighbours,
)
from skdp.audit.lower_bound import audit_outputs
from skdp.linear_model import (
    PrivateElasticNet,
    PrivateElasticNetClassifier,
    PrivateRidge,
    SparseDPSGDClassifier,
)
from skdp.mechanisms import Mechanism
from skdp.privacy.gaussian_curve import gaussian_epsilon
from tests.support.toy_models import GaussianStep, NoisyMean, NoisyTransformer

N = 10
X = np.zeros((N, 2))
Y = np.resize([1.0, 0.0], N)
ONE = X.copy()
ONE[0, 0] = 1.0
LABEL = Y.copy()
LABEL[0] = 0.0


def audit(model, data=(ONE, Y), neighbour=(X, Y), n_fits=1500, **options):
    return audit_epsilon(model, data, neighbour, n_fits=n_fits, random_state=0, **options)


class TestHonest:
    """Models whose epsilon is known."""

    @pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
    def test_laplace_noise_shows_most_of_its_epsilon_and_not_more(self, epsilon):
        found = audit(NoisyMean(epsilon))
        assert 0.5 * epsilon < found.epsilon <= epsilon
        assert not found.accuses

    def test_an_event_that_is_given_is_counted_in_all_fits(self):
        found = audit(NoisyMean(), event=Event(lambda outputs: outputs[:, 2], 0.1))
        assert found.counts.trials == 1500
        assert 0.7 < found.epsilon <= 1

    def test_a_score_that_is_given_has_its_threshold_chosen(self):
        found = audit(NoisyMean(), event=lambda outputs: outputs[:, 2])
        assert found.event.name == "given"
        assert 0.6 < found.epsilon <= 1

    def test_gaussian_noise_comes_near_in_the_gaussian_form_only(self):
        true = gaussian_epsilon(1.0, 1e-5)
        found = audit(GaussianStep(epsilon=true), n_fits=2000)
        assert 0.8 * true < found.gaussian_epsilon <= true
        assert found.epsilon < 0.6 * true
        assert found.share == found.gaussian_epsilon / true

    def test_no_noise_difference_shows_nothing(self):
        found = audit(NoisyMean(), (X, Y), (X, Y), n_fits=600)
        assert found.epsilon == 0

    def test_two_records_show_half_as_much_of_one(self):
        once, twice = (audit(NoisyMean(), n_fits=600, distance=distance) for distance in (1, 2))
        assert twice.claim == once.claim
        assert twice.epsilon == once.epsilon / 2 > 0.2
        assert "2 records apart" in twice.sentence()
        claim = Claim(1.0, 1e-6).at_distance(2)
        assert (claim.epsilon, claim.delta) == (2.0, pytest.approx(1e-6 * (1 + math.e)))
        assert Claim(800.0, 0.0).at_distance(3) == Claim(2400.0, 0.0)

    @pytest.mark.parametrize("distance", [0, -1])
    def test_what_is_no_distance_is_refused(self, distance):
        with pytest.raises(ValueError, match="distance"):
            audit(NoisyMean(), n_fits=20, distance=distance)

    def test_the_bound_is_above_the_truth_no_more_often_than_stated(self):
        """400 audits of Laplace noise at confidence 0.8; P(more than 120 fail) < 1e-6."""
        rng, shown = np.random.default_rng(0), []
        event = Event(lambda outputs: outputs[:, 0], 1.0)
        for _ in range(400):
            pair = [mean + rng.laplace(size=(100, 1)) for mean in (1.0, 0.0)]
            shown.append(audit_outputs(*pair, Claim(1.0, 0.0), event=event, confidence=0.8))
        assert sum(found.epsilon > 1 for found in shown) <= 120
        assert any(found.epsilon > 0.8 for found in shown)


class TestGroups:
    """What data sets several records apart show of one record."""

    SOME = EventCounts(700, 1000, 100, 1000, error_rate=0.05)

    @pytest.mark.parametrize("distance", [2, 3])
    @pytest.mark.parametrize("delta", [0.0, 1e-6, 0.05, 0.2])
    def test_it_is_the_least_epsilon_whose_group_bound_allows_what_was_counted(
        self, distance, delta
    ):
        p, q = self.SOME.probability, self.SOME.other_probability
        grid = np.linspace(0, 2, 20_001)
        factor = np.exp(distance * grid)
        total = delta * sum(np.exp(i * grid) for i in range(distance))
        allows = (p <= factor * q + total) & (1 - q <= factor * (1 - p) + total)
        found = self.SOME.epsilon(delta, distance)
        assert found == pytest.approx(grid[allows].min(), abs=2e-4)
        # Division is right without delta, and too much with one.
        assert found <= self.SOME.epsilon(delta) / distance
        assert (found < self.SOME.epsilon(delta) / distance - 1e-3) is (delta >= 0.05)

    def test_delta_of_one_record_is_what_the_group_bound_multiplies(self):
        shown = self.SOME.delta(0.4)
        assert self.SOME.delta(0.2, 2) == pytest.approx(shown / (1 + np.exp(0.2)))

    @pytest.mark.parametrize("claimed", [None, 1.0])
    def test_leaks_of_two_records_are_not_held_against_one(self, claimed):
        """Each of two records is shown with probability delta: nothing but delta was lost."""
        delta, n, rng = 0.1, 100_000, np.random.default_rng(0)
        shown = (rng.random((n, 2)) < delta).sum(axis=1)[:, None].astype(float)
        event = Event(lambda outputs: outputs[:, 0], 1.0)
        given = {"event": event, "confidence": 1 - 1e-6, "distance": 2}
        found = audit_outputs(shown, np.zeros((n, 1)), Claim(claimed, delta), **given)
        assert found.epsilon == 0
        assert not found.accuses
        assert found.counts.epsilon(delta) / 2 > 2  # what division would say of one record

    def test_a_pair_two_records_apart_is_best_by_what_it_shows_of_one(self):
        pairs = [
            NeighbouringPair("one", (ONE, Y), (X, Y), ""),
            NeighbouringPair("two", (ONE, Y), (X, Y), "", distance=2),
        ]
        found = audit_worst_cases(NoisyMean(), pairs, n_fits=300, random_state=0)
        assert found.best == "one"
        assert found.audits["two"].epsilon == found.epsilon / 2


class TestBugs:
    """What must be found."""

    def test_half_of_the_noise(self):
        found = audit(NoisyMean(noise_share=0.5))
        assert found.accuses
        assert found.epsilon > 1.2
        assert "FALSE" in found.sentence()

    def test_an_intercept_without_noise(self):
        found = audit(NoisyMean(unnoised_intercept=True), (X, Y), (X, LABEL), n_fits=300)
        assert found.accuses
        assert found.epsilon > 3

    def test_a_choice_of_columns_that_nobody_paid_for(self):
        other = X.copy()
        other[0, 1] = 1.0
        assert audit(NoisyTransformer(), (ONE, Y), (other, Y), n_fits=300).accuses

    def test_a_fit_that_raises_on_one_of_the_data_sets(self):
        class Raises(NoisyMean):
            def fit(self, X, y=None):
                if np.any(X):
                    raise ValueError("a number that is not 0")
                return super().fit(X, y)

        assert audit(Raises(), n_fits=100).accuses

    def test_quarter_of_the_noise_of_a_mechanism(self, monkeypatch):
        true = Mechanism.release
        monkeypatch.setattr(
            Mechanism, "release", lambda self, v, rng: v + (true(self, v, rng) - v) / 4
        )
        model = huber_hinge()
        pair = worst_case_neighbours(model)[0]
        given = {"n_draws": 500, "random_state": 0}
        assert audit_release(model, pair.data, pair.neighbour, **given).accuses


def huber_hinge(**parameters):
    given = {"alpha": 8.0, "l1_ratio": 0.0, "classes": [0, 1], "fit_intercept": False}
    return PrivateElasticNetClassifier("huber_hinge", **given, **parameters)


class TestTight:
    """Where theory says that the sensitivity is attained."""

    @pytest.mark.parametrize("epsilon", [1.0, pytest.param(3.0, marks=pytest.mark.slow)])
    def test_releases_of_a_huber_hinge_model_show_four_fifths(self, epsilon):
        """One coordinate, so that noise of the other one is not in the way."""
        rows = np.zeros((N, 1))
        rows[0] = 1.0
        model = huber_hinge(epsilon=epsilon)
        found = audit_release(model, (rows, Y), (rows, LABEL), n_draws=10_000, random_state=0)
        assert 0.8 * epsilon < found.epsilon <= epsilon

    @pytest.mark.slow
    def test_fits_of_a_huber_hinge_model_show_four_fifths(self):
        rows = np.zeros((N, 1))
        rows[0] = 1.0
        found = audit(huber_hinge(), (rows, Y), (rows, LABEL), n_fits=8000)
        assert 0.8 < found.epsilon <= 1.0

    @pytest.mark.slow
    def test_one_step_of_private_sgd_shows_four_fifths(self):
        model = SparseDPSGDClassifier(
            epsilon=3.0, delta=1e-5, fit_intercept=False, sampling="full", n_epochs=1, selector=None
        )
        pair = next(p for p in worst_case_neighbours(model) if p.name == "row nulled")
        found = audit(model, pair.data, pair.neighbour, n_fits=4000)
        assert 0.8 * 3 < found.gaussian_epsilon <= 3


class TestWorstCases:
    """Pairs made from what is public of an estimator."""

    @pytest.mark.parametrize(
        ("model", "relation"),
        [
            (PrivateElasticNet(), "replace-one"),
            (PrivateRidge(), "add-or-remove-one"),
            (SparseDPSGDClassifier(fit_intercept=False), "zero-out"),
        ],
        ids=lambda value: str(value)[:20],
    )
    def test_pairs_are_neighbours_or_say_how_far_apart_they_are(self, model, relation):
        for pair in worst_case_neighbours(model):
            (first, y), (second, z) = pair.data, pair.neighbour
            if len(first) != len(second):
                assert (relation, pair.distance) == ("add-or-remove-one", 1)
                assert np.array_equal(first[1:], second)
                continue
            rows = (first != second).any(axis=1) | (y != z)
            assert rows.sum() == 1
            nulled = not second[rows].any() and np.array_equal(y, z) and pair.name == "row nulled"
            assert pair.distance == (1 if relation == "replace-one" or nulled else 2)

    def test_a_transformer_with_bounds_gets_rows_at_their_ends(self):
        from skdp.preprocessing import PrivateMinMaxScaler

        pairs = worst_case_neighbours(PrivateMinMaxScaler((-3.0, 5.0), neighbours="replace-one"))
        assert {value for pair in pairs for value in pair.data[0].ravel()} >= {-3.0, 5.0}

    @pytest.mark.slow
    def test_an_honest_model_is_not_accused_and_its_control_is(self):
        pairs = [p for p in worst_case_neighbours(huber_hinge()) if p.name == "another label"]
        found = audit_worst_cases(huber_hinge(epsilon=3.0), pairs, n_fits=400, random_state=0)
        assert not found.accuses
        assert found.has_power
        assert found.best == "another label"

    def test_confidence_is_shared_among_pairs(self):
        pairs = worst_case_neighbours(huber_hinge())[:2]
        found = audit_worst_cases(huber_hinge(), pairs, n_fits=20, controls=False)
        assert [a.confidence for a in found.audits.values()] == pytest.approx([0.975, 0.975])
        assert found.has_power is None


class TestResults:
    """Numbers, words, pictures; the same ones for the same seed."""

    def test_an_audit_repeats_itself_for_a_seed_also_in_processes(self):
        once, again = (
            audit(NoisyMean(), n_fits=60, n_jobs=jobs, event=first_number) for jobs in (None, 2)
        )
        assert once.to_dict() == again.to_dict()
        assert audit(NoisyMean(random_state=3), n_fits=60).scores.std() > 0

    def test_it_is_drawn(self):
        axes = audit(NoisyMean(), n_fits=60).plot()
        assert "epsilon is at least" in axes.get_title().replace("\n", " ")

    def test_an_estimator_without_a_claim_is_not_accused(self):
        class Bare(NoisyMean):
            def __init__(self, random_state=None):
                super().__init__(random_state=random_state)

            epsilon = noise_share = 1.0

        found = audit(Bare(), n_fits=60, epsilon=0.1)
        assert found.claim.epsilon == 0.1

    @pytest.mark.parametrize(
        "bad",
        [{"n_fits": 5}, {"confidence": 1.0}, {"epsilon": 0.0}, {"delta": 1.0}, {"release": 3}],
    )
    def test_arguments_out_of_range_are_refused(self, bad):
        with pytest.raises(ValueError, match=next(iter(bad))):
            audit(NoisyMean(), **{"n_fits": 20, **bad})

    def test_several_releases_are_refused_by_the_audit_of_one(self):
        pair = worst_case_neighbours(SparseDPSGDClassifier())[0]
        with pytest.raises(ValueError, match="has not one release"):
            audit_release(SparseDPSGDClassifier(), pair.data, pair.neighbour, n_draws=10)


def first_number(outputs):
    return outputs[:, 2]

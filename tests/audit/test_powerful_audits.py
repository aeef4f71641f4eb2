"""Worst-case pairs for estimators of many releases: they show much, and find out missing noise."""

import math

import numpy as np
import pytest

from benchmarks import audit_powerful
from benchmarks.audit_theory import SearchLaw, chosen_by_exponential
from skdp.audit import audit_epsilon, worst_case_neighbours
from skdp.linear_model import PrivateElasticNet, PrivateLinearClassifier, PrivateLinearRegressor
from skdp.privacy.gaussian_curve import gaussian_epsilon, gaussian_mu
from skdp.privacy.trial_laws import TrialLaw

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

    @pytest.mark.slow
    def test_half_of_the_noise_is_found_out(self):
        """Of a classifier: a regressor learns the canary's label, and its pull ends."""
        loud = gaussian_epsilon(2 * gaussian_mu(**BUDGET), BUDGET["delta"])
        honest, noisy = (
            PrivateLinearClassifier(
                mechanism="descent", **{**PRIVATE, **BUDGET, "epsilon": epsilon}
            )
            for epsilon in (BUDGET["epsilon"], loud)
        )
        assert audited(honest, noisy, 900).accuses


def audited(claims, model, n_fits):
    pair = clipped(claims)
    return audit_epsilon(
        model, pair.data, pair.neighbour, n_fits=n_fits, distance=pair.distance,
        epsilon=claims.epsilon, delta=claims.delta, random_state=0,
    )  # fmt: skip


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

    def test_the_exponential_choice_is_bounded_by_its_epsilon(self):
        assert chosen_by_exponential(2.0, 2, 1.0) == pytest.approx(1.0)
        assert 1.9 < chosen_by_exponential(2.0, 200, 1.0) < 2.0


@pytest.mark.slow
def test_a_search_whose_scores_have_a_twelfth_of_their_noise_is_found_out():
    case = next(audit_powerful.searches(100))
    loud = audit_epsilon(
        case.control, case.pair.data, case.pair.neighbour, n_fits=100, event=case.control_event,
        release=case.pair.release, epsilon=case.control.epsilon / 12, random_state=0,
    )  # fmt: skip
    assert loud.accuses

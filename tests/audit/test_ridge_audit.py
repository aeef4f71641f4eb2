"""Audits of the ridge models: what an attacker can show stays below the claim and comes near it."""

import numpy as np
import pytest

from skdp.linear_model import PrivateRidge
from skdp.mechanisms.label_moments import LabelMoments
from skdp.privacy import Sensitivity
from tests.support.attack import accuses, gain_for, likelihood_attack

EPSILON, DELTA = 1.0, 0.3
DRAWS = 4000


def pair(relation):
    """Rows that attain the sensitivity, or nearly, among others."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(5, 2)), rng.normal(size=5)
    X[0], y[0] = (9.0, 0.0), 9.0
    if relation == "add-or-remove-one":
        return (X, y), (X[1:], y[1:])
    other, labels = X.copy(), y.copy()
    other[0], labels[0] = 9 * np.array([0.42, np.sqrt(1 - 0.42**2)]), -9.0
    return (X, y), (other, labels)


def attack_on(relation, data=None):
    model = PrivateRidge(epsilon=EPSILON, delta=DELTA, neighbours=relation)
    gain = gain_for(EPSILON, DELTA)
    return likelihood_attack(model, data or pair(relation), draws=DRAWS, gain=gain)


@pytest.mark.parametrize("relation", ["add-or-remove-one", "replace-one"])
def test_the_best_attack_comes_near_the_claim_and_not_above_it(relation):
    counts = attack_on(relation).audit(DRAWS, seed=1)
    assert 0.55 * DELTA < counts.delta(EPSILON) <= DELTA
    assert not accuses(counts, EPSILON, DELTA)


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["add-or-remove-one", "replace-one"])
def test_many_draws_show_no_more(relation):
    assert not accuses(attack_on(relation).audit(20_000), EPSILON, DELTA)


class TestPlantedBugs:
    """What the audits must accuse."""

    def test_noise_for_half_the_sensitivity(self, monkeypatch):
        true = LabelMoments.sensitivity.fget
        monkeypatch.setattr(
            LabelMoments,
            "sensitivity",
            property(lambda self: Sensitivity(true(self).value / 2, "l2", self.neighbours)),
        )
        assert accuses(attack_on("add-or-remove-one").audit(DRAWS, seed=2), EPSILON, DELTA)

    def test_a_replaced_row_at_the_price_of_a_null_one(self):
        cheap = attack_on("zero-out", pair("replace-one"))
        assert accuses(cheap.audit(DRAWS, seed=3), EPSILON, DELTA)

    def test_labels_that_are_not_counted(self, monkeypatch):
        """Noise for the moments of rows alone, while those of labels are released with them."""
        true = LabelMoments.sensitivity.fget

        def of_rows(self):
            return Sensitivity(true(self).value / np.sqrt(2), "l2", self.neighbours)

        monkeypatch.setattr(LabelMoments, "sensitivity", property(of_rows))
        assert accuses(attack_on("add-or-remove-one").audit(DRAWS, seed=4), EPSILON, DELTA)

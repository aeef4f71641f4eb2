"""Audits of PrivatePCA: what an attacker can show stays below the claim, and comes near it.

The mechanism is Gaussian, so the likelihood ratio of the two possible releases is a function of
their inner product with the difference, and the event that it is large attains the claim: at
epsilon 1, delta 0.3, no event shows more than delta and that one shows it.
"""

import numpy as np
import pytest

from skdp.decomposition import PrivatePCA
from skdp.decomposition.second_moment import SecondMoment
from skdp.privacy import Sensitivity
from tests.support.attack import ERROR_RATE, accuses, gain_for, likelihood_attack
from tests.support.lower_bound import Counts

EPSILON, DELTA = 1.0, 0.3
N, D = 5, 3
DRAWS = 4000
ROWS = {
    "zero-out": ((3.0, 3.0, 3.0), (0.0, 0.0, 0.0)),
    "replace-one": ((3.0, 3.0, 3.0), (3.0, -3.0, 0.0)),
}


def pair(relation):
    """Rows that attain the sensitivity, among others."""
    X = np.random.default_rng(0).normal(size=(N, D))
    other = X.copy()
    X[0], other[0] = ROWS[relation]
    return (X,), (other,)


def attack_on(relation, data=None, **parameters):
    given = {"epsilon": EPSILON, "delta": DELTA, "neighbours": relation, **parameters}
    return likelihood_attack(
        PrivatePCA(2, **given), data or pair(relation), draws=DRAWS, gain=gain_for(EPSILON, DELTA)
    )


@pytest.mark.parametrize("relation", ROWS)
def test_the_best_attack_comes_near_the_claim_and_not_above_it(relation):
    counts = attack_on(relation).audit(DRAWS, seed=1)
    assert 0.55 * DELTA < counts.delta(EPSILON) <= DELTA
    assert not accuses(counts, EPSILON, DELTA)


@pytest.mark.slow
@pytest.mark.parametrize("row_norm", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("relation", ROWS)
def test_many_draws_show_no_more(relation, row_norm):
    counts = attack_on(relation, row_norm=row_norm).audit(20_000)
    assert not accuses(counts, EPSILON, DELTA)


def variances(data, fits, seed):
    """The one noisy number that fits of a table of one column give, many times over."""
    generator = np.random.default_rng(seed)
    model = PrivatePCA(epsilon=EPSILON, delta=DELTA, random_state=generator)
    return np.array([model.fit(*data).explained_variance_[0] for _ in range(fits)])


def shown_by_fitting(fits):
    """Count an event planned beforehand: the number lies nearer to the one with the row than not.

    Rows that are long enough for the number not to be cut off at 0. Its mean and deviation on
    either side are known, so the best threshold is too.
    """
    X = np.ones((40, 1))
    other = X.copy()
    other[0] = 0.0
    scale = PrivatePCA(epsilon=EPSILON, delta=DELTA).fit(X).noise_scale_
    # The log ratio is (2 v - 79) / (2 scale^2); the event that attains delta is where it exceeds 1.
    threshold = (79 / 2 + EPSILON * scale**2) / 40
    hits, others = (
        int((variances((rows,), fits, seed) > threshold).sum())
        for seed, rows in enumerate((X, other))
    )
    return Counts(hits, fits, others, fits, ERROR_RATE)


@pytest.mark.slow
def test_fitting_itself_shows_no_more_than_is_claimed():
    counts = shown_by_fitting(2000)
    assert counts.delta(EPSILON) > 0.3 * DELTA
    assert not accuses(counts, EPSILON, DELTA)


class TestPlantedBugs:
    """What the audits must accuse."""

    def test_noise_for_half_the_sensitivity(self, monkeypatch):
        true = SecondMoment.sensitivity.fget
        monkeypatch.setattr(
            SecondMoment,
            "sensitivity",
            property(lambda self: Sensitivity(true(self).value / 2, "l2", self.neighbours)),
        )
        assert accuses(attack_on("zero-out").audit(DRAWS, seed=2), EPSILON, DELTA)

    def test_replace_one_at_the_price_of_zero_out(self):
        cheap = attack_on("zero-out", pair("replace-one"))
        assert accuses(cheap.audit(DRAWS, seed=3), EPSILON, DELTA)

    def test_a_triangle_that_is_scaled_by_2_in_place_of_its_root(self, monkeypatch):
        import skdp.mechanisms.triangle as module

        monkeypatch.setattr(module, "_SQRT2", 2.0)
        assert accuses(attack_on("zero-out").audit(DRAWS, seed=4), EPSILON, DELTA)

    def test_rows_that_are_not_clipped(self, monkeypatch):
        import skdp.decomposition.private_pca as module

        true = module.centred_blocks
        monkeypatch.setattr(module, "centred_blocks", lambda X, c, norm: true(X, c, 1.5 * norm))
        assert accuses(attack_on("zero-out").audit(DRAWS, seed=5), EPSILON, DELTA)

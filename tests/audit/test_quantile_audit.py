"""Audits of private quantiles: what an attacker shows stays below the claim, and comes near it.

One median of one column, the event a set of points that the exact law of the pick says is likeliest
on D compared with D'. One audit of an honest release in 200 million fails by chance (`ERROR_RATE`);
lower limits on what is shown, and accusations of planted bugs, hold for a fixed seed.
"""

from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

import numpy as np
import pytest

from skdp._random import RandomSource
from skdp.mechanisms.quantiles import quantile_sensitivity
from skdp.preprocessing import PrivateStandardScaler, quantile_release
from skdp.preprocessing.quantile_release import log_points
from skdp.privacy import Neighbours, Sensitivity
from tests.support.attack import ERROR_RATE, accuses
from tests.support.lower_bound import Counts
from tests.support.neighbours import recorded

EPSILON = 1.0
N, POINTS = 9, 16
DRAWS = 6000
PLACES = log_points(np.zeros(1), np.ones(1), POINTS)[:, 0]


def scaler(relation, **parameters):
    given = {"epsilon": EPSILON, "delta": 0.0, "n_points": POINTS, "neighbours": relation}
    return PrivateStandardScaler((0.0, 1.0), **given, **parameters)


def pair(relation):
    """Row 0 pulls one point up and all others down, on data where all were as likely before."""
    if relation == "replace-one":
        X = np.full((N, 1), np.sqrt(PLACES[0] * PLACES[1]))
        other = X.copy()
        X[0], other[0] = 0.0, 1.0
        return (X,), (other,)
    X = np.ones((N, 1))
    X[0] = PLACES[-2]
    return (X,), (X[1:],) if relation == "add-or-remove-one" else (X,)


@contextmanager
def null_row():
    """Row 0 adds nothing to any rank: the null record of zero-out."""
    true = quantile_release.rank_excesses
    quantile_release.rank_excesses = lambda X, points, levels: true(X[1:], points, levels)
    try:
        yield
    finally:
        quantile_release.rank_excesses = true


@dataclass(frozen=True)
class Attack:
    """The event that a point of `places` is picked, likelier on `first` than on `second`."""

    mechanism: object
    first: np.ndarray
    second: np.ndarray
    places: np.ndarray

    def counts(self, draws, seed=None):
        rng = RandomSource.for_state(seed)
        hits = [
            int(
                np.isin(
                    [self.mechanism.release(v, rng)[0] for _ in range(draws)], self.places
                ).sum()
            )
            for v in (self.first, self.second)
        ]
        return Counts(hits[0], draws, hits[1], draws, ERROR_RATE)


def losses(mechanism, first, second):
    """Exact log ratios of the probabilities of each point."""
    scores, others = (-np.abs(v) / mechanism.noise_scale for v in (first, second))
    return scores - others - np.log(np.exp(scores).sum() / np.exp(others).sum())


def attack_on(relation, data=None):
    data = data or pair(relation)
    mechanism, first = recorded(scaler(relation), data[0])
    with null_row() if relation == "zero-out" else nullcontext():
        second = recorded(scaler(relation), data[1])[1].ravel()
    loss = losses(mechanism, first.ravel(), second)
    return Attack(mechanism, first.ravel(), second, np.flatnonzero(loss > loss.max() - 1e-9))


@pytest.mark.parametrize("relation", [member.value for member in Neighbours])
def test_the_best_attack_comes_near_the_claim_and_not_above_it(relation):
    attack = attack_on(relation)
    worst = losses(attack.mechanism, attack.first, attack.second).max()
    assert 0.85 * EPSILON < worst <= EPSILON
    counts = attack.counts(DRAWS, seed=1)
    assert counts.epsilon() > 0.25 * EPSILON
    assert not accuses(counts, EPSILON, 0.0)


def shown_by_fitting(relation, fits):
    """Count the planned event in centres that fits publish."""
    (X,), (other,) = pair(relation)
    centres = PLACES[attack_on(relation).places]
    hits = []
    for rows in (X, other):
        fitted = [scaler(relation).fit(rows).mean_[0] for _ in range(fits)]
        hits.append(int(np.isin(fitted, centres).sum()))
    return Counts(hits[0], fits, hits[1], fits, ERROR_RATE)


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove-one"])
def test_fitting_itself_shows_no_more_than_is_claimed(relation):
    assert not accuses(shown_by_fitting(relation, 1500), EPSILON, 0.0)


class TestPlantedBugs:
    """What the audits must accuse."""

    @pytest.mark.parametrize("relation", [member.value for member in Neighbours])
    def test_noise_for_half_the_sensitivity(self, relation, monkeypatch):
        def half(levels, neighbours):
            whole = quantile_sensitivity(levels, neighbours)
            return Sensitivity(whole.value / 2, whole.norm, whole.neighbours)

        monkeypatch.setattr(quantile_release, "quantile_sensitivity", half)
        assert accuses(attack_on(relation).counts(DRAWS, seed=2), EPSILON, 0.0)

    def test_replace_one_at_the_price_of_adding_one(self):
        cheap = attack_on("add-or-remove-one", pair("replace-one"))
        assert accuses(cheap.counts(DRAWS, seed=3), EPSILON, 0.0)

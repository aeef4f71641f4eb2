"""Selections have the law of the dense mechanism, listed coordinates or not.

Probabilities come from quadrature. Statistical tests have fixed seeds and p > 1e-6.
"""

import functools
import math

import numpy as np
import pytest
from scipy import stats

from skdp._random import RandomSource
from skdp.mechanisms import (
    GaussianThreshold,
    GaussianTopK,
    SparseSum,
    SparseVectorTechnique,
    gaussian_selection,
    rounded_gaussian,
)
from tests.support import selection_laws as laws
from tests.support.selections import UNIT, every_kind, top

FALSE_ALARM = 1e-6


VALUES = np.array([0.0, -2.0, 0.0, 1.0, 0.4, 0.0])
LISTED = SparseSum([0, 1, 3, 4], [0.0, -2.0, 1.0, 0.4], 6)


@functools.cache
def law_of(kind):
    """Probabilities of all outcomes of `top(6)[kind]` on VALUES."""
    mechanism, scores = top(6)[kind], np.abs(VALUES)
    if kind == "gaussian":
        return laws.gaussian_top(VALUES, 2)
    if kind == "threshold":
        return laws.gaussian_threshold(VALUES, 1.5)
    if kind == "exponential":
        return laws.peeled(scores / math.sqrt(2), 2, laws.exponential_mechanism)
    if kind == "noisy max":
        return laws.peeled(
            scores / math.sqrt(2), 2, lambda left: laws.noisy_top(left, 1, stats.laplace)
        )
    if kind == "permute and flip":
        return laws.permute_and_flip(scores / math.sqrt(2))
    scales = mechanism._rule.threshold_scale, mechanism._rule.query_scale
    if kind == "sparse vector":
        return laws.sparse_vector(scores, 2, 1.0, *scales)
    return laws.refreshed_sparse_vector(scores, 2, 1.0, *scales)


def chance(mechanism, value, law, draws, seed=0):
    """The p-value of a chi-square test of releases against a law."""
    rng = RandomSource.from_seed(seed)
    found = dict.fromkeys(law, 0)
    for _ in range(draws):
        found[frozenset(mechanism.release(value, rng).indices.tolist())] += 1
    expected = np.array(list(law.values())) * draws / sum(law.values())
    observed = np.array(list(found.values()))
    rare = expected < 5
    if rare.any():
        expected = np.append(expected[~rare], expected[rare].sum())
        observed = np.append(observed[~rare], observed[rare].sum())
    return stats.chisquare(observed, expected).pvalue


@every_kind
def test_outcomes_have_the_probabilities_of_the_dense_mechanism(kind):
    assert len(law_of(kind)) > 5
    assert chance(top(6)[kind], LISTED, law_of(kind), 2500) > FALSE_ALARM


@every_kind
def test_the_test_of_outcomes_has_power(kind):
    """Scores that are larger by half are told from those of the law."""
    larger = SparseSum(LISTED.indices, LISTED.values * 1.5, 6)
    assert chance(top(6)[kind], larger, law_of(kind), 2500) < FALSE_ALARM


@pytest.mark.parametrize("level", [1, 4])
@pytest.mark.parametrize("kind", ["gaussian", "threshold"])
def test_extremes_from_the_bottom_up_give_the_same_law(kind, level, monkeypatch):
    """As for a billion coordinates, but for six, where every level on the way up is needed."""
    name = {"gaussian": "level_with", "threshold": "level_below"}[kind]
    usual = getattr(gaussian_selection, name)
    monkeypatch.setattr(gaussian_selection, name, lambda *a: min(level, usual(*a)) or level)
    if kind == "threshold":
        # Below 2^-level lie all that may pass only if the threshold is high enough.
        high = GaussianThreshold(UNIT, 6, noise_std=1.0, threshold=2.0)
        assert usual(2 * stats.norm.sf(2.0)) == 4
        assert chance(high, LISTED, laws.gaussian_threshold(VALUES, 2.0), 1500) > FALSE_ALARM
    else:
        assert chance(top(6)[kind], LISTED, law_of(kind), 1500) > FALSE_ALARM


def test_gumbel_noise_once_is_the_exponential_mechanism_many_times():
    scores = np.abs(VALUES) / math.sqrt(2)
    once = laws.noisy_top(scores, 2, stats.gumbel_r)
    for outcome, probability in law_of("exponential").items():
        assert once[outcome] == pytest.approx(probability, rel=1e-9)


def test_gaussian_extremes_of_many_coordinates_are_those_of_drawing_all():
    size, k, rng = 400, 5, np.random.default_rng(0)
    mechanism = GaussianTopK(UNIT, size, k, noise_std=1.0)
    value = SparseSum(np.arange(0, 400, 20), np.linspace(-3, 3, 20), size)
    source, lazy, dense = RandomSource.from_seed(5), [], []
    for _ in range(1500):
        selected = mechanism.release(value, source)
        lazy.append((*np.sort(np.abs(selected.values))[[0, -1]], np.sum(selected.indices % 20 > 0)))
        noisy = value.toarray() + rng.normal(size=size)
        chosen = np.argsort(-np.abs(noisy))[:k]
        dense.append((*np.abs(noisy[chosen[[-1, 0]]]), np.sum(chosen % 20 > 0)))
    lazy, dense = np.array(lazy), np.array(dense)
    for column in range(2):
        assert stats.ks_2samp(lazy[:, column], dense[:, column]).pvalue > FALSE_ALARM
    table = [np.bincount(x[:, 2].astype(int), minlength=k + 1)[1:] for x in (lazy, dense)]
    assert stats.chi2_contingency(table).pvalue > FALSE_ALARM


@every_kind
def test_all_coordinates_that_are_zero_are_selected_alike_whether_listed_or_not(kind):
    """Of 200 zeros, 40 listed: the listed have a fifth of what is selected."""
    mechanism = top(200, 4)[kind]
    value, rng = SparseSum(np.arange(0, 200, 5), np.zeros(40), 200), RandomSource.from_seed(6)
    found = np.concatenate([mechanism.release(value, rng).indices for _ in range(700)])
    assert found.size >= 700
    assert stats.binomtest(int(np.sum(found % 5 == 0)), found.size, 0.2).pvalue > FALSE_ALARM
    counts = np.bincount(found, minlength=200)
    assert stats.chisquare(counts).pvalue > FALSE_ALARM


# --- ties and values (the listed must not show)


def tied_selections(seed, listed_first=False):
    """How often the one listed of eight zeros is selected, noise being of width 1 to 2."""
    mechanism = GaussianTopK(UNIT, 8, 1, noise_std=1.0)
    value, rng = SparseSum([3], [0.0], 8), RandomSource.from_seed(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rounded_gaussian, "_WIDTH_EXPONENT", 0)
        if listed_first:
            patch.setattr(gaussian_selection, "random_subset", lambda n, m, rng: np.arange(m))
        return sum(mechanism.release(value, rng).indices[0] == 3 for _ in range(2000))


def test_ties_are_broken_without_regard_to_who_is_listed():
    assert stats.binomtest(tied_selections(7), 2000, 1 / 8).pvalue > FALSE_ALARM


def test_ties_broken_in_favour_of_the_listed_are_caught():
    hits = tied_selections(7, listed_first=True)
    assert hits > 2000 / 8
    assert stats.binomtest(hits, 2000, 1 / 8).pvalue < FALSE_ALARM


def test_values_of_the_listed_and_of_the_rest_have_one_law_to_the_last_bit():
    mechanism = GaussianTopK(UNIT, 3000, 60, noise_std=1.0)
    value, rng = SparseSum(np.arange(1500), np.zeros(1500), 3000), RandomSource.from_seed(8)
    selections = [mechanism.release(value, rng) for _ in range(60)]
    values = np.concatenate([selected.values for selected in selections])
    listed = np.concatenate([selected.indices for selected in selections]) < 1500
    integers = (values / mechanism.grid).astype(np.int64)
    assert stats.ks_2samp(values[listed], values[~listed]).pvalue > FALSE_ALARM
    for part in (integers[listed], integers[~listed]):
        assert stats.chisquare(np.bincount(part % 8, minlength=8)).pvalue > FALSE_ALARM
    order = np.concatenate([np.arange(60)] * 60)
    assert abs(np.corrcoef(order, np.abs(values))[0, 1]) < 5 / 60  # places tell nothing of values


def test_numeric_sparse_releases_with_noise_other_than_that_compared():
    """The noise compared passed a bar, so it is no Laplace variable any more."""
    mechanism = SparseVectorTechnique(UNIT, 3, 1, 3.0, 2.0, "paper")
    scale, rng = mechanism._rule.release_scale, RandomSource.from_seed(9)
    value = SparseSum([1], [2.0], 3)
    released = [mechanism.release(value, rng) for _ in range(1800)]
    listed = np.array([s.values[0] for s in released if s.indices.tolist() == [1]])
    rest = np.array([s.values[0] for s in released if len(s) and s.indices[0] != 1])
    assert listed.size > 400
    assert rest.size > 200
    assert stats.kstest((listed - 2.0) / scale, "laplace").pvalue > FALSE_ALARM
    assert stats.kstest(rest / scale, "laplace").pvalue > FALSE_ALARM
    compared = stats.laplace.rvs(size=4000, random_state=0) * mechanism._rule.query_scale
    bars = stats.laplace.rvs(size=4000, random_state=1) * mechanism._rule.threshold_scale
    planted = compared[compared >= bars] / mechanism._rule.query_scale
    assert stats.kstest(planted, "laplace").pvalue < FALSE_ALARM

"""The scaler by means and variances: how far a row moves them, and what is released."""

import itertools
import warnings
from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from skdp.exceptions import PrivacyLeakWarning
from skdp.preprocessing import PrivateStandardScaler, column_moments
from skdp.preprocessing.column_moments import ColumnMoments
from skdp.privacy import InMemoryLedger, Neighbours
from tests.support.replay import violations

RELATIONS = list(Neighbours)
UNIT = np.array([-1.0]), np.array([1.0])


def scaler(relation=Neighbours.ZERO_OUT, **given):
    return PrivateStandardScaler((-1e3, 1e3), method="moments", neighbours=relation.value, **given)


def moved(moments, first, second):
    """How far one column of a row moves the vector that is computed."""
    rest = np.array([[0.3], [-0.2]])
    vectors = [moments.vector(np.vstack([rest, *own]), *UNIT) for own in (first, second)]
    return np.linalg.norm(vectors[0] - vectors[1])


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_worst_row_comes_near_the_sensitivity_and_not_above_it(relation):
    moments = ColumnMoments(1, relation)
    values = [np.array([[u]]) for u in np.linspace(-1.2, 1.2, 97)]
    nothing = np.zeros((0, 1))
    if relation is Neighbours.REPLACE_ONE:
        found = [moved(moments, (a,), (b,)) for a, b in itertools.product(values, values)]
    else:
        found = [moved(moments, (a,), (nothing,)) for a in values]
    assert 0.99 * moments.sensitivity.value < max(found) <= moments.sensitivity.value


def test_the_replaced_row_of_many_columns_moves_as_far_as_is_stated():
    """Columns do not help each other: the squares of each add up."""
    one = ColumnMoments(1, Neighbours.REPLACE_ONE).sensitivity.value
    many = ColumnMoments(49, Neighbours.REPLACE_ONE).sensitivity.value
    assert many == pytest.approx(7 * one, rel=1e-5)


def test_sums_are_exact_whatever_the_order_and_the_blocks(monkeypatch):
    X = np.random.default_rng(0).normal(size=(1000, 3)) * 5
    low, high = np.full(3, -7.0), np.array([3.0, 9.0, 1e6])
    moments = ColumnMoments(3, Neighbours.ADD_OR_REMOVE_ONE)
    whole = moments.vector(X, low, high)
    monkeypatch.setattr(column_moments, "_BLOCK", 21)
    np.testing.assert_array_equal(moments.vector(X[::-1], low, high), whole)
    parts = moments.vector(X[:400], low, high) + moments.vector(X[400:], low, high)
    np.testing.assert_array_equal(parts, whole)


@pytest.mark.parametrize("relation", RELATIONS)
def test_with_many_rows_it_is_scikit_learns_scaler(relation):
    X = np.random.default_rng(0).normal([100, -300, 5], [50, 200, 80], size=(40_000, 3))
    X = np.clip(X, -1e3, 1e3)
    ours = scaler(relation, epsilon=10.0, clip=None, random_state=0)
    with warnings.catch_warnings(action="ignore", category=PrivacyLeakWarning):
        ours.fit(X)
    theirs = StandardScaler().fit(X)
    np.testing.assert_allclose(ours.mean_, theirs.mean_, atol=1.0)
    np.testing.assert_allclose(ours.scale_, theirs.scale_, rtol=0.03)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=0.2)


def test_a_variance_below_its_noise_counts_as_that():
    fitted = scaler().fit(np.full((50, 2), 7.0))
    assert np.all(fitted.scale_ >= 1e3 * np.sqrt(fitted.noise_scale_ / 100) * (1 - 1e-9))


@contextmanager
def null_row():
    """Row 0 adds nothing to any sum: the null record of zero-out."""
    true = ColumnMoments.vector
    ColumnMoments.vector = lambda self, X, low, high: true(self, X[1:], low, high)
    try:
        yield
    finally:
        ColumnMoments.vector = true


def replay(relation):
    X = np.random.default_rng(0).normal(size=(12, 3)) * [1.0, 1e-4, 1e200]
    X[0] = 1e3
    model = clone(scaler(relation))
    if relation is Neighbours.ZERO_OUT:
        return violations(model, (X,), (X,), around_neighbour=null_row)
    other = X[1:].copy()
    if relation is Neighbours.REPLACE_ONE:
        other = X.copy()
        other[0] = [-146.45, -146.45, -146.45]  # t = (6 - sqrt(2)) / 4 away from 1
    return violations(model, (X,), (other,))


@pytest.mark.parametrize("relation", RELATIONS)
def test_neighbours_differ_in_the_release_alone(relation):
    assert replay(relation) == []


@pytest.mark.parametrize("relation", RELATIONS)
def test_replay_sees_a_sensitivity_that_is_a_twentieth_too_low(relation, monkeypatch):
    true = ColumnMoments.sensitivity.fget

    def low(self):
        whole = true(self)
        return type(whole)(whole.value * 0.95, whole.norm, whole.neighbours)

    monkeypatch.setattr(ColumnMoments, "sensitivity", property(low))
    assert any("x its bound" in found for found in replay(relation))


def test_each_fit_is_charged_and_keeps_its_budget():
    ledger = InMemoryLedger(epsilon=3.0, delta=1e-5, neighbours="zero-out")
    fitted = scaler(ledger=ledger).fit(np.ones((9, 2)))
    assert len(ledger.history()) == 1
    assert fitted.privacy_.epsilon <= 1.0


def test_without_delta_it_is_refused():
    with pytest.raises(ValueError, match="delta"):
        scaler(delta=0.0).fit(np.ones((9, 2)))

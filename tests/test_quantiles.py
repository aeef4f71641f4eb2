"""Private quantiles and the transformers that rest on them."""

import warnings
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer

from skdp._random import RandomSource
from skdp.exceptions import PrivacyLeakWarning
from skdp.mechanisms.quantiles import QuantileMechanism, quantile_sensitivity, rank_excesses
from skdp.preprocessing import (
    PrivateImputer,
    PrivateMinMaxScaler,
    PrivateQuantileClipper,
    PrivateStandardScaler,
    quantile_release,
)
from skdp.privacy import InMemoryLedger, Neighbours, PrivacyBudget, Sensitivity
from tests.support.replay import violations

LEVELS = np.array([0.1, 0.5, 0.9])
POINTS = np.linspace(0.0, 1.0, 7)[:, None]
ETA = 0.8
TRANSFORMERS = (
    PrivateImputer(),
    PrivateQuantileClipper(),
    PrivateQuantileClipper(target="row_norm"),
    PrivateMinMaxScaler(),
    PrivateStandardScaler(),
    PrivateStandardScaler(method="quartiles"),
)


def quiet(model, X):
    """Fit; a seeded fit warns that it is for tests."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        return model.fit(X)


def laws(x, sensitivity, levels):
    """Exact log probabilities, shape (n_levels, n_points)."""
    scores = -np.abs(rank_excesses(x[:, None], POINTS, levels)[0]) * ETA / (2 * sensitivity)
    return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))


def longest_range(relation, factor=1.0):
    """Longest interval of losses over all neighbours of some samples, where s is `factor` s."""
    rng, found = np.random.default_rng(0), 0.0
    for _ in range(60):
        x = rng.uniform(size=rng.integers(1, 9))
        for level in LEVELS:
            s = factor * quantile_sensitivity(np.array([level]), relation).value
            for new in np.linspace(0, 1, 9):
                other = np.append(x, new)
                if relation is Neighbours.REPLACE_ONE:
                    other = np.append(x[1:], new)
                loss = laws(x, s, np.array([level])) - laws(other, s, np.array([level]))
                found = max(found, np.ptp(loss))
    return found


@pytest.mark.parametrize("relation", list(Neighbours))
def test_losses_of_a_pick_lie_in_an_interval_as_long_as_stated(relation):
    assert 0.9 * ETA < longest_range(relation) <= ETA * (1 + 1e-12)


@pytest.mark.parametrize("relation", list(Neighbours))
def test_an_attack_shows_a_sensitivity_that_is_a_fifth_too_low(relation):
    assert longest_range(relation, 0.8) > ETA * (1 + 1e-9)


def test_points_are_drawn_from_the_stated_law():
    x = np.random.default_rng(1).uniform(size=6)
    bound = quantile_sensitivity(LEVELS, Neighbours.ZERO_OUT)
    excesses, rng = rank_excesses(x[:, None], POINTS, LEVELS), RandomSource.from_seed(3)
    mechanism = QuantileMechanism(bound, excesses.size, n_picks=3, eta=ETA)
    drawn = np.array([mechanism.release(excesses, rng) for _ in range(2000)]).astype(int)
    for k, law in enumerate(np.exp(laws(x, bound.value, LEVELS))):
        shares = np.bincount(drawn[:, k], minlength=7) / 2000
        # Hoeffding: each is off by 0.07 with a probability of 2 exp(-2 2000 0.0049) = 6e-9.
        np.testing.assert_allclose(shares, law, atol=0.07)


@st.composite
def neighbouring_tables(draw):
    """A relation and two tables of one to three columns of few values, ties included."""
    relation, n_columns = draw(st.sampled_from(Neighbours)), draw(st.integers(1, 3))
    row = st.lists(st.integers(-1, 7), min_size=n_columns, max_size=n_columns)
    rows = draw(st.lists(row, min_size=1, max_size=7))
    other = [draw(row), *rows[1:]] if relation is Neighbours.REPLACE_ONE else rows[1:]
    first, second = (np.array(table, dtype=float).reshape(-1, n_columns) for table in (rows, other))
    return relation, first, second


@settings(max_examples=150, deadline=None)
@given(
    tables=neighbouring_tables(),
    levels=st.lists(st.floats(1e-6, 1 - 1e-6), min_size=1, max_size=3),
    epsilon=st.floats(0.01, 10.0),
)
def test_no_outcome_is_more_than_e_to_the_epsilon_likelier_on_a_neighbour(tables, levels, epsilon):
    relation, first, second = tables
    levels, points = np.array(levels), np.repeat(np.arange(6.0)[:, None], first.shape[1], axis=1)
    n_picks = first.shape[1] * len(levels)
    mechanism = QuantileMechanism.calibrated(
        quantile_sensitivity(levels, relation),
        PrivacyBudget(epsilon, 0.0),
        n_picks=n_picks,
        n_points=6,
    )
    logs = []
    for table in (first, second):
        scores = -np.abs(rank_excesses(table, points, levels)) / mechanism.noise_scale
        scores = scores.reshape(n_picks, 6)
        logs.append(scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)))
    # Picks are independent, so the worst outcome is the worst point of each.
    for loss in (logs[0] - logs[1], logs[1] - logs[0]):
        assert loss.max(axis=1).sum() <= epsilon


def test_a_record_that_is_nan_counts_nowhere():
    X = np.random.default_rng(0).uniform(size=(7, 1))
    without = rank_excesses(X[1:], POINTS, LEVELS)
    X[0] = np.nan
    np.testing.assert_array_equal(rank_excesses(X, POINTS, LEVELS), without)


def replayed_pair(relation):
    X = np.random.default_rng(0).normal(size=(12, 3)) * [1.0, 1e-4, 1e200]
    if relation == "add-or-remove-one":
        return X, X[1:]
    other = X.copy()
    other[0] = -1e300
    return X, other


@contextmanager
def null_row():
    """Row 0 adds nothing to any rank: the null record of zero-out."""
    true = quantile_release.rank_excesses

    def without(X, points, levels):
        return true(X[1:], points, levels)

    quantile_release.rank_excesses = without
    try:
        yield
    finally:
        quantile_release.rank_excesses = true


def replay(model, relation):
    model, (X, other) = clone(model).set_params(neighbours=relation), replayed_pair(relation)
    if relation == "zero-out":
        return violations(model, (X,), (X,), around_neighbour=null_row)
    return violations(model, (X,), (other,))


@pytest.mark.parametrize("model", TRANSFORMERS)
@pytest.mark.parametrize("relation", list(Neighbours))
def test_neighbours_differ_in_the_release_alone(model, relation):
    assert replay(model, relation.value) == []


@pytest.mark.parametrize("kind", ["one value", "some values", "all of a column", "a row"])
@pytest.mark.parametrize("relation", list(Neighbours))
def test_nor_do_missing_values_show_anything_else(relation, kind):
    """Whether a column has any value at all hangs on row 0."""
    X, other = replayed_pair("replace-one")
    if kind == "one value":
        other[0, 1] = np.nan
    if kind == "some values":
        X[::2, 0] = other[::2, 0] = X[0, 2] = np.nan
    if kind == "all of a column":
        X[1:, 1] = other[1:, 1] = np.nan
    if kind == "a row":
        other[0] = np.nan
    model = PrivateImputer((-10, 1e3), neighbours=relation)
    if relation is Neighbours.REPLACE_ONE:
        assert violations(model, (X,), (other,)) == []
    elif relation is Neighbours.ADD_OR_REMOVE_ONE:
        assert violations(model, (X,), (X[1:],)) == []
    else:
        assert violations(model, (X,), (X,), around_neighbour=null_row) == []


class TestPlantedBugs:
    """What replay must see."""

    @pytest.mark.parametrize("relation", list(Neighbours))
    def test_half_the_sensitivity(self, relation, monkeypatch):
        def half(levels, neighbours):
            whole = quantile_sensitivity(levels, neighbours)
            return Sensitivity(whole.value / 2, whole.norm, whole.neighbours)

        monkeypatch.setattr(quantile_release, "quantile_sensitivity", half)
        assert replay(TRANSFORMERS[0], relation.value) == ["an input moved by 2.000 x its bound"]

    def test_columns_without_a_value_that_are_dropped(self, monkeypatch):
        fit = PrivateImputer.fit

        def dropping(self, X, y=None):
            fit(self, X)
            self.statistics_ = self.statistics_[~np.isnan(X).all(axis=0)]
            return self

        monkeypatch.setattr(PrivateImputer, "fit", dropping)
        X, other = replayed_pair("replace-one")
        X[1:, 1] = other[:, 1] = np.nan
        model = PrivateImputer(neighbours="replace-one")
        assert violations(model, (X,), (other,)) == ["attribute statistics_ changed"]

    def test_a_range_that_is_learned(self, monkeypatch):
        true, kept = quantile_release.admit_rows, []

        def kept_rows(*args, **kwargs):
            kept[:] = [true(*args, **kwargs)]
            return kept[0]

        def learned(self):
            return kept[0].min(axis=0), kept[0].max(axis=0)

        monkeypatch.setattr(quantile_release, "admit_rows", kept_rows)
        monkeypatch.setattr(PrivateQuantileClipper, "_bounds", learned)
        assert "attribute low_ changed" in replay(PrivateQuantileClipper(), "replace-one")


@pytest.mark.parametrize("model", TRANSFORMERS)
def test_each_fit_is_charged_and_keeps_its_budget(model):
    ledger = InMemoryLedger(epsilon=3.0, delta=1e-5, neighbours="zero-out")
    fitted = clone(model).set_params(ledger=ledger).fit(np.ones((9, 2)))
    assert len(ledger.history()) == 1
    assert fitted.privacy_.epsilon <= 1.0


def test_medians_of_wide_ranges_are_found_with_little_budget():
    X, _ = load_breast_cancer(return_X_y=True)
    high = 10.0 ** np.ceil(np.log10(X.max(axis=0)))
    scaler = PrivateStandardScaler(
        (np.zeros(30), high),
        epsilon=0.3,
        delta=5e-6,
        neighbours="add-or-remove-one",
        random_state=0,
    )
    scaler = quiet(scaler, X)
    off = np.abs(np.log10(scaler.mean_ / np.median(X, axis=0)))
    assert np.median(off) < 0.3


def test_the_inverse_undoes_what_was_not_clipped():
    X = np.random.default_rng(0).uniform(1, 100, size=(500, 2))
    scaler = quiet(PrivateStandardScaler((0, 1e3), epsilon=20, clip=None, random_state=0), X)
    np.testing.assert_allclose(scaler.inverse_transform(scaler.transform(X)), X)
    scaler = quiet(PrivateMinMaxScaler((0, 1e3), epsilon=20, random_state=0), X)
    inside = (scaler.data_min_ <= X) & (scaler.data_max_ >= X)
    assert inside.mean() > 0.5
    back = scaler.inverse_transform(scaler.transform(X))
    np.testing.assert_allclose(back[inside], X[inside])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_is_missing_is_filled_in_by_a_median_and_nothing_else_is_changed(dtype):
    X = np.random.default_rng(0).lognormal(3.0, 1.0, size=(2000, 3)).astype(dtype)
    median = np.median(X, axis=0)
    holes = np.random.default_rng(1).uniform(size=X.shape) < 0.3
    holes[:, 2] = True
    given = np.where(holes, np.nan, X).astype(dtype)
    imputer = quiet(PrivateImputer((0, 1e4), epsilon=20, random_state=0), given)
    filled = imputer.transform(given)
    assert filled.dtype == dtype
    np.testing.assert_array_equal(filled[~holes], X[~holes])
    expected = np.broadcast_to(imputer.statistics_.astype(dtype), X.shape)
    np.testing.assert_array_equal(filled[holes], expected[holes])
    # Neighbouring points are 33 % apart.
    assert np.all(np.abs(np.log(imputer.statistics_[:2] / median[:2])) < np.log(1.4))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_leave_with_norm_one_at_most_and_half_of_them_with_less(dtype):
    X = np.random.default_rng(0).lognormal(0.0, 1.0, size=(2000, 5)).astype(dtype)
    clipper = PrivateQuantileClipper(
        (0, 1e3), target="row_norm", n_points=500, epsilon=20, random_state=0
    )
    out = quiet(clipper, X).transform(X)
    assert out.dtype == dtype
    norms = np.linalg.norm(X, axis=1)
    assert abs(np.log(clipper.row_norm_ / np.median(norms))) < 0.1
    inside = norms < clipper.row_norm_
    np.testing.assert_allclose(out[inside], X[inside] / clipper.row_norm_, rtol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(out[~inside], axis=1), 1.0, rtol=1e-5)


def test_a_quantile_of_row_norms_costs_far_less_noise_than_two_of_each_column():
    X = np.ones((50, 30))
    columns = PrivateQuantileClipper().fit(X).noise_scale_
    assert PrivateQuantileClipper(target="row_norm").fit(X).noise_scale_ < columns / 5


@pytest.mark.parametrize("quantiles", [(0.1, 0.9), 0.0, 1.0, True, "a"])
def test_a_level_of_row_norms_is_one_number(quantiles):
    with pytest.raises(ValueError, match="quantiles"):
        PrivateQuantileClipper(target="row_norm", quantiles=quantiles).fit(np.ones((5, 2)))


def test_infinity_is_not_a_missing_value():
    with pytest.raises(ValueError, match="infinity"):
        PrivateImputer().fit(np.array([[1.0], [np.inf]]))


def test_frames_keep_their_names():
    frame = pd.DataFrame(np.ones((5, 2)), columns=["a", "b"])
    bounds = {"b": (0, 10), "a": (-5, 5)}
    out = PrivateQuantileClipper(bounds).set_output(transform="pandas").fit_transform(frame)
    assert list(out.columns) == ["a", "b"]


@pytest.mark.parametrize("quantiles", [(0.9, 0.1), (0.0, 0.5), (0.5,), ("a", "b")])
def test_quantiles_that_are_no_increasing_pair_are_refused(quantiles):
    with pytest.raises(ValueError, match="increasing pair"):
        PrivateQuantileClipper(quantiles=quantiles).fit(np.ones((5, 2)))


def test_sparse_rows_are_refused_with_advice():
    import scipy.sparse as sp

    with pytest.raises(TypeError, match="toarray"):
        PrivateMinMaxScaler().fit(sp.csr_array(np.ones((5, 2))))

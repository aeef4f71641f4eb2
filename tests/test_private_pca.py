"""PrivatePCA: what it computes, what it promises, and what a pipeline of it promises."""

import math
import os
import pickle
import warnings
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from skdp.decomposition import PrivatePCA
from skdp.decomposition.releases import CENTRE_SHARE
from skdp.decomposition.second_moment import SecondMoment
from skdp.exceptions import BudgetExceededError, LeakyPipelineError, PrivacyLeakWarning
from skdp.linear_model import PrivateElasticNetClassifier, SparseDPSGDClassifier
from skdp.mechanisms import Mechanism
from skdp.mechanisms.row_sum import RowSum
from skdp.pipeline import pipeline_statement
from skdp.preprocessing import PublicRangeScaler, RowNormClipper
from skdp.privacy import (
    InMemoryLedger,
    Neighbours,
    composed_statement,
)
from skdp.privacy.accounting import delta_of, epsilon_of
from skdp.privacy.gaussian_curve import gaussian_delta
from skdp.privacy.statement import SEEDED_NOISE, SYSTEM_NOISE
from skdp.records import clip_rows
from skdp.records.row_blocks import BLOCK_ROWS, centred_blocks, rounding_share
from tests.support.refusals import SECRET_TEXT, refuses, refuses_to_fit
from tests.support.refusals import X as SECRET_ROWS
from tests.support.replay import Trace, frozen_releases

RELATIONS = ("zero-out", "replace-one")


def table(n=400, d=6, seed=0):
    """Rows in a few directions of falling weight, some longer than 1, around a mean."""
    rng = np.random.default_rng(seed)
    mixing = np.linalg.qr(rng.normal(size=(d, d)))[0] * 0.5 ** np.arange(d)[:, None]
    return rng.normal(size=(n, d)) @ mixing + 0.2


@contextmanager
def no_noise():
    """Releases give what they are given."""
    true = Mechanism.release
    Mechanism.release = lambda self, value, rng: np.array(value)
    try:
        yield
    finally:
        Mechanism.release = true


def exact_fit(estimator, X):
    with no_noise():
        return clone(estimator).fit(X)


# What it computes --------------------------------------------------------------------------------


def test_without_noise_it_is_the_truncated_svd_of_the_clipped_rows():
    X = table()
    model = exact_fit(PrivatePCA(4), X)
    svd = TruncatedSVD(4, algorithm="arpack").fit(clip_rows(X, 1.0))
    cosines = np.abs((model.components_ * svd.components_).sum(axis=1))
    np.testing.assert_allclose(cosines, 1.0, atol=1e-12)
    np.testing.assert_allclose(
        model.explained_variance_, svd.singular_values_**2 / len(X), rtol=1e-12
    )


@pytest.mark.parametrize("private", [False, True])
def test_without_noise_and_centred_at_the_mean_it_is_scikit_learns_pca(private):
    X = 0.1 * table()
    X = X[np.linalg.norm(X, axis=1) < 0.9]
    model = PrivatePCA(4, center="private" if private else X.mean(axis=0), center_norm=None)
    model = exact_fit(model, X)
    np.testing.assert_allclose(model.mean_, X.mean(axis=0), atol=1e-14)
    plain = PCA(4).fit(X)
    signs = np.sign((model.components_ * plain.components_).sum(axis=1))
    np.testing.assert_allclose(model.components_, plain.components_ * signs[:, None], atol=1e-10)
    np.testing.assert_allclose(
        model.explained_variance_, plain.explained_variance_ * (len(X) - 1) / len(X), rtol=1e-10
    )
    np.testing.assert_allclose(
        model.explained_variance_ratio_, plain.explained_variance_ratio_, rtol=1e-10
    )
    np.testing.assert_allclose(model.transform(X), plain.transform(X) * signs, atol=1e-12)
    scores = plain.transform(X)
    np.testing.assert_allclose(
        model.inverse_transform(scores * signs), plain.inverse_transform(scores), atol=1e-12
    )


def test_with_much_budget_and_many_rows_it_comes_near_them():
    X = table(20_000)
    plain = TruncatedSVD(3, algorithm="arpack").fit(clip_rows(X, 1.0))
    model = PrivatePCA(3, epsilon=40.0, delta=1e-3, random_state=0).fit(X)
    cosines = np.linalg.svd(model.components_ @ plain.components_.T, compute_uv=False)
    assert cosines.min() > 0.999


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_the_noise_is_the_one_that_is_stated(neighbours):
    """Empty rows leave the noise alone. Ten standard deviations of a sample variance."""
    d = 120
    model = PrivatePCA(neighbours=neighbours, random_state=0).fit(np.zeros((50, d)))
    trace = Trace()
    with frozen_releases(trace):
        clone(model).fit(np.zeros((50, d)))
    noisy = SecondMoment(50, d, 1.0, Neighbours(neighbours)).matrix(trace.outputs[0])
    assert np.array_equal(noisy, noisy.T)
    diagonal, rest = noisy.diagonal(), noisy[np.triu_indices(d, 1)]
    scale = model.noise_scale_
    assert abs(np.mean(diagonal**2) / scale**2 - 1) < 10 * math.sqrt(2 / len(diagonal))
    assert abs(2 * np.mean(rest**2) / scale**2 - 1) < 10 * math.sqrt(2 / len(rest))
    top = np.linalg.eigvalsh(noisy)[-1] / 50
    assert 0.85 * model.noise_floor_ < top < 1.1 * model.noise_floor_


def test_the_noise_has_the_exact_calibration_of_a_gaussian_of_this_sensitivity():
    zero, other = (PrivatePCA(neighbours=r).fit(np.zeros((100, 5))) for r in RELATIONS)
    assert zero.sensitivity_.value == pytest.approx(1.0, rel=1e-5)
    assert other.sensitivity_.value == pytest.approx(math.sqrt(2), rel=1e-5)
    for model in (zero, other):
        mu = model.sensitivity_.value / model.noise_scale_
        assert gaussian_delta(mu, 1.0) == pytest.approx(1e-6, rel=5e-3)
        assert gaussian_delta(mu, 1.0) <= 1e-6
        assert epsilon_of(model.privacy_.event, 1e-6) == pytest.approx(1.0, rel=1e-4)
    wide = PrivatePCA(row_norm=3.0).fit(np.zeros((100, 5)))
    assert wide.noise_scale_ == pytest.approx(9 * zero.noise_scale_, rel=1e-3)


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-9), (1.0, 1e-6), (8.0, 0.1), (99.0, 1e-5)])
def test_a_private_centre_takes_its_share_of_one_gaussian(neighbours, epsilon, delta):
    X, trace = table(), Trace()
    model = PrivatePCA(
        2, epsilon=epsilon, delta=delta, center="private", center_norm=2.5, neighbours=neighbours
    )
    with frozen_releases(trace):
        model.fit(X)
    bound = {"zero-out": 2.5, "replace-one": 5.0}[neighbours]
    total, moment = trace.mechanisms
    assert total.sensitivity.value == pytest.approx(bound, rel=1e-2)
    assert bound < total.sensitivity.value
    mus = [m.sensitivity.value / m.noise_std for m in (total, moment)]
    at = min(epsilon, 40.0)
    assert gaussian_delta(math.hypot(*mus), at) == pytest.approx(delta, rel=1e-3)
    assert model.privacy_.delta_at(epsilon) <= delta
    assert (mus[0] / math.hypot(*mus)) ** 2 == pytest.approx(CENTRE_SHARE)
    plain = PrivatePCA(2, epsilon=epsilon, delta=delta, neighbours=neighbours).fit(X)
    assert model.noise_scale_ == pytest.approx(1.026 * plain.noise_scale_, rel=5e-3)
    assert np.array_equal(model.mean_, trace.outputs[0] / len(X))
    exact = clip_rows(X, 2.5).sum(axis=0)
    assert np.abs(trace.outputs[0] - exact).max() < 8 * total.noise_std
    np.testing.assert_allclose(trace.inputs[0], exact, rtol=1e-12)
    released = np.linalg.eigh(
        SecondMoment(400, 6, 1.0, Neighbours(neighbours)).matrix(trace.outputs[1])
    )
    assert np.allclose(np.abs(model.components_[0] @ released[1][:, -1]), 1.0)


def test_a_private_centre_is_clipped_around_and_stated():
    X = table() + 5.0
    model = PrivatePCA(2, epsilon=9.0, center="private", center_norm=20.0)
    fitted = exact_fit(model, X)
    np.testing.assert_allclose(fitted.mean_, X.mean(axis=0), rtol=1e-12)
    blocks = np.concatenate(list(centred_blocks(X, fitted.mean_, 1.0)))
    top = np.linalg.eigvalsh(blocks.T @ blocks)[-2:][::-1] / len(X)
    np.testing.assert_allclose(fitted.explained_variance_, top, rtol=1e-10)
    ledger = InMemoryLedger(9.0, 1e-6, "zero-out")
    said = clone(model).set_params(ledger=ledger).fit(X).privacy_
    assert ledger.remaining() == (0.0, 0.0)
    assert said.to_dict()["event"]["type"] == "ComposedDpEvent"
    assert any("released before, and for this to norm 20.0" in a for a in said.assumptions)
    assert pickle.loads(pickle.dumps(said)).delta_at(9.0) <= 1e-6


def test_components_are_orthonormal_and_variances_fall_and_are_never_negative():
    model = PrivatePCA(epsilon=0.01, random_state=0).fit(table())
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(6), atol=1e-12)
    assert np.all(np.diff(model.explained_variance_) <= 0)
    assert model.explained_variance_.min() == 0.0
    assert model.explained_variance_ratio_.sum() == pytest.approx(1.0)
    assert np.all(np.abs(model.components_).max(axis=1) == model.components_.max(axis=1))


def test_all_variances_may_be_noise_below_zero():
    fits = [PrivatePCA(epsilon=0.1, random_state=s).fit(np.zeros((9, 1))) for s in range(6)]
    zero = [model for model in fits if model.explained_variance_[0] == 0]
    assert 0 < len(zero) < 6
    assert all(model.explained_variance_ratio_[0] == 0 for model in zero)


@pytest.mark.parametrize(
    "container", [sparse.csr_matrix, sparse.csr_array, np.asfortranarray, pd.DataFrame]
)
def test_the_container_of_the_rows_makes_no_difference(container):
    X = table()
    X[np.abs(X) < 0.3] = 0.0
    X = X[np.resize(np.arange(400), 2 * BLOCK_ROWS + 7)]
    dense, other = (PrivatePCA(3, random_state=1).fit(rows) for rows in (X, container(X)))
    np.testing.assert_allclose(other.components_, dense.components_, atol=1e-9)
    np.testing.assert_allclose(other.transform(container(X)), dense.transform(X), atol=1e-9)


def test_rows_are_neither_copied_nor_changed_and_read_block_by_block():
    X = table(3 * BLOCK_ROWS)
    before = X.copy()
    X.setflags(write=False)
    blocks = list(centred_blocks(X, None, 0.5))
    assert [len(block) for block in blocks] == [BLOCK_ROWS] * 3
    assert np.array_equal(np.concatenate(blocks), clip_rows(X, 0.5))
    PrivatePCA(2, center=0.1).fit(X)
    assert np.array_equal(X, before)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_transform_keeps_the_type_and_is_linear_on_rows_of_any_length(dtype):
    X = table().astype(dtype)
    model = PrivatePCA(2, center=[0.1] * 6).fit(X)
    scores = model.transform(50 * X)
    assert scores.dtype == model.inverse_transform(scores).dtype == dtype
    expected = (50 * X.astype(float) - 0.1) @ model.components_.T
    np.testing.assert_allclose(scores, expected, rtol=1e-3, atol=1e-3)
    assert model.components_.dtype == np.float64


def test_a_clipper_in_front_bounds_the_scores():
    X = 50 * table()
    scores = make_pipeline(RowNormClipper(), PrivatePCA(3)).fit_transform(X)
    assert np.linalg.norm(scores, axis=1).max() <= 1 + 1e-12


def test_scores_of_finite_rows_are_finite():
    model = PrivatePCA(2).fit(table())
    huge = np.full((3, 6), 1.7e308) * model.components_[:1].repeat(3, axis=0) ** 0
    assert np.isfinite(model.transform(huge)).all()
    assert np.isfinite(model.transform(-huge.astype(np.float64))).all()
    assert PrivatePCA(2, center=-1.7e308).fit(huge).privacy_.epsilon == 1.0


def test_it_names_its_columns_and_gives_frames():
    frame = pd.DataFrame(table(), columns=list("abcdef"))
    model = PrivatePCA(2).set_output(transform="pandas").fit(frame)
    assert list(model.transform(frame)) == ["privatepca0", "privatepca1"]
    assert list(model.feature_names_in_) == list("abcdef")
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(frame[list("fedcba")])


# What it promises --------------------------------------------------------------------------------


def rows_of(d):
    return st.lists(st.floats(-1e3, 1e3, allow_subnormal=False), min_size=d, max_size=d).map(
        np.array
    )


@settings(max_examples=150, deadline=None)
@given(st.data(), st.integers(1, 5), st.sampled_from(RELATIONS), st.sampled_from([1e-3, 1.0, 70.0]))
def test_no_row_moves_the_released_vector_by_more_than_is_declared(data, d, relation, row_norm):
    n = data.draw(st.integers(1, 6))
    centre = data.draw(st.sampled_from([None, np.full(d, 0.3)]))
    X = np.array([data.draw(rows_of(d)) for _ in range(n)])
    other = X.copy()
    other[0] = (
        data.draw(rows_of(d)) if relation == "replace-one" else (0 if centre is None else 0.3)
    )
    for statistic in (SecondMoment, RowSum):
        sums = statistic(n, d, row_norm, Neighbours(relation))
        first, second = (sums.vector(centred_blocks(rows, centre, row_norm)) for rows in (X, other))
        assert np.linalg.norm(first - second) <= sums.sensitivity.value


@pytest.mark.parametrize(
    ("relation", "first", "second"),
    [
        ("zero-out", (1.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
        ("zero-out", (1.0, 1.0, 1.0), (0.0, 0.0, 0.0)),
        ("replace-one", (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
        ("replace-one", (1.0, 1.0, 1.0), (2.0, -1.0, -1.0)),
    ],
)
def test_the_worst_rows_attain_it(relation, first, second):
    moment = SecondMoment(2, 3, 0.5, Neighbours(relation))
    vectors = [
        moment.vector(centred_blocks(np.array([row, (0.0, 9.0, 1.0)]), None, 0.5))
        for row in (first, second)
    ]
    moved = float(np.linalg.norm(vectors[0] - vectors[1]))
    assert moment.sensitivity.value * (1 - 1e-10) < moved <= moment.sensitivity.value


def test_the_vector_has_the_frobenius_norm_of_the_matrix_and_gives_it_back():
    moment = SecondMoment(7, 4, 1.0, Neighbours.ZERO_OUT)
    X = table(7, 4) / 10
    vector = moment.vector([X])
    assert vector.shape == (moment.size,)
    assert np.linalg.norm(vector) == pytest.approx(np.linalg.norm(X.T @ X), rel=1e-14)
    np.testing.assert_allclose(moment.matrix(vector), X.T @ X, rtol=1e-14)


def test_the_rounding_error_of_the_sum_is_bounded():
    """Against exact rational arithmetic; sqrt(2) enters by its square."""
    n, d = 2 * BLOCK_ROWS + 100, 2
    X = np.concatenate(list(centred_blocks(table(n, d, seed=3), None, 1.0)))
    moment = SecondMoment(n, d, 1.0, Neighbours.ZERO_OUT)
    vector = moment.vector(iter(np.split(X, [BLOCK_ROWS, 2 * BLOCK_ROWS])))
    rows = [[Fraction(float(value)) for value in row] for row in X]
    root = Fraction(math.isqrt(2 * 10**60), 10**30)
    exact = [
        sum(r[0] * r[0] for r in rows),
        root * sum(r[0] * r[1] for r in rows),
        sum(r[1] * r[1] for r in rows),
    ]
    error = math.sqrt(
        sum((Fraction(float(v)) - e) ** 2 for v, e in zip(vector, exact, strict=True))
    )
    assert 0 < error < n * rounding_share(n)
    assert n * rounding_share(n) < 1e-8


def test_in_floating_point_a_row_can_move_the_sum_by_more_than_its_norm_squared():
    """Which is why the rounding error is part of what is declared. Rows are added one by one."""
    n, longest = 1000, 0.0
    moment = SecondMoment(n, 1, 1.0, Neighbours.ZERO_OUT)
    for seed in range(20):
        X = np.random.default_rng(seed).uniform(0.5, 1, size=(n, 1, 1))
        X[0] = 1 - 2.0**-48
        gone = X.copy()
        gone[0] = 0.0
        first, second = (moment.vector(iter(rows)) for rows in (X, gone))
        longest = max(longest, float(first[0] - second[0]))
    assert 1.0 < longest <= moment.sensitivity.value


def test_add_or_remove_one_is_refused():
    model = PrivatePCA(neighbours=Neighbours.ADD_OR_REMOVE_ONE)
    refuses_to_fit(model, table(), match="no sensitivity here under add-or-remove-one")
    refuses_to_fit(PrivatePCA(neighbours="add-or-remove-one"), table(), match="'neighbours' param")


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_it_spends_what_it_states_before_it_looks_at_the_rows(neighbours, monkeypatch):
    ledger = InMemoryLedger(1.0, 1e-6, neighbours)
    model = PrivatePCA(2, ledger=ledger, neighbours=neighbours).fit(table())
    (entry,) = ledger.history()
    assert entry.purpose == "PrivatePCA.fit"
    assert entry.statement is model.privacy_
    assert model.privacy_.neighbours is Neighbours(neighbours)
    assert ledger.remaining() == (0.0, 0.0)
    monkeypatch.setattr(SecondMoment, "vector", None)
    with pytest.raises(BudgetExceededError):
        clone(model).fit(table())


def test_the_statement_says_what_it_rests_on():
    said = PrivatePCA(2, row_norm=4.0, center=0.5).fit(table()).privacy_
    text = said.explain()
    for words in ("Dwork, Talwar, Thakurta", "norm 4.0 from a centre that is public", "null row"):
        assert words in " ".join(text.split())
    assert said.noise == SYSTEM_NOISE
    assert said.delta_at(1.0) <= 1e-6
    assert said.to_dict()["event"]["type"] == "GaussianReleaseDpEvent"


def test_a_seed_warns_where_fit_was_called_and_stays_inside():
    with pytest.warns(PrivacyLeakWarning, match="can subtract the noise") as caught:
        model = PrivatePCA(2, random_state=8675309).fit(table())
    assert [warning.filename for warning in caught] == [__file__]
    assert model.privacy_.noise == SEEDED_NOISE
    assert "8675309" not in repr(model) + model.privacy_.to_json()
    assert pickle.loads(pickle.dumps(model)).random_state is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        free = [PrivatePCA(2).fit(table()).components_ for _ in range(2)]
    assert not np.array_equal(*free)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"n_components": 7}, "n_components=7 is larger than the number of features, 6"),
        ({"n_components": 0}, "'n_components' param"),
        ({"n_components": 0.9}, "'n_components' param"),
        ({"delta": 0.0}, "'delta' param"),
        ({"epsilon": 0.0}, "'epsilon' param"),
        ({"epsilon": 1e-30}, "too small"),
        ({"row_norm": 0.0}, "'row_norm' param"),
        ({"center": [1.0, 2.0]}, "center must be a finite number, or one for each"),
        ({"center": np.nan}, "center must be a finite number"),
        ({"center": ["a"] * 6}, "center must be a finite number"),
        ({"center": "mean"}, "'center' param"),
        ({"center_norm": 3.0}, "center_norm is set, but only center='private' uses it"),
        ({"center": "private", "center_norm": 0.0}, "'center_norm' param"),
        ({"center": "private", "epsilon": 1e-9}, "too small"),
        ({"ledger": 3}, "'ledger' param"),
    ],
)
def test_inadmissible_parameters_cost_nothing(parameters, match):
    model = PrivatePCA().set_params(**parameters)
    if "ledger" in parameters:
        with pytest.raises(ValueError, match=match):
            model.fit(table())
    else:
        refuses_to_fit(model, table(), match=match)


@pytest.mark.parametrize(
    ("rows", "match"),
    [
        (np.where(SECRET_ROWS > 1e3, np.nan, SECRET_ROWS), "contains NaN"),
        (np.where(SECRET_ROWS > 1e3, np.inf, SECRET_ROWS), "contains infinity"),
        (SECRET_ROWS.astype(str), "could not be read as numbers"),
        (np.full((3, 2), SECRET_TEXT), "could not be read as numbers"),
        (SECRET_ROWS[0], "2-D array"),
        (SECRET_ROWS + 1j, "Complex data"),
    ],
)
def test_inadmissible_rows_cost_nothing_and_are_not_quoted(rows, match):
    refuses_to_fit(PrivatePCA(), rows, match=match)
    model = PrivatePCA().fit(SECRET_ROWS)
    refuses(lambda: model.transform(rows), match)
    refuses(lambda: model.inverse_transform(rows), match)


def test_sparse_rows_are_not_centred_and_widths_must_fit():
    X = sparse.csr_matrix(table())
    for centre in (0.5, "private"):
        refuses_to_fit(PrivatePCA(center=centre), X, match="Sparse rows would become dense")
    model = PrivatePCA(2).fit(X)
    refuses(lambda: model.inverse_transform(np.ones((2, 3))), "3 columns, but PrivatePCA has 2")
    refuses(lambda: model.transform(np.ones((2, 3))), "expecting 6 features")


# What a pipeline promises ------------------------------------------------------------------------


def pipeline(ledger=None, **parameters):
    last = SparseDPSGDClassifier(
        epsilon=1.5, delta=1e-5, n_epochs=2, classes=(0, 1), ledger=ledger, **parameters
    )
    return make_pipeline(PrivatePCA(3, epsilon=0.5, delta=1e-6, ledger=ledger), last)


y = (table()[:, 0] > 0.2).astype(int)


def test_both_steps_of_a_pipeline_spend_from_one_ledger():
    ledger = InMemoryLedger(2.0, 1.1e-5, "zero-out")
    pipeline(ledger).fit(table(), y)
    assert [entry.purpose for entry in ledger.history()] == [
        "PrivatePCA.fit",
        "SparseDPSGDClassifier.fit",
    ]
    assert ledger.remaining() == (0.0, 0.0)
    with pytest.raises(BudgetExceededError, match=r"PrivatePCA\.fit"):
        pipeline(ledger).fit(table(), y)


def test_a_ledger_of_another_relation_refuses_it():
    with pytest.raises(ValueError, match="which do not add up"):
        pipeline(InMemoryLedger(9.0, 1e-4)).fit(table(), y)


def test_a_pipeline_costs_less_than_the_sum_of_its_steps_and_more_than_each():
    model = pipeline().fit(table(), y)
    said = pipeline_statement(model)
    assert said.delta == pytest.approx(1.1e-5)
    assert 1.5 < said.epsilon < 1.9
    assert said.neighbours is Neighbours.ZERO_OUT
    assert delta_of(said.event, said.epsilon) <= said.delta
    assert any("fixed before the first" in assumption for assumption in said.assumptions)
    assert "Dwork, Talwar" in said.theorem
    assert "Poisson" in said.theorem
    assert 1e-5 < pipeline_statement(model, delta=1e-4).delta_at(1.5) < 1e-4
    assert said.to_dict()["event"]["type"] == "ComposedDpEvent"


def test_the_composition_agrees_with_convolved_privacy_losses():
    model = pipeline(batch_size=40).fit(table(), y)
    pca, sgd = (step.privacy_.event for step in model[:])
    noise = pld.from_gaussian_mechanism(
        pca.noise_std / pca.sensitivity, value_discretization_interval=1e-4
    )
    steps = sgd
    while not isinstance(steps, dp_event.SelfComposedDpEvent):
        (steps,) = steps.events
    sampled = steps.event
    step = sampled.event
    trained = pld.from_gaussian_mechanism(
        step.noise_std / step.sensitivity,
        sampling_prob=sampled.sampling_probability,
        value_discretization_interval=1e-4,
    ).self_compose(steps.count)
    said = composed_statement([step.privacy_ for step in model[:]])
    assert noise.compose(trained).get_epsilon_for_delta(said.delta) == pytest.approx(
        said.epsilon, rel=5e-3
    )


def test_two_gaussians_compose_to_one():
    first, second = (PrivatePCA(2, epsilon=e).fit(table()) for e in (0.7, 1.3))
    said = composed_statement([first.privacy_, second.privacy_], delta=1e-6)
    mu = math.hypot(*(m.sensitivity_.value / m.noise_scale_ for m in (first, second)))
    assert gaussian_delta(mu, said.epsilon) == pytest.approx(1e-6, rel=1e-4)
    alone = composed_statement([first.privacy_])
    assert alone.epsilon == pytest.approx(0.7, rel=1e-4)


def test_relations_are_not_mixed():
    mixed = make_pipeline(
        PrivatePCA(2), PrivateElasticNetClassifier(delta=1e-6, classes=(0, 1))
    ).fit(table(), y)
    with pytest.raises(ValueError, match=r"\(replace-one, zero-out\) do not add up"):
        pipeline_statement(mixed)
    mixed.set_params(privatepca__neighbours="replace-one").fit(table(), y)
    said = pipeline_statement(mixed)
    assert said.neighbours is Neighbours.REPLACE_ONE
    assert 1 < said.epsilon <= 2
    with pytest.raises(ValueError, match="no privacy statement to compose"):
        composed_statement([])


def test_a_step_that_may_have_learned_from_rows_is_refused_unless_vouched_for():
    X = table()
    with_scaler = make_pipeline(StandardScaler(), *pipeline()).fit(X, y)
    for public in ((), ["standardscaler"]):
        with pytest.raises(LeakyPipelineError, match="'standardscaler'"):
            pipeline_statement(with_scaler, public=public)
    with_scaler = make_pipeline(FrozenEstimator(StandardScaler().fit(X)), *pipeline()).fit(X, y)
    with pytest.raises(LeakyPipelineError, match="'frozenestimator'"):
        pipeline_statement(with_scaler)
    said = pipeline_statement(with_scaler, public=["frozenestimator"])
    vouched = "Step {!r} learned nothing from private rows and maps each row by itself."
    assert vouched.format("frozenestimator") in said.assumptions

    inner = make_pipeline(PublicRangeScaler((-9.0, 9.0)), RowNormClipper(), FunctionTransformer())
    nested = Pipeline([("first", inner), ("none", "passthrough"), *pipeline().steps]).fit(X, y)
    assert not any("Step" in assumption for assumption in pipeline_statement(nested).assumptions)

    mixes_rows = FunctionTransformer(lambda Z: Z - Z.min(axis=0))
    within = Pipeline([("inner", Pipeline([("f", mixes_rows)])), *pipeline().steps]).fit(X, y)
    for public in ((), ("f",)):
        with pytest.raises(ValueError, match="'inner__f'"):
            pipeline_statement(within, public=public)
    said = pipeline_statement(within, public=["inner__f"])
    assert vouched.format("inner__f") in said.assumptions


def test_noise_that_was_seeded_anywhere_is_stated():
    model = pipeline(random_state=0).fit(table(), y)
    assert model[0].privacy_.noise == SYSTEM_NOISE
    assert pipeline_statement(model).noise == SEEDED_NOISE


# On images ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_on_images_of_digits_it_keeps_most_of_the_variance():
    """60 of 784 components at epsilon 1, delta 1e-5; the best 60 keep 0.904 of it."""
    folder = os.environ.get("SKDP_DATA")
    if not folder or not (Path(folder) / "mnist.npz").exists():
        pytest.skip("needs mnist.npz in the folder named by SKDP_DATA")
    X = RowNormClipper().transform(np.load(Path(folder) / "mnist.npz")["X_train"] / 255.0)
    V = PrivatePCA(60, epsilon=1.0, delta=1e-5).fit(X).components_
    kept = ((X @ V.T) ** 2).sum() / (X**2).sum()
    assert 0.87 < kept < 0.904


def test_a_flag_is_no_centre():
    with pytest.raises(ValueError, match="'private'"):
        PrivatePCA(2, center=True).fit(np.eye(20, 4))

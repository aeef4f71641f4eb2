"""Transformers that learn nothing: what they compute, what they refuse, what they never quote."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, OneHotEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks

import skdp.preprocessing
from skdp._estimator import PrivateEstimator
from skdp.preprocessing import PublicRangeScaler, RowNormClipper
from tests.support.instances import transformers

INSTANCES = [
    RowNormClipper(),
    RowNormClipper(row_norm=0.5),
    PublicRangeScaler(),
    PublicRangeScaler((-3.0, 3.0), feature_range=(0.0, 1.0)),
    PublicRangeScaler(([-5.0], [5.0])),
]
SECRET = 987654.25


@parametrize_with_checks(INSTANCES)
def test_it_passes_every_check_of_scikit_learn(estimator, check):
    check(estimator)


def test_every_transformer_that_pays_is_among_those_that_contracts_run_over():
    public = {getattr(skdp.preprocessing, name) for name in skdp.preprocessing.__all__}
    paid = {cls for cls in public if issubclass(cls, PrivateEstimator)}
    assert len(paid) == 5
    assert paid <= {type(model) for model in transformers()}


@pytest.fixture
def rows():
    return np.random.default_rng(0).standard_normal((40, 5)) * 3


def test_the_clipper_agrees_with_scikit_learns_normalizer_on_long_rows_and_keeps_short_ones(rows):
    rows[::2] /= 100
    clipped = RowNormClipper(row_norm=2.0).fit_transform(rows)
    long = np.linalg.norm(rows, axis=1) > 2
    assert 0 < long.sum() < len(rows)
    np.testing.assert_allclose(clipped[long], 2 * Normalizer().transform(rows[long]), rtol=1e-9)
    np.testing.assert_array_equal(clipped[~long], rows[~long])
    assert np.linalg.norm(clipped, axis=1).max() <= 2


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array])
def test_the_clipper_keeps_csr_sparse_and_agrees_with_the_dense_result(rows, container):
    rows[np.abs(rows) < 2] = 0
    rows[3] = 0
    clipped = RowNormClipper().fit_transform(container(rows))
    assert isinstance(clipped, container)
    assert clipped.nnz == np.count_nonzero(rows)
    np.testing.assert_allclose(clipped.toarray(), RowNormClipper().fit_transform(rows), rtol=1e-12)


@pytest.mark.parametrize("transformer", [RowNormClipper(), PublicRangeScaler((0.0, 5.0))])
def test_the_result_does_not_depend_on_the_rows_that_were_fitted(transformer, rows):
    once, again = clone(transformer).fit(rows), clone(transformer).fit(100 * rows[:2] - 7)
    np.testing.assert_array_equal(once.transform(rows), again.transform(rows))


def test_the_clipper_works_without_fit(rows):
    assert np.linalg.norm(RowNormClipper().transform(rows), axis=1).max() <= 1


@pytest.mark.parametrize("huge", [1e300, 1e-300])
def test_the_clipper_survives_huge_and_tiny_values(huge):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clipped = RowNormClipper().fit_transform(np.array([[3 * huge, 4 * huge]]))
    expected = [[0.6, 0.8]] if huge > 1 else [[3 * huge, 4 * huge]]
    np.testing.assert_allclose(clipped, expected, rtol=1e-9)


def test_the_scaler_is_the_formula_and_clips_what_lies_outside():
    X = np.array([[-10.0, 0.0], [0.0, 50.0], [5.0, 75.0], [99.0, 1e300]])
    scaled = PublicRangeScaler(([0.0, 0.0], [10.0, 100.0])).fit_transform(X)
    np.testing.assert_allclose(scaled, [[-1, -1], [-1, 0], [0, 0.5], [1, 1]])


def test_the_inverse_restores_values_inside_the_ranges_and_stays_inside():
    low, high = np.array([-2.0, 0.0, 1e6]), np.array([3.0, 1e-3, 2e6])
    inside = low + (high - low) * np.random.default_rng(1).random((50, 3))
    scaler = PublicRangeScaler((low, high), feature_range=(-0.5, 2.0)).fit(inside)
    np.testing.assert_allclose(scaler.inverse_transform(scaler.transform(inside)), inside)
    back = scaler.inverse_transform(np.full((1, 3), 50.0))
    np.testing.assert_allclose(back, high[None, :])


def test_a_mapping_names_the_columns_in_any_order():
    X = pd.DataFrame({"age": [0, 120], "income": [0.0, 5e4]})
    scaler = PublicRangeScaler({"income": (0, 1e5), "age": (0, 120)}).set_output(transform="pandas")
    scaled = scaler.fit_transform(X)
    assert list(scaled.columns) == ["age", "income"]
    np.testing.assert_array_equal(scaled, [[-1, -1], [1, 0]])


@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_set_output_keeps_the_names(output):
    X = pd.DataFrame({"a": [3.0, 0.1], "b": [4.0, 0.2]})
    clipped = RowNormClipper().set_output(transform=output).fit_transform(X)
    assert list(clipped.columns) == ["a", "b"]
    np.testing.assert_allclose(np.asarray(clipped)[0], [0.6, 0.8], rtol=1e-9)


@pytest.mark.parametrize(
    "bounds",
    [
        (1.0, 1.0),
        (2.0, 1.0),
        (0.0, np.inf),
        (np.nan, 1.0),
        (-1e308, 1e308),
        (0.0, 1.0, 2.0),
        ([0.0, 0.0, 0.0], 1.0),
        ("low", "high"),
        {"a": (0.0, 1.0)},
        {"a": (0.0, 1.0), "b": (0.0, 1.0), "c": (0.0, 1.0)},
        {"a": (0.0, 1.0), "b": 3.0},
        {"a": (0.0, 1.0), "b": (1.0, 0.0)},
        None,
        3.0,
    ],
)
def test_bad_bounds_are_refused(bounds):
    X = pd.DataFrame({"a": [0.5], "b": [0.25]})
    with pytest.raises(ValueError, match="bounds"):
        PublicRangeScaler(bounds).fit(X)


def test_bounds_by_name_say_which_columns_do_not_match():
    X = pd.DataFrame({"age": [30.0], "income": [1e4]})
    with pytest.raises(ValueError, match=r"not named: \['income'\], not in X: \['wage'\]"):
        PublicRangeScaler({"age": (0, 99), "wage": (0, 1e5)}).fit(X)


def test_bounds_by_name_need_names():
    with pytest.raises(ValueError, match="column names"):
        PublicRangeScaler({"a": (0.0, 1.0)}).fit(np.zeros((2, 1)))


@pytest.mark.parametrize("row_norm", [0.0, -1.0, np.nan, np.inf, "1", None, 1e-40])
def test_a_bad_row_norm_is_refused(row_norm):
    with pytest.raises(ValueError, match="row_norm"):
        RowNormClipper(row_norm=row_norm).fit(np.zeros((2, 2)))


@pytest.mark.parametrize("transformer", [RowNormClipper(), PublicRangeScaler()])
@pytest.mark.parametrize(
    "bad",
    [
        np.array([[SECRET, np.nan]]),
        np.array([[SECRET, np.inf]]),
        np.array([[SECRET, "secretive"]], dtype=object),
        np.array([[str(SECRET), "1"]]),
        pd.DataFrame({"a": [SECRET], "b": ["secretive"]}),
        np.array([[SECRET, 1j]]),
        np.array([SECRET, 2.0]),
    ],
)
def test_inadmissible_input_is_refused_without_quoting_it(transformer, bad):
    fitted = clone(transformer).fit(np.zeros((1, 2)))
    for use in (clone(transformer).fit, fitted.transform):
        with pytest.raises((ValueError, TypeError)) as refusal:
            use(bad)
        told = f"{refusal.value!r} {refusal.value.__context__!r}"
        assert "98765" not in told
        assert "secretive" not in told


def test_a_raw_table_clipped_to_norm_one_shows_only_its_largest_column_and_ranges_mend_it():
    rng = np.random.default_rng(2)
    people = pd.DataFrame(
        {
            "age": rng.integers(18, 90, 200),
            "income": rng.integers(5_000, 150_000, 200),
            "sex": rng.choice(["f", "m"], 200),
        }
    )
    raw = RowNormClipper().fit_transform(people[["age", "income"]])
    assert np.ptp(raw, axis=0).max() < 0.02
    ranges = {"age": (0, 120), "income": (0, 200_000)}
    encode = make_pipeline(
        make_column_transformer(
            (PublicRangeScaler(ranges), list(ranges)),
            (OneHotEncoder(categories=[["f", "m"]], handle_unknown="ignore"), ["sex"]),
        ),
        RowNormClipper(),
    )
    mended = encode.fit_transform(people)
    assert np.ptp(mended, axis=0).min() > 0.4
    assert np.linalg.norm(mended, axis=1).max() <= 1

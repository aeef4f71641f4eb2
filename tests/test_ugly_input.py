"""What is admitted: once the budget is spent, there is no outcome but the release."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from skdp.linear_model import PrivateElasticNet, PrivateElasticNetClassifier
from skdp.preprocessing import RowNormClipper
from skdp.privacy import InMemoryLedger
from tests.support.neighbours import recorded

N = 12
rng = np.random.default_rng(1)
X = rng.normal(size=(N, 3))
X[rng.random(X.shape) < 0.4] = 0
y = np.arange(N) % 2
LARGEST, SMALLEST = np.finfo(np.float64).max, 5e-324


def fits(estimator, rows, labels, weights=None):
    """Assert that a fit returns, silently and at the price of one entry, something finite."""
    estimator.set_params(ledger=InMemoryLedger(1e3, 0.5))
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        assert estimator.fit(rows, labels, sample_weight=weights) is estimator
        predicted = estimator.predict(rows)
    assert len(estimator.ledger.history()) == 1
    assert np.isfinite(estimator.coef_).all()
    assert np.isfinite(estimator.intercept_).all()
    assert len(predicted) == len(labels)
    return predicted


def unsorted_csr():
    """Return a CSR matrix with duplicates that cancel, stored zeros, empty rows, unsorted rows."""
    data = np.array([LARGEST, -LARGEST, 0.0, SMALLEST, 2.0, LARGEST, LARGEST])
    indices, indptr = np.array([2, 2, 0, 2, 1, 0, 0]), np.array([0, 2, 3, 3, 5, 7])
    return sparse.csr_matrix(
        (data, indices, np.append(indptr, [7] * (N + 1 - len(indptr)))), shape=(N, 3)
    )


UGLY_ROWS = {
    "huge": np.full((N, 3), 1e300),
    "largest and smallest": np.where(y, LARGEST, -SMALLEST)[:, None] * [1.0, -1.0, 1.0],
    "tiny": np.full((N, 3), SMALLEST),
    "huge float32": np.full((N, 3), np.finfo(np.float32).max),
    "tiny float32": np.full((N, 3), np.finfo(np.float32).smallest_subnormal),
    "zeros": np.zeros((N, 3)),
    "negative zeros": -np.zeros((N, 3)),
    "one constant row": np.ones((N, 3)),
    "more columns than rows": rng.normal(size=(N, 50)),
    "one column": X[:, :1],
    "a huge column beside a tiny one": X * [1e300, 1e-300, 1.0],
    "int8": np.full((N, 3), -128, dtype=np.int8),
    "uint8": np.full((N, 3), 255, dtype=np.uint8),
    "bool": X > 0,
    "int64": np.full((N, 3), np.iinfo(np.int64).min),
    "uint64": np.full((N, 3), np.iinfo(np.uint64).max),
    "float16": np.full((N, 3), np.finfo(np.float16).max),
    "long double": X.astype(np.longdouble),
    "big endian": X.astype(">f8"),
    "objects": X.astype(object),
    "large integers in lists": (np.sign(X) * 1e300).astype(object).tolist(),
    "empty CSR": sparse.csr_matrix((N, 3)),
    "unsorted CSR": unsorted_csr(),
    "CSR of bool": sparse.csr_matrix(X > 0),
    "CSR of int8": sparse.csr_array(np.full((N, 3), -128, dtype=np.int8)),
    "huge CSR": sparse.csr_array(X * (LARGEST / 10)),
    "pandas nullable": pd.DataFrame(X).convert_dtypes().set_axis(list("abc"), axis=1),
    "pandas nullable bool": pd.DataFrame(X > 0, columns=list("abc")).convert_dtypes(),
    "pandas of mixed types": pd.DataFrame({"a": X[:, 0], "b": X[:, 1] > 0, "c": y.astype("i1")}),
    "polars of mixed types": pl.DataFrame({"a": X[:, 0], "b": X[:, 1] > 0, "c": y}),
    "polars decimals": pl.DataFrame({"a": y}).cast(pl.Decimal(10, 2)),
}


@pytest.mark.parametrize("rows", UGLY_ROWS.values(), ids=UGLY_ROWS.keys())
@pytest.mark.parametrize("loss", ["log_loss", "squared_hinge", "huber", "squared_error"])
def test_ugly_rows_fit_without_a_word(rows, loss):
    if loss in ("huber", "squared_error"):
        fits(PrivateElasticNet(loss, y_bound=1.0), rows, y)
    else:
        fits(PrivateElasticNetClassifier(loss), rows, y)


UGLY_TARGETS = {
    "huge": np.where(y, 1e300, -LARGEST),
    "tiny": y * SMALLEST,
    "constant": np.zeros(N),
    "bool": y > 0,
    "int8": np.full(N, -128, dtype=np.int8),
    "large integers": [10**300, 0] * (N // 2),
    "nullable": pd.Series([1, 2] * (N // 2), dtype="Int64"),
    "polars": pl.Series([1.5, 2] * (N // 2)),
}


@pytest.mark.parametrize("targets", UGLY_TARGETS.values(), ids=UGLY_TARGETS.keys())
@pytest.mark.parametrize("loss", ["huber", "log_cosh", "squared_error"])
def test_ugly_targets_fit_without_a_word(targets, loss):
    for row_norm in (1e-3, 1.0, 1e3):
        fits(PrivateElasticNet(loss, y_bound=2.0, row_norm=row_norm, tol=1e-6), X, targets)


@pytest.mark.parametrize(
    "weights",
    [np.where(y, LARGEST, 0), np.full(N, SMALLEST), np.where(y, LARGEST, SMALLEST), y > 0, [1] * N,
     3, pd.Series(np.ones(N)), pl.Series([1.0] * N), np.eye(1, N)[0]],
)  # fmt: skip
def test_ugly_weights_fit_without_a_word(weights):
    fits(PrivateElasticNet(), X, y, weights)
    for class_weight in (None, {0: SMALLEST, 1: 1e6}, {0: 0.0, 1: 1.0}):
        model = PrivateElasticNetClassifier(class_weight=class_weight, tol=1e-3)
        fits(model, X, y, weights)


UGLY_LABELS = {
    "strings": np.array(["a", "b"])[y],
    "strings of many lengths": np.array(["", "a" * 300])[y],
    "variable-width strings": np.array(["a", "b"], dtype=np.dtypes.StringDType())[y],
    "objects": np.array(["a", "b"], dtype=object)[y],
    "integers as objects": y.astype(object),
    "bool": y > 0,
    "numpy bool as objects": (y > 0).astype(object),
    "whole floats": y * 2.0,
    "huge whole floats": y * 1e15,
    "int64": np.array([np.iinfo(np.int64).min, np.iinfo(np.int64).max])[y],
    "uint64": np.array([2**63, 2**63 + 1], dtype=np.uint64)[y],
    "every row its own class": np.arange(N),
    "pandas strings": pd.Series(np.array(["a", "b"])[y]),
    "pandas category": pd.Series(np.array(["a", "b"])[y], dtype="category"),
    "pandas nullable": pd.Series(y, dtype="Int64"),
    "pandas nullable bool": pd.Series(y > 0, dtype="boolean"),
    "polars strings": pl.Series(["a", "b"] * (N // 2)),
    "polars categories": pl.Series(["a", "b"] * (N // 2), dtype=pl.Categorical),
    "list of numpy strings": list(np.array(["a", "b"])[y]),
}


@pytest.mark.parametrize("labels", UGLY_LABELS.values(), ids=UGLY_LABELS.keys())
def test_ugly_labels_fit_without_a_word_declared_or_not(labels):
    present = sorted(set(labels))
    for classes in (None, present, present[::-1], pd.Series(present)):
        model = PrivateElasticNetClassifier(classes=classes, epsilon=50)
        assert set(fits(model, X, labels)) <= set(present)
        assert list(model.classes_) == present


def test_many_different_labels_fit_without_a_word():
    """scikit-learn 1.7 warns where more than half of the labels differ."""
    fits(PrivateElasticNetClassifier(), np.eye(40), np.minimum(np.arange(40), 38))


@pytest.mark.parametrize(
    ("classes", "labels"),
    [
        ([0, 1], y > 0),
        ([False, True], y),
        ([0, 1], y.astype(float)),
        ([0.0, 1.0], y),
        ((0, 1), y.astype(np.uint8)),
        (range(3), y),
        (["a", "b", "c"], np.array(["a", "b"], dtype=object)[y]),
        (np.array(["a", "b"], dtype=object), np.array(["a", "b"])[y]),
        ([0.5, 1.5], y + 0.5),
        ([2**60, 2**60 + 1], y + 2**60),
    ],
)
def test_equal_labels_of_another_type_are_the_declared_classes(classes, labels):
    model = PrivateElasticNetClassifier(classes=classes)
    same = PrivateElasticNetClassifier(classes=range(len(classes)))
    # the mechanism is given the same number, whatever the labels are called
    assert np.array_equal(recorded(model, (X, labels))[1], recorded(same, (X, y))[1])
    assert list(model.classes_) == list(classes)


def memory_map(rows, folder):
    path = folder / "rows"
    rows.tofile(path)
    return np.memmap(path, dtype=rows.dtype, shape=rows.shape, mode="r")


STORAGES = {
    "Fortran": lambda rows, _: np.asfortranarray(rows),
    "memory map": memory_map,
    "every other row": lambda rows, _: np.repeat(rows, 2, axis=0)[::2],
    "backwards": lambda rows, _: rows[::-1, ::-1].copy()[::-1, ::-1],
    "lists": lambda rows, _: rows.tolist(),
    "pandas": lambda rows, _: pd.DataFrame(rows),
    "big endian": lambda rows, _: rows.astype(">f8"),
    "CSR": lambda rows, _: sparse.csr_matrix(rows),
    "CSC": lambda rows, _: sparse.csc_matrix(rows),
    "COO": lambda rows, _: sparse.coo_array(rows),
    "LIL": lambda rows, _: sparse.lil_matrix(rows),
    "DOK": lambda rows, _: sparse.dok_array(rows),
    "BSR": lambda rows, _: sparse.bsr_array(rows),
}


@pytest.mark.parametrize("store", STORAGES.values(), ids=STORAGES.keys())
@pytest.mark.parametrize("estimator", [PrivateElasticNetClassifier, PrivateElasticNet])
def test_how_rows_are_stored_changes_neither_the_minimiser_nor_the_noise(
    store, estimator, tmp_path
):
    mechanism, minimiser = recorded(estimator(alpha=0.1, tol=1e-10), (X * 3, y))
    rows = store(X * 3, tmp_path)
    other, again = recorded(estimator(alpha=0.1, tol=1e-10), (rows, y))
    assert other == mechanism
    # both are certified to lie within tol / (alpha (1 - l1_ratio)) of the minimiser
    assert np.linalg.norm(again - minimiser) <= 2 * 1e-10 / 0.085


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint16, np.float16, np.float32, bool])
def test_small_types_give_the_minimiser_of_the_same_numbers_in_float64(kind):
    rows = (X * 40).astype(kind)
    _, minimiser = recorded(PrivateElasticNet(alpha=0.1), (rows.astype(np.float64), y))
    _, again = recorded(PrivateElasticNet(alpha=0.1), (rows, y))
    # rows in float32 are clipped to within 2^-20 of row_norm
    np.testing.assert_allclose(again, minimiser, atol=2e-6 if kind is np.float32 else 1e-12)


def test_a_norm_in_float32_clips_as_its_value_in_float64():
    bound = np.float32(0.1)
    clipped = RowNormClipper(row_norm=bound).fit_transform(X)
    assert np.array_equal(clipped, RowNormClipper(row_norm=float(bound)).fit_transform(X))


def test_a_fit_changes_none_of_its_arguments():
    weights, csr = np.linspace(0, 2, N), unsorted_csr()
    given = [X.copy(), y.copy(), weights.copy(), csr.data.copy(), csr.indices.copy()]
    for rows in (X, csr):
        PrivateElasticNetClassifier(class_weight={0: 0.5}).fit(rows, y, sample_weight=weights)
        PrivateElasticNet(y_bound=0.5).fit(rows, y, sample_weight=weights).predict(rows)
    for before, after in zip(given, [X, y, weights, csr.data, csr.indices], strict=True):
        assert np.array_equal(before, after)


EXTREMES = [0.0, -0.0, 1.0, -1.0, 1e300, -LARGEST, LARGEST, SMALLEST, -SMALLEST, 1e-160, 1e-8]
CELLS = st.sampled_from(EXTREMES) | st.floats(allow_nan=False, allow_infinity=False)
WEIGHTS = st.sampled_from([0.0, 1.0, LARGEST, SMALLEST]) | st.floats(0, 2)
SCALES = st.sampled_from([1e-30, 1e-10, 0.1, 1.0, 30.0])


@st.composite
def admissible_fits(draw):
    n, d = draw(st.integers(2, 6)), draw(st.integers(1, 4))
    rows = np.array(draw(st.lists(CELLS, min_size=n * d, max_size=n * d))).reshape(n, d)
    rows = draw(st.sampled_from([np.asarray, np.asfortranarray, sparse.csr_matrix]))(rows)
    weights = draw(st.none() | st.lists(WEIGHTS, min_size=n, max_size=n).filter(any))
    shared = {
        "epsilon": draw(st.sampled_from([1e-6, 0.1, 10.0, 1e9])),
        "alpha": draw(st.sampled_from(["auto", 1e-3, 1.0, 1e20])),
        "l1_ratio": draw(st.sampled_from([0.0, 0.15, 0.99])),
        "row_norm": draw(SCALES),
        "max_sample_weight": draw(SCALES),
        "intercept_scaling": draw(SCALES),
        "fit_intercept": draw(st.booleans()),
        "threshold": draw(st.sampled_from([None, "auto", 0.1])),
        "tol": draw(st.sampled_from([1e-8, 1e3])),
    }
    if draw(st.booleans()):
        shared["delta"], shared["noise"] = 1e-6, "gaussian"
    if draw(st.booleans()):
        labels = draw(st.lists(CELLS, min_size=n, max_size=n))
        loss = draw(st.sampled_from(["huber", "squared_error"]))
        scales = {"y_bound": draw(SCALES), "huber_threshold": draw(SCALES)}
        return PrivateElasticNet(loss, **scales, **shared), rows, labels, weights
    loss = draw(st.sampled_from(["log_loss", "huber_hinge", "squared_hinge"]))
    classes = [0, 1] if loss != "log_loss" else draw(st.sampled_from([[0, 1], [0, 1, 2]]))
    labels = draw(st.lists(st.sampled_from(classes), min_size=n, max_size=n))
    return PrivateElasticNetClassifier(loss, classes=classes, **shared), rows, labels, weights


@settings(max_examples=250, deadline=None)
@given(admissible_fits())
def test_whatever_was_admitted_is_released_in_silence(drawn):
    estimator, rows, labels, weights = drawn
    estimator.set_params(ledger=(ledger := InMemoryLedger(1e12, 0.5)))
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        try:
            estimator.fit(rows, labels, sample_weight=weights)
        except ValueError as refusal:  # of public facts: the same for every data set
            assert ledger.history() == ()
            with pytest.raises(type(refusal), match=re.escape(str(refusal))):
                estimator.fit(np.zeros(rows.shape), labels, sample_weight=weights)
            return
        estimator.predict(rows)
    assert len(ledger.history()) == 1
    assert np.isfinite(estimator.coef_).all()
    assert np.isfinite(estimator.intercept_).all()

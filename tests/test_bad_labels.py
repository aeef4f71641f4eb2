"""Labels and weights that are refused, without a word about what they hold."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from skdp.linear_model import PrivateElasticNetClassifier
from tests.support.refusals import (
    ALL,
    CLASSIFIER,
    REGRESSOR,
    SECRET_DIGITS,
    SECRET_NUMBER,
    SECRET_TEXT,
    WEIGHTED,
    N,
    X,
    refuses_to_fit,
    y,
)

WORDS = [SECRET_TEXT, "other"] * (N // 2)
DIGITS = ["1.5", SECRET_DIGITS] * (N // 2)
DATES = [datetime.datetime(2020, 1, 1)] * N

INADMISSIBLE_LABELS = {
    "none at all": (None, "requires y to be passed"),
    "missing": (np.where(y, np.nan, SECRET_NUMBER), "Input y contains NaN"),
    "infinite": (np.where(y, np.inf, SECRET_NUMBER), "Input y contains infinity"),
    "two columns": (np.c_[y, y], "1d array"),
    "three dimensions": (y[:, None, None], "dim"),
    "a number": (1.0, "1d array"),
    "complex": (y + 1j * SECRET_NUMBER, "Complex data not supported"),
    "masked": (np.ma.masked_equal(y, 1), "masked array"),
    "sparse": (sparse.csr_array(y[:, None]), r"\by\b"),
    "bytes": (np.array([b"a", SECRET_TEXT.encode()])[y], r"\by\b"),
    "sets": ([{SECRET_TEXT}, {1}] * (N // 2), r"\by\b|label"),
    "dicts": ([{SECRET_TEXT: 1}, {}] * (N // 2), r"\by\b|label"),
    "numbers and words": ([1, SECRET_TEXT] * (N // 2), r"\by\b"),
    "objects, numbers and words": (
        np.array([1, SECRET_TEXT] * (N // 2), dtype=object),
        r"\by\b|label",
    ),
    "words and None": ([SECRET_TEXT, None] * (N // 2), r"\by\b"),
    "pandas words with a gap": (pd.Series([SECRET_TEXT, None] * (N // 2)), r"\by\b"),
    "pandas integers with a gap": (pd.Series([1, None] * (N // 2), dtype="Int64"), r"\by\b"),
    "polars words with a gap": (pl.Series([SECRET_TEXT, None] * (N // 2)), r"\by\b|label"),
    "polars integers with a gap": (pl.Series([1, None] * (N // 2)), r"\by\b"),
    "numbers and None": ([1, None] * (N // 2), "NaN|label"),
    "an integer beyond float64": ([0, int(SECRET_DIGITS) * 10**400] * (N // 2), "too large|label"),
}


@ALL
@pytest.mark.parametrize(
    ("labels", "match"), INADMISSIBLE_LABELS.values(), ids=INADMISSIBLE_LABELS.keys()
)
def test_labels_that_are_none_are_refused(estimator, labels, match):
    refuses_to_fit(estimator, X, labels, match=match)


@pytest.mark.parametrize(
    "labels",
    [WORDS, DIGITS, np.array(DIGITS), np.array(WORDS, dtype=object), pd.Series(WORDS),
     pl.Series(WORDS), pd.Series(WORDS, dtype="category"), np.array(DATES, dtype="datetime64[D]")],
)  # fmt: skip
def test_a_regression_needs_numbers_for_labels(labels):
    refuses_to_fit(REGRESSOR, X, labels, match="y could not be read as numbers")


def test_a_classification_needs_discrete_labels():
    refuses_to_fit(CLASSIFIER, X, X[:, 0], match="discrete classes.*use a regressor")


@pytest.mark.parametrize(
    "labels",
    [np.zeros(N), np.full(N, SECRET_TEXT), np.full(N, int(SECRET_DIGITS)), np.ones(N, bool)],
)
def test_one_class_is_refused_unless_all_classes_are_declared(labels):
    refuses_to_fit(CLASSIFIER, X, labels, match="only one class. Declare the public set")
    declared = [labels.tolist()[0], type(labels.tolist()[0])()]
    model = PrivateElasticNetClassifier(classes=declared if declared[0] else [0, 1]).fit(X, labels)
    assert len(model.classes_) == 2
    assert set(model.predict(X)) <= set(model.classes_)


OUTSIDE = "y holds a label outside of the declared classes"


@pytest.mark.parametrize(
    ("classes", "labels"),
    [
        ([0, 1], y + int(SECRET_DIGITS)),
        ([0, 1], y * SECRET_NUMBER),
        ([0, 1], y + 0.5),
        ([0, 1], np.array(["0", SECRET_DIGITS])[y]),
        ([0, 1], np.array([0, SECRET_TEXT] * (N // 2), dtype=object)),
        (["a", "b"], np.array(["a", SECRET_TEXT])[y]),
        (["a", "b"], y),
        (["0", "1"], y),
        (["a", "b"], np.array(["a", "b "])[y]),
        (["a", "b"], pd.Series(WORDS)),
        (["a", "b"], pl.Series(WORDS)),
        (["a", "b"], np.array([{"a"}, None] * (N // 2))),
        ([False, True], y + 1),
        ([0.5, 1.5], y),
        # float64 cannot tell these apart
        ([2.0**53, 2.0**53 + 2], np.array([2**53, 2**53 + 1])[y]),
        ([2**53, 2**53 + 2], np.array([2**53, 2**53 + 1], dtype=np.uint64)[y]),
    ],
)
def test_labels_outside_of_the_declared_classes_are_refused(classes, labels):
    refuses_to_fit(PrivateElasticNetClassifier(classes=classes), X, labels, match=OUTSIDE)


@pytest.mark.parametrize(
    "classes",
    [[0], [], [0, 0], [[0, 1]], ["a", None], [0, "a"], [0, np.nan], [0, 1j], "01", 2, [{}, 1]],
    ids=str,
)
def test_declared_classes_must_be_two_or_more_numbers_or_strings(classes):
    refuses_to_fit(
        PrivateElasticNetClassifier(classes=classes),
        X,
        y,
        match="^classes must be a list|The 'classes' parameter",
    )


def test_a_hinge_loss_refuses_three_classes():
    for loss in ("huber_hinge", "squared_hinge"):
        model = PrivateElasticNetClassifier(loss)
        refuses_to_fit(model, X, np.arange(N) % 3, match="binary.*Use loss='log_loss'")
        refuses_to_fit(model.set_params(classes=[0, 1, 2]), X, y, match="binary")


# ---------------------------------------------------------------------------------- the weights


@WEIGHTED
@pytest.mark.parametrize(
    ("weights", "match"),
    [
        (np.where(y, np.nan, SECRET_NUMBER), "Input sample_weight contains NaN"),
        (np.where(y, np.inf, SECRET_NUMBER), "Input sample_weight contains infinity"),
        (np.where(y, -SECRET_NUMBER, 1), "Negative values.*at least 0"),
        (-SECRET_NUMBER, "Negative values"),
        (np.zeros(N), "at least one non-zero"),
        (np.ones((N, 1)), "1D array"),
        (["1.5"] * N, "sample_weight could not be read as numbers"),
        ([SECRET_TEXT] * N, "sample_weight could not be read as numbers"),
        ("1", "sample_weight could not be read as numbers"),
        ([None] * N, "sample_weight contains NaN"),
        (pd.Series([1, None] * (N // 2), dtype="Int64"), "sample_weight contains NaN"),
        (np.ones(N) * 1j, "Complex data"),
        (np.ma.masked_greater(np.ones(N), 0), "masked array"),
        ([int(SECRET_DIGITS) * 10**400] * N, "sample_weight holds a number too large"),
        (np.array(DATES, dtype="datetime64[D]"), "sample_weight could not be read as numbers"),
    ],
)
def test_inadmissible_weights_are_refused(estimator, weights, match):
    refuses_to_fit(estimator, X, y, match=match, sample_weight=weights)

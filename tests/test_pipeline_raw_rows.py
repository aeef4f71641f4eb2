"""Rows that some step does not take are refused before anything is reserved or spent."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
)

from skdp.embedding import PrivateCBOW
from skdp.linear_model import SparseDPSGDClassifier
from skdp.pipeline import make_private_pipeline
from skdp.preprocessing import PrivateImputer, PrivateOneHotEncoder, PrivateStandardScaler
from skdp.privacy import InMemoryLedger, PrivacyLedger

N = 60
FRAME = pd.DataFrame(
    {
        "a": np.linspace(0, 1, N),
        "b": np.linspace(0, 5, N),
        "w": pd.Series(["n", "s"] * (N // 2), dtype=object),
    }
)
Y = np.arange(N) % 2
WORDS = ["cats", "dogs"]


def scaler():
    return PrivateStandardScaler(bounds=(0, 10))


def model():
    return SparseDPSGDClassifier(classes=[0, 1])


def ordinal(unknown):
    return OrdinalEncoder(
        categories=[["n", "s"]], handle_unknown="use_encoded_value", unknown_value=unknown
    )


def columns(*branches, **given):
    named = [(f"x{place}", step, on) for place, (step, on) in enumerate(branches)]
    return ColumnTransformer(named, sparse_threshold=0, **given)


@pytest.fixture(params=["on disk", "in memory"])
def ledger(request, tmp_path):
    if request.param == "in memory":
        return InMemoryLedger(10, 1e-4, "zero-out")
    path = str(tmp_path / "rows.db")
    return PrivacyLedger.create(path, 10.0, 1e-4, neighbours="zero-out", filter="basic")


@pytest.fixture
def document_ledger(tmp_path):
    path = str(tmp_path / "documents.db")
    return PrivacyLedger.create(path, 10.0, 1e-4, neighbours="zero-out", unit="document")


def is_refused_for_free(steps, rows, ledger, error=(ValueError, TypeError), told=None):
    with pytest.raises(error, match=told) as refused:
        make_private_pipeline(*steps, ledger=ledger).fit(rows, Y)
    assert len(ledger.history()) == 0
    assert refused.value.__cause__ is None


def with_cell(column, value):
    frame = FRAME.copy()
    frame.loc[7, column] = value
    return frame


def test_one_missing_value_before_a_scaler_and_a_model_reserves_nothing(ledger):
    rows = with_cell("b", np.nan)[["a", "b"]]
    is_refused_for_free((scaler(), model()), rows, ledger, told="contains NaN")
    is_refused_for_free((Normalizer(), scaler(), model()), rows, ledger, told="contains NaN")


def test_one_missing_document_reserves_nothing(document_ledger):
    steps = (PrivateCBOW(4, vocabulary=WORDS, n_epochs=1, batch_size=30), model())
    is_refused_for_free(steps, ["cats dogs"] * (N - 1) + [None], document_ledger)


BESIDE = {
    "passthrough": (columns((scaler(), ["a"]), ("passthrough", ["b"])), ("b", np.nan)),
    "remainder": (columns((scaler(), ["a"]), ("drop", ["w"]), remainder="passthrough"),
                  ("b", np.inf)),
    "public": (columns((scaler(), ["a"]), (Normalizer(), ["b"])), ("b", np.nan)),
    "private": (columns((scaler(), ["a"]), (scaler(), ["b"])), ("b", np.nan)),
    "private remainder": (
        columns((scaler(), ["a"]), ("drop", ["w"]), remainder=scaler()), ("b", np.nan)
    ),
    "categories": (columns((scaler(), ["a"]), (PrivateOneHotEncoder(), ["w"])), ("w", 5)),
    "texts": (columns((scaler(), ["a"]), ("passthrough", ["w"])), ("b", 0.0)),
    "union": (
        columns((FeatureUnion([("p", scaler()), ("q", "passthrough")]), ["a", "b"])), ("b", np.nan)
    ),
    "nested": (
        columns(
            (Pipeline([("n", columns((scaler(), ["a"]), (scaler(), ["b"])))]), ["a", "b"]),
            (ordinal(-1), ["w"]),
        ),
        ("b", np.nan),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BESIDE)
def test_a_row_that_a_branch_beside_a_private_one_does_not_take_costs_nothing(case, ledger):
    first, (column, value) = BESIDE[case]
    is_refused_for_free((first, model()), with_cell(column, value), ledger)
    if case != "texts":
        fitted = make_private_pipeline(first, model(), ledger=ledger).fit(FRAME, Y)
        assert fitted.predict(FRAME).shape == Y.shape


def test_missing_values_beside_a_private_step_may_be_filled_in_behind_both(ledger):
    first = columns((scaler(), ["a"]), ("passthrough", ["b"]))
    constant = SimpleImputer(strategy="constant", fill_value=0.0, keep_empty_features=True)
    learned = PrivateImputer(bounds=(0.0, 10.0), neighbours="zero-out")
    for imputer in (constant, learned):
        steps = (first, imputer, model())
        make_private_pipeline(*steps, ledger=ledger).fit(with_cell("b", np.nan), Y)
        before = len(ledger.history())
        with pytest.raises(ValueError, match="no finite numbers"):
            make_private_pipeline(*steps, ledger=ledger).fit(with_cell("b", np.inf), Y)
        assert len(ledger.history()) == before


def test_nothing_follows_that_could_refuse_what_passes_beside(ledger):
    first = columns((scaler(), ["a"]), ("passthrough", ["b"]))
    make_private_pipeline(first, ledger=ledger).fit(with_cell("b", np.nan))
    assert len(ledger.history()) > 0


def test_no_noise_is_drawn_on_rows_before_they_are_paid_for(monkeypatch, ledger):
    seen, true = [], PrivateStandardScaler.transform

    def watched(step, rows):
        seen.append(len(ledger.history()))
        return true(step, rows)

    monkeypatch.setattr(PrivateStandardScaler, "transform", watched)
    first = columns((scaler(), ["a"]), (scaler(), ["b"]))
    rows = with_cell("b", np.nan)
    is_refused_for_free((first, model()), rows, ledger)
    assert not seen


@pytest.mark.parametrize(
    "step",
    [
        ordinal(np.nan),
        SimpleImputer(strategy="constant", fill_value=np.nan, keep_empty_features=True),
        FrozenEstimator(FunctionTransformer(np.exp).fit(FRAME[["a"]])),
        FrozenEstimator(PolynomialFeatures(2).fit(FRAME[["a"]])),
    ],
    ids=["ordinal", "imputer", "frozen function", "frozen polynomials"],
)
@pytest.mark.parametrize("where", ["beside", "behind"])
def test_steps_that_may_return_what_is_not_finite_are_refused(step, where, ledger):
    on = ["w"] if isinstance(step, OrdinalEncoder) else ["a"]
    beside = columns((scaler(), ["b"]), (step, on))
    steps = (beside, model()) if where == "beside" else (scaler(), step, model())
    is_refused_for_free(steps, with_cell("w", "x"), ledger, told="before the first private step")


def test_an_undeclared_category_beside_a_private_step_is_a_number(ledger):
    encoder = OneHotEncoder(categories=[["n", "s"]], handle_unknown="ignore", sparse_output=False)
    for step in (ordinal(-1), encoder):
        first = columns((scaler(), ["a"]), (step, ["w"]))
        make_private_pipeline(first, model(), ledger=ledger).fit(with_cell("w", "x"), Y)


@pytest.mark.parametrize(
    ("kind", "values", "match"),
    [
        ("sample_weight", np.r_[-1.0, np.ones(N - 1)], "Negative values"),
        ("sample_weight", np.r_[np.nan, np.ones(N - 1)], "NaN"),
        ("sample_weight", np.ones(N - 1), "shape"),
        ("groups", ["x"] * (N - 1), "one group for each"),
    ],
)
def test_weights_and_groups_of_a_later_step_are_looked_at_first(ledger, kind, values, match):
    private = make_private_pipeline(scaler(), model(), epsilon=1.0, delta=1e-5, ledger=ledger)
    before = ledger.remaining()
    with pytest.raises(ValueError, match=match):
        private.fit(FRAME[["a", "b"]], Y, **{f"sparsedpsgdclassifier__{kind}": values})
    assert ledger.remaining() == before

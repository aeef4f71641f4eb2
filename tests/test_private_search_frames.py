"""Private search over pipelines whose first steps take what no estimator does: texts, gaps."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, OneHotEncoder

from skdp.linear_model import PrivateElasticNetClassifier, SparseDPSGDClassifier
from skdp.model_selection import PrivateGridSearchCV
from skdp.model_selection.candidates import Candidates
from skdp.model_selection.metadata import Metadata
from skdp.model_selection.stand_in import stand_in_for
from skdp.pipeline import RowByRow, make_private_pipeline
from skdp.preprocessing import PrivateOneHotEncoder, PrivateStandardScaler, PublicRangeScaler
from skdp.privacy import InMemoryLedger, PrivacyBudget
from skdp.privacy.events import PureReleaseDpEvent
from tests.support.refusals import SECRET_TEXT, said

N = 120
rng = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "ward": rng.choice(["north", "south"], size=N),
        "age": rng.integers(20, 90, size=N),
        "sex": pd.Categorical(rng.choice(["f", "m"], size=N)),
    },
    index=rng.permutation(N),
)
Y = (FRAME["age"].to_numpy() > 50).astype(int)
ALPHAS = {"model__alpha": [0.1, 1.0]}


def classifier(**given):
    return PrivateElasticNetClassifier(classes=[0, 1], **given)


def encoder(*categories):
    return OneHotEncoder(categories=[*categories], handle_unknown="ignore", sparse_output=False)


def columns(remainder="drop"):
    return ColumnTransformer(
        [
            ("text", encoder(["north", "south"], ["f", "m"]), ["ward", "sex"]),
            ("number", PublicRangeScaler((0.0, 120.0)), ["age"]),
        ],
        remainder=remainder,
    )


def piped(*steps, whole=False, **given):
    made = make_private_pipeline if whole else make_pipeline
    pipeline = made(*steps)
    pipeline.steps[-1] = ("model", steps[-1])
    last = next(iter(given.pop("grid", ALPHAS).items()))
    return PrivateGridSearchCV(pipeline, dict([last]), **{"epsilon": 2.0, **given})


@pytest.mark.parametrize("strategy", ["random", "exponential"])
@pytest.mark.parametrize("whole", [False, True])
def test_a_frame_of_several_types_is_searched(strategy, whole):
    scaler = PrivateStandardScaler((0.0, 1.0), neighbours="replace-one")
    ledger = InMemoryLedger(2.0, 1e-5)
    found = piped(
        columns(), scaler, classifier(), whole=whole, strategy=strategy, delta=1e-5, ledger=ledger
    ).fit(FRAME, Y)
    assert len(ledger.history()) == 1
    assert found.privacy_.budget.epsilon == 2.0
    assert list(found.feature_names_in_) == list(FRAME.columns)
    assert found.predict(FRAME).shape == Y.shape


@pytest.mark.parametrize(
    ("first", "rows"),
    [
        (encoder(["north", "south"], ["f", "m"]), FRAME[["ward", "sex"]].to_numpy()),
        (encoder(["north", "south"], ["f", "m"]), FRAME[["ward", "sex"]].to_numpy().tolist()),
        (
            SimpleImputer(strategy="constant", fill_value=0.0, keep_empty_features=True),
            np.where(np.arange(N) % 7 == 0, np.nan, Y / 2)[:, None],
        ),
        (HashingVectorizer(n_features=8), [f"{word} ward" for word in FRAME["ward"]]),
        (FunctionTransformer(RowByRow(np.log)), np.abs(Y[:, None]) + 1.0),
    ],
    ids=["objects", "lists", "gaps", "texts", "logarithm"],
)
def test_what_the_first_step_takes_is_searched(first, rows):
    found = piped(first, classifier()).fit(rows, Y)
    assert found.predict(rows).shape == Y.shape


def test_polars_frames_are_searched():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"ward": FRAME["ward"].tolist(), "sex": FRAME["sex"].tolist()})
    found = piped(encoder(["north", "south"], ["f", "m"]), classifier()).fit(frame, Y)
    assert found.predict(frame).shape == Y.shape


def test_a_private_encoder_may_come_first():
    model = SparseDPSGDClassifier(classes=[0, 1], n_epochs=1)
    grid = {"model__max_grad_norm": [0.3, 1.0]}
    found = piped(PrivateOneHotEncoder(), model, grid=grid, epsilon=9.0, delta=1e-3)
    assert found.fit(FRAME[["ward"]], Y).privacy_.epsilon == 9.0


def test_of_fits_behind_a_released_width_the_budget_alone_counts():
    """Their noise follows from how many columns the encoder left, which differs between fits."""
    model = SparseDPSGDClassifier(classes=[0, 1], n_epochs=1)
    rows, classes, metadata = FRAME[["ward"]], np.array([0, 1]), Metadata({}, {}, None, 0)
    for first, known in ((PrivateOneHotEncoder(), True), (PrivateStandardScaler((0, 1)), False)):
        candidates = Candidates(make_pipeline(first, model), [{}], classes, None)
        given = rows if known else np.ones((N, 2))
        stand_in = stand_in_for(candidates.models, given, classes, N, metadata)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            (one,) = candidates.tried(PrivacyBudget(2.0, 1e-3), stand_in)
        event = one.event.events[1]
        assert isinstance(event, PureReleaseDpEvent) is known
        assert not known or (event.epsilon, event.delta) == (1.0, 5e-4)


@pytest.mark.parametrize("strategy", ["random", "exponential"])
def test_a_search_behind_a_released_width_states_what_it_was_asked_for(strategy):
    model = SparseDPSGDClassifier(classes=[0, 1], n_epochs=1)
    found = piped(
        PrivateOneHotEncoder(), model, grid={"model__alpha": [0.1]}, delta=1e-3, strategy=strategy
    )
    statement = found.fit(FRAME[["ward"]], Y).privacy_
    assert (statement.epsilon, statement.delta) == (2.0, 1e-3)


def test_texts_in_a_list_may_have_groups():
    words = HashingVectorizer(n_features=8)
    texts = [f"{word} ward" for word in FRAME["ward"]]
    search = piped(words, classifier(max_rows_per_group=2))
    assert search.fit(texts, Y, model__groups=np.arange(N) // 2).privacy_.unit == "group"


# ---------------------------------------------------------------------------- what decides nothing


def test_stand_in_rows_have_the_types_of_the_columns_and_nothing_else():
    rows = stand_in_for([], FRAME, np.array([0, 1]), 5, Metadata({}, {}, None, 0)).X
    assert list(rows.dtypes) == list(FRAME.dtypes)
    assert set(rows["ward"]) == {""}
    assert set(rows["age"]) == {0}
    assert rows["sex"].isna().all()  # its type may have been inferred from the rows
    assert list(rows.index) == list(range(5))


def test_ones_stand_in_where_a_step_maps_zeros_to_no_number():
    model = make_pipeline(FunctionTransformer(RowByRow(np.log)), classifier())
    rows = stand_in_for([model], np.ones((4, 2)), None, 3, Metadata({}, {}, None, 0))
    assert (rows.X == 1).all()


def test_numbers_in_cells_that_may_be_anything_are_searched():
    rows = np.ones((N, 2), dtype=object)
    for found in (piped(Normalizer(), classifier()), piped(columns_of_numbers(), classifier())):
        assert found.fit(rows, Y).predict(rows).shape == Y.shape


def columns_of_numbers():
    return PrivateStandardScaler((0.0, 2.0), neighbours="replace-one", delta=0.0)


# ------------------------------------------------------------------------ refused before the spend


@pytest.mark.parametrize(
    ("first", "cell"),
    [(Normalizer(), np.nan), (FunctionTransformer(RowByRow(np.log)), 0.0), (Normalizer(), np.inf)],
    ids=["gap", "logarithm", "infinite"],
)
@pytest.mark.parametrize("place", range(0, N, 40))
def test_a_row_that_a_step_cannot_take_is_refused_wherever_it_falls(first, cell, place):
    rows, ledger = np.ones((N, 2)), InMemoryLedger(9.0)
    rows[place, 0] = cell
    with pytest.raises(ValueError, match=r"NaN|infinity|no finite numbers"):
        piped(first, classifier(), ledger=ledger).fit(rows, Y)
    assert ledger.history() == ()


@pytest.mark.parametrize("kind", [pd.DataFrame, np.asarray])
def test_a_text_where_a_step_takes_numbers_is_refused_without_quoting_it(kind):
    cells = np.ones((N, 2), dtype=object)
    cells[7, 1] = SECRET_TEXT
    ledger = InMemoryLedger(9.0)
    with pytest.raises(ValueError, match=r"could not take|could not be read") as caught:
        piped(Normalizer(), classifier(), ledger=ledger).fit(kind(cells), Y)
    assert SECRET_TEXT not in said(caught.value)
    assert ledger.history() == ()


def test_an_encoder_that_comes_first_refuses_what_it_does_not_take_before_the_spend():
    cells = FRAME[["ward"]].to_numpy().copy()
    cells[3, 0] = {SECRET_TEXT}
    ledger = InMemoryLedger(9.0, 1e-2, "zero-out")
    model = SparseDPSGDClassifier(classes=[0, 1], n_epochs=1)
    grid = {"model__max_grad_norm": [1.0]}
    with pytest.raises((TypeError, ValueError)) as caught:
        piped(PrivateOneHotEncoder(), model, grid=grid, delta=1e-3, ledger=ledger).fit(cells, Y)
    assert SECRET_TEXT not in said(caught.value)
    assert ledger.history() == ()


def test_texts_that_an_estimator_alone_is_given_are_refused_with_what_to_do():
    with pytest.raises(ValueError, match="encode strings, dates and categories first"):
        PrivateGridSearchCV(classifier(), {"alpha": [1.0]}).fit(FRAME, Y)


@pytest.mark.parametrize("rows", [np.ones((N, 2, 2)), np.ones(N), "text", [["a"], ["b", "c"]]])
def test_what_is_no_table_is_refused(rows):
    with pytest.raises((TypeError, ValueError)):
        piped(Normalizer(), classifier()).fit(rows, Y)

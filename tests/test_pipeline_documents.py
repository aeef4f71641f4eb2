"""Pipelines whose rows are documents: word vectors first, then a private model of their means."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion, make_pipeline

from skdp.embedding import PrivateCBOW
from skdp.linear_model import PrivateElasticNetClassifier, SparseDPSGDClassifier
from skdp.model_selection import PrivateGridSearchCV
from skdp.pipeline import check_private_pipeline, make_private_pipeline, pipeline_statement
from skdp.preprocessing import PrivateStandardScaler
from skdp.privacy import InMemoryLedger, Neighbours, PrivacyLedger
from skdp.training import PoissonSampler

WORDS = ["cats", "dogs", "mice", "chase", "fear"]
DOCUMENTS = ["cats chase mice", "dogs fear cats and chase mice", "mice fear dogs"] * 60
Y = np.arange(180) % 2


def vectors(**given):
    return PrivateCBOW(4, vocabulary=WORDS, n_epochs=1, batch_size=30, **given)


def model(**given):
    return SparseDPSGDClassifier(classes=[0, 1], n_epochs=1, batch_size=30, **given)


def test_word_vectors_and_a_model_share_one_budget_of_documents():
    ledger = InMemoryLedger(2.0, 1e-4, "zero-out")
    private = make_private_pipeline(vectors(), model(), epsilon=2.0, delta=1e-4, ledger=ledger)
    assert check_private_pipeline(private).private == ("privatecbow", "sparsedpsgdclassifier")
    whole = private.fit(DOCUMENTS, Y).privacy_
    assert (whole.unit, whole.neighbours, whole.epsilon) == ("document", Neighbours.ZERO_OUT, 2.0)
    assert any("one without a word is not null" in fact for fact in whole.assumptions)
    assert [entry.statement.unit for entry in ledger.history()] == ["document"] * 2
    assert [entry.statement.epsilon for entry in ledger.history()] == [0.5, 1.5]
    assert private.predict(DOCUMENTS).shape == Y.shape


@pytest.mark.parametrize("split", ["sums", "gaussian"])
def test_a_ledger_of_documents_reserves_both_steps(tmp_path, split):
    path = str(tmp_path / "documents.db")
    ledger = PrivacyLedger.create(path, 3.0, 1e-4, neighbours="zero-out", unit="document")
    private = make_private_pipeline(
        vectors(), model(), epsilon=1.5, delta=1e-5, split=split, ledger=path
    )
    private.fit(DOCUMENTS, Y)
    assert ledger.history()["status"].tolist() == ["reserved", "spent", "spent"]
    assert ledger.verify() == 3


def test_documents_that_can_be_read_once_are_refused_before_anything_is_spent():
    ledger = InMemoryLedger(2.0, 1e-4, "zero-out")
    private = make_private_pipeline(vectors(), model(), epsilon=2.0, delta=1e-4, ledger=ledger)
    with pytest.raises(TypeError, match=r"read more than once.*Pass a list"):
        private.fit((text for text in DOCUMENTS), Y)
    assert ledger.history() == ()


def test_a_plain_pipeline_of_them_is_stated_for_documents():
    fitted = make_pipeline(vectors(epsilon=1.0), model(epsilon=1.0)).fit(DOCUMENTS, Y)
    statement = pipeline_statement(fitted)
    assert statement.unit == "document"
    assert statement.epsilon < 2.0


def test_frozen_vectors_count_with_what_they_cost():
    frozen = FrozenEstimator(vectors(epsilon=3.0).fit(DOCUMENTS))
    private = make_private_pipeline(frozen, model(), epsilon=1.0).fit(DOCUMENTS, Y)
    assert private.privacy_.unit == "document"
    assert private.privacy_.epsilon > 1.0


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ((vectors(unit="example"), model()), "PrivateCBOW: example"),
        ((vectors(), model(max_rows_per_group=2)), "SparseDPSGDClassifier: group"),
        (
            (PrivateStandardScaler((0.0, 1.0)), model(max_rows_per_group=2)),
            "PrivateStandardScaler: row; SparseDPSGDClassifier: group",
        ),
        ((vectors(), PrivateElasticNetClassifier(classes=[0, 1])), "PrivateCBOW: zero-out"),
        (
            (
                vectors(sampling=PoissonSampler(0.2, 10, Neighbours.ADD_OR_REMOVE_ONE)),
                model(),
            ),
            "PrivateCBOW: add-or-remove-one",
        ),
    ],
    ids=["example", "document and group", "row and group", "replace-one", "private number"],
)
def test_units_and_relations_that_do_not_agree_are_refused_before_anything_is_spent(steps, told):
    ledger = InMemoryLedger(9.0, 1e-2)
    rows = DOCUMENTS if isinstance(steps[0], PrivateCBOW) else np.eye(180, 3)
    with pytest.raises(ValueError, match="do not add up") as caught:
        make_private_pipeline(*steps, ledger=ledger).fit(rows, Y)
    assert told in str(caught.value)
    assert ledger.history() == ()


def test_vectors_beside_hashed_words_are_counted_once():
    union = FeatureUnion([("hashed", HashingVectorizer(n_features=8)), ("vectors", vectors())])
    private = make_private_pipeline(union, model(), epsilon=2.0, delta=1e-4)
    assert private.fit(DOCUMENTS, Y).privacy_.unit == "document"


def test_a_search_among_documents_is_refused_before_anything_is_spent():
    ledger = InMemoryLedger(9.0, 1e-2)
    grid = {"sparsedpsgdclassifier__alpha": [0.1]}
    search = PrivateGridSearchCV(make_pipeline(vectors(), model()), grid, delta=1e-4, ledger=ledger)
    with pytest.raises(ValueError, match="read documents cannot be searched"):
        search.fit(DOCUMENTS, Y)
    assert ledger.history() == ()

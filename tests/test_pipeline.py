"""Pipelines with one budget: what is refused, how it is split, what is stated."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from skdp.decomposition import PrivatePCA
from skdp.exceptions import BudgetExceededError, LeakyPipelineError
from skdp.linear_model import PrivateElasticNetClassifier, SparseDPSGDClassifier
from skdp.pipeline import PrivatePipeline, check_private_pipeline, make_private_pipeline
from skdp.preprocessing import PublicRangeScaler
from skdp.privacy import InMemoryLedger, Neighbours

X = np.random.default_rng(0).uniform(size=(300, 4))
y = (X[:, 0] > 0.5).astype(int)


class Untouchable:
    """Rows that nobody may look at."""

    def __getattr__(self, name):
        raise AssertionError(f"{name} of the rows was read")

    def __len__(self):
        raise AssertionError("the rows were counted")


def model():
    return SparseDPSGDClassifier(classes=[0, 1])


def test_a_leaky_pipeline_is_refused_before_the_rows_are_touched():
    leaky = PrivatePipeline([("scale", StandardScaler()), ("model", model())])
    with pytest.raises(LeakyPipelineError, match=r"'scale'.*mean and variance.*PrivateSta"):
        leaky.fit(Untouchable(), Untouchable())
    assert not hasattr(leaky, "privacy_")


@pytest.mark.parametrize(
    ("step", "instead"),
    [
        (TfidfVectorizer(), "HashingVectorizer"),
        (SelectKBest(), "PrivateSelectKBest"),
        (LogisticRegression(), "SparseDPSGDClassifier"),
        (Pipeline([("a", Normalizer())], memory="here"), "memory"),
        (Pipeline([("a", Normalizer())], verbose=True), "verbose"),
        (
            ColumnTransformer([("a", Normalizer(), lambda Z: [0])], sparse_threshold=0),
            "make_column",
        ),
        (FeatureUnion([("a", PrivatePCA()), ("b", PrivatePCA())], n_jobs=2), "n_jobs"),
        (FrozenEstimator(StandardScaler().fit(X)), "public"),
    ],
)
def test_what_leaks_within_a_pipeline_is_named_with_a_way_out(step, instead):
    with pytest.raises(LeakyPipelineError) as refused:
        check_private_pipeline(Pipeline([("outer", make_pipeline(step)), ("model", model())]))
    assert instead in refused.value.instead
    assert refused.value.step.startswith("outer__")


def test_subclasses_are_other_classes():
    class Mine(Normalizer):
        pass

    class MinePrivate(PrivatePCA):
        pass

    for step in (Mine(), MinePrivate()):
        with pytest.raises(LeakyPipelineError, match="not known"):
            check_private_pipeline(step)


def test_the_user_may_vouch_for_a_frozen_step_and_the_statement_says_so():
    frozen = FrozenEstimator(StandardScaler().fit(X[:10]))
    private = make_private_pipeline(frozen, model(), public=["frozenestimator"]).fit(X, y)
    assert any("'frozenestimator' learned nothing" in a for a in private.privacy_.assumptions)
    with pytest.raises(ValueError, match="no step that needs a voucher"):
        check_private_pipeline(private, public=["frozenestimator", "other"])


@pytest.mark.parametrize("split", ["sums", "gaussian"])
def test_the_steps_together_keep_the_budget(split):
    ledger = InMemoryLedger(9.0, 1e-4, Neighbours.ZERO_OUT)
    private = make_private_pipeline(
        PrivatePCA(2), model(), epsilon=1.0, delta=1e-5, split=split, ledger=ledger
    ).fit(X, y)
    assert (private.privacy_.epsilon, private.privacy_.delta) == (1.0, 1e-5)
    assert private.privacy_.delta_at(1.0) <= 1e-5
    assert len(ledger.history()) == 2
    assert all(step.ledger is None for _, step in private.steps)
    if split == "sums":
        assert ledger.spent() == (1.0, 1e-5)
        assert [step.epsilon for _, step in private.steps] == [0.25, 0.75]
    else:
        assert private.privacy_.delta_at(1.0) > 0.5e-5
        assert sum(step.epsilon for _, step in private.steps) > 1.1


def test_branches_of_a_column_transformer_add_up():
    branches = ColumnTransformer(
        [("left", PrivatePCA(1), [0, 1]), ("right", PrivatePCA(1), [2, 3])], sparse_threshold=0
    )
    private = make_private_pipeline(branches, model(), epsilon=2.0, delta=1e-5).fit(X, y)
    assert private.check_.private == (
        "columntransformer__left",
        "columntransformer__right",
        "sparsedpsgdclassifier",
    )
    assert len(private.privacy_.event.events) == 3
    assert all(step.ledger is None for _, step, _ in private[0].transformers_[:2])


def test_a_ledger_that_cannot_pay_for_all_steps_pays_for_none():
    ledger = InMemoryLedger(0.5, 1e-5, Neighbours.ZERO_OUT)
    private = make_private_pipeline(PrivatePCA(2), model(), epsilon=1.0, ledger=ledger)
    with pytest.raises(BudgetExceededError, match="Nothing was spent"):
        private.fit(X, y)
    assert ledger.history() == ()


def test_relations_that_do_not_add_up_are_refused_before_anything_is_spent():
    private = make_private_pipeline(PrivatePCA(2), PrivateElasticNetClassifier(classes=[0, 1]))
    with pytest.raises(ValueError, match=r"replace-one, zero-out\) do not add up"):
        private.fit(Untouchable(), y)


def test_clones_and_parameters_work_as_in_scikit_learn():
    private = make_private_pipeline(PublicRangeScaler(), model(), epsilon=3.0)
    copy = clone(private).set_params(epsilon=2.0, sparsedpsgdclassifier__alpha=0.1).fit(X, y)
    assert copy.privacy_.epsilon == 2.0
    assert copy[-1].epsilon == 2.0
    assert copy.predict(X).shape == (300,)
    assert not hasattr(private, "privacy_")

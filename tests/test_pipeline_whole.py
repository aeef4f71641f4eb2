"""Whole private pipelines: scaler, clipper and model, under one ledger and one relation."""

from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import OneHotEncoder

from skdp.linear_model import PrivateElasticNetClassifier, SparseDPSGDClassifier
from skdp.neural_network import PrivateMLPClassifier
from skdp.pipeline import make_private_pipeline
from skdp.preprocessing import (
    PrivateMinMaxScaler,
    PrivateQuantileClipper,
    PrivateStandardScaler,
    RowNormClipper,
    quantile_release,
)
from skdp.privacy import InMemoryLedger, Neighbours
from tests.support.private_sgd import null_network_record, null_record, reference_steps
from tests.support.replay import violations

N = 200
X = np.random.default_rng(0).uniform(0.0, 90.0, size=(N, 3))
y = (X[:, 0] > 45.0).astype(int)
BOUNDS = (0.0, 100.0)

SCALERS = {
    "standard": PrivateStandardScaler(BOUNDS, clip=1.0),
    "min-max": PrivateMinMaxScaler(BOUNDS),
    "clipper": PrivateQuantileClipper(BOUNDS),
}
MODELS = {
    "sgd": (SparseDPSGDClassifier(classes=[0, 1]), Neighbours.ZERO_OUT),
    "elastic": (PrivateElasticNetClassifier(classes=[0, 1]), Neighbours.REPLACE_ONE),
    "network": (PrivateMLPClassifier((4,), n_epochs=2, classes=[0, 1]), Neighbours.ZERO_OUT),
}


def whole(scaler, model, **given):
    model, relation = MODELS[model]
    scaler = clone(SCALERS[scaler]).set_params(neighbours=relation.value)
    return make_private_pipeline(scaler, RowNormClipper(), clone(model), **given), relation


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("scaler", SCALERS)
def test_one_ledger_pays_for_scaler_and_model_under_one_relation(scaler, model):
    relation = MODELS[model][1]
    ledger = InMemoryLedger(2.0, 1e-4, relation)
    private, _ = whole(scaler, model, epsilon=1.0, delta=1e-5, ledger=ledger)
    private.fit(X, y)
    assert [entry.purpose.split(".")[0] for entry in ledger.history()] == [
        type(private[0]).__name__,
        type(private[-1]).__name__,
    ]
    assert ledger.spent().epsilon == pytest.approx(1.0)
    assert private.privacy_.neighbours is relation
    assert private.privacy_.delta_at(1.0) <= 1e-5
    assert set(private.predict(X)) <= {0, 1}


def test_a_released_row_norm_needs_no_handing_on():
    """Rows leave the clipper with the norm that the classifier takes by default, and no longer."""
    relation = {"neighbours": "replace-one"}
    private = make_private_pipeline(
        PrivateStandardScaler(BOUNDS, clip=1.0, **relation),
        PrivateQuantileClipper((-1, 1), target="row_norm", n_points=200, **relation),
        PrivateElasticNetClassifier(classes=[0, 1]),
        epsilon=20.0,
        delta=1e-5,
    ).fit(X, y)
    norms = np.linalg.norm(private[:-1].transform(X), axis=1)
    assert norms.max() <= 1 + 1e-12
    assert 0.3 < (norms > 1 - 1e-9).mean() < 0.7
    assert private[-1].row_norm == 1.0
    assert 0 < private[1].row_norm_ < np.sqrt(3)


@pytest.mark.parametrize("scaler", SCALERS)
def test_a_scaler_of_another_relation_is_refused_before_anything_is_spent(scaler):
    ledger = InMemoryLedger(2.0, 1e-4, Neighbours.ZERO_OUT)
    private, _ = whole(scaler, "sgd", epsilon=1.0, delta=1e-5, ledger=ledger)
    private[0].set_params(neighbours="replace-one")
    with pytest.raises(ValueError, match="do not add up"):
        private.fit(X, y)
    assert ledger.history() == ()


def test_frames_keep_their_columns_through_nested_steps():
    frame = pd.DataFrame(X, columns=["age", "weight", "pulse"]).assign(sex=["f", "m"] * (N // 2))
    encode = OneHotEncoder(categories=[["f", "m"]], handle_unknown="ignore", sparse_output=False)
    numbers = FeatureUnion(
        [("centred", clone(SCALERS["standard"])), ("ranked", clone(SCALERS["min-max"]))]
    )
    columns = ColumnTransformer(
        [
            ("numbers", Pipeline([("both", numbers)]), ["age", "weight", "pulse"]),
            ("sex", encode, ["sex"]),
        ],
        sparse_threshold=0,
    )
    ledger = InMemoryLedger(3.0, 1e-5, Neighbours.ZERO_OUT)
    private = make_private_pipeline(
        columns,
        RowNormClipper(),
        SparseDPSGDClassifier(classes=[0, 1]),
        epsilon=3.0,
        delta=1e-5,
        ledger=ledger,
    ).set_output(transform="pandas")
    private.fit(frame, y)
    assert private.check_.private == (
        "columntransformer__numbers__both__centred",
        "columntransformer__numbers__both__ranked",
        "sparsedpsgdclassifier",
    )
    assert [entry.statement.epsilon for entry in ledger.history()] == pytest.approx([0.6, 0.6, 1.8])
    shown = private[:-1].transform(frame)
    assert list(shown.columns) == [
        *(
            f"numbers__{kind}__{name}"
            for kind in ("centred", "ranked")
            for name in frame.columns[:3]
        ),
        "sex__sex_f",
        "sex__sex_m",
    ]
    np.testing.assert_array_equal(private.predict(frame), private[-1].predict(shown))


class Shown:
    """A private pipeline that, fitted, has all attributes of its steps for replay to compare."""

    def __init__(self, pipeline, ledger=None):
        self.pipeline, self.ledger = pipeline, ledger

    def __sklearn_clone__(self):
        return Shown(self.pipeline)

    def get_params(self, deep=True):
        return {"pipeline": self.pipeline, "ledger": self.ledger}

    def set_params(self, ledger):
        self.ledger = ledger

    def fit(self, *data):
        fitted = clone(self.pipeline).set_params(ledger=self.ledger).fit(*data)
        self.privacy_, self.said_ = fitted.privacy_, str(fitted.check_)
        for name, step in fitted.steps:
            own = set(step.get_params(deep=False)) - {"epsilon", "delta", "ledger"}
            vars(self).update({f"{name}.{k}": v for k, v in vars(step).items() if k not in own})


@contextmanager
def null_row():
    """Row 0 counts for no quantile and has no gradient, in either kind of model."""
    true = quantile_release.rank_excesses

    def without(rows, points, levels):
        return true(rows[1:], points, levels)

    quantile_release.rank_excesses = without
    try:
        with null_record(), null_network_record():
            yield
    finally:
        quantile_release.rank_excesses = true


def replayed(scaler, model):
    """What a neighbour of 12 rows shows; row 0 is far from all others."""
    rows, labels = X[:12].copy(), y[:12].copy()
    rows[0] = [100.0, 0.0, 100.0]
    other, others = rows.copy(), labels.copy()
    private, relation = whole(scaler, model, epsilon=2.0, delta=1e-3)
    if relation is Neighbours.REPLACE_ONE:
        other[0], others[0] = [0.0, 100.0, 0.0], 1 - labels[0]
        return violations(Shown(private), (rows, labels), (other, others))
    private[-1].set_params(n_epochs=2, batch_size=5, random_state=1)
    with reference_steps():
        return violations(Shown(private), (rows, labels), (rows, labels), around_neighbour=null_row)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("scaler", SCALERS)
def test_a_neighbour_shows_in_nothing_but_the_releases(scaler, model):
    assert replayed(scaler, model) == []


def test_replay_sees_a_scaler_that_releases_the_exact_median(monkeypatch):
    true = PrivateStandardScaler._release_quantiles

    def leaky(self, rows, levels, **given):
        return true(self, rows, levels, **given) + 1e-9 * np.sum(rows)

    monkeypatch.setattr(PrivateStandardScaler, "_release_quantiles", leaky)
    found = replayed("standard", "elastic")
    assert "attribute privatestandardscaler.mean_ changed" in found

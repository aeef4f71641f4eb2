"""The models among scikit-learn's tools: frames, pipelines, searches, routing, exports."""

import traceback

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skdp.exceptions import BudgetExceededError
from skdp.linear_model import (
    PrivateElasticNet,
    PrivateElasticNetClassifier,
    SparseDPSGDClassifier,
    SparseDPSGDRegressor,
)
from skdp.neural_network import PrivateMLPClassifier, PrivateMLPRegressor
from skdp.preprocessing import PublicRangeScaler, RowNormClipper
from skdp.privacy import InMemoryLedger
from tests.support.frames import FRAME, FRAMES, NAMES, D, N, X, binary, rng, three
from tests.support.replay import fit_trace

# ------------------------------------------------------------------------------------- frames


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES.keys())
@pytest.mark.parametrize(
    "estimator",
    [
        PrivateElasticNetClassifier,
        PrivateElasticNet,
        SparseDPSGDClassifier,
        SparseDPSGDRegressor,
        PrivateMLPClassifier,
        PrivateMLPRegressor,
    ],
)
def test_frames_go_in_and_their_names_are_kept(frame, estimator):
    model = estimator().fit(frame, binary)
    assert model.feature_names_in_.tolist() == NAMES
    assert model.n_features_in_ == D
    predicted = model.predict(frame)
    assert type(predicted) is np.ndarray
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert np.array_equal(model.predict(X), predicted)
    assert not hasattr(model.fit(X, binary), "feature_names_in_")


def test_labels_from_frames_go_in():
    for y in (pd.Series(binary), pl.Series(binary), pd.Series(binary, index=range(5, N + 5))):
        assert PrivateElasticNetClassifier().fit(FRAME, y).classes_.tolist() == [0, 1]


@pytest.mark.parametrize("output", ["default", "pandas", "polars"])
def test_the_output_container_of_transformers_does_not_matter(output):
    with sklearn.config_context(transform_output=output):
        model = make_pipeline(RowNormClipper(), PrivateElasticNetClassifier())
        predicted = model.fit(FRAME, binary).predict(FRAME)
        assert type(predicted) is np.ndarray
        exported = model[-1].to_sklearn()
        assert type(exported).__name__ == "Pipeline"


# ------------------------------------------------------------- pipelines, searches, ensembles


def test_a_table_goes_through_a_pipeline_of_public_steps():
    table = FRAME.assign(sex=np.array(["f", "m"])[binary])
    encode = make_column_transformer(
        (PublicRangeScaler(dict.fromkeys(NAMES, (-9.0, 9.0))), NAMES),
        (OneHotEncoder(categories=[["f", "m"]]), ["sex"]),
    )
    model = make_pipeline(
        encode,
        RowNormClipper(),
        PrivateElasticNetClassifier(epsilon=40, alpha=0.01, random_state=0),
    )
    assert model.fit(table, binary).score(table, binary) > 0.9


def test_a_grid_search_pays_for_every_fit_and_the_refit():
    ledger = InMemoryLedger(10.0)
    model = PrivateElasticNetClassifier(epsilon=0.5, ledger=ledger)
    search = GridSearchCV(model, {"alpha": np.array([0.1, 1.0])}, cv=3).fit(X, binary)
    assert ledger.spent().epsilon == 0.5 * (2 * 3 + 1)
    assert search.best_estimator_.ledger is ledger
    assert search.best_params_["alpha"] in (0.1, 1.0)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    again = GridSearchCV(model, {"epsilon": np.array([1, 2])}, cv=2, refit=False).fit(X, binary)
    assert ledger.spent().epsilon == 3.5 + 2 * 1 + 2 * 2
    assert np.isfinite(again.cv_results_["mean_test_score"]).all()


def test_a_grid_search_that_runs_out_of_budget_says_so():
    ledger = InMemoryLedger(1.0)
    model = PrivateElasticNetClassifier(epsilon=0.5, ledger=ledger)
    search = GridSearchCV(model, {"alpha": [0.1, 1.0]}, cv=2, error_score="raise")
    with pytest.raises(BudgetExceededError):
        search.fit(X, binary)
    assert ledger.spent().epsilon == 1.0
    assert not hasattr(search, "best_estimator_")


def test_a_search_in_pipelines_and_from_distributions_works():
    ledger = InMemoryLedger(100.0)
    pipeline = make_pipeline(RowNormClipper(), PrivateElasticNet(ledger=ledger))
    grid = {"rownormclipper__row_norm": [0.5, 1.0], "privateelasticnet__l1_ratio": [0.0, 0.5]}
    assert GridSearchCV(pipeline, grid, cv=2).fit(X, binary).best_params_.keys() == grid.keys()
    RandomizedSearchCV(pipeline, grid, n_iter=2, cv=2, random_state=0).fit(X, binary)
    assert len(ledger.history()) == 4 * 2 + 1 + 2 * 2 + 1


def test_cross_validation_predicts_and_scores():
    ledger = InMemoryLedger(100.0)
    model = PrivateElasticNetClassifier(ledger=ledger, classes=[0, 1, 2])
    assert cross_val_predict(model, X, three, cv=3).shape == (N,)
    probabilities = cross_val_predict(model, X, three, cv=3, method="predict_proba")
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert cross_val_score(model, X, three, cv=4, scoring="roc_auc_ovr").shape == (4,)
    assert len(ledger.history()) == 3 + 3 + 4


def test_ensembles_take_the_models():
    ledger = InMemoryLedger(1000.0)
    model = PrivateElasticNetClassifier(ledger=ledger, classes=[0, 1])
    named = [("first", model), ("second", clone(model).set_params(alpha=1.0))]
    for ensemble, fits in [
        (VotingClassifier(named, voting="soft"), 2),
        (StackingClassifier(named, LogisticRegression(), cv=2), 2 + 2 * 2),
        (BaggingClassifier(model, n_estimators=3), 3),
        (CalibratedClassifierCV(model, cv=2, ensemble=True), 2),
        (CalibratedClassifierCV(model, cv=2, ensemble=False, method="isotonic"), 3),
        (RFE(model, n_features_to_select=2), D - 2 + 1),
    ]:
        before = len(ledger.history())
        assert ensemble.fit(X, binary).predict(X).shape == (N,)
        assert len(ledger.history()) - before == fits
    hinge = PrivateElasticNetClassifier("squared_hinge", ledger=ledger)
    one_against_rest = OneVsRestClassifier(hinge).fit(X, three)
    assert one_against_rest.decision_function(X).shape == (N, 3)


def test_a_regression_goes_with_a_transformed_target():
    model = TransformedTargetRegressor(
        PrivateElasticNet(y_bound=1.0), func=lambda y: y / 9, inverse_func=lambda y: 9 * y
    )
    assert model.fit(X, X[:, 0]).predict(X).shape == (N,)


# ------------------------------------------------------------------------------- the selection


@pytest.mark.parametrize("y", [binary, three])
def test_selecting_by_a_tiny_threshold_keeps_the_support(y):
    wide = np.random.default_rng(6).normal(size=(N, 30))
    noise = PrivateElasticNetClassifier(alpha=1.0).fit(wide, y).noise_scale_
    model = PrivateElasticNetClassifier(threshold=6 * noise, alpha=1.0, random_state=0)
    selector = SelectFromModel(model, threshold=1e-12).fit(wide, y)
    fitted = selector.estimator_
    assert np.array_equal(selector.get_support(), fitted.get_support())
    assert 0 < fitted.get_support().sum() < 30
    assert np.array_equal(np.flatnonzero(fitted.get_support()), fitted.get_support(indices=True))
    prefit = SelectFromModel(fitted, threshold=1e-12, prefit=True)
    assert np.array_equal(prefit.transform(wide), wide[:, fitted.get_support()])


def test_the_default_threshold_of_the_selector_is_the_mean_weight():
    model = PrivateElasticNetClassifier().fit(X, binary)
    selected = SelectFromModel(model, prefit=True).get_support()
    weights = np.abs(model.coef_[0])
    assert model.get_support().all()
    assert np.array_equal(selected, weights >= weights.mean())
    assert not selected.all()


# ----------------------------------------------------------------------------- metadata routing


def test_sample_weights_are_routed():
    weights = np.linspace(0, 1, N)
    with sklearn.config_context(enable_metadata_routing=True):
        base = PrivateElasticNetClassifier(alpha=0.1).set_fit_request(sample_weight=True)
        base.set_score_request(sample_weight=True)
        pipeline = make_pipeline(RowNormClipper(), base)
        routed = fit_trace(pipeline, (X, binary))
        search = GridSearchCV(pipeline, {"privateelasticnetclassifier__tol": [1e-8]}, cv=2)
        fitted = search.fit(X, binary, sample_weight=weights).best_estimator_
        direct = fit_trace(base, (X, binary, weights))
    assert any("sample weights" in text for text in fitted[-1].privacy_.assumptions)
    assert not np.allclose(direct.inputs[0], routed.inputs[0])
    routed = fit_trace(_WithWeights(pipeline, weights), (X, binary))
    np.testing.assert_allclose(direct.inputs[0], routed.inputs[0], atol=1e-6)


class _WithWeights(sklearn.base.BaseEstimator):
    """Passes weights to a pipeline, as a meta-estimator does."""

    def __init__(self, pipeline, weights):
        self.pipeline, self.weights = pipeline, weights

    def fit(self, X, y):
        with sklearn.config_context(enable_metadata_routing=True):
            clone(self.pipeline).fit(X, y, sample_weight=self.weights)


def test_scoring_takes_weights():
    model = PrivateElasticNetClassifier().fit(X, binary)
    right = model.predict(X) == binary
    weights = rng.uniform(size=N)
    assert model.score(X, binary, sample_weight=weights) == pytest.approx(
        right @ weights / weights.sum()
    )
    assert make_scorer(lambda a, b: np.mean(a == b))(model, X, binary) == right.mean()


# --------------------------------------------------------------------- ledgers and parameters


@pytest.mark.slow
def test_a_parallel_search_in_processes_with_an_in_memory_ledger_is_refused_unspent():
    ledger = InMemoryLedger(10.0)
    model = PrivateElasticNetClassifier(ledger=ledger)
    search = GridSearchCV(model, {"alpha": [0.1, 1.0]}, cv=2, n_jobs=2, error_score="raise")
    with pytest.raises(Exception, match="pickle") as caught:
        search.fit(X, binary)
    assert "in-memory ledger" in "".join(traceback.format_exception(caught.value))
    assert ledger.history() == ()
    with joblib.parallel_backend("threading"):
        search.fit(X, binary)
    assert len(ledger.history()) == 5


def test_parameters_are_stored_as_given_and_clones_are_unfitted():
    classes = np.array([0, 1])
    model = PrivateElasticNetClassifier(classes=classes, epsilon=np.int64(3), alpha=1)
    assert model.fit(X, binary).classes is classes
    assert model.epsilon == 3
    assert type(model.epsilon) is np.int64
    copy = clone(model)
    assert not [name for name in vars(copy) if name.endswith("_")]
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(lam=1)

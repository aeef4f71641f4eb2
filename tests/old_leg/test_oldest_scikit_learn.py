"""What must work on the oldest supported scikit-learn, beside diffprivlib.

CI runs this folder in an environment of its own (scikit-learn 1.7.2 and the `diffprivlib` extra).
It also passes on any newer scikit-learn; only the last test needs diffprivlib.
"""

import json
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from skdp.linear_model import PrivateElasticNet, PrivateElasticNetClassifier
from skdp.preprocessing import PublicRangeScaler, RowNormClipper

LOW = np.zeros(30)
HIGH = np.array([
    30, 40, 200, 2600, 0.2, 0.4, 0.5, 0.3, 0.4, 0.1, 3, 5, 22, 550, 0.04,
    0.2, 0.4, 0.06, 0.1, 0.03, 40, 50, 260, 4300, 0.3, 1.1, 1.3, 0.3, 0.7, 0.3,
])  # fmt: skip


@pytest.fixture(scope="module")
def tumours():
    X, y = load_breast_cancer(return_X_y=True)
    return PublicRangeScaler(bounds=(LOW, HIGH)).fit_transform(X), y


def private_classifier(**parameters):
    settings = {"epsilon": 20.0, "row_norm": 4.0, "classes": [0, 1], "random_state": 0}
    return PrivateElasticNetClassifier(**(settings | parameters))


def test_a_private_classifier_beats_the_majority_class(tumours):
    X, y = tumours
    model = private_classifier().fit(X, y)
    assert model.predict(X).shape == y.shape
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1)
    assert model.score(X, y) > max(np.mean(y), 1 - np.mean(y)) + 0.1


def test_a_private_regression_is_finite_and_of_the_right_shape(tumours):
    X, y = tumours
    model = PrivateElasticNet(epsilon=5.0, row_norm=4.0, random_state=0).fit(X, y.astype(float))
    assert model.coef_.shape == (X.shape[1],)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize(
    ("noise", "delta"), [("l2_laplace", 0.0), ("laplace", 0.0), ("gaussian", 1e-6)]
)
def test_the_statement_keeps_the_budget_and_can_be_written_as_json(tumours, noise, delta):
    statement = private_classifier(epsilon=1.0, delta=delta, noise=noise).fit(*tumours).privacy_
    assert statement.epsilon <= 1.0
    assert statement.delta_at(1.0) <= max(delta, 1e-9)
    assert "replace" in json.dumps(statement.to_dict())
    assert len(statement.explain()) > 100


def test_a_pipeline_of_public_scaling_clipping_and_a_private_classifier_fits(tumours):
    X, y = load_breast_cancer(return_X_y=True)
    pipeline = make_pipeline(
        PublicRangeScaler(bounds=(LOW, HIGH)), RowNormClipper(4.0), private_classifier()
    )
    direct = private_classifier().fit(*tumours)
    assert np.array_equal(pipeline.fit(X, y).predict(X), direct.predict(tumours[0]))


def test_grid_search_tries_every_candidate_and_refits(tumours):
    search = GridSearchCV(private_classifier(), {"alpha": [0.01, 0.1]}, cv=2).fit(*tumours)
    assert search.best_params_["alpha"] in (0.01, 0.1)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.privacy_.epsilon <= 20.0


def test_clones_and_pickles_predict_the_same(tumours):
    X, y = tumours
    model = private_classifier().fit(X, y)
    assert np.array_equal(clone(model).fit(X, y).coef_, model.coef_)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_the_exported_pipeline_of_scikit_learn_predicts_the_same(tumours):
    X, y = tumours
    model = private_classifier().fit(X, y)
    assert np.array_equal(model.to_sklearn().predict(X), model.predict(X))


@pytest.mark.filterwarnings("ignore:::diffprivlib")
def test_diffprivlib_fits_in_the_same_process(tumours):
    models = pytest.importorskip(
        "diffprivlib.models",
        reason="needs the diffprivlib extra, that is scikit-learn 1.7",
        exc_type=ImportError,
    )
    X, y = tumours
    theirs = models.LogisticRegression(epsilon=20.0, data_norm=4.0, max_iter=1000).fit(X, y)
    assert theirs.predict(X).shape == private_classifier().fit(X, y).predict(X).shape

"""What is refused says what to set, and a delta that protects nobody is warned of everywhere."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from skdp.decomposition import PrivatePCA
from skdp.exceptions import PrivacyLeakWarning
from skdp.feature_selection import PrivateSelectFromModel, PrivateSelectKBest
from skdp.linear_model import (
    PrivateElasticNet,
    PrivateElasticNetClassifier,
    SparseDPSGDClassifier,
    StableSGDClassifier,
    StableSGDRegressor,
)
from skdp.meta import StabilityOutputPerturbation
from skdp.objectives import Huber
from skdp.pipeline import pipeline_statement
from skdp.privacy import InMemoryLedger, PrivacyBudget
from skdp.stability.tradeoff import plan
from skdp.training import (
    AllCoordinates,
    ConstantNoise,
    ConstantThen,
    ShuffledBatches,
    StepDecay,
    TrainingPlan,
    ValidationDecay,
    epochs_within,
    longest,
)
from tests.support.instances import WORD_MODELS, data_for

N = 100
X = np.random.default_rng(0).normal(size=(N, 3))
y = (X[:, 0] > 0).astype(int)
ADAPTIVE = ValidationDecay(X, y)
LARGEST = 1.7e308


@pytest.mark.parametrize(
    "model",
    [
        PrivatePCA(2),
        PrivateSelectKBest(k=1),
        StableSGDClassifier(classes=[0, 1]),
        StableSGDRegressor(),
        PrivateElasticNetClassifier(classes=[0, 1]),
        PrivateElasticNet(),
        SparseDPSGDClassifier(classes=[0, 1], n_epochs=1),
        StabilityOutputPerturbation(LogisticRegression(C=0.01)),
        *WORD_MODELS,
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_delta_that_one_published_row_would_keep_warns_where_fit_is_called(model):
    with pytest.warns(PrivacyLeakWarning, match="at least 1 / n_samples = 0.01") as caught:
        model.set_params(delta=0.01).fit(*data_for(model, X, y))
    assert [warning.filename for warning in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(delta=0.0099).fit(*data_for(model, X, y))


@pytest.mark.parametrize("delta", [0.0, 1e-300])
def test_a_delta_that_gaussian_noise_cannot_meet_is_named(delta):
    with pytest.raises(ValueError, match=r"delta.* well below 1 / n_samples"):
        SparseDPSGDClassifier(delta=delta, classes=[0, 1]).fit(X, y)


def test_the_planner_wants_a_loss():
    with pytest.raises(TypeError, match=r"skdp.objectives, such as Huber\(1.0\).*'foo'"):
        plan(1000, 3, 1.0, loss="foo")
    assert plan(1000, 3, 1.0, loss=Huber(1.0)).alpha > 0


def test_planners_of_epochs_want_schedules_that_are_fixed_beforehand():
    with pytest.raises(TypeError, match="must be a TrainingPlan, got 'a'"):
        longest("a", PrivacyBudget(1.0, 1e-5))
    for schedule in (ADAPTIVE, "a"):
        with pytest.raises(TypeError, match="noise of every epoch beforehand"):
            epochs_within(schedule, 1.0)
        with pytest.raises(TypeError, match="noise of every epoch beforehand"):
            ConstantThen(schedule, 3)
    assert ConstantThen(StepDecay(0.5, 1), 3).multiplier(3) == 1.0
    made = TrainingPlan(ShuffledBatches(10, 100), AllCoordinates(), ConstantNoise(8.0), 1.0, 1, 5)
    assert longest(made, PrivacyBudget(1.0, 1e-5)).n_steps > 0


def test_statements_are_of_fitted_pipelines():
    for other in ("a", PrivatePCA(2)):
        with pytest.raises(TypeError, match="must be a Pipeline"):
            pipeline_statement(other)
    pipeline = make_pipeline(PrivatePCA(2, neighbours="replace-one"), PrivateElasticNetClassifier())
    with pytest.raises(ValueError, match=r"'privatepca' \(PrivatePCA\) is not fitted yet"):
        pipeline_statement(pipeline)
    assert 1 < pipeline_statement(pipeline.fit(X, y)).epsilon <= 2


@pytest.mark.parametrize("given", [{"alpha": 0}, {"alpha": 0.1, "l1_ratio": 1.0}])
def test_steps_that_divide_by_the_penalty_name_the_parameter(given):
    with pytest.raises(ValueError, match="learning_rate='inverse' divides by the L2 penalty"):
        StableSGDClassifier(classes=[0, 1], **given).fit(X, y)
    steady = {"learning_rate": "constant", "eta0": 0.1, "alpha": 0}
    assert StableSGDClassifier(classes=[0, 1], **steady).fit(X, y).alpha_ == 0


def test_selecting_from_a_model_that_drops_nothing_is_refused_before_it_spends():
    ledger = InMemoryLedger(10.0)
    model = PrivateElasticNetClassifier(classes=[0, 1], ledger=ledger)
    with pytest.raises(ValueError, match="every feature would be selected"):
        PrivateSelectFromModel(model).fit(X, y)
    assert not ledger.history()
    assert PrivateSelectFromModel(model, max_features=2).fit(X, y).get_support().sum() == 2
    PrivateSelectFromModel(model, threshold=1.0).fit(X, y)
    PrivateSelectFromModel(model.set_params(threshold="auto")).fit(X, y)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("classes", [[0, 1], [0, 1, 2]])
def test_scores_of_rows_of_any_size_are_numbers_of_the_right_sign(container, classes):
    model = SparseDPSGDClassifier(classes=classes, n_epochs=1, random_state=0).fit(container(X), y)
    signs = np.random.default_rng(1).choice([-1.0, 1.0], size=(20, 3))
    rows = np.vstack([LARGEST * signs, X])
    scores = model.decision_function(container(rows))
    assert np.isfinite(scores).all()
    directions = signs @ np.atleast_2d(model.coef_).T
    np.testing.assert_array_equal(
        np.sign(scores[:20]), np.sign(directions.ravel() if len(classes) == 2 else directions)
    )
    np.testing.assert_allclose(scores[20:], model.decision_function(container(X)), rtol=1e-12)
    assert np.isfinite(model.predict_proba(container(rows))).all()

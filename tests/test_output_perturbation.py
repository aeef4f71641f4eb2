"""The wrapper: what it releases, what it refuses, what leaves it."""

import copy
import io
import pickle
import warnings

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier, is_regressor
from sklearn.cross_decomposition import PLSRegression
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import (
    ElasticNet,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC
from sklearn.tree import DecisionTreeClassifier

from skdp.exceptions import BudgetExceededError, PrivacyLeakWarning, UnknownStabilityError
from skdp.linear_model import PrivateElasticNetClassifier
from skdp.meta import StabilityOutputPerturbation
from skdp.preprocessing import RowNormClipper
from skdp.privacy import InMemoryLedger, Neighbours
from skdp.records import clip_rows
from skdp.stability import ParameterStability, UniformStability
from tests.support.frames import FRAME
from tests.support.neighbours import recorded
from tests.support.replay import fit_trace
from tests.support.wrapped_models import MODELS, Y_BOUND, rows_and_labels

X, y = rows_and_labels(MODELS["logistic"], n=60)
three = rows_and_labels(MODELS["softmax"], n=60)[1]
numbers = rows_and_labels(MODELS["ridge"], n=60)[1]
each_model = pytest.mark.parametrize("name", MODELS)


def wrapped(model=None, **parameters):
    return StabilityOutputPerturbation(model or LogisticRegression(C=0.1), **parameters)


# -------------------------------------------------------------------------------- what is released


@each_model
def test_the_released_model_is_of_the_wrapped_class_and_predicts_as_the_wrapper_does(name):
    case = MODELS[name]
    rows, labels = rows_and_labels(case)
    model = case.make(0.5, len(rows), epsilon=20.0).fit(rows, labels)
    twins = {SVC: LinearSVC, SVR: LinearSVR}
    assert type(model.estimator_) is twins.get(type(case.model), type(case.model))
    clipped = clip_rows(rows, 1.0)
    for method in ("predict", "decision_function", "predict_proba", "predict_log_proba"):
        assert hasattr(model, method) == hasattr(model.estimator_, method)
        if hasattr(model, method):
            with np.errstate(divide="ignore"):  # scikit-learn takes logarithms of 0
                theirs = getattr(model.estimator_, method)(clipped)
            assert np.array_equal(getattr(model, method)(rows), theirs)
    assert model.score(rows, labels) == model.estimator_.score(clipped, labels)
    assert is_classifier(model) == is_classifier(case.model)
    assert is_regressor(model) == is_regressor(case.model)
    assert np.array_equal(model.coef_, model.estimator_.coef_)
    fitted = clone(case.model).fit(clipped, labels)
    if type(case.model) not in (SVR, RidgeClassifier):  # whose coef_ has the documented shape
        assert model.coef_.shape == np.shape(fitted.coef_)
        assert np.shape(model.intercept_) == np.shape(fitted.intercept_)


@each_model
def test_the_released_weights_are_the_one_release(name):
    case = MODELS[name]
    rows, labels = rows_and_labels(case)
    wrapper = case.make(0.5, len(rows))
    trace = fit_trace(wrapper, (rows, labels))
    assert len(trace.outputs) == 1
    model = trace.attributes["estimator_"]
    scaling = getattr(wrapper.estimator, "intercept_scaling", 1.0)
    if isinstance(wrapper.estimator, LogisticRegression) and wrapper.estimator.solver == "lbfgs":
        scaling = 1.0
    intercept = np.reshape(model.intercept_, (-1, 1)) / scaling
    held = np.hstack((np.atleast_2d(model.coef_), intercept))
    np.testing.assert_allclose(held, trace.outputs[0], rtol=1e-14)


@each_model
def test_the_released_model_holds_nothing_else(name):
    case = MODELS[name]
    rows, labels = rows_and_labels(case)
    model = case.make(0.5, len(rows)).fit(rows, labels)
    attributes = set(vars(model.estimator_)) - set(vars(clone(model.estimator_)))
    allowed = {"coef_", "intercept_", "classes_", "n_features_in_", "_label_binarizer"}
    assert attributes <= allowed
    public = {"estimator_", "privacy_", "sensitivity_", "noise_scale_", "threshold_", "_mechanism"}
    mine = set(vars(model)) - set(model.get_params(deep=False))
    assert mine <= public | {"coef_", "intercept_", "classes_", "n_features_in_"}


def test_without_noise_to_speak_of_it_is_the_elastic_net_without_l1():
    """Two ways to the same objective: the wrapper's and the estimator's own."""
    alpha = 0.2
    own = PrivateElasticNetClassifier(alpha=alpha, l1_ratio=0.0, noise="l2_laplace")
    _, value = recorded(own, (X, y))
    model = LogisticRegression(C=1 / (len(X) * alpha))
    _, other = recorded(wrapped(model, noise="l2_laplace"), (X, y))
    np.testing.assert_allclose(value, other, atol=1e-7)


def test_columns_keep_their_names_and_sparse_rows_are_never_densified():
    labels = np.arange(len(FRAME)) % 2
    named = wrapped().fit(FRAME, labels)
    assert list(named.feature_names_in_) == list(FRAME.columns)
    assert list(named.estimator_.feature_names_in_) == list(FRAME.columns)
    named.predict(FRAME)  # warnings are errors
    dense, thin = (recorded(wrapped(), (f(X), y))[1] for f in (np.asarray, sparse.csr_matrix))
    np.testing.assert_allclose(dense, thin, atol=1e-7)
    model = wrapped().fit(sparse.csr_array(X), y)
    assert np.array_equal(model.predict(sparse.csr_array(X)), model.predict(X))


def test_long_rows_are_clipped_in_fit_and_when_predicting():
    model = wrapped(epsilon=40.0).fit(X, y)
    assert np.array_equal(
        model.decision_function(1e9 * X), model.decision_function(clip_rows(1e9 * X, 1.0))
    )
    _, short = recorded(wrapped(row_norm=2.0), (clip_rows(X, 2.0), y))
    _, long = recorded(wrapped(row_norm=2.0), (X, y))
    np.testing.assert_allclose(short, long, atol=1e-7)


def test_labels_of_classifiers_are_not_clipped_and_those_of_regressions_are():
    first, second = (
        recorded(wrapped(y_bound=bound), (X, np.where(y == 1, 9, 5))) for bound in (None, 1e-3)
    )
    assert first[0] == second[0]
    assert np.array_equal(first[1], second[1])
    far = numbers.copy()
    far[0] = 1e30
    near = np.clip(far, -1, 1)
    one, other = (recorded(wrapped(Ridge(), y_bound=1.0), (X, t)) for t in (far, near))
    assert np.array_equal(one[1], other[1])


def test_thresholds_and_flip_probabilities_are_those_of_the_elastic_net():
    model = wrapped(threshold=1e6).fit(X, y)
    assert not model.coef_.any()
    assert not model.get_support().any()
    assert model.intercept_.any()
    auto = wrapped(threshold="auto").fit(X, y)
    assert auto.threshold_ > 0
    assert auto.flip_probability(0.0) == pytest.approx(1 / 3, rel=1e-3)  # one of three columns
    assert 0 < auto.flip_probability(2 * auto.threshold_) < 0.5
    assert wrapped(threshold=None).fit(X, y).get_support(indices=True).tolist() == [0, 1, 2]


# ------------------------------------------------------------------------ statement and ledger


def test_the_statement_keeps_the_budget_and_names_the_theorem():
    model = wrapped(epsilon=0.7, delta=1e-6).fit(X, three)
    assert model.privacy_.epsilon == 0.7
    assert model.privacy_.neighbours is Neighbours.REPLACE_ONE
    assert "Bousquet and Elisseeff" in model.privacy_.theorem
    assert "unverified" not in model.privacy_.explain()
    assert model.privacy_.to_dict()["verified"] is True
    three_problems = wrapped(LinearSVC(C=0.01)).fit(X, three).privacy_.theorem
    assert "3 problems over the same rows, sqrt(3)" in three_problems


def test_every_fit_spends_again_and_over_budget_nothing_is_released():
    ledger = InMemoryLedger(1.0)
    model = wrapped(epsilon=0.6, ledger=ledger).fit(X, y)
    assert [entry.purpose for entry in ledger.history()] == ["StabilityOutputPerturbation.fit"]
    before = vars(model).copy()
    with pytest.raises(BudgetExceededError):
        model.fit(X, three)
    assert vars(model) == before
    assert len(ledger.history()) == 1


def test_the_budget_is_spent_before_the_solver_runs(monkeypatch):
    order = []

    class Book:
        def spend(self, statement, *, purpose, parameters=None):
            order.append("spend")

    from skdp.stability.wrapped import WrappedPlan

    def solve(self, rows, labels, class_weights, row_weights):
        order.append("solve")
        return np.zeros((1, 4))

    monkeypatch.setattr(WrappedPlan, "minimisers", solve)
    wrapped(ledger=Book()).fit(X, y)
    assert order == ["spend", "solve"]


def test_a_seed_warns_where_fit_was_called_and_is_neither_saved_nor_shown():
    with pytest.warns(PrivacyLeakWarning) as caught:
        model = wrapped(random_state=8675309).fit(X, y)
    assert caught[0].filename == __file__
    assert "SEEDED" in model.privacy_.explain()
    assert "8675309" not in repr(model) + model._repr_html_()
    assert pickle.loads(pickle.dumps(model)).random_state is None


def test_n_samples_beside_data_must_be_their_number():
    wrapped(n_samples=len(X)).fit(X, y)
    with pytest.raises(ValueError, match="n_samples=7, but X has 60 rows"):
        wrapped(n_samples=7).fit(X, y)


# ------------------------------------------------------------------------------------- the plan


def test_the_plan_says_that_c_equal_to_one_leaves_nothing_and_suggests_what_does():
    for model in (LogisticRegression(), LinearSVC(), LinearSVC(loss="hinge"), SVC(kernel="linear")):
        for n in (1000, 100_000):
            forecast = wrapped(model).plan(n, 20)
            assert forecast.drowned
            assert "nothing is left" in str(forecast)
            assert f"Suggested: C={forecast.suggested:.3g}" in str(forecast)
            better = clone(model).set_params(C=forecast.suggested)
            if n == 100_000:
                assert not wrapped(better).plan(n, 20).drowned
    assert wrapped(LogisticRegression()).plan(500, 3).sensitivity == pytest.approx(
        wrapped(LogisticRegression()).plan(5000, 3).sensitivity, rel=0.05
    )


def test_the_plan_is_what_the_fit_then_has():
    for name in ("logistic", "softmax", "hinge, three", "SGD Huber", "ridge"):
        case = MODELS[name]
        rows, labels = rows_and_labels(case, n=50)
        wrapper = case.make(0.5, 50)
        forecast = wrapper.plan(50, 3, n_classes=len(case.labels))
        fitted = wrapper.fit(rows, labels)
        assert 1 <= fitted.sensitivity_.value / forecast.sensitivity <= 1.03
        assert fitted._mechanism.expected_norm == pytest.approx(forecast.noise_norm, rel=0.03)


def test_the_suggested_c_is_one_over_n_alpha():
    forecast = wrapped(LogisticRegression()).plan(5000, 10)
    sgd = wrapped(SGDClassifier(loss="log_loss")).plan(5000, 10)
    assert forecast.suggested == pytest.approx(1 / (5000 * sgd.suggested))
    assert sgd.parameter == "alpha"


def test_the_plan_reads_nothing_and_refuses_as_the_fit_does():
    wrapper = wrapped(LogisticRegression(class_weight="balanced"))
    with pytest.raises(UnknownStabilityError, match="balanced"):
        wrapper.plan(100, 3)


# ------------------------------------------------------------------------------- frozen models


def fitted(model, labels=y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(clip_rows(X, 1.0), labels)


NETWORK = fitted(MLPClassifier((4,), max_iter=20, random_state=0))
DECLARED = ParameterStability(l2=0.01)


def test_a_frozen_model_with_a_penalised_intercept_is_released_without_data():
    inner = fitted(LogisticRegression(solver="liblinear", C=0.05, intercept_scaling=2.0))
    model = StabilityOutputPerturbation(FrozenEstimator(inner), n_samples=60, epsilon=30.0).fit()
    exact = StabilityOutputPerturbation(clone(inner)).fit(X, y)
    assert model.sensitivity_.value == pytest.approx(exact.sensitivity_.value, rel=1e-3)
    assert np.abs(model.coef_ - inner.coef_).max() < 60 * model.noise_scale_
    assert model.coef_.tolist() != inner.coef_.tolist()
    assert np.array_equal(model.classes_, [0, 1])
    assert model.n_features_in_ == 3
    assert np.array_equal(model.predict(X), model.estimator_.predict(clip_rows(X, 1.0)))


def test_the_epsilon_line_of_a_frozen_model_says_unverified_declaration():
    model = StabilityOutputPerturbation(NETWORK, stability=DECLARED, epsilon=2.0).fit()
    statement = model.privacy_
    assert "epsilon = 2" in (line := statement.explain().splitlines()[0])
    assert "unverified declaration" in " ".join(statement.explain().splitlines()[:2])
    assert "unverified declaration" in repr(statement)
    assert "unverified declaration" in statement._repr_html_().split("</summary>")[0], line
    assert statement.to_dict()["verified"] is False
    assumed = " ".join(statement.assumptions)
    assert "every row had Euclidean norm at most 1.0" in assumed
    assert "moves the parameters by at most 0.01" in assumed
    assert "fitted to 60 rows" in " ".join(
        StabilityOutputPerturbation(NETWORK, stability=DECLARED, n_samples=60)
        .fit()
        .privacy_.assumptions
    )


@pytest.mark.parametrize("frozen", [True, False])
@pytest.mark.parametrize("network", [MLPClassifier, MLPRegressor])
@pytest.mark.parametrize("labels", [y, three])
def test_a_fitted_network_is_released_with_all_of_its_layers(frozen, network, labels):
    inner = fitted(network(hidden_layer_sizes=(4, 3), max_iter=20, random_state=0), labels)
    given = FrozenEstimator(inner) if frozen else inner
    model = StabilityOutputPerturbation(
        given, stability=ParameterStability(l2=1e-7), epsilon=40.0
    ).fit()
    assert model._mechanism.size == sum(c.size for c in inner.coefs_ + inner.intercepts_)
    for released, raw in zip(model.estimator_.coefs_, inner.coefs_, strict=True):
        np.testing.assert_allclose(released, raw, atol=1e-5)
        assert not np.array_equal(released, raw)
    assert np.array_equal(model.predict(X), model.estimator_.predict(clip_rows(X, 1.0)))
    assert np.mean(model.predict(X) == inner.predict(clip_rows(X, 1.0))) > 0.9 or (
        network is MLPRegressor
    )
    held = set(vars(model.estimator_)) - set(vars(clone(inner)))
    assert held <= {
        "coefs_", "intercepts_", "classes_", "_label_binarizer", "n_layers_", "n_outputs_",
        "out_activation_", "n_features_in_",
    }  # fmt: skip
    with pytest.raises(AttributeError):
        _ = model.coef_


class Centroids(ClassifierMixin, BaseEstimator):
    """A model that keeps its parameters elsewhere."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.means_ = np.array([X[y == label].mean(axis=0) for label in self.classes_])
        self.scale_ = float(np.linalg.norm(self.means_))
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        distances = np.linalg.norm(X[:, None] - self.means_[None], axis=2)
        return self.classes_[distances.argmin(axis=1)]


def test_parameters_under_other_names_are_released_by_name():
    inner = Centroids().fit(clip_rows(X, 1.0), y)
    model = StabilityOutputPerturbation(
        FrozenEstimator(inner),
        stability=ParameterStability(l2=1e-6),
        parameters=("means_", "scale_"),
        epsilon=40.0,
    ).fit()
    assert model._mechanism.size == 7
    np.testing.assert_allclose(model.estimator_.means_, inner.means_, atol=1e-3)
    assert isinstance(model.estimator_.scale_, float)
    assert model.estimator_.scale_ != inner.scale_
    assert np.mean(model.predict(X) == inner.predict(clip_rows(X, 1.0))) > 0.95
    with pytest.raises(ValueError, match=r"parameters names \['spread_'\]"):
        StabilityOutputPerturbation(inner, stability=DECLARED, parameters=("spread_",)).fit()


def test_an_unfrozen_model_with_declared_stability_is_fitted_by_its_own_algorithm():
    model = StabilityOutputPerturbation(
        Centroids(), stability=ParameterStability(l2=2 / 60), parameters=("means_",), epsilon=40.0
    ).fit(3 * X, y)
    expected = Centroids().fit(clip_rows(3 * X, 1.0), y).means_
    np.testing.assert_allclose(model.estimator_.means_, expected, atol=0.2)
    assert not model.privacy_.verified
    assert "fitted to 60 rows" in " ".join(model.privacy_.assumptions)
    linear = StabilityOutputPerturbation(
        LogisticRegression(C=0.1), stability=UniformStability(1e-3, margin_slope=1.0), epsilon=40.0
    ).fit(X, y)
    assert linear.sensitivity_.value == pytest.approx(2e-3, rel=1e-2)


class Fussy(Centroids):
    """A model that raises on some data."""

    def fit(self, X, y):
        if np.abs(X).max() > 0.999:
            raise RuntimeError(f"X holds {X.max()}")
        warnings.warn("found something", stacklevel=2)
        return super().fit(X, y)


def test_what_a_models_own_fit_says_of_the_data_does_not_leave_it():
    model = StabilityOutputPerturbation(
        Fussy(), stability=ParameterStability(l2=1e-6), parameters=("means_",), epsilon=40.0
    )
    first = model.fit(0.1 * clip_rows(X, 1.0), y).estimator_.means_
    unit = np.tile([[1.0, 0, 0]], (60, 1))
    second = model.fit(unit, y).estimator_.means_
    assert np.abs(first).max() > 1e-3
    assert np.abs(second).max() < 1e-3


def test_data_for_a_frozen_model_of_a_registered_class_are_solved_again():
    inner = fitted(LogisticRegression(C=0.1))
    again, (mechanism, value) = StabilityOutputPerturbation(FrozenEstimator(inner)), (None, None)
    mechanism, value = recorded(again, (X, y))
    fresh, same = recorded(wrapped(), (X, y))
    assert mechanism == fresh
    assert np.array_equal(value, same)
    assert again.privacy_.verified


FROZEN_REFUSALS = [
    (LogisticRegression(C=0.1), y, {"n_samples": 60}, "unpenalised intercept"),
    (SVC(kernel="linear"), y, {"n_samples": 60}, "unpenalised intercept"),
    (LogisticRegression(C=0.1, fit_intercept=False), y, {}, "needs n_samples"),
    (LinearSVC(class_weight="balanced"), y, {"n_samples": 60}, "balanced"),
    (SGDClassifier(early_stopping=True, fit_intercept=False), y, {"n_samples": 60}, "early_stop"),
    (MLPClassifier((2,), max_iter=3), y, {"n_samples": 60}, "MLPClassifier.*ParameterStability"),
    (MLPClassifier((2,), max_iter=3), y, {"stability": DECLARED, "threshold": 0.1}, "no coef_"),
    (
        MLPClassifier((2,), max_iter=3),
        y,
        {"stability": UniformStability(0.1, strong_convexity=1.0)},
        "strongly convex",
    ),
    (
        LogisticRegression(),
        three,
        {"stability": UniformStability(0.1, margin_slope=1.0)},
        "one linear score",
    ),
    (
        LogisticRegression(),
        y,
        {"stability": UniformStability(0.1, strong_convexity=1.0, gradient_tol=0.0)},
        "declare n_samples",
    ),
    (DecisionTreeClassifier(), y, {"stability": DECLARED}, "no vector of parameters.*Private"),
    (KNeighborsClassifier(), y, {"stability": DECLARED}, "no vector of parameters.*Private"),
    (SVC(kernel="linear"), three, {"stability": DECLARED}, "votes between pairs"),
    (SVC(), y, {"stability": DECLARED}, "no vector of parameters.*kernels"),
    (Ridge(fit_intercept=False), numbers, {"n_samples": 60}, "Set y_bound"),
]


@pytest.mark.parametrize(("model", "labels", "given", "match"), FROZEN_REFUSALS)
def test_frozen_models_whose_stability_is_not_known_are_refused(model, labels, given, match):
    ledger = InMemoryLedger(10.0)
    inner = FrozenEstimator(fitted(clone(model), labels))
    with pytest.raises(ValueError, match=f"(?s){match}"):
        StabilityOutputPerturbation(inner, ledger=ledger, **given).fit()
    assert ledger.history() == ()


def test_models_that_are_not_fitted_and_frozen_ones_beside_data_are_refused():
    with pytest.raises(ValueError, match=r"is not: call fit\(X, y\)"):
        wrapped().fit()
    with pytest.raises(ValueError, match="not fitted again"):
        StabilityOutputPerturbation(FrozenEstimator(NETWORK), stability=DECLARED).fit(X, y)
    broken = copy.deepcopy(NETWORK)
    broken.coefs_[0][0, 0] = np.nan
    with pytest.raises(ValueError, match="not finite"):
        StabilityOutputPerturbation(broken, stability=DECLARED).fit()
    with pytest.raises(NotFittedError):
        wrapped().predict(X)


def test_frozen_models_are_not_touched_by_a_release():
    before = pickle.dumps(NETWORK)
    StabilityOutputPerturbation(NETWORK, stability=DECLARED).fit()
    assert pickle.dumps(NETWORK) == before


# ------------------------------------------------------------------------- raw weights stay inside


def raw_weights():
    """Fitted models with weights that no text could hold by chance, and how they are wrapped."""
    linear = fitted(LogisticRegression(solver="liblinear", C=0.5))
    for inner, arrays, given in (
        (linear, [linear.coef_, linear.intercept_], {"n_samples": 60}),
        (NETWORK, [*NETWORK.coefs_, *NETWORK.intercepts_], {"stability": DECLARED}),
    ):
        yield FrozenEstimator(inner), arrays, given
        if "stability" in given:
            yield inner, arrays, given


@pytest.mark.parametrize("case", list(raw_weights()), ids=["linear", "frozen network", "network"])
def test_no_raw_weight_leaves_with_a_fitted_wrapper(case):
    estimator, arrays, given = case
    model = StabilityOutputPerturbation(estimator, **given).fit()
    stream = io.BytesIO()
    joblib.dump(model, stream)
    saved = {"pickle": pickle.dumps(model), "joblib": stream.getvalue()}
    released, held = pickle.dumps(model.estimator_), pickle.dumps(estimator)
    shown = repr(model) + str(model) + model._repr_html_() + model.privacy_.to_json()
    for array in arrays:
        for value in np.ravel(array):
            if value == 0:
                continue
            raw = np.float64(value).tobytes()
            assert raw in held
            assert all(raw not in content for content in saved.values())
            assert raw[::-1] not in saved["pickle"]
            assert raw not in released
            assert f"{value:.6g}" not in shown
    assert np.array_equal(pickle.loads(saved["pickle"]).predict(X), model.predict(X))
    copied = copy.deepcopy(model)
    assert not hasattr(copied._model, "coef_")
    assert not hasattr(copied._model, "coefs_")


def test_an_unfitted_wrapper_keeps_its_frozen_model_in_another_process():
    model = StabilityOutputPerturbation(FrozenEstimator(NETWORK), stability=DECLARED)
    assert pickle.loads(pickle.dumps(model)).fit().n_features_in_ == 3
    assert clone(model).fit().n_features_in_ == 3


# ----------------------------------------------------------------------------- with scikit-learn


def test_pipelines_and_grid_searches_take_the_wrapper():
    ledger = InMemoryLedger(100.0)
    search = GridSearchCV(
        make_pipeline(RowNormClipper(row_norm=1.0), wrapped(epsilon=5.0, ledger=ledger)),
        {"stabilityoutputperturbation__estimator__C": [0.01, 0.1]},
        cv=2,
    ).fit(X, y)
    assert search.predict(X).shape == y.shape
    assert len(ledger.history()) == 5  # every fit spends


def test_methods_are_there_before_the_fit_where_the_model_has_them():
    assert hasattr(wrapped(), "predict_proba")
    assert not hasattr(wrapped(LinearSVC()), "predict_proba")
    assert not hasattr(wrapped(Ridge(), y_bound=Y_BOUND), "decision_function")
    assert not hasattr(wrapped(SGDClassifier(loss="hinge")), "predict_proba")


def _declared(model, **given):
    ledger = InMemoryLedger(10.0, 1e-3, Neighbours.REPLACE_ONE)
    given = {"stability": ParameterStability(l2=1.0), "ledger": ledger, **given}
    return StabilityOutputPerturbation(model, **given), ledger


def _rows_and_classes(n_classes=2):
    rows = np.sin(np.arange(180.0)).reshape(60, 3)
    return rows, np.arange(60) % n_classes


def test_what_a_clone_would_carry_along_is_refused_before_the_spend():
    """Inside of two FrozenEstimators the raw model was published beside its noisy weights."""
    X, y = _rows_and_classes()
    fitted = LogisticRegression().fit(X, y)
    twice, ledger = _declared(FrozenEstimator(FrozenEstimator(fitted)))
    with pytest.raises(ValueError, match="in one FrozenEstimator"):
        twice.fit()
    gram = ElasticNet(alpha=1.0, precompute=X.T @ X, fit_intercept=False).fit(X, X[:, 0])
    for given in ((), (X, X[:, 0])):
        wrapper, _ = _declared(FrozenEstimator(gram), stability="auto", y_bound=1.0, n_samples=60)
        with pytest.raises(ValueError, match="precompute is a matrix"):
            wrapper.fit(*given)
    assert ledger.history() == ()


def test_a_model_that_cannot_be_given_weights_is_refused_before_the_spend():
    X, y = _rows_and_classes()
    wrapper, ledger = _declared(NuSVC(kernel="linear"))
    with pytest.raises(ValueError, match="can be given none"):
        wrapper.fit(X, y)
    assert ledger.history() == ()


def test_a_model_that_prints_and_votes_between_pairs_are_refused_before_the_spend():
    X, y = _rows_and_classes(3)
    for model, match in (
        (MLPClassifier(verbose=True), "verbose=True prints"),
        (SVC(kernel="linear"), "votes between pairs"),
    ):
        wrapper, ledger = _declared(model)
        with pytest.raises(ValueError, match=match):
            wrapper.fit(X, y)
        assert ledger.history() == ()


def test_labels_without_rows_are_refused():
    X, y = _rows_and_classes()
    wrapper, _ = _declared(FrozenEstimator(LogisticRegression().fit(X, y)))
    with pytest.raises(ValueError, match="without X"):
        wrapper.fit(None, y)


# -------------------------------------------------------- refused before anything is spent


def refused_unspent(match, model, *data, **parameters):
    ledger = InMemoryLedger(100.0, 0.1)
    wrapper = StabilityOutputPerturbation(model, ledger=ledger, **parameters)
    with pytest.raises(ValueError, match=match):
        wrapper.fit(*data)
    assert not ledger.history()


@pytest.mark.parametrize("names", [("C",), ("coef_", "n_features_in_"), ("coef_", "coef_"), ()])
def test_parameters_name_results_of_the_fit_alone_each_once(names):
    inner = FrozenEstimator(fitted(LogisticRegression()))
    refused_unspent("parameters names", inner, stability=DECLARED, parameters=names)


def test_what_would_do_nothing_is_refused():
    refused_unspent("Leave it None", LogisticRegression(), X, y, parameters=("coef_",))
    refused_unspent(
        "y_bound clips", FrozenEstimator(fitted(Ridge(), numbers)), stability=DECLARED, y_bound=2.0
    )


@pytest.mark.parametrize(
    ("model", "labels"),
    [
        (LinearSVC(loss="squared_hindge"), y),
        (LinearSVR(loss="epsilon"), numbers),
        (LogisticRegression(solver="lbgfs"), y),
        (Ridge(solver="quick"), numbers),
    ],
    ids=str,
)
def test_misspelt_options_are_refused_by_the_model_itself(model, labels):
    name = type(model).__name__
    refused_unspent(f"parameter of {name} must be", model, X, labels, y_bound=2.0)
    with pytest.raises(ValueError, match=f"parameter of {name} must be"):
        StabilityOutputPerturbation(model, y_bound=2.0).plan(100, 3)


@pytest.mark.parametrize("model", [PLSRegression(2), PoissonRegressor()], ids=str)
def test_a_frozen_model_that_predicts_by_more_than_is_released_is_refused(model):
    inner = FrozenEstimator(fitted(model, np.abs(numbers)))
    refused_unspent("cannot predict: .* parameters=", inner, stability=DECLARED)


def test_a_frozen_model_assumes_no_weights_of_rows_and_its_own_classes():
    inner = fitted(LogisticRegression(fit_intercept=False))
    model = StabilityOutputPerturbation(FrozenEstimator(inner), n_samples=60).fit()
    assumed = " ".join(model.privacy_.assumptions)
    assert "it was fitted without sample_weight" in assumed
    assert "were taken from the frozen model" in assumed
    again = StabilityOutputPerturbation(LogisticRegression()).fit(X, y)
    assert "were taken from y" in " ".join(again.privacy_.assumptions)


class TestSeveralTargets:
    """Coefficients of K targets move sqrt(K) times as far as those of one."""

    @pytest.mark.parametrize(
        ("model", "y_bound"),
        [
            (Ridge(alpha=100.0, fit_intercept=False), 1.0),
            (ElasticNet(alpha=1.0, l1_ratio=0.0, fit_intercept=False), 1.0),
            (RidgeClassifier(alpha=1000.0, fit_intercept=False), None),
            (MLPClassifier((2,), max_iter=2), None),
        ],
        ids=lambda part: type(part).__name__,
    )
    @pytest.mark.parametrize("n_targets", [2, 3, 50])
    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    def test_a_frozen_model_of_several_is_refused_before_the_spend(self, model, y_bound, n_targets):
        targets = (np.arange(60)[:, None] + np.arange(n_targets)) % 2
        fitted = clone(model).fit(np.ones((60, 1)), targets)
        ledger = InMemoryLedger(10.0, 1e-3)
        declared = {"stability": ParameterStability(0.1)} if y_bound is None else {}
        for stability in ({}, declared):
            if isinstance(model, MLPClassifier) and not stability:
                continue
            wrapper = StabilityOutputPerturbation(
                FrozenEstimator(fitted), n_samples=60, ledger=ledger, delta=1e-6,
                **{"y_bound": y_bound, **stability},
            )  # fmt: skip
            with pytest.raises(ValueError, match=r"several (labels|targets)"):
                wrapper.fit()
        assert ledger.history() == ()

    def test_a_fitted_sgd_model_is_no_minimiser(self):
        X, y = np.eye(60, 3), np.arange(60) % 2
        fitted = SGDClassifier(alpha=0.1, fit_intercept=False).fit(X, y)
        with pytest.raises(ValueError, match="where its steps ended"):
            StabilityOutputPerturbation(FrozenEstimator(fitted), n_samples=60).fit()

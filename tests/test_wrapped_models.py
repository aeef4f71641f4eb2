"""What a wrapped model minimises is what scikit-learn minimises, with a penalised intercept."""

import itertools
import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import (
    ElasticNet,
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    SGDRegressor,
)
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC, LinearSVR, NuSVC
from sklearn.tree import DecisionTreeClassifier

from skdp.exceptions import UnknownStabilityError
from skdp.meta import StabilityOutputPerturbation
from skdp.privacy import InMemoryLedger
from skdp.records import clip_rows
from skdp.stability import ProvedBound, RefusedModel, stability_registry
from tests.support.neighbours import recorded
from tests.support.wrapped_models import MODELS, rows_and_labels, without_intercept

each_model = pytest.mark.parametrize("name", MODELS)


def test_every_proved_class_of_the_registry_is_wrapped_in_the_tests():
    proved = {record.model for record in stability_registry().values() if record.proved}
    assert proved == {type(case.model) for case in MODELS.values()}


def test_every_record_says_what_a_table_needs():
    for name, record in stability_registry().items():
        assert name == record.name
        if isinstance(record, ProvedBound):
            assert all((record.objective, record.bound, record.source, record.solver_parameters))
        else:
            assert isinstance(record, RefusedModel)
            assert record.reason.endswith(".")
            assert record.instead.endswith(".")
    assert {"Perceptron", "HuberRegressor", "batch normalisation"} <= set(stability_registry())


def test_the_page_lists_the_registry():
    page = (Path(__file__).parents[1] / "docs" / "output_perturbation.md").read_text("utf-8")
    for record in stability_registry().values():
        if record.proved:
            assert f"| `{record.name}` | {record.objective} | {record.bound} |" in page
        else:
            assert f"| {record.reason} | {record.instead} |" in page
            assert record.name in page


# ------------------------------------------------------------------- the objective is the model's


def sharp(model):
    """Return a copy that solves as well as it can."""
    settings = {"tol": 1e-12, "max_iter": 10**6, "random_state": 0}
    if isinstance(model, SGDClassifier | SGDRegressor):
        return None
    if isinstance(model, LogisticRegression) and model.solver == "lbfgs":
        settings["solver"] = "newton-cg"
        settings["max_iter"] = 1000
    if isinstance(model, Ridge | RidgeClassifier):
        settings = {"solver": "svd"}
    return clone(model).set_params(**{k: v for k, v in settings.items() if k in model.get_params()})


def reference(case, wrapper, X, y):
    """Fit scikit-learn itself to clipped rows with the constant column appended."""
    model = sharp(wrapper.estimator)
    scaling = getattr(model, "intercept_scaling", 1.0)
    if isinstance(model, LogisticRegression) and model.solver != "liblinear":
        scaling = 1.0
    X = np.column_stack((clip_rows(X, 1.0), np.full(len(X), float(scaling))))
    if "fit_intercept" in model.get_params():
        model.set_params(fit_intercept=False)
    elif isinstance(model, SVC) or type(model).__name__ == "SVR":
        # libsvm has a free intercept; liblinear minimises the same without one.
        twin = LinearSVC if isinstance(model, SVC) else LinearSVR
        parameters = {
            k: getattr(model, k)
            for k in ("C", "class_weight", "epsilon")
            if k in twin().get_params() and hasattr(model, k)
        }
        loss = "hinge" if twin is LinearSVC else "epsilon_insensitive"
        model = twin(
            loss=loss, fit_intercept=False, tol=1e-12, max_iter=10**6, random_state=0, **parameters
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.atleast_2d(model.fit(X, y).coef_)


SOLVED = [name for name, case in MODELS.items() if sharp(case.model) is not None]


#: scikit-learn's L1 part would cover the constant column too: those are compared without one.
WITH_CONSTANT = [name for name in SOLVED if "elastic" not in name]


def certified_radius(model):
    """Smooth losses agree to 1e-6; those with kinks to the radius that their gap is worth."""
    kinked = getattr(model, "loss", "hinge") in ("hinge", "epsilon_insensitive")
    return 2e-3 if kinked and hasattr(model, "C") and not hasattr(model, "l1_ratio") else 1e-6


@pytest.mark.parametrize("strong_convexity", [0.05, 1.0])
@pytest.mark.parametrize("name", WITH_CONSTANT)
def test_the_certified_minimiser_is_that_of_scikit_learn(name, strong_convexity):
    case = MODELS[name]
    X, y = rows_and_labels(case)
    wrapper = case.make(strong_convexity, len(X))
    _, found = recorded(wrapper, (X, y))
    tol = certified_radius(wrapper.estimator)
    np.testing.assert_allclose(found, reference(case, wrapper, X, y), atol=tol)


@pytest.mark.parametrize("name", [name for name in SOLVED if without_intercept(MODELS[name].model)])
def test_without_an_intercept_the_model_itself_gives_the_minimiser(name):
    case = MODELS[name]
    X, y = rows_and_labels(case)
    wrapper = case.make(0.3, len(X))
    wrapper.set_params(estimator__fit_intercept=False)
    _, found = recorded(wrapper, (X, y))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = np.atleast_2d(sharp(wrapper.estimator).fit(clip_rows(X, 1.0), y).coef_)
    tol = certified_radius(wrapper.estimator)
    np.testing.assert_allclose(found, expected, atol=tol)


@pytest.mark.parametrize("name", [name for name in MODELS if name.startswith("SGD")])
def test_sgd_descends_to_the_certified_minimiser(name):
    """SGD has no intercept to penalise here, and many passes with the 1/t steps of Pegasos."""
    case = MODELS[name]
    X, y = rows_and_labels(case, n=60)
    wrapper = case.make(0.5, len(X)).set_params(estimator__fit_intercept=False)
    _, found = recorded(wrapper, (X, y))
    model = clone(wrapper.estimator).set_params(
        max_iter=3000, tol=None, learning_rate="invscaling", eta0=0.5, power_t=0.6, random_state=0
    )
    reached = np.atleast_2d(model.fit(clip_rows(X, 1.0), y).coef_)
    assert np.abs(reached - found).max() <= 0.03 * max(1.0, np.abs(found).max())


def test_c_and_alpha_are_read_in_the_right_form():
    """C = 1/(n alpha): the same minimiser from four classes."""
    X, y = rows_and_labels(MODELS["logistic"], n=50)
    alpha = 0.07
    models = [LogisticRegression(C=1 / (50 * alpha)), SGDClassifier(loss="log_loss", alpha=alpha)]
    first, second = (recorded(StabilityOutputPerturbation(m), (X, y)) for m in models)
    np.testing.assert_allclose(first[1], second[1], atol=1e-9)
    assert first[0].sensitivity.value == pytest.approx(second[0].sensitivity.value, rel=1e-9)
    models = [Ridge(alpha=50 * alpha), SGDRegressor(alpha=alpha), ElasticNet(alpha, l1_ratio=0.0)]
    found = [recorded(StabilityOutputPerturbation(m, y_bound=1.0), (X, y)) for m in models]
    for mechanism, value in found[1:]:
        np.testing.assert_allclose(value, found[0][1], atol=1e-9)
        assert mechanism.sensitivity.value == pytest.approx(found[0][0].sensitivity.value)


# ----------------------------------------------------------------------- sensitivities, by hand


def test_the_sensitivities_are_those_worked_out_by_hand():
    n, convexity = 40, 0.5
    kappa = math.sqrt(2)
    radius = min(math.sqrt(0.278465 / convexity), kappa / (2 * convexity))
    weighted = min(math.sqrt(3 * 0.278465 / convexity), 3 * kappa / (2 * convexity))
    smooth_hinge = min(math.sqrt(1 / (2 * convexity)), 2 * kappa / convexity)
    ridge = min(2 / (2 * math.sqrt(convexity)), 2 * kappa / convexity)

    def sigmoid(z):
        return 1 / (1 + math.exp(-z))

    diameters = {
        "logistic": 2 * kappa * sigmoid(radius * kappa),
        "logistic, weights": 6 * kappa * sigmoid(weighted * kappa),
        "softmax": 2 * math.sqrt(2) * kappa,
        "softmax, weights": 8 * math.sqrt(2) * kappa,
        "squared hinge, three": math.sqrt(3) * 4 * kappa * (1 + smooth_hinge * kappa),
        "hinge": 2 * kappa,
        "hinge, three": math.sqrt(3) * 2 * kappa,
        "SVC": 4 * kappa,
        "epsilon-insensitive": 2 * kappa,
        "ridge": 2 * kappa * (kappa * ridge + 2),
        "elastic net": 2 * kappa * (kappa * ridge + 2),
        "SGD Huber": 2 * kappa * 0.5,
    }
    for name, diameter in diameters.items():
        case = MODELS[name]
        X, y = rows_and_labels(case, n=n)
        mechanism, _ = recorded(case.make(convexity, n), (X, y))
        exact = diameter / (n * convexity)
        assert 1 <= mechanism.sensitivity.value / exact <= 1.02, name
        assert mechanism.size == 4 * (3 if "three" in name or "softmax" in name else 1)


def test_with_c_fixed_the_sensitivity_does_not_fall_with_the_number_of_rows():
    values = []
    for n in (30, 300):
        X, y = rows_and_labels(MODELS["hinge"], n=n)
        model = StabilityOutputPerturbation(LinearSVC(loss="hinge", C=0.1))
        values.append(recorded(model, (X, y))[0].sensitivity.value)
    assert values[0] == pytest.approx(0.1 * 2 * math.sqrt(2), rel=0.02)
    assert values[1] == pytest.approx(values[0], rel=0.02)


# ---------------------------------------------------------------------------------- refusals


class Heir(LogisticRegression):
    """A subclass."""


X, y = rows_and_labels(MODELS["logistic"])
numbers = X[:, 0]
three = np.arange(len(y)) % 3

REFUSALS = [
    (LogisticRegression(C=np.inf), y, {}, r"C=inf\): no penalty.*Set a finite C"),
    (LogisticRegression(l1_ratio=1.0), y, {}, "l1_ratio=1.0.*Set l1_ratio below 1"),
    (LogisticRegression(penalty="l1"), y, {}, "penalty='l1'.*l1_ratio below 1"),
    (LogisticRegression(penalty=None), y, {}, "penalty=None"),
    (LogisticRegression(class_weight="balanced"), y, {}, "class_weight='balanced'.*Set a dict"),
    (LogisticRegression(class_weight={7: 1.0}), y, {}, "class_weight names a label"),
    (LogisticRegression(class_weight={0: -1.0}), y, {}, "class_weight.*at least 0"),
    (LogisticRegression(solver="liblinear"), three, {}, "solver='liblinear'.*Set solver='lbfgs'"),
    (LinearSVC(penalty="l1", dual=False), y, {}, "penalty='l1'.*Set penalty='l2'"),
    (LinearSVC(multi_class="crammer_singer"), y, {}, "multi_class=.*Set multi_class='ovr'"),
    (LinearSVC(class_weight="balanced"), y, {}, "class_weight='balanced'"),
    (LinearSVR(loss="squared_epsilon_insensitive"), numbers, {}, "Set y_bound"),
    (LinearSVR(epsilon=1.0), numbers, {"y_bound": 0.5}, "epsilon=1.0.*below y_bound"),
    (SVC(), y, {}, "kernel='rbf'.*Set kernel='linear'"),
    (SVC(kernel="linear"), three, {}, r"Use LinearSVC\(loss='hinge'\)"),
    (Ridge(), numbers, {}, "Set y_bound"),
    (Ridge(alpha=[1.0]), numbers, {"y_bound": 1.0}, "alpha=.*a number is needed"),
    (Ridge(positive=True), numbers, {"y_bound": 1.0}, "positive=True.*Set positive=False"),
    (RidgeClassifier(class_weight="balanced"), y, {}, "class_weight='balanced'"),
    (ElasticNet(l1_ratio=1.0), numbers, {"y_bound": 1.0}, "Set l1_ratio below 1"),
    (ElasticNet(), numbers, {}, "Set y_bound"),
    (SGDClassifier(early_stopping=True), y, {}, "early_stopping=True.*early_stopping=False"),
    (SGDClassifier(penalty="l1"), y, {}, "penalty='l1'.*Set penalty='l2' or 'elasticnet'"),
    (SGDClassifier(penalty=None), y, {}, "penalty=None"),
    (SGDClassifier(loss="perceptron"), y, {}, "loss='perceptron'.*order of the rows"),
    (SGDClassifier(class_weight="balanced"), y, {}, "class_weight='balanced'"),
    (SGDRegressor(early_stopping=True), numbers, {}, "early_stopping=True"),
    (SGDRegressor(), numbers, {}, "Set y_bound"),
    (Heir(), y, {}, "No worst-case.*Heir.*subclass of LogisticRegression.*not inherited.*Private"),
    (LogisticRegressionCV(), y, {}, "LogisticRegressionCV.*chosen on the data"),
    (Lasso(), numbers, {}, "Lasso.*L1 penalty alone.*PrivateElasticNet"),
    (LinearRegression(), numbers, {}, "LinearRegression.*PrivateElasticNet"),
    (Perceptron(), y, {}, "Perceptron.*PrivateElasticNetClassifier.*SparseDPSGDClassifier"),
    (HuberRegressor(), numbers, {}, r"HuberRegressor.*scale.*PrivateElasticNet\(loss='huber'\)"),
    (NuSVC(), y, {}, "NuSVC.*LinearSVC"),
    (MLPClassifier(), y, {}, "MLPClassifier.*PrivateMLPClassifier.*ParameterStability"),
    (DecisionTreeClassifier(), y, {}, "no vector of weights.*PrivateElasticNetClassifier"),
    (make_pipeline(StandardScaler(), LogisticRegression()), y, {}, "Pipeline.*Wrap the last step"),
    (GridSearchCV(LogisticRegression(), {"C": [1]}), y, {}, "GridSearchCV.*Wrap the model inside"),
]


@pytest.mark.parametrize("certify", [True, False])
@pytest.mark.parametrize(("model", "labels", "given", "match"), REFUSALS)
def test_what_voids_the_bound_is_refused_by_name_before_the_spend(
    model, labels, given, match, certify
):
    ledger = InMemoryLedger(10.0)
    wrapper = StabilityOutputPerturbation(model, certify=certify, ledger=ledger, **given)
    with pytest.raises(ValueError, match=f"(?s){match}"):
        wrapper.fit(X, labels)
    assert ledger.history() == ()
    assert not hasattr(wrapper, "privacy_")


@each_model
def test_without_certification_the_models_own_solver_is_refused_with_its_settings(name):
    case = MODELS[name]
    X, y = rows_and_labels(case)
    with pytest.raises(UnknownStabilityError, match=r"own solver, and with .*tol=.*certify=True"):
        case.make(0.5, len(X), certify=False).fit(X, y)


def test_solver_tolerance_and_order_do_not_matter_when_certified():
    released = []
    for changes in ({}, {"solver": "saga", "max_iter": 1, "random_state": 3}, {"tol": 10.0}):
        model = LogisticRegression(C=0.1, **changes)
        released.append(recorded(StabilityOutputPerturbation(model), (X, y)))
    for mechanism, value in released[1:]:
        assert mechanism == released[0][0]
        np.testing.assert_array_equal(value, released[0][1])


def test_a_penalty_too_weak_to_certify_is_refused_from_public_facts():
    ledger = InMemoryLedger(10.0)
    wrapper = StabilityOutputPerturbation(SGDClassifier(alpha=1e-13), ledger=ledger)
    with pytest.raises(ValueError, match=r"not enough to certify.*penalise more"):
        wrapper.fit(X, y)
    assert ledger.history() == ()


def test_hubers_own_regression_exceeds_the_bound_of_the_huber_loss():
    """It also fits a scale. 2 epsilon slope and 2 alpha convexity give 2 epsilon / alpha."""
    n, alpha, epsilon = 100, 1e5, 1.35
    X, y = np.ones((n, 1)), np.full(n, 0.1)
    X_other, y_other = X.copy(), y.copy()
    X_other[0], y_other[0] = -1.0, 1.0
    model = HuberRegressor(
        epsilon=epsilon, alpha=alpha, fit_intercept=False, tol=1e-13, max_iter=10**5
    )
    first, second = (
        float(clone(model).fit(*data).coef_[0]) for data in ((X, y), (X_other, y_other))
    )
    moved, bound = abs(first - second), 2 * epsilon / alpha
    assert moved > 0
    assert 1.0 < moved / bound < 1.1


def test_options_are_read_together():
    """Every combination of intercept, classes and weights gives a bound that some size explains."""
    for intercept, labels, weight in itertools.product((True, False), (y, three), (None, {0: 2.0})):
        model = LinearSVC(C=0.01, fit_intercept=intercept, class_weight=weight)
        mechanism, value = recorded(StabilityOutputPerturbation(model), (X, labels))
        outputs = 1 if labels is y else 3
        assert value.shape == (outputs, X.shape[1] + intercept)
        assert mechanism.size == value.size

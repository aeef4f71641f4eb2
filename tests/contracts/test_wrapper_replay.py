"""Record and replay over every entry of the registry and every option of the wrapper.

With the one release frozen, nothing else that leaves a fit may differ between neighbours.
"""

import itertools

import numpy as np
import pytest
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC

from skdp.meta import StabilityOutputPerturbation
from skdp.stability import ParameterStability, erm, reading, wrapped
from skdp.stability.wrapped import WrappedPlan
from tests.support.instances import NOISES
from tests.support.replay import violations
from tests.support.wrapped_models import MODELS, without_intercept

N, D = 12, 3
KINDS = ("random", "opposite", "huge", "zeros")
each_model = pytest.mark.parametrize("name", MODELS)


def neighbouring_rows(kind, rng):
    """Two matrices that differ in row 0."""
    X = rng.normal(size=(N, D)) if kind != "zeros" else np.zeros((N, D))
    other = X.copy()
    other[0] = {"random": rng.normal(size=D), "opposite": -X[0], "huge": 1e300, "zeros": 1.0}[kind]
    return X, other


def neighbouring_labels(case, rng):
    """Two vectors that differ in label 0, every class in both."""
    if case.classifies:
        y = np.resize(case.labels, N)
        other = y.copy()
        other[0] = case.labels[1]
        return y, other
    y = rng.uniform(min(case.labels), max(case.labels), N)
    other = y.copy()
    y[0], other[0] = 1e300, -1e300
    return y, other


def combinations(stride, *options):
    return itertools.islice(itertools.product(*options), 0, None, stride)


@pytest.mark.parametrize(
    "stride", [pytest.param(1, marks=pytest.mark.slow, id="all"), pytest.param(37, id="some")]
)
@each_model
def test_neighbouring_fits_of_a_wrapped_model_differ_in_the_release_alone(name, stride):
    case, rng = MODELS[name], np.random.default_rng(0)
    for kind, (noise, delta), intercept, threshold, convexity in combinations(
        stride, KINDS, NOISES, (True, False), (None, "auto", 0.1), (0.05, 2.0)
    ):
        X, X_other = neighbouring_rows(kind, rng)
        y, y_other = neighbouring_labels(case, rng)
        model = case.make(convexity, N, noise=noise, delta=delta, threshold=threshold)
        if not intercept and without_intercept(case.model) is not None:
            model.set_params(estimator__fit_intercept=False)
        assert violations(model, (X, y), (X_other, y_other)) == []


@pytest.mark.parametrize("name", ["softmax", "hinge, three", "ridge", "SVC"])
@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array, np.float32])
def test_containers_change_nothing_about_it(name, container):
    case, rng = MODELS[name], np.random.default_rng(1)
    for kind in ("random", "opposite", "zeros"):
        X, X_other = neighbouring_rows(kind, rng)
        y, y_other = neighbouring_labels(case, rng)
        if container is np.float32:
            y, y_other = np.clip(y, -1e30, 1e30), np.clip(y_other, -1e30, 1e30)
        model = case.make(0.5, N)
        assert violations(model, (container(X), y), (container(X_other), y_other)) == []


def test_a_frozen_model_and_its_neighbour_differ_in_the_release_alone():
    rng, y = np.random.default_rng(2), np.arange(N) % 2
    X = rng.normal(size=(N, D))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    other = X.copy()
    other[0] = -X[0]
    inner = LogisticRegression(C=0.1, solver="liblinear", tol=1e-8)
    pair = [FrozenEstimator(type(inner)(**inner.get_params()).fit(rows, y)) for rows in (X, other)]
    given = {"n_samples": N, "epsilon": 2.0}
    assert frozen_violations(pair, given) == []
    given = {"stability": ParameterStability(l2=1.0)}
    assert frozen_violations(pair, given) == []
    given = {"stability": ParameterStability(l2=1e-4)}
    assert any("input moved" in sentence for sentence in frozen_violations(pair, given))


class Thawed(StabilityOutputPerturbation):
    """Takes its frozen model from the arguments of fit, as replay gives neighbours."""

    def fit(self, frozen):
        self.estimator = frozen
        return super().fit()


def frozen_violations(pair, given):
    model = Thawed(LogisticRegression(), noise="l2_laplace", **given)
    return violations(model, (pair[0],), (pair[1],))


# --------------------------------------------------------------------------------- planted bugs


class TestPlantedBugs:
    """What replay must see. One record turns round under a strong penalty."""

    X = np.array([[1.0], *[[0.0]] * (N - 1)])
    y = np.arange(N) % 2

    def pair(self, model, labels=None, **parameters):
        wrapper = StabilityOutputPerturbation(model, noise="l2_laplace", **parameters)
        labels = self.y if labels is None else labels
        other = labels.copy()
        other[0] = labels[-1] if labels[-1] != labels[0] else labels[-2]
        return violations(wrapper, (self.X, labels), (-self.X, labels)) + violations(
            wrapper, (self.X, labels), (self.X, other)
        )

    HINGE = LinearSVC(loss="hinge", C=0.002, fit_intercept=False)

    def test_without_a_bug_there_is_nothing(self):
        assert self.pair(self.HINGE) == []
        assert self.pair(LinearSVC(loss="hinge", C=0.002), np.arange(N) % 3) == []

    def test_half_the_diameter(self, monkeypatch):
        true = erm.GradientDiameterBound.distance
        monkeypatch.setattr(erm.GradientDiameterBound, "distance", lambda *a: true(*a) / 2)
        assert any("input moved" in sentence for sentence in self.pair(self.HINGE))

    def test_the_root_of_the_number_of_problems_forgotten(self, monkeypatch):
        def forgotten(moved, reading):
            return wrapped.Sensitivity(moved * 1.0001, "l2", wrapped.Neighbours.REPLACE_ONE)

        monkeypatch.setattr(wrapped, "joint_sensitivity", forgotten)
        model = LinearSVC(loss="hinge", C=0.002, fit_intercept=False)
        assert any("input moved by 1.7" in s for s in self.pair(model, np.arange(N) % 3))

    def test_c_read_as_alpha(self, monkeypatch):
        true = reading.InverseOfSum.alpha
        planned = WrappedPlan.sensitivity.fget

        def misread(self):
            monkeypatch.setattr(reading.InverseOfSum, "alpha", lambda self, n: self.value)
            try:
                return planned(self)
            finally:
                monkeypatch.setattr(reading.InverseOfSum, "alpha", true)

        monkeypatch.setattr(WrappedPlan, "sensitivity", property(misread))
        model = LinearSVC(loss="hinge", C=3.0, fit_intercept=False)
        assert any("input moved" in sentence for sentence in self.pair(model))

    def test_an_unpenalised_intercept(self, monkeypatch):
        """A minimiser whose intercept is free, under the bound of one whose is not."""

        def own(self, rows, targets, class_weights, row_weights):
            model = LogisticRegression(C=10.0, tol=1e-10, max_iter=10_000).fit(rows, targets)
            return np.column_stack((model.coef_, model.intercept_))

        monkeypatch.setattr(WrappedPlan, "minimisers", own)
        labels = np.array([1] * (N - 1) + [0])
        other = labels.copy()
        other[0] = 0
        wrapper = StabilityOutputPerturbation(LogisticRegression(C=0.01), noise="l2_laplace")
        rows = np.zeros((N, 1))
        found = violations(wrapper, (rows, labels), (rows, other))
        assert any("input moved" in sentence for sentence in found)

    def test_rows_that_are_not_clipped(self, monkeypatch):
        monkeypatch.setattr(
            "skdp.meta.releases.clip_rows", lambda X, row_norm, *, share_index=False: 5 * X
        )
        assert any("input moved" in sentence for sentence in self.pair(self.HINGE))

    def test_a_fitted_attribute_of_the_released_model_computed_from_the_data(self, monkeypatch):
        from skdp.meta.releases import MinimiserRelease

        true = MinimiserRelease.fill

        def leaky(self, onto, released, rule):
            true(self, onto, released, rule)
            onto.n_iter_ = float(self.rows.sum())

        monkeypatch.setattr(MinimiserRelease, "fill", leaky)
        assert "attribute estimator_ changed" in self.pair(self.HINGE)

    def test_targets_of_a_regression_that_are_not_clipped(self, monkeypatch):
        rng = np.random.default_rng(3)
        y = rng.normal(size=N)
        far = y.copy()
        far[0] = 1e3
        wrapper = StabilityOutputPerturbation(Ridge(5.0), y_bound=1.0, noise="l2_laplace")
        data = (rng.normal(size=(N, 2)), y)
        assert violations(wrapper, data, (data[0], far)) == []
        monkeypatch.setattr("skdp.meta.output_perturbation.np.clip", lambda y, low, high: y)
        assert any("input moved" in s for s in violations(wrapper, data, (data[0], far)))

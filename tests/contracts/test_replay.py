"""Record and replay over every estimator and parameter combination.

For each combination several pairs of data sets that differ in one row: random ones, and worst
cases (long rows, flipped labels, one record of a class, identical rows, empty rows).
"""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from skdp.linear_model import PrivateElasticNet, PrivateElasticNetClassifier
from skdp.stability.domain import Domain
from skdp.stability.erm import GradientDiameterBound
from skdp.stability.output_perturbation import OutputPerturbationPlan
from tests.support.instances import CLASSIFIER_LOSSES, NOISES, REGRESSOR_LOSSES
from tests.support.replay import violations

N, D = 12, 3


def neighbouring_rows(kind, rng):
    """Two matrices that differ in row 0."""
    X = rng.normal(size=(N, D))
    other = X.copy()
    if kind == "random":
        other[0] = rng.normal(size=D)
    elif kind == "opposite":
        X[0] = 3.0
        other[0] = -3.0
    elif kind == "huge":
        other[0] = 1e300
    elif kind == "zeros":
        X[:] = 0.0
        other[:] = 0.0
        X[0, 0], other[0, 0] = 1.0, -1.0
    return X, other


KINDS = ("random", "opposite", "huge", "zeros")


def labels(n_classes):
    y = np.arange(N) % n_classes
    other = y.copy()
    other[0] = (y[0] + 1) % n_classes
    return y, other


#: Every combination runs under `slow`; the fast suite takes one of so many, another for each noise.
STRIDE = 29
EXTENT = pytest.mark.parametrize(
    "stride", [pytest.param(1, marks=pytest.mark.slow, id="all"), pytest.param(STRIDE, id="some")]
)


def combinations(noise_delta, stride, *options):
    start = NOISES.index(noise_delta) if stride > 1 else 0
    return itertools.islice(itertools.product(*options), start, None, stride)


@EXTENT
@pytest.mark.parametrize(("noise", "delta"), NOISES)
@pytest.mark.parametrize("loss", CLASSIFIER_LOSSES)
def test_neighbouring_classifications_differ_in_the_release_alone(loss, noise, delta, stride):
    rng = np.random.default_rng(0)
    n_classes = (2, 3) if loss == "log_loss" else (2,)
    for kind, alpha, l1_ratio, intercept, threshold, bound, K in combinations(
        (noise, delta),
        stride,
        KINDS,
        (0.05, 2.0, "auto"),
        (0.0, 0.4),
        (True, False),
        (None, "auto"),
        ("tight", "paper"),
        n_classes,
    ):
        X, X_other = neighbouring_rows(kind, rng)
        y, y_other = labels(K)
        model = PrivateElasticNetClassifier(
            loss, noise=noise, delta=delta, alpha=alpha, l1_ratio=l1_ratio, bound=bound,
            fit_intercept=intercept, threshold=threshold, classes=range(K),
        )  # fmt: skip
        assert violations(model, (X, y), (X_other, y_other)) == []
        assert violations(model, (X, y), (X, y_other)) == []


@EXTENT
@pytest.mark.parametrize(("noise", "delta"), NOISES)
@pytest.mark.parametrize("loss", REGRESSOR_LOSSES)
def test_neighbouring_regressions_differ_in_the_release_alone(loss, noise, delta, stride):
    rng = np.random.default_rng(1)
    for kind, alpha, l1_ratio, intercept in combinations(
        (noise, delta), min(stride, 7), KINDS, (0.05, 2.0, "auto"), (0.0, 0.4), (True, False)
    ):
        X, X_other = neighbouring_rows(kind, rng)
        y = rng.normal(size=N)
        y_other = y.copy()
        y[0], y_other[0] = 100.0, -1e300
        model = PrivateElasticNet(
            loss, noise=noise, delta=delta, alpha=alpha, l1_ratio=l1_ratio,
            fit_intercept=intercept, y_bound=2.0 if loss == "squared_error" else None,
        )  # fmt: skip
        assert violations(model, (X, y), (X_other, y_other)) == []


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix, sp.csr_array, np.float32])
@pytest.mark.parametrize("loss", CLASSIFIER_LOSSES)
def test_weights_and_containers_change_nothing_about_it(loss, container):
    rng = np.random.default_rng(2)
    for kind, limit, class_weight in itertools.product(
        KINDS, (1.0, 5.0), (None, {0: 10.0, 1: 0.1})
    ):
        X, X_other = neighbouring_rows(kind, rng)
        if container is np.float32:
            X, X_other = np.clip(X, -1e30, 1e30), np.clip(X_other, -1e30, 1e30)
        y, y_other = labels(2)
        weight = rng.uniform(0, 8, size=N)
        other_weight = weight.copy()
        weight[0], other_weight[0] = 1e6, 0.0

        model = PrivateElasticNetClassifier(
            loss, alpha=0.5, max_sample_weight=limit, class_weight=class_weight,
            classes=(0, 1),
        )  # fmt: skip

        data = (container(X), y, weight)
        assert violations(model, data, (container(X_other), y_other, other_weight)) == []


def test_one_class_in_the_data_is_no_news_when_classes_are_declared():
    X = np.eye(4)
    first, second = np.array([0, 0, 0, 0]), np.array([1, 0, 0, 0])
    model = PrivateElasticNetClassifier(classes=(0, 1))
    assert violations(model, (X, first), (X, second)) == []


class TestPlantedBugs:
    """What replay must see. Huber hinge with two opposite labels attains its bound exactly."""

    X = np.array([[1.0], *[[0.0]] * (N - 1)])
    y = np.ones(N, dtype=int)
    y_other = np.array([0, *[1] * (N - 1)])

    def pair(self, **parameters):
        given = {"loss": "huber_hinge", "alpha": 8.0, "l1_ratio": 0.0, "fit_intercept": False}
        model = PrivateElasticNetClassifier(**{**given, **parameters}, classes=(0, 1))
        return violations(model, (self.X, self.y), (self.X, self.y_other))

    def test_without_a_bug_there_is_nothing(self):
        assert self.pair() == []

    def test_half_the_sensitivity(self, monkeypatch):
        true = GradientDiameterBound.distance
        monkeypatch.setattr(GradientDiameterBound, "distance", lambda *a: true(*a) / 2)
        assert any("input moved by 2.0" in sentence for sentence in self.pair())

    def test_a_constant_column_that_does_not_count(self, monkeypatch):
        monkeypatch.setattr(Domain, "kappa", property(lambda self: self.row_norm))
        found = self.pair(fit_intercept=True, intercept_scaling=3.0, alpha=80.0)
        assert any("input moved" in sentence for sentence in found)

    def test_rows_that_are_not_clipped(self, monkeypatch):
        def unclipped(X, row_norm, *, share_index):
            return 5 * X

        monkeypatch.setattr("skdp.linear_model.clipped_rows.clip_rows", unclipped)
        assert any("input moved" in sentence for sentence in self.pair(alpha=200.0))

    def test_weights_that_are_not_clipped(self, monkeypatch):
        from skdp.linear_model.output_perturbed import OutputPerturbedLinearModel

        def unclipped(self, sample_weight, X):
            return np.full(X.shape[0], 3.0)

        monkeypatch.setattr(OutputPerturbedLinearModel, "_record_weights", unclipped)
        assert any("input moved" in sentence for sentence in self.pair(alpha=50.0))

    def test_a_fitted_attribute_computed_from_the_data(self, monkeypatch):
        true = PrivateElasticNetClassifier.fit

        def leaky(self, X, y, sample_weight=None):
            true(self, X, y, sample_weight)
            self.class_count_ = np.bincount(y, minlength=2)
            return self

        monkeypatch.setattr(PrivateElasticNetClassifier, "fit", leaky)
        assert "attribute class_count_ changed" in self.pair()

    def test_an_error_that_depends_on_the_data(self, monkeypatch):
        true = OutputPerturbationPlan.minimiser

        def fussy(self, records):
            if records.targets.min() < 0:
                raise RuntimeError("did not converge")
            return true(self, records)

        monkeypatch.setattr(OutputPerturbationPlan, "minimiser", fussy)
        assert self.pair() != []

    def test_a_budget_that_depends_on_the_data(self, monkeypatch):
        true = PrivateElasticNetClassifier._loss_for

        def generous(self, n_classes):
            self.epsilon = 1.0 + self._rows_seen
            return true(self, n_classes)

        import skdp.linear_model.elastic_net as module

        admit = module.admit_labels

        def peek(y, declared):
            PrivateElasticNetClassifier._rows_seen = int(np.sum(y))
            return admit(y, declared)

        monkeypatch.setattr(module, "admit_labels", peek)
        monkeypatch.setattr(PrivateElasticNetClassifier, "_loss_for", generous)
        monkeypatch.setattr(PrivateElasticNetClassifier, "_rows_seen", 0, raising=False)
        assert any("became" in sentence for sentence in self.pair())

"""Record and replay of stable SGD: nothing but the release may differ between neighbours."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from skdp.linear_model import StableSGDClassifier, StableSGDRegressor
from skdp.stability import (
    ConstantStep,
    Domain,
    ExampleDropout,
    InverseStep,
    SomePasses,
    sgd_bounds,
)
from skdp.stability.sgd_run import Pass, StableRun
from tests.support.replay import violations

N, D = 12, 3
CLASSIFIERS = {
    "defaults": {},
    "hinge": {"loss": "hinge", "alpha": 0.5, "average": "suffix"},
    "huber hinge": {"loss": "huber_hinge", "alpha": 0.3, "batch_size": 5, "l1_ratio": 0.4},
    "squared hinge": {"loss": "squared_hinge", "alpha": 0.3, "average": True},
    "constant": {"learning_rate": ConstantStep(0.5), "n_epochs": 2, "delta": 1e-6},
    "gradient descent": {"learning_rate": ConstantStep(0.5), "batch_size": N},
    "some passes": {"learning_rate": ConstantStep(0.5), "participation": SomePasses(0.3)},
    "dropout": {"learning_rate": ConstantStep(0.5), "participation": ExampleDropout(0.3)},
    "projected": {"alpha": 0.05, "projection": 0.5, "threshold": "auto"},
    "weighted": {"alpha": 0.3, "class_weight": {0: 4.0, 1: 0.5}, "noise": "laplace"},
}
REGRESSORS = {
    "defaults": {},
    "squared": {"loss": "squared_error", "y_bound": 2.0, "alpha": 0.3},
    "absolute": {"loss": "absolute_error", "alpha": 0.3, "fit_intercept": False},
}


def pairs(rng):
    """Rows that differ in row 0: at random, opposite, huge, alone."""
    for kind in range(4):
        X = rng.normal(size=(N, D)) if kind < 3 else np.zeros((N, D))
        X_other = X.copy()
        X[0], X_other[0] = [
            (X[0], rng.normal(size=D)), (3.0, -3.0), (X[0], 1e300), ([1, 0, 0], [-1, 0, 0]),
        ][kind]  # fmt: skip
        yield X, X_other


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_neighbouring_classifications_differ_in_the_release_alone(name, container):
    rng = np.random.default_rng(0)
    y = np.arange(N) % 2
    y_other = np.array([1, *y[1:]])
    for seed, (X, X_other) in enumerate(pairs(rng)):
        model = StableSGDClassifier(**{"classes": (0, 1), **CLASSIFIERS[name]}, random_state=seed)
        data, neighbour = (container(X), y), (container(X_other), y_other)
        assert violations(model, data, neighbour) == []


def test_so_do_those_of_several_classes():
    rng = np.random.default_rng(1)
    y = np.arange(N) % 3
    y_other = np.array([2, *y[1:]])
    for X, X_other in pairs(rng):
        model = StableSGDClassifier(classes=(0, 1, 2), alpha=0.1, random_state=0)
        assert violations(model, (X, y), (X_other, y_other)) == []


@pytest.mark.parametrize("name", REGRESSORS)
def test_neighbouring_regressions_differ_in_the_release_alone(name):
    rng = np.random.default_rng(2)
    for X, X_other in pairs(rng):
        y = rng.normal(size=N)
        y_other = y.copy()
        y[0], y_other[0] = 100.0, -1e300
        weight = rng.uniform(0, 8, size=N)
        other_weight = weight.copy()
        weight[0], other_weight[0] = 1e6, 0.0
        model = StableSGDRegressor(**REGRESSORS[name], max_sample_weight=3.0, random_state=0)
        assert violations(model, (X, y, weight), (X_other, y_other, other_weight)) == []


class TestPlantedBugs:
    """Huber hinge with opposite rows, all in the linear part, attains its bound."""

    X = np.tile([[1.0, 0.0, 0.0]], (N, 1))
    X_other = X * np.where(np.arange(N) == 0, -1, 1)[:, None]
    y = np.ones(N, dtype=int)

    def found(self, **parameters):
        given = {
            "loss": "huber_hinge", "alpha": 8.0, "batch_size": 4, "n_epochs": 2,
            "fit_intercept": False, "classes": (0, 1), "random_state": 0,
        }  # fmt: skip
        model = StableSGDClassifier(**{**given, **parameters})
        return violations(model, (self.X, self.y), (self.X_other, self.y))

    def test_without_a_bug_there_is_nothing(self):
        assert self.found() == []

    def test_a_sensitivity_divided_by_the_batch_size(self, monkeypatch):
        true = sgd_bounds._of_hits
        monkeypatch.setattr(sgd_bounds, "_of_hits", lambda run, *a: true(run, *a) / run.batch_size)
        assert any(
            "moved by 3.9" in sentence or "moved by 4" in sentence for sentence in self.found()
        )

    def test_one_pass_too_few(self, monkeypatch):
        from skdp.stability import EveryPass

        monkeypatch.setattr(EveryPass, "most_passes", lambda self, n_passes: n_passes - 1)
        assert any("input moved" in sentence for sentence in self.found())

    def test_rows_drawn_with_replacement(self, monkeypatch):
        def drawn(self, rng):
            edges = np.arange(0, N + 1, 4)
            for _ in range(self.n_passes):
                yield Pass(np.zeros(N, dtype=np.int64), edges)

        monkeypatch.setattr(StableRun, "passes", drawn)
        assert any("input moved" in sentence for sentence in self.found())

    def test_a_divisor_that_follows_the_batch(self, monkeypatch):
        """A short last batch, averaged over its own length."""

        def short(self, rng):
            for _ in range(self.n_passes):
                yield Pass(np.arange(N)[::-1].copy(), np.array([0, 11, 12]))

        from skdp.training import stable_numpy

        true = stable_numpy.add_gradients

        def averaged(records, w, batch, factor):
            true(records, w, batch, factor * 11 / len(batch))

        monkeypatch.setattr(StableRun, "passes", short)
        monkeypatch.setattr(stable_numpy, "add_gradients", averaged)
        self._plain(monkeypatch)
        assert any("input moved" in sentence for sentence in self.found(batch_size=11))

    def test_rows_that_are_not_clipped(self, monkeypatch):
        module = "skdp.linear_model.stable_sgd_model.clipped_rows"
        monkeypatch.setattr(module, lambda estimator, X: 5 * X)
        assert any("input moved" in sentence for sentence in self.found(alpha=200.0))

    def test_a_constant_column_that_does_not_count(self, monkeypatch):
        monkeypatch.setattr(Domain, "kappa", property(lambda self: self.row_norm))
        y_other = np.array([0, *self.y[1:]])
        model = StableSGDClassifier(
            "huber_hinge", alpha=80.0, intercept_scaling=3.0, classes=(0, 1), random_state=0
        )
        found = violations(model, (self.X, self.y), (self.X, y_other))
        assert any("input moved" in sentence for sentence in found)

    def test_steps_that_look_at_the_data(self, monkeypatch):
        """A schedule that halves when the loss rises, as in SGDClassifier's "adaptive"."""
        true = InverseStep.sizes

        def peeking(self, n_steps, facts):
            return true(self, n_steps, facts) * (1.0 if TestPlantedBugs.calm else 0.5)

        import skdp.linear_model.stable_sgd as module

        admit = module.admit_training

        def look(model, X, y, **how):
            TestPlantedBugs.calm = X[0, 0] > 0
            return admit(model, X, y, **how)

        monkeypatch.setattr(TestPlantedBugs, "calm", True, raising=False)
        monkeypatch.setattr(module, "admit_training", look)
        monkeypatch.setattr(InverseStep, "sizes", peeking)
        assert any("became" in sentence for sentence in self.found())

    def _plain(self, monkeypatch):
        from skdp.training import stable_descent

        plain = stable_descent._NumpyRunner
        monkeypatch.setattr(stable_descent, "_runner", lambda descent, X: plain(descent, X))


def test_every_combination_of_container_and_weight_is_quiet():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, D))
    X_other = X.copy()
    X_other[0] = -7.0
    y = np.arange(N) % 2
    weight = rng.uniform(0, 3, size=N)
    for container, intercept in itertools.product((np.asarray, sparse.csr_matrix, np.float32),
                                                  (True, False)):  # fmt: skip
        model = StableSGDClassifier(
            alpha=0.2, fit_intercept=intercept, classes=(0, 1), max_sample_weight=2.0,
            random_state=1,
        )  # fmt: skip
        data, neighbour = (container(X), y, weight), (container(X_other), y, weight)
        assert violations(model, data, neighbour) == []

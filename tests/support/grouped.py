"""Estimators that protect groups, and data sets that differ in a whole group."""

import numpy as np
from sklearn.linear_model import ElasticNet, LogisticRegression
from sklearn.svm import LinearSVC

from skdp.linear_model import (
    PrivateElasticNet,
    PrivateElasticNetClassifier,
    SparseDPSGDClassifier,
    SparseDPSGDRegressor,
    StableSGDClassifier,
    StableSGDRegressor,
)
from skdp.meta import StabilityOutputPerturbation
from skdp.neural_network import PrivateMLPClassifier, PrivateMLPRegressor

#: Groups, and most rows of each.
G, M = 8, 3


class PairsOfRows:
    """Takes two rows after the other for a group, so that scikit-learn's checks can fit it."""

    def fit(self, X, y):
        n_rows = X.shape[0] if hasattr(X, "shape") else len(np.asarray(X))
        return super().fit(X, y, groups=np.arange(n_rows) // 2)

    @property
    def partial_fit(self):
        raise AttributeError("There are no chunks of groups.")


class GroupedElasticNet(PairsOfRows, PrivateElasticNetClassifier):
    """Of pairs."""


class GroupedDPSGD(PairsOfRows, SparseDPSGDClassifier):
    """Of pairs."""


class GroupedStableSGD(PairsOfRows, StableSGDRegressor):
    """Of pairs."""


class GroupedMLP(PairsOfRows, PrivateMLPClassifier):
    """Of pairs, of which no components are released: scikit-learn's checks ask for one."""

    @property
    def n_components(self):
        return self.__dict__["n_components"]

    @n_components.setter
    def n_components(self, value):
        self.__dict__["n_components"] = "auto" if isinstance(value, int) and value == 1 else value


def checked():
    """One instance of each way to bound the rows of a group, for scikit-learn's checks."""
    for cls in (GroupedElasticNet, GroupedDPSGD, GroupedStableSGD, GroupedMLP):
        yield cls(max_rows_per_group=2)


def grouped():
    """Estimators whose `fit` takes groups, each way to bound their rows first."""
    given = {"max_rows_per_group": M, "n_groups": G}
    for loss in ("log_loss", "huber_hinge", "squared_hinge"):
        yield PrivateElasticNetClassifier(loss, alpha=2.0, classes=(0, 1), **given)
    yield PrivateElasticNet(alpha=2.0, **given)
    for loss in ("log_loss", "hinge"):
        yield StableSGDClassifier(loss, alpha=0.5, classes=(0, 1), random_state=0, **given)
    yield StableSGDRegressor("squared_error", y_bound=2.0, batch_size=5, random_state=0, **given)
    for model in (
        LogisticRegression(C=0.02),
        LinearSVC(loss="hinge", C=0.01, class_weight={0: 2.0, 1: 0.5}),
    ):
        yield StabilityOutputPerturbation(model, **given)
    yield StabilityOutputPerturbation(ElasticNet(0.5), y_bound=2.0, **given)


def private_sgd():
    """DP-SGD estimators of groups: the defaults first, then each selector and sampling."""
    given = {
        "max_rows_per_group": M, "n_groups": G, "epsilon": 2.0, "delta": 1e-3, "n_epochs": 2,
        "random_state": 11,
    }  # fmt: skip
    batch = {"batch_size": 3}
    yield SparseDPSGDClassifier(classes=(0, 1), **given, **batch)
    yield SparseDPSGDRegressor(alpha=0.1, fit_intercept=False, **given, **batch)
    yield SparseDPSGDClassifier(classes=(0, 1), sampling="shuffled", **given, **batch)
    yield SparseDPSGDClassifier(classes=(0, 1), sampling="full", optimizer="adam", **given)
    for selector in ("gaussian", "exponential", "noisy_max", "sparse_vector", "adafest"):
        yield SparseDPSGDClassifier(
            classes=(0, 1), selector=selector, n_selected=2, **given, **batch
        )
    yield SparseDPSGDClassifier(
        classes=(0, 1), selector="gaussian", n_selected=2, selected_grad_norm=0.4, **given, **batch
    )


def networks():
    """Networks of groups: the defaults first, then a centre and each sampling."""
    given = {
        "hidden_layer_sizes": (4,), "max_rows_per_group": M, "n_groups": G, "epsilon": 2.0,
        "delta": 1e-3, "n_epochs": 2, "random_state": 11,
    }  # fmt: skip
    yield PrivateMLPClassifier(classes=(0, 1), batch_size=3, **given)
    yield PrivateMLPClassifier(classes=(0, 1), batch_size=3, center="private", **given)
    yield PrivateMLPClassifier(classes=(0, 1), batch_size=3, sampling="shuffled", **given)
    yield PrivateMLPRegressor(sampling="full", **given)


def without_the_last(n_rows, rng, n_features=3):
    """Rows of G groups in a table, and the same without the rows of the group that comes last.

    The others keep their places, so that a seeded run draws the same groups in both.
    """
    X = rng.normal(size=(4 * G, n_features))
    groups = np.repeat(np.arange(G), 4)
    X, groups = X[: 4 * (G - 1) + n_rows], groups[: 4 * (G - 1) + n_rows]
    y = np.arange(len(X)) % 2
    rest = groups < G - 1
    return (X, y, groups), (X[rest], y[rest], groups[rest])


def replaced(n_rows, rng, n_features=3):
    """As `without_the_last`, but the last group has `n_rows` opposed rows in the other table."""
    (X, y, groups), (X_rest, y_rest, rest) = without_the_last(4, rng, n_features)
    X_other = np.vstack([X_rest, np.tile(-3 * X[-1:], (n_rows, 1))])
    y_other = np.append(y_rest, np.full(n_rows, 1 - y[-1]))
    return (X, y, groups), (X_other, y_other, np.append(rest, np.full(n_rows, G - 1)))

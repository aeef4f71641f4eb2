"""Pairs of data sets that differ in row 0, and what a fit hands to its mechanism on each."""

from dataclasses import dataclass, field

import numpy as np

from skdp.audit.replay import recorded
from skdp.linear_model import PrivateElasticNet, PrivateElasticNetClassifier
from skdp.objectives import (
    Huber,
    HuberHinge,
    LogCosh,
    Logistic,
    Multinomial,
    Squared,
    SquaredHinge,
)


@dataclass(frozen=True)
class Case:
    """A loss, the estimator that minimises it, and the labels that pull hardest."""

    loss: object
    estimator: type
    parameters: dict = field(default_factory=dict)
    labels: tuple = (0, 1)

    def make(self, **parameters):
        """Return the estimator; pure noise for L2 bounds unless told otherwise."""
        return self.estimator(**{"noise": "l2_laplace", **self.parameters, **parameters})

    def draw_labels(self, rng, n):
        if self.estimator is PrivateElasticNet:
            return rng.uniform(min(self.labels), max(self.labels), size=n)
        return rng.choice(self.labels, size=n)


def _binary(loss, name):
    return Case(loss, PrivateElasticNetClassifier, {"loss": name, "classes": (0, 1)})


def softmax_case(n_classes):
    """Return multinomial logistic regression for so many classes."""
    labels = tuple(range(n_classes))
    return Case(Multinomial(n_classes), PrivateElasticNetClassifier, {"classes": labels}, labels)


Y_BOUND = 2.0

#: One entry for each public loss.
CASES = {
    "log_loss": _binary(Logistic(), "log_loss"),
    "softmax": softmax_case(3),
    "huber_hinge": _binary(HuberHinge(), "huber_hinge"),
    "squared_hinge": _binary(SquaredHinge(), "squared_hinge"),
    "huber": Case(Huber(), PrivateElasticNet, {"loss": "huber"}, (-50.0, 50.0)),
    "log_cosh": Case(LogCosh(), PrivateElasticNet, {"loss": "log_cosh"}, (-50.0, 50.0)),
    "squared_error": Case(
        Squared(Y_BOUND),
        PrivateElasticNet,
        {"loss": "squared_error", "y_bound": Y_BOUND},
        (-Y_BOUND, Y_BOUND),
    ),
}


def moved(estimator, data, neighbour):
    """Return the L2 distance of the exact values of two fits, and their mechanism."""
    mechanism, first = recorded(estimator, data)
    other, second = recorded(estimator, neighbour)
    assert other == mechanism
    return float(np.linalg.norm(first - second)), mechanism


def mirror_pair(n, bulk, labels, angle, changed):
    """Rows ``(bulk, 0)`` with `labels` in turn; row 0 is a unit vector at +-`angle` to them.

    `changed` are the labels of row 0 in the two data sets.
    """
    X = np.tile([[float(bulk), 0.0]], (n, 1))
    y = np.resize(np.asarray(labels), n)
    X_other, y_other = X.copy(), y.copy()
    X[0] = np.cos(angle), np.sin(angle)
    X_other[0] = np.cos(angle), -np.sin(angle)
    y[0], y_other[0] = changed
    return (X, y), (X_other, y_other)


def hostile_pairs(case, rng, n, n_features, max_weight):
    """Yield random and adversarial pairs ``((X, y, weight), (X', y', weight'))``."""
    for kind in ("random", "long", "all alike", "empty", "opposed", "one label"):
        X = rng.normal(size=(n, n_features)) * (30.0 if kind == "long" else 1.0)
        if kind == "all alike":
            X[:] = X[0]
        if kind == "empty":
            X[1:] = 0.0
        y = case.draw_labels(rng, n)
        if kind == "one label":
            y[:] = case.labels[-1]
        X_other, y_other = X.copy(), y.copy()
        X_other[0] = -X[0] if kind in ("opposed", "empty") else rng.normal(size=n_features) * 9.0
        y[0], y_other[0] = case.labels[-1], case.labels[int(rng.integers(2)) - 1]
        weight = rng.choice([0.0, 0.3, 1.0, 5.0], size=n) * max_weight
        weight[-1] = max_weight  # weights that are all 0 are not admitted
        other_weight = weight.copy()
        weight[0], other_weight[0] = max_weight, rng.choice([0.0, 1.0]) * max_weight
        yield (X, y, weight), (X_other, y_other, other_weight)

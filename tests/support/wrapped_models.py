"""A model of each registered class, with each loss and option that has a bound of its own."""

from dataclasses import dataclass, field

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.linear_model import (
    ElasticNet,
    LogisticRegression,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    SGDRegressor,
)
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

from skdp.meta import StabilityOutputPerturbation

Y_BOUND = 2.0


@dataclass(frozen=True)
class Wrapped:
    """A model to wrap, labels that fit it, and the parameters that the wrapper needs.

    Parameters
    ----------
    strength : callable
        Maps strong convexity and number of rows to the parameter of the penalty.
    """

    model: object
    strength: object
    labels: tuple = (0, 1)
    wrapper: dict = field(default_factory=dict)

    @property
    def classifies(self):
        return is_classifier(self.model)

    def make(self, strong_convexity=None, n=None, **parameters):
        """Return the wrapper around a copy with this strong convexity for n rows."""
        given = {"noise": "l2_laplace", **self.wrapper, **parameters}
        wrapper = StabilityOutputPerturbation(clone(self.model), **given)
        if strong_convexity is not None:
            changes = self.strength(strong_convexity, n)
            wrapper.set_params(**{f"estimator__{k}": v for k, v in changes.items()})
        return wrapper

    def draw_labels(self, rng, n):
        if self.wrapper.get("y_bound") is not None or self.labels == (-50.0, 50.0):
            return rng.uniform(min(self.labels), max(self.labels), size=n)
        return rng.choice(self.labels, size=n)


def inverse_of_sum(strong_convexity, n):
    return {"C": 1 / (strong_convexity * n)}


def beside_sum(strong_convexity, n):
    return {"alpha": strong_convexity * n}


def beside_mean(strong_convexity, n):
    return {"alpha": strong_convexity}


def _elastic(share):
    def strength(strong_convexity, n):
        return {"alpha": strong_convexity / (1 - share)}

    return strength


def _elastic_sum(share):
    def strength(strong_convexity, n):
        return {"C": (1 - share) / (strong_convexity * n)}

    return strength


BOUNDED = {"y_bound": Y_BOUND}
NUMBERS = (-Y_BOUND, Y_BOUND)
UNBOUNDED = (-50.0, 50.0)
THREE = (0, 1, 2)


def _svr(**parameters):
    return LinearSVR(max_iter=10**5, **parameters)


#: One entry for each loss and each kind of labels of each class in the registry.
MODELS = {
    "logistic": Wrapped(LogisticRegression(), inverse_of_sum),
    "logistic, liblinear": Wrapped(
        LogisticRegression(solver="liblinear", intercept_scaling=2.0), inverse_of_sum
    ),
    "logistic, elastic": Wrapped(
        LogisticRegression(l1_ratio=0.3, solver="saga"), _elastic_sum(0.3)
    ),
    "logistic, weights": Wrapped(LogisticRegression(class_weight={0: 3.0}), inverse_of_sum),
    "softmax": Wrapped(LogisticRegression(), inverse_of_sum, THREE),
    "softmax, weights": Wrapped(LogisticRegression(class_weight={2: 4.0}), inverse_of_sum, THREE),
    "squared hinge": Wrapped(LinearSVC(intercept_scaling=0.5), inverse_of_sum),
    "squared hinge, three": Wrapped(LinearSVC(), inverse_of_sum, THREE),
    "squared hinge, three, weights": Wrapped(
        LinearSVC(class_weight={0: 3.0, 1: 0.2}), inverse_of_sum, THREE
    ),
    "hinge": Wrapped(LinearSVC(loss="hinge"), inverse_of_sum),
    "hinge, three": Wrapped(LinearSVC(loss="hinge"), inverse_of_sum, THREE),
    "SVC": Wrapped(SVC(kernel="linear", class_weight={1: 2.0}), inverse_of_sum),
    "SVR": Wrapped(SVR(kernel="linear"), inverse_of_sum, UNBOUNDED),
    "epsilon-insensitive": Wrapped(_svr(epsilon=0.1), inverse_of_sum, UNBOUNDED),
    "epsilon-insensitive, bounded": Wrapped(_svr(epsilon=0.1), inverse_of_sum, NUMBERS, BOUNDED),
    "squared epsilon-insensitive": Wrapped(
        _svr(epsilon=0.1, loss="squared_epsilon_insensitive"), inverse_of_sum, NUMBERS, BOUNDED
    ),
    "ridge": Wrapped(Ridge(), beside_sum, NUMBERS, BOUNDED),
    "ridge classes": Wrapped(RidgeClassifier(), beside_sum),
    "ridge classes, three": Wrapped(RidgeClassifier(class_weight={0: 2.0}), beside_sum, THREE),
    "elastic net": Wrapped(ElasticNet(l1_ratio=0.3), _elastic(0.3), NUMBERS, BOUNDED),
    "SGD hinge": Wrapped(SGDClassifier(), beside_mean),
    "SGD logistic, three": Wrapped(SGDClassifier(loss="log_loss"), beside_mean, THREE),
    "SGD squared hinge, elastic": Wrapped(
        SGDClassifier(loss="squared_hinge", penalty="elasticnet", l1_ratio=0.3), _elastic(0.3)
    ),
    "SGD modified Huber": Wrapped(SGDClassifier(loss="modified_huber"), beside_mean),
    "SGD modified Huber, three, weights": Wrapped(
        SGDClassifier(loss="modified_huber", class_weight={1: 3.0}), beside_mean, THREE
    ),
    "SGD squared error on classes": Wrapped(SGDClassifier(loss="squared_error"), beside_mean),
    "SGD squared error": Wrapped(SGDRegressor(), beside_mean, NUMBERS, BOUNDED),
    "SGD Huber": Wrapped(SGDRegressor(loss="huber", epsilon=0.5), beside_mean, UNBOUNDED),
    "SGD epsilon-insensitive": Wrapped(
        SGDRegressor(loss="epsilon_insensitive"), beside_mean, UNBOUNDED
    ),
    "SGD squared epsilon-insensitive": Wrapped(
        SGDRegressor(loss="squared_epsilon_insensitive"), beside_mean, NUMBERS, BOUNDED
    ),
}


def without_intercept(model):
    """Return a copy without intercept, or None where the class has no such parameter."""
    if "fit_intercept" not in model.get_params():
        return None
    return clone(model).set_params(fit_intercept=False)


def rows_and_labels(case, n=40, n_features=3, seed=0):
    """Return rows, some of them long, and labels that the rows have something to say about."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    scores = X @ np.linspace(1, -1, n_features) + 0.5 * rng.normal(size=n)
    if not case.classifies:
        return X, np.clip(scores, *((-2, 2) if case.wrapper else (-50, 50)))
    edges = np.quantile(scores, np.arange(1, len(case.labels)) / len(case.labels))
    return X, np.array(case.labels)[np.digitize(scores, edges)]

"""What benchmarks/audits.py audits: our estimators, and the peers' with their known faults."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from skdp.audit import NeighbouringPair, worst_case_neighbours

#: Pairs that show most, in this order; the first that an estimator has is audited.
TELLING = ("row nulled", "row removed", "value that decides", "another label", "row turned round")


@dataclass(frozen=True)
class Case:
    """An estimator, and on which pair it is audited."""

    library: str
    name: str
    estimator: Any
    pair: NeighbouringPair
    n_fits: int
    only_fits: bool = False


def tight() -> Iterator[Case]:
    """Where theory says how near an attack comes: all the way, or by the slack of the constant."""
    from skdp.linear_model import PrivateElasticNetClassifier, SparseDPSGDClassifier

    given = {"alpha": 8.0, "l1_ratio": 0.0, "classes": [0, 1], "fit_intercept": False}
    for loss, said in (
        ("huber_hinge", "sensitivity attained"),
        ("log_loss", "constant 3 % too large"),
    ):
        model = PrivateElasticNetClassifier(loss, **given)
        yield Case(
            "skdp",
            f"output perturbation, {loss}: {said}",
            model,
            _named(model, "another label"),
            6000,
            only_fits=True,
        )
    weak = PrivateElasticNetClassifier("log_loss", **{**given, "alpha": 0.1})
    yield Case(
        "skdp",
        "output perturbation, log_loss, alpha 0.1: slack of the constant",
        weak,
        _named(weak, "row turned round"),
        4000,
    )
    step = SparseDPSGDClassifier(
        epsilon=3.0, delta=1e-5, fit_intercept=False, sampling="full", n_epochs=1, selector=None
    )
    yield Case("skdp", "one step of private SGD", step, _named(step, "row nulled"), 4000)


def released_once(n_fits: int) -> Iterator[Case]:
    """Output perturbation, with each loss, noise and option that the tests go over."""
    from tests.support import instances

    yield from _listed((instances.classifiers, instances.regressors), n_fits)


def trained(n_fits: int) -> Iterator[Case]:
    """Private and stable SGD, and networks, which are audited with two hidden units."""
    from tests.support import instances

    yield from _listed((instances.private_sgd, instances.stable_sgd), n_fits)
    for network in instances.NETWORKS:
        small = clone(network).set_params(hidden_layer_sizes=(2,))
        yield from _most_telling(small, n_fits // 2)


def others(n_fits: int) -> Iterator[Case]:
    """Ridge models, wrappers and transformers."""
    from tests.support import instances

    yield from _listed((instances.ridges, instances.wrappers, instances.transformers), n_fits)


def _listed(groups: Any, n_fits: int) -> Iterator[Case]:
    for group in groups:
        for estimator in group():
            yield from _most_telling(estimator, n_fits)


def _most_telling(estimator: Any, n_fits: int) -> Iterator[Case]:
    pairs = {pair.name: pair for pair in worst_case_neighbours(estimator)}
    for name in [name for name in TELLING if name in pairs][:1]:
        yield Case("skdp", str(estimator).replace("\n", " "), estimator, pairs[name], n_fits)


def diffprivlib() -> Iterator[Case]:
    """Its logistic regression, whose faults are those of privacy proofs that assume too much."""
    from diffprivlib.models import LogisticRegression

    default = LogisticRegression(epsilon=1.0, data_norm=1.0)
    yield Case(
        "diffprivlib",
        "LogisticRegression(data_norm=1)",
        default,
        _named(default, "the only row near the boundary"),
        4000,
    )
    long = LogisticRegression(epsilon=1.0, data_norm=1000.0, fit_intercept=False)
    yield Case(
        "diffprivlib",
        "LogisticRegression(data_norm=1000, fit_intercept=False)",
        long,
        _named(long, "one long row among empty ones"),
        5000,
    )
    sound = LogisticRegression(epsilon=1.0, data_norm=1.0, fit_intercept=False)
    yield Case(
        "diffprivlib",
        "LogisticRegression(data_norm=1, fit_intercept=False)",
        sound,
        _named(sound, "another label"),
        2000,
    )


class BoltOn(ClassifierMixin, BaseEstimator):
    """The rule of TensorFlow Privacy's BoltOn: SGD, then noise for 2 L/(gamma n batch_size).

    With steps 1/(gamma t) the sensitivity is 2 L/(gamma n) whatever the batch size (Wu et al. 2017
    divide by it for constant steps). Written anew here, with fresh noise for each fit.
    """

    def __init__(
        self, epsilon=1.0, gamma=1.0, batch_size=5, n_epochs=2, divided=True, random_state=None
    ):
        self.epsilon, self.gamma, self.batch_size = epsilon, gamma, batch_size
        self.n_epochs, self.divided, self.random_state = n_epochs, divided, random_state

    def fit(self, X, y):
        """Run SGD on the logistic loss in the order of the rows and add L2-Laplace noise."""
        rng = np.random.default_rng(self.random_state)
        X, sign = np.asarray(X, dtype=float), 2.0 * np.asarray(y) - 1
        X = X / np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))
        w, t = np.zeros(X.shape[1]), 0
        for _ in range(self.n_epochs):
            for start in range(0, len(X), self.batch_size):
                rows, signs = (
                    X[start : start + self.batch_size],
                    sign[start : start + self.batch_size],
                )
                t += 1
                pull = -(signs / (1 + np.exp(signs * (rows @ w)))) @ rows / len(rows)
                w = w - (pull + self.gamma * w) / (self.gamma * t)
        sensitivity = 2 / (self.gamma * len(X)) / (self.batch_size if self.divided else 1)
        direction = rng.normal(size=len(w))
        direction /= np.linalg.norm(direction)
        self.coef_ = (w + direction * rng.gamma(len(w), sensitivity / self.epsilon))[None]
        return self


def bolt_on() -> Iterator[Case]:
    """The rule as it is, and as its theorem has it."""
    for divided, said in (
        (True, "2L/(gamma n b), as in TensorFlow Privacy"),
        (False, "2L/(gamma n), as proved"),
    ):
        model = BoltOn(divided=divided)
        pair = next(p for p in worst_case_neighbours(model) if p.name == "another label")
        yield Case("BoltOn rule", said, model, pair, 1000)


def _named(estimator: Any, name: str) -> NeighbouringPair:
    return next(pair for pair in worst_case_neighbours(estimator) if pair.name == name)

"""What benchmarks/audits.py audits: our estimators, and the peers' with their known faults."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from skdp.audit import NeighbouringPair, worst_case_neighbours

#: Pairs that show most, in this order; the first that an estimator has is audited.
TELLING = (
    "row nulled",
    "row removed",
    "value that decides, removed",
    "value that decides",
    "another label",
    "row turned round",
)
#: A run of two steps, at a budget at which a record shows.
SHORT = {"epsilon": 3.0, "delta": 1e-5, "n_epochs": 1, "batch_size": 5}


@dataclass(frozen=True)
class Case:
    """An estimator, and on which pair it is audited.

    Attributes
    ----------
    theory : float or None
        What an attacker of such a pair could show with fits without end.
    control : estimator or None
        The same with `noise_share` of the noise: it must be accused of what is claimed, by
        `control_fits` fits on either side, and by an event of its own where that is given.
    """

    library: str
    name: str
    estimator: Any
    pair: NeighbouringPair
    n_fits: int
    only_fits: bool = False
    theory: float | None = None
    control: Any = None
    noise_share: float | None = None
    control_fits: int = 0
    control_event: Any = None


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

    for group in (instances.classifiers, instances.regressors):
        for estimator in group():
            if estimator.perturbation != "objective":
                yield from _most_telling(estimator, n_fits)


def tilted(n_fits: int) -> Iterator[Case]:
    """Objective perturbation, whose releases are solved for one by one."""
    from tests.support import instances

    for group in (instances.classifiers, instances.regressors):
        for estimator in group():
            if estimator.perturbation == "objective":
                yield from _most_telling(estimator, n_fits)


def stable(n_fits: int) -> Iterator[Case]:
    """SGD that is stable, with noise at its end."""
    from tests.support import instances

    yield from _listed((instances.stable_sgd,), n_fits)


def private_sgd(n_fits: int) -> Iterator[Case]:
    """Few steps, so that others do not hide what one record did, without a constant column."""
    from tests.support import instances

    short = {**SHORT, "fit_intercept": False}
    for estimator in instances.private_sgd():
        estimator = clone(estimator).set_params(**short)
        if estimator.selector != "auto":  # one step, which selects once
            estimator.set_params(sampling="full")
        yield from _most_telling(_run(estimator), n_fits)


def networks(n_fits: int) -> Iterator[Case]:
    """Networks with two hidden units, with each sampling and optimiser; few steps."""
    from skdp.neural_network import PrivateMLPClassifier, PrivateMLPRegressor

    small = {**SHORT, "hidden_layer_sizes": (2,)}
    for options in (
        {},
        {"sampling": "shuffled"},
        {"sampling": "full"},
        {"optimizer": "sgd"},
        {"optimizer": "adam"},
        {"activation": "tanh", "average": False},
        {"n_components": 1},
    ):
        yield from _most_telling(_run(PrivateMLPClassifier(**small, **options)), n_fits)
    yield from _most_telling(PrivateMLPRegressor(**small), n_fits)


def others(n_fits: int) -> Iterator[Case]:
    """Ridge models, wrappers, and a pipeline."""
    from skdp.linear_model import PrivateRidge
    from skdp.pipeline import make_private_pipeline
    from skdp.preprocessing import PrivateStandardScaler
    from tests.support import instances

    for group in (instances.ridges, instances.wrappers):
        for estimator in group():
            if getattr(estimator, "mechanism", "auto") != "descent":
                yield from _most_telling(estimator, n_fits)
    scaler = PrivateStandardScaler((-1.0, 1.0), neighbours="add-or-remove-one")
    pipeline = make_private_pipeline(scaler, PrivateRidge(), epsilon=3.0, delta=1e-5)
    pair = _named(PrivateRidge(), "row removed")
    yield Case("skdp", one_line(pipeline), pipeline, pair, n_fits)


def transformers(n_fits: int) -> Iterator[Case]:
    """Transformers, each on rows that its own statistic is moved most by."""
    from skdp.feature_selection import PrivateSelectFromModel
    from skdp.linear_model import PrivateElasticNetClassifier
    from tests.support import instances

    for estimator in instances.transformers():
        if isinstance(estimator, PrivateSelectFromModel):
            model = PrivateElasticNetClassifier(threshold="auto")
            yield from _most_telling(PrivateSelectFromModel(model), n_fits)
            continue
        # Several quantiles share it.
        estimator = clone(estimator).set_params(epsilon=6.0 if _has_points(estimator) else 3.0)
        if hasattr(estimator, "k"):
            estimator.set_params(k=1)
        make = _PAIRS.get(type(estimator).__name__)
        make = None if getattr(estimator, "method", None) == "moments" else make
        if make is None:
            yield from _most_telling(estimator, n_fits)
        else:
            yield Case("skdp", one_line(estimator), estimator, make(estimator), n_fits)


def _run(estimator: Any) -> Any:
    return estimator if estimator.sampling != "full" else estimator.set_params(batch_size="auto")


def _listed(groups: Any, n_fits: int) -> Iterator[Case]:
    for group in groups:
        for estimator in group():
            yield from _most_telling(estimator, n_fits)


def _most_telling(estimator: Any, n_fits: int) -> Iterator[Case]:
    found = worst_case_neighbours(estimator)
    pairs = {pair.name: pair for pair in found if pair.distance == 1}
    pairs = pairs or {pair.name: pair for pair in found}
    for name in [name for name in TELLING if name in pairs][:1]:
        yield Case("skdp", one_line(estimator), estimator, pairs[name], n_fits)


def _has_points(estimator: Any) -> bool:
    return hasattr(estimator, "n_points") and getattr(estimator, "method", None) != "moments"


def one_line(estimator: Any) -> str:
    return " ".join(str(estimator).split())


def _of_directions(estimator: Any) -> NeighbouringPair:
    """One row in one direction, or in another one, or a row of zeros: of second moments."""
    centre = 0.5 if estimator.center == 0.5 else 0.0
    first, second = np.zeros((10, 2)) + centre, np.zeros((10, 2)) + centre
    first[0] += np.sqrt(0.5)
    if estimator.neighbours == "zero-out" and estimator.center is None:
        return NeighbouringPair("row nulled", (first,), (second,), "noise that is missing")
    second[0] += np.sqrt(0.5), -np.sqrt(0.5)
    distance = 1 if estimator.neighbours == "replace-one" else 2
    return NeighbouringPair("row turned by a right angle", (first,), (second,), "", distance)


def _of_scores(estimator: Any) -> NeighbouringPair:
    """Two columns with the same score but for one row, which is for the one or for the other."""
    y = np.resize([1, 0], 10)
    first = np.repeat(2.0 * y[:, None] - 1, 2, axis=1)
    second = first.copy()
    first[0], second[0] = (1.0, -1.0), (-1.0, 1.0)
    return NeighbouringPair("row that decides", (first, y), (second, y), "a choice without noise")


def _of_counts(estimator: Any) -> NeighbouringPair:
    """Two categories that just reach the threshold, if the row has them."""
    probe = clone(estimator).fit(np.array([["a"]] * 4 + [["b"]] * 4))
    n = round(probe.threshold_)
    first = np.array([["a"]] * n + [["b"]] * n)
    second = first.copy()
    second[0] = "b"
    distance = 1 if estimator.neighbours == "replace-one" else 2
    return NeighbouringPair(
        "category that decides", (first,), (second,), "", distance, release=Columns()
    )


@dataclass(frozen=True)
class Columns:
    """Noisy counts of two categories, 0 for one that does not show."""

    def __call__(self, model: Any) -> Any:
        """Return the counts, shape (2,)."""
        found = dict(zip(model.categories_[0], model.counts_[0], strict=True))
        return np.array([found.get("a", 0.0), found.get("b", 0.0)])


def _of_ranks(estimator: Any) -> NeighbouringPair:
    """One value at the low end or at the high one.

    Others lie behind a quarter of the points that may be released, or at the far end, so that ranks
    before and behind are equally far from the one sought. For high quantiles the other way round.
    """
    from skdp.preprocessing.quantile_release import log_points

    low, high = estimator.bounds
    low = 0.0 if getattr(estimator, "target", "columns") == "row_norm" else low
    points = log_points(np.array([low]), np.array([high]), estimator.n_points)[:, 0]
    level, n = _lowest_level(estimator), 20
    quarter = len(points) // 4
    ends, near, share = (low, high), points[quarter - 1 : quarter + 1].mean(), level
    if level > 0.5:
        ends, near, share = (high, low), points[-quarter - 1 : 1 - quarter].mean(), 1 - level
    first = np.full((n, 1), ends[1])
    first[1 : 2 * max(1, round(n * share))] = near
    second = first.copy()
    first[0] = ends[0]
    distance = 1 if estimator.neighbours == "replace-one" else 2
    return NeighbouringPair("rank that decides", (first,), (second,), "", distance)


def _lowest_level(estimator: Any) -> float:
    levels = getattr(estimator, "quantiles", 0.5)
    if levels is None:
        return 0.1
    return 0.25 if getattr(estimator, "method", None) == "quartiles" else float(np.min(levels))


_PAIRS = {
    "PrivateImputer": _of_ranks,
    "PrivateQuantileClipper": _of_ranks,
    "PrivateMinMaxScaler": _of_ranks,
    "PrivateStandardScaler": _of_ranks,
    "PrivatePCA": _of_directions,
    "PrivateSelectKBest": _of_scores,
    "PrivateOneHotEncoder": _of_counts,
}


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

"""Every entry of the registry: no pair of neighbours passes its bound, and some come near it.

The exact values are what the wrapper hands to its mechanism before any noise.
"""

import itertools

import numpy as np
import pytest

from tests.support.neighbours import hostile_pairs, moved
from tests.support.wrapped_models import MODELS, without_intercept

each_model = pytest.mark.parametrize("name", MODELS)


def with_every_class(case, data):
    """Append two rows of each class: the wrapper takes the set of classes from y."""
    X, y = data[:2]
    if not case.classifies:
        return X, y
    more = np.repeat(case.labels, 2)
    rows = np.tile(np.linspace(-0.5, 0.5, len(more))[:, None], (1, X.shape[1]))
    return np.vstack((X, rows)), np.concatenate((y, more))


def variants(case, strong_convexity, n, **parameters):
    """The wrapper with the model's intercept and, where it can be left out, without."""
    yield case.make(strong_convexity, n, **parameters)
    if without_intercept(case.model) is not None:
        wrapper = case.make(strong_convexity, n, **parameters)
        yield wrapper.set_params(estimator__fit_intercept=False)


def search(name, seed, draws, n_features, kinds=6):
    """Return the largest share of its bound that hostile pairs of a model reach."""
    case, rng, largest = MODELS[name], np.random.default_rng(seed), 0.0
    for _ in range(draws):
        n, strong_convexity = int(rng.integers(2, 7)), 10.0 ** rng.uniform(-1.7, 1.3)
        row_norm = float(rng.choice([0.3, 1.0, 4.0]))
        pairs = hostile_pairs(case, rng, n, n_features, 1.0)
        for data, neighbour in itertools.islice(pairs, kinds):
            first, second = (with_every_class(case, d) for d in (data, neighbour))
            for wrapper in variants(case, strong_convexity, len(first[1]), row_norm=row_norm):
                distance, mechanism = moved(wrapper, first, second)
                largest = max(largest, distance / mechanism.sensitivity.value)
    return largest


@each_model
def test_no_pair_of_neighbours_moves_the_minimiser_further_than_the_bound(name):
    assert search(name, seed=0, draws=1, n_features=2, kinds=3) <= 1.0


@pytest.mark.slow
@each_model
def test_no_pair_of_many_neighbours_moves_it_further(name):
    assert search(name, seed=1, draws=40, n_features=3) <= 1.0


# -------------------------------------------------------------------------------- worst cases


def worst_pairs(case, n, bulk):
    """Row 0 turns round, or changes its label; the others are `bulk`, most of one label."""
    majority = case.labels[-1]
    X = np.full((n, 1), float(bulk))
    X[0] = 1.0
    turned = X.copy()
    turned[0] = -1.0
    y = np.full(n, majority)
    y[1 : len(case.labels)] = case.labels[:-1]
    X[1 : len(case.labels)] = turned[1 : len(case.labels)] = 0.0
    for own in case.labels:
        y[0] = own
        yield (X, y.copy()), (turned, y.copy())
    other = y.copy()
    y[0], other[0] = case.labels[0], majority
    yield (X, y), (X, other)


def reached_by(name, strong_convexity, bulk, n=12):
    """Return the largest share of its bound that these pairs reach."""
    case = MODELS[name]
    return max(
        distance / mechanism.sensitivity.value
        for pair in worst_pairs(case, n, bulk)
        for wrapper in variants(case, strong_convexity, n)
        for distance, mechanism in [moved(wrapper, *pair)]
    )


#: Strong convexity, bulk, and the share of the bound that is reached where it is not 0.85.
WORST = {
    # Gradients of a softmax at 0 are a half of those far out, which the bound is for.
    "softmax": (40.0, 0.0, 0.5),
    "softmax, weights": (40.0, 0.0, 0.5),
    # A heavy record is heavy in its own problem, or on its feature, and not on the constant.
    "squared hinge, three, weights": (40.0, 0.0, 0.45),
    "SGD modified Huber, three, weights": (40.0, 0.0, 0.45),
    "SVC": (40.0, 0.0, 0.65),
    # An L1 part of this size keeps the minimiser at 0 unless all rows pull; then it is curved.
    "logistic, elastic": (0.3, 1.0, 0.3),
    "elastic net": (1.0, 1.0, 0.3),
    "SGD squared hinge, elastic": (1.0, 1.0, 0.2),
}


@each_model
def test_a_worst_case_comes_near_the_bound(name):
    strong_convexity, bulk, share = WORST.get(name, (40.0, 0.0, 0.85))
    assert share <= reached_by(name, strong_convexity, bulk) <= 1.0


@pytest.mark.slow
@each_model
def test_under_weaker_penalties_a_tenth_of_the_bound_is_reached_too(name):
    """Weaker still, squared losses have a bound for a radius that data with one row alone reach."""
    shares = [reached_by(name, 0.3, bulk, n=20) for bulk in (0.0, 0.3, 1.0)]
    assert 0.1 <= max(shares) <= 1.0


@pytest.mark.slow
@each_model
def test_climbing_from_the_worst_case_does_not_pass_the_bound(name):
    case, rng, n = MODELS[name], np.random.default_rng(2), 12
    for (X, y), (X_other, y_other) in worst_pairs(case, n, bulk=0.0):
        best = 0.0
        for scale in np.geomspace(0.5, 0.01, 60):
            step = rng.normal(scale=scale, size=X.shape)
            tried, tried_other = X + step, X_other + step
            tried_other[0] += rng.normal(scale=scale, size=1)
            wrapper = case.make(float(rng.choice([0.05, 1.0, 20.0])), n)
            distance, mechanism = moved(wrapper, (tried, y), (tried_other, y_other))
            share = distance / mechanism.sensitivity.value
            assert share <= 1.0
            if share > best:
                best, X, X_other = share, tried, tried_other

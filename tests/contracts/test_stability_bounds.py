"""Bounds on how far one record moves a minimiser, against minimisers of hostile data sets.

The minimisers are what the estimators hand to their mechanism before any noise.
"""

import inspect
import itertools
import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit

import skdp.objectives
from skdp.objectives import ElasticNet, HuberHinge, Logistic, Loss
from skdp.solvers import Certificate
from skdp.stability import Domain, GradientDiameterBound, PublishedBound, minimiser_sensitivity
from tests.support.neighbours import (
    CASES,
    hostile_pairs,
    mirror_pair,
    moved,
    recorded,
    softmax_case,
)

BOUNDS = {"tight": GradientDiameterBound(), "paper": PublishedBound()}


def penalty_of(l1, l2):
    """Return the parameters of an estimator with these two levels."""
    return {"alpha": l1 + l2, "l1_ratio": l1 / (l1 + l2)}


def test_every_public_loss_is_covered():
    public = {
        cls
        for _, cls in inspect.getmembers(skdp.objectives, inspect.isclass)
        if issubclass(cls, Loss) and not inspect.isabstract(cls)
    }
    assert public == {type(case.loss) for case in CASES.values()}


def sensitivities(case, parameters, n, n_features):
    """Sensitivity under each bound, from the public facts alone."""
    constant = parameters["intercept_scaling"] if parameters["fit_intercept"] else None
    domain = Domain(
        n, n_features, parameters["row_norm"], constant, parameters["max_sample_weight"]
    )
    penalty = ElasticNet(parameters["alpha"], parameters["l1_ratio"])
    certificate = Certificate(parameters["tol"], penalty.strong_convexity)
    return {
        name: minimiser_sensitivity(case.loss, penalty, certificate, domain, bound).value
        for name, bound in BOUNDS.items()
    }


def draw_parameters(rng, *, fit_intercept, l1_ratio, weighted):
    return {
        "alpha": 10.0 ** rng.uniform(-2, 1.3),
        "l1_ratio": rng.uniform(0.05, 0.9) if l1_ratio else 0.0,
        "row_norm": float(rng.choice([0.3, 1.0, 4.0])),
        "fit_intercept": fit_intercept,
        "intercept_scaling": float(rng.choice([0.2, 1.0, 3.0])),
        "max_sample_weight": float(rng.choice([0.5, 20.0])) if weighted else 1.0,
        "tol": float(rng.choice([1e-6, 1e-3])),
    }


@pytest.mark.parametrize("name", CASES)
def test_no_pair_of_neighbours_moves_the_minimiser_further_than_either_bound(name):
    case, rng = CASES[name], np.random.default_rng(0)
    for intercept, l1, weighted, _ in itertools.product(
        (True, False), (True, False), (True, False), range(2)
    ):
        parameters = draw_parameters(rng, fit_intercept=intercept, l1_ratio=l1, weighted=weighted)
        n, n_features = int(rng.integers(2, 8)), int(rng.integers(1, 4))
        claimed = sensitivities(case, parameters, n, n_features)
        weight = parameters["max_sample_weight"]
        for data, neighbour in hostile_pairs(case, rng, n, n_features, weight):
            distance, mechanism = moved(case.make(**parameters), data, neighbour)
            assert distance <= min(claimed.values())
            assert mechanism.sensitivity.value == claimed["tight"]


# (loss, l2, pair, share of the bound that the pair reaches). A pair: norm of the other rows and
# their labels, angle of row 0 to them and its labels. Strong penalties keep the minimiser near 0,
# where smooth losses are steep on both sides; under weak ones the minimiser makes room.
RIGHT = math.pi / 2
WORST = [
    ("huber_hinge", 1.0, (1.0, (1,), RIGHT, (1, 1)), 0.999),
    ("huber_hinge", 0.01, (0.4, (1,), math.pi - 1.1, (1, 1)), 0.85),
    ("huber", 1.0, (1.0, (50.0,), RIGHT, (50.0, 50.0)), 0.999),
    ("huber", 0.01, (0.2, (2.0,), 1.4, (-2.0, -2.0)), 0.95),
    ("log_loss", 100.0, (1.0, (1,), RIGHT, (1, 1)), 0.99),
    ("log_loss", 1.0, (1.0, (1,), math.pi - 1.4, (1, 1)), 0.80),
    ("log_loss", 0.01, (0.4, (1,), math.pi - 0.8, (1, 1)), 0.60),
    ("squared_hinge", 100.0, (1.0, (1,), RIGHT, (1, 1)), 0.97),
    ("squared_hinge", 1.0, (0.8, (1,), math.pi - 1.1, (1, 1)), 0.60),
    ("squared_error", 100.0, (1.0, (2.0,), RIGHT, (2.0, 2.0)), 0.98),
    ("squared_error", 1.0, (1.0, (2.0,), 1.1, (-2.0, -2.0)), 0.65),
    ("softmax", 1.0, (0.0, (0, 1, 2), RIGHT, (0, 0)), 0.55),
    ("softmax", 0.01, (0.5, (0,), 0.8, (1, 1)), 0.55),
]


@pytest.mark.parametrize(("name", "l2", "pair", "share"), WORST)
def test_the_worst_case_comes_near_the_bound(name, l2, pair, share):
    parameters = {"fit_intercept": False, **penalty_of(0.0, l2)}
    data = mirror_pair(40, *pair)
    distance, mechanism = moved(CASES[name].make(**parameters), *data)
    assert share <= distance / mechanism.sensitivity.value <= 1
    distance, published = moved(CASES[name].make(bound="paper", **parameters), *data)
    assert distance <= published.sensitivity.value / 2


def test_the_published_bound_for_the_logistic_loss_has_the_slope_of_the_whole_line():
    distance = PublishedBound().distance(Logistic(), ElasticNet(alpha=2.0), Domain(50, 3, 1.0))
    assert distance == pytest.approx(4 / (50 * 2.0))


@pytest.mark.parametrize("name", ["huber_hinge", "huber"])
def test_the_constant_column_and_the_weights_count_in_full(name):
    case = CASES[name]
    weights = {"max_sample_weight": 7.0, "alpha": 70.0, "l1_ratio": 0.0, "intercept_scaling": 2.0}
    X, y = np.zeros((10, 1)), np.full(10, case.labels[1])
    X[0], y_other = 1.0, y.copy()
    y_other[0] = case.labels[0]
    weight = np.full(10, 7.0)
    distance, mechanism = moved(case.make(**weights), (X, y, weight), (X, y_other, weight))
    assert distance == pytest.approx(2 * 7 * math.sqrt(1 + 4) / (10 * 70), rel=1e-6)
    assert 0.9999 <= distance / mechanism.sensitivity.value <= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_climbing_from_the_worst_case_does_not_pass_the_bound(name):
    case, rng = CASES[name], np.random.default_rng(5)
    for l2, (bulk, labels, angle, changed) in [w[1:3] for w in WORST if w[0] == name]:
        (X, y), (X_other, y_other) = mirror_pair(6, bulk, labels, angle, changed)
        parameters = {"fit_intercept": False, **penalty_of(rng.choice([0.0, 0.1]), l2)}
        best = 0.0
        for scale in np.geomspace(0.5, 0.01, 300):
            step = rng.normal(scale=scale, size=X.shape) * (rng.random(X.shape) < 0.5)
            row = rng.normal(scale=scale, size=2)
            tried, tried_other = X + step, X_other + step
            tried_other[0] += row
            distance, mechanism = moved(case.make(**parameters), (tried, y), (tried_other, y_other))
            assert distance <= mechanism.sensitivity.value
            if distance > best:
                X, X_other, best = tried, tried_other, distance


class TestCounterexamples:
    """Pairs that pass bounds found in the literature or in other libraries, but not ours."""

    def test_the_norm_cap_needs_the_l1_penalty_on_the_intercept_too(self):
        """With l1 above L kappa the cap says 0, but an intercept without L1 still moves."""
        case, parameters = CASES["log_loss"], penalty_of(1.5, 0.1)
        kappa = math.sqrt(2)
        X, y = np.ones((10, 1)), np.ones(10, dtype=int)
        y_other = np.array([0, *[1] * 9])
        distance, mechanism = moved(case.make(**parameters), (X, y), (X, y_other))
        cap = 2 * max(kappa - 1.5, 0.0) / 0.1
        # All weights are 0, and the intercept b solves mean(-y sigmoid(-y b)) + 0.1 b = 0.
        alone, mixed = (
            brentq(lambda b, q=q: q * expit(b) - (1 - q) * expit(-b) + 0.1 * b, 0, 9)
            for q in (0.0, 0.1)
        )
        assert cap == 0
        assert distance == pytest.approx(alone - mixed, abs=1e-6)
        assert distance > 0.39
        assert distance <= mechanism.sensitivity.value

    def test_the_norm_cap_partly_used_is_passed_as_well(self):
        case, kappa, l2 = CASES["log_loss"], math.sqrt(2), 0.1
        parameters = penalty_of(0.97 * kappa, l2)
        X, y, y_other = np.ones((2, 1)), np.array([1, 1]), np.array([0, 1])
        distance, mechanism = moved(case.make(**parameters), (X, y), (X, y_other))
        assert 2 * 0.03 * kappa / l2 < distance <= mechanism.sensitivity.value

    def test_without_an_intercept_the_norm_cap_holds_and_is_used(self):
        case, tol = CASES["huber_hinge"], 1e-6
        parameters = {"fit_intercept": False, "tol": tol, **penalty_of(0.9, 10.0)}
        X, y, y_other = np.ones((2, 1)), np.array([1, 1]), np.array([0, 1])
        distance, mechanism = moved(case.make(**parameters), (X, y), (X, y_other))
        cap = 2 * (1 - 0.9) / 10
        assert mechanism.sensitivity.value == pytest.approx(cap + 2 * tol / 10, rel=1e-9)
        assert distance == pytest.approx(cap / 2, rel=1e-3)

    @pytest.mark.parametrize(
        ("weight", "l2", "excess"), [(1000.0, 10.0, 1.58), (100.0, 10.0, 1.18)]
    )
    def test_weights_enter_the_radius_of_the_minimiser_too(self, weight, l2, excess):
        """2 W kappa sigmoid(R kappa)/(n l2) with the R of weights 1 is passed."""
        case, n = CASES["log_loss"], 2000
        parameters = {"fit_intercept": False, "max_sample_weight": weight, **penalty_of(0.0, l2)}
        unweighted = weight * Logistic().gradient_diameter(1.0, 1.0, l2) / (n * l2)
        angle, bulk = {1000.0: (1.135, 0.25), 100.0: (1.117, 0.75)}[weight]
        pair = mirror_pair(n, bulk, (1,), math.pi - angle, (1, 1))
        data, neighbour = ((X, y, np.full(n, weight)) for X, y in pair)
        distance, mechanism = moved(case.make(**parameters), data, neighbour)
        assert distance / unweighted > excess
        assert 0.7 <= distance / mechanism.sensitivity.value <= 1

    @pytest.mark.parametrize(("n_classes", "excess"), [(3, 1.14), (20, 1.37)])
    def test_softmax_moves_by_more_than_sqrt_2(self, n_classes, excess):
        """sqrt(2) kappa bounds one gradient, hence only a changed label; x -> -x passes it."""
        case, n = softmax_case(n_classes), 50
        pair = mirror_pair(n, 0.0, range(n_classes), RIGHT, (0, 0))
        parameters = {"fit_intercept": False, **penalty_of(0.0, 1.0)}
        distance, mechanism = moved(case.make(**parameters), *pair)
        assert distance > excess * math.sqrt(2) / n
        assert distance <= mechanism.sensitivity.value

    def test_the_published_bound_is_twice_the_tight_one_for_the_hinge(self):
        domain, penalty = Domain(100, 5, 1.0, 1.0), ElasticNet(0.3, l1_ratio=0.2)
        tight, paper = (b.distance(HuberHinge(), penalty, domain) for b in BOUNDS.values())
        assert paper >= 2 * tight * (1 - 1e-12)

    def test_class_weights_count_by_their_largest_value(self):
        case = CASES["huber_hinge"]
        parameters = {"fit_intercept": False, "class_weight": {0: 0.1, 1: 6.0}}
        mechanism, _ = recorded(
            case.make(max_sample_weight=2.0, **penalty_of(0.0, 1.0), **parameters),
            (np.eye(4), [0, 1, 0, 1]),
        )
        assert mechanism.sensitivity.value == pytest.approx(2 * 12.0 / 4, rel=1e-6)

"""Bounds on how far one record moves a minimiser, against minimisers of hostile data sets.

The minimisers are what the estimators hand to their mechanism before any noise.
"""

import inspect
import itertools
import math

import numpy as np
import pytest

import skdp.objectives
from skdp.objectives import ElasticNet, HuberHinge, Logistic, Loss, Multinomial
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
        "l1_ratio": l1_ratio and rng.uniform(0.05, 0.9),
        "row_norm": float(rng.choice([0.3, 1.0, 4.0])),
        "fit_intercept": fit_intercept,
        "intercept_scaling": float(rng.choice([0.2, 1.0, 3.0])),
        "max_sample_weight": float(rng.choice([0.5, 20.0])) if weighted else 1.0,
        "tol": float(rng.choice([1e-6, 1e-3])),
    }


@pytest.mark.parametrize("name", CASES)
def test_no_pair_of_neighbours_moves_the_minimiser_further_than_either_bound(name):
    case, rng = CASES[name], np.random.default_rng(0)
    for intercept, l1, weighted in itertools.product((True, False), repeat=3):
        parameters = draw_parameters(rng, fit_intercept=intercept, l1_ratio=l1, weighted=weighted)
        n, n_features = int(rng.integers(2, 8)), int(rng.integers(1, 4))
        claimed = sensitivities(case, parameters, n, n_features)
        weight = parameters["max_sample_weight"]
        for data, neighbour in hostile_pairs(case, rng, n, n_features, weight):
            distance, mechanism = moved(lambda p=parameters: case.make(**p), data, neighbour)
            assert distance <= min(claimed.values())
            assert mechanism.sensitivity.value == claimed["tight"]


# (loss, l2, norm of the other rows, angle, labels of row 0, share of the bound that is reached).
# Strong penalties keep the minimiser near 0, where the smooth losses are steep on both sides.
WORST = [
    ("huber_hinge", 1.0, 1.0, math.pi / 2, (1, 1), 0.999),
    ("huber_hinge", 0.01, 0.4, 1.1, (1, 1), 0.85),
    ("huber", 1.0, 1.0, math.pi / 2, (50.0, 50.0), 0.999),
    ("huber", 0.01, 0.2, 1.4, (-50.0, -50.0), 0.90),
    ("log_loss", 100.0, 1.0, math.pi / 2, (1, 1), 0.99),
    ("log_loss", 1.0, 1.0, 1.4, (1, 1), 0.80),
    ("log_loss", 0.01, 0.4, 0.8, (1, 1), 0.60),
    ("squared_hinge", 100.0, 1.0, math.pi / 2, (1, 1), 0.97),
    ("squared_hinge", 1.0, 0.8, 1.1, (1, 1), 0.60),
    ("squared_error", 100.0, 1.0, math.pi / 2, (2.0, 2.0), 0.98),
    ("squared_error", 1.0, 1.0, 1.1, (-2.0, -2.0), 0.65),
    ("softmax", 1.0, 0.0, math.pi / 2, (0, 0), 0.55),
    ("softmax", 0.01, 0.5, 0.8, (1, 1), 0.55),
]


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize(("name", "l2", "bulk", "angle", "changed", "share"), WORST)
def test_the_worst_case_comes_near_the_bound(name, l2, bulk, angle, changed, share, bound):
    case = CASES[name]
    towards = -1 if name in ("log_loss", "squared_hinge") or l2 < 0.1 and name != "huber" else 1
    towards = 1 if name == "softmax" else towards
    labels = case.labels if name == "softmax" and bulk == 0 else case.labels[-1:]
    labels = (0,) if name == "softmax" and bulk else labels
    pair = mirror_pair(40, bulk, angle, labels, changed, towards=towards)
    parameters = {"fit_intercept": False, "bound": bound, **penalty_of(0.0, l2)}
    distance, mechanism = moved(lambda: case.make(**parameters), *pair)
    looser = 2.0 if bound == "paper" else 1.0
    assert share / looser <= distance / mechanism.sensitivity.value <= 1 / looser

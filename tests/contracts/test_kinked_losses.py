"""Losses with kinks: their dual terms, gaps and smooth neighbours; and their certified solver."""

import math

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.svm import LinearSVC, LinearSVR

from skdp.exceptions import CertificationError
from skdp.objectives import ElasticNet, HuberHinge
from skdp.objectives.piecewise_linear import (
    EpsilonInsensitive,
    Hinge,
    SmoothedEpsilonInsensitive,
)
from skdp.records import InMemoryRecords, clip_rows
from skdp.solvers import dual
from skdp.solvers.dual import GapCertificate, GapProblem
from skdp.solvers.point import Point, Search

LOSSES = [Hinge(), EpsilonInsensitive(0.0), EpsilonInsensitive(0.3), EpsilonInsensitive(0.1, 2.0)]
each_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)


def targets_for(loss, n, rng):
    if isinstance(loss, Hinge):
        return rng.choice([-1.0, 1.0], n)
    return rng.uniform(-2, 2, n)


def conjugate(loss, slope, y):
    """sup_m slope m - loss(m) on a grid that holds the kinks."""
    grid = np.concatenate([np.linspace(-9, 9, 7201), [y - loss.flat, y + loss.flat, y]])
    return float((slope * grid - loss.value(grid, np.full(len(grid), y))).max())


@each_loss
def test_the_gap_of_a_record_is_that_of_fenchel_and_young(loss):
    rng = np.random.default_rng(0)
    y, scores = targets_for(loss, 40, rng), 3 * rng.normal(size=40)
    slopes = rng.uniform(0, 1, 40) * (-y if isinstance(loss, Hinge) else rng.choice([-1, 1], 40))
    gaps = loss.duality_gap(scores, slopes, y)
    expected = [
        loss.value(m[None], t[None])[0] + conjugate(loss, a, t) - a * m
        for m, a, t in zip(scores, slopes, y, strict=True)
    ]
    np.testing.assert_allclose(gaps, expected, atol=3e-3)
    assert (gaps >= 0).all()


@each_loss
@pytest.mark.parametrize("half_width", [1.0, 0.3, 0.05])
def test_the_smooth_neighbours_slopes_have_a_gap_of_no_more_than_is_stated(loss, half_width):
    rng = np.random.default_rng(1)
    y, scores = targets_for(loss, 20_000, rng), rng.uniform(-3, 3, 20_000)
    smooth = loss.smoothed(half_width)
    gaps = loss.duality_gap(scores, smooth.derivative(scores, y), y)
    bound = loss.smoothing_gap(half_width)
    # Bands that overlap in part do not reach the bound for those that lie on each other.
    share = 0.45 if 0 < loss.flat < half_width else 0.98
    assert share * bound <= gaps.max() <= bound * (1 + 1e-12)
    above = smooth.value(scores, y) - loss.value(scores, y)
    assert above.min() >= -1e-12
    assert above.max() <= half_width / 2


def test_the_smooth_neighbours_are_named():
    assert Hinge().smoothed(0.2) == HuberHinge(0.2)
    assert EpsilonInsensitive(0.3).smoothed(0.2) == SmoothedEpsilonInsensitive(0.3, 0.2)


@each_loss
def test_constants_are_those_of_the_smooth_neighbours_in_the_limit(loss):
    for kappa, weight, convexity in [(1.0, 1.0, 0.1), (2.0, 3.0, 0.5), (0.3, 0.5, 7.0)]:
        given = (kappa, weight, convexity)
        assert loss.gradient_diameter(*given) == 2 * weight * kappa
        near = loss.smoothed(1e-9).minimiser_radius(*given)
        assert loss.minimiser_radius(*given) <= near * (1 + 1e-6)


@pytest.mark.parametrize(("insensitivity", "y_bound"), [(-0.1, 1.0), (0.5, 0.5), (1.0, 0.2)])
def test_widths_that_leave_nothing_to_learn_are_refused(insensitivity, y_bound):
    with pytest.raises(ValueError, match="insensitivity"):
        EpsilonInsensitive(insensitivity, y_bound)


def test_targets_out_of_reach_change_nothing_of_the_minimiser():
    loss, rng = EpsilonInsensitive(0.2), np.random.default_rng(2)
    X, y = clip_rows(rng.normal(size=(30, 2)), 1.0), rng.normal(size=30)
    y[:3] = 1e300, -1e300, 40.0
    radius = loss.minimiser_radius(1.0, 1.0, 0.5)
    near = loss.within_reach(y, radius)
    assert np.abs(near).max() == pytest.approx(radius + 0.2)
    problem = GapProblem(loss, ElasticNet(0.5), 30, 2, 1.0, 1.0, gap=1e-7)
    first = problem.solve(InMemoryRecords(X, near))
    y[:3] = 10.0, -10.0, 10.0
    second = problem.solve(InMemoryRecords(X, y))
    assert np.linalg.norm(first - second) <= 2 * problem.certificate.radius


# ------------------------------------------------------------------------------------ the solver


def data(loss, n=60, n_features=4, seed=0):
    rng = np.random.default_rng(seed)
    X = clip_rows(rng.normal(size=(n, n_features)), 1.0)
    scores = X @ rng.normal(size=n_features) + 0.3 * rng.normal(size=n)
    return X, np.where(scores > 0, 1.0, -1.0) if isinstance(loss, Hinge) else np.clip(scores, -2, 2)


@each_loss
@pytest.mark.parametrize("l2", [0.02, 0.5])
def test_the_solution_is_that_of_liblinear(loss, l2):
    X, y = data(loss)
    problem = GapProblem(
        loss, ElasticNet(l2), *X.shape, math.sqrt(2), 1.0, gap=max(3e-8, 4e-9 / l2)
    )
    found = problem.solve(InMemoryRecords(X, y, constant=1.0))
    settings = {"C": 1 / (len(X) * l2), "fit_intercept": False, "tol": 1e-9, "max_iter": 10**6}
    if isinstance(loss, Hinge):
        model = LinearSVC(loss="hinge", **settings)
    else:
        model = LinearSVR(epsilon=loss.insensitivity, **settings)
    reference = model.fit(np.column_stack((X, np.ones(len(X)))), y).coef_
    assert np.linalg.norm(found - reference) <= problem.certificate.radius + 1e-6


@each_loss
def test_with_an_l1_part_the_primal_value_is_within_the_gap_of_the_least(loss):
    X, y = data(loss, n=25, n_features=3)
    penalty, weights = ElasticNet(0.3, 0.4), np.linspace(0, 2, 25)
    problem = GapProblem(loss, penalty, *X.shape, 1.0, 2.0, gap=1e-7)
    found = problem.solve(InMemoryRecords(X, y, weights))

    def value(flat):
        return weights @ loss.value(X @ flat, y) / 25 + penalty.value(flat[None], 3)

    starts = [found[0], np.zeros(3)]
    least = min(
        minimize(value, start, method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-14}).fun
        for start in starts
    )
    assert least <= value(found[0]) <= least + 1e-7


@each_loss
def test_the_first_order_fallback_arrives_alone(loss, monkeypatch):
    monkeypatch.setattr(dual, "proximal_newton", lambda search, start: search.origin())
    X, y = data(loss)
    problem = GapProblem(loss, ElasticNet(0.3), *X.shape, math.sqrt(2), 1.0, gap=1e-5)
    records = InMemoryRecords(X, y, constant=1.0)
    found = problem.solve(records)
    search = Search(problem.last, records)
    assert problem.certifies(search, Point(search, found))


@st.composite
def ugly_problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, n_features = draw(st.integers(1, 30)), draw(st.integers(1, 5))
    kind = draw(st.sampled_from(["normal", "alike", "empty", "huge", "binary"]))
    X = rng.normal(size=(n, n_features))
    if kind == "alike":
        X[:] = X[0]
    if kind == "empty":
        X[rng.random(n) < 0.8] = 0
    if kind == "huge":
        X *= 10.0 ** rng.integers(-20, 20, size=(n, 1))
    if kind == "binary":
        X = (X > 0.5) * 1.0
    loss = draw(st.sampled_from(LOSSES))
    y = np.sign(X[:, 0] + 1e-300) if draw(st.booleans()) else targets_for(loss, n, rng)
    weight = draw(st.sampled_from([1.0, 50.0]))
    weights = None if weight == 1 else weight * rng.random(n)
    penalty = ElasticNet(10.0 ** draw(st.floats(-3, 2)), draw(st.sampled_from([0.0, 0.3])))
    constant = draw(st.sampled_from([None, 1.0]))
    gap = 10.0 ** draw(st.floats(-8, -3))
    kappa = math.hypot(1.0, constant or 0.0)
    problem = GapProblem(loss, penalty, n, n_features, kappa, weight, gap)
    radius = loss.minimiser_radius(kappa, weight, penalty.l2)
    y = loss.within_reach(y, kappa * radius)
    return problem, InMemoryRecords(clip_rows(X, 1.0), y, weights, constant)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(case=ugly_problems())
def test_every_admissible_input_that_is_not_refused_is_certified(case):
    problem, records = case
    try:
        problem.require_certifiable()
    except CertificationError:
        reject()
    found = problem.solve(records)
    with np.errstate(all="ignore"):
        certified = False
        for stage in problem._stages():
            search = Search(stage, records)
            certified = certified or problem.certifies(search, Point(search, found))
    assert certified


def test_a_gap_that_float64_cannot_tell_from_zero_is_refused_from_public_facts():
    problem = GapProblem(Hinge(), ElasticNet(0.1), 100_000, 20, 1.0, 1.0, gap=1e-15)
    with pytest.raises(CertificationError, match="cannot be certified"):
        problem.solve(None)


def test_a_gap_of_the_primal_value_alone_leaves_room_for_as_much_again():
    """With the best dual point, the gap is that of the primal alone: half of what it may be."""
    loss, l2 = Hinge(), 0.5
    X, y = np.array([[1.0], [1.0]]), np.array([1.0, -1.0])  # the minimiser is 0
    records = InMemoryRecords(X, y)
    for w in (0.5, 0.1, 0.01):
        primal = records.total(loss.value(records.scores(np.array([[w]])), y)) / 2 + l2 * w * w / 2
        # slopes -y: v = 0, so the dual value is the mean of 1
        gap = primal - 1.0
        assert GapCertificate(2 * gap, l2).radius == pytest.approx(w)

"""Solvers: certified on every admissible input, and in agreement with others' solvers."""

import inspect
import math
import re

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import expit, softmax
from sklearn.linear_model import ElasticNet as SklearnElasticNet
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC

from skdp import objectives
from skdp.exceptions import CertificationError
from skdp.objectives import (
    ElasticNet,
    Huber,
    HuberHinge,
    LogCosh,
    Logistic,
    Loss,
    Multinomial,
    Objective,
    Squared,
    SquaredHinge,
)
from skdp.records import InMemoryRecords, clip_rows
from skdp.solvers import (
    Certificate,
    Problem,
    certify,
    check_certifiable,
    models,
    newton,
    quadratic,
    solve_certified,
)
from skdp.solvers.accelerated import accelerated_proximal_gradient
from skdp.solvers.newton import proximal_newton
from skdp.solvers.point import Search

LOSSES = [
    Logistic(),
    Multinomial(3),
    HuberHinge(),
    SquaredHinge(),
    Huber(0.5),
    LogCosh(0.5),
    Squared(2.0),
]
RATIOS = (0.0, 0.15, 0.95)
each_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)
each_ratio = pytest.mark.parametrize("l1_ratio", RATIOS)


def test_every_public_loss_is_solved_here():
    public = {
        cls
        for _, cls in inspect.getmembers(objectives, inspect.isclass)
        if issubclass(cls, Loss) and not inspect.isabstract(cls)
    }
    assert public == {type(loss) for loss in LOSSES}


def targets_for(loss, scores, rng):
    """Targets that a linear score has something to say about."""
    noisy = scores + 0.5 * rng.normal(size=len(scores))
    if isinstance(loss, Multinomial):
        return np.digitize(noisy, np.linspace(-0.5, 0.5, loss.n_outputs - 1))
    if isinstance(loss, Huber | LogCosh | Squared):
        return np.clip(noisy, -2.0, 2.0)
    return np.where(noisy > 0, 1.0, -1.0)


def ordinary(loss, n=80, n_features=6, *, constant=1.0, weighted=False, seed=0):
    """Return clipped rows, targets, weights, records and kappa."""
    rng = np.random.default_rng(seed)
    X = clip_rows(rng.normal(size=(n, n_features)) / 2, 1.0)
    y = targets_for(loss, 3 * X @ rng.normal(size=n_features), rng)
    weights = rng.choice([0.0, 0.5, 3.0], n) if weighted else None
    records = InMemoryRecords(X, y, weights, constant)
    return X, y, weights, records, math.hypot(1.0, constant or 0.0)


# Derivatives written down once more, plainly, for the reference minimiser.
SLOPES = {
    Logistic: lambda m, y, _: -y[:, None] * expit(-y[:, None] * m),
    Multinomial: lambda m, y, loss: softmax(m, axis=1) - np.eye(loss.n_outputs)[y],
    HuberHinge: lambda m, y, _: -y[:, None] * np.clip(1.5 - y[:, None] * m, 0, 1),
    SquaredHinge: lambda m, y, _: -2 * y[:, None] * np.maximum(1 - y[:, None] * m, 0),
    Huber: lambda m, y, loss: np.clip(m - y[:, None], -loss.threshold, loss.threshold),
    LogCosh: lambda m, y, loss: loss.threshold * np.tanh((m - y[:, None]) / loss.threshold),
    Squared: lambda m, y, _: m - y[:, None],
}


def reference(loss, penalty, X, y, weights, constant, *, max_weight=3.0):
    """Minimise by accelerated proximal gradient until steps are below 1e-13."""
    n = len(X)
    full = X if constant is None else np.column_stack((X, np.full(n, constant)))
    weights = np.ones(n) if weights is None else weights
    levels = np.where(np.arange(full.shape[1]) < X.shape[1], penalty.l1, 0.0)
    length = max_weight * loss.smoothness * np.square(full).sum(axis=1).max() + penalty.l2
    root = math.sqrt(penalty.l2 / length)
    coef = previous = np.zeros((loss.n_outputs, full.shape[1]))
    for _ in range(20_000):
        ahead = coef + (1 - root) / (1 + root) * (coef - previous)
        slopes = SLOPES[type(loss)](full @ ahead.T, y, loss) * weights[:, None]
        point = ahead - (slopes.T @ full / n + penalty.l2 * ahead) / length
        previous, coef = coef, np.sign(point) * np.maximum(np.abs(point) - levels / length, 0)
        if np.linalg.norm(coef - ahead) <= 1e-14:
            break
    return coef


@each_loss
@each_ratio
@pytest.mark.parametrize("weighted", [False, True])
def test_solution_is_within_the_certified_radius_of_a_reference(loss, l1_ratio, weighted):
    penalty, constant = ElasticNet(0.05, l1_ratio), 0.7
    X, y, weights, records, kappa = ordinary(loss, constant=constant, weighted=weighted)
    best = reference(loss, penalty, X, y, weights, constant)
    for tol in (1e-3, 1e-6, 1e-9):
        coef = solve_certified(Objective(loss, penalty), records, tol, kappa=kappa, max_weight=3.0)
        radius = Certificate(tol, penalty.strong_convexity).radius
        assert np.linalg.norm(coef - best) <= radius + 1e-11


@each_loss
@each_ratio
@pytest.mark.parametrize("constant", [None, 1.0])
def test_newton_needs_no_help_on_ordinary_data(loss, l1_ratio, constant):
    *_, records, kappa = ordinary(loss, constant=constant)
    objective = Objective(loss, ElasticNet(1e-3, l1_ratio))
    search = search_of(objective, records, kappa, tol=1e-9)
    assert search.certifies(proximal_newton(search))


def search_of(objective, records, kappa, tol, max_weight=1.0):
    problem = Problem(objective, records.n_samples, records.n_features, kappa, max_weight, tol)
    problem.require_certifiable()
    return Search(problem, records)


@each_loss
@each_ratio
def test_the_first_order_method_alone_reaches_the_tolerance(loss, l1_ratio):
    *_, records, kappa = ordinary(loss, weighted=True)
    objective = Objective(loss, ElasticNet(1e-2, l1_ratio))
    search = search_of(objective, records, kappa, 1e-9, max_weight=3.0)
    point = accelerated_proximal_gradient(search, search.origin())
    assert certify(search.problem, records, point.coef) == search.problem.certificate


@each_loss
def test_the_first_order_method_arrives_at_the_least_certifiable_tolerance(loss):
    *_, records, kappa = ordinary(loss, n=30)
    objective = Objective(loss, ElasticNet(0.05, 0.15))
    tol = least_tol(objective, records, kappa)
    search = search_of(objective, records, kappa, tol)
    assert search.certifies(accelerated_proximal_gradient(search, search.origin()))


def test_plain_steps_arrive_where_the_accelerated_ones_do_not(monkeypatch):
    *_, records, kappa = ordinary(Logistic())
    search = search_of(Objective(Logistic(), ElasticNet(0.05, 0.15)), records, kappa, 1e-9)
    monkeypatch.setattr("skdp.solvers.accelerated._momentum", lambda _: 1.5)
    assert search.certifies(accelerated_proximal_gradient(search, search.origin()))


def least_tol(objective, records, kappa):
    """Return the tolerance that the refusal of a smaller one suggests."""
    with pytest.raises(CertificationError) as refusal:
        check_certifiable(objective, records.n_samples, records.n_features, kappa, 1.0, 1e-18)
    return float(re.search(r"tol >= ([\d.e-]+)", str(refusal.value)).group(1))


@pytest.mark.parametrize("n_features", [30, 100])
def test_newton_needs_no_help_where_curvature_jumps(n_features, monkeypatch):
    rng = np.random.default_rng(3)
    X = clip_rows(1e3 * rng.normal(size=(10, n_features)), 100.0)
    records = InMemoryRecords(X, rng.choice([-1.0, 1.0], 10), None, 1.0)
    objective = Objective(HuberHinge(), ElasticNet(4e-5, 0.15))
    search = search_of(objective, records, math.hypot(100, 1), 1e-6)
    assert search.certifies(proximal_newton(search))
    monkeypatch.setattr(newton, "SHORT_STEPS", 0)  # damped from the first short step on
    assert search.certifies(proximal_newton(search))


def test_a_start_too_far_out_is_given_up_for_the_origin():
    *_, records, kappa = ordinary(Logistic())
    search = search_of(Objective(Logistic(), ElasticNet(0.1)), records, kappa, 1e-8)
    far = search.origin()
    far.coef = far.coef + 1e6
    far.residual = 1e6
    assert search.certifies(accelerated_proximal_gradient(search, far))


@each_loss
@each_ratio
def test_second_derivatives_in_full_and_by_products_lead_to_the_same_point(
    loss, l1_ratio, monkeypatch
):
    *_, records, kappa = ordinary(loss)
    objective = Objective(loss, ElasticNet(1e-3, l1_ratio))
    in_full = solve_certified(objective, records, 1e-9, kappa=kappa)
    monkeypatch.setattr(newton, "SMALL", 0)
    monkeypatch.setattr(newton, "GramModel", None)
    monkeypatch.setattr(InMemoryRecords, "gram_limit", 0)
    by_products = solve_certified(objective, records, 1e-9, kappa=kappa)
    radius = 2e-9 / objective.strong_convexity
    assert np.linalg.norm(in_full - by_products) <= radius


@each_loss
@pytest.mark.parametrize("method", ["gradient steps", "walk"])
def test_models_are_minimised_when_guessing_signs_leads_nowhere(loss, method, monkeypatch):
    *_, records, kappa = ordinary(loss)
    objective = Objective(loss, ElasticNet(1e-3, 0.5))
    monkeypatch.setattr(quadratic, "PATIENCE", 0)
    if method == "walk":
        monkeypatch.setattr(quadratic, "BURSTS", ())
    else:
        monkeypatch.setattr(quadratic.QuadraticModel, "_walk", None)
        monkeypatch.setattr(quadratic, "BURSTS", (20_000,))
    search = search_of(objective, records, kappa, 1e-9)
    assert search.certifies(proximal_newton(search))


def test_the_lowest_point_of_a_segment_beats_a_grid():
    rng = np.random.default_rng(1)
    for _ in range(200):
        v, move, pull = rng.normal(size=(3, 5))
        v[rng.random(5) < 0.3] = 0
        levels = rng.random(5) * rng.integers(0, 2, 5)
        curvature = rng.random() + 0.01
        ahead = np.where(v == 0, np.abs(move), np.sign(v) * move)
        slope = pull @ move + levels @ ahead

        def height(t, v=v, move=move, pull=pull, levels=levels, curvature=curvature):
            kinks = levels @ np.abs(v[:, None] + t * move[:, None])
            return t * (pull @ move) + curvature * t**2 / 2 + kinks

        if slope >= 0:
            continue
        found = quadratic.lowest_on_segment(v, move, slope, curvature, levels)
        t = (found - v) @ move / (move @ move)
        assert 0 < t <= 1 + 1e-12
        lowest = height(np.linspace(0, 1, 2001)).min()
        assert height(np.array([t]))[0] <= lowest + 1e-12


def on_full_matrix(X, constant):
    return np.column_stack((X, np.full(len(X), constant)))


@pytest.mark.parametrize("alpha", [1e-4, 1e-2])
def test_logistic_agrees_with_scikit_learn(alpha):
    X, y, weights, records, kappa = ordinary(Logistic(), n=300, weighted=True)
    coef = solve_certified(
        Objective(Logistic(), ElasticNet(alpha)), records, 1e-9, kappa=kappa, max_weight=3.0
    )
    theirs = LogisticRegression(
        C=1 / (alpha * 300), solver="newton-cholesky", fit_intercept=False, tol=1e-10
    ).fit(on_full_matrix(X, 1.0), y, sample_weight=weights)
    np.testing.assert_allclose(coef, theirs.coef_, atol=1e-5)


def test_multinomial_agrees_with_scikit_learn():
    X, y, _, records, kappa = ordinary(Multinomial(3), n=300)
    coef = solve_certified(Objective(Multinomial(3), ElasticNet(1e-2)), records, 1e-9, kappa=kappa)
    theirs = LogisticRegression(
        C=1 / 3, solver="newton-cg", fit_intercept=False, tol=1e-9, max_iter=1000
    ).fit(on_full_matrix(X, 1.0), y)
    np.testing.assert_allclose(coef, theirs.coef_, atol=1e-5)


def test_squared_hinge_agrees_with_scikit_learn():
    X, y, _, records, kappa = ordinary(SquaredHinge(), n=300)
    coef = solve_certified(Objective(SquaredHinge(), ElasticNet(1e-2)), records, 1e-9, kappa=kappa)
    theirs = LinearSVC(C=1 / 3, fit_intercept=False, tol=1e-10, max_iter=100_000, dual=True)
    theirs.fit(on_full_matrix(X, 1.0), y)
    np.testing.assert_allclose(coef, theirs.coef_, atol=1e-6)


def test_squared_loss_agrees_with_scikit_learn_with_and_without_l1():
    X, y, _, records, kappa = ordinary(Squared(2.0), n=300, constant=None)
    ridge = solve_certified(Objective(Squared(2.0), ElasticNet(0.01)), records, 1e-9, kappa=kappa)
    theirs = Ridge(alpha=3.0, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(ridge[0], theirs.coef_, atol=1e-6)
    net = solve_certified(Objective(Squared(2.0), ElasticNet(0.2, 0.5)), records, 1e-9, kappa=kappa)
    theirs = SklearnElasticNet(alpha=0.2, l1_ratio=0.5, fit_intercept=False, tol=1e-12)
    theirs.fit(X, y)
    assert 0 < np.count_nonzero(net) < 6
    np.testing.assert_allclose(net[0], theirs.coef_, atol=1e-6)


def test_logistic_elastic_net_agrees_with_scikit_learn():
    X, y, _, records, kappa = ordinary(Logistic(), n=200, constant=None)
    coef = solve_certified(Objective(Logistic(), ElasticNet(0.05, 0.5)), records, 1e-9, kappa=kappa)
    theirs = LogisticRegression(
        C=1 / (0.05 * 200),
        l1_ratio=0.5,
        solver="saga",
        fit_intercept=False,
        tol=1e-10,
        max_iter=10_000,
        random_state=0,
    )
    theirs.set_params(**old_penalty(theirs)).fit(X, y)
    assert 0 < np.count_nonzero(coef) < 6
    np.testing.assert_allclose(coef, theirs.coef_, atol=1e-5)


def old_penalty(estimator):
    """Before 1.8, l1_ratio counts only if the penalty is named as well."""
    default = inspect.signature(type(estimator)).parameters["penalty"].default
    return {"penalty": "elasticnet"} if default == "l2" else {}


def test_logistic_elastic_net_with_intercept_agrees_with_glum():
    glum = pytest.importorskip("glum", reason="glum is not installed")
    X, y, _, records, kappa = ordinary(Logistic(), n=200)
    penalty = ElasticNet(0.1, 0.4)
    coef = solve_certified(Objective(Logistic(), penalty), records, 1e-9, kappa=kappa)
    theirs = glum.GeneralizedLinearRegressor(
        family="binomial",
        alpha=1.0,
        l1_ratio=0.5,
        P1=np.append(np.full(6, 2 * penalty.l1), 0.0),
        P2=np.full(7, 2 * penalty.l2),
        fit_intercept=False,
        gradient_tol=1e-10,
        max_iter=1000,
    ).fit(on_full_matrix(X, 1.0), (y + 1) / 2)
    assert 0 < np.count_nonzero(coef[0, :6]) < 6
    np.testing.assert_allclose(coef[0], theirs.coef_, atol=1e-5)


@each_loss
@each_ratio
@pytest.mark.parametrize("stored", ["float32", "csr", "csr32", "fortran"])
def test_every_storage_is_certified_and_gives_the_same_point(loss, l1_ratio, stored):
    X, y, weights, _, kappa = ordinary(loss, weighted=True)
    X = X.astype(np.float32).astype(np.float64)
    X[np.abs(X) < 0.2] = 0
    store = {
        "float32": lambda X: X.astype(np.float32),
        "csr": sparse.csr_array,
        "csr32": lambda X: sparse.csr_matrix(X.astype(np.float32)),
        "fortran": np.asfortranarray,
    }[stored]
    objective = Objective(loss, ElasticNet(0.01, l1_ratio))
    plain, other = (
        solve_certified(
            objective, InMemoryRecords(rows, y, weights, 1.0), 1e-8, kappa=kappa, max_weight=3.0
        )
        for rows in (X, store(X))
    )
    assert np.linalg.norm(plain - other) <= 2e-8 / objective.strong_convexity


def test_certificate_radius_is_the_tolerance_over_the_strong_convexity():
    assert Certificate(1e-6, 0.01).radius == pytest.approx(1e-4)
    with pytest.raises(ValueError, match="gradient_tol"):
        Certificate(0.0, 1.0)


@each_loss
def test_only_points_near_enough_are_certified(loss):
    *_, records, kappa = ordinary(loss)
    objective = Objective(loss, ElasticNet(0.05, 0.15))
    problem = Problem(objective, records.n_samples, records.n_features, kappa, 1.0, 1e-6)
    coef = solve_certified(objective, records, 1e-8, kappa=kappa)
    assert certify(problem, records, coef) == Certificate(1e-6, objective.strong_convexity)
    away = 1.01e-6 / objective.strong_convexity
    assert certify(problem, records, coef + np.eye(1, coef.shape[1]) * away) is None


def test_a_certificate_leaves_room_for_the_rounding_errors():
    problem = Problem(Objective(Logistic(), ElasticNet(0.01)), 1000, 20, 1.5, 1.0, 1e-11)
    room = problem.rounding_bound(3.0)
    assert problem.certifies(1e-11 - 1.01 * room, 3.0)
    assert not problem.certifies(1e-11 - 0.99 * room, 3.0)
    assert not problem.certifies(math.nan, 3.0)


@each_loss
@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_rounding_errors_stay_within_their_bound(loss, scale):
    X, y, weights, _, kappa = ordinary(loss, n=500, n_features=40, weighted=True)
    penalty = ElasticNet(0.01, 0.15)
    rng = np.random.default_rng(2)
    coef = scale * rng.normal(size=(loss.n_outputs, 41))
    coef *= rng.random(coef.shape) < 0.7
    problem = Problem(Objective(loss, penalty), 500, 40, kappa, 3.0, 1e-8)
    records = InMemoryRecords(X, y, weights, 1.0)
    computed = problem.objective.subgradient(coef, records)
    exact = subgradient_in_long_double(loss, penalty, on_full_matrix(X, 1.0), y, weights, coef)
    error = float(np.linalg.norm(computed - exact))
    bound = problem.rounding_bound(float(np.linalg.norm(coef)))
    assert error <= bound <= 1e-9


@pytest.mark.parametrize(("n", "n_features", "coef_norm"), [(64, 2000, 1000.0), (4000, 1, 1.0)])
def test_the_bound_on_rounding_errors_is_needed_where_they_all_point_one_way(
    n, n_features, coef_norm
):
    """Equal rows and entries: the worst of 50 errors is over 1/500 of the bound, not above it."""
    loss, penalty, ratios = Huber(0.5), ElasticNet(0.01), []
    for size in np.linspace(0.5, 1.0, 50):
        X = np.full((n, n_features), size / math.sqrt(n_features))
        coef = np.full((1, n_features), size * coef_norm / math.sqrt(n_features))
        y = X @ coef[0] - 0.5
        problem = Problem(Objective(loss, penalty), n, n_features, 1.0, 1.0, 1e-8)
        computed = problem.objective.subgradient(coef, InMemoryRecords(X, y))
        exact = subgradient_in_long_double(loss, penalty, X, y, np.ones(n), coef)
        bound = problem.rounding_bound(float(np.linalg.norm(coef)))
        ratios.append(float(np.linalg.norm(computed - exact)) / bound)
    assert 1 / 500 <= max(ratios) <= 1


def subgradient_in_long_double(loss, penalty, full, y, weights, coef):
    if np.finfo(np.longdouble).eps > 1e-18:
        pytest.skip("long double is no longer than double here")
    full = full.astype(np.longdouble)
    scores = full @ coef.astype(np.longdouble).T
    # scipy's expit and softmax round to double: written out instead.
    if isinstance(loss, Logistic):
        slopes = -y[:, None] / (1 + np.exp(y[:, None] * scores))
    elif isinstance(loss, Multinomial):
        raised = np.exp(scores - scores.max(axis=1, keepdims=True))
        slopes = raised / raised.sum(axis=1, keepdims=True) - np.eye(loss.n_outputs)[y]
    else:
        slopes = SLOPES[type(loss)](scores, y.astype(np.longdouble), loss)
    gradient = (slopes * weights[:, None]).T @ full / len(full) + penalty.l2 * coef
    levels = np.append(np.full(full.shape[1] - 1, penalty.l1), 0.0)
    at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - levels, 0)
    return np.where(coef == 0, at_zero, gradient + levels * np.sign(coef))


PUBLIC = {"n_samples": 1000, "n_features": 20, "kappa": 1.5, "max_weight": 2.0}


@each_loss
def test_a_tolerance_below_the_arithmetic_is_refused_with_one_that_works(loss):
    objective = Objective(loss, ElasticNet(0.01, 0.15))
    with pytest.raises(CertificationError, match=r"tol=1e-17 cannot be certified") as refusal:
        check_certifiable(objective, **PUBLIC, tol=1e-17)
    suggested = float(re.search(r"tol >= ([\d.e-]+)", str(refusal.value)).group(1))
    check_certifiable(objective, **PUBLIC, tol=suggested)
    with pytest.raises(CertificationError):
        check_certifiable(objective, **PUBLIC, tol=suggested / 1.2)


@each_loss
def test_a_penalty_too_weak_for_any_solver_is_refused_with_one_that_works(loss):
    with pytest.raises(CertificationError, match="too small to certify") as refusal:
        check_certifiable(Objective(loss, ElasticNet(1e-13)), **PUBLIC, tol=1e-3)
    suggested = float(re.search(r"least ([\d.e-]+)", str(refusal.value)).group(1))
    check_certifiable(Objective(loss, ElasticNet(suggested)), **PUBLIC, tol=1e-3)


def test_refusal_depends_on_public_facts_alone():
    X, y, *_ = ordinary(Logistic())
    for rows in (X, np.zeros_like(X)):
        with pytest.raises(CertificationError, match="80 rows of 6 features"):
            solve_certified(
                Objective(Logistic(), ElasticNet(0.01)),
                InMemoryRecords(rows, y),
                1e-18,
                kappa=1.0,
            )


def test_bounds_that_overflow_are_refused_rather_than_raised():
    objective = Objective(Squared(1e200), ElasticNet(1.0))
    for kappa in (1.0, 1e200):
        with pytest.raises(CertificationError):
            check_certifiable(objective, 10, 2, kappa=kappa, max_weight=1.0, tol=1e-8)


def test_defaults_are_certifiable_up_to_a_million_columns():
    for loss in LOSSES[:4]:
        objective = Objective(loss, ElasticNet(1e-4, 0.15))
        check_certifiable(objective, 50_000, 2**20, math.sqrt(2), 1.0, 1e-8)


@st.composite
def ugly_problems(draw):
    """Degenerate rows, targets and weights under every loss, from public parameters of any size."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d = draw(st.sampled_from([(2, 1), (2, 5), (3, 3), (10, 4), (10, 30), (60, 3)]))
    X = {
        "random": lambda: rng.normal(size=(n, d)),
        "equal": lambda: np.tile(rng.normal(size=d), (n, 1)),
        "collinear": lambda: np.outer(rng.normal(size=n), rng.normal(size=d)),
        "zero": lambda: np.zeros((n, d)),
        "half zero": lambda: rng.normal(size=(n, d)) * (rng.random((n, 1)) < 0.5),
        "all scales": lambda: rng.normal(size=(n, d)) * 10.0 ** rng.integers(-300, 300, (n, 1)),
        "bad columns": lambda: rng.normal(size=(n, d)) * 10.0 ** rng.integers(-8, 8, d),
        "binary": lambda: (rng.random((n, d)) < 0.2) * 1.0,
    }[
        draw(
            st.sampled_from(
                [
                    "random",
                    "equal",
                    "collinear",
                    "zero",
                    "half zero",
                    "all scales",
                    "bad columns",
                    "binary",
                ]
            )
        )
    ]()
    row_norm = draw(st.sampled_from([1e-2, 1.0, 30.0]))
    constant = draw(st.sampled_from([None, 1.0, row_norm]))
    stored = draw(st.sampled_from([np.asarray, sparse.csr_array, lambda X: X.astype(np.float32)]))
    with np.errstate(over="ignore"):
        rows = stored(X)
    if not sparse.issparse(rows):
        rows = np.clip(rows, -1e38, 1e38)
    rows = clip_rows(rows, row_norm)
    loss = draw(st.sampled_from([*LOSSES, HuberHinge(0.05), Huber(1e-2), Multinomial(5)]))
    share = draw(st.sampled_from([0.0, 0.1, 0.5]))
    if isinstance(loss, Multinomial):
        y = rng.integers(0, loss.n_outputs, n) * (rng.random(n) < 2 * share)
    elif isinstance(loss, Huber | LogCosh):
        y = rng.normal(size=n) * 10.0 ** rng.choice([-300, 0, 3, 300], n)
    elif isinstance(loss, Squared):
        y = np.clip(rng.normal(size=n) * 3, -2, 2)
    else:
        y = np.where(rng.random(n) < share, 1.0, -1.0)
    max_weight = draw(st.sampled_from([1.0, 1e3]))
    weights = draw(st.sampled_from([None, max_weight * rng.random(n) * (rng.random(n) < 0.7)]))
    penalty = ElasticNet(10.0 ** draw(st.floats(-7, 2)), draw(st.sampled_from([*RATIOS, 0.999])))
    public = {"kappa": math.hypot(row_norm, constant or 0.0), "max_weight": max_weight}
    tol = 10.0 ** draw(st.floats(-9, -5))
    return Objective(loss, penalty), InMemoryRecords(rows, y, weights, constant), tol, public


@settings(max_examples=300, deadline=None, derandomize=True)
@given(problem=ugly_problems())
def test_every_admissible_input_that_is_not_refused_is_certified(problem):
    objective, records, tol, public = problem
    shape = (records.n_samples, records.n_features)
    try:
        check_certifiable(objective, *shape, **public, tol=tol)
    except CertificationError:
        reject()
    coef = solve_certified(objective, records, tol, **public)
    with np.errstate(all="ignore"):
        assert certify(Problem(objective, *shape, **public, tol=tol), records, coef)


def test_labels_without_bound_leave_no_mark_on_the_huber_fit():
    X, y, *_ = ordinary(Huber(0.5))
    y = y.copy()
    y[:3] = [1e300, -1e308, 1e12]
    objective = Objective(Huber(0.5), ElasticNet(1e-3, 0.15))
    coef = solve_certified(objective, InMemoryRecords(X, y, None, 1.0), 1e-9, kappa=2**0.5)
    y[:3] = [100.0, -100.0, 100.0]
    other = solve_certified(objective, InMemoryRecords(X, y, None, 1.0), 1e-9, kappa=2**0.5)
    assert np.linalg.norm(coef - other) <= 2e-9 / objective.strong_convexity


def test_data_that_ask_for_nothing_get_the_origin():
    X, y, *_ = ordinary(Logistic())
    objective = Objective(Logistic(), ElasticNet(0.01, 0.5))
    no_weight = InMemoryRecords(X, y, np.zeros(len(y)), 1.0)
    assert not solve_certified(objective, no_weight, 1e-8, kappa=2**0.5).any()


def test_an_indefinite_matrix_gives_nan_rather_than_an_exception():
    assert np.isnan(models.cholesky_solve(-np.eye(2), np.ones(2))).all()

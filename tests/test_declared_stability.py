"""Stability that users declare: each form by hand, attained, and refused where it is false."""

import math

import numpy as np
import pytest

from skdp.exceptions import UnknownStabilityError
from skdp.objectives import ElasticNet, Logistic, Objective
from skdp.records import InMemoryRecords
from skdp.solvers import solve_certified
from skdp.stability import ParameterStability, UniformStability
from skdp.stability.declared import DeclaredFit

LINEAR = DeclaredFit(n_samples=1000, row_norm=1.0, linear_scores=1, fits_intercept=True)


def fit_of(**changes):
    given = {"n_samples": 1000, "row_norm": 1.0, "linear_scores": 1, "fits_intercept": True}
    return DeclaredFit(**{**given, **changes})


def test_a_declared_distance_is_taken_as_it_is():
    stability = ParameterStability(l2=0.3)
    assert stability.distance(LINEAR) == 0.3
    assert stability.distance(fit_of(linear_scores=None, n_samples=None)) == 0.3
    assert "not proved" in stability.theorem
    assert "not verified" in stability.assumptions(LINEAR)[0]


def test_the_three_forms_for_minimisers_are_those_of_the_proofs():
    beta, lam, n = 4e-4, 0.1, 1000
    published = UniformStability(beta, strong_convexity=lam)
    tight = UniformStability(beta, strong_convexity=lam, gradient_tol=0.0)
    near = UniformStability(beta, strong_convexity=lam, gradient_tol=1e-3)
    assert published.distance(LINEAR) == pytest.approx(math.sqrt(2 * beta / lam))
    assert tight.distance(LINEAR) == pytest.approx(math.sqrt(2 * beta / (n * lam)))
    expected = (1e-3 + math.sqrt(1e-6 + 2 * lam * beta / n)) / lam
    assert near.distance(LINEAR) == pytest.approx(expected)
    assert published.distance(LINEAR) / tight.distance(LINEAR) == pytest.approx(math.sqrt(n))
    assert "as published" in published.theorem
    assert "exact minimiser" in " ".join(tight.assumptions(LINEAR))
    assert "norm at most 0.001" in " ".join(near.assumptions(LINEAR))


def test_the_tight_form_gives_back_the_bound_for_the_stability_it_implies():
    """beta = 2 L^2 kappa^2 / (n lambda) gives 2 L kappa / (n lambda)."""
    n, lam, kappa = 1000, 0.1, 3.0
    beta = 2 * kappa**2 / (n * lam)
    tight = UniformStability(beta, strong_convexity=lam, gradient_tol=0.0)
    assert tight.distance(LINEAR) == pytest.approx(2 * kappa / (n * lam))


def test_the_tight_form_is_attained_by_a_linear_loss():
    """loss(w; z) = -z w on abs(z) <= 1: w = mean(z) / lambda, which moves by 2 / (n lambda)."""
    n, lam = 10, 0.5
    z, other = np.zeros(n), np.zeros(n)
    z[0], other[0] = 1.0, -1.0
    moved = (z.mean() - other.mean()) / lam
    beta = moved  # of the loss, for |z| <= 1
    tight = UniformStability(beta, strong_convexity=lam, gradient_tol=0.0)
    assert moved == pytest.approx(tight.distance(fit_of(n_samples=n)))


# --------------------------------------------------------------------------- counterexamples


def test_beta_alone_bounds_nothing_and_is_refused():
    """loss w^2 / 2 and outputs +r, -r: beta = 0, and they are 2 r apart."""
    r = 5.0
    assert r**2 / 2 == (-r) ** 2 / 2
    with pytest.raises(ValueError, match="beta alone bounds no distance"):
        UniformStability(1e-9)
    with pytest.raises(ValueError, match="one of them"):
        UniformStability(1e-9, strong_convexity=1.0, margin_slope=1.0)
    with pytest.raises(ValueError, match="give strong_convexity"):
        UniformStability(1e-9, margin_slope=1.0, gradient_tol=0.1)


def test_theorem_seven_fails_for_a_step_that_is_no_minimiser_and_the_assumption_says_so():
    """One step of length 1 along a gradient of norm 1e-6, whose sign one record decides."""
    slope = 1e-6
    outputs = np.array([1.0, -1.0])
    beta = np.ptp(slope * outputs)
    published = UniformStability(beta, strong_convexity=1.0)
    assert np.ptp(outputs) > 900 * published.distance(LINEAR)
    assert "exact minimiser" in " ".join(published.assumptions(LINEAR))


def logistic_beta(intercept_gap, row_norm, constant):
    """Uniform stability of two models that differ in the intercept alone, by brute force."""
    weights = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, intercept_gap]])
    angles = np.linspace(0, 2 * math.pi, 33)
    rows = row_norm * np.column_stack((np.cos(angles), np.sin(angles)))
    rows = np.column_stack((rows, np.full(33, constant)))
    worst = 0.0
    for sign in (-1.0, 1.0):
        values = [Logistic().value(rows @ w, np.full(33, sign)) for w in weights]
        worst = max(worst, np.abs(values[0] - values[1]).max())
    return worst


@pytest.mark.parametrize(("constant", "excess"), [(1.0, 1.38), (0.3, 3.45), (0.1, 10.0)])
def test_dividing_by_kappa_is_false_with_a_constant_column(constant, excess):
    gap = 0.1  # of the constant column's weight
    beta = logistic_beta(gap, 1.0, constant)
    false = 2 * beta / math.hypot(1.0, constant)
    assert gap / false == pytest.approx(excess, rel=0.02)
    stability = UniformStability(beta, margin_slope=1.0, intercept_scaling=constant)
    assert gap <= stability.distance(LINEAR)
    assert stability.distance(LINEAR) == pytest.approx(2 * beta / min(1.0, constant))


def test_the_margin_form_holds_for_models_of_any_kind_and_is_nearly_attained():
    """Random pairs of weights, the whole ball of rows; logistic: phi(m) - phi(-m) = -m."""
    rng, loss = np.random.default_rng(0), Logistic()
    angles = np.linspace(0, 2 * math.pi, 721)
    rows = np.column_stack((np.cos(angles), np.sin(angles)))
    shares = []
    for _ in range(200):
        first = rng.normal(size=2) * rng.choice([0.05, 3.0])
        second = first + rng.normal(size=2) * rng.choice([0.01, 1.0])
        ones = np.ones(len(rows))
        beta = max(
            np.abs(loss.value(rows @ first, s * ones) - loss.value(rows @ second, s * ones)).max()
            for s in (-1.0, 1.0)
        )
        stability = UniformStability(beta * (1 + 1e-4), margin_slope=1.0)
        shares.append(
            np.linalg.norm(first - second) / stability.distance(fit_of(fits_intercept=False))
        )
    assert 0.9 <= max(shares) <= 1.0


def test_stability_over_a_part_of_the_ball_is_not_enough():
    """Rows along the first axis alone: models that differ along the second agree on all of them."""
    first, second = np.array([1.0, 0.0]), np.array([1.0, 7.0])
    rows = np.column_stack((np.linspace(-1, 1, 9), np.zeros(9)))
    assert np.array_equal(rows @ first, rows @ second)
    stated = UniformStability(1e-9, margin_slope=1.0).assumptions(LINEAR)
    assert "every row of norm 1, whatever its direction" in " ".join(stated)


def test_exact_minimisers_do_not_pass_the_tight_form():
    rng, lam, n = np.random.default_rng(1), 0.3, 8
    objective = Objective(Logistic(), ElasticNet(lam))
    for _ in range(10):
        X = rng.normal(size=(n, 2))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        y = rng.choice([-1.0, 1.0], n)
        other, y_other = X.copy(), y.copy()
        other[0], y_other[0] = -X[0], rng.choice([-1.0, 1.0])
        first, second = (
            solve_certified(objective, InMemoryRecords(*d), 1e-11, kappa=1.0)[0]
            for d in ((X, y), (other, y_other))
        )
        both = np.vstack((X, other[:1]))
        beta = max(
            np.abs(
                Logistic().value(both @ first, s * np.ones(n + 1))
                - Logistic().value(both @ second, s * np.ones(n + 1))
            ).max()
            for s in (-1.0, 1.0)
        )
        if beta == 0:
            continue
        tight = UniformStability(beta, strong_convexity=lam, gradient_tol=1e-11)
        assert np.linalg.norm(first - second) <= tight.distance(fit_of(n_samples=n))


# ------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize("scores", [None, 3])
def test_the_margin_form_is_refused_for_several_scores_and_networks(scores):
    with pytest.raises(UnknownStabilityError, match="one linear score"):
        UniformStability(0.1, margin_slope=1.0).distance(fit_of(linear_scores=scores))


@pytest.mark.parametrize("gradient_tol", [None, 0.0, 1e-3])
def test_strong_convexity_is_refused_for_networks(gradient_tol):
    stability = UniformStability(0.1, strong_convexity=1.0, gradient_tol=gradient_tol)
    with pytest.raises(UnknownStabilityError, match=r"strongly convex.*ParameterStability"):
        stability.distance(fit_of(linear_scores=None))


def test_the_tight_form_needs_the_number_of_records():
    stability = UniformStability(0.1, strong_convexity=1.0, gradient_tol=0.0)
    with pytest.raises(UnknownStabilityError, match="declare n_samples"):
        stability.distance(fit_of(n_samples=None))


@pytest.mark.parametrize(
    "given",
    [
        {"beta": 0.0, "strong_convexity": 1.0},
        {"beta": np.nan, "strong_convexity": 1.0},
        {"beta": 1.0, "strong_convexity": -1.0},
        {"beta": 1.0, "strong_convexity": 1.0, "gradient_tol": -1.0},
        {"beta": 1.0, "margin_slope": 0.0},
        {"beta": 1.0, "margin_slope": 1.0, "intercept_scaling": 0.0},
    ],
)
def test_numbers_out_of_range_are_refused(given):
    with pytest.raises(ValueError, match="must be"):
        UniformStability(**given)
    with pytest.raises(ValueError, match="l2 must be"):
        ParameterStability(l2=0.0)

"""Every penalty against grids and its defining inequalities."""

import inspect
import math

import numpy as np
import pytest

from skdp.objectives import ElasticNet, penalties
from skdp.objectives.penalties import soft_threshold

PENALTIES = [
    ElasticNet(0.3),
    ElasticNet(0.3, 0.15),
    ElasticNet(2.0, 0.95),
    ElasticNet(1e-6, 0.5),
]
each_penalty = pytest.mark.parametrize("penalty", PENALTIES, ids=repr)


def test_every_public_penalty_is_listed():
    public = {
        cls
        for name, cls in inspect.getmembers(penalties, inspect.isclass)
        if cls.__module__ == penalties.__name__ and not name.startswith("_")
    }
    assert public == {type(penalty) for penalty in PENALTIES}


def test_levels_split_alpha_by_the_ratio():
    penalty = ElasticNet(alpha=0.4, l1_ratio=0.25)
    assert (penalty.l1, penalty.l2) == pytest.approx((0.1, 0.3))
    assert penalty.strong_convexity == penalty.l2
    assert ElasticNet(0.4).l1 == 0


@each_penalty
def test_value_is_the_formula_and_spares_the_intercept_from_the_l1_part(penalty):
    coef = np.array([[1.0, -2.0, 5.0], [0.0, 3.0, -7.0]])
    expected = penalty.l1 * 6 + penalty.l2 / 2 * np.square(coef).sum()
    assert penalty.value(coef, n_features=2) == pytest.approx(expected)
    assert penalty.value(coef, n_features=3) == pytest.approx(expected + penalty.l1 * 12)


@each_penalty
@pytest.mark.parametrize("step", [0.01, 1.0, 30.0])
def test_prox_beats_a_grid(penalty, step):
    grid = np.linspace(-4, 4, 80_001)
    for point in (-3.0, -0.2, 0.0, 0.011, 1.7):
        for n_features in (0, 1):
            moved = penalty.prox(np.array([[point]]), step, n_features)[0, 0]

            def cost(v, point=point, n_features=n_features):
                level = penalty.l1 * n_features
                return level * abs(v) + penalty.l2 / 2 * v**2 + (v - point) ** 2 / (2 * step)

            assert cost(moved) <= cost(grid).min() + 1e-12


@each_penalty
def test_prox_is_nonexpansive_and_contracts_by_the_strong_convexity(penalty):
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 500, 4))
    step = 0.7
    apart = np.linalg.norm(penalty.prox(first, step, 3) - penalty.prox(second, step, 3), axis=1)
    bound = np.linalg.norm(first - second, axis=1) / (1 + step * penalty.strong_convexity)
    assert (apart <= bound * (1 + 1e-12)).all()


@each_penalty
def test_penalty_minus_its_strong_convexity_is_convex_and_no_more(penalty):
    rng = np.random.default_rng(1)
    for first, second in rng.normal(size=(200, 2, 1, 4)):
        lam = penalty.strong_convexity
        middle = penalty.value((first + second) / 2, 3)
        chord = (penalty.value(first, 3) + penalty.value(second, 3)) / 2
        assert middle <= chord - lam / 8 * np.square(first - second).sum() + 1e-12
    # On the intercept alone there is nothing but the L2 part: equality.
    first, second = np.array([[0.0, 1.0]]), np.array([[0.0, -2.0]])
    gap = (penalty.value(first, 1) + penalty.value(second, 1)) / 2
    gap -= penalty.value((first + second) / 2, 1)
    assert gap == pytest.approx(penalty.strong_convexity / 8 * 9)


@each_penalty
def test_smallest_subgradient_is_no_longer_than_any_other(penalty):
    rng = np.random.default_rng(2)
    coef = np.array([[0.0, 0.0, 1.5, -0.5, 0.0]])
    for _ in range(50):
        gradient = rng.normal(size=(1, 5)) * 2 * penalty.alpha
        smallest = penalty.min_norm_subgradient(gradient, coef, n_features=4)[0]
        grid = np.linspace(-penalty.l1, penalty.l1, 2001)
        for j in (0, 1):
            brute = np.abs(gradient[0, j] + grid).min()
            assert abs(smallest[j]) == pytest.approx(brute, abs=penalty.l1 / 1000)
        assert smallest[2] == pytest.approx(gradient[0, 2] + penalty.l1)
        assert smallest[3] == pytest.approx(gradient[0, 3] - penalty.l1)
        assert smallest[4] == gradient[0, 4]


@each_penalty
def test_smallest_subgradient_vanishes_exactly_at_the_minimiser(penalty):
    pull = np.array([[3.0, -0.01, 0.2, 4.0]])  # minimise penalty(w) - <pull, w>
    levels = penalty.levels(3, 4)
    minimiser = soft_threshold(pull, levels) / penalty.l2
    gradient = penalty.l2 * minimiser - pull
    assert np.abs(penalty.min_norm_subgradient(gradient, minimiser, 3)).max() <= 1e-15
    moved = minimiser + 0.1 / penalty.l2
    gradient = penalty.l2 * moved - pull
    smallest = np.linalg.norm(penalty.min_norm_subgradient(gradient, moved, 3))
    assert smallest >= penalty.strong_convexity * np.linalg.norm(moved - minimiser)


def test_soft_threshold_meets_zero_exactly_and_never_crosses_it():
    points = np.array([-1.0, -0.25, 0.0, 0.125, 0.5])
    np.testing.assert_array_equal(soft_threshold(points, np.full(5, 0.25)), [-0.75, 0, 0, 0, 0.25])


@pytest.mark.parametrize("alpha", [0.0, -1.0, math.nan, math.inf, "1"])
def test_alpha_must_be_positive(alpha):
    with pytest.raises(ValueError, match="alpha must be a finite number above 0"):
        ElasticNet(alpha)


@pytest.mark.parametrize("l1_ratio", [-0.1, 1.1, math.nan, "0.5", True])
def test_l1_ratio_must_lie_in_its_range(l1_ratio):
    with pytest.raises(ValueError, match="l1_ratio"):
        ElasticNet(1.0, l1_ratio)


def test_a_pure_l1_penalty_is_refused_with_the_reason():
    with pytest.raises(ValueError, match="no finite sensitivity"):
        ElasticNet(1.0, 1.0)

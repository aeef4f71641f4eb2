"""Every loss against finite differences, grids and one-record fits."""

import inspect
import math

import numpy as np
import pytest
from scipy.optimize import brentq, minimize

from skdp import objectives
from skdp.objectives import (
    Huber,
    HuberHinge,
    LogCosh,
    Logistic,
    Loss,
    Multinomial,
    Squared,
    SquaredHinge,
)
from skdp.objectives.further_losses import ModifiedHuber, SquaredEpsilonInsensitive
from skdp.objectives.piecewise_linear import SmoothedEpsilonInsensitive

Y_BOUND = 2.0
#: Losses of wrapped models, not of the elastic nets.
FURTHER = [
    ModifiedHuber(),
    SquaredEpsilonInsensitive(Y_BOUND, 0.3),
    SmoothedEpsilonInsensitive(0.3, 0.1),
    SmoothedEpsilonInsensitive(0.1, 0.5),
    SmoothedEpsilonInsensitive(0.0, 0.5),
]
LOSSES = [
    Logistic(),
    Multinomial(2),
    Multinomial(5),
    HuberHinge(),
    HuberHinge(0.1),
    HuberHinge(1.0),
    SquaredHinge(),
    Huber(),
    Huber(0.3),
    LogCosh(),
    LogCosh(0.3),
    Squared(Y_BOUND),
    *FURTHER,
]
REGRESSION = (Huber, LogCosh, Squared, SquaredEpsilonInsensitive, SmoothedEpsilonInsensitive)
SCALAR = [loss for loss in LOSSES if loss.n_outputs == 1]
each_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)
each_scalar_loss = pytest.mark.parametrize("loss", SCALAR, ids=repr)


def targets_for(loss, n, rng):
    if isinstance(loss, Multinomial):
        return rng.integers(0, loss.n_outputs, n)
    if isinstance(loss, REGRESSION):
        return rng.uniform(-Y_BOUND, Y_BOUND, n)
    return rng.choice([-1.0, 1.0], n)


def some_scores(loss, n, rng, scale=2.0):
    shape = (n,) if loss.n_outputs == 1 else (n, loss.n_outputs)
    return scale * rng.normal(size=shape)


def norms(values):
    return np.abs(values) if values.ndim == 1 else np.linalg.norm(values, axis=1)


def test_every_public_loss_is_listed():
    public = {
        cls
        for _, cls in inspect.getmembers(objectives, inspect.isclass)
        if issubclass(cls, Loss) and not inspect.isabstract(cls)
    }
    assert public == {type(loss) for loss in LOSSES if loss not in FURTHER}


@each_loss
def test_derivative_agrees_with_finite_differences(loss):
    rng = np.random.default_rng(0)
    scores, y = some_scores(loss, 200, rng), targets_for(loss, 200, rng)
    direction = some_scores(loss, 200, rng)
    step = 1e-6
    slope = (
        loss.value(scores + step * direction, y) - loss.value(scores - step * direction, y)
    ) / (2 * step)
    analytic = loss.derivative(scores, y) * direction
    expected = analytic if analytic.ndim == 1 else analytic.sum(axis=1)
    np.testing.assert_allclose(slope, expected, atol=2e-5)


@each_loss
def test_curvature_agrees_with_finite_differences_away_from_kinks(loss):
    rng = np.random.default_rng(1)
    scores, y = some_scores(loss, 300, rng), targets_for(loss, 300, rng)
    direction, step = some_scores(loss, 300, rng), 1e-6
    numeric = loss.derivative(scores + step * direction, y)
    numeric = (numeric - loss.derivative(scores - step * direction, y)) / (2 * step)
    off = norms(numeric - loss.curvature(scores, y, direction)) > 1e-4
    assert off.sum() <= 1


@each_loss
def test_curvature_blocks_diagonal_and_product_describe_one_matrix(loss):
    rng = np.random.default_rng(2)
    scores, y = some_scores(loss, 7, rng), targets_for(loss, 7, rng)
    second, size = loss.second_derivative(scores, y), loss.n_outputs
    matrices = np.zeros((7, size, size))
    for k, other, sign, weights in loss.curvature_blocks(second):
        assert (weights >= 0).all()
        matrices[:, k, other] = matrices[:, other, k] = sign * weights
    for k in range(size):
        unit = np.zeros((7, size))
        unit[:, k] = 1
        product = loss.curvature_product(second, unit if size > 1 else unit[:, 0])
        np.testing.assert_allclose(product.reshape(7, size), matrices[:, :, k], atol=1e-15)
    diagonal = loss.curvature_diagonal(second).reshape(7, size)
    np.testing.assert_allclose(diagonal, np.einsum("nkk->nk", matrices), atol=1e-15)


@each_loss
def test_smoothness_bounds_the_change_of_the_derivative_and_is_attained(loss):
    rng = np.random.default_rng(3)
    y = targets_for(loss, 20_000, rng)
    before = some_scores(loss, 20_000, rng, scale=0.7)
    if loss.n_outputs > 2:  # two classes alone in the running are the worst case
        before[:, 2:] -= 30
    after = before + some_scores(loss, 20_000, rng, scale=0.05)
    change = norms(loss.derivative(after, y) - loss.derivative(before, y))
    ratio = change / norms(after - before)
    assert ratio.max() <= loss.smoothness * (1 + 1e-9)
    assert ratio.max() >= 0.8 * loss.smoothness


@each_loss
def test_loss_is_convex_and_never_negative(loss):
    rng = np.random.default_rng(4)
    y = targets_for(loss, 2000, rng)
    first, second = some_scores(loss, 2000, rng), some_scores(loss, 2000, rng)
    middle = loss.value((first + second) / 2, y)
    chord = (loss.value(first, y) + loss.value(second, y)) / 2
    assert (middle <= chord + 1e-12).all()
    assert (loss.value(first, y) >= 0).all()


@each_loss
def test_value_change_is_the_difference_of_values(loss):
    rng = np.random.default_rng(5)
    y = targets_for(loss, 500, rng)
    after, before = some_scores(loss, 500, rng), some_scores(loss, 500, rng)
    expected = loss.value(after, y) - loss.value(before, y)
    np.testing.assert_allclose(loss.value_change(after, before, y), expected, atol=1e-12)


@each_loss
@pytest.mark.parametrize("size", [1e3, 1e8, 1e100])
def test_loss_is_stable_at_huge_scores(loss, size):
    rng = np.random.default_rng(6)
    y = targets_for(loss, 40, rng)
    scores = size * np.sign(some_scores(loss, 40, rng))
    derivative = loss.derivative(scores, y)
    assert np.isfinite(derivative).all()
    assert np.isfinite(loss.value(scores, y)).all()
    assert np.isfinite(loss.curvature(scores, y, np.ones_like(scores))).all()
    bound = loss.gradient_bound(1.0, size * math.sqrt(loss.n_outputs))
    assert norms(derivative).max() <= bound * (1 + 1e-12)


def test_logistic_keeps_its_precision_where_the_naive_formula_loses_it():
    margins = np.array([-800.0, -40.0, 40.0, 800.0])
    value = Logistic().value(margins, np.ones(4))
    np.testing.assert_allclose(value, [800.0, 40.0, math.exp(-40), 0.0], rtol=1e-14)
    slope = Logistic().derivative(margins, np.ones(4))
    np.testing.assert_allclose(slope, [-1.0, -1.0, -math.exp(-40), 0.0], rtol=1e-14)


def test_huber_compares_values_even_when_a_target_is_huge():
    loss = Huber(0.5)
    after, before = np.array([0.25, 1.0]), np.array([-0.25, 0.5])
    change = loss.value_change(after, before, np.array([1e300, -1e308]))
    np.testing.assert_array_equal(change, [-0.25, 0.25])


@each_loss
def test_gradient_bound_holds_on_the_ball_and_is_nearly_attained(loss):
    rng = np.random.default_rng(7)
    kappa, radius = 1.5, 2.0
    y = targets_for(loss, 4000, rng)
    scores = some_scores(loss, 4000, rng)
    scores *= (kappa * radius / norms(scores)).reshape(-1, *(1,) * (scores.ndim - 1))
    largest = norms(loss.derivative(scores, y)).max()
    bound = loss.gradient_bound(kappa, radius)
    assert 0.85 * bound <= largest <= bound * (1 + 1e-12)


@each_scalar_loss
def test_pull_is_the_supremum_of_minus_derivative_times_score(loss):
    scores = np.linspace(-5, 5, 200_001)
    y = np.full_like(scores, Y_BOUND if isinstance(loss, REGRESSION) else 1.0)
    pulls = -loss.derivative(scores, y) * scores
    if isinstance(loss, Huber | LogCosh | SmoothedEpsilonInsensitive):  # grows with the target
        assert loss.pull == math.inf
    else:
        assert pulls.max() <= loss.pull <= pulls.max() * (1 + 1e-5)
    far = np.full(1, 1e3 if isinstance(loss, LogCosh) else y[0])
    assert abs(loss.derivative(np.zeros(1), far)[0]) == pytest.approx(loss.slope_at_zero)


@pytest.mark.parametrize("n_outputs", [2, 3, 10, 30])
def test_pull_of_the_softmax_loss_is_not_beaten_by_any_logits(n_outputs):
    loss = Multinomial(n_outputs)

    def pull(scores):
        scores = np.atleast_2d(scores)
        y = np.zeros(len(scores), dtype=int)
        return -(loss.derivative(scores, y) * scores).sum(axis=1)

    rng = np.random.default_rng(8)
    assert pull(3 * rng.normal(size=(5000, n_outputs))).max() <= loss.pull
    starts = rng.normal(size=(3, n_outputs))
    best = max(-minimize(lambda s: -pull(s)[0], start, tol=1e-12).fun for start in starts)
    assert best <= loss.pull <= best * (1 + 1e-6)
    slope = np.linalg.norm(loss.derivative(np.zeros((1, n_outputs)), np.zeros(1, dtype=int)))
    assert slope == pytest.approx(loss.slope_at_zero)


def one_record_minimiser(loss, kappa, weight, strong_convexity):
    """Minimise weight loss(kappa w) + strong_convexity w^2 / 2 for the worst target."""
    y = np.array([Y_BOUND if isinstance(loss, REGRESSION) else 1.0])

    def slope(w):
        return weight * kappa * loss.derivative(np.array([kappa * w]), y)[0] + strong_convexity * w

    return brentq(slope, 0.0, 1e6, xtol=1e-13)


@each_scalar_loss
@pytest.mark.parametrize("weight", [0.2, 1.0, 50.0])
def test_minimiser_radius_holds_and_is_attained_by_one_record(loss, weight):
    kappa = 1.7
    ratios = []
    for strong_convexity in np.geomspace(1e-3, 1e3, 200):
        reached = one_record_minimiser(loss, kappa, weight, strong_convexity)
        ratios.append(reached / loss.minimiser_radius(kappa, weight, strong_convexity))
    assert 0.95 <= max(ratios) <= 1 + 1e-9


def test_minimiser_radius_of_the_softmax_loss_holds_and_is_attained():
    loss, kappa = Multinomial(4), 1.3
    ratios = []
    for strong_convexity in np.geomspace(0.01, 10, 12):

        def objective(scores, strong_convexity=strong_convexity):
            value = loss.value(scores[None], np.zeros(1, dtype=int))[0]
            return value + strong_convexity * scores @ scores / (2 * kappa**2)

        scores = minimize(objective, np.zeros(4), tol=1e-12).x
        radius = loss.minimiser_radius(kappa, 1.0, strong_convexity)
        ratios.append(np.linalg.norm(scores) / kappa / radius)
    assert 0.8 <= max(ratios) <= 1 + 1e-6


# kappa = 2, max_weight = 3, strong_convexity = 0.5, by hand.
DIAMETERS = [
    (Logistic(), 12 / (1 + math.exp(-2 * math.sqrt(0.278465 * 6)))),
    (Multinomial(3), 12 * math.sqrt(2)),
    (HuberHinge(), 12.0),
    (SquaredHinge(), 12 * 2 * (1 + 2 * math.sqrt(3))),
    (Huber(0.25), 3.0),
    (LogCosh(0.25), 3.0),
    (Squared(2.0), 12 * (2 * math.sqrt(6) + 2)),
    (ModifiedHuber(), 48.0),
    (SquaredEpsilonInsensitive(2.0, 0.3), 12 * 2 * 1.7 * (2 * math.sqrt(3) + 1)),
    (SmoothedEpsilonInsensitive(0.3, 0.1), 12.0),
]


@pytest.mark.parametrize(("loss", "expected"), DIAMETERS, ids=repr)
def test_gradient_diameter_has_its_closed_form_and_weights_enter_the_radius(loss, expected):
    assert loss.gradient_diameter(2.0, 3.0, 0.5) == pytest.approx(expected, rel=1e-12)


def test_every_loss_has_a_diameter_worked_out_by_hand():
    assert {type(loss) for loss, _ in DIAMETERS} == {type(loss) for loss in LOSSES}


def test_strong_penalties_tighten_the_radius_to_the_slope_at_zero():
    assert Logistic().minimiser_radius(2.0, 3.0, 100.0) == pytest.approx(3 * 2 * 0.5 / 100)
    assert Squared(2.0).minimiser_radius(2.0, 3.0, 100.0) == pytest.approx(3 * 2 * 2 / 100)


@each_loss
def test_two_gradients_at_one_minimiser_are_no_farther_apart_than_the_diameter(loss):
    rng = np.random.default_rng(9)
    kappa, weight, strong_convexity = 1.5, 4.0, 0.3
    radius = loss.minimiser_radius(kappa, weight, strong_convexity)
    diameter = loss.gradient_diameter(kappa, weight, strong_convexity)
    largest = 0.0
    for _ in range(300):
        coef = rng.normal(size=(loss.n_outputs, 3))
        coef *= radius / np.linalg.norm(coef)
        rows = np.concatenate((coef[:1], -coef[:1], rng.normal(size=(4, 3))))
        rows *= kappa / np.linalg.norm(rows, axis=1, keepdims=True)
        scores = rows @ coef.T
        y = targets_for(loss, 6, rng)
        slopes = loss.derivative(scores if loss.n_outputs > 1 else scores[:, 0], y).reshape(6, -1)
        weights = rng.choice([0.0, weight], size=6)
        gradients = weights[:, None, None] * slopes[:, :, None] * rows[:, None, :]
        apart = gradients[:, None] - gradients[None]
        largest = max(largest, np.sqrt(np.square(apart).sum(axis=(2, 3))).max())
    assert 0.4 * diameter <= largest <= diameter * (1 + 1e-12)


@pytest.mark.parametrize(
    ("loss", "parameter"),
    [
        (HuberHinge, 0.0),
        (HuberHinge, 1.5),
        (Huber, -1.0),
        (Huber, math.nan),
        (Squared, math.inf),
        (Multinomial, 1),
    ],
)
def test_losses_refuse_parameters_without_meaning(loss, parameter):
    with pytest.raises(ValueError, match="must be"):
        loss(parameter)


def test_losses_show_their_parameters():
    assert repr(Huber(0.5)) == "Huber(threshold=0.5)"
    assert repr(Multinomial(3)) == "Multinomial(n_outputs=3)"

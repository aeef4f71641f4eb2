"""The calculator of stable SGD: closed forms, worst cases that reach it, neighbours, mistakes."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier

from skdp.objectives import Huber, HuberHinge, Logistic, Multinomial, Squared, SquaredHinge
from skdp.objectives.nonsmooth import Absolute
from skdp.objectives.piecewise_linear import Hinge
from skdp.stability import (
    Ball,
    ConstantStep,
    Domain,
    GradientUpdate,
    InverseSquareRootStep,
    InverseStep,
    LastIterate,
    OptimalStep,
    ProximalUpdate,
    StableRun,
    StepSizes,
    SuffixAverage,
    UniformAverage,
    sgd_sensitivity,
)
from skdp.stability.scans import forward, weights_of_kicks
from skdp.stability.sgd_bounds import iterate_radii
from tests.support.stable_sgd import (
    Linear,
    flipped_pair,
    hostile_data,
    in_ball,
    in_order,
    moved_most,
    reference,
    run_of,
    with_record_at,
)

EXPLICIT, PROXIMAL = GradientUpdate(), ProximalUpdate()
RELATIVE = 1e-5


def bound(*args, **choices):
    return sgd_sensitivity(run_of(*args, **choices)).value


@dataclass(frozen=True)
class Offset(StepSizes):
    """``scale / (t^power + offset)``: a schedule that is not one of ours."""

    scale: float
    power: float
    offset: float

    def sizes(self, n_steps, facts):
        return self.scale / (np.arange(1.0, n_steps + 1) ** self.power + self.offset)


class TestClosedForms:
    """Against the formulas of the literature, for a loss of slope 1 and rows of norm 1."""

    loss = HuberHinge()  # M = 1

    @pytest.mark.parametrize("k", [1, 3])
    @pytest.mark.parametrize("b", [1, 4, 12])
    def test_constant_steps_without_a_penalty(self, k, b):
        """Wu et al. (2017), Corollary 1: 2 k eta G / b."""
        claimed = bound(self.loss, ConstantStep(0.5), n_passes=k, batch_size=b)
        assert claimed == pytest.approx(2 * k * 0.5 / b, rel=RELATIVE)

    @pytest.mark.parametrize(("power", "c"), [(1, 0.0), (1, 0.7), (0.5, 0.5)])
    def test_decreasing_steps_without_a_penalty(self, power, c):
        """Wu et al. (2017), Corollaries 2 and 3, with the exact sum."""
        m, k = 12, 4
        exact = sum(4 / ((j * m + 1) ** power + m**c) for j in range(k))
        claimed = bound(self.loss, Offset(2.0, power, m**c), n_passes=k)
        assert claimed == pytest.approx(exact, rel=RELATIVE)
        if power == 0.5:
            ours = InverseSquareRootStep(2.0, offset=m**c, cap=2.0)
            assert bound(self.loss, ours, n_passes=k) == pytest.approx(exact, rel=RELATIVE)

    @pytest.mark.parametrize("k", [1, 3])
    @pytest.mark.parametrize("b", [1, 4])
    def test_constant_steps_with_a_ridge(self, k, b):
        eta, lam, m = 0.7, 0.3, 12 // b
        q, f = 1 - eta * lam, 1 / (1 + eta * lam)
        args = (self.loss, ConstantStep(eta))
        choices = {"n_passes": k, "batch_size": b, "l2": lam}
        explicit = 2 * eta / b * (1 - q ** (k * m)) / (1 - q**m)
        assert bound(*args, update=EXPLICIT, **choices) == pytest.approx(explicit, rel=RELATIVE)
        proximal = 2 * eta / b * f * (1 - f ** (k * m)) / (1 - f**m)
        assert bound(*args, update=PROXIMAL, **choices) == pytest.approx(proximal, rel=RELATIVE)

    @pytest.mark.parametrize("k", [1, 3])
    @pytest.mark.parametrize("b", [1, 4, 12])
    def test_inverse_steps_cost_the_same_for_all_passes_and_batches(self, k, b):
        """Wu et al. (2017): 2 G / (lambda n), and not divided by the batch size."""
        lam, m = 2.0, 12 // b
        choices = {"n_passes": k, "batch_size": b, "l2": lam}
        explicit = bound(Linear(), InverseStep(), update=EXPLICIT, **choices)
        assert explicit == pytest.approx(2 / (lam * 12), rel=RELATIVE)
        proximal = bound(Linear(), InverseStep(), **choices)
        assert proximal == pytest.approx(2 * k / (b * lam * (k * m + 1)), rel=RELATIVE)
        assert proximal < explicit
        capped = InverseStep(cap=1 / (1 + lam))
        assert bound(self.loss, capped, update=EXPLICIT, **choices) <= explicit * (1 + RELATIVE)
        assert bound(self.loss, capped, **choices) <= proximal * (1 + RELATIVE)

    def test_optimal_steps(self):
        """eta_t = 1/(lambda (t + t0)): 2 G k / (b lambda (T + t0))."""
        lam, k, b, T = 0.01, 3, 2, 18
        t0 = lam**-0.75 - 1
        claimed = bound(Linear(), OptimalStep(), n_passes=k, batch_size=b, l2=lam, update=EXPLICIT)
        assert claimed == pytest.approx(2 * k / (b * lam * (T + t0)), rel=RELATIVE)

    def test_gradient_descent(self):
        n, T, eta, lam = 12, 7, 0.4, 0.3
        choices = {"n_passes": T, "batch_size": n}
        convex = bound(self.loss, ConstantStep(eta), **choices)
        assert convex == pytest.approx(2 / n * T * eta, rel=RELATIVE)
        strong = bound(self.loss, ConstantStep(eta), l2=lam, update=EXPLICIT, **choices)
        exact = 2 / (n * lam) * (1 - (1 - eta * lam) ** T)
        assert strong == pytest.approx(exact, rel=RELATIVE)
        proximal = bound(self.loss, ConstantStep(eta), l1=0.1, l2=lam, **choices)
        exact = 2 / (n * lam) * (1 - (1 + eta * lam) ** -T)
        assert proximal == pytest.approx(exact, rel=RELATIVE)

    @pytest.mark.parametrize("k", [1, 2, 5])
    def test_the_mean_of_all_iterates(self, k):
        claimed = bound(
            self.loss, ConstantStep(0.5), n_passes=k, averaging=UniformAverage(), reshuffle=False
        )
        assert claimed == pytest.approx((k + 1) * 0.5, rel=RELATIVE)

    def test_logistic_regression_is_cheaper_near_zero(self):
        """The first step starts at 0, where two gradients are at most kappa apart."""
        first = bound(Logistic(), ConstantStep(0.1), n_passes=1, n=1)
        assert first == pytest.approx(0.1, rel=RELATIVE)
        assert 0.1 < bound(Logistic(), ConstantStep(0.1), n_passes=3, batch_size=12) * 12 / 3 < 0.2

    def test_softmax_has_its_own_constants(self):
        claimed = bound(Multinomial(3), ConstantStep(0.5), n_passes=2)
        assert claimed == pytest.approx(2 * math.sqrt(2) * 2 * 0.5, rel=RELATIVE)

    def test_the_pegasos_schedule_on_the_hinge(self):
        """rho kappa / (lambda sqrt(T)) + 2 G / (lambda n), up to 1/T, with a ridge in the step."""
        n, k, lam = 50, 4, 0.1
        claimed = bound(Hinge(), InverseStep(), n=n, n_passes=k, l2=lam, update=EXPLICIT)
        exact = 1 / (lam * math.sqrt(n * k)) + 2 / (lam * n)
        assert claimed == pytest.approx(exact, rel=0.01)

    def test_full_batches_on_the_hinge(self):
        n, T, eta = 12, 9, 0.3
        claimed = bound(Hinge(), ConstantStep(eta), n_passes=T, batch_size=n)
        assert claimed == pytest.approx(eta * math.sqrt(T - 1) + 2 * eta * T / n, rel=RELATIVE)

    def test_the_constant_column_and_the_weights_count(self):
        claimed = bound(self.loss, ConstantStep(0.1), n_passes=1, constant=2.0, max_weight=3.0)
        assert claimed == pytest.approx(2 * 0.1 * 3 * math.sqrt(5), rel=RELATIVE)

    def test_a_short_last_batch_is_divided_like_the_others_or_left_out(self):
        for drop_last in (True, False):
            choices = {"batch_size": 5, "n_passes": 2, "drop_last": drop_last}
            claimed = bound(self.loss, ConstantStep(0.5), **choices)
            assert claimed == pytest.approx(2 * 2 * 0.5 / 5, rel=RELATIVE)
            run = run_of(self.loss, ConstantStep(0.5), **choices)
            assert run.steps_per_pass == 3 - drop_last


def test_the_scans_agree_with_a_loop():
    rng = np.random.default_rng(0)
    for length, low, high in ((1, 0, 1), (5000, 0.9, 1.05), (300, 1e-200, 1e-3), (9000, 0.5, 0.51)):
        a, b = rng.uniform(low, high, size=length), rng.random(length)
        x, expected = 0.0, []
        for factor, term in zip(np.maximum(a, 1e-100), b, strict=True):
            x = factor * x + term
            expected.append(x)
        np.testing.assert_allclose(forward(a, b), expected, rtol=1e-11)
    kicks = weights_of_kicks(np.array([0.9, 0.5, 0.2]), np.array([0.1, 0.3, 0.6]))
    np.testing.assert_allclose(kicks, [0.1 + 0.5 * (0.3 + 0.2 * 0.6), 0.3 + 0.2 * 0.6, 0.6])


SCHEDULES = {
    "constant": (ConstantStep(0.5), 0.0),
    "square root": (InverseSquareRootStep(0.9, cap=2.0), 0.0),
    "constant, ridge": (ConstantStep(0.6), 0.3),
    "inverse": (InverseStep(cap=0.7), 0.3),
    "optimal": (OptimalStep(cap=0.7), 0.3),
}
AVERAGES = (LastIterate(), UniformAverage(), SuffixAverage(0.4))


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("update", [PROXIMAL, EXPLICIT], ids=["proximal", "explicit"])
def test_a_linear_loss_reaches_the_bound_exactly(schedule, update):
    steps, l2 = SCHEDULES[schedule]
    for averaging, b, k in itertools.product(AVERAGES, (1, 5, 12), (1, 3)):
        run = run_of(
            Linear(), steps, l2=l2, update=update, averaging=averaging, batch_size=b,
            n_passes=k, reshuffle=False,
        )  # fmt: skip
        X, X_other = flipped_pair(12, 2, 1.0)
        reached = moved_most(run, X, X_other, np.ones(12)) / sgd_sensitivity(run).value
        assert 0.99999 < reached <= 1


def test_fresh_orders_let_each_pass_have_its_own_worst_place():
    """Steps fall faster than the ridge shrinks at first, more slowly later."""
    choices = {"n": 8, "n_passes": 3, "l2": 0.3}
    run = run_of(Linear(), InverseSquareRootStep(0.9), **choices)
    X, X_other = flipped_pair(8, 2, 1.0)
    distances = []
    for places in itertools.product((0, 7), repeat=3):
        passes = with_record_at(run, places)
        first, second = (reference(run, Z, np.ones(8), passes) for Z in (X, X_other))
        distances.append(np.linalg.norm(first - second))
    claimed = sgd_sensitivity(run).value
    assert 0.99999 < max(distances) / claimed <= 1
    assert bound(Linear(), InverseSquareRootStep(0.9), reshuffle=False, **choices) < 0.995 * claimed


LOSSES = {
    "logistic": (Logistic(), (-1.0, 1.0)),
    "huber hinge": (HuberHinge(), (-1.0, 1.0)),
    "squared hinge": (SquaredHinge(), (-1.0, 1.0)),
    "huber": (Huber(), (-50.0, 0.0, 50.0)),
    "squared": (Squared(2.0), (-2.0, 0.5, 2.0)),
    "softmax": (Multinomial(3), (0, 1, 2)),
    "hinge": (Hinge(), (-1.0, 1.0)),
    "absolute": (Absolute(), (-2.0, 0.1, 2.0)),
}


def random_run(rng, loss):
    constant = rng.choice([0.0, 0.7])
    weight = float(rng.choice([1.0, 3.0]))
    n, d = int(rng.integers(2, 8)), int(rng.integers(1, 4))
    domain = Domain(n, d, 1.0, constant or None, weight)
    l2 = float(rng.choice([0.0, 0.1, 1.0]))
    smoothness = weight * min(loss.smoothness, 1.0) * domain.kappa**2
    scale = float(rng.uniform(0.1, 2.0)) / smoothness
    steps = [ConstantStep(scale), InverseSquareRootStep(scale)]
    if l2 > 0:
        steps += [InverseStep(cap=scale), OptimalStep(cap=scale)]
    update = EXPLICIT if rng.random() < 0.3 and scale * l2 < 1 else PROXIMAL
    return StableRun(
        loss, domain, steps[rng.integers(len(steps))], int(rng.integers(1, 4)),
        batch_size=int(rng.integers(1, n + 1)), l1=float(rng.choice([0.0, 0.1])), l2=l2,
        update=update, averaging=AVERAGES[rng.integers(3)],
        projection=run_of(loss, steps[0]).projection if rng.random() < 0.6 else Ball(0.8),
        drop_last=bool(rng.random() < 0.3),
    )  # fmt: skip


@pytest.mark.parametrize("name", LOSSES)
def test_no_pair_of_neighbours_is_further_apart_than_the_bound(name):
    (loss, labels), rng = LOSSES[name], np.random.default_rng(7)
    closest = 0.0
    for _ in range(60):
        run = random_run(rng, loss)
        claimed, radii = sgd_sensitivity(run).value, iterate_radii(run)
        n, d = run.domain.n_samples, run.domain.n_features
        for X, X_other, y, y_other in hostile_data(rng, n, d, labels):
            weights = rng.choice([0.0, 1.0], size=n) * run.domain.max_weight
            weights[0] = run.domain.max_weight
            passes = in_order(run, [rng.permutation(n) for _ in range(run.n_passes)])
            first = reference(run, X, y, passes, weights)
            second = reference(run, X_other, y_other, passes, weights)
            assert np.linalg.norm(first - second) <= claimed
            assert np.linalg.norm(first) <= radii.max()
            closest = max(closest, np.linalg.norm(first - second) / claimed)
    assert closest > 0.3


@pytest.mark.parametrize(("loss", "share"), [(HuberHinge(), 0.999), (Logistic(), 0.4)])
def test_support_vectors_in_the_linear_part_reach_the_bound(loss, share):
    run = run_of(loss, InverseStep(), n=40, n_passes=2, l2=4.0, batch_size=10, reshuffle=False)
    X, X_other = flipped_pair(40, 2, 1.0)
    reached = moved_most(run, X, X_other, np.ones(40)) / sgd_sensitivity(run).value
    assert share < reached <= 1


def test_gradients_of_records_differ_most_off_the_ball_of_the_minimiser():
    """With lambda = 1/8 and eta = 2/(M + 2 lambda) the first iterate is beyond every minimiser."""
    lam = 0.125
    run = run_of(Logistic(), ConstantStep(2 / (0.25 + 2 * lam)), l2=lam, update=EXPLICIT,
                 batch_size=12, n_passes=1)  # fmt: skip
    w = reference(run, np.tile([[1.0, 0.0]], (12, 1)), np.ones(12), in_order(run, [np.arange(12)]))
    minimiser = Logistic().minimiser_radius(1.0, 1.0, lam)
    assert minimiser < 1.5 < np.linalg.norm(w) <= iterate_radii(run)[-1]


class TestSteepSteps:
    """Above 2/M a step stretches distances, and the bound says by how much."""

    def test_the_stretch_is_attained_by_squared_loss(self):
        run = run_of(Squared(1.0), ConstantStep(2.5), n_passes=2, n=8, reshuffle=False)
        X = np.ones((8, 1))
        y, y_other = np.ones(8), np.ones(8)
        y_other[0] = -1.0
        moved = moved_most(run, X, X, y, y_other)
        smooth_formula = 2 * 2 * 2.5 * Squared(1.0).gradient_bound(1.0, 1.0)
        assert smooth_formula < moved <= sgd_sensitivity(run).value

    def test_the_schedule_of_scikit_learn_is_useless_without_its_cap(self):
        domain = Domain(1000, 5, 1.0)
        choices = {"n_passes": 5, "l2": 1e-4, "update": EXPLICIT}
        uncapped = StableRun(Logistic(), domain, OptimalStep(cap=1e9), **choices)
        capped = StableRun(Logistic(), domain, OptimalStep(), **choices)
        assert uncapped.sizes[0] == pytest.approx(10.0)
        assert uncapped.largest_step < 8
        assert sgd_sensitivity(uncapped).value > 100 * sgd_sensitivity(capped).value

    def test_a_bound_that_is_not_finite_is_refused(self):
        run = run_of(Logistic(), ConstantStep(1e3), n=3000)
        with pytest.raises(ValueError, match="no finite sensitivity"):
            sgd_sensitivity(run)

    def test_a_kink_with_ridge_steps_that_turn_around_is_refused(self):
        run = run_of(Hinge(), ConstantStep(1.1), l2=1.0, update=EXPLICIT)
        with pytest.raises(ValueError, match="take proximal steps"):
            sgd_sensitivity(run)
        assert bound(Hinge(), ConstantStep(1.1), l2=1.0) > 0


def test_the_optimal_schedule_is_that_of_scikit_learn():
    """One step on one row of norm 1 from 0 is eta_1 times the slope there."""
    for loss, ours, slope in (("hinge", HuberHinge(), 1.0), ("log_loss", Logistic(), 0.5)):
        for alpha in (0.01, 0.3):
            model = SGDClassifier(loss, alpha=alpha, max_iter=1, tol=None, shuffle=False)
            X, y = np.array([[1.0], [0.0], [0.0]]), np.array([1, 0, 1])
            model.set_params(fit_intercept=False).fit(X, y)
            run = run_of(ours, OptimalStep(cap=1e9), n=3, n_passes=1, l2=alpha)
            kept = np.prod(1 - run.sizes[1:] * alpha)
            assert model.coef_[0, 0] == pytest.approx(run.sizes[0] * slope * kept)


def test_a_penalty_of_zero_is_refused_where_the_steps_divide_by_it():
    for steps in (InverseStep(), OptimalStep()):
        with pytest.raises(ValueError, match="Set alpha above 0"):
            bound(Logistic(), steps)


class TestPlantedMistakes:
    """Formulas and algorithms that look right, each with a pair of data sets that refutes it."""

    @pytest.mark.parametrize(("n", "b"), [(12, 2), (12, 4), (60, 20)])
    def test_the_rule_of_bolt_on_is_too_small_by_the_batch_size(self, n, b):
        """TensorFlow Privacy's get_noise divides 2 L/(gamma n) by the batch size."""
        gamma = 0.3
        run = run_of(Linear(), InverseStep(), n=n, d=1, n_passes=2, batch_size=b, l2=gamma,
                     update=EXPLICIT, reshuffle=False)  # fmt: skip
        X, X_other = flipped_pair(n, 1, 1.0)
        moved = moved_most(run, X, X_other, np.ones(n))
        published = 2 / (gamma * n * b)
        assert moved / published == pytest.approx(b, rel=1e-9)
        assert 0.99999 < moved / sgd_sensitivity(run).value <= 1

    def test_so_it_is_for_a_support_vector_machine(self):
        run = run_of(HuberHinge(), InverseStep(cap=0.2), n=40, n_passes=2, batch_size=10, l2=4.0,
                     update=EXPLICIT, reshuffle=False)  # fmt: skip
        X, X_other = flipped_pair(40, 2, 1.0)
        moved = moved_most(run, X, X_other, np.ones(40))
        assert moved / (2 / (4.0 * 40 * 10)) > 9.99
        assert moved <= sgd_sensitivity(run).value

    def test_subgradient_steps_on_the_l1_norm_stretch_distances(self):
        """Without prox two nearby runs jump to different sides of the kink."""

        def subgradient(w, eta, l1):
            return w - eta * l1 * np.sign(w)

        run = run_of(Linear(), ConstantStep(1.0), n=1, d=1, n_passes=1, l1=0.5)
        tiny = 1e-3
        X, X_other = np.array([[tiny]]), np.array([[-tiny]])
        passes, y = in_order(run, [[0]]), np.ones(1)
        gap = {
            rule: abs(reference(run, X, y, passes, l1_step=rule)
                      - reference(run, X_other, y, passes, l1_step=rule)).max()
            for rule in (subgradient, None)
        }  # fmt: skip
        claimed = sgd_sensitivity(run).value * tiny  # since the rows have norm `tiny`
        assert gap[None] <= claimed
        assert gap[subgradient] > 399 * claimed

    def test_sampling_with_replacement_may_see_a_record_in_every_step(self):
        run = run_of(Linear(), ConstantStep(0.5), n_passes=1, n=20, d=1)
        X, X_other = flipped_pair(20, 1, 1.0)
        drawn = in_order(run, [np.zeros(20, dtype=int)])
        y = np.ones(20)
        moved = abs(reference(run, X, y, drawn) - reference(run, X_other, y, drawn)).max()
        assert moved > 19 * sgd_sensitivity(run).value

    def test_one_pass_more_than_was_planned_is_seen(self):
        run = run_of(Linear(), ConstantStep(0.5), n_passes=2, n=6, d=1)
        X, X_other = flipped_pair(6, 1, 1.0)
        longer = run_of(Linear(), ConstantStep(0.5), n_passes=3, n=6, d=1)
        assert moved_most(longer, X, X_other, np.ones(6)) > sgd_sensitivity(run).value

    def test_the_formula_of_smooth_losses_is_too_small_for_the_hinge(self):
        X = np.array([
            [-0.39, -0.92], [0.81, 0.11], [-0.15, 0.94], [0.28, -0.94],
            [0.9, -0.43], [-0.1, -0.98], [0.88, -0.31], [0.58, -0.73],
        ])  # fmt: skip
        X_other = X.copy()
        X_other[0] = 0.43, 0.9
        run = run_of(Hinge(), ConstantStep(1.2247), n=8, n_passes=1)
        passes = in_order(run, [np.arange(8)])
        first, second = (reference(run, in_ball(Z), np.ones(8), passes) for Z in (X, X_other))
        moved = np.linalg.norm(first - second)
        assert moved > 1.07 * 2 * 1.2247
        assert moved <= sgd_sensitivity(run).value

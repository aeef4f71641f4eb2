"""Objective perturbation against the exact law of what it releases.

On a line or a plane the densities of the tilted minimiser under two data sets can be written down
and integrated, so the best attack there is needs no sampling: its delta is known to many digits.
That releases do follow this law is tested by sampling.
"""

import math

import numpy as np
import pytest
from scipy.stats import kstest

from skdp._random import RandomSource
from skdp.audit import audit_release
from skdp.audit.tilted_releases import TiltRatio
from skdp.linear_model import PrivateElasticNet
from skdp.mechanisms.objective_perturbation import (
    GaussianObjectivePerturbation,
    L2LaplaceObjectivePerturbation,
)
from skdp.objectives import ElasticNet, LogCosh, Logistic, Multinomial
from skdp.privacy import Neighbours, PrivacyBudget
from skdp.records import InMemoryRecords
from skdp.stability.domain import Domain
from skdp.stability.objective_perturbation import (
    OBJECTIVE_NOISES,
    ObjectivePerturbationPlan,
    RecordsToTilt,
    TiltFacts,
)
from tests.support.tilted_law import (
    gaussian_tilt,
    hockey_stick,
    laplace_tilt,
    line_grid,
    log_cosh,
    log_densities,
    logistic,
    square_grid,
)

TILTS = {
    GaussianObjectivePerturbation: gaussian_tilt,
    L2LaplaceObjectivePerturbation: laplace_tilt,
}
each_noise = pytest.mark.parametrize(("noise", "delta"), [("gaussian", 0.05), ("l2_laplace", 0.0)])


def plan_for(
    loss, n, l2, noise, delta, epsilon=1.0, n_features=1, row_norm=1.0, neighbours="replace-one"
):
    return ObjectivePerturbationPlan.for_penalty(
        loss,
        ElasticNet(l2),
        Domain(n, n_features, row_norm, neighbours=Neighbours(neighbours)),
        PrivacyBudget(epsilon, delta),
        tol=1e-9,
        noise=OBJECTIVE_NOISES[noise],
    )


def density(mechanism):
    return TILTS[type(mechanism)](mechanism.noise_scale)


def deltas(first, second, mechanism, grid, epsilons):
    """Exact delta of the tilted minimiser, the greater of both directions."""
    points, cell = grid
    one, other = (log_densities(o, density(mechanism), points) for o in (first, second))
    assert np.exp(one).sum() * cell == pytest.approx(1, abs=1e-3)
    return np.maximum(
        hockey_stick(one, other, cell, epsilons), hockey_stick(other, one, cell, epsilons)
    )


EPSILONS = np.array([0.0, 0.1, 0.3, 0.6, 1.0, 1.5])


def line_pairs(n):
    """(X, y) of two data sets of numbers, the first record changed."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, size=(n, 1)), rng.normal(size=n)
    for first, second in [
        ((1.0, 40.0), (1.0, -40.0)),
        ((1.0, 0.0), (0.0, 0.0)),
        ((1.0, 40.0), (-1.0, 0.3)),
        ((1.0, -1.0), (0.5, 2.0)),
    ]:
        yield tuple(
            (np.vstack([[[x]], X[1:]]), np.append(label, y[1:])) for x, label in (first, second)
        )


def nulled_pairs(n):
    """(X, y) of two data sets of numbers, the first record missing in the second; n is public."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, size=(n, 1)), rng.normal(size=n)
    for x, label in [(1.0, 40.0), (1.0, 0.0), (-1.0, 0.3), (0.5, 2.0)]:
        first = np.vstack([[[x]], X[1:]]), np.append(label, y[1:])
        yield first, (X[1:], y[1:])


@each_noise
@pytest.mark.parametrize(("n", "l2"), [(6, 0.3), (40, 0.5)])
@pytest.mark.parametrize(
    ("relation", "pairs"), [("replace-one", line_pairs), ("zero-out", nulled_pairs)]
)
def test_numbers_on_a_line_show_no_more_than_is_claimed(noise, delta, n, l2, relation, pairs):
    mechanism = plan_for(LogCosh(), n, l2, noise, delta, neighbours=relation).mechanism
    reach = 12 * mechanism.noise_scale / (n * l2) * (1 if noise == "gaussian" else 2)
    grid = line_grid(-reach - 5, reach + 5, 40_001)
    claimed = np.array([mechanism.delta_at(e) for e in EPSILONS])
    for first, second in pairs(n):
        exact = deltas(
            log_cosh(*first, n * l2), log_cosh(*second, n * l2), mechanism, grid, EPSILONS
        )
        assert (exact <= claimed + 1e-6).all()


@each_noise
def test_opposite_labels_far_away_come_near_the_claim(noise, delta):
    """The gradient moves by all that it may, whatever w; a strong penalty leaves no determinant.

    Two branches, of either sign, are one too many for it.
    """
    n, l2 = 40, 20.0
    mechanism = plan_for(LogCosh(), n, l2, noise, delta).mechanism
    X, y = np.ones((n, 1)), np.zeros(n)
    first, second = (log_cosh(X, np.append(sign * 60.0, y[1:]), n * l2) for sign in (1, -1))
    reach = 15 * mechanism.noise_scale / (n * l2) + 0.05
    (exact,) = deltas(first, second, mechanism, line_grid(-reach, reach, 40_001), [0.9])
    claimed = mechanism.delta_at(0.9)
    assert 0.35 * claimed <= exact <= claimed


def test_mirrored_rows_far_on_the_wrong_side_come_near_the_claim_for_logistic_loss():
    """Both slopes are near 1 where the minimiser is, and the rows point nearly opposite ways."""
    n, l2, delta = 60_000, 4e-5, 0.1
    mechanism = plan_for(Logistic(), n, l2, "gaussian", delta, n_features=2).mechanism
    turn = math.radians(65)
    rows = [[math.cos(turn), side * math.sin(turn)] for side in (1, -1)]
    # All other records are alike: one with their weight.
    pair = [
        logistic([row, [1.0, 0.0]], [-1.0, 1.0], n * l2, np.array([1.0, n - 1.0])) for row in rows
    ]
    middle = pair[0].minus_tilt(np.array([[9.0, 0.0]]))
    assert abs(middle[0, 0]) < 20  # where the minimiser is, more or less
    wide = 9 * mechanism.noise_scale / (n * l2)
    points, cell = square_grid((9.0, 0.0), max(wide, 8.0), 901)
    exact = deltas(*pair, mechanism, (points, cell), EPSILONS)
    claimed = np.array([mechanism.delta_at(e) for e in EPSILONS])
    assert (exact <= claimed + 1e-6).all()
    assert exact[3] >= 0.2 * claimed[3]


@each_noise
def test_a_label_far_away_and_a_null_come_near_the_claim(noise, delta):
    n, l2 = 40, 20.0
    mechanism = plan_for(LogCosh(), n, l2, noise, delta, neighbours="zero-out").mechanism
    X, y = np.ones((n, 1)), np.append(60.0, np.zeros(n - 1))
    pair = log_cosh(X, y, n * l2), log_cosh(X[1:], y[1:], n * l2)
    reach = 15 * mechanism.noise_scale / (n * l2) + 0.05
    (exact,) = deltas(*pair, mechanism, line_grid(-reach, reach, 40_001), [0.9])
    claimed = mechanism.delta_at(0.9)
    assert 0.35 * claimed <= exact <= claimed


def test_a_row_far_on_the_wrong_side_and_a_null_come_near_the_claim_for_logistic_loss():
    """One branch, in any direction of the plane: twice as near as with two."""
    n, l2, delta = 60_000, 4e-5, 0.1
    mechanism = plan_for(
        Logistic(), n, l2, "gaussian", delta, n_features=2, neighbours="zero-out"
    ).mechanism
    rows, labels, weights = (
        [[math.cos(1.0), math.sin(1.0)], [1.0, 0.0]],
        [-1.0, 1.0],
        [1.0, n - 1.0],
    )
    pair = [
        logistic(rows[kept:], labels[kept:], n * l2, np.array(weights[kept:])) for kept in (0, 1)
    ]
    wide = max(9 * mechanism.noise_scale / (n * l2), 8.0)
    grid = square_grid((9.0, 0.0), wide, 901)
    exact = deltas(*pair, mechanism, grid, EPSILONS)
    claimed = np.array([mechanism.delta_at(e) for e in EPSILONS])
    assert (exact <= claimed + 1e-6).all()
    assert exact[3] >= 0.4 * claimed[3]


@each_noise
def test_releases_follow_the_exact_law(noise, delta):
    """Kolmogorov-Smirnov with a fixed seed; a fair sample fails once in a million."""
    n, l2, draws = 12, 0.1, 400
    plan = plan_for(LogCosh(), n, l2, noise, delta, epsilon=5.0)
    rng = np.random.default_rng(1)
    X, y = rng.uniform(-1, 1, size=(n, 1)), rng.normal(size=n) * 3
    source = RandomSource.from_seed(2)
    records = InMemoryRecords(X, y, None, None)
    found = [float(plan.released(records, source)[0, 0]) for _ in range(draws)]
    points, cell = line_grid(-40, 40, 80_001)
    law = log_densities(log_cosh(X, y, n * l2), density(plan.mechanism), points)
    cumulated = np.cumsum(np.exp(law)) * cell
    assert kstest(found, lambda w: np.interp(w, points[:, 0], cumulated)).pvalue > 1e-6
    # And not that of a tilt of half the size.
    other = log_densities(
        log_cosh(X, y, n * l2),
        TILTS[type(plan.mechanism)](0.5 * plan.mechanism.noise_scale),
        points,
    )
    halved = np.cumsum(np.exp(other)) * cell
    assert kstest(found, lambda w: np.interp(w, points[:, 0], halved)).pvalue < 1e-6


def test_whole_fits_follow_it_too():
    n, alpha = 30, 0.2
    rng = np.random.default_rng(3)
    X, y = rng.uniform(-1, 1, size=(n, 1)), rng.normal(size=n)
    model = PrivateElasticNet(
        "log_cosh", perturbation="objective", alpha=alpha, l1_ratio=0.0, fit_intercept=False,
        epsilon=3.0, delta=1e-3,
    )  # fmt: skip
    found = [float(model.fit(X, y).coef_[0]) for _ in range(60)]
    points, cell = line_grid(-30, 30, 40_001)
    law = log_densities(log_cosh(X, y, n * alpha), density(model._mechanism), points)
    cumulated = np.cumsum(np.exp(law)) * cell
    assert kstest(found, lambda w: np.interp(w, points[:, 0], cumulated)).pvalue > 1e-8


@each_noise
@pytest.mark.parametrize("size", [1, 2, 5])
def test_tilts_have_the_length_and_direction_of_their_law(noise, delta, size):
    mechanism = plan_for(Logistic(), 50, 0.1, noise, delta, n_features=size).mechanism
    source = RandomSource.from_seed(4)
    tilts = np.array([mechanism._tilt(source) for _ in range(3000)]) / mechanism.noise_scale
    lengths = np.linalg.norm(tilts, axis=1)
    law = ("chi", (size,)) if noise == "gaussian" else ("gamma", (size,))
    assert kstest(lengths, *law).pvalue > 1e-6
    # Directions: nothing but the coordinates' signs and the mean of their squares, which is 1/d.
    assert abs((tilts > 0).mean() - 0.5) < 3 / math.sqrt(tilts.size)
    squares = ((tilts / lengths[:, None]) ** 2).mean(axis=0)
    np.testing.assert_allclose(squares, 1 / size, atol=6 / math.sqrt(len(tilts)))
    assert (lengths < mechanism.largest_tilt / mechanism.noise_scale).all()


class TestAuditOfReleases:
    """What `audit_release` shows of models on a line, where all labels but one say nothing."""

    X, Y, FAR, OTHER = np.ones((40, 1)), np.zeros(40), np.zeros(40), np.zeros(40)
    FAR[0], OTHER[0] = 60.0, -60.0
    ALL, NULLED = np.ones(40), np.append(0.0, np.ones(39))

    def shown(self, data, neighbour, n_draws=250, **parameters):
        given = {
            "alpha": 20.0, "l1_ratio": 0.0, "fit_intercept": False, "epsilon": 2.0, **parameters
        }  # fmt: skip
        model = PrivateElasticNet("log_cosh", perturbation="objective", **given)
        return audit_release(model, data, neighbour, n_draws=n_draws, random_state=0)

    @pytest.mark.slow
    @pytest.mark.filterwarnings("ignore:delta=")
    @each_noise
    def test_half_of_the_claim_is_shown_and_not_more_than_it(self, noise, delta):
        pair = (self.X, self.FAR, self.ALL), (self.X, self.FAR, self.NULLED)
        found = self.shown(*pair, n_draws=2000, noise=noise, delta=delta, neighbours="zero-out")
        assert 0.35 * 2 < found.epsilon <= 2
        assert not found.accuses

    def test_a_replaced_record_is_found_out_where_a_nulled_one_is_claimed(self):
        found = self.shown((self.X, self.FAR), (self.X, self.OTHER), neighbours="zero-out")
        assert found.accuses

    def test_a_tilt_that_is_drawn_too_small_is_found_out(self, monkeypatch):
        true = L2LaplaceObjectivePerturbation._tilt
        monkeypatch.setattr(
            L2LaplaceObjectivePerturbation, "_tilt", lambda self, rng: true(self, rng) / 3
        )
        assert self.shown((self.X, self.FAR), (self.X, self.OTHER)).accuses

    @pytest.mark.parametrize("noise", ["gaussian", "l2_laplace"])
    @pytest.mark.parametrize("loss", [Logistic(), Multinomial(3)], ids=repr)
    def test_its_statistic_is_the_ratio_of_the_densities(self, loss, noise):
        """By finite differences of the map from weights to tilts, for all classes together."""
        rng = np.random.default_rng(5)
        plan = plan_for(loss, 8, 0.1, noise, 0.05, n_features=2, epsilon=3.0)
        labels = np.resize([-1.0, 1.0] if loss.n_outputs == 1 else [0, 1, 2], 8)
        X = rng.normal(size=(8, 2)) / 3
        pair = [
            RecordsToTilt(plan.problem, InMemoryRecords(X, labels, weights, None))
            for weights in (np.ones(8), np.append(0.0, np.ones(7)))
        ]
        w = rng.normal(size=(loss.n_outputs, 2))

        def log_density(value):
            def tilt(flat):
                coef = flat.reshape(w.shape)
                return (value.summed_gradient(coef) + 8 * 0.1 * coef).ravel()

            steps = 1e-5 * np.eye(w.size)
            jacobian = [(tilt(w.ravel() + s) - tilt(w.ravel() - s)) / 2e-5 for s in steps]
            law = TILTS[type(plan.mechanism)](plan.mechanism.noise_scale)
            return law(tilt(w.ravel())[None])[0] + np.linalg.slogdet(np.array(jacobian))[1]

        (found,) = TiltRatio(plan.mechanism)(w[None], *pair)
        assert found == pytest.approx(log_density(pair[0]) - log_density(pair[1]), rel=1e-4)


class TestPlantedBugs:
    """What the exact law must accuse: more delta, at the claimed epsilon, than is claimed."""

    @staticmethod
    def excess(plan, first, second, grid, epsilon=1.0):
        (exact,) = deltas(first, second, plan.mechanism, grid, [epsilon])
        return exact - plan.mechanism.delta_at(epsilon)

    def bend(self, n, l2, row_norm=1.0):
        """A record at the bend of its loss, and a null one; other records have null rows."""
        first, second = (
            log_cosh(np.array([[x], *[[0.0]] * (n - 1)]), np.zeros(n), n * l2)
            for x in (row_norm, 0.0)
        )
        return first, second

    def test_nothing_is_accused_as_it_is(self):
        n, l2 = 4, 0.2
        plan = plan_for(LogCosh(), n, l2, "l2_laplace", 0.0)
        grid = line_grid(-400, 400, 80_001)
        assert self.excess(plan, *self.bend(n, l2), grid) <= 1e-6

    def test_nothing_is_accused_where_the_record_is_nulled(self):
        """The bend at 0 and a null: the determinant is all that is left of a record there."""
        n, l2 = 4, 0.2
        plan = plan_for(LogCosh(), n, l2, "l2_laplace", 0.0, neighbours="zero-out")
        grid = line_grid(-400, 400, 80_001)
        assert self.excess(plan, *self.bend(n, l2), grid) <= 1e-6

    def test_a_determinant_for_half_of_a_nulled_record(self, monkeypatch):
        n, l2 = 4, 0.05
        true = LogCosh.log_determinant
        monkeypatch.setattr(LogCosh, "log_determinant", lambda self, r: true(self, r) / 2)
        plan = plan_for(LogCosh(), n, l2, "l2_laplace", 0.0, neighbours="zero-out")
        grid = line_grid(-800, 800, 160_001)
        assert self.excess(plan, *self.bend(n, l2), grid) > 1e-3

    def test_half_of_the_gradient_of_a_nulled_record(self, monkeypatch):
        n, l2 = 40, 20.0
        true = LogCosh.gradient_bound
        monkeypatch.setattr(LogCosh, "gradient_bound", lambda *a: true(*a) / 2)
        plan = plan_for(LogCosh(), n, l2, "gaussian", 0.05, neighbours="zero-out")
        X, y = np.ones((n, 1)), np.append(60.0, np.zeros(n - 1))
        pair = log_cosh(X, y, n * l2), log_cosh(X[1:], y[1:], n * l2)
        assert self.excess(plan, *pair, line_grid(-1, 1, 40_001)) > 0.02

    def test_a_row_in_the_place_of_a_null(self):
        """A null that keeps its constant column is one: its label can still be of either sign."""
        n, l2 = 40, 20.0
        plan = plan_for(LogCosh(), n, l2, "gaussian", 0.05, neighbours="zero-out")
        X, y = np.ones((n, 1)), np.zeros(n)
        pair = [log_cosh(X, np.append(s * 60.0, y[1:]), n * l2) for s in (1, -1)]
        assert self.excess(plan, *pair, line_grid(-1, 1, 40_001)) > 0.02

    def test_no_determinant(self, monkeypatch):
        n, l2 = 4, 0.05
        monkeypatch.setattr(LogCosh, "log_determinant", lambda self, ratio: 0.0)
        plan = plan_for(LogCosh(), n, l2, "l2_laplace", 0.0)
        grid = line_grid(-800, 800, 160_001)
        assert self.excess(plan, *self.bend(n, l2), grid) > 1e-3

    def test_the_length_of_a_row_for_its_square(self, monkeypatch):
        n, l2, row_norm = 4, 4.0, 10.0
        true = LogCosh.log_determinant
        monkeypatch.setattr(LogCosh, "log_determinant", lambda self, r: true(self, r / row_norm))
        plan = plan_for(LogCosh(), n, l2, "l2_laplace", 0.0, row_norm=row_norm)
        grid = line_grid(-100, 100, 80_001)
        assert self.excess(plan, *self.bend(n, l2, row_norm), grid) > 1e-3

    def test_a_curvature_of_a_quarter_for_a_loss_that_has_more(self, monkeypatch):
        n, l2 = 4, 0.05
        monkeypatch.setattr(LogCosh, "log_determinant", lambda self, r: math.log1p(r / 16))
        plan = plan_for(LogCosh(), n, l2, "l2_laplace", 0.0)
        grid = line_grid(-800, 800, 160_001)
        assert self.excess(plan, *self.bend(n, l2), grid) > 1e-3

    def test_an_intercept_outside_the_strongly_convex_part(self):
        """The one column is the intercept, penalised a hundredth as much as is claimed."""
        n, l2 = 4, 0.5
        plan = plan_for(LogCosh(), n, l2, "l2_laplace", 0.0)
        first, second = self.bend(n, l2 / 100)
        grid = line_grid(-2e4, 2e4, 400_001)
        assert self.excess(plan, first, second, grid) > 1e-3

    def test_the_norm_of_a_gradient_for_the_distance_of_two(self, monkeypatch):
        n, l2 = 40, 20.0
        true = TiltFacts.of.__func__

        def half(cls, *given):
            facts = true(cls, *given)
            object.__setattr__(facts.sensitivity, "value", facts.sensitivity.value / 2)
            return facts

        monkeypatch.setattr(TiltFacts, "of", classmethod(half))
        plan = plan_for(LogCosh(), n, l2, "gaussian", 0.05)
        X, y = np.ones((n, 1)), np.zeros(n)
        pair = [log_cosh(X, np.append(s * 60.0, y[1:]), n * l2) for s in (1, -1)]
        assert self.excess(plan, *pair, line_grid(-1, 1, 40_001)) > 0.02

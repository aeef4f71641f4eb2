"""Objective perturbation: brute-forced gradients, determinants, solver and record-and-replay."""

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp

from skdp.linear_model import PrivateElasticNet, PrivateElasticNetClassifier
from skdp.objectives import ElasticNet, LogCosh, Logistic, Multinomial
from skdp.privacy import Neighbours, PrivacyBudget
from skdp.records import InMemoryRecords, clip_rows
from skdp.stability.domain import Domain
from skdp.stability.objective_perturbation import (
    OBJECTIVE_NOISES,
    ObjectivePerturbationPlan,
    RecordsToTilt,
    TiltFacts,
)
from tests.support.replay import violations

LOSSES = {
    "logistic": (Logistic(), lambda rng, n: rng.choice([-1.0, 1.0], n)),
    "softmax": (Multinomial(4), lambda rng, n: rng.integers(0, 4, n)),
    "log-cosh": (LogCosh(0.7), lambda rng, n: rng.choice([-1e3, 0.0, 0.5, 1e3], n)),
}
each_loss = pytest.mark.parametrize("name", LOSSES)
each_noise = pytest.mark.parametrize(("noise", "delta"), [("l2_laplace", 0.0), ("gaussian", 1e-5)])
N, D = 12, 3


def domain(**facts):
    given = {"row_norm": 2.0, "intercept_scaling": 0.5, "max_weight": 3.0, **facts}
    return Domain(n_samples=N, n_features=D, **given)


def plan_for(loss, noise="auto", delta=0.0, epsilon=1.0, alpha=2.0, l1_ratio=0.2, **facts):
    return ObjectivePerturbationPlan.for_penalty(
        loss,
        ElasticNet(alpha, l1_ratio),
        domain(**facts),
        PrivacyBudget(epsilon, delta),
        tol=1e-8,
        noise=OBJECTIVE_NOISES[noise],
    )


def records(rng, targets, facts, *, sparse=False):
    X = clip_rows(rng.normal(size=(N, D)) * rng.choice([0.1, 1, 50]), facts.row_norm)
    weights = rng.choice([0.0, 0.5, facts.max_weight], N)
    return X, InMemoryRecords(
        sp.csr_matrix(X) if sparse else X, targets, weights, facts.intercept_scaling
    )


@each_loss
@pytest.mark.parametrize("rows_per_unit", [1, 3])
def test_no_neighbour_moves_the_summed_gradient_by_more_and_some_come_near(name, rows_per_unit):
    loss, draw = LOSSES[name]
    facts = domain(rows_per_unit=rows_per_unit)
    bound = TiltFacts.of(loss, ElasticNet(1.0), facts, PrivacyBudget(1.0)).sensitivity.value
    rng = np.random.default_rng(3)
    problem = plan_for(loss, epsilon=20.0, rows_per_unit=rows_per_unit).problem
    largest = 0.0
    for _ in range(300):
        direction = rng.normal(size=D)
        direction /= np.linalg.norm(direction)
        across = np.linalg.svd(direction[None])[2][1]
        sides = math.cos(1.3) * direction, math.sin(1.3) * across
        y = draw(rng, N)
        gradients = []
        coef = rng.normal(size=(loss.n_outputs, D + 1)) * 100.0 * (rng.random() < 0.8)
        for sign, label in ((1, 0), (-1, -1)):
            X, weights = np.zeros((N, D)), np.zeros(N)
            X[:rows_per_unit] = facts.row_norm * (sides[0] + sign * sides[1])
            if rng.random() < 0.5:
                X[:rows_per_unit] *= sign
            weights[:rows_per_unit] = facts.max_weight
            targets = y.copy()
            options = np.unique(draw(rng, 50))
            targets[:rows_per_unit] = options[label] if rng.random() < 0.5 else options[0]
            of = InMemoryRecords(X, targets, weights, facts.intercept_scaling)
            gradients.append(RecordsToTilt(problem, of).summed_gradient(coef))
        largest = max(largest, float(np.linalg.norm(gradients[0] - gradients[1])))
    assert 0.7 * bound <= largest <= bound


@each_loss
@pytest.mark.parametrize("rows_per_unit", [1, 3])
def test_no_nulled_record_moves_it_by_more_and_some_come_near(name, rows_per_unit):
    """Weight 0 is what a null is: nothing of the row stays, nor of the constant column."""
    loss, draw = LOSSES[name]
    facts = domain(rows_per_unit=rows_per_unit, neighbours=Neighbours.ZERO_OUT)
    bound = TiltFacts.of(loss, ElasticNet(1.0), facts, PrivacyBudget(1.0)).sensitivity.value
    rng = np.random.default_rng(3)
    problem = plan_for(loss, epsilon=20.0, rows_per_unit=rows_per_unit).problem
    largest = 0.0
    for _ in range(300):
        X, y = rng.normal(size=(N, D)), draw(rng, N)
        X[:rows_per_unit] = facts.row_norm * X[0] / np.linalg.norm(X[0])
        y[:rows_per_unit] = y[0]
        weights = rng.choice([0.0, 0.5, facts.max_weight], N)
        coef = rng.normal(size=(loss.n_outputs, D + 1)) * 100.0 * (rng.random() < 0.8)
        gradients = []
        for weight in (facts.max_weight, 0.0):
            weights[:rows_per_unit] = weight
            of = InMemoryRecords(X, y, weights.copy(), facts.intercept_scaling)
            gradients.append(RecordsToTilt(problem, of).summed_gradient(coef))
        largest = max(largest, float(np.linalg.norm(gradients[0] - gradients[1])))
    assert 0.95 * bound <= largest <= bound


@each_loss
def test_the_determinants_of_neighbours_are_no_farther_apart_than_the_bound_and_attain_it(name):
    loss, draw = LOSSES[name]
    rng = np.random.default_rng(4)
    facts = domain()
    penalty = ElasticNet(0.05)
    bound = TiltFacts.of(loss, penalty, facts, PrivacyBudget(1.0)).log_determinant
    largest = 0.0
    for trial in range(200):
        size = loss.n_outputs * (D + 1)
        others = trial % 4  # the fewer there are, the more one record changes
        coef = rng.normal(size=(loss.n_outputs, D + 1)) * rng.choice([0.0, 0.3, 2.0])
        logs = []
        rows = [rng.normal(size=D) * 10 for _ in range(others + 2)]
        y = draw(rng, others + 2)
        if name == "log-cosh":
            y[:2] = 0.5, 1e3  # at its bend for w = 0 and an intercept of 0.5, and far from it
            coef[:, -1] = 0.5 / facts.intercept_scaling if trial % 2 else coef[:, -1]
            coef[:, :-1] *= trial % 2 == 0
        for row in (0, 1):
            chosen = [row, *range(2, others + 2)]
            X = clip_rows(np.array([rows[i] for i in chosen]), facts.row_norm)
            X = np.column_stack([X, np.full(len(X), facts.intercept_scaling)])
            weights = np.full(len(X), facts.max_weight)
            if row == 1:
                weights[0] = 0.0
            scores = X @ coef.T
            second = np.zeros((size, size))
            for place, x in enumerate(X):
                of = scores[place : place + 1] if loss.n_outputs > 1 else scores[place]
                bend = loss.second_derivative(of, y[np.array(chosen)][place : place + 1])
                each = np.eye(loss.n_outputs)
                block = np.array(
                    [
                        loss.curvature_product(bend, e[None] if loss.n_outputs > 1 else e)
                        for e in each
                    ]
                ).reshape(loss.n_outputs, loss.n_outputs)
                second += weights[place] * np.kron(block, np.outer(x, x))
            second += N * penalty.l2 * np.eye(size)
            logs.append(np.linalg.slogdet(second)[1])
        largest = max(largest, abs(logs[0] - logs[1]))
    assert 0.98 * bound <= largest <= bound


def test_softmax_needs_the_power_of_its_rank():
    """One eigenvalue alone would promise too little: K - 1 directions change."""
    loss, ratio = Multinomial(6), 4.0
    second = ratio * (np.eye(6) / 6 - np.ones((6, 6)) / 36)
    exact = np.linalg.slogdet(np.eye(6) + second)[1]
    assert exact == pytest.approx(loss.log_determinant(ratio), rel=1e-12)
    assert exact > math.log1p(ratio * loss.smoothness)
    rng = np.random.default_rng(0)
    for _ in range(500):
        p = rng.dirichlet(np.full(6, rng.choice([0.1, 1, 30])))
        other = np.linalg.slogdet(np.eye(6) + ratio * (np.diag(p) - np.outer(p, p)))[1]
        assert other <= loss.log_determinant(ratio)


@each_loss
@each_noise
@pytest.mark.parametrize("sparse", [False, True])
def test_the_solver_reaches_its_tolerance_under_any_tilt(name, noise, delta, sparse):
    loss, draw = LOSSES[name]
    rng = np.random.default_rng(5)
    plan = plan_for(loss, noise, delta)
    objective, mechanism = plan.problem.objective, plan.mechanism
    for length in (0.0, 1e-3, 1.0, 0.1 * mechanism.largest_tilt, mechanism.largest_tilt):
        _, of = records(rng, draw(rng, N), domain(), sparse=sparse)
        tilt = rng.normal(size=mechanism.size)
        tilt *= length / np.linalg.norm(tilt)
        coef = RecordsToTilt(plan.problem, of).minimiser(tilt)
        smooth = objective.gradient(coef, of) + tilt.reshape(coef.shape) / N
        left = objective.penalty.min_norm_subgradient(smooth, coef, D)
        assert np.linalg.norm(left) <= plan.problem.tol * (1 + 1e-6)
        certified = plan.problem.tol / objective.strong_convexity
        assert certified <= mechanism.radius


@each_noise
def test_what_hides_the_solvers_point_counts_both_radii_and_costs_little(noise, delta):
    mechanism = plan_for(Logistic(), noise, delta).mechanism
    second = mechanism.second
    assert second.sensitivity.value == 2 * mechanism.radius
    assert mechanism.radius > mechanism.solver_radius
    # A grid far coarser than the solver's error, far finer than what the tilt moves.
    assert second.noise_scale > 10 * mechanism.radius
    weights = mechanism.noise_scale / mechanism.curvature
    assert second.noise_scale < 0.1 * weights


KINDS = ("random", "long", "alike", "opposed")


def neighbouring_rows(kind, rng, n=10, n_features=3):
    X = rng.normal(size=(n, n_features)) * (1e6 if kind == "long" else 1.0)
    if kind == "alike":
        X[:] = X[0]
    other = X.copy()
    other[0] = -X[0] if kind == "opposed" else rng.normal(size=n_features) * 1e3
    return X, other


@pytest.mark.parametrize(("noise", "delta"), [("auto", 0.0), ("auto", 1e-6), ("gaussian", 1e-3)])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_nothing_but_the_tilted_minimiser_leaves_a_classifier(noise, delta, n_classes):
    rng = np.random.default_rng(6)
    for kind, alpha, fit_intercept in itertools.product(KINDS, ("auto", 3.0), (True, False)):
        X, other = neighbouring_rows(kind, rng)
        y = np.resize(np.arange(n_classes), len(X))
        y_other = y.copy()
        y_other[0] = n_classes - 1
        model = PrivateElasticNetClassifier(
            perturbation="objective", noise=noise, delta=delta, alpha=alpha, epsilon=2.0,
            fit_intercept=fit_intercept, classes=range(n_classes), intercept_scaling=0.3,
        )  # fmt: skip
        assert violations(model, (X, y), (other, y_other)) == []


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix, np.float32])
def test_weights_classes_and_containers_change_nothing_about_it(container):
    rng = np.random.default_rng(7)
    for kind, class_weight in itertools.product(KINDS, (None, {0: 10.0, 1: 0.1})):
        X, other = neighbouring_rows(kind, rng)
        y = np.resize([0, 1], len(X))
        weight = rng.uniform(0, 8, len(X))
        changed = weight.copy()
        weight[0], changed[0] = 1e6, 0.0
        model = PrivateElasticNetClassifier(
            perturbation="objective", class_weight=class_weight, classes=(0, 1),
            max_sample_weight=2.0, delta=1e-5,
        )  # fmt: skip
        data = container(X), y, weight
        assert violations(model, data, (container(other), y, changed)) == []


def test_numbers_and_groups_too():
    rng = np.random.default_rng(8)
    for kind, noise in itertools.product(KINDS, ("l2_laplace", "gaussian")):
        X, other = neighbouring_rows(kind, rng)
        other[1] = 50.0
        y, groups = rng.normal(size=len(X)) * 100, np.resize([0, 0, 1, 1, 2], len(X))
        groups[:2] = 7
        changed = y.copy()
        changed[:2] = -1e9, 1e9
        model = PrivateElasticNet(
            "log_cosh", perturbation="objective", noise=noise, delta=1e-5, max_rows_per_group=2,
            n_groups=4, huber_threshold=0.5,
        )  # fmt: skip
        fits = (X, y, None, groups), (other, changed, None, groups)
        assert violations(model, *fits) == []


@pytest.mark.parametrize(("noise", "delta"), [("auto", 0.0), ("auto", 1e-6), ("gaussian", 1e-3)])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_nothing_but_the_tilted_minimiser_tells_a_null_from_a_row(noise, delta, n_classes):
    rng = np.random.default_rng(9)
    model = PrivateElasticNetClassifier(
        perturbation="objective", neighbours="zero-out", noise=noise, delta=delta, epsilon=2.0,
        classes=range(n_classes), intercept_scaling=0.3, max_sample_weight=2.0,
    )  # fmt: skip
    for kind in KINDS:
        X, other = neighbouring_rows(kind, rng)
        y = np.resize(np.arange(n_classes), len(X))
        weight = rng.uniform(0, 2, len(X))
        weight[0], nulled = 2.0, weight.copy()
        nulled[0] = 0.0
        assert violations(model, (X, y, weight), (X, y, nulled)) == []
        # What stands in the place of a null, label and all, is of no consequence.
        label = y.copy()
        label[0] = n_classes - 1
        assert violations(model, (X, y, weight), (other, label, nulled)) == []


def test_a_nulled_group_of_rows_too():
    rng = np.random.default_rng(10)
    for noise in ("l2_laplace", "gaussian"):
        X, y = rng.normal(size=(10, 3)) * 10, rng.normal(size=10) * 100
        groups = np.array([7, 7, 1, 1, 2, 2, 3, 3, 4, 4])
        model = PrivateElasticNet(
            "log_cosh", perturbation="objective", noise=noise, delta=1e-5, max_rows_per_group=2,
            n_groups=6, neighbours="zero-out",
        )  # fmt: skip
        assert violations(model, (X, y, None, groups), (X[2:], y[2:], None, groups[2:])) == []


class TestPlantedBugs:
    """What replay must see."""

    X = np.array([[1.0], *[[0.0]] * 9])
    y, y_other = np.zeros(10), np.zeros(10)
    y[0], y_other[0] = 1e6, -1e6

    def found(self, **parameters):
        given = {"alpha": 5.0, "fit_intercept": False, **parameters}
        model = PrivateElasticNet("log_cosh", perturbation="objective", **given)
        return violations(model, (self.X, self.y), (self.X, self.y_other))

    def test_two_opposite_labels_attain_the_bound(self):
        assert self.found() == []

    def test_the_norm_of_a_gradient_for_the_distance_of_two(self, monkeypatch):
        true = LogCosh.gradient_bound
        monkeypatch.setattr(LogCosh, "gradient_bound", lambda *a: true(*a) / 2)
        assert any("input moved by 2.0" in sentence for sentence in self.found())

    def test_the_gradient_of_a_nulled_record_attains_the_bound(self):
        assert self.nulled() == []

    def nulled(self, weights=(1.0, 0.0), **parameters):
        given = {"alpha": 5.0, "fit_intercept": False, "neighbours": "zero-out", **parameters}
        model = PrivateElasticNet("log_cosh", perturbation="objective", **given)
        first, second = np.ones(10), np.ones(10)
        first[0], second[0] = weights
        return violations(model, (self.X, self.y, first), (self.X, self.y, second))

    def test_a_replaced_record_where_a_nulled_one_is_promised(self):
        assert any("input moved by 2.0" in s for s in self.found(neighbours="zero-out"))

    def test_a_constant_column_that_stays_of_a_null(self):
        """A row of zeros in place of a null: errors of either sign at an unpenalised distance."""
        model = PrivateElasticNet(
            "log_cosh", perturbation="objective", alpha=50.0, neighbours="zero-out",
            intercept_scaling=3.0,
        )  # fmt: skip
        zeroed, weight = self.y.copy(), np.ones(10)
        zeroed[0] = -self.y[0]
        fits = (np.zeros((10, 1)), self.y, weight), (np.zeros((10, 1)), zeroed, weight)
        assert any("input moved by 1." in s for s in violations(model, *fits))

    def test_half_of_the_gradient_of_a_nulled_record(self, monkeypatch):
        true = LogCosh.gradient_bound
        monkeypatch.setattr(LogCosh, "gradient_bound", lambda *a: true(*a) / 2)
        assert any("input moved by 2.0" in sentence for sentence in self.nulled())

    def test_weights_that_are_not_clipped(self, monkeypatch):
        from skdp.linear_model.output_perturbed import OutputPerturbedLinearModel

        def unclipped(self, sample_weight, X):
            return np.full(X.shape[0], 3.0)

        monkeypatch.setattr(OutputPerturbedLinearModel, "_record_weights", unclipped)
        assert any("input moved" in sentence for sentence in self.found(alpha=50.0))

    def test_a_constant_column_that_does_not_count(self, monkeypatch):
        monkeypatch.setattr(Domain, "kappa", property(lambda self: self.row_norm))
        found = self.found(fit_intercept=True, intercept_scaling=3.0, alpha=80.0)
        assert any("input moved" in sentence for sentence in found)

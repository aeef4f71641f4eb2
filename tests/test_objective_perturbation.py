"""Objective perturbation as users meet it: parameters, refusals, statements, utility."""

import math
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine

from skdp.exceptions import CertificationError, PrivacyLeakWarning
from skdp.linear_model import PrivateElasticNet, PrivateElasticNetClassifier
from skdp.mechanisms.objective_perturbation import (
    GaussianObjectivePerturbation,
    L2LaplaceObjectivePerturbation,
)
from skdp.objectives import ElasticNet, Huber, LogCosh, Logistic, Multinomial, Squared
from skdp.privacy import InMemoryLedger, PrivacyBudget, PrivacyStatement, Sensitivity
from skdp.privacy.accounting import delta_of
from skdp.privacy.budget import Neighbours
from skdp.stability.domain import Domain
from skdp.stability.objective_penalty import planned_objective_penalty
from skdp.stability.objective_perturbation import OBJECTIVE_NOISES, ObjectivePerturbationPlan

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 4))
y = rng.integers(2, size=80)
numbers = rng.normal(size=80)


def classifier(**parameters):
    given = {"perturbation": "objective", "classes": (0, 1), **parameters}
    return PrivateElasticNetClassifier(**given)


def refused(model, labels, match):
    """Refused before the ledger is asked, whatever the data."""
    ledger = InMemoryLedger(100.0, 0.1)
    model = clone(model).set_params(ledger=ledger)
    with pytest.raises(ValueError, match=match):
        model.fit(X, labels)
    assert not ledger.history()
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"loss": "huber_hinge"}, "twice differentiable, which HuberHinge is not"),
        ({"loss": "squared_hinge"}, "twice differentiable"),
        ({"noise": "laplace"}, "bound is in the L2 norm"),
        ({"bound": "paper"}, "bound='tight'"),
        ({"threshold": "auto"}, "law of the noise on a weight"),
        ({"alpha": 1e-5}, "leaves nothing of epsilon"),
        ({"l1_ratio": 1.0}, "no strong convexity"),
        ({"noise": "gaussian"}, "needs delta > 0"),
        ({"noise": "gaussian", "delta": 1e-60}, "too small for Gaussian noise"),
        ({"perturbation": "input"}, "perturbation"),
        ({"perturbation": "output", "neighbours": "zero-out"}, "is for perturbation='objective'"),
        ({"neighbours": "add-or-remove-one"}, "neighbours"),
    ],
)
def test_what_has_no_theorem_is_refused_by_a_sentence(parameters, match):
    refused(classifier(**parameters), y, match)


@pytest.mark.parametrize(
    ("loss", "match"), [("huber", "Huber is not"), ("squared_error", "grows without bound")]
)
def test_numbers_need_the_smooth_bounded_loss(loss, match):
    refused(PrivateElasticNet(loss, perturbation="objective", y_bound=1.0), numbers, match)


def test_the_alpha_that_a_refusal_names_is_enough():
    with pytest.raises(ValueError, match="Set alpha to") as caught:
        classifier(alpha=1e-6, epsilon=0.5).fit(X, y)
    alpha = float(str(caught.value).split("Set alpha to ")[1].split()[0])
    classifier(alpha=alpha, epsilon=0.5).fit(X, y)


def test_a_tolerance_that_cannot_be_had_becomes_one_that_is_paid_for():
    certified = plan_for(tol=1e-30).problem
    assert certified.least_tol <= certified.tol < 1e-9
    with pytest.raises(CertificationError, match="too small to certify"):
        plan_for(alpha=1e-13, domain=Domain(10**15, 2, 1.0, 1.0))


RELATIONS = (Neighbours.REPLACE_ONE, Neighbours.ZERO_OUT)
each_relation = pytest.mark.parametrize("relation", RELATIONS)


@each_relation
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 60.0])
def test_the_statement_is_the_events_and_survives_its_document(epsilon, delta, relation):
    model = classifier(epsilon=epsilon, delta=delta, neighbours=relation.value).fit(X, y)
    statement = model.privacy_
    assert (statement.epsilon, statement.neighbours) == (epsilon, relation)
    assert statement.event.neighbours is relation
    nulled = any("replaced by a null" in sentence for sentence in statement.assumptions)
    assert nulled == (relation is Neighbours.ZERO_OUT)
    # Deltas of finite precision may be read as those of the event.
    at = min(epsilon, 40.0)
    assert delta_of(statement.event, at) <= statement.delta * (1 + 1e-9) + 1e-40
    assert delta_of(statement.event, at) == pytest.approx(statement.delta_at(at), rel=1e-6)
    if epsilon <= 40:
        again = PrivacyStatement.from_dict(statement.to_dict())
        assert again.to_dict() == statement.to_dict()
    assert "tilt" in statement.theorem
    assert statement.epsilon_at(statement.delta) <= epsilon


def test_fitted_models_say_what_was_done_and_survive_pickling():
    model = classifier(delta=1e-6, epsilon=2.0, noise="gaussian").fit(X, y)
    assert isinstance(model._mechanism, GaussianObjectivePerturbation)
    assert model.sensitivity_ == Sensitivity(
        2 * 2**0.5 * (1 + 2.0**-40), "l2", Neighbours.REPLACE_ONE
    )
    assert model.noise_scale_ == model._mechanism.noise_scale
    restored = pickle.loads(pickle.dumps(model))
    assert np.array_equal(restored.predict_proba(X), model.predict_proba(X))
    with pytest.raises(ValueError, match="depends on the data"):
        model.flip_probability(0.1)
    kept = classifier(threshold=0.3, alpha=1.0).fit(X, y)
    assert (np.abs(kept.coef_[kept.coef_ != 0]) >= 0.3).all()


def test_each_budget_takes_the_smaller_tilt():
    few = classifier(delta=1e-6, alpha=0.5).fit(X, y)
    assert isinstance(few._mechanism, L2LaplaceObjectivePerturbation)
    for noise in ("l2_laplace", "gaussian"):
        other = classifier(delta=1e-6, alpha=0.5, noise=noise).fit(X, y)
        assert few._mechanism.expected_norm <= other._mechanism.expected_norm


FACTS = Domain(1000, 20, 1.0, 1.0)


def plan_for(loss=None, budget=None, alpha=0.05, domain=FACTS, noise="auto", tol=1e-8):
    return ObjectivePerturbationPlan.for_penalty(
        loss or Logistic(),
        ElasticNet(alpha),
        domain,
        budget or PrivacyBudget(1.0, 1e-6),
        tol=tol,
        noise=OBJECTIVE_NOISES[noise],
    )


def test_the_budget_is_spent_to_the_last_percent():
    for budget in (PrivacyBudget(0.1, 1e-6), PrivacyBudget(5.0, 1e-4)):
        mechanism = plan_for(budget=budget, noise="gaussian").mechanism
        assert 0.99 * budget.delta <= mechanism.delta_at(budget.epsilon) <= budget.delta
        assert mechanism.epsilon_at(budget.delta) == pytest.approx(budget.epsilon, rel=1e-3)
    pure = plan_for(budget=PrivacyBudget(1.0), noise="l2_laplace").mechanism
    parts = (
        pure.log_determinant,
        pure.sensitivity.value / pure.noise_scale,
        pure.second.epsilon,
    )
    assert 1 - 1e-9 <= sum(parts) <= 1


def test_constants_by_hand():
    loss_of = {"logistic": Logistic(), "softmax": Multinomial(5), "log cosh": LogCosh(0.3)}
    domain = Domain(1000, 20, 3.0, 0.5, max_weight=2.0)
    square = 9.25
    curvature, kappa = 1000 * 0.05, square**0.5
    expected = {
        "logistic": (4 * kappa, np.log1p(2 * square / 4 / curvature), 1),
        "softmax": (4 * 2**0.5 * kappa, 4 * np.log1p(2 * square / 5 / curvature), 4),
        "log cosh": (4 * kappa * 0.3, np.log1p(2 * square / curvature), 2),
    }
    for name, (sensitivity, determinant, branches) in expected.items():
        mechanism = plan_for(loss_of[name], domain=domain).mechanism
        assert mechanism.sensitivity.value == pytest.approx(sensitivity, rel=1e-9)
        assert mechanism.log_determinant == pytest.approx(determinant, rel=1e-9)
        assert mechanism.branches == branches
    grouped = plan_for(domain=Domain(1000, 20, 3.0, 0.5, max_weight=2.0, rows_per_unit=3))
    single = plan_for(domain=domain)
    for name in ("log_determinant", "sensitivity"):
        one, three = (getattr(p.mechanism, name) for p in (single, grouped))
        one, three = (getattr(value, "value", value) for value in (one, three))
        assert three == pytest.approx(3 * one, rel=1e-9)


@pytest.mark.parametrize("loss", [Logistic(), Multinomial(5), LogCosh(0.3)], ids=repr)
@pytest.mark.parametrize("rows_per_unit", [1, 3])
@pytest.mark.parametrize("noise", ["l2_laplace", "gaussian"])
def test_a_null_record_needs_half_of_the_tilt_and_the_same_determinant(loss, rows_per_unit, noise):
    domain = Domain(10**5, 20, 3.0, 0.5, max_weight=2.0, rows_per_unit=rows_per_unit)
    replaced = plan_for(loss, domain=domain, noise=noise).mechanism
    domain = replace(domain, neighbours=Neighbours.ZERO_OUT)
    nulled = plan_for(loss, domain=domain, noise=noise).mechanism
    slope = loss.gradient_bound(domain.kappa, math.inf)
    assert nulled.sensitivity.value == pytest.approx(rows_per_unit * 2 * slope * 9.25**0.5)
    assert nulled.sensitivity.neighbours is Neighbours.ZERO_OUT
    assert nulled.second.sensitivity.neighbours is Neighbours.ZERO_OUT
    assert nulled.log_determinant == replaced.log_determinant
    assert nulled.noise_scale == pytest.approx(replaced.noise_scale / 2, rel=0.02)


def test_no_row_count_is_public_where_rows_are_added():
    with pytest.raises(ValueError, match="private under add-or-remove-one"):
        Domain(100, 2, 1.0, neighbours=Neighbours.ADD_OR_REMOVE_ONE)


def test_the_weaker_promise_is_planned_a_weaker_penalty():
    models = [classifier(neighbours=r.value, delta=1e-6).fit(X, y) for r in RELATIONS]
    assert models[1].alpha_ < models[0].alpha_
    assert models[1].noise_scale_ < models[0].noise_scale_


def test_losses_without_a_theorem_are_refused_by_the_plan_too():
    for loss in (Huber(), Squared(1.0)):
        with pytest.raises(ValueError, match="perturbation='objective' needs"):
            plan_for(loss)


@pytest.mark.parametrize("loss", [Logistic(), Multinomial(10), LogCosh()], ids=repr)
def test_the_planned_penalty_falls_as_epsilon_and_n_grow(loss):
    def planned(epsilon, n):
        return planned_objective_penalty(
            loss, 0.15, Domain(n, 20, 1.0, 1.0), PrivacyBudget(epsilon, 1e-6),
            tol=1e-8, noise=OBJECTIVE_NOISES["auto"],
        ).alpha  # fmt: skip

    by_epsilon = [planned(e, 1000) for e in (0.01, 0.1, 1.0, 10.0)]
    by_n = [planned(1.0, n) for n in (100, 1000, 100_000)]
    assert (np.diff(by_epsilon) < 0).all()
    assert (np.diff(by_n) < 0).all()


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 1e3])
@pytest.mark.parametrize("shape", [(2, 1), (5, 40), (300, 2)])
def test_the_planned_penalty_can_always_be_had(epsilon, shape):
    model = PrivateElasticNetClassifier(perturbation="objective", epsilon=epsilon, classes=(0, 1))
    rows = np.ones(shape)
    labels = np.resize([0, 1], shape[0])
    assert np.isfinite(model.fit(rows, labels).coef_).all()


def quiet(model, data, labels):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        return model.fit(data, labels)


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_it_beats_noise_on_the_minimiser(load):
    data, labels = load(return_X_y=True)
    data = 2 * (data - data.min(axis=0)) / np.ptp(data, axis=0) - 1
    means = {
        kind: np.mean(
            [
                quiet(
                    PrivateElasticNetClassifier(
                        perturbation=kind, epsilon=3.0, delta=1e-4, random_state=seed
                    ),
                    data,
                    labels,
                ).score(data, labels)
                for seed in range(6)
            ]
        )
        for kind in ("output", "objective")
    }
    assert means["objective"] > means["output"] + 0.05


def test_numbers_are_learned_too():
    rows = rng.normal(size=(4000, 3))
    labels = rows @ [0.5, -0.3, 0.0] + 0.1
    model = PrivateElasticNet(
        "log_cosh", perturbation="objective", epsilon=2.0, delta=1e-6, row_norm=4.0, random_state=0
    )
    assert quiet(model, rows, labels).score(rows, labels) > 0.9


@pytest.mark.parametrize(
    ("row_norm", "alpha", "max_sample_weight", "tol", "delta"),
    [(1e6, 1e12, 1.0, "auto", 0.0), (1e6, 1e12, 1.0, "auto", 1e-6), (0.01, 1.0, 100.0, 1e-30, 0.0)],
    ids=["long rows", "long rows, delta", "tiny tolerance"],
)
def test_no_weight_is_larger_than_the_largest_number_of_the_grid(
    row_norm, alpha, max_sample_weight, tol, delta
):
    """The noise on the solver's point had a grid so fine that weights were clamped to its end."""
    X = row_norm * np.resize([[1.0, 0.0], [-1.0, 0.0]], (50, 2))
    model = PrivateElasticNetClassifier(
        epsilon=40.0, delta=delta, alpha=alpha, l1_ratio=0.0, perturbation="objective",
        classes=[0, 1], row_norm=row_norm, intercept_scaling=row_norm,
        max_sample_weight=max_sample_weight, **({} if tol == "auto" else {"tol": tol}),
    )  # fmt: skip
    model.fit(X, np.resize([1, 0], 50))
    weights = np.append(model.coef_.ravel(), model.intercept_ / row_norm)
    assert np.abs(weights).max() < 0.9 * model._mechanism.second.largest


def test_automatic_noise_is_what_exists_for_a_tiny_budget():
    X, y = np.ones((50, 1)), np.resize([1, 0], 50)
    model = PrivateElasticNetClassifier(
        epsilon=1e-4, delta=1e-5, perturbation="objective", classes=[0, 1]
    )
    assert model.fit(X, y).privacy_.epsilon == 1e-4


def test_the_advised_alpha_is_larger_than_the_refused_one_at_any_epsilon():
    X, y = np.ones((6, 1)), np.arange(6)
    model = PrivateElasticNetClassifier(
        epsilon=200.0, alpha=1e-9, perturbation="objective", classes=range(6)
    )
    with pytest.raises(ValueError, match="Set alpha to") as refused:
        model.fit(X, y)
    advised = float(str(refused.value).split("Set alpha to ")[1].split()[0])
    assert advised > 1e-9
    assert model.set_params(alpha=1.2 * advised).fit(X, y).privacy_.epsilon == 200.0

"""Probabilities corrected for noise and clipping: formulas, order, exports and what they read."""

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.base import clone

from skdp.exceptions import PrivacyLeakWarning
from skdp.linear_model import (
    PrivateElasticNetClassifier,
    PrivateLinearClassifier,
    StableSGDClassifier,
)
from skdp.linear_model.probabilities import (
    ROWS_PER_COLUMN,
    automatic_correction,
    clipped_log_shares,
    clipping_factor,
    noise_factor,
)
from skdp.privacy import InMemoryLedger, Neighbours
from skdp.training.descent import MOMENTUM, DescentFacts
from skdp.training.iterate_noise import NoisyWeights, gradient_weights, iterate_deviation
from skdp.training.optimizers import SGD, Descent, Momentum
from tests.support.refusals import refuses_to_fit


def rows_of(n, d, k=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) / math.sqrt(d)
    scores = X @ rng.normal(size=(d, k)) * 3 + rng.gumbel(size=(n, k))
    return X, scores.argmax(axis=1)


def seeded(model, X, y, seed=0):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        return clone(model).set_params(random_state=seed).fit(X, y)


def told(model, monkeypatch):
    """The released model of the last fit, as `_store` gets it."""
    found, store = {}, type(model)._store

    def storing(self, released, facts):
        found["model"] = released
        return store(self, released, facts)

    monkeypatch.setattr(type(model), "_store", storing)
    return found


def clipped(weights, clip=1.0):
    return NoisyWeights(0.0, 2.0, np.asarray(weights), clip)


# Formulas ----------------------------------------------------------------------------------------


def logistic_normal(mean, deviation):
    """The mean of sigmoid(mean + deviation Z), by quadrature."""

    def density(z):
        return expit(mean + deviation * z) * math.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)

    return quad(density, -12, 12, points=[min(max(-mean / deviation, -12), 12)], limit=200)[0]


@pytest.mark.parametrize("deviation", [0.1, 0.5, 1.0, 2.0, 4.0, 20.0])
def test_the_factor_for_noise_gives_the_mean_of_a_logistic_normal(deviation):
    for mean in np.linspace(-5, 5, 21) * max(1.0, deviation):
        shrunk = expit(noise_factor(deviation) * mean)
        assert abs(shrunk - logistic_normal(mean, deviation)) < 0.018


@pytest.mark.parametrize("n_classes", [3, 5, 10])
def test_the_factor_of_several_scores_is_near_the_best_one(n_classes):
    rng = np.random.default_rng(n_classes)
    scores = 2 * rng.normal(size=(300, n_classes))
    noise = rng.normal(size=(600, 1, n_classes))
    wanted = softmax(scores + noise, axis=-1).mean(axis=0)

    def loss(factor):
        return -np.sum(wanted * log_softmax(factor * scores, axis=1))

    best = minimize_scalar(loss, bounds=(0.1, 1), method="bounded").x
    assert noise_factor(1.0, n_classes) == pytest.approx(best, abs=0.03)


def test_the_factor_is_that_of_the_difference_of_one_score_and_the_mean_of_the_others():
    assert noise_factor(0.7, 5) == pytest.approx(noise_factor(math.sqrt(5 / 4) * 0.7, 2))
    assert noise_factor(0.0) == 1
    assert noise_factor(1e300) < 1e-299
    assert noise_factor(math.inf) == 0


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_clipped_gradients_cancel_where_labels_have_the_shares_given(n_classes):
    rng = np.random.default_rng(0)
    for threshold in (0.1, 0.4, 0.9, 3.0):
        scores = 3 * rng.normal(size=(200, n_classes if n_classes > 2 else 1))
        shares = np.exp(clipped_log_shares(scores, threshold))
        np.testing.assert_allclose(shares.sum(axis=1), 1)
        if n_classes == 2:
            predicted = expit(scores)
            errors = np.stack([predicted, predicted - 1], axis=1)  # of the one score, by class
        else:
            errors = softmax(scores, axis=1)[:, None] - np.eye(n_classes)
        norms = np.linalg.norm(errors, axis=2, keepdims=True)
        clipped = errors * np.minimum(1, threshold / norms)
        left = np.einsum("iy,iyk->ik", shares, clipped)
        np.testing.assert_allclose(left, 0, atol=1e-12)


def test_without_clipping_shares_are_the_probabilities():
    scores = np.random.default_rng(0).normal(size=(50, 4))
    np.testing.assert_allclose(np.exp(clipped_log_shares(scores, 2.0)), softmax(scores, axis=1))
    weights = np.random.default_rng(1).normal(size=(6, 4))
    # The search for the best factor stops that near its bound, 1.
    assert clipping_factor(clipped(weights, 100.0)) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("size", [0.3, 2.0, 30.0])
def test_the_factor_for_clipping_is_the_best_one_for_normal_scores(size):
    d, rng = 8, np.random.default_rng(0)
    weights = np.append(size * rng.normal(size=d), 0.4)[:, None]
    rows = 2 / math.sqrt(d) * rng.normal(size=(200_000, d))
    scores = rows @ weights[:-1] + weights[-1]
    shares = np.exp(clipped_log_shares(scores, 1 / math.sqrt(5)))[:, 1]

    def loss(factor):
        logs = log_expit(factor * scores[:, 0]), log_expit(-factor * scores[:, 0])
        return -np.mean(shares * logs[0] + (1 - shares) * logs[1])

    best = minimize_scalar(loss, bounds=(0.01, 1), method="bounded").x
    found = clipping_factor(clipped(weights))
    assert found == pytest.approx(best, abs=0.02)
    assert found < 0.9


def test_no_weights_make_no_factor_that_is_no_number():
    for weights in (np.zeros((1, 1)), np.zeros((4, 3)), np.full((4, 1), 1e150)):
        assert 0 < clipping_factor(clipped(weights)) <= 1


@pytest.mark.parametrize("momentum", [0.0, MOMENTUM])
@pytest.mark.parametrize("average_from", [0, 6, 11])
def test_gradients_count_in_the_mean_of_iterates_as_the_optimiser_makes_them(
    momentum, average_from
):
    rates = np.linspace(0.5, 0.1, 12)
    descent = Descent(rates, 10.0, 0.0, 0, average_from)
    gradients = np.random.default_rng(0).normal(size=(12, 3))
    optimizer = Momentum(descent, np.zeros(3), momentum) if momentum else SGD(descent, np.zeros(3))
    for gradient in gradients:
        optimizer.apply(gradient)
    expected = -gradient_weights(descent, momentum) @ gradients / 10.0
    np.testing.assert_allclose(optimizer.result(), expected, atol=1e-14)


# What models know of their noise: rows of zeros, where coefficients are noise and nothing else ---

D = 2000  # so that a variance is known to 3 % and is 20 % off once in 10^9 times


def assert_deviation(found, deviation):
    assert np.mean(np.square(found)) / deviation**2 == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_the_default_knows_the_noise_of_its_iterates(is_sparse, monkeypatch):
    X = np.zeros((300, D))
    X = sp.csr_array(X) if is_sparse else X
    model = PrivateLinearClassifier(mechanism="descent", epsilon=3.0)
    found = told(model, monkeypatch)
    seeded(model, X, np.arange(300) % 10 == 0)
    noisy = found["model"].noisy
    assert_deviation(noisy.weights[:-1], noisy.deviation)


def test_private_sgd_inside_the_default_knows_it(monkeypatch):
    model = PrivateLinearClassifier(mechanism="sparse_dpsgd", epsilon=3.0, row_norm=4.0)
    found = told(model, monkeypatch)
    model = seeded(model, np.zeros((300, D)), np.arange(300) % 2)
    assert_deviation(model.coef_ * 4.0, found["model"].noisy.deviation)
    assert found["model"].noisy.spread == 1


def variance_behind(model):
    """Of the difference of scores that `probability_factor_` stands for."""
    return 8 / math.pi * (model.probability_factor_**-2 - 1)


GAUSSIAN = {"noise": "gaussian", "delta": 1e-6, "l1_ratio": 0.0, "probability_correction": "noise"}


@pytest.mark.parametrize(
    "model",
    [
        PrivateElasticNetClassifier(row_norm=3.0, **GAUSSIAN),
        PrivateElasticNetClassifier(fit_intercept=False, **GAUSSIAN),
        PrivateElasticNetClassifier(perturbation="objective", intercept_scaling=2.0, **GAUSSIAN),
        StableSGDClassifier(row_norm=0.5, **GAUSSIAN),
    ],
    ids=["output", "no intercept", "objective", "stable"],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_models_that_are_released_once_know_their_noise(model, n_classes):
    fitted = seeded(model, np.zeros((300, D)), np.arange(300) % n_classes)
    constant = model.intercept_scaling if model.fit_intercept else 0.0
    longest = math.hypot(model.row_norm, constant)
    pairs = 1 if n_classes == 2 else n_classes / (n_classes - 1)
    assert_deviation(fitted.coef_, math.sqrt(variance_behind(fitted) / pairs) / longest)


@pytest.mark.parametrize("perturbation", ["output", "objective"])
def test_spherical_noise_has_the_variance_that_the_factor_is_made_of(perturbation):
    model = PrivateElasticNetClassifier(
        perturbation=perturbation, l1_ratio=0.0, probability_correction="noise", row_norm=2.0
    )
    rows = np.zeros((50, 2))
    squares = [
        np.sum(seeded(model, rows, np.arange(50) % 2, seed).coef_ ** 2) for seed in range(300)
    ]
    fitted = seeded(model, rows, np.arange(50) % 2)
    # The radius is Gamma(3): the mean of 300 squares is known to 7 %.
    assert np.mean(squares) / 2 == pytest.approx(variance_behind(fitted) / 5, rel=0.2)


# Models ------------------------------------------------------------------------------------------

CORRECTED = [
    PrivateElasticNetClassifier(epsilon=5.0, probability_correction="noise"),
    PrivateElasticNetClassifier(
        epsilon=5.0, perturbation="objective", probability_correction="noise"
    ),
    StableSGDClassifier(epsilon=5.0, probability_correction="noise"),
    PrivateLinearClassifier(delta=1e-4, probability_correction="noise"),
    PrivateLinearClassifier(delta=1e-4, probability_correction="clipping"),
    PrivateLinearClassifier(
        delta=1e-4, probability_correction="noise", mechanism="sparse_dpsgd", epsilon=0.5
    ),
]


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(
    "model", CORRECTED, ids=[f"{type(m).__name__}-{i}" for i, m in enumerate(CORRECTED)]
)
def test_probabilities_change_and_predictions_do_not(model, n_classes):
    X, y = rows_of(600, 4, n_classes)
    corrected = seeded(model, X, y)
    plain = seeded(clone(model).set_params(probability_correction=None), X, y)
    assert plain.probability_factor_ == 1
    assert 0 < corrected.probability_factor_ < 1
    assert np.array_equal(corrected.decision_function(X), plain.decision_function(X))
    assert np.array_equal(corrected.predict(X), plain.predict(X))
    ours, raw = corrected.predict_proba(X), plain.predict_proba(X)
    assert np.all(ours.max(axis=1) < raw.max(axis=1))
    assert np.array_equal(corrected.classes_[ours.argmax(axis=1)], corrected.predict(X))
    if n_classes == 2:
        order = np.argsort(corrected.decision_function(X), kind="stable")
        assert np.all(np.diff(ours[order, 1]) >= 0)
    logs = np.log(raw) * corrected.probability_factor_
    np.testing.assert_allclose(ours, softmax(logs, axis=1), atol=1e-12)
    np.testing.assert_allclose(np.log(ours), corrected.predict_log_proba(X))
    exported = corrected.to_sklearn()
    np.testing.assert_allclose(exported.predict_proba(X), ours, atol=1e-12)
    assert np.array_equal(exported.predict(X), corrected.predict(X))
    assert corrected.coef_ is not exported[-1].coef_
    assert np.array_equal(corrected.coef_, plain.coef_)


def test_a_model_that_leaves_nothing_to_correct_has_factor_one():
    X, y = rows_of(300, 3)
    for correction in ("noise", "clipping", "auto"):
        model = PrivateLinearClassifier(mechanism="baseline", probability_correction=correction)
        assert model.fit(X, y).probability_factor_ == 1
    lazy = PrivateLinearClassifier(mechanism="sparse_dpsgd", probability_correction="clipping")
    assert lazy.fit(X, y).probability_factor_ == 1


def test_the_default_corrects_where_its_rule_says():
    facts = DescentFacts(4000, 5, 1, 3.0, 1e-5, Neighbours.ZERO_OUT, 0.25, False, False)
    assert automatic_correction(facts) == "clipping"
    for other in (
        replace(facts, n_records=ROWS_PER_COLUMN * 5 - 1),
        replace(facts, epsilon=1e-3),
        replace(facts, n_outputs=3),
        replace(facts, is_sparse=True),
        replace(facts, n_features=2),
        replace(facts, n_records=500, n_features=3),
    ):
        assert automatic_correction(other) is None
    for n, k, corrected in ((4000, 2, True), (4000, 3, False), (400, 2, False)):
        model = PrivateLinearClassifier(epsilon=3.0, delta=1e-5).fit(*rows_of(n, 5, k))
        assert (model.probability_factor_ < 1) == corrected


def test_the_correction_for_clipping_lowers_the_log_loss_of_a_converged_model():
    X, y = rows_of(40_000, 5)
    model = seeded(PrivateLinearClassifier(epsilon=10.0, delta=1e-5), X[:20_000], y[:20_000])
    scores, signs = model.decision_function(X[20_000:]), 2 * y[20_000:] - 1

    def loss(factor):
        return -log_expit(factor * signs * scores).mean()

    best = minimize_scalar(loss, bounds=(0.01, 3), method="bounded")
    corrected = loss(model.probability_factor_)
    assert loss(1.0) - corrected > 0.8 * (loss(1.0) - best.fun) > 0.005
    assert model.probability_factor_ == pytest.approx(best.x, abs=0.1)


@pytest.mark.parametrize(
    "inner",
    [PrivateElasticNetClassifier(alpha=0.1), StableSGDClassifier(), PrivateLinearClassifier()],
)
def test_models_without_a_factor_can_be_exported(inner):
    """Those of a wrapper, and those that were saved before there was one."""
    X, y = rows_of(300, 3)
    model = seeded(inner, X, y)
    wanted = model.decision_function(X)
    del model.probability_factor_
    exported = model.to_sklearn()
    np.testing.assert_allclose(exported.decision_function(X), wanted, rtol=1e-9)
    np.testing.assert_allclose(exported.predict_proba(X), model.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("kind", [PrivateElasticNetClassifier, StableSGDClassifier])
def test_a_correction_of_probabilities_that_there_are_not_is_refused(kind):
    X, y = rows_of(100, 3)
    ledger = InMemoryLedger(10.0)
    model = kind("huber_hinge", probability_correction="noise", ledger=ledger)
    with pytest.raises(ValueError, match="probability_correction='noise' is for predict_proba"):
        model.fit(X, y)
    assert ledger.history() == ()
    for wrong in ("clipping", "auto", True, 0.5):
        refuses_to_fit(kind(probability_correction=wrong), X, y, match="probability_correction")


def test_unknown_corrections_are_refused():
    for wrong in ("none", True, 1.0):
        model = PrivateLinearClassifier(probability_correction=wrong)
        refuses_to_fit(model, *rows_of(100, 3), match="probability_correction")


def test_one_step_of_known_size_has_the_deviation_of_its_noise():
    one = Descent(np.array([0.5]), divisor=4.0, decay=0.0, n_free=0, average_from=0)
    assert iterate_deviation(one, 3.0, 0.9) == pytest.approx(0.5 * 3.0 / 4.0)

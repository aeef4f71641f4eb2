"""Thresholds on released weights, against closed forms, quadrature and releases themselves."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import betainc, gammaln, ndtr, ndtri

from skdp._random import RandomSource
from skdp.linear_model import PrivateElasticNetClassifier
from skdp.mechanisms import GaussianMechanism, L2LaplaceMechanism, LaplaceMechanism
from skdp.privacy.budget import Neighbours, PrivacyBudget, Sensitivity
from skdp.stability.selection import WeightThreshold, noise_threshold


def mechanism_of(kind, size, epsilon=0.7, delta=0.0, value=0.3):
    norm = "l1" if kind is LaplaceMechanism else "l2"
    sensitivity = Sensitivity(value, norm, Neighbours.REPLACE_ONE)
    return kind.calibrated(sensitivity, PrivacyBudget(epsilon, delta), size=size)


MECHANISMS = [
    mechanism_of(LaplaceMechanism, 1),
    mechanism_of(LaplaceMechanism, 12),
    mechanism_of(L2LaplaceMechanism, 1),
    mechanism_of(L2LaplaceMechanism, 2),
    mechanism_of(L2LaplaceMechanism, 3),
    mechanism_of(L2LaplaceMechanism, 40),
    mechanism_of(GaussianMechanism, 12, delta=1e-5),
]
NAMES = [f"{type(m).__name__} {m.size}" for m in MECHANISMS]


def spherical_tail(t, b, d):
    """P(u_1 > t), u_1 = r cos(angle): the radius is Gamma(d, b), the direction uniform."""
    if d == 1:
        return math.exp(-t / b) / 2

    def integrand(r):
        law = math.exp((d - 1) * math.log(r / b) - r / b - gammaln(d)) / b
        return law * betainc((d - 1) / 2, 0.5, 1 - (t / r) ** 2) / 2

    return quad(integrand, t, t + (d + 60) * b, limit=300)[0]


def tail(mechanism, t):
    """P(noise on one coordinate > t), t >= 0, by the formulas of the continuous laws."""
    if isinstance(mechanism, LaplaceMechanism):
        return math.exp(-t / mechanism.noise_scale) / 2
    if isinstance(mechanism, GaussianMechanism):
        return float(ndtr(-t / mechanism.noise_scale))
    return spherical_tail(t, mechanism.noise_scale, mechanism.size)


@pytest.mark.parametrize("n_weights", [2, 30, 10_000])
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=NAMES)
def test_noise_alone_passes_the_threshold_once_in_expectation(mechanism, n_weights):
    threshold = noise_threshold(mechanism, n_weights)
    expected = 2 * n_weights * tail(mechanism, threshold)
    assert 1 - 1e-5 <= expected <= 1 + 1e-7  # quadrature is good to 1e-8
    assert 2 * n_weights * float(mechanism.survival(threshold)) <= 1


@pytest.mark.parametrize("allowed", [0.01, 1.0, 5.0])
def test_thresholds_have_their_closed_forms(allowed):
    laplace, gaussian = MECHANISMS[1], MECHANISMS[-1]
    assert noise_threshold(laplace, 50, allowed) == pytest.approx(
        laplace.noise_scale * math.log(50 / allowed), rel=1e-6
    )
    assert noise_threshold(gaussian, 50, allowed) == pytest.approx(
        gaussian.noise_scale * ndtri(1 - allowed / 100), rel=1e-6
    )


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=NAMES)
def test_nothing_is_dropped_where_every_weight_may_be_false(mechanism):
    assert noise_threshold(mechanism, 1) == 0
    assert noise_threshold(mechanism, 5, expected_false_positives=7.0) == 0


def test_the_number_of_false_positives_is_as_expected_though_noise_is_dependent():
    """6.1 standard deviations of the mean: fails once in 10^9."""
    mechanism, rng = mechanism_of(L2LaplaceMechanism, 25), RandomSource.from_system()
    rule = WeightThreshold.named("auto", mechanism, 25)
    kept = np.array(
        [np.count_nonzero(rule.apply(mechanism.release(np.zeros(25), rng))) for _ in range(500)]
    )
    assert abs(kept.mean() - 1) <= 6.1 * kept.std() / math.sqrt(len(kept))


def laplace_flip(a, threshold, b):
    """Without a cancellation or an overflow: cosh and sinh written out."""
    if a == 0:
        return math.exp(-threshold / b)
    if a < threshold:
        return 1 - (math.exp(-(threshold - a) / b) + math.exp(-(threshold + a) / b)) / 2
    return (math.exp(-(a - threshold) / b) - math.exp(-(a + threshold) / b)) / 2


def gaussian_flip(a, threshold, sigma):
    if a == 0:
        return 2 * ndtr(-threshold / sigma)
    return ndtr((threshold - a) / sigma) - ndtr((-threshold - a) / sigma)


SIZES = (0.0, 1e-9, 0.5, 0.99, 1.0, 1.01, 2.0, 5.0, 1e4)  # in units of the threshold


@pytest.mark.parametrize(
    ("mechanism", "formula"), [(MECHANISMS[1], laplace_flip), (MECHANISMS[-1], gaussian_flip)]
)
def test_flip_probabilities_have_their_closed_forms(mechanism, formula):
    threshold = 2.5 * mechanism.noise_scale
    weights = threshold * np.array(SIZES)
    flips = WeightThreshold(threshold).flip_probability(weights, mechanism)
    expected = [formula(a, threshold, mechanism.noise_scale) for a in weights]
    assert flips == pytest.approx(expected, rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("mechanism", MECHANISMS[2:6], ids=NAMES[2:6])
def test_flip_probabilities_of_spherical_noise_agree_with_quadrature(mechanism):
    threshold = 1.7 * mechanism.standard_deviation

    def expected(a):
        if a == 0:
            return 2 * tail(mechanism, threshold)
        below, above = abs(a - threshold), a + threshold
        near = tail(mechanism, below)
        return (1 - near if a < threshold else near) - tail(mechanism, above)

    weights = threshold * np.array(SIZES[:-1])
    flips = WeightThreshold(threshold).flip_probability(weights, mechanism)
    assert flips == pytest.approx([expected(a) for a in weights], abs=1e-7)


@pytest.mark.parametrize("mechanism", [mechanism_of(LaplaceMechanism, 5),
                                       mechanism_of(L2LaplaceMechanism, 5),
                                       mechanism_of(GaussianMechanism, 5, delta=1e-5)])  # fmt: skip
def test_flips_of_releases_come_as_often_as_stated(mechanism):
    """6.5 standard deviations for each of 15 comparisons: one fails once in 10^9."""
    rule = WeightThreshold(1.2 * mechanism.standard_deviation)
    weights = rule.value * np.array([0.0, 0.4, 1.0, -1.5, 3.0])
    rng, draws = RandomSource.from_system(), 1000
    kept = np.array([rule.apply(mechanism.release(weights, rng)) != 0 for _ in range(draws)])
    stated = rule.flip_probability(weights, mechanism)
    flipped = (kept != (weights != 0)).mean(axis=0)
    assert np.all(np.abs(flipped - stated) <= 6.5 * np.sqrt(stated * (1 - stated) / draws))


def test_the_sign_and_the_shape_of_a_weight_do_not_matter():
    rule, mechanism = WeightThreshold(0.5), MECHANISMS[1]
    weights = np.array([[0.2, -0.2], [0.9, -0.9]])
    flips = rule.flip_probability(weights, mechanism)
    assert flips.shape == weights.shape
    assert np.array_equal(flips[:, 0], flips[:, 1])


def test_weights_at_the_threshold_are_kept():
    kept = WeightThreshold(0.5).apply(np.array([0.5, -0.5, 0.4999, 0.0]))
    assert kept.tolist() == [0.5, -0.5, 0.0, 0.0]
    assert WeightThreshold.named(None, MECHANISMS[0], 3) == WeightThreshold(0.0)
    assert WeightThreshold.named(0.25, MECHANISMS[0], 3) == WeightThreshold(0.25)


def test_negative_thresholds_are_refused():
    with pytest.raises(ValueError, match="threshold"):
        WeightThreshold(-0.1)


def test_the_estimators_count_the_weights_of_all_classes_without_intercepts():
    X, y = np.eye(6), np.arange(6) % 3
    model = PrivateElasticNetClassifier(threshold="auto", alpha=1.0, classes=range(3)).fit(X, y)
    scale, size = model.noise_scale_, 3 * 7
    assert 2 * 18 * spherical_tail(model.threshold_, scale, size) == pytest.approx(1, abs=1e-5)
    kept = np.abs(model.coef_) >= model.threshold_
    assert np.array_equal(model.coef_ != 0, kept)
    assert np.array_equal(model.get_support(), kept.any(axis=0))

"""The `threshold` of the elastic nets, and what can be said of a feature that was kept."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

from skdp.exceptions import NotFittedError
from skdp.linear_model import PrivateElasticNet, PrivateElasticNetClassifier
from tests.support.replay import Trace, frozen_releases

X = np.random.default_rng(7).normal(size=(30, 4))
y = (X[:, 0] > 0).astype(int)
three = np.arange(30) % 3


def fitted(estimator, released, labels=y):
    """Fit with a given output of the mechanism in place of noise."""
    with frozen_releases(Trace(), [np.array(released)]):
        return estimator.fit(X, labels)


RELEASED = [[0.5, -0.25, 0.125, -0.01, 0.02]]


@pytest.mark.parametrize("estimator", [PrivateElasticNetClassifier, PrivateElasticNet])
@pytest.mark.parametrize(
    ("threshold", "kept"), [(None, [0, 1, 2, 3]), (0.0, [0, 1, 2, 3]), (0.25, [0, 1]), (1, [])]
)
def test_smaller_weights_are_zero_and_the_intercept_is_left_alone(estimator, threshold, kept):
    model = fitted(estimator(threshold=threshold), RELEASED)
    expected = np.zeros(4)
    expected[kept] = np.array(RELEASED[0])[kept]
    np.testing.assert_array_equal(np.ravel(model.coef_), expected)
    assert np.ravel(model.intercept_) == [0.02]
    assert model.threshold_ == (threshold or 0.0)
    assert model.get_support().tolist() == [i in kept for i in range(4)]
    assert model.get_support().dtype == bool
    assert model.get_support(indices=True).tolist() == kept


def test_a_feature_is_kept_if_any_class_has_a_weight_for_it():
    released = [[0, 0.3, 0.05, 0.2, 1], [0.05, 0, 0, -0.5, 1], [-0.05, 0.05, 0, 0, 1]]
    model = fitted(PrivateElasticNetClassifier(threshold=0.1), released, three)
    assert model.get_support().tolist() == [False, True, False, True]


@pytest.mark.parametrize(("labels", "n_weights"), [(y, 4), (three, 12)])
def test_the_automatic_threshold_lets_one_weight_of_noise_pass(labels, n_weights):
    """Coordinate Laplace: 2 n P(u > t) = n exp(-t / b) = 1."""
    model = PrivateElasticNetClassifier(threshold="auto", noise="laplace").fit(X, labels)
    assert model.threshold_ == pytest.approx(model.noise_scale_ * math.log(n_weights), rel=1e-5)
    assert (np.abs(model.coef_[model.coef_ != 0]) >= model.threshold_).all()


def test_the_automatic_threshold_is_a_function_of_public_facts_alone():
    model = PrivateElasticNet(threshold="auto")
    assert model.fit(X, y).threshold_ == model.fit(np.ones((30, 4)) * 1e300, -y).threshold_


WEIGHTS = np.array([0.0, 0.3, -0.3, 0.5, -2.0])


def test_the_probability_that_laplace_noise_flips_a_decision():
    model = PrivateElasticNetClassifier(noise="laplace", threshold=0.3).fit(X, y)
    b = model.noise_scale_
    missed = np.exp(-np.abs(WEIGHTS) / b) * math.sinh(0.3 / b)
    expected = np.where(WEIGHTS == 0, math.exp(-0.3 / b), missed)
    np.testing.assert_allclose(model.flip_probability(WEIGHTS), expected, rtol=1e-9)
    # below the threshold: 1 - exp(-T/b) cosh(w/b)
    inside = 1 - math.exp(-0.3 / b) * math.cosh(0.2 / b)
    assert model.flip_probability(0.2) == pytest.approx(inside, rel=1e-9)


def test_the_probability_that_gaussian_noise_flips_a_decision():
    model = PrivateElasticNet(noise="gaussian", delta=1e-6, threshold=0.3).fit(X, y)
    s = model.noise_scale_
    missed = ndtr((0.3 - WEIGHTS) / s) - ndtr((-0.3 - WEIGHTS) / s)
    expected = np.where(WEIGHTS == 0, 2 * ndtr(-0.3 / s), missed)
    np.testing.assert_allclose(model.flip_probability(WEIGHTS), expected, rtol=1e-9, atol=1e-15)
    assert model.flip_probability(WEIGHTS.reshape(5, 1)).shape == (5, 1)


@pytest.mark.parametrize("estimator", [PrivateElasticNetClassifier, PrivateElasticNet])
def test_nothing_is_selected_before_fit(estimator):
    with pytest.raises(NotFittedError):
        estimator().get_support()
    with pytest.raises(NotFittedError):
        estimator().flip_probability(0.1)
    with pytest.raises(NotFittedError):
        estimator().to_sklearn()

"""Estimators and parameter combinations that every contract runs over."""

import itertools

from skdp.linear_model import (
    PrivateElasticNet,
    PrivateElasticNetClassifier,
    SparseDPSGDClassifier,
    SparseDPSGDRegressor,
)

CLASSIFIER_LOSSES = ("log_loss", "huber_hinge", "squared_hinge")
REGRESSOR_LOSSES = ("huber", "squared_error")
# (noise, delta): every noise with every kind of budget that admits it.
NOISES = (
    ("auto", 0.0),
    ("auto", 1e-6),
    ("laplace", 0.0),
    ("l2_laplace", 0.0),
    ("gaussian", 1e-6),
)


def classifiers():
    """One classifier for each loss, noise and delta, the defaults first."""
    for loss, (noise, delta) in itertools.product(CLASSIFIER_LOSSES, NOISES):
        yield PrivateElasticNetClassifier(loss=loss, noise=noise, delta=delta)
    yield PrivateElasticNetClassifier(bound="paper", threshold=1e-3, fit_intercept=False)


def regressors():
    """One regressor for each loss, noise and delta."""
    yield PrivateElasticNet()
    for loss, (noise, delta) in itertools.product(REGRESSOR_LOSSES, NOISES):
        yield PrivateElasticNet(loss=loss, noise=noise, delta=delta, y_bound=5.0)


#: One instance of every public estimator; a guard test fails when a class is missing.
ESTIMATORS = (
    PrivateElasticNetClassifier(),
    PrivateElasticNet(),
    SparseDPSGDClassifier(),
    SparseDPSGDRegressor(),
)


def private_sgd():
    """DP-SGD estimators: the defaults first, then each selector, sampling and loss."""
    yield SparseDPSGDClassifier()
    yield SparseDPSGDRegressor()
    for selector in ("gaussian", "exponential", "sparse_vector", "adafest"):
        yield SparseDPSGDClassifier(selector=selector)
    for sampling in ("shuffled", "full"):
        yield SparseDPSGDClassifier(sampling=sampling)
    yield SparseDPSGDClassifier(loss="squared_hinge", optimizer="adam")
    yield SparseDPSGDRegressor(alpha=0.1, fit_intercept=False)

"""Every fit of an audit draws noise of its own, and only a privacy parameter is a claim."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import HuberRegressor, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVR

from skdp.audit import audit_epsilon
from skdp.audit.claims import Claim
from skdp.linear_model import PrivateElasticNetClassifier
from skdp.pipeline import make_private_pipeline
from skdp.preprocessing import PrivateStandardScaler

ZERO, ONE = (np.zeros((4, 1)), np.zeros(4)), (np.eye(4, 1), np.zeros(4))


class Laplace:
    """Exactly 1-DP, with a generator that it keeps; its `fit` returns nothing."""

    def __init__(self, rng=None):
        self.rng = np.random.default_rng() if rng is None else rng

    def fit(self, X, y):
        self.coef_ = np.array([X.sum() + self.rng.laplace()])


class LaplaceEstimator(BaseEstimator):
    """The same, with the generator as a parameter."""

    def __init__(self, rng):
        self.rng = rng

    def fit(self, X, y):
        self.coef_ = np.array([X.sum() + self.rng.laplace()])
        return self


@pytest.mark.parametrize(
    "model",
    [
        Laplace(),
        Laplace(np.random.RandomState(0)),
        LaplaceEstimator(np.random.default_rng(0)),
    ],
    ids=["attribute", "random state", "parameter"],
)
def test_a_generator_that_is_copied_makes_no_two_fits_the_same(model):
    """Were they the same, what one fit shows would count as often as it is repeated."""
    found = audit_epsilon(
        model, ZERO, ONE, n_fits=400, epsilon=1.0, confidence=1 - 1e-9, random_state=1
    )
    assert found.epsilon <= 1.0


@pytest.mark.parametrize(
    ("model", "epsilon"),
    [
        (HuberRegressor(), None),
        (SVR(), None),
        (make_pipeline(PrivateStandardScaler((-1, 1)), LogisticRegression()), None),
        (PrivateElasticNetClassifier(epsilon=2.0), 2.0),
        (make_private_pipeline(PrivateElasticNetClassifier(), epsilon=3.0), 3.0),
    ],
    ids=["Huber", "SVR", "one step of two", "ours", "private pipeline"],
)
def test_an_epsilon_is_a_claim_where_it_is_about_privacy_and_about_the_whole(model, epsilon):
    assert Claim.of(model, None, None).epsilon == epsilon

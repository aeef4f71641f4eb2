"""Tiny private estimators for audits, honest or with one bug each: a fit takes microseconds."""

import numpy as np
from sklearn.base import BaseEstimator


class NoisyMean(BaseEstimator):
    """Mean of one column, clipped to [0, 1], with Laplace noise: epsilon-DP, replace-one.

    `noise_share` below 1 is a bug, and so is `unnoised_intercept`, the exact mean of the labels.
    """

    def __init__(self, epsilon=1.0, noise_share=1.0, unnoised_intercept=False, random_state=None):
        self.epsilon, self.noise_share = epsilon, noise_share
        self.unnoised_intercept, self.random_state = unnoised_intercept, random_state

    def fit(self, X, y=None):
        rng = np.random.default_rng(self.random_state)
        scale = self.noise_share / (len(X) * self.epsilon)
        self.coef_ = np.clip(X, 0, 1).mean(axis=0)[:1] + rng.laplace(scale=scale, size=1)
        if self.unnoised_intercept:
            self.intercept_ = float(np.mean(y))
        return self


class NoisyTransformer(NoisyMean):
    """As `NoisyMean`, and it keeps the column with the larger mean, which nobody paid for."""

    def fit(self, X, y=None):
        super().fit(X, y)
        self.support_ = np.arange(np.shape(X)[1]) == np.mean(X, axis=0).argmax()
        return self


class GaussianStep(BaseEstimator):
    """One sum of clipped numbers with Gaussian noise of `sigma`; mu = 1/sigma, zero-out."""

    def __init__(self, sigma=1.0, epsilon=1.0, delta=1e-5, random_state=None):
        self.sigma, self.epsilon, self.delta = sigma, epsilon, delta
        self.random_state = random_state

    def fit(self, X, y=None):
        rng = np.random.default_rng(self.random_state)
        self.coef_ = np.clip(X, -1, 1).sum(axis=0)[:1] + rng.normal(scale=self.sigma, size=1)
        return self


class CoinFlips(BaseEstimator):
    """Randomised response on the label of every row that has a column of its own."""

    def __init__(self, epsilon=1.0, random_state=None):
        self.epsilon, self.random_state = epsilon, random_state

    def fit(self, X, y):
        rng = np.random.default_rng(self.random_state)
        X, y = np.asarray(X), np.asarray(y)
        lie = rng.random(len(y)) >= 1 / (1 + np.exp(-self.epsilon))
        told = 2.0 * np.where(lie, 1 - y, y) - 1
        self.classes_ = np.array([0, 1])
        self.coef_ = (X * told[:, None]).sum(axis=0)[None]
        self._estimator_type = "classifier"
        return self

    def decision_function(self, X):
        return np.asarray(X) @ self.coef_[0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier"
        return tags

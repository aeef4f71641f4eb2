"""Map columns to a range by two private quantiles, and clip."""

import numpy as np

from skdp._admission import fit_context
from skdp.preprocessing.public_range import _range
from skdp.preprocessing.quantile_release import (
    QUANTILE_CONSTRAINTS,
    QuantileTransformer,
    finite,
    increasing_pair,
)
from skdp.preprocessing.shared_docs import QUANTILE_DOCS, documented


@documented(QUANTILE_DOCS)
class PrivateMinMaxScaler(QuantileTransformer):
    """Map columns to a range by two private quantiles, and clip.

    As :class:`~sklearn.preprocessing.MinMaxScaler`, with quantiles in place of extremes.

    Parameters
    ----------
    %(bounds)s
    %(pair)s
    feature_range : pair of floats, default=(0.0, 1.0)
        Where the values go; what is outside is clipped.
    %(budget)s
    %(delta)s
    %(relation)s

    Attributes
    ----------
    data_min_, data_max_ : ndarray of shape (n_features,)
        The released quantiles.
    scale_, min_ : ndarray of shape (n_features,)
        A value x goes to ``x * scale_ + min_``.
    %(promise)s
    %(noise)s
    %(features)s

    Notes
    -----
    %(guarantee)s

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from skdp.preprocessing import PrivateMinMaxScaler
    >>> X = load_wine().data[:, :2]
    >>> scaler = PrivateMinMaxScaler((0.0, 100.0), epsilon=5.0).fit(X)
    >>> scaler.transform(X).shape
    (178, 2)
    """

    _parameter_constraints = {  # noqa: RUF012  (scikit-learn's convention)
        **QUANTILE_CONSTRAINTS,
        "quantiles": [tuple, list, np.ndarray],
        "feature_range": [tuple, list],
    }

    def __init__(
        self,
        bounds=(-1e3, 1e3),
        *,
        quantiles=(0.1, 0.9),
        feature_range=(0.0, 1.0),
        epsilon=1.0,
        delta=1e-6,
        n_points=49,
        neighbours="zero-out",
        ledger=None,
        random_state=None,
    ):
        self.bounds = bounds
        self.quantiles = quantiles
        self.feature_range = feature_range
        self.epsilon = epsilon
        self.delta = delta
        self.n_points = n_points
        self.neighbours = neighbours
        self.ledger = ledger
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Spend the budget and release quantiles of each column.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Private rows.
        y : None
            Ignored.

        Returns
        -------
        self
            The fitted transformer.
        """
        (a,), (b,) = _range(self.feature_range, 1, "feature_range")
        self.data_min_, self.data_max_ = self._release_quantiles(X, increasing_pair(self.quantiles))
        width = self.data_max_ - self.data_min_
        self.scale_ = (b - a) / np.where(width > 0, width, 1.0)
        self.min_ = a - self.data_min_ * self.scale_
        return self

    def transform(self, X):
        """Map each column and clip it to `feature_range`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Of the dtype of X.
        """
        X = self._rows(X)
        return finite(lambda: np.clip(X * self.scale_ + self.min_, *self.feature_range), X.dtype)

    def inverse_transform(self, X):
        """Map back; what was clipped is not restored.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Of the dtype of X.
        """
        X = self._transformed(X)
        return finite(lambda: (X - self.min_) / self.scale_, X.dtype)

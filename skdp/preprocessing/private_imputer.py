"""Fill in missing values by private medians."""

import numpy as np

from skdp._admission import fit_context
from skdp.preprocessing.quantile_release import QUANTILE_CONSTRAINTS, QuantileTransformer, finite
from skdp.preprocessing.shared_docs import QUANTILE_DOCS, documented


@documented(QUANTILE_DOCS)
class PrivateImputer(QuantileTransformer):
    """Fill in missing values (NaN) by a private median of each column.

    All columns are kept, also those without a value: whether a column has one depends on single
    records. Where a constant is known that will do, :class:`~sklearn.impute.SimpleImputer` with
    ``strategy="constant"`` and ``keep_empty_features=True`` costs nothing.

    Parameters
    ----------
    %(bounds)s
    %(budget)s
    delta : float, default=1e-6
        In [0, 1). With 0 each median costs epsilon divided by their number.
    n_points : int, default=49
        Points for each column, over six decades.
    %(relation)s

    Attributes
    ----------
    statistics_ : ndarray of shape (n_features,)
        What is filled in. For a column without values it is a random point of its range.
    %(promise)s
    sensitivity_ : Sensitivity
        How far one record moves a rank.
    noise_scale_ : float
        Scale of the noise on ranks, in records: far below the number of values that are there, or
        the medians are noise.
    %(features)s

    Notes
    -----
    *Guarantees.* (epsilon, delta)-differential privacy of all medians. With
    G(t) = sum_i (1[x_i <= t] - 1/2) over the values that are there, a record moves each G(t) by
    1/2 at most (replace-one: by 1), also where its value is missing; a pick with weights
    exp(-abs(G(t)) / beta) is of bounded range (Durfee and Rogers 2019), and the picks of all
    columns compose exactly as such. Transformed private rows are private rows, and a value that
    was filled in tells nothing about other rows that the medians do not.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from skdp.preprocessing import PrivateImputer
    >>> X = load_wine().data[:, :2]
    >>> X[::3, 0] = np.nan
    >>> imputer = PrivateImputer((0.0, 100.0), epsilon=5.0).fit(X)
    >>> bool(np.isnan(imputer.transform(X)).any())
    False
    """

    _parameter_constraints = QUANTILE_CONSTRAINTS
    _finite = "allow-nan"

    def __init__(
        self,
        bounds=(-1e3, 1e3),
        *,
        epsilon=1.0,
        delta=1e-6,
        n_points=49,
        neighbours="zero-out",
        ledger=None,
        random_state=None,
    ):
        self.bounds = bounds
        self.epsilon = epsilon
        self.delta = delta
        self.n_points = n_points
        self.neighbours = neighbours
        self.ledger = ledger
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Spend the budget and release a median of each column.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Private rows; NaN is a value that is missing.
        y : None
            Ignored.

        Returns
        -------
        self
            The fitted transformer.
        """
        (self.statistics_,) = self._release_quantiles(X, np.array([0.5]))
        return self

    def transform(self, X):
        """Fill in what is missing.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN is a value that is missing.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Of the dtype of X.
        """
        X = self._rows(X)
        return finite(lambda: np.where(np.isnan(X), self.statistics_, X), X.dtype)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

"""Clip columns to ranges between two private quantiles, or rows to a private quantile of norms."""

import functools
from numbers import Real

import numpy as np

from skdp._admission import StrOptions, fit_context
from skdp._validation import is_real
from skdp.preprocessing.admission import admit_rows
from skdp.preprocessing.quantile_release import (
    QUANTILE_CONSTRAINTS,
    QuantileTransformer,
    increasing_pair,
)
from skdp.preprocessing.shared_docs import QUANTILE_DOCS, documented
from skdp.records import clip_rows
from skdp.records.clipping import LARGEST_NORM, SMALLEST_NORM


@documented(QUANTILE_DOCS)
class PrivateQuantileClipper(QuantileTransformer):
    """Clip columns to ranges between two private quantiles, or rows to a quantile of their norms.

    For whoever can declare no more than an honest wide range.

    Parameters
    ----------
    %(bounds)s
    target : {"columns", "row_norm"}, default="columns"
        "columns" releases two quantiles of each column, and clips it to what is between.
        "row_norm" releases one quantile of the Euclidean norms of rows, and scales rows so that
        this norm becomes 1 and longer ones are cut down to 1: private estimators take a `row_norm`
        of 1 if nothing else is said, so the norm need not be told to them.
    quantiles : pair of floats, float or None, default=None
        Levels, public, in (0, 1): an increasing pair for columns, where None is (0.1, 0.9); one
        number for row norms, where None is 0.5.
    %(budget)s
    %(delta)s
    %(relation)s

    Attributes
    ----------
    low_, high_ : ndarray of shape (n_features,)
        The ranges; with ``target="row_norm"`` the declared ones.
    row_norm_ : float
        The released norm; with ``target="columns"`` there is none.
    %(promise)s
    %(noise)s
    %(features)s

    Notes
    -----
    %(guarantee)s

    *Row norms* are those of rows clipped to the declared ranges, one quantile whatever the number
    of columns. Put it after a scaler, with the scaler's range as bounds. Its points lie between
    1e-6 of the longest possible row and that one, by default 33 % apart; a larger `n_points` costs
    little here.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from skdp.preprocessing import PrivateQuantileClipper
    >>> X = load_wine().data[:, :2]
    >>> clipper = PrivateQuantileClipper((0.0, 100.0), epsilon=5.0).fit(X)
    >>> clipper.transform(X).shape
    (178, 2)

    >>> rows = PrivateQuantileClipper(
    ...     (0.0, 100.0), target="row_norm", n_points=1000, epsilon=5.0
    ... ).fit(X)
    >>> 12 < rows.row_norm_ < 15  # the median is 13.3
    True
    >>> bool((rows.transform(X) ** 2).sum(axis=1).max() < 1.0001)
    True
    """

    _parameter_constraints = {  # noqa: RUF012  (scikit-learn's convention)
        **QUANTILE_CONSTRAINTS,
        "target": [StrOptions({"columns", "row_norm"})],
        "quantiles": [Real, tuple, list, np.ndarray, None],
    }

    def __init__(
        self,
        bounds=(-1e3, 1e3),
        *,
        target="columns",
        quantiles=None,
        epsilon=1.0,
        delta=1e-6,
        n_points=49,
        neighbours="zero-out",
        ledger=None,
        random_state=None,
    ):
        self.bounds = bounds
        self.target = target
        self.quantiles = quantiles
        self.epsilon = epsilon
        self.delta = delta
        self.n_points = n_points
        self.neighbours = neighbours
        self.ledger = ledger
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Spend the budget and release quantiles of each column, or one of row norms.

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
        if self.target == "row_norm":
            self._fit_row_norm(X)
        else:
            levels = increasing_pair((0.1, 0.9) if self.quantiles is None else self.quantiles)
            vars(self).pop("row_norm_", None)
            self.low_, self.high_ = self._release_quantiles(X, levels)
        return self

    def _fit_row_norm(self, X):
        level = 0.5 if self.quantiles is None else self.quantiles
        if not is_real(level) or not 0 < level < 1:
            raise ValueError(
                f"quantiles must be one number in (0, 1) for row norms, got {level!r}."
            )
        X = admit_rows(self, X, accept_sparse=False)
        low, high = self._bounds()
        longest = _norms(np.maximum(np.abs(low), np.abs(high))[None, :])
        if not 1e6 * SMALLEST_NORM <= longest[0, 0] <= LARGEST_NORM:
            raise ValueError(f"bounds must be such that rows are no longer than {LARGEST_NORM:g}.")
        norm = self._pick(
            lambda: _norms(np.clip(X, low, high)),
            np.zeros(1),
            longest[0],
            np.array([float(level)]),
            len(X),
            depth=1,
        )
        self.row_norm_ = float(norm[0, 0])
        self.low_, self.high_ = low, high

    def transform(self, X):
        """Clip each column to its range, or each row to the released norm, which becomes 1.

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
        clipped = np.clip(X, self.low_, self.high_).astype(X.dtype, copy=False)
        if not hasattr(self, "row_norm_"):
            return clipped
        return (clip_rows(clipped, self.row_norm_) / self.row_norm_).astype(X.dtype, copy=False)


def _norms(X):
    """Return the norms of rows as a column; each is a function of its row alone, bit for bit."""
    return np.abs(functools.reduce(np.hypot, X.T.astype(np.float64)))[:, None]

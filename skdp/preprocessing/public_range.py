"""Bring numeric columns from declared ranges to a common one."""

from collections.abc import Mapping

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin

from skdp._admission import check_is_fitted, fit_context
from skdp.preprocessing.admission import admit_rows, admit_transformed


class PublicRangeScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Map each column from its declared range to a common one; values outside are clipped.

    .. math:: x \mapsto a + (b - a)
              \frac{\min(\max(x, \mathrm{low}), \mathrm{high}) - \mathrm{low}}
                   {\mathrm{high} - \mathrm{low}}

    with (a, b) = ``feature_range``. The ranges are declared, from documentation or from what is
    possible at all, and never learned: :class:`~sklearn.preprocessing.MinMaxScaler` would publish
    the two most extreme people of each column. So this costs no privacy budget.

    Parameters
    ----------
    bounds : pair or mapping, default=(0.0, 1.0)
        Either (low, high), each a number for all columns or an array of shape (n_features,); or a
        mapping from every column name of X to its (low, high).
    feature_range : pair of floats, default=(-1.0, 1.0)
        The range (a, b) of each column afterwards. With a range around 0 an average row is
        short, so that clipping row norms to a small bound loses little.

    Attributes
    ----------
    low_, high_ : ndarray of shape (`n_features_in_`,)
        The declared range of each column.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if X had string column names.

    Raises
    ------
    ValueError, TypeError
        For a range that is empty, infinite or of the wrong length, a mapping whose names are not
        those of X, and for NaN, infinity, text, complex or sparse input. The message quotes no
        cell.

    Notes
    -----
    A range that is wrong costs accuracy and never privacy. A range chosen by looking at the data
    is not public, and the guarantee of what follows does not cover it.

    Rows of k columns have norm up to ``sqrt(k)`` afterwards: pass that as ``row_norm`` to the
    estimator, or clip with :class:`RowNormClipper`, whose documentation shows a whole table.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from skdp.preprocessing import PublicRangeScaler
    >>> X = load_wine(as_frame=True).data[["alcohol", "ash"]]
    >>> scaler = PublicRangeScaler({"alcohol": (8.0, 18.0), "ash": (0.0, 5.0)}).fit(X)
    >>> scaler.transform(X)[:2].round(2)
    array([[ 0.25, -0.03],
           [ 0.04, -0.14]])
    """

    _parameter_constraints = {  # noqa: RUF012  (scikit-learn's convention)
        "bounds": [tuple, list, np.ndarray, Mapping],
        "feature_range": [tuple, list],
    }

    def __init__(self, bounds=(0.0, 1.0), *, feature_range=(-1.0, 1.0)):
        self.bounds = bounds
        self.feature_range = feature_range

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Match the declared ranges with the columns; nothing is learned from the values.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        self
            The scaler.
        """
        admit_rows(self, X, accept_sparse=False)
        _range(self.feature_range, 1, "feature_range")
        bounds = self.bounds
        if isinstance(bounds, Mapping):
            bounds = _in_column_order(bounds, getattr(self, "feature_names_in_", None))
        self.low_, self.high_ = _range(bounds, self.n_features_in_, "bounds")
        return self

    def transform(self, X):
        """Clip each column into its range and map it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Values in `feature_range`.
        """
        check_is_fitted(self)
        X = admit_rows(self, X, accept_sparse=False, reset=False)
        a, b = self.feature_range
        share = (np.clip(X, self.low_, self.high_) - self.low_) / (self.high_ - self.low_)
        return np.clip(a + (b - a) * share, a, b).astype(X.dtype, copy=False)

    def inverse_transform(self, X):
        """Map values of `feature_range` back to the declared ranges.

        What was clipped is not restored; values outside of `feature_range` are clipped to it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Transformed rows.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Values within the declared ranges.
        """
        check_is_fitted(self)
        X = admit_transformed(self, X)
        a, b = self.feature_range
        share = (np.clip(X, a, b) - a) / (b - a)
        return (self.low_ + (self.high_ - self.low_) * share).astype(X.dtype, copy=False)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _in_column_order(bounds, names):
    """Return (lows, highs) in the order of the columns."""
    if names is None:
        raise ValueError("bounds by column name need a data frame with string column names.")
    missing = [name for name in names if name not in bounds]
    unknown = sorted(set(bounds) - set(names), key=str)
    if missing or unknown:
        raise ValueError(
            "bounds must name every column of X and no other; "
            f"not named: {missing}, not in X: {unknown}."
        )
    pairs = [np.asarray(bounds[name], dtype=float) for name in names]
    if any(pair.shape != (2,) for pair in pairs):
        raise ValueError("Each value of bounds must be a pair (low, high).")
    return np.transpose(pairs)


def _range(bounds, n_features, name):
    """Return the lower and upper ends as arrays of shape (n_features,), or refuse."""
    problem = (
        f"{name} must be (low, high) with low < high, all finite, each a number or one number "
        f"for each of the {n_features} columns; got {bounds!r}."
    )
    try:
        low, high = (np.broadcast_to(np.asarray(v, float), (n_features,)) for v in bounds)
    except (TypeError, ValueError):
        raise ValueError(problem) from None
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.all(np.isfinite(high - low) & (low < high)):
            raise ValueError(problem)
    return low.copy(), high.copy()

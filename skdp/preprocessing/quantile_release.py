"""What transformers that rest on released quantiles share."""

from collections.abc import Mapping
from numbers import Integral

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin

from skdp._admission import Interval, check_is_fitted
from skdp._estimator import PrivateEstimator
from skdp.mechanisms.quantiles import QuantileMechanism, quantile_sensitivity, rank_excesses
from skdp.preprocessing.admission import admit_rows, admit_transformed
from skdp.preprocessing.public_range import _in_column_order, _range
from skdp.preprocessing.release import PAID_CONSTRAINTS, paid_release
from skdp.privacy import Neighbours

QUANTILE_CONSTRAINTS = PAID_CONSTRAINTS | {
    "bounds": [tuple, list, np.ndarray, Mapping],
    "n_points": [Interval(Integral, 8, 2**16, closed="both")],
}
CLIPPED = "Each value is clipped to a range that was declared, not computed from the data."
#: Decades below the largest magnitude that the points reach.
_DECADES = 6


def log_points(low, high, n_points):
    """Return points of shape (n_points, n_features), geometric towards the end nearest to 0.

    Where a range holds 0 inside, half of the points are on each side of it.
    """
    up = np.geomspace(10.0**-_DECADES, 1.0, n_points)[:, None]
    half = n_points // 2
    down = np.geomspace(1.0, 10.0**-_DECADES, half)[:, None]
    rest = np.geomspace(10.0**-_DECADES, 1.0, n_points - half)[:, None]
    width = high - low
    both = np.vstack([down * low, rest * high])
    points = np.where(high <= 0, high - up[::-1] * width, both)
    return np.where(low >= 0, low + up * width, points)


class QuantileTransformer(OneToOneFeatureMixin, TransformerMixin, PrivateEstimator):
    """Base: declared ranges, one joint release of quantiles, and a statement."""

    #: Which values that are not finite are admitted, in the words of scikit-learn.
    _finite: bool | str = True

    def _release_quantiles(self, X, levels, depth=0):
        """Spend, release, and return quantiles of shape (n_levels, n_features)."""
        X = admit_rows(self, X, accept_sparse=False, ensure_all_finite=self._finite)
        low, high = self._bounds()
        return self._pick(lambda: np.clip(X, low, high), low, high, levels, len(X), depth + 1)

    def _pick(self, values, low, high, levels, n_rows, depth):
        """Spend, release, and return quantiles of the columns of `values()`, within ranges."""
        points = log_points(low, high, int(self.n_points))
        mechanism = QuantileMechanism.calibrated(
            quantile_sensitivity(levels, Neighbours(self.neighbours)),
            self._budget(),
            n_picks=len(low) * len(levels),
            n_points=len(points),
        )
        places = paid_release(
            self,
            mechanism,
            lambda: rank_excesses(values(), points, levels),
            n_rows=n_rows,
            facts=(CLIPPED,),
            depth=depth + 1,
        )
        places = places.reshape(len(low), len(levels)).astype(int)
        return np.sort(np.take_along_axis(points.T, places, axis=1), axis=1).T

    def _bounds(self):
        bounds = self.bounds
        if isinstance(bounds, Mapping):
            bounds = _in_column_order(bounds, getattr(self, "feature_names_in_", None))
        return _range(bounds, self.n_features_in_, "bounds")

    def _rows(self, X):
        check_is_fitted(self)
        return admit_rows(self, X, accept_sparse=False, reset=False, ensure_all_finite=self._finite)

    def _transformed(self, X):
        check_is_fitted(self)
        return admit_transformed(self, X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def increasing_pair(quantiles):
    """Return two declared levels as an array, or refuse."""
    problem = f"quantiles must be an increasing pair in (0, 1), got {quantiles!r}."
    try:
        levels = np.array(quantiles, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(problem) from None
    if levels.shape != (2,) or not 0 < levels[0] < levels[1] < 1:
        raise ValueError(problem)
    return levels


def finite(values, dtype):
    """Return `values()` as finite numbers of `dtype`: overflow must not decide what is refused."""
    with np.errstate(all="ignore"):
        found = values()
        largest = np.finfo(dtype).max
        return np.clip(np.nan_to_num(found), -largest, largest).astype(dtype, copy=False)

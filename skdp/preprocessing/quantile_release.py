"""What transformers that rest on released quantiles share."""

from collections.abc import Mapping
from numbers import Integral, Real

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin

from skdp._admission import HasMethods, Interval, StrOptions, check_is_fitted
from skdp._estimator import PrivateEstimator
from skdp._random import NumpyGenerator
from skdp.mechanisms.quantiles import QuantileMechanism, quantile_sensitivity, rank_excesses
from skdp.preprocessing.admission import admit_rows, admit_transformed
from skdp.preprocessing.public_range import _in_column_order, _range
from skdp.privacy import Neighbours, PrivacyStatement
from skdp.privacy.statement import noise_source

QUANTILE_CONSTRAINTS = {
    "bounds": [tuple, list, np.ndarray, Mapping],
    "epsilon": [Interval(Real, 0, None, closed="neither")],
    "delta": [Interval(Real, 0, 1, closed="left")],
    "n_points": [Interval(Integral, 8, 2**16, closed="both")],
    "neighbours": [StrOptions({member.value for member in Neighbours}), Neighbours],
    "ledger": [None, HasMethods("spend")],
    "random_state": ["random_state", NumpyGenerator],
}
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

    def _release_quantiles(self, X, levels, stacklevel=5):
        """Spend, release, and return quantiles of shape (n_levels, n_features)."""
        X = admit_rows(self, X, accept_sparse=False, ensure_all_finite=self._finite)
        low, high = self._bounds()
        points = log_points(low, high, int(self.n_points))
        relation = Neighbours(self.neighbours)
        mechanism = QuantileMechanism.calibrated(
            quantile_sensitivity(levels, relation),
            self._budget(),
            n_picks=X.shape[1] * len(levels),
            n_points=len(points),
        )
        statement = self._statement(mechanism)
        known = None if relation is Neighbours.ADD_OR_REMOVE_ONE else X.shape[0]
        self._warn_of_large_delta(known, stacklevel=stacklevel)
        rng = self._random_source(stacklevel=stacklevel)
        if self.ledger is not None:
            self.ledger.spend(statement, purpose=f"{type(self).__name__}.fit")
        places = mechanism.release(rank_excesses(np.clip(X, low, high), points, levels), rng)
        places = places.reshape(X.shape[1], len(levels)).astype(int)
        self.privacy_ = statement
        self.sensitivity_ = mechanism.sensitivity
        self.noise_scale_ = mechanism.noise_scale
        return np.sort(np.take_along_axis(points.T, places, axis=1), axis=1).T

    def _levels(self):
        """Return the declared `quantiles` as an array, or refuse."""
        problem = f"quantiles must be an increasing pair in (0, 1), got {self.quantiles!r}."
        try:
            levels = np.array(self.quantiles, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(problem) from None
        if levels.shape != (2,) or not 0 < levels[0] < levels[1] < 1:
            raise ValueError(problem)
        return levels

    def _bounds(self):
        bounds = self.bounds
        if isinstance(bounds, Mapping):
            bounds = _in_column_order(bounds, getattr(self, "feature_names_in_", None))
        return _range(bounds, self.n_features_in_, "bounds")

    def _statement(self, mechanism):
        from skdp.privacy.accounting import EventCurve

        return PrivacyStatement(
            curve=EventCurve(mechanism.event),
            budget=self._budget(),
            neighbours=mechanism.sensitivity.neighbours,
            theorem=mechanism.theorem,
            assumptions=(
                "The columns are public, and so is how X is stored (float32 or float64).",
                "Each value is clipped to a range that was declared, not computed from the data.",
                "No parameter was chosen by looking at this data.",
            ),
            noise=noise_source(seeded=self.random_state is not None),
        )

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


def finite(values, dtype):
    """Return `values()` as finite numbers of `dtype`: overflow must not decide what is refused."""
    with np.errstate(all="ignore"):
        found = values()
        largest = np.finfo(dtype).max
        return np.clip(np.nan_to_num(found), -largest, largest).astype(dtype, copy=False)

"""Linear models that clip the rows they predict for as those that they were fitted to."""

import copy

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.extmath import safe_sparse_dot

from skdp._admission import admit_new_rows
from skdp.preprocessing import RowNormClipper
from skdp.records import clip_rows


def clipped_rows(estimator, X):
    """Return rows clipped to `row_norm`, which may share their index with X."""
    return clip_rows(X, estimator._number("row_norm"), share_index=True)


class ClippedRowsMixin:
    """Scores of clipped rows from `coef_` and `intercept_`, here and in a plain pipeline."""

    def _scores(self, X):
        """Scores of clipped rows, shape (n_samples, n_outputs)."""
        rows = clipped_rows(self, admit_new_rows(self, X))
        with np.errstate(all="ignore"):
            scores = safe_sparse_dot(rows, np.atleast_2d(self.coef_).T, dense_output=True)
            return scores + self.intercept_

    def _as_pipeline(self, model):
        """Return a plain pipeline that clips rows and applies `model`, which gets our weights."""
        clipper = RowNormClipper(row_norm=self.row_norm)
        clipper.n_features_in_ = model.n_features_in_ = self.n_features_in_
        if hasattr(self, "feature_names_in_"):  # the clipper hands on an array without names
            clipper.feature_names_in_ = self.feature_names_in_
        model.coef_, model.intercept_ = self.coef_.copy(), copy.copy(self.intercept_)
        return Pipeline([("clip", clipper), ("model", model)])

"""The recipe of linear models that are trained privately, step by step."""

import copy
from numbers import Integral, Real

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import safe_sparse_dot

from skdp._admission import Interval, StrOptions, admit_new_rows, check_is_fitted
from skdp._scores import LARGEST_SCORE
from skdp._sgd.model import PrivateSGD
from skdp._sgd.settings import OPTIMIZERS
from skdp.linear_model.dpsgd_settings import SELECTORS, linear_run
from skdp.linear_model.support import ReleasedSupportMixin
from skdp.records import canonical_rows
from skdp.training import CoordinateSelector
from skdp.training.linear_run import LAZY_NOISE, LinearRecords

#: No sum of products of smaller values and weights overflows; no float32 value reaches it.
LARGEST_VALUE = 1e250


class DPSGDLinearModel(ReleasedSupportMixin, PrivateSGD):
    """Linear model whose coefficients are the outcome of a private training run."""

    _parameter_constraints = {  # noqa: RUF012  (scikit-learn's convention)
        **PrivateSGD._parameter_constraints,
        "selector": [StrOptions({"auto", *SELECTORS}), CoordinateSelector, None],
        "n_selected": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "selection_share": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="neither")],
        "max_grad_norm": [Interval(Real, 1e-12, 1e12, closed="both")],
        "selected_grad_norm": [Interval(Real, 1e-12, 1e12, closed="both"), None],
        "optimizer": [StrOptions(set(OPTIMIZERS))],
        "fit_intercept": ["boolean"],
    }

    def _run(self, shape, task, *, is_sparse, **how):
        return linear_run(self, *shape, task.loss, **how)

    def _assumed_of_storage(self, run, is_sparse):
        return (LAZY_NOISE,) if run.lazy and is_sparse else ()

    def _released(self, run, X, task, start, rng, progress):
        records = LinearRecords(X, task.targets, task.loss, self.fit_intercept)
        return run.train(records, start, rng, progress)

    def _store(self, run, statement, classes, released):
        self._store_facts(run, statement, classes)
        weights = released.reshape(self.n_features_in_ + int(self.fit_intercept), -1)
        self.coef_ = np.ascontiguousarray(weights[: self.n_features_in_].T)
        self.intercept_ = weights[-1].copy() if self.fit_intercept else np.zeros(weights.shape[1])

    def _flat_parameters(self):
        coef = self.coef_.toarray() if sparse.issparse(self.coef_) else np.atleast_2d(self.coef_)
        weights = np.empty((self.n_features_in_ + int(self.fit_intercept), len(coef)))
        weights[: self.n_features_in_] = coef.T  # written once: it may be as long as memory allows
        if self.fit_intercept:
            weights[-1] = self.intercept_
        return weights.ravel()

    def _as_plain(self, model):
        """Give a scikit-learn model the released weights."""
        model.coef_, model.intercept_ = self._dense_coef(), copy.copy(self.intercept_)
        model.n_features_in_ = self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            model.feature_names_in_ = self.feature_names_in_
        return model

    def _scores(self, X):
        """Scores, shape (n_samples, n_outputs)."""
        rows = canonical_rows(admit_new_rows(self, X))
        coef = self.coef_ if sparse.issparse(self.coef_) else np.atleast_2d(self.coef_)
        with np.errstate(all="ignore"):
            rows, scales = _within_reach(rows)
            scores = safe_sparse_dot(rows, coef.T, dense_output=True)
            if scales is not None:
                scores = np.clip(scores * scales[:, None], -LARGEST_SCORE, LARGEST_SCORE)
            return scores + self.intercept_

    def sparsify(self):
        """Turn ``coef_`` into a sparse matrix, for storage; predictions stay the same.

        Returns
        -------
        self
            The model.
        """
        check_is_fitted(self)
        self.coef_ = sparse.csr_matrix(np.atleast_2d(self.coef_))
        return self

    def densify(self):
        """Turn ``coef_`` into an array.

        Returns
        -------
        self
            The model.
        """
        check_is_fitted(self)
        self.coef_ = self._dense_coef()
        return self

    def _dense_coef(self):
        return self.coef_.toarray() if sparse.issparse(self.coef_) else self.coef_.copy()


def _within_reach(rows):
    """Return rows of which no product overflows, and the numbers they were divided by, or None.

    Two products of a huge row may be infinite with opposite signs, and their sum no number.
    """
    sizes = np.abs(rows.data if sparse.issparse(rows) else rows)
    if not sizes.size or sizes.max() < LARGEST_VALUE:
        return rows, None
    largest = abs(rows).max(axis=1)
    largest = largest.toarray() if sparse.issparse(largest) else largest
    scales = np.maximum(np.ravel(largest) / LARGEST_VALUE, 1.0)
    if sparse.issparse(rows):
        return sparse.diags(1 / scales).tocsr() @ rows, scales
    return rows / scales[:, None], scales

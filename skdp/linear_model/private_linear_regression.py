"""Linear regression that chooses its mechanism and settings from public facts."""

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.linear_model import LinearRegression

from skdp._admission import StrOptions, admit_training, check_is_fitted, fit_context
from skdp.linear_model.linear_baseline import LabelMean
from skdp.linear_model.output_perturbed import SCALE
from skdp.linear_model.private_linear_model import LinearTask, PrivateLinearModel
from skdp.linear_model.ridge import PrivateRidge
from skdp.linear_model.sparse_dpsgd_regression import SparseDPSGDRegressor
from skdp.objectives import Huber
from skdp.training.descent import LinearModel

#: Labels are in units of their noisy standard deviation.
_THRESHOLD = 3.0


class PrivateLinearRegressor(RegressorMixin, PrivateLinearModel):
    """Linear regression with nothing to tune.

    As :class:`PrivateLinearClassifier`: rows and labels are centred on their noisy means and
    brought into units of their noisy spread, and a descent on clipped gradients of a Huber loss
    follows, with enough signal in coordinates in which the second moment of rows is about the
    identity.

    Parameters
    ----------
    epsilon, delta, row_norm
        As in :class:`PrivateLinearClassifier`.
    y_bound : float, default=1.0
        Declared bound on labels; they are clipped to [-y_bound, y_bound]. Subtract the middle of a
        public range first.
    mechanism : {"auto", "descent", "ridge", "sparse_dpsgd", "baseline"}, default="auto"
        "auto" chooses as `choice_` says. "ridge": :class:`PrivateRidge`. "sparse_dpsgd":
        :class:`SparseDPSGDRegressor`. "baseline": the noisy mean of the labels.
    neighbours, expected_samples, ledger, random_state
        As in :class:`PrivateLinearClassifier`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Released weights.
    intercept_ : float
        Released intercept.
    choice_, privacy_, n_features_in_, feature_names_in_
        As in :class:`PrivateLinearClassifier`.

    Raises
    ------
    ValueError, TypeError
        For inadmissible input or parameters; nothing is spent or released then.
    BudgetExceededError
        When the ledger cannot afford the fit; nothing is spent or released then.

    Warns
    -----
    LittleToLearnWarning
        Before anything is spent, where the rule says that nothing can be learnt from the columns
        and "auto" releases the mean of the labels instead.

    Notes
    -----
    *Guarantees.* Those of :class:`PrivateLinearClassifier`; sums of labels and of their squares are
    released with those of the rows. "ridge" has those of :class:`PrivateRidge`, "sparse_dpsgd"
    those of :class:`SparseDPSGDRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.linear_model import PrivateLinearRegressor
    >>> X = np.mgrid[-1:1:55j, -1:1:55j].reshape(2, -1).T
    >>> y = X @ [0.5, -0.25] + 0.1
    >>> model = PrivateLinearRegressor(row_norm=1.5).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    _parameter_constraints = {  # noqa: RUF012
        **PrivateLinearModel._parameter_constraints,
        "y_bound": [SCALE],
        "mechanism": [StrOptions({"auto", "descent", "ridge", "sparse_dpsgd", "baseline"})],
    }

    def __init__(
        self,
        *,
        epsilon=1.0,
        delta=1e-6,
        row_norm=1.0,
        y_bound=1.0,
        mechanism="auto",
        neighbours="zero-out",
        expected_samples=None,
        ledger=None,
        random_state=None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.row_norm = row_norm
        self.y_bound = y_bound
        self.mechanism = mechanism
        self.neighbours = neighbours
        self.expected_samples = expected_samples
        self.ledger = ledger
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Choose, spend the budget and release the model.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Real-valued labels.

        Returns
        -------
        self
            The released model.
        """
        X, y = admit_training(self, X, y, y_numeric=True)
        bound = self._number("y_bound")
        labels = np.clip(y, -bound, bound) / bound
        assumption = f"Labels are clipped to [-{bound}, {bound}], a declared bound."
        task = LinearTask(labels, labels, Huber(threshold=_THRESHOLD), None, assumption)
        self._fit_task(X, task, labels)
        return self

    def _baseline(self, facts):
        return LabelMean.planned(facts.n_records, facts.neighbours, self._budget())

    def _sparse_model(self, sampler):
        return SparseDPSGDRegressor(
            epsilon=self.epsilon, delta=self.delta, sampling=sampler, max_grad_norm=0.5
        )

    def _by_ridge(self, X, task, y, facts):
        model = PrivateRidge(
            epsilon=self.epsilon,
            delta=self.delta,
            row_norm=self.row_norm,
            y_bound=self.y_bound,
            neighbours=self.neighbours,
            random_state=self.random_state,
        )
        bound = self._number("y_bound")
        self._fit_inner(model, X, bound * y, facts)
        return LinearModel(model.coef_[:, None] / bound, np.atleast_1d(model.intercept_) / bound)

    def _store(self, model, facts):
        bound = self._number("y_bound")
        self.coef_, self.intercept_ = bound * model.coef[:, 0], float(bound * model.intercept[0])

    def predict(self, X):
        """Return predictions for rows clipped to `row_norm` as in `fit`, shape (n_samples,)."""
        return self._scores(X).ravel()

    def to_sklearn(self):
        """Return a plain fitted pipeline of a row clipper and a ``LinearRegression``."""
        check_is_fitted(self)
        return self._as_pipeline(LinearRegression())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags

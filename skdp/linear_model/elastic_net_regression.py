"""Elastic-net linear regression, released once with noise that hides any one row."""

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.linear_model import LinearRegression

from skdp._admission import (
    StrOptions,
    admit_training,
    check_is_fitted,
    fit_context,
)
from skdp._groups import GROUP_CONSTRAINTS
from skdp.linear_model.output_perturbed import (
    SCALE,
    OutputPerturbedLinearModel,
    weight_assumptions,
)
from skdp.objectives import Huber, LogCosh, Squared

THRESHOLD_LOSSES = {"huber": Huber, "log_cosh": LogCosh}


class PrivateElasticNet(RegressorMixin, OutputPerturbedLinearModel):
    r"""Linear regression with an elastic-net penalty, released once with noise.

    Minimises the same objective as :class:`PrivateElasticNetClassifier` with the Huber loss (half
    the squared residual up to `huber_threshold`, linear beyond), its smooth relative or half the
    squared residual.

    Parameters
    ----------
    loss : {"huber", "log_cosh", "squared_error"}, default="huber"
        "huber" needs no bound on the labels: its slope is at most `huber_threshold`. So is that of
        "log_cosh", ``t^2 log cosh(residual / t)``, which bends gradually and is the one for
        perturbation="objective". "squared_error" needs `y_bound`.
    huber_threshold : float, default=1.0
        Residual, in the units of y, beyond which the Huber loss is linear, and around which the
        log-cosh loss becomes so (its t). Declare it, or scale y by a public constant; a scale
        estimated from the data has another sensitivity.
    y_bound : float or None, default=None
        Declared bound on the labels; y is clipped to [-y_bound, y_bound] before fitting. Centre y
        by a public constant first where it lies far from 0.
    epsilon, delta, alpha, l1_ratio, row_norm, fit_intercept, intercept_scaling, noise, bound
        As in :class:`PrivateElasticNetClassifier`.
    perturbation : {"output", "objective"}, default="output"
        As in :class:`PrivateElasticNetClassifier`; "objective" asks for loss="log_cosh".
    neighbours : {"replace-one", "zero-out"}, default="replace-one"
        As in :class:`PrivateElasticNetClassifier`; "zero-out" asks for perturbation="objective".
    threshold, max_sample_weight, tol, max_rows_per_group, n_groups, ledger, random_state
        As in :class:`PrivateElasticNetClassifier`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Released weights.
    intercept_ : float
        Released intercept.
    privacy_, sensitivity_, noise_scale_, alpha_, threshold_, n_features_in_, feature_names_in_
        As in :class:`PrivateElasticNetClassifier`.

    Raises
    ------
    ValueError, TypeError
        For inadmissible input or parameters, "squared_error" without `y_bound` among them.
    CertificationError
        When `tol` cannot be certified for these public facts, before the data is read.
    BudgetExceededError
        When the ledger cannot afford the fit; nothing is spent or released then.

    Notes
    -----
    *Guarantees.* As for :class:`PrivateElasticNetClassifier`, **replace-one** neighbours (features,
    label and weight), with D = ``2 W kappa huber_threshold`` for the Huber and log-cosh losses and
    ``2 W kappa (kappa R + y_bound)`` for the squared loss, R the radius of the minimiser;
    **zero-out** neighbours where ``perturbation="objective"`` is told so.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skdp.linear_model import PrivateElasticNet
    >>> X, y = load_diabetes(return_X_y=True)          # columns have norm 1, so rows are short
    >>> model = PrivateElasticNet(epsilon=10, alpha=0.01, row_norm=0.3, huber_threshold=0.5)
    >>> model.fit(X, (y - 150) / 200).coef_.shape      # centre and scale are public constants
    (10,)
    >>> model.privacy_.epsilon
    10.0
    """

    _parameter_constraints = {  # noqa: RUF012
        **OutputPerturbedLinearModel._parameter_constraints,
        **GROUP_CONSTRAINTS,
        "loss": [StrOptions({"huber", "log_cosh", "squared_error"})],
        "huber_threshold": [SCALE],
        "y_bound": [SCALE, None],
    }

    def __init__(
        self,
        loss="huber",
        *,
        huber_threshold=1.0,
        y_bound=None,
        epsilon=1.0,
        delta=0.0,
        alpha="auto",
        l1_ratio=0.15,
        row_norm=1.0,
        fit_intercept=True,
        intercept_scaling=1.0,
        noise="auto",
        bound="tight",
        perturbation="output",
        neighbours="replace-one",
        threshold=None,
        max_sample_weight=1.0,
        tol=1e-8,
        max_rows_per_group=None,
        n_groups=None,
        ledger=None,
        random_state=None,
    ):
        self.loss = loss
        self.huber_threshold = huber_threshold
        self.y_bound = y_bound
        self.epsilon = epsilon
        self.delta = delta
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.row_norm = row_norm
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.noise = noise
        self.bound = bound
        self.perturbation = perturbation
        self.neighbours = neighbours
        self.threshold = threshold
        self.max_sample_weight = max_sample_weight
        self.tol = tol
        self.max_rows_per_group = max_rows_per_group
        self.n_groups = n_groups
        self.ledger = ledger
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, groups=None):
        """Fit on private data, spend the budget and release the model.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Rows; float64 and float32 are used as they are, sparse ones are never densified.
        y : array-like of shape (n_samples,)
            Real-valued labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights, clipped to `max_sample_weight`; never normalised.
        groups : array-like of shape (n_samples,), default=None
            The group of each row, all integers or all strings; with `max_rows_per_group` only.

        Returns
        -------
        self
            The released model.
        """
        X, y = admit_training(self, X, y, y_numeric=True)
        slots = self._slots(groups, X.shape[0])
        if self.y_bound is not None:
            y_bound = self._number("y_bound")
            y = np.clip(y, -y_bound, y_bound)
        self._fit_release(
            X,
            y,
            self._record_weights(sample_weight, X),
            loss=self._make_loss(),
            max_weight=self._number("max_sample_weight"),
            assumptions=(*self._label_assumptions(), *weight_assumptions(sample_weight)),
            slots=slots,
        )
        self.coef_, self.intercept_ = self.coef_[0], float(self.intercept_[0])
        return self

    def _make_loss(self):
        if self.loss in THRESHOLD_LOSSES:
            return THRESHOLD_LOSSES[self.loss](threshold=self._number("huber_threshold"))
        if self.y_bound is None:
            raise ValueError(
                "loss='squared_error' needs y_bound: without a declared bound on the labels one "
                "record can move the model by any amount. Set y_bound, or use loss='huber'."
            )
        return Squared(y_bound=self._number("y_bound"))

    def _label_assumptions(self):
        if self.y_bound is None:
            return ()
        bound = self._number("y_bound")
        return (f"Labels are clipped to [-{bound}, {bound}], a declared bound.",)

    def predict(self, X):
        """Return predictions for rows clipped to `row_norm` as in `fit`, shape (n_samples,)."""
        return self._scores(X).ravel()

    def to_sklearn(self):
        """Return a plain fitted pipeline of a row clipper and a ``LinearRegression``.

        Saved and loaded as that of :meth:`PrivateElasticNetClassifier.to_sklearn`.
        """
        check_is_fitted(self)
        return self._as_pipeline(LinearRegression())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags

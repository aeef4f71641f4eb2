"""Linear regression by SGD without noise, released once with noise that hides any one row."""

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.linear_model import LinearRegression

from skdp._admission import StrOptions, admit_training, check_is_fitted, fit_context
from skdp.linear_model.output_perturbed import SCALE, weight_assumptions
from skdp.linear_model.stable_sgd_model import StableSGDModel
from skdp.objectives import Huber, Squared
from skdp.objectives.nonsmooth import Absolute


class StableSGDRegressor(RegressorMixin, StableSGDModel):
    r"""Linear regression by permutation SGD, released once with noise.

    Makes the same steps as :class:`StableSGDClassifier` with the Huber loss (half the squared
    residual up to `huber_threshold`, linear beyond), half the squared residual or its absolute
    value.

    Parameters
    ----------
    loss : {"huber", "squared_error", "absolute_error"}, default="huber"
        "huber" needs no bound on the labels: its slope is at most `huber_threshold`.
        "squared_error" needs `y_bound`. "absolute_error" has a kink and needs far more noise than
        "huber".
    huber_threshold : float, default=1.0
        Residual, in the units of y, beyond which the Huber loss is linear. Declared, not
        estimated.
    y_bound : float or None, default=None
        Declared bound on the labels; y is clipped to [-y_bound, y_bound] before fitting. Centre y
        by a public constant first where it lies far from 0.
    epsilon, delta, alpha, l1_ratio, n_epochs, batch_size, learning_rate, eta0, average
        As in :class:`StableSGDClassifier`.
    projection : "auto", None, float or Projection, default="auto"
        As in :class:`StableSGDClassifier`; "auto" is a ball for "squared_error".
    participation, row_norm, fit_intercept, intercept_scaling, noise, threshold
        As in :class:`StableSGDClassifier`.
    max_sample_weight, max_rows_per_group, n_groups, ledger, random_state
        As in :class:`StableSGDClassifier`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Released weights.
    intercept_ : float
        Released intercept.
    privacy_, sensitivity_, noise_scale_, alpha_, radius_, threshold_, n_steps_
        As in :class:`StableSGDClassifier`.
    n_features_in_, feature_names_in_
        As in :class:`StableSGDClassifier`.

    Raises
    ------
    ValueError, TypeError
        For inadmissible input or parameters, "squared_error" without `y_bound` among them.
    BudgetExceededError
        When the ledger cannot afford the fit; nothing is spent or released then.

    Notes
    -----
    *Guarantees.* As for :class:`StableSGDClassifier`, **replace-one** neighbours (features, label
    and weight). One record's gradients are at most ``2 W kappa huber_threshold`` apart for the
    Huber loss, ``2 W kappa`` for the absolute one and ``2 W kappa (kappa R_t + y_bound)`` for the
    squared one, R_t a bound on the iterates.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skdp.linear_model import StableSGDRegressor
    >>> X, y = load_diabetes(return_X_y=True)          # columns have norm 1, so rows are short
    >>> model = StableSGDRegressor(epsilon=10, alpha=0.01, row_norm=0.3, huber_threshold=0.5)
    >>> model.fit(X, (y - 150) / 200).coef_.shape      # centre and scale are public constants
    (10,)
    >>> model.privacy_.epsilon
    10.0
    """

    _parameter_constraints = {  # noqa: RUF012
        **StableSGDModel._parameter_constraints,
        "loss": [StrOptions({"huber", "squared_error", "absolute_error"})],
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
        l1_ratio=0.0,
        n_epochs=10,
        batch_size=1,
        learning_rate="inverse",
        eta0=None,
        average=False,
        projection="auto",
        participation=None,
        row_norm=1.0,
        fit_intercept=True,
        intercept_scaling=1.0,
        noise="auto",
        threshold=None,
        max_sample_weight=1.0,
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
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.eta0 = eta0
        self.average = average
        self.projection = projection
        self.participation = participation
        self.row_norm = row_norm
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.noise = noise
        self.threshold = threshold
        self.max_sample_weight = max_sample_weight
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
        if self.loss == "huber":
            return Huber(threshold=self._number("huber_threshold"))
        if self.loss == "absolute_error":
            return Absolute()
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
        """Return a plain fitted pipeline of a row clipper and a ``LinearRegression``."""
        check_is_fitted(self)
        return self._as_pipeline(LinearRegression())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags

"""Linear regression by private SGD whose cost does not grow with the number of features."""

from numbers import Real

from sklearn.base import RegressorMixin
from sklearn.linear_model import LinearRegression

from skdp._admission import Interval, StrOptions, check_is_fitted, fit_context
from skdp._sgd.model import Task
from skdp.linear_model.dpsgd_model import DPSGDLinearModel
from skdp.objectives import Huber


class SparseDPSGDRegressor(RegressorMixin, DPSGDLinearModel):
    """Linear regression with the Huber loss, trained by differentially private SGD.

    As :class:`~skdp.linear_model.SparseDPSGDClassifier`, with real-valued labels. The automatic
    learning rate adds noise of about 0.5 `max_grad_norm` to each coefficient, in the units of y
    for a row of norm 1. So the spread of y should be a few times `max_grad_norm`: scale labels by
    public constants (``TransformedTargetRegressor`` with a fixed ``func``), and rows to a norm of
    about 1. Labels on another scale give a useless model, with a score far below 0, and no warning.

    Parameters
    ----------
    loss : {"huber"}, default="huber"
        Half the squared error up to `huber_threshold`, linear beyond.
    huber_threshold : float, default=1.0
        Where the loss turns linear, in the units of y.
    epsilon, delta, n_epochs, batch_size, sampling, selector, n_selected, selection_share
        As for the classifier.
    max_grad_norm, selected_grad_norm, learning_rate, optimizer, alpha, average, fit_intercept
        As for the classifier.
    noise_schedule, chunks, n_partial_fits, max_rows_per_group, n_groups
        As for the classifier.
    ledger, random_state, verbose
        As for the classifier.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Released weights.
    intercept_ : float
        Released intercept.
    privacy_ : PrivacyStatement
        What everything released so far promises together.
    noise_multiplier_, n_steps_, batch_size_, learning_rate_
        Public facts of the run, as for the classifier.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if X had string column names.

    Raises
    ------
    ValueError, TypeError
        For inadmissible input or parameters; nothing is spent or released then.
    BudgetExceededError
        When the ledger cannot afford the fit, or ``chunks="same"`` has no call left.

    Notes
    -----
    *Guarantees.* Those of the classifier: (epsilon, delta)-differential privacy of ``coef_`` and
    ``intercept_`` for zero-out neighbours unless `sampling` names another relation (Abadi et al.,
    2016, Algorithm 1; Zhang, Mironov and Hejazinia, 2021, Algorithm 3, with the selection and the
    noise of a step composed before they are amplified).

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.linear_model import SparseDPSGDRegressor
    >>> X = np.sin(np.arange(15_000.0).reshape(5000, 3))
    >>> y = X @ [1.0, -0.5, 0.0] + 0.2
    >>> model = SparseDPSGDRegressor(epsilon=1.0, delta=1e-6).fit(X, y)
    >>> bool(model.score(X, y) > 0.8)
    True
    """

    _parameter_constraints = {  # noqa: RUF012
        **DPSGDLinearModel._parameter_constraints,
        "loss": [StrOptions({"huber"})],
        "huber_threshold": [Interval(Real, 1e-12, 1e12, closed="both")],
    }
    _y_numeric = True

    def __init__(
        self,
        loss="huber",
        *,
        huber_threshold=1.0,
        epsilon=1.0,
        delta=1e-6,
        n_epochs="auto",
        batch_size="auto",
        sampling="poisson",
        selector="auto",
        n_selected="auto",
        selection_share="auto",
        max_grad_norm=1.0,
        selected_grad_norm=None,
        learning_rate="auto",
        optimizer="sgd",
        alpha=0.0,
        average=True,
        fit_intercept=True,
        noise_schedule=None,
        chunks="disjoint",
        n_partial_fits=1,
        max_rows_per_group=None,
        n_groups=None,
        ledger=None,
        random_state=None,
        verbose=0,
    ):
        self.loss = loss
        self.huber_threshold = huber_threshold
        self.epsilon = epsilon
        self.delta = delta
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.sampling = sampling
        self.selector = selector
        self.n_selected = n_selected
        self.selection_share = selection_share
        self.max_grad_norm = max_grad_norm
        self.selected_grad_norm = selected_grad_norm
        self.learning_rate = learning_rate
        self.optimizer = optimizer
        self.alpha = alpha
        self.average = average
        self.fit_intercept = fit_intercept
        self.noise_schedule = noise_schedule
        self.chunks = chunks
        self.n_partial_fits = n_partial_fits
        self.max_rows_per_group = max_rows_per_group
        self.n_groups = n_groups
        self.ledger = ledger
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, blocks=None, groups=None):
        """Train on private data, spend the budget and release the model.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Rows; float64 and float32 are used as they are, sparse ones are never densified.
        y : array-like of shape (n_samples,)
            Real-valued labels.
        blocks : array-like of shape (n_samples,), default=None
            The public block of each row; see the classifier.
        groups : array-like of shape (n_samples,), default=None
            The group of each row, all integers or all strings; with `max_rows_per_group` only.

        Returns
        -------
        self
            The released model.
        """
        self._fit(X, y, blocks, groups)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y):
        """Train on one chunk of private data and release the model so far.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Rows of the chunk.
        y : array-like of shape (n_samples,)
            Real-valued labels.

        Returns
        -------
        self
            The released model. The first call after `fit` starts afresh.
        """
        self._partial_fit(X, y, None)
        return self

    def _task(self, y, classes):
        return Task(y, Huber(threshold=self._number("huber_threshold")), None, ())

    def _store(self, run, statement, classes, released):
        super()._store(run, statement, classes, released)
        self.coef_, self.intercept_ = self.coef_[0], float(self.intercept_[0])

    def _dense_coef(self):
        return super()._dense_coef().ravel()

    def predict(self, X):
        """Return predictions, shape (n_samples,)."""
        return self._scores(X).ravel()

    def to_sklearn(self):
        """Return a plain fitted ``LinearRegression`` that predicts the same."""
        check_is_fitted(self)
        return self._as_plain(LinearRegression())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags

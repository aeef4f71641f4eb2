"""Regression by a private neural network."""

from numbers import Real

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.neural_network import MLPRegressor

from skdp._admission import Interval, check_is_fitted, fit_context
from skdp._sgd.model import Task
from skdp.neural_network.mlp_model import PrivateMLP
from skdp.objectives import Huber


class PrivateMLPRegressor(RegressorMixin, PrivateMLP):
    """Neural network for real-valued labels, trained by differentially private SGD.

    As :class:`~skdp.neural_network.PrivateMLPClassifier`, with half the squared error as the loss,
    linear where a prediction is off by more than `y_bound`. Labels are clipped to
    [-y_bound, y_bound] and divided by it, weights start near 0, and the automatic settings are for
    that scale: a bound far above the labels adds noise for nothing, one below cuts them off without
    a warning. Centre labels by a public constant.

    Parameters
    ----------
    hidden_layer_sizes, activation
        As for the classifier.
    y_bound : float, default=1.0
        Declared bound on the labels; y is clipped to [-y_bound, y_bound].
    epsilon, delta, n_epochs, batch_size, sampling, max_grad_norm, noise_schedule, optimizer
        As for the classifier; `max_grad_norm` refers to labels divided by `y_bound`.
    learning_rate, momentum, alpha, average, center, center_norm, n_components, validation_data,
    chunks, n_partial_fits, max_rows_per_group, n_groups, ledger
        As for the classifier, with the coefficient of determination as the score.
    random_state, verbose
        As for the classifier.

    Attributes
    ----------
    coefs_ : list of ndarray of shape (fan_in, fan_out)
        Released weights of each layer; the last ones give predictions in the units of y.
    intercepts_ : list of ndarray of shape (fan_out,)
        Released biases of each layer.
    center_ : ndarray of shape (n_features,) or None
        The released centre, or None where there is none.
    components_ : ndarray of shape (n_components, n_features) or None
        The directions that training saw, or None where it saw all.
    n_layers_, n_outputs_ : int
        Number of layers, inputs and outputs included; 1.
    out_activation_ : {"identity"}
        Predictions are the outputs themselves.
    privacy_ : PrivacyStatement
        What everything released so far promises together.
    noise_multiplier_, max_grad_norm_, learning_rate_, batch_size_, row_scale_, n_steps_
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
    *Guarantees.* Those of the classifier: (epsilon, delta)-differential privacy of ``coefs_``,
    ``intercepts_``, ``center_`` and ``components_`` for zero-out neighbours unless `sampling` names
    another relation (Abadi et al., 2016, Algorithm 1).

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.neural_network import PrivateMLPRegressor
    >>> X = np.sin(np.arange(15_000.0).reshape(5000, 3))
    >>> y = np.abs(X[:, 0]) - 0.5 * X[:, 1]
    >>> model = PrivateMLPRegressor(y_bound=1.5, epsilon=3.0, delta=1e-6).fit(X, y)
    >>> bool(model.score(X, y) > 0.7)
    True
    """

    _parameter_constraints = {  # noqa: RUF012
        **PrivateMLP._parameter_constraints,
        "y_bound": [Interval(Real, 1e-12, 1e12, closed="both")],
    }
    _y_numeric = True

    def __init__(
        self,
        hidden_layer_sizes=(100,),
        activation="relu",
        *,
        y_bound=1.0,
        epsilon=1.0,
        delta=1e-6,
        n_epochs="auto",
        batch_size="auto",
        sampling="poisson",
        max_grad_norm="auto",
        noise_schedule=None,
        optimizer="momentum",
        learning_rate="auto",
        momentum=0.9,
        alpha=0.0,
        average=True,
        center="auto",
        center_norm=None,
        n_components="auto",
        validation_data=None,
        chunks="disjoint",
        n_partial_fits=1,
        max_rows_per_group=None,
        n_groups=None,
        ledger=None,
        random_state=None,
        verbose=0,
    ):
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.y_bound = y_bound
        self.epsilon = epsilon
        self.delta = delta
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.sampling = sampling
        self.max_grad_norm = max_grad_norm
        self.noise_schedule = noise_schedule
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.alpha = alpha
        self.average = average
        self.center = center
        self.center_norm = center_norm
        self.n_components = n_components
        self.validation_data = validation_data
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
            The public block of each row (a user group, a source). Blocks take turns, one a step,
            and a row pays for the turns of its own block alone; there is no sampling then.
        groups : array-like of shape (n_samples,), default=None
            The group of each row, all integers or all strings; with `max_rows_per_group` only.

        Returns
        -------
        self
            The released model; earlier calls of `fit` and `partial_fit` are forgotten.
        """
        self._fit(X, y, blocks, groups)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y):
        """Train on one chunk of private data and release the model so far.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Rows of the chunk. Its size is what n_samples means everywhere else.
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
        return Task(np.clip(y / self._number("y_bound"), -1.0, 1.0), Huber(), None, ())

    def _validation_score(self, outputs, targets):
        finite = np.nan_to_num(outputs.ravel(), nan=0.0, posinf=1e150, neginf=-1e150)
        return float(r2_score(targets, np.clip(finite, -1e150, 1e150)))

    def _store(self, run, statement, classes, released):
        super()._store(run, statement, classes, released)
        self._in_units_of_y(self._number("y_bound"))
        self.out_activation_ = "identity"

    def _flat_parameters(self):
        bound = self._number("y_bound")
        last = (self.coefs_[-1] / bound, self.intercepts_[-1] / bound)
        coefs, intercepts = [*self.coefs_[:-1], last[0]], [*self.intercepts_[:-1], last[1]]
        return np.concatenate([array.ravel() for array in (*coefs, *intercepts)])

    def _in_units_of_y(self, bound):
        self.coefs_[-1] *= bound
        self.intercepts_[-1] *= bound

    def predict(self, X):
        """Return predictions, shape (n_samples,)."""
        return self._scores(X).ravel()

    def to_sklearn(self):
        """Return a plain fitted ``MLPRegressor`` that predicts the same."""
        check_is_fitted(self)
        return self._as_plain(MLPRegressor())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags

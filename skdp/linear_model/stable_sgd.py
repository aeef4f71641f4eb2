"""Linear classification by SGD without noise, released once with noise that hides any one row."""

from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from skdp._admission import (
    StrOptions,
    admit_labels,
    admit_training,
    check_is_fitted,
    fit_context,
)
from skdp._sgd.classes import assumed_classes
from skdp.linear_model.class_weights import declared_class_weights
from skdp.linear_model.output_perturbed import weight_assumptions
from skdp.linear_model.probabilities import NOISE_CONSTRAINTS, CorrectedProbabilitiesMixin
from skdp.linear_model.stable_sgd_model import StableSGDModel
from skdp.objectives import HuberHinge, Logistic, Multinomial, SquaredHinge
from skdp.objectives.piecewise_linear import Hinge

BINARY_LOSSES = {
    "log_loss": Logistic,
    "huber_hinge": HuberHinge,
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
}


class StableSGDClassifier(CorrectedProbabilitiesMixin, StableSGDModel):
    r"""Linear classifier trained by permutation SGD and released once with noise.

    From 0, over `n_epochs` passes in secret random order,

    .. math:: w \leftarrow \mathrm{prox}_{\eta_t r}\Big(w - \frac{\eta_t}{b} \sum_{i \in B_t} s_i
              \nabla \ell(w; x_i, y_i)\Big), \qquad
              r = \alpha\rho\lVert w\rVert_1 + \frac{\alpha(1-\rho)}{2}\lVert w\rVert_2^2

    with :math:`\rho` = ``l1_ratio``, :math:`b` = ``batch_size`` and step sizes that depend on t
    and public facts alone. No step is noisy: such a run moves little when one row is replaced, and
    that much noise is added to its outcome. The page "Stable SGD" of the documentation says when
    to prefer it to :class:`PrivateElasticNetClassifier` (the exact minimiser) and
    :class:`SparseDPSGDClassifier` (noise in every step).

    Parameters
    ----------
    loss : {"log_loss", "huber_hinge", "hinge", "squared_hinge"}, default="log_loss"
        "log_loss" is logistic regression, for more than two classes softmax regression over all of
        them at once; the others are support vector machines for two classes. "hinge" has a kink
        and needs far more noise than "huber_hinge", its rounded form.
    epsilon : float, default=1.0
        Privacy loss, above 0. More than 40 adds the noise of 40.
    delta : float, default=0.0
        In [0, 1). 0 asks for pure epsilon-DP; ``privacy_.delta`` then states the tiny delta that
        arithmetic of finite precision leaves.
    alpha : "auto" or float, default="auto"
        Strength of the penalty, at least 0. "auto" minimises the expected excess loss from public
        facts alone for schedules that divide by it ("inverse", "optimal"), and is 0 for others.
    l1_ratio : float, default=0.0
        Share of the L1 penalty, in [0, 1], by proximal steps. The intercept is not L1-penalised.
    n_epochs : int, default=10
        Number of passes, fixed: there is no early stopping. Costs no noise for "inverse" and
        "optimal", and is proportional to it for "constant" without penalty.
    batch_size : int, default=1
        Rows of a step. The sum of their gradients is divided by it, also for a last batch that is
        shorter. `n_samples` is gradient descent.
    learning_rate : {"inverse", "optimal", "constant", "invscaling"} or StepSizes, default="inverse"
        "inverse": min(1/M, 1/(l2 t)) with l2 = alpha (1 - l1_ratio) and M the curvature of the
        loss times ``row_norm**2 + intercept_scaling**2`` times the largest weight. "optimal":
        scikit-learn's, capped at 1/M. "constant": `eta0`. "invscaling": eta0 / sqrt(t), capped at
        1/M. Steps above 2/M are refused.
    eta0 : float or None, default=None
        Step size of "constant" and "invscaling".
    average : bool, "suffix" or Averaging, default=False
        Release the last iterate, the mean of all, or of the last half ("suffix").
    projection : "auto", None, float or Projection, default="auto"
        Ball that holds the iterates. "auto" is the ball that holds the minimiser for
        "squared_hinge", whose slope has no other bound, and none for other losses. On CSR rows a
        projection reads every coefficient in every step.
    participation : Participation or None, default=None
        In which passes a row counts: None is all of them. ``SomePasses`` and ``ExampleDropout``
        of :mod:`skdp.stability` let rows sit out for less noise.
    row_norm, fit_intercept, intercept_scaling, noise, threshold, probability_correction
        As in :class:`PrivateElasticNetClassifier`.
    classes, class_weight, max_sample_weight, max_rows_per_group, n_groups
        As in :class:`PrivateElasticNetClassifier`. A group of m rows moves the outcome by m times
        what a row moves it by; a step takes `batch_size` places of rows, filled or not.
    ledger, random_state
        As in :class:`PrivateElasticNetClassifier`.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Released weights.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Released intercepts.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    privacy_ : PrivacyStatement
        What this fit promised.
    sensitivity_ : Sensitivity
        Bound on the change of all coefficients, rounding included.
    noise_scale_ : float
        Scale of the noise: standard deviation (Gaussian) or b (Laplace).
    alpha_, radius_, threshold_, probability_factor_ : float
        Penalty, projection, threshold and the factor of scores in `predict_proba` that were used;
        functions of public facts.
    n_steps_ : int
        Number of steps.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if X had string column names.

    Raises
    ------
    ValueError, TypeError
        For inadmissible input or parameters; nothing is spent or released then.
    BudgetExceededError
        When the ledger cannot afford the fit; nothing is spent or released then.

    Notes
    -----
    *Guarantees.* (epsilon, delta)-differential privacy of ``coef_`` and ``intercept_`` together,
    and of everything computed from them, for **replace-one** neighbours: data sets of the same
    public size that differ in one row (features, label and weight). Assumed public: number of
    rows, columns, how X is stored, classes, all parameters. The order of the rows is secret, and
    the bound holds for every order. Sensitivity: :func:`skdp.stability.sgd_sensitivity`, after Wu,
    Li, Kumar, Chaudhuri, Jha and Naughton (2017), Bolt-on differential privacy for scalable
    stochastic gradient descent-based analytics, Theorem 3; for "hinge" after Bassily, Feldman,
    Guzman and Talwar (2020), Stability of stochastic gradient descent on nonsmooth convex losses.
    Rounding errors of both runs are counted.

    How long a fit takes depends on the number of non-zeros of X.

    Nesterov's and heavy-ball momentum are not offered: their stability holds for quadratics only.
    They serve as solvers of :class:`PrivateElasticNetClassifier`, where a certificate, not a
    formula of stability, bounds the outcome.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skdp.linear_model import StableSGDClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = StableSGDClassifier(epsilon=5.0, delta=1e-5, classes=range(10), row_norm=2.0)
    >>> bool(model.fit(X / 32, y).score(X / 32, y) > 0.3)       # pixels run from 0 to 16
    True
    >>> model.privacy_.neighbours.value
    'replace-one'
    """

    _parameter_constraints = {  # noqa: RUF012
        **StableSGDModel._parameter_constraints,
        **NOISE_CONSTRAINTS,
        "loss": [StrOptions(set(BINARY_LOSSES))],
        "classes": ["array-like", range, None],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        loss="log_loss",
        *,
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
        probability_correction=None,
        classes=None,
        class_weight=None,
        max_sample_weight=1.0,
        max_rows_per_group=None,
        n_groups=None,
        ledger=None,
        random_state=None,
    ):
        self.loss = loss
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
        self.probability_correction = probability_correction
        self.classes = classes
        self.class_weight = class_weight
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
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights, clipped to `max_sample_weight`; never normalised.
        groups : array-like of shape (n_samples,), default=None
            The group of each row, all integers or all strings; with `max_rows_per_group` only.

        Returns
        -------
        self
            The released model.
        """
        X, y = admit_training(self, X, y, y_numeric=False)
        slots = self._slots(groups, X.shape[0])
        classes, places = admit_labels(y, self.classes)
        loss = self._loss_for(len(classes))
        self._refuse_idle_correction()
        class_weights = declared_class_weights(self.class_weight, classes)
        largest = 1.0 if class_weights is None else class_weights.max()
        weights = self._record_weights(sample_weight, X)
        if class_weights is not None:
            weights = class_weights[places] * (1.0 if weights is None else weights)
        self._fit_release(
            X,
            2.0 * places - 1 if loss.n_outputs == 1 else places,
            weights,
            loss=loss,
            max_weight=self._number("max_sample_weight") * largest,
            assumptions=(*assumed_classes(self.classes), *weight_assumptions(sample_weight)),
            slots=slots,
        )
        self.classes_ = classes
        self.probability_factor_ = self._factor_for_noise(self._mechanism.standard_deviation)
        return self

    def _loss_for(self, n_classes):
        if n_classes == 2:
            return BINARY_LOSSES[self.loss]()
        if self.loss == "log_loss":
            return Multinomial(n_outputs=n_classes)
        raise ValueError(
            f"Only binary classification is supported with loss={self.loss!r}. Use loss='log_loss' "
            "for more than two classes."
        )

    def to_sklearn(self):
        """Return a plain fitted scikit-learn pipeline that predicts the same.

        Returns
        -------
        Pipeline
            As that of :meth:`PrivateElasticNetClassifier.to_sklearn`.
        """
        check_is_fitted(self)
        model = LogisticRegression() if self.loss == "log_loss" else LinearSVC()
        model.classes_ = self.classes_.copy()
        return self._as_pipeline(model)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.loss == "log_loss"
        tags.classifier_tags.poor_score = True
        return tags

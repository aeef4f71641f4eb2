"""Elastic-net linear classification, released once with noise that hides any one row."""

from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from skdp._admission import (
    StrOptions,
    admit_labels,
    admit_training,
    check_is_fitted,
    fit_context,
)
from skdp._groups import GROUP_CONSTRAINTS
from skdp.linear_model.class_weights import declared_class_weights
from skdp.linear_model.output_perturbed import (
    OutputPerturbedLinearModel,
    weight_assumptions,
)
from skdp.linear_model.perturbations import PERTURBATIONS
from skdp.linear_model.probabilities import NOISE_CONSTRAINTS, CorrectedProbabilitiesMixin
from skdp.objectives import HuberHinge, Logistic, Multinomial, SquaredHinge

BINARY_LOSSES = {"log_loss": Logistic, "huber_hinge": HuberHinge, "squared_hinge": SquaredHinge}


class PrivateElasticNetClassifier(CorrectedProbabilitiesMixin, OutputPerturbedLinearModel):
    r"""Linear classifier with an elastic-net penalty, released once with noise.

    Minimises, over rows clipped to norm ``row_norm`` and the constant column ``intercept_scaling``,

    .. math:: \frac1n \sum_i s_i\,\mathrm{loss}(w; x_i, y_i)
              + \alpha\,\rho \lVert w \rVert_1 + \frac{\alpha (1-\rho)}{2} \lVert w \rVert_2^2

    with :math:`\rho` = ``l1_ratio``, to the declared tolerance on every input, and releases the
    minimiser, all classes and the intercept together, with one draw of noise; with
    ``perturbation="objective"`` that noise tilts what is minimised instead.

    Parameters
    ----------
    loss : {"log_loss", "huber_hinge", "squared_hinge"}, default="log_loss"
        "log_loss" is logistic regression, for more than two classes softmax regression over all of
        them at once. The hinge losses are support vector machines for two classes; the Huber hinge
        is the hinge rounded over a width of 1.
    epsilon : float, default=1.0
        Privacy loss, above 0. More than 40 adds the noise of 40.
    delta : float, default=0.0
        In [0, 1). 0 asks for pure epsilon-DP; ``privacy_.delta`` then states the tiny delta that
        arithmetic of finite precision leaves. With many columns a small delta (1e-6) saves much
        noise: its length then grows with the square root of their number.
    alpha : "auto" or float, default="auto"
        Strength of the penalty, in scikit-learn's mean-loss convention (``1 / (C n)``). "auto"
        minimises the expected excess loss from public facts alone: number of rows and
        coefficients, epsilon, delta, row_norm, classes. It falls as epsilon grows.
    l1_ratio : float, default=0.15
        Share of the L1 penalty, in [0, 1). The intercept is not L1-penalised.
    row_norm : float, default=1.0
        Declared bound on the Euclidean norm of a row; longer rows are scaled down to it, in `fit`
        and when predicting. On a raw table this gives nonsense without a word: bring columns to
        comparable public ranges first (:class:`~skdp.preprocessing.PublicRangeScaler`).
    fit_intercept : bool, default=True
        The intercept is the weight of a constant column and is penalised like the others. An
        unpenalised one has no finite sensitivity: one record can move it by log 2, and losing the
        last record of a class sends it to infinity, whatever n is.
    intercept_scaling : float, default=1.0
        Value of the constant column. Larger penalises the intercept less and adds noise to all.
    noise : {"auto", "laplace", "l2_laplace", "gaussian"}, default="auto"
        "auto" is "l2_laplace" for delta = 0, otherwise "l2_laplace" or "gaussian", whichever has
        the smaller expected norm for this number of coefficients.
    bound : {"tight", "paper"}, default="tight"
        "paper" is the published 4 L kappa / (n lambda), for comparison.
    perturbation : {"output", "objective"}, default="output"
        "output" adds the noise to the minimiser. "objective" adds ``<b, w> / n``, b random, to what
        is minimised, which loses far less accuracy and asks for loss="log_loss", bound="tight",
        noise other than "laplace" and a threshold other than "auto".
    neighbours : {"replace-one", "zero-out"}, default="replace-one"
        What two data sets of the promise differ in: one row that is replaced by any other, or one
        that is nulled and adds nothing, not even the constant column. "zero-out" is the weaker
        promise, with half the tilt, and for perturbation="objective" only.
    threshold : None, "auto" or float, default=None
        Released feature weights smaller than this in absolute value are set to zero. "auto" is
        the smallest threshold that noise alone passes at most once in expectation.
    probability_correction : {"noise"} or None, default=None
        "noise": `predict_proba` and `predict_log_proba` multiply scores (`decision_function` and
        `predict` do not change) by ``1 / sqrt(1 + pi v / 8)``, v the variance of the noise on the
        score of a row of the largest norm, of a tilt's at most, times K / (K - 1) for K > 2
        classes; for loss="log_loss". As a rule it makes probabilities worse: the penalty has
        already made them less sure than they could be (the page "Choosing a linear model" of the
        documentation).
    classes : array-like, default=None
        The public set of classes. None takes it from y and lists this among the assumptions.
    class_weight : dict or None, default=None
        Declared weight of each class; enters the sensitivity by its largest value. "balanced"
        is refused: weights computed from counts move all records when one changes.
    max_sample_weight : float, default=1.0
        Public bound; larger sample weights are clipped to it. Enters the sensitivity.
    tol : float, default=1e-8
        The solver reaches a minimum-norm subgradient of at most `tol` on every admissible input.
        The declared value counts in the sensitivity, not the one reached. With
        perturbation="objective" the plan may take another one, which is hidden in noise.
    max_rows_per_group : int or None, default=None
        None protects single rows. Otherwise the unit is a group of rows, such as all those of one
        person, named by ``fit(groups=)``: each adds its first so many rows.
    n_groups : int or None, default=None
        Declared number of groups, public; a group without rows counts. None takes it from
        `groups` and lists this among the assumptions.
    ledger : Ledger or None, default=None
        Where each fit spends before it solves, such as an
        :class:`~skdp.privacy.InMemoryLedger`; every fit spends again.
    random_state : None, int, RandomState or Generator, default=None
        None draws from a cryptographic generator keyed by the operating system. Anything else is
        for tests: it warns, and the statement records it.

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
        L2 or L1 bound on the change of all coefficients, tolerance and rounding included; with
        perturbation="objective", L2 bound on the change of the summed gradient at any weights.
    noise_scale_ : float
        Scale of the noise: standard deviation (Gaussian) or b (Laplace); of the tilt of the summed
        objective with perturbation="objective".
    alpha_, threshold_, probability_factor_ : float
        The penalty, the threshold and the factor of scores in `predict_proba` that were used;
        functions of public facts.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if X had string column names.

    Raises
    ------
    ValueError, TypeError
        For inadmissible input or parameters; nothing is spent or released then.
    CertificationError
        When `tol` cannot be certified for these public facts, before the data is read.
    ValueError
        When the objective is perturbed and `alpha` is too small for epsilon, the loss is not twice
        differentiable, or another parameter has no meaning there.
    BudgetExceededError
        When the ledger cannot afford the fit; nothing is spent or released then.

    Notes
    -----
    *Guarantees.* (epsilon, delta)-differential privacy of ``coef_`` and ``intercept_`` together,
    and of everything computed from them, for **replace-one** neighbours: data sets of the same
    public size that differ in one row (features, label and weight). Assumed public: number of
    rows, columns, how X is stored, classes, all parameters. The minimiser moves by at most
    ``D / (n alpha (1 - l1_ratio))`` in the L2 norm, D the diameter of one record's gradients
    (strong monotonicity; Bousquet and Elisseeff 2002, Theorem 22; Chaudhuri, Monteleoni and
    Sarwate 2011, Corollary 8). With kappa^2 = row_norm^2 + intercept_scaling^2 and W the largest
    record weight: logistic ``D = 2 W kappa sigmoid(R kappa)`` with R the radius of the minimiser,
    softmax ``2 sqrt(2) W kappa``, Huber hinge ``2 W kappa``, squared hinge
    ``4 W kappa (1 + R kappa)``. The noise is that of the mechanism named in ``privacy_.theorem``.

    With ``perturbation="objective"`` the same is promised, by another theorem: the tilted minimiser
    has the density of the tilt at minus the gradient, times a determinant. For two data sets these
    gradients are at most ``2 W L kappa`` apart (L = 1, softmax sqrt(2); for **zero-out** neighbours
    ``W L kappa``, as one of the two sets gets nothing from that row) and the determinants a
    factor of ``1 + W kappa^2 / (4 n alpha (1 - l1_ratio))`` (softmax of K classes: 1 + W kappa^2 /
    (K n ...) to the power K - 1). Kifer, Smith and Thakurta (2012) for pure budgets and the L1
    part, Redberg, Koskela and Wang (2023) for the Gaussian tilt, Iyengar et al. (2019) for the
    tolerance.

    In :class:`~sklearn.feature_selection.SelectFromModel` pass a ``threshold`` of your own (such as
    ``1e-12`` to keep what this model kept): the default, the mean weight, is also a function of
    released weights, but drops features that this model keeps.

    A fitted model is saved, copied and printed without `random_state`; `get_params` keeps it, as
    scikit-learn demands. A grid search, an ensemble and the like also hold the unfitted estimator
    that they were given, with its seed: save the fitted one (``best_estimator_``).

    A fit that is refused leaves the estimator as it was. Scales (alpha, row_norm,
    intercept_scaling, max_sample_weight, tol) may be from 1e-30 to 1e30.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skdp.linear_model import PrivateElasticNetClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = PrivateElasticNetClassifier(epsilon=10, delta=1e-6, alpha=0.01, row_norm=1.0,
    ...                                     classes=range(10))
    >>> model.fit(X / 16, y).privacy_.epsilon
    10.0
    >>> bool(model.score(X / 16, y) > 0.2)
    True
    """

    _parameter_constraints = {  # noqa: RUF012
        **OutputPerturbedLinearModel._parameter_constraints,
        **GROUP_CONSTRAINTS,
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
        l1_ratio=0.15,
        row_norm=1.0,
        fit_intercept=True,
        intercept_scaling=1.0,
        noise="auto",
        bound="tight",
        perturbation="output",
        neighbours="replace-one",
        threshold=None,
        probability_correction=None,
        classes=None,
        class_weight=None,
        max_sample_weight=1.0,
        tol=1e-8,
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
        self.row_norm = row_norm
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.noise = noise
        self.bound = bound
        self.perturbation = perturbation
        self.neighbours = neighbours
        self.threshold = threshold
        self.probability_correction = probability_correction
        self.classes = classes
        self.class_weight = class_weight
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
            assumptions=(self._class_assumption(), *weight_assumptions(sample_weight)),
            slots=slots,
        )
        self.classes_ = classes
        deviation = PERTURBATIONS[self.perturbation].deviation(self._mechanism)
        self.probability_factor_ = self._factor_for_noise(deviation)
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

    def _class_assumption(self):
        if self.classes is None:
            return "The classes and their type were taken from y and are assumed to be public."
        return "The set of classes was declared."

    def to_sklearn(self):
        """Return a plain fitted scikit-learn pipeline that predicts the same.

        With a `probability_correction` its weights are `probability_factor_` times the released
        ones, so that its probabilities are the same too.

        Returns
        -------
        Pipeline
            A :class:`~skdp.preprocessing.RowNormClipper` and a ``LogisticRegression`` (log_loss)
            or ``LinearSVC`` (hinge losses) that carries the released weights. Saved by joblib, or
            by skops, which loads it with
            ``trusted=["skdp.preprocessing.row_norm.RowNormClipper"]``.
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

"""Linear classification that chooses its mechanism and settings from public facts."""

from sklearn.linear_model import LogisticRegression

from skdp._admission import StrOptions, admit_labels, admit_training, check_is_fitted, fit_context
from skdp._sgd.classes import assumed_classes
from skdp.linear_model.linear_baseline import ClassShares
from skdp.linear_model.private_linear_model import LinearTask, PrivateLinearModel
from skdp.linear_model.probabilities import (
    CORRECTIONS,
    CorrectedProbabilitiesMixin,
    automatic_correction,
)
from skdp.linear_model.sparse_dpsgd import SparseDPSGDClassifier
from skdp.objectives import Logistic, Multinomial


class PrivateLinearClassifier(CorrectedProbabilitiesMixin, PrivateLinearModel):
    r"""Logistic or softmax regression with nothing to tune.

    Which mechanism, how many steps of which size, what is released first and how the budget is
    divided follow from the number of rows and columns, the classes, epsilon, delta and the
    relation: all public. What is left to declare is a bound on the norm of rows, and the classes.

    As a rule it centres rows on their noisy mean, brings them into units of their noisy spread,
    with enough signal divides them by their noisy second moment, and descends on the clipped
    gradients of all records with momentum:

    .. math:: v \leftarrow 0.9\,v + \frac1n \Big(\sum_i \mathrm{clip}_C(\nabla \ell(w; z_i, y_i))
              + \mathcal N(0, \sigma^2 C^2 I)\Big), \qquad w \leftarrow w - \eta v

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of all that is released, above 0.
    delta : float, default=1e-6
        In (0, 1); well below 1 / n_samples, or it warns.
    row_norm : float, default=1.0
        Declared bound on the Euclidean norm of a row; longer rows are scaled down to it, in `fit`
        and when predicting. A bound that is too wide costs little, since rows are measured
        privately. Bring columns to comparable public ranges first
        (:class:`~skdp.preprocessing.PublicRangeScaler`).
    classes : array-like, default=None
        The public set of classes. None takes it from y and lists this among the assumptions.
    mechanism : {"auto", "descent", "sparse_dpsgd", "baseline"}, default="auto"
        "auto" chooses as `choice_` says. "descent": as above. "sparse_dpsgd":
        :class:`SparseDPSGDClassifier`. "baseline": the noisy shares of the classes.
    probability_correction : {"auto", "noise", "clipping"} or None, default="auto"
        By what `predict_proba` and `predict_log_proba` multiply the scores (`decision_function` and
        `predict` do not change). "clipping": by the factor for what clipped gradients do to a
        descent that comes to rest, which makes it too sure of itself. "noise": by MacKay's for the
        noise on a typical score, curvature left out. "auto": "clipping" for two classes, whitened
        rows of at least 3 columns, 100 rows a column, and n mu of at least 1,000, where it pays;
        with less, descents are as a rule not sure enough. "clipping" of rows that are not whitened,
        sparse ones among them, rests on a guess of how scores are spread. The factor is 1 where a
        mechanism leaves nothing to correct.
    neighbours : {"zero-out", "add-or-remove-one", "replace-one"}, default="zero-out"
        The relation of the guarantee, the same whatever is chosen. Zero-out and add-or-remove-one
        cost the same noise; the number of rows is public in the first and private in the second.
        Replace-one costs up to twice the noise.
    expected_samples : int or None, default=None
        For add-or-remove-one: about how many rows there may be, a constant that is not computed
        from the data and takes the place of their number everywhere.
    ledger : Ledger or None, default=None
        Where each fit spends before it reads the data.
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
    probability_factor_ : float
        What `probability_correction` multiplies scores by; a function of public facts and released
        numbers.
    choice_ : LinearChoice
        What was chosen, and why; a function of public facts.
    privacy_ : PrivacyStatement
        What this fit promised.
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

    Warns
    -----
    LittleToLearnWarning
        Before anything is spent, where the rule says that nothing can be learnt from the columns at
        this number of rows and this budget, and "auto" releases the shares of the classes instead.

    Notes
    -----
    *Guarantees.* (epsilon, delta)-differential privacy of all that is released, for the relation
    that `neighbours` names. Each part of a fit is Gaussian noise on an exact sum of bounded
    vectors: rows, squared norms (`skdp.mechanisms.row_statistics.RowStatistics`), second moments
    (`skdp.mechanisms.label_moments.LabelMoments`), clipped gradients (Abadi et al. 2016, Algorithm
    1). Their costs compose: mu^2 adds up (Dong, Roth and Su 2022, Corollary 2), whatever the later
    parts do with what the earlier ones released. Assumed public: number of rows (but for
    add-or-remove-one), columns, how X is stored, classes, all parameters.

    *Sparse rows.* CSR rows of more than 512 columns stay sparse and are not centred; of more than
    65,536 columns they are left to :class:`SparseDPSGDClassifier`, whose steps cost what the
    non-zeros of a batch cost. Where sparse rows are descended on, the shares p and 1 - p of two
    classes are released with the squared norms, and steps are (4 p (1 - p))^(-1/2) times as long,
    at most twice, and not longer than curvature allows.

    *Probabilities.* A record that is predicted badly has its gradient clipped, so a descent that
    comes to rest is too sure of itself (Bu, Wang, Dai and Long 2023), by about as much whatever the
    data: with c the clipping norm over the root mean square of rows with their constant column, it
    rests where true odds are ``min(p, c) / min(1 - p, c)`` instead of ``p / (1 - p)``.
    `probability_factor_` is the factor of scores that comes nearest to that, 0.6 to 0.8 as a rule,
    for normal scores of the released weights' size. It is post-processing and costs nothing.

    *Cost.* About 100 passes over the rows, fewer where they are so many that records are sampled.

    References
    ----------
    Abadi et al. (2016), Deep learning with differential privacy. Bu, Wang, Dai and Long (2023), On
    the convergence and calibration of deep learning with differential privacy. Dong, Roth and Su
    (2022), Gaussian differential privacy. MacKay (1992), The evidence framework applied to
    classification networks. Polyak (1964), Some methods of speeding up the convergence of iteration
    methods.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skdp.linear_model import PrivateLinearClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = PrivateLinearClassifier(delta=1e-4, row_norm=50.0, classes=range(10))
    >>> bool(model.fit(X, y).score(X, y) > 0.8)
    True
    >>> model.choice_.mechanism
    'descent'
    >>> model.privacy_
    PrivacyStatement(epsilon=1, delta=0.0001, neighbours=zero-out, unit=row)
    """

    _parameter_constraints = {  # noqa: RUF012
        **PrivateLinearModel._parameter_constraints,
        "classes": ["array-like", range, None],
        "mechanism": [StrOptions({"auto", "descent", "sparse_dpsgd", "baseline"})],
        "probability_correction": [StrOptions({"auto", "noise", "clipping"}), None],
    }

    def __init__(
        self,
        *,
        epsilon=1.0,
        delta=1e-6,
        row_norm=1.0,
        classes=None,
        mechanism="auto",
        probability_correction="auto",
        neighbours="zero-out",
        expected_samples=None,
        ledger=None,
        random_state=None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.row_norm = row_norm
        self.classes = classes
        self.mechanism = mechanism
        self.probability_correction = probability_correction
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
            Class labels.

        Returns
        -------
        self
            The released model.
        """
        X, y = admit_training(self, X, y, y_numeric=False)
        self.classes_, places = admit_labels(y, self.classes)
        self._fit_task(X, self._task(places), y)
        return self

    def _task(self, places):
        k = len(self.classes_)
        (assumption,) = assumed_classes(self.classes)
        if k == 2:
            return LinearTask(2.0 * places - 1, None, Logistic(), places, assumption)
        return LinearTask(places, None, Multinomial(n_outputs=k), places, assumption)

    def _baseline(self, facts):
        return ClassShares.planned(len(self.classes_), facts.neighbours, self._budget())

    def _sparse_model(self, sampler):
        return SparseDPSGDClassifier(
            epsilon=self.epsilon,
            delta=self.delta,
            sampling=sampler,
            max_grad_norm=0.5,
            classes=self.classes_,
        )

    def _store(self, model, facts):
        self.coef_, self.intercept_ = model.coef.T.copy(), model.intercept
        name = self.probability_correction
        chosen = automatic_correction(facts.descent) if name == "auto" else name
        self.probability_factor_ = CORRECTIONS[chosen](model)

    def to_sklearn(self):
        """Return a plain fitted pipeline of a row clipper and a ``LogisticRegression``.

        It predicts the same classes and probabilities: its weights and its `decision_function` are
        `probability_factor_` times these.
        """
        check_is_fitted(self)
        model = LogisticRegression()
        model.classes_ = self.classes_.copy()
        return self._as_pipeline(model)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags

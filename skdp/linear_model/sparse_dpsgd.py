"""Linear classification by private SGD whose cost does not grow with the number of features."""

from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from skdp._admission import StrOptions, admit_labels, check_is_fitted, fit_context
from skdp._scores import ScoreClassifierMixin
from skdp._sgd.classes import assumed_classes, first_classes
from skdp._sgd.model import Task
from skdp.linear_model.dpsgd_model import DPSGDLinearModel
from skdp.objectives import HuberHinge, Logistic, Multinomial, SquaredHinge

BINARY_LOSSES = {"log_loss": Logistic, "huber_hinge": HuberHinge, "squared_hinge": SquaredHinge}


class SparseDPSGDClassifier(ScoreClassifierMixin, DPSGDLinearModel):
    r"""Linear classifier trained by differentially private stochastic gradient descent.

    In each step a few records are drawn, each one's gradient is clipped, Gaussian noise is added
    to the sum, and the coefficients move:

    .. math:: w \leftarrow (1 - \eta\alpha)\,w - \frac{\eta}{b}\Big(\sum_{i \in B}
              \mathrm{clip}_C(\nabla \ell(w; x_i, y_i)) + \mathcal N(0, \sigma^2 C^2 I)\Big)

    with :math:`C` = ``max_grad_norm`` and :math:`b` the *expected* batch size. The noise multiplier
    :math:`\sigma` is the least that keeps (epsilon, delta), found before the data is read. On
    sparse rows a step costs what its non-zeros cost, whatever the number of columns: noise on a
    coordinate that no record of the batch touches is drawn later, when the coordinate is read.

    Parameters
    ----------
    loss : {"log_loss", "huber_hinge", "squared_hinge"}, default="log_loss"
        "log_loss" is logistic regression, for more than two classes softmax regression. The hinge
        losses are support vector machines for two classes.
    epsilon : float, default=1.0
        Privacy loss of everything that `fit`, or all calls of `partial_fit`, release together.
    delta : float, default=1e-6
        In (0, 1); well below 1 / n_samples, or it warns.
    n_epochs : "auto" or float, default="auto"
        Expected number of times that a record takes part. "auto" makes 50 to 1,000 steps, the
        more the larger n_samples and epsilon are; where coordinates are selected 10 or, if
        n_samples and epsilon let it tell them from noise, more.
    batch_size : "auto" or int, default="auto"
        Expected number of records of a step. Large batches of few steps need the least noise;
        "auto" takes them so large that sampling costs a few per cent of noise.
    sampling : {"poisson", "shuffled", "fixed_size", "full"} or Sampler, default="poisson"
        How records are drawn, which decides what a step costs and for which neighbours.
        "poisson": each record with the same probability (zero-out). "shuffled": each epoch is cut
        into batches (zero-out, no amplification). "fixed_size": a uniform subset (replace-one,
        no selection but "gaussian"). "full": all records (zero-out). A
        :class:`~skdp.training.Sampler` names another relation.
    selector : "auto", None, str or CoordinateSelector, default="auto"
        Which coordinates of a step's gradient are released. "auto" and None: all of them; for
        prediction this was the best wherever it was measured (see the benchmarks), because the
        score of a row feels only the noise on the columns that the row has. "gaussian": the
        largest noisy ones. "exponential", "noisy_max", "permute_and_flip", "sparse_vector",
        "adafest": other mechanisms, each followed by a release of what was selected.
    n_selected : "auto" or int, default="auto"
        Number of coordinates of a step, where some are selected. "auto" is the square root of
        their number, at most 20 for "exponential", "noisy_max" and "sparse_vector", whose noise
        grows with it; for "adafest" it is the number expected to survive by noise alone.
    selection_share : "auto" or float, default="auto"
        Share of a step's budget that pays for the selection, in (0, 1). "auto" with the Gaussian
        selector and no `selected_grad_norm` makes one release of both.
    max_grad_norm : float, default=1.0
        Norm to which each record's whole gradient, intercept included, is clipped. For rows of
        norm 1 about 0.5 was better than 1.0 wherever it was measured; a norm above that of the
        rows buys noise for nothing. The automatic learning rate is scaled by its reciprocal.
    selected_grad_norm : float or None, default=None
        Norm to which it is clipped once more on the selected coordinates.
    learning_rate : "auto" or float, default="auto"
        Step size for the mean gradient. "auto" follows from n_samples, epsilon and delta, for
        rows of norm about 1; for rows of norm 30 a tenth of it is better.
    optimizer : {"sgd", "adam"}, default="sgd"
        Adam reads its moments of every coordinate in every step, so on sparse rows without a
        selector its cost grows with the number of columns. With a selector the moments of
        coordinates that are not selected stand still.
    alpha : float, default=0.0
        Strength of the penalty ``(alpha / 2) ||coef||^2``; the intercept is not penalised.
    average : bool, default=True
        Return the mean of the second half of the iterates instead of the last one.
    fit_intercept : bool, default=True
        Whether there is an intercept; its gradient is clipped with the rest.
    noise_schedule : NoiseSchedule or None, default=None
        Shape of the noise over the epochs, such as ``ExponentialDecay(0.02)`` of
        :mod:`skdp.training`; None is constant. Its level is calibrated.
    classes : array-like, default=None
        The public set of classes. None takes it from y and lists this among the assumptions.
    chunks : {"disjoint", "same"}, default="disjoint"
        What calls of `partial_fit` see. "disjoint": different records, so that each call may use
        the whole budget; the user vouches that no record is in two chunks. "same": the same
        records, and `n_partial_fits` calls share the budget.
    n_partial_fits : int, default=1
        Number of calls that ``chunks="same"`` declares beforehand.
    max_rows_per_group : int or None, default=None
        None protects single rows. Otherwise the unit is a group of rows, such as all those of one
        person, named by ``fit(groups=)``: each adds its first so many rows. Then groups are
        sampled in place of records, and `batch_size` counts groups.
    n_groups : int or None, default=None
        Declared number of groups, public; a group without rows counts. None takes it from
        `groups` and lists this among the assumptions.
    ledger : Ledger or None, default=None
        Where each fit spends before it reads the data.
    random_state : None, int, RandomState or Generator, default=None
        None draws from a cryptographic generator keyed by the operating system. Anything else is
        for tests: it warns, and the statement records it.
    verbose : int, default=0
        Above 0 shows a bar of steps, epochs and epsilon spent; nothing computed from data.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Released weights; sparse after `sparsify`.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Released intercepts.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    privacy_ : PrivacyStatement
        What everything released so far promises together.
    noise_multiplier_ : float
        Calibrated noise: standard deviation over `max_grad_norm`, in the first epoch.
    n_steps_ : int
        Number of steps of one run.
    batch_size_ : float
        Expected batch size.
    learning_rate_ : float
        Step size that was used.
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
    *Guarantees.* (epsilon, delta)-differential privacy of ``coef_`` and ``intercept_``, and of
    everything computed from them. **Zero-out** neighbours for "poisson", "shuffled" and "full":
    data sets of the same public size, one row of which is replaced by a null row with zero
    gradient, intercept included. **Replace-one** for "fixed_size". A
    ``PoissonSampler(..., Neighbours.ADD_OR_REMOVE_ONE)`` of constants gives add-or-remove-one.
    Assumed public: number of rows (but for add-or-remove-one), columns, storage of X, classes, all
    parameters; with `blocks`, the block of each row.

    DP-SGD: Abadi et al. (2016), Algorithm 1; with selection Zhang, Mironov and Hejazinia (2021),
    Algorithm 3. Accounting: selection and noise of a step see the same records, so they are
    composed first, then amplified by the sampling once (Zhu, Dong and Wang, 2022), then composed
    over steps; amplifying the two apart, as the paper does, claims too little. Exact privacy loss
    distributions for Gaussian steps; for exponential and Laplace selections the smaller of a
    worst-case distribution over adaptive bounded-range picks and a Renyi bound.

    Nothing of a run is kept but the released coefficients: no iterate, loss, or size of a batch.
    How long a fit takes depends on the number of non-zeros of the records drawn.

    On dense rows, and with a selector, noise is integer noise on a grid, drawn exactly. On sparse
    rows without a selector it is continuous noise in double precision, drawn when it is read, and
    the released coefficients are rounded once to 2^-20 of its standard deviation.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skdp.linear_model import SparseDPSGDClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = SparseDPSGDClassifier(epsilon=3.0, delta=1e-5, classes=range(10))
    >>> model.fit(X / 16, y).privacy_.neighbours.value
    'zero-out'
    >>> bool(model.score(X / 16, y) > 0.7)
    True
    """

    _parameter_constraints = {  # noqa: RUF012
        **DPSGDLinearModel._parameter_constraints,
        "loss": [StrOptions(set(BINARY_LOSSES))],
        "classes": ["array-like", range, None],
    }
    _y_numeric = False

    def __init__(
        self,
        loss="log_loss",
        *,
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
        classes=None,
        chunks="disjoint",
        n_partial_fits=1,
        max_rows_per_group=None,
        n_groups=None,
        ledger=None,
        random_state=None,
        verbose=0,
    ):
        self.loss = loss
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
        self.classes = classes
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
            Class labels.
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
    def partial_fit(self, X, y, classes=None):
        """Train on one chunk of private data and release the model so far.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Rows of the chunk. Its size is what n_samples means everywhere else.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like, default=None
            The public set of classes; needed in the first call, unless it is a parameter or an
            earlier `fit` knows it.

        Returns
        -------
        self
            The released model. The first call after `fit` starts afresh.
        """
        self._partial_fit(X, y, classes)
        return self

    def _task(self, y, classes):
        declared = self.classes if classes is None else classes
        classes, places = admit_labels(y, declared)
        assumed = assumed_classes(declared)
        if len(classes) == 2:
            return Task(2.0 * places - 1, BINARY_LOSSES[self.loss](), classes, assumed)
        if self.loss != "log_loss":
            raise ValueError(
                f"Only binary classification is supported with loss={self.loss!r}. Use "
                "loss='log_loss' for more than two classes."
            )
        return Task(places, Multinomial(n_outputs=len(classes)), classes, assumed)

    def _first_classes(self, classes):
        return first_classes(self, classes)

    def to_sklearn(self):
        """Return a plain fitted scikit-learn model that predicts the same.

        Returns
        -------
        LogisticRegression or LinearSVC
            Carries the released weights (log_loss, hinge losses).
        """
        check_is_fitted(self)
        model = LogisticRegression() if self.loss == "log_loss" else LinearSVC()
        model.classes_ = self.classes_.copy()
        return self._as_plain(model)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.loss == "log_loss"
        tags.classifier_tags.poor_score = True
        return tags

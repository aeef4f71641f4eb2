"""Classification by a private neural network."""

from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import LabelBinarizer

from skdp._admission import admit_labels, check_is_fitted, fit_context
from skdp._scores import ScoreClassifierMixin
from skdp._sgd.classes import assumed_classes, first_classes
from skdp._sgd.model import Task
from skdp.neural_network.mlp_model import PrivateMLP
from skdp.objectives import Logistic, Multinomial


class PrivateMLPClassifier(ScoreClassifierMixin, PrivateMLP):
    r"""Neural network trained by differentially private stochastic gradient descent.

    Fully connected layers and the log loss, as scikit-learn's ``MLPClassifier``. In each step a few
    records are drawn, each one's gradient of *all* weights and biases together is clipped once,
    Gaussian noise is added to the sum, and the weights move by

    .. math:: v \leftarrow \mu v + \frac{1}{b}\Big(\sum_{i \in B}
              \mathrm{clip}_C(\nabla \ell(w; x_i, y_i)) + \mathcal N(0, \sigma^2 C^2 I)\Big),
              \qquad w \leftarrow (1 - \eta\alpha)\,w - \eta v

    with :math:`C` = ``max_grad_norm``, :math:`\mu` = ``momentum`` and :math:`b` the *expected*
    batch size. The noise multiplier :math:`\sigma` is the least that keeps (epsilon, delta), found
    before the data is read. No gradient of a single record is ever formed: norms follow from what
    enters and leaves each layer.

    Scale features to about [0, 1] or [-1, 1] by public constants
    (:class:`~skdp.preprocessing.PublicRangeScaler`).

    Parameters
    ----------
    hidden_layer_sizes : int or array-like of int, default=(100,)
        Number of units of each hidden layer.
    activation : {"relu", "tanh", "logistic", "identity"}, default="relu"
        Of the hidden units. "relu" was ahead of "tanh" for regression, with few columns and on
        MNIST, "tanh" on digits and on some made-up tables from epsilon 3 on.
    epsilon : float, default=1.0
        Privacy loss of everything that `fit`, or all calls of `partial_fit`, release together.
    delta : float, default=1e-6
        In (0, 1); well below 1 / n_samples, or it warns.
    n_epochs : "auto" or float, default="auto"
        Expected number of times that a record takes part. "auto" makes 50 to 1,000 steps, the
        more the larger n_samples and epsilon are.
    batch_size : "auto" or int, default="auto"
        Expected number of records of a step. "auto" takes batches so large that sampling costs a
        few per cent of noise.
    sampling : {"poisson", "shuffled", "fixed_size", "full"} or Sampler, default="poisson"
        How records are drawn, which decides what a step costs and for which neighbours.
        "poisson": each record with the same probability (zero-out). "shuffled": each epoch is cut
        into batches (zero-out, no amplification). "fixed_size": a uniform subset (replace-one).
        "full": all records (zero-out). A :class:`~skdp.training.Sampler` may name another
        relation, but not add-or-remove-one, which has no guarantee for networks.
    max_grad_norm : "auto" or float, default="auto"
        Norm to which each record's whole gradient, biases included, is clipped; "auto" is 1.0.
        The automatic learning rate is scaled by its reciprocal, and from 0.1 to 1 it makes hardly
        a difference then.
    noise_schedule : NoiseSchedule or None, default=None
        Shape of the noise over the steps; None is constant. Its level is calibrated.
    optimizer : {"sgd", "momentum", "adam"}, default="momentum"
        What becomes of a released gradient.
    learning_rate : "auto" or float, default="auto"
        Step size for the mean gradient. "auto" follows from n_samples, epsilon, delta and the
        width of the widest hidden layer. Around a centre, unless `optimizer` is "adam", it also
        multiplies rows by :math:`s = n\mu / 50\,000`, at least 1 and at most 2, with :math:`\mu` of
        the Gaussian mechanism that epsilon and delta allow: where noise is small the first layer
        learns s^2 times as fast. Released weights are for rows as they came.
    momentum : float, default=0.9
        In [0, 1); for ``optimizer="momentum"``.
    alpha : float, default=0.0
        Strength of the penalty ``(alpha / 2) ||weights||^2``; biases are not penalised, and of the
        first layer those for rows times `row_scale_` are.
    average : bool, default=True
        Return the mean of the second half of the iterates instead of the last one.
    center : {"auto", "private"} or None, default="auto"
        "private" trains around the mean of the rows clipped to `center_norm`, which is released
        first, with noise that 5 % of the squared privacy parameter of a Gaussian pays for, and
        moved into the biases in the end; where rows lie far from the origin descent is much faster
        around it. "auto" does so for dense rows where the noise on the mean is below 2 % of
        `center_norm`: for many rows. None does not.
    center_norm : float or None, default=None
        Euclidean norm to which rows are clipped for the centre, and for nothing else; None is
        sqrt(n_features), the longest that rows in [-1, 1] can be.
    n_components : "auto", int or None, default="auto"
        Train on rows as seen in so many directions around the centre, in place of all columns: the
        first layer then has fewer weights, and less noise in all. They are principal components
        and, for up to half of them, those of a ridge regression on the labels (of K classes K - 1).
        The mean square of the rows is released for them with the centre, then the second moment of
        rows and their products with labels, which another 15 % of the squared privacy parameter
        pays for. "auto" takes 50 where a centre is taken, rows have 256 to 4,096 columns and the
        noise's spectral norm is at most 2 % of the variance (at delta 1e-5 60,000 rows of 784
        columns from an epsilon of 0.45 on, 10,000 from 3.1 on); all directions are kept then if
        the components turn out to hold less than half of the variance. What lies outside is not
        learnt: set None where labels depend on very many directions that each hold little of the
        variance. A number takes so many, and a centre, in any case. Dense rows of at most 4,096
        columns, with the classes, only, and not with `max_rows_per_group`.
    validation_data : tuple (X_val, y_val) or None, default=None
        *Public* records and labels, for a schedule that depends on the accuracy on them
        (:class:`~skdp.training.ValidationDecay`); the last iterate is returned then. Private ones
        are arguments of `fit`.
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
        Above 0 shows a bar of steps, epochs, noise and epsilon spent; nothing computed from data.

    Attributes
    ----------
    coefs_ : list of ndarray of shape (fan_in, fan_out)
        Released weights of each layer.
    intercepts_ : list of ndarray of shape (fan_out,)
        Released biases of each layer.
    center_ : ndarray of shape (n_features,) or None
        The released centre, or None where there is none.
    components_ : ndarray of shape (n_components, n_features) or None
        The directions that training saw, orthonormal, or None where it saw all: principal
        components by falling eigenvalue of the released moment, then what the ridge regression
        adds to them. `coefs_` is for rows as they came.
    n_layers_ : int
        Number of layers, inputs and outputs included.
    n_outputs_ : int
        Number of outputs: 1 for two classes.
    out_activation_ : {"logistic", "softmax"}
        From outputs to probabilities.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    privacy_ : PrivacyStatement
        What everything released so far promises together.
    noise_multiplier_ : float
        Calibrated noise: standard deviation over `max_grad_norm_`.
    max_grad_norm_, learning_rate_, batch_size_ : float
        Clipping norm, step size and expected batch size that were used.
    row_scale_ : float
        What rows less the centre were multiplied by for training; see `learning_rate`.
    n_steps_ : int
        Number of steps of one run.
    validation_scores_, noise_multipliers_ : tuple of float
        Accuracy on validation records, noisy where these are private, and noise multiplier of each
        epoch, under a schedule that depends on it.
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
    *Guarantees.* (epsilon, delta)-differential privacy of ``coefs_``, ``intercepts_``, ``center_``
    and ``components_``, and of everything computed from them: Abadi et al. (2016), Deep learning
    with differential privacy, Algorithm 1. **Zero-out** neighbours for "poisson", "shuffled" and
    "full": data sets of the same public size, one row of which is replaced by a null row with zero
    gradient, biases included.
    **Replace-one** for "fixed_size". Assumed public: number of rows, columns, storage of X,
    classes, all parameters. Accounting as for
    :class:`~skdp.linear_model.SparseDPSGDClassifier`.

    *Components* follow from a second moment, and products with coded labels, with Gaussian noise
    (Dwork, Talwar, Thakurta and Zhang 2014, Algorithm 1), of rows less the released
    centre, clipped to a root mean square that was released with it. The releases and the run are
    composed, each may depend on those before, and no noise does.

    *Rounding.* Matrix products treat each row of a batch alone, so one record does not change what
    is computed for another. Their sum is taken in double precision and rounded to the grid of
    integer noise, for which the clipping norm is lowered beforehand, by what can be proved of any
    data (about sqrt(number of weights) / 2^20 of the noise's standard deviation). On float32 rows
    all matrix products but that sum are in float32.

    Initial weights are random and know no data. Nothing of a run is kept but the released weights:
    no loss, no iterate, no size of a batch; so there is no ``loss_curve_`` and no early stopping.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skdp.neural_network import PrivateMLPClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = PrivateMLPClassifier(epsilon=3.0, delta=1e-5, classes=range(10))
    >>> model.fit(X / 16, y).privacy_.neighbours.value
    'zero-out'
    >>> bool(model.score(X / 16, y) > 0.7)
    True
    """

    _parameter_constraints = {  # noqa: RUF012
        **PrivateMLP._parameter_constraints,
        "classes": ["array-like", range, None],
    }
    _y_numeric = False

    def __init__(
        self,
        hidden_layer_sizes=(100,),
        activation="relu",
        *,
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
        classes=None,
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
        self.classes = classes
        self.chunks = chunks
        self.n_partial_fits = n_partial_fits
        self.max_rows_per_group = max_rows_per_group
        self.n_groups = n_groups
        self.ledger = ledger
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, blocks=None, groups=None, *, X_val=None, y_val=None):
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
        X_val : array-like of shape (n_validation, n_features), default=None
            Private rows that are not among those of X, for
            ``noise_schedule=ValidationDecay(private=True)`` only. They are not kept.
        y_val : array-like of shape (n_validation,), default=None
            Their labels.

        Returns
        -------
        self
            The released model; earlier calls of `fit` and `partial_fit` are forgotten.
        """
        with self._validated_on(X_val, y_val):
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
            return Task(2.0 * places - 1, Logistic(), classes, assumed)
        return Task(places, Multinomial(n_outputs=len(classes)), classes, assumed)

    def _validation_score(self, outputs, targets):
        return self._hits(outputs, targets) / len(targets)

    def _hits(self, outputs, targets):
        if outputs.shape[1] > 1:
            return int((outputs.argmax(axis=1) == targets).sum())
        return int(((outputs.ravel() > 0) == (targets > 0)).sum())

    def _first_classes(self, classes):
        return first_classes(self, classes)

    def _store(self, run, statement, classes, released):
        super()._store(run, statement, classes, released)
        self.out_activation_ = "logistic" if self.n_outputs_ == 1 else "softmax"

    def to_sklearn(self):
        """Return a plain fitted ``MLPClassifier`` that predicts the same."""
        check_is_fitted(self)
        model = self._as_plain(MLPClassifier())
        model.classes_ = self.classes_.copy()
        model._label_binarizer = LabelBinarizer().fit(self.classes_)
        return model

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags

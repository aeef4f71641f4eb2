"""Any linear model of scikit-learn, or a frozen one of any kind, released once with noise."""

from numbers import Real

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import get_tags

from skdp._admission import (
    HasMethods,
    Interval,
    StrOptions,
    fit_context,
)
from skdp._estimator import PrivateEstimator
from skdp._groups import GROUP_CONSTRAINTS, GroupedRowsMixin
from skdp._random import NumpyGenerator
from skdp.exceptions import UnknownStabilityError
from skdp.linear_model.output_perturbed import SCALE, released_once
from skdp.linear_model.support import ThresholdedWeightsMixin
from skdp.meta.hidden_weights import HiddenWeightsMixin
from skdp.meta.model_checks import (
    check_parameters,
    refuse_fixed_weights,
    refuse_hidden_state,
)
from skdp.meta.parameter_vectors import unfitted_twin
from skdp.meta.planned_releases import PlannedReleaseMixin
from skdp.meta.released_model import ReleasedModelMixin
from skdp.stability.declared import DeclaredStability
from skdp.stability.noise import NOISE_RULES
from skdp.stability.reading import Facts
from skdp.stability.registry import read_model
from skdp.stability.selection import WeightThreshold
from skdp.stability.wrapped import forecast


class StabilityOutputPerturbation(
    ReleasedModelMixin,
    PlannedReleaseMixin,
    HiddenWeightsMixin,
    ThresholdedWeightsMixin,
    GroupedRowsMixin,
    PrivateEstimator,
):
    r"""Release a model of scikit-learn with noise that hides any one row.

    The model's parameters say what it minimises. The wrapper clips rows to norm ``row_norm``, turns
    the intercept into the weight of a penalised constant column, finds the certified minimiser of
    that objective, and releases all coefficients with one draw of noise. How far one row can move
    the minimiser is proved for the classes in :func:`skdp.stability.stability_registry`.

    Parameters
    ----------
    estimator : estimator
        A model of one of those classes: LogisticRegression, LinearSVC, LinearSVR, SVC and SVR with
        kernel="linear", Ridge, RidgeClassifier, ElasticNet, SGDClassifier, SGDRegressor; or a
        model that is fitted already, inside a :class:`~sklearn.frozen.FrozenEstimator` or with
        `stability` declared (see Notes).
    epsilon : float, default=1.0
        Privacy loss, above 0. More than 40 adds the noise of 40.
    delta : float, default=0.0
        In [0, 1). 0 asks for pure epsilon-DP, up to the tiny delta of finite precision.
    row_norm : float, default=1.0
        Declared bound on the Euclidean norm of a row; longer rows are scaled down to it, in `fit`
        and when predicting. Bring columns to comparable public ranges first
        (:class:`~skdp.preprocessing.PublicRangeScaler`).
    y_bound : float or None, default=None
        Declared bound on the labels of a regression, clipped to it before the fit; squared losses
        need one. Does nothing for classifiers; refused for a frozen regression of declared
        stability, which is given no labels.
    stability : "auto" or declared stability, default="auto"
        "auto" takes the proved bound of the registry. A
        :class:`~skdp.stability.ParameterStability` or :class:`~skdp.stability.UniformStability`
        is taken at its word, and the statement says so.
    n_samples : int or None, default=None
        Declared number of rows that a frozen model was fitted to.
    noise : {"auto", "laplace", "l2_laplace", "gaussian"}, default="auto"
        "auto" is "l2_laplace" for delta = 0, otherwise "l2_laplace" or "gaussian", whichever has
        the smaller expected norm for this number of coefficients.
    threshold : None, "auto" or float, default=None
        Released feature weights smaller than this in absolute value are set to zero. "auto" is
        the smallest threshold that noise alone passes at most once in expectation.
    certify : bool, default=True
        True releases the certified minimiser of the model's objective, so that its solver,
        tolerance and random order do not matter. False would release what the model's own solver
        reaches, for which no worst-case bound is known: refused unless `stability` is declared,
        where this parameter does nothing.
    parameters : tuple of str or None, default=None
        Attributes that hold the parameters of a fitted model, where these are not ``coef_`` and
        ``intercept_`` or ``coefs_`` and ``intercepts_``; refused without declared `stability`.
        Its predictions may need no other result of the fit.
    max_rows_per_group : int or None, default=None
        None protects single rows. Otherwise the unit is a group of rows, such as all those of one
        person, named by ``fit(groups=)``: each adds its first so many rows. The n of the wrapped
        model's objective is then the number of groups times this.
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
    estimator_ : estimator
        A new model that holds the released parameters and public facts, and nothing else: the one
        to publish. For SVC and SVR, which predict from training rows, a LinearSVC or LinearSVR.
    coef_, intercept_ : ndarray
        Released weights, in the shapes of the wrapped class, where it has them.
    classes_ : ndarray of shape (n_classes,)
        Class labels, for classifiers.
    privacy_ : PrivacyStatement
        What this fit promised.
    sensitivity_ : Sensitivity
        Bound on the change of all coefficients, certificate and rounding included.
    noise_scale_ : float
        Scale of the noise: standard deviation (Gaussian) or b (Laplace).
    threshold_ : float
        The threshold that was used.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if X had string column names.

    Raises
    ------
    UnknownStabilityError
        For a class or a parameter without a proved bound; the message says which, and what to set.
    CertificationError
        When the penalty is too weak to certify a minimum, from public facts.
    ValueError, TypeError
        For inadmissible input or parameters. In all cases nothing is spent or released.

    Notes
    -----
    *Guarantees.* (epsilon, delta)-differential privacy of all released coefficients together, for
    **replace-one** neighbours. The minimiser moves by at most D / (n lambda) in the L2 norm, D the
    diameter of one record's gradients, lambda the strong convexity (Bousquet and Elisseeff 2002,
    Theorem 22); sqrt(K) times that for K classes one against the rest; plus 2 tau / lambda for a
    certified subgradient tau (smooth losses) or 2 sqrt(g / lambda) for a certified primal-dual gap
    g (hinge, epsilon-insensitive).

    *C is not alpha.* With C fixed, 1 / lambda = C n and the sensitivity is C D however many rows
    there are: the default C = 1 leaves nothing at epsilon 1. `plan` says so before anything is
    spent and suggests C = 1 / (n alpha).

    *Frozen models.* ``fit()`` without data releases a model that was fitted elsewhere; then the
    number of rows, their norm and the stability are declarations that nobody can check here, and
    the line of the statement that names epsilon says "unverified declaration". ``fit(X, y)`` on a
    frozen model of a registered class solves its objective again, certified. The parameter
    `estimator` still holds the raw weights: a fitted wrapper is pickled and copied without them;
    publish ``estimator_``. `clone` unfits a model that is not frozen, so freeze what is to be
    tuned or searched over.

    *Multi-class.* Softmax models are released jointly, all classes and intercepts in one draw.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skdp.meta import StabilityOutputPerturbation
    >>> X, y = load_digits(return_X_y=True)
    >>> private = StabilityOutputPerturbation(LogisticRegression(), epsilon=10, delta=1e-6)
    >>> forecast = private.plan(len(X), n_features=X.shape[1], n_classes=10)
    >>> forecast.drowned
    True
    >>> private.set_params(estimator__C=forecast.suggested).fit(X / 16, y).privacy_.epsilon
    10.0
    >>> bool(private.score(X / 16, y) > 0.3)
    True
    """

    _parameter_constraints = {  # noqa: RUF012
        "estimator": [HasMethods("fit")],
        "epsilon": [Interval(Real, 0, None, closed="neither")],
        "delta": [Interval(Real, 0, 1, closed="left")],
        "row_norm": [SCALE],
        "y_bound": [SCALE, None],
        "stability": [StrOptions({"auto"}), DeclaredStability],
        "n_samples": [Interval(Real, 1, None, closed="left"), None],
        "noise": [StrOptions(set(NOISE_RULES))],
        "threshold": [None, StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "certify": ["boolean"],
        "parameters": [tuple, list, None],
        **GROUP_CONSTRAINTS,
        "ledger": [None, HasMethods("spend")],
        "random_state": ["random_state", NumpyGenerator],
    }

    def __init__(
        self,
        estimator,
        *,
        epsilon=1.0,
        delta=0.0,
        row_norm=1.0,
        y_bound=None,
        stability="auto",
        n_samples=None,
        noise="auto",
        threshold=None,
        certify=True,
        parameters=None,
        max_rows_per_group=None,
        n_groups=None,
        ledger=None,
        random_state=None,
    ):
        self.estimator = estimator
        self.epsilon = epsilon
        self.delta = delta
        self.row_norm = row_norm
        self.y_bound = y_bound
        self.stability = stability
        self.n_samples = n_samples
        self.noise = noise
        self.threshold = threshold
        self.certify = certify
        self.parameters = parameters
        self.max_rows_per_group = max_rows_per_group
        self.n_groups = n_groups
        self.ledger = ledger
        self.random_state = random_state

    # ------------------------------------------------------------------------------------- fit

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X=None, y=None, groups=None):
        """Fit on private data, or take a fitted model; spend the budget and release.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features), default=None
            Rows. None releases a model that is fitted already and reads no data.
        y : array-like of shape (n_samples,), default=None
            Labels.
        groups : array-like of shape (n_samples,), default=None
            The group of each row, all integers or all strings; with `max_rows_per_group` only.

        Returns
        -------
        self
            The released model.
        """
        if X is None and y is not None:
            raise ValueError("y was given without X: pass both, or neither for a fitted model.")
        refuse_hidden_state(self._model)
        check_parameters(self._model)
        self._refuse_unused()
        release = self._release(X, y, groups)
        refuse_fixed_weights(unfitted_twin(self._model))
        release.require_use(getattr(self, "n_features_in_", None))
        mechanism = NOISE_RULES[self.noise](release.sensitivity, self._budget(), release.size)
        rule = self._rule(release, mechanism)
        statement = released_once(
            self,
            mechanism,
            release.theorem,
            release.sensitivity,
            (*self._label_assumptions(release), *release.assumptions),
            verified=release.verified,
            unit=self._unit_facts(release.slots),
        )
        self._warn_of_large_delta(self._n_records(X, release.slots), stacklevel=4)
        rng = self._random_source(stacklevel=4)
        self._spend(statement)
        released = np.asarray(mechanism.release(release.parameters(), rng))
        # From here on nothing but what was released.
        self._mechanism, self.privacy_, self.threshold_ = mechanism, statement, rule.value
        self.sensitivity_, self.noise_scale_ = mechanism.total_sensitivity, mechanism.noise_scale
        self._hold(release.model(released, rule))
        return self

    def _rule(self, release, mechanism):
        if release.n_weights is not None:
            return self._weight_threshold(mechanism, release.n_weights)
        if self.threshold is not None:
            raise ValueError(
                f"threshold={self.threshold!r} sets small weights of features to zero, but "
                f"{type(self._model).__name__} has no coef_. Leave it None."
            )
        return WeightThreshold()

    def _n_records(self, X, slots):
        """Return the public number of units; None where a frozen model's was not declared."""
        if slots is not None:
            return slots.n_groups
        if X is not None:
            return X.shape[0] if hasattr(X, "shape") else len(np.asarray(X))
        return None if self.n_samples is None else self._number("n_samples")

    def _refuse_unused(self):
        if self.parameters is not None and self.stability == "auto":
            raise ValueError(
                "parameters= names where a model of declared stability keeps its parameters; with "
                "stability='auto' they are coef_ and intercept_. Leave it None."
            )

    def _label_assumptions(self, release):
        if release.classes is not None:
            return (
                f"The classes and their type were taken from {release.classes_of} and are assumed "
                "to be public.",
            )
        if self.y_bound is None or not release.verified:
            return ()
        bound = self._number("y_bound")
        return (f"Labels are clipped to [-{bound}, {bound}], a declared bound.",)

    # ------------------------------------------------------------------------------------- plan

    def plan(self, n_samples, n_features=None, n_classes=2):
        """Say what a release would be like, before anything is read or spent.

        Parameters
        ----------
        n_samples : int
            Number of rows; with `max_rows_per_group`, the number of groups times that.
        n_features : int, default=None
            Number of columns; None is that of the fitted model, or 1.
        n_classes : int, default=2
            Number of classes, for classifiers.

        Returns
        -------
        ReleaseForecast
            Sensitivity, length of the noise and of the weights, and the suggested value of C or
            alpha; ``print`` says it in words.

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> from skdp.meta import StabilityOutputPerturbation
        >>> forecast = StabilityOutputPerturbation(LogisticRegression()).plan(10_000, 20)
        >>> forecast.drowned, forecast.parameter, forecast.suggested < 0.1
        (True, 'C', True)
        """
        model = self._model
        check_parameters(model)
        if n_features is None:
            n_features = getattr(self, "n_features_in_", getattr(model, "n_features_in_", 1))
        reading = read_model(model, self._facts(n_classes if is_classifier(model) else None))
        per_unit = 1 if self.max_rows_per_group is None else int(self.max_rows_per_group)
        domain = self._domain(reading, (n_samples, n_features), None, per_unit)
        return forecast(reading, domain, self._budget(), NOISE_RULES[self.noise])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        model = self._model
        try:
            inner = get_tags(model)
        except (AttributeError, TypeError):
            return tags
        tags.estimator_type = inner.estimator_type
        tags.target_tags = inner.target_tags
        tags.target_tags.multi_output = False
        tags.target_tags.single_output = True
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        if tags.classifier_tags is not None:
            tags.classifier_tags.poor_score = True
            tags.classifier_tags.multi_class = self._several_classes()
            tags.classifier_tags.multi_label = False
        if tags.regressor_tags is not None:
            tags.regressor_tags.poor_score = True
        return tags

    def _several_classes(self):
        try:
            read_model(self._model, Facts(n_classes=3))
        except (UnknownStabilityError, ValueError):
            return False
        return True

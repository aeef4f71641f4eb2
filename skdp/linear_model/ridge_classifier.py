"""Ridge classification from noisy moments, all classes in one release."""

from sklearn.svm import LinearSVC

from skdp._admission import admit_labels, admit_training, check_is_fitted, fit_context
from skdp._scores import ScoreClassifierMixin
from skdp.linear_model.ridge_model import MomentModel
from skdp.mechanisms.label_codes import LabelCodes
from skdp.mechanisms.label_moments import LabelMoments


class PrivateRidgeClassifier(ScoreClassifierMixin, MomentModel):
    r"""Least squares on coded classes, from moments that are released once with noise.

    Two classes are coded as -1 and 1, K classes as ``e_k - 1/K``; the moments of rows and those of
    rows and codes are released together, as in :class:`PrivateRidge`, so more classes cost nothing
    by themselves.

    Parameters
    ----------
    epsilon, delta, row_norm, alpha, shrinkage, fit_intercept, intercept_scaling
        As in :class:`PrivateRidge`, but the floor is half of the noise's radius: only the largest
        score counts, so more noise in the coefficients is worth less shrinkage, which would move
        scores of the rarer classes towards the others.
    classes : array-like, default=None
        The public set of classes. None takes it from y and lists this among the assumptions.
    neighbours, ledger, random_state
        As in :class:`PrivateRidge`.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Released weights.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Released intercepts.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    floor_, n_samples_, privacy_, sensitivity_, noise_scale_, n_features_in_, feature_names_in_
        As in :class:`PrivateRidge`.

    Raises
    ------
    ValueError, TypeError
        For inadmissible input or parameters; nothing is spent or released then.
    BudgetExceededError
        When the ledger cannot afford the fit; nothing is spent or released then.

    Notes
    -----
    *Guarantees.* Those of :class:`PrivateRidge`. The classes are assumed public too.

    *Intercept.* It is the weight of the constant column. A single lambda on all eigenvalues pulls
    scores towards 0, which for classes of unequal size is far from the best threshold; a floor
    leaves the large eigenvalues alone, that of the constant direction among them.

    *Probabilities.* None: scores of least squares are no log odds.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skdp.linear_model import PrivateRidgeClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = PrivateRidgeClassifier(epsilon=1.0, delta=1e-4, row_norm=16.0, classes=range(10))
    >>> bool(model.fit(X, y).score(X, y) > 0.6)
    True
    """

    _parameter_constraints = {  # noqa: RUF012
        **MomentModel._parameter_constraints,
        "classes": ["array-like", range, None],
    }

    #: Least squares; what `predict_proba` asks for is log loss.
    loss = "squared_error"
    _floor_share = 0.5

    def __init__(
        self,
        *,
        epsilon=1.0,
        delta=1e-6,
        row_norm=1.0,
        alpha=0.0,
        shrinkage="floor",
        fit_intercept=True,
        intercept_scaling=0.3,
        classes=None,
        neighbours="add-or-remove-one",
        ledger=None,
        random_state=None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.row_norm = row_norm
        self.alpha = alpha
        self.shrinkage = shrinkage
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.classes = classes
        self.neighbours = neighbours
        self.ledger = ledger
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Spend the budget and release the moments.

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
        self._fit_rows(*self._admit(X, y, reset=True))
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def fit_chunks(self, chunks):
        """Fit to rows that come in chunks, as :meth:`PrivateRidge.fit_chunks`.

        Parameters
        ----------
        chunks : iterable of (X, y)
            Chunks of at least one row; `classes` must be declared.

        Returns
        -------
        self
            The released model.
        """
        if self.classes is None:
            raise ValueError("fit_chunks needs the public set of classes: set classes.")
        self._fit_chunks(chunks)
        return self

    def _admit(self, X, y, reset):
        X, y = admit_training(self, X, y, y_numeric=False, reset=reset, min_samples=1)
        self.classes_, places = admit_labels(y, self.classes)
        targets = 2.0 * places - 1 if len(self.classes_) == 2 else places
        return X, self._codes().of(targets)

    def _codes(self):
        k = len(self.classes_)
        return LabelCodes(1 if k == 2 else k)

    def _moments(self):
        return LabelMoments.of_codes(
            self.n_features_in_, self._codes(), self._constant(), self._relation()
        )

    def _label_assumption(self):
        if self.classes is None:
            return "The classes and their type were taken from y and are assumed to be public."
        return "The set of classes was declared."

    def _store(self, weights):
        self.coef_, self.intercept_ = self._in_units(weights, 1.0)

    def to_sklearn(self):
        """Return a plain fitted pipeline of a row clipper and a ``LinearSVC`` with the weights."""
        check_is_fitted(self)
        model = LinearSVC()
        model.classes_ = self.classes_.copy()
        return self._as_pipeline(model)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags

"""The k features of the highest scores, chosen by a private top-k."""

from numbers import Integral, Real

import numpy as np

from skdp._admission import (
    HasMethods,
    Interval,
    StrOptions,
    admit_labels,
    admit_training,
    fit_context,
)
from skdp._estimator import PrivateEstimator
from skdp._random import NumpyGenerator
from skdp._validation import is_real
from skdp.feature_selection.scores import ClassTarget, FeatureScore, NumberTarget, RowBounds
from skdp.feature_selection.selector import ReleasedSelectorMixin
from skdp.feature_selection.top_k import MECHANISMS, noise_floor
from skdp.privacy import PrivacyStatement
from skdp.privacy.statement import noise_source

#: Bounds beyond these have no use, and their powers would leave the range of float64.
SMALLEST, LARGEST = 1e-30, 1e30
SCORES = {
    "covariance": (
        "The sum of centred products over the records of a column moves by at most (n-1)/n times "
        "the product of the two ranges when one record is replaced (the update formula of the "
        "covariance and convexity)"
    ),
    "product": (
        "A sum of one term a record moves by at most twice the largest term when one record is "
        "replaced (triangle inequality)"
    ),
}


#: Classes that are taken from y without a declaration; more numbers than that are no labels.
_MOST_UNDECLARED = 20


class PrivateSelectKBest(ReleasedSelectorMixin, PrivateEstimator):
    r"""Select the k features of highest score by one private top-k.

    For tables with many more columns than rows, before a private model: the score of a column is

    .. math:: s_j = \Big| \sum_i (y_i - \bar y)(x_{ij} - \bar x_j) \Big|

    of values clipped to declared bounds; k columns are released, nothing else. The noise that has
    to be overcome grows with the *logarithm* of the number of columns, where that of a private
    model on all of them grows with its root.

    Parameters
    ----------
    score_func : {"covariance", "product"}, default="covariance"
        "covariance" is centred at the means of the data and needs no other knowledge. "product"
        is centred at what is declared: at `class_shares` (or the middle of `y_range`), and at the
        middle of `value_range` (0 with a `row_norm`). One record moves it by as little as half as
        far, but where the declared shares are off by more than a few per cent, columns far from
        their centre score high and hide the informative ones.
    k : int, default=10
        Number of features, public; all of them where there are fewer.
    epsilon : float, default=1.0
        Privacy loss of the whole choice, above 0. More than 40 adds the noise of 40.
    delta : float, default=1e-6
        In [0, 1). With 0 each pick costs epsilon / k.
    mechanism : {"auto", "exponential", "gaussian"}, default="auto"
        "exponential" picks k times by the exponential mechanism, as one draw of Gumbel noise; its
        noise follows the range of single values, so it suits dense tables, and grows with k.
        "gaussian" adds Gaussian noise to all scores; its noise follows the norm of whole rows and
        not k, so it suits sparse tables, large k and a `row_norm`. "auto" takes the one with the
        lower `noise_floor_`, which depends on public facts alone.
    value_range : pair of floats or None, default=(-1.0, 1.0)
        Declared range of every value; values outside are clipped to it. Narrow is better: the
        noise is proportional to the width. Columns of different scales need
        :class:`~skdp.preprocessing.PublicRangeScaler` first. CSR rows and a `row_norm` need a range
        that contains 0.
    row_norm : float or None, default=None
        Declared bound on the Euclidean norm of a row; longer rows are scaled down to it after
        values were clipped. At least one of `value_range` and `row_norm` must be given.
    y_range : pair of floats or None, default=None
        None: y holds classes. For numbers their declared range, to which they are clipped.
    classes : array-like, default=None
        The public set of classes. None takes it from y and lists this among the assumptions.
    class_shares : array-like of shape (n_classes,) or None, default=None
        For score_func="product": public shares of the sorted classes; None says that all are alike.
    ledger : Ledger or None, default=None
        Where each fit spends before it computes, such as an
        :class:`~skdp.privacy.InMemoryLedger`; every fit spends again.
    random_state : None, int, RandomState or Generator, default=None
        None draws from a cryptographic generator keyed by the operating system. Anything else is
        for tests: it warns, and the statement records it.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,) of bool
        The selected features.
    privacy_ : PrivacyStatement
        What this fit promised.
    sensitivity_ : Sensitivity
        How far one record moves the scores: each of them (Linf) or their vector (L2).
    noise_scale_ : float
        Scale of the noise on a score: beta (Gumbel) or standard deviation (Gaussian).
    noise_floor_ : float
        About the score, divided by the number of rows, that noise alone gives to the k-th best
        column. A feature whose covariance with y is well below it is not found.
    classes_ : ndarray of shape (n_classes,)
        Class labels; without `y_range` only.
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
    *Guarantees.* (epsilon, delta)-differential privacy of the set of selected features for
    **replace-one** neighbours: data sets of the same public size that differ in one row (features
    and target). Assumed public: number of rows, columns, how X is stored, classes, all parameters.

    *Sensitivity.* With w the width of `value_range`, replacing one record moves each "covariance"
    by at most (n-1)/n w for classes (half of the sum of the absolute covariances of all class
    indicators; for two classes this is one covariance), and (n-1)/n w times the width of `y_range`
    for numbers; with rows of norm r it moves the vector of scores by at most 2 r in the L2 norm
    (three or more classes: 2.6 r), times the width of `y_range`. The proof is in
    ``skdp.feature_selection.scores``; floating-point errors are counted on top.

    *Accounting.* One mechanism, all k picks: the exponential mechanism's losses lie in an interval
    of length eta for each pick, where one score may rise by as much as another falls (Linf: eta =
    2 s / beta; L2: sqrt(2) s / beta), and k of them are composed by the exact curve of
    bounded-range picks (Durfee and Rogers 2019; Dong, Durfee and Rogers 2020). Gaussian: Balle and
    Wang (2018), Theorem 8, and post-processing.

    ``transform`` of private rows gives private rows. A model that is fitted on them spends again;
    :func:`~skdp.pipeline.pipeline_statement` states the whole.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.feature_selection import PrivateSelectKBest
    >>> y = np.arange(2000) % 2
    >>> X = np.random.RandomState(0).uniform(-1, 1, size=(2000, 5000))
    >>> X[:, 7] = np.clip(X[:, 7] + y - 0.5, -1, 1)
    >>> selector = PrivateSelectKBest(k=1, epsilon=2.0, classes=[0, 1]).fit(X, y)
    >>> selector.get_support(indices=True)
    array([7])
    >>> selector.transform(X).shape, selector.privacy_
    ((2000, 1), PrivacyStatement(epsilon=2, delta=1e-06, neighbours=replace-one, unit=row))
    """

    _parameter_constraints = {  # noqa: RUF012  (scikit-learn's convention)
        "score_func": [StrOptions(set(SCORES))],
        "k": [Interval(Integral, 1, None, closed="left")],
        "epsilon": [Interval(Real, 0, None, closed="neither")],
        "delta": [Interval(Real, 0, 1, closed="left")],
        "mechanism": [StrOptions(set(MECHANISMS))],
        "value_range": [tuple, list, np.ndarray, None],
        "row_norm": [Interval(Real, SMALLEST, LARGEST, closed="both"), None],
        "y_range": [tuple, list, np.ndarray, None],
        "classes": ["array-like", range, None],
        "class_shares": ["array-like", None],
        "ledger": [None, HasMethods("spend")],
        "random_state": ["random_state", NumpyGenerator],
    }

    def __init__(
        self,
        score_func="covariance",
        *,
        k=10,
        epsilon=1.0,
        delta=1e-6,
        mechanism="auto",
        value_range=(-1.0, 1.0),
        row_norm=None,
        y_range=None,
        classes=None,
        class_shares=None,
        ledger=None,
        random_state=None,
    ):
        self.score_func = score_func
        self.k = k
        self.epsilon = epsilon
        self.delta = delta
        self.mechanism = mechanism
        self.value_range = value_range
        self.row_norm = row_norm
        self.y_range = y_range
        self.classes = classes
        self.class_shares = class_shares
        self.ledger = ledger
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Spend the budget, score the columns and release which are the best.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Private rows.
        y : array-like of shape (n_samples,)
            Classes; numbers with `y_range`.

        Returns
        -------
        self
            With the released selection.
        """
        X, y = admit_training(self, X, y, y_numeric=self.y_range is not None)
        bounds = self._row_bounds(X)
        target, y, classes = self._target(y)
        score = FeatureScore(target, bounds, *X.shape)
        k = min(int(self.k), X.shape[1])
        mechanism = MECHANISMS[self.mechanism](score, k, self._budget())
        statement = self._statement(mechanism)
        self._warn_of_large_delta(X.shape[0], stacklevel=4)
        rng = self._random_source(stacklevel=4)
        self._spend(statement)
        selected = mechanism.release(score.of(X, y), rng)
        self.support_ = np.zeros(X.shape[1], dtype=bool)
        self.support_[selected.indices] = True
        self.privacy_ = statement
        self.sensitivity_ = mechanism.sensitivity
        self.noise_scale_ = float(getattr(mechanism, "noise_scale", None) or mechanism.noise_std)
        self.noise_floor_ = noise_floor(mechanism) / X.shape[0]
        vars(self).pop("classes_", None)
        if classes is not None:
            self.classes_ = classes
        return self

    def _row_bounds(self, X):
        if self.value_range is None and self.row_norm is None:
            raise ValueError(
                "Declare a value_range or a row_norm: without a bound on the values one record can "
                "move a score by any amount."
            )
        value_range = self._pair("value_range")
        row_norm = None if self.row_norm is None else self._number("row_norm")
        bounds = RowBounds(value_range, row_norm)
        if not bounds.keeps_zero and (row_norm is not None or not isinstance(X, np.ndarray)):
            raise ValueError(
                f"value_range must contain 0 for sparse rows and with a row_norm; it is "
                f"{value_range}. Shift the values by a public constant first, or pass dense rows "
                "and row_norm=None."
            )
        return bounds

    def _pair(self, name):
        """Return a declared range as two floats, or None."""
        given = getattr(self, name)
        if given is None:
            return None
        pair = tuple(given)
        if len(pair) != 2 or not all(is_real(end) for end in pair):
            raise ValueError(f"{name} must be a pair of numbers, got {given!r}.")
        low, high = map(float, pair)
        if not (high - low >= SMALLEST and max(abs(low), abs(high)) <= LARGEST):
            raise ValueError(
                f"{name} must be an increasing pair of numbers of at most {LARGEST:g}, got "
                f"{given!r}."
            )
        return low, high

    def _target(self, y):
        """Return the target, y as it wants it, and the classes."""
        if self.classes is not None and self.y_range is not None:
            raise ValueError("y_range is for numbers and classes for labels: give one of them.")
        if self.class_shares is not None and (self.score_func, self.y_range) != ("product", None):
            raise ValueError("class_shares are for score_func='product' and classes alone.")
        if self.y_range is not None:
            centres = None if self.score_func == "covariance" else np.zeros(1)
            return NumberTarget(*self._pair("y_range"), centres), y, None
        if self.classes is None and _looks_numeric(y):
            raise ValueError(
                f"y has more than {_MOST_UNDECLARED} different numbers. For numbers declare their "
                "range, y_range=(low, high); if they are classes, declare classes=..."
            )
        classes, places = admit_labels(y, self.classes)
        centres = None if self.score_func == "covariance" else self._shares(len(classes))
        return ClassTarget(len(classes), centres), places, classes

    def _shares(self, n_classes):
        if self.class_shares is None:
            return np.full(n_classes, 1 / n_classes)
        problem = (
            f"class_shares must be one positive number for each of the {n_classes} classes, with "
            "a sum of 1."
        )
        try:
            shares = np.array(self.class_shares, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(problem) from None
        if shares.shape != (n_classes,) or not (shares > 0).all() or abs(shares.sum() - 1) > 1e-6:
            raise ValueError(problem)
        return shares

    def _statement(self, mechanism):
        from skdp.privacy.accounting import EventCurve

        return PrivacyStatement(
            curve=EventCurve(mechanism.event),
            budget=self._budget(),
            neighbours=mechanism.sensitivity.neighbours,
            theorem=f"{SCORES[self.score_func]}. {mechanism.theorem}",
            assumptions=tuple(self._assumptions()),
            noise=noise_source(seeded=self.random_state is not None),
        )

    def _assumptions(self):
        yield (
            "The number of rows and the columns are public, and so is how X is stored (float32 or "
            "float64, dense or sparse)."
        )
        declared = "declared, not computed from the data"
        if self.value_range is not None:
            yield f"Each value is clipped to {self._pair('value_range')}, {declared}."
        if self.row_norm is not None:
            yield f"Each row is clipped to Euclidean norm {self._number('row_norm')}, {declared}."
        if self.y_range is not None:
            yield f"y is clipped to {self._pair('y_range')}, {declared}."
        elif self.classes is None:
            yield "The classes and their type were taken from y and are assumed to be public."
        else:
            yield "The set of classes was declared."
        if self.class_shares is not None:
            yield f"The class shares were {declared}."
        yield "No parameter, k among them, was chosen by looking at this data."

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def _looks_numeric(y):
    """Whether y holds more different numbers than classes have names."""
    values = np.asarray(y)
    return values.dtype.kind in "iuf" and len(np.unique(values)) > _MOST_UNDECLARED

"""One column of zeros and ones for each category that enough people have."""

from numbers import Real

import numpy as np
from scipy import sparse
from sklearn.base import TransformerMixin
from sklearn.utils.validation import _check_feature_names_in

from skdp._admission import Interval, StrOptions, check_is_fitted, fit_context
from skdp._estimator import PrivateEstimator
from skdp.mechanisms.stable_histogram import StableHistogram
from skdp.preprocessing.categories import (
    admit_categories,
    categories_as_array,
    category_counts,
    declared_categories,
)
from skdp.preprocessing.one_hot_layout import OneHotLayout
from skdp.preprocessing.release import PAID_CONSTRAINTS, paid_release
from skdp.preprocessing.shared_docs import PAID_DOCS, documented
from skdp.privacy import Neighbours

_ONE_CATEGORY = (
    "A row counts for one category in each column; a missing value is a category like another."
)
_DECLARED = "Declared categories were not taken from this data."


@documented(PAID_DOCS)
class PrivateOneHotEncoder(TransformerMixin, PrivateEstimator):
    """Encode categories that nobody can declare: those show that enough people have.

    As :class:`~sklearn.preprocessing.OneHotEncoder`, which publishes each category that a single
    person has. Here a category shows if its count, with noise, reaches a threshold that a category
    of one person does not reach but with a tiny probability, which is part of delta. All columns
    are one release.

    Parameters
    ----------
    categories : "private" or list, default="private"
        "private" for all columns, or a list that has for each column either "private" or its
        declared categories. Of declared ones, those whose noisy count stays below the threshold are
        folded with the unknown ones. Where nothing needs to be folded,
        :class:`~sklearn.preprocessing.OneHotEncoder` with declared categories costs nothing.
    min_frequency : float or None, default=None
        The least noisy count, in rows, to be kept. The threshold is raised to it, never lowered.
    handle_unknown : {"infrequent_if_exist", "ignore"}, default="infrequent_if_exist"
        What a row becomes whose category was not kept: a 1 in one further column of that feature,
        which is always there, or zeros.
    drop : {"first"} or None, default=None
        "first" leaves out the first column of each feature that has two or more.
    sparse_output : bool, default=False
        Whether `transform` returns CSR.
    dtype : number type, default=numpy.float64
        Of the output.
    %(budget)s
    delta : float, default=1e-6
        In (0, 1). A tenth of it is for a category of one person to show, where any is private.
    %(relation)s

    Attributes
    ----------
    categories_ : list of ndarray
        What is kept of each feature: numbers, then text, then NaN for missing values.
    counts_ : list of ndarray
        Their noisy counts.
    threshold_ : float
        The count, in rows, that a noisy count has to reach.
    drop_idx_ : ndarray of shape (n_features,) or None
        Which column of each feature is left out; None where there is none.
    %(promise)s
    sensitivity_ : Sensitivity
        How far one row moves all counts together.
    noise_scale_ : float
        Standard deviation of the noise on a count, in rows.
    %(features)s

    Raises
    ------
    ValueError, TypeError
        For input that is not text or finite numbers. The message quotes no cell.

    Notes
    -----
    *Guarantees.* (epsilon, delta)-differential privacy of which categories are kept and of their
    noisy counts. A row moves one count of each of the d columns by 1, all counts by ``sqrt(d)``
    together (replace-one: ``sqrt(2 d)``), whose noise is Gaussian (Balle and Wang 2018, Theorem 8).
    Categories that only this row has, one in each of m private columns, show with a probability of
    ``1 - P[1 + noise < threshold]^m`` at most, which is added to delta (Korolova, Kenthapadi,
    Mishra and Ntoulas 2009; Wilkins, Kifer, Zhang and Karrer 2024). Transformed private rows are
    private rows.

    *Missing values.* None, NaN, NA and NaT are one category, called nan, in any column.

    *Numbers and text.* A column holds the one or the other. Numbers are told apart as they are;
    round them first. Of a data frame with a categorical type, the categories that occur count, not
    those that the type lists.

    *How many rows a category needs.* About 23 times sqrt(d) at epsilon 1 and delta 1e-6.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.preprocessing import PrivateOneHotEncoder
    >>> X = np.array([["north"]] * 300 + [["south"]] * 500 + [["the lighthouse"]])
    >>> encoder = PrivateOneHotEncoder(epsilon=1.0, delta=1e-6).fit(X)
    >>> encoder.get_feature_names_out(["place"])
    array(['place_north', 'place_south', 'place_infrequent_sklearn'],
          dtype=object)
    >>> encoder.transform([["south"], ["the lighthouse"]])
    array([[0., 1., 0.],
           [0., 0., 1.]])
    """

    _parameter_constraints = {  # noqa: RUF012  (scikit-learn's convention)
        **PAID_CONSTRAINTS,
        "categories": [StrOptions({"private"}), list],
        "min_frequency": [Interval(Real, 0, None, closed="left"), None],
        "handle_unknown": [StrOptions({"infrequent_if_exist", "ignore"})],
        "drop": [StrOptions({"first"}), None],
        "sparse_output": ["boolean"],
        "dtype": "no_validation",  # numpy says what a type is
        "delta": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        categories="private",
        *,
        min_frequency=None,
        handle_unknown="infrequent_if_exist",
        drop=None,
        sparse_output=False,
        dtype=np.float64,
        epsilon=1.0,
        delta=1e-6,
        neighbours="zero-out",
        ledger=None,
        random_state=None,
    ):
        self.categories = categories
        self.min_frequency = min_frequency
        self.handle_unknown = handle_unknown
        self.drop = drop
        self.sparse_output = sparse_output
        self.dtype = dtype
        self.epsilon = epsilon
        self.delta = delta
        self.neighbours = neighbours
        self.ledger = ledger
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Spend the budget and release the categories of each column that enough rows have.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Private rows of text or numbers.
        y : None
            Ignored.

        Returns
        -------
        self
            The fitted encoder.
        """
        columns = admit_categories(self, X, reset=True)
        known = declared_categories(self.categories, len(columns))
        histogram = self._histogram(known)
        self._dtype()
        kept = paid_release(
            self,
            histogram,
            lambda: category_counts(columns, known),
            n_rows=len(columns[0]),
            facts=(_ONE_CATEGORY, *[_DECLARED] * any(own is not None for own in known)),
        )
        self.threshold_ = histogram.threshold
        self._keep(kept, len(columns))
        return self

    def _histogram(self, known):
        return StableHistogram.calibrated(
            Neighbours(self.neighbours),
            self._budget(),
            n_columns=len(known),
            declared=tuple((place, c) for place, own in enumerate(known) for c in own or ()),
            least=0.0 if self.min_frequency is None else self._number("min_frequency"),
        )

    def _dtype(self):
        dtype = np.dtype(self.dtype)
        if dtype.kind not in "biuf":
            raise ValueError(f"dtype must be a type of numbers, got {self.dtype!r}.")
        return dtype

    def _keep(self, released, n_features):
        own = [[key for key in released.keys if key[0] == place] for place in range(n_features)]
        self._layout = OneHotLayout(
            tuple(tuple(category for _, category in part) for part in own),
            rest=self.handle_unknown == "infrequent_if_exist",
            drop_first=self.drop == "first",
        )
        self.categories_ = [categories_as_array(part) for part in self._layout.kept]
        self.counts_ = [released.at(part) for part in own]
        self.drop_idx_ = self._layout.drop_idx

    def transform(self, X):
        """Encode rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of text or numbers.

        Returns
        -------
        {ndarray, CSR matrix} of shape (n_samples, n_columns)
            Zeros and ones.
        """
        check_is_fitted(self)
        encoded = self._layout.encode(admit_categories(self, X, reset=False), self._dtype())
        return encoded if self.sparse_output else encoded.toarray()

    def inverse_transform(self, X):
        """Map back; None where a row has a missing value, or no category that was kept.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_columns)
            Encoded rows.

        Returns
        -------
        ndarray of object, shape (n_samples, n_features)
            Categories; "infrequent_sklearn" where the further column has the 1.
        """
        check_is_fitted(self)
        given = X.toarray() if sparse.issparse(X) else np.asarray(X)
        width = self._layout.shown.size
        if given.ndim != 2 or given.shape[1] != width:
            raise ValueError(f"X must be of shape (n_samples, {width}), got {given.shape}.")
        return self._layout.decode(given)

    def get_feature_names_out(self, input_features=None):
        """Return names of columns: feature_category, and feature_infrequent_sklearn.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the features; None takes those that `fit` saw, or x0, x1, ...

        Returns
        -------
        ndarray of str objects
        """
        check_is_fitted(self)
        return self._layout.names(_check_feature_names_in(self, input_features))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags

"""Scale rows that are too long down to a declared norm."""

from numbers import Real

from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin

from skdp._admission import Interval, admit_new_rows, fit_context
from skdp.preprocessing.admission import admit_rows
from skdp.records import clip_rows
from skdp.records.clipping import LARGEST_NORM, SMALLEST_NORM


class RowNormClipper(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Scale each row down to a declared Euclidean norm, if it is longer.

    .. math:: x \mapsto x \cdot \min(1, c / \lVert x \rVert_2)

    with c = ``row_norm``. Stateless: each row is transformed by itself, so this costs no privacy
    budget and may stand before a private estimator.

    Parameters
    ----------
    row_norm : float, default=1.0
        The bound, from 1e-30 to 1e30: declared, never computed from the data.

    Attributes
    ----------
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if X had string column names.

    Raises
    ------
    ValueError, TypeError
        For NaN, infinity, text or complex numbers. The message quotes no cell.

    Notes
    -----
    *On a raw table this gives nonsense without a word.* Beside a column of yearly incomes every
    other column vanishes: each row becomes nearly the same point, the direction of its largest
    column, and a model fitted on it learns nothing. Bring columns to comparable sizes first, by
    public facts alone: declared ranges for numbers, declared categories for the rest, as in the
    example. Learning ranges, means or categories from private rows
    (:class:`~sklearn.preprocessing.StandardScaler`, a plain
    :class:`~sklearn.preprocessing.OneHotEncoder`) voids the guarantee of what follows. So that no
    row decides whether the matrix is dense or sparse, set ``sparse_output=False`` or the column
    transformer's ``sparse_threshold`` to 0, which is always dense. (With 1 a table without a single
    0 is dense, any other one sparse.)

    CSR input stays CSR.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.compose import make_column_transformer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> from skdp.preprocessing import PublicRangeScaler, RowNormClipper
    >>> people = pd.DataFrame(
    ...     {"age": [20, 44, 68], "income": [18_000, 95_000, 40_000], "sex": ["f", "m", "f"]}
    ... )
    >>> RowNormClipper().fit_transform(people[["age", "income"]]).round(2)
    array([[0., 1.],
           [0., 1.],
           [0., 1.]])
    >>> ranges = {"age": (0, 120), "income": (0, 200_000)}
    >>> encode = make_pipeline(
    ...     make_column_transformer(
    ...         (PublicRangeScaler(ranges), list(ranges)),
    ...         (
    ...             OneHotEncoder(
    ...                 categories=[["f", "m"]], handle_unknown="ignore", sparse_output=False
    ...             ),
    ...             ["sex"],
    ...         ),
    ...     ),
    ...     RowNormClipper(row_norm=1.0),
    ... )
    >>> encode.fit_transform(people).round(2)
    array([[-0.46, -0.56,  0.69,  0.  ],
           [-0.26, -0.05,  0.  ,  0.97],
           [ 0.11, -0.51,  0.85,  0.  ]])
    """

    _parameter_constraints = {  # noqa: RUF012  (scikit-learn's convention)
        "row_norm": [Interval(Real, SMALLEST_NORM, LARGEST_NORM, closed="both")],
    }

    def __init__(self, row_norm=1.0):
        self.row_norm = row_norm

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Check the input; nothing is learned from it.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        self
            The clipper.
        """
        admit_rows(self, X, accept_sparse="csr")
        return self

    def transform(self, X):
        """Clip rows.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        {ndarray, CSR matrix} of shape (n_samples, n_features)
            Rows of norm at most `row_norm`.
        """
        return clip_rows(admit_new_rows(self, X), self.row_norm)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.requires_fit = False
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

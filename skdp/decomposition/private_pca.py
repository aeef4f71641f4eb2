"""Principal components of a noisy second moment."""

import math
from numbers import Integral, Real

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_array

from skdp._admission import (
    FLOATS,
    HasMethods,
    Interval,
    StrOptions,
    admit_new_rows,
    admit_rows,
    check_is_fitted,
    fit_context,
    quote_free,
    refuse_non_numbers,
)
from skdp._estimator import PrivateEstimator
from skdp._random import NumpyGenerator
from skdp.decomposition.releases import AroundKnownCentre, AroundReleasedCentre
from skdp.decomposition.second_moment import SecondMoment
from skdp.mechanisms.row_sum import RowSum
from skdp.privacy import Neighbours, PrivacyStatement
from skdp.privacy.statement import noise_source
from skdp.records.clipping import LARGEST_NORM, SMALLEST_NORM
from skdp.records.row_blocks import centred_blocks

RELATION_FACTS = {
    Neighbours.ZERO_OUT: (
        "The number of rows is public; a neighbour has one row replaced by a null row, which adds "
        "nothing to any sum."
    ),
    Neighbours.REPLACE_ONE: (
        "The number of rows is public; a neighbour has one row replaced by any other."
    ),
}


class PrivatePCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PrivateEstimator):
    r"""Principal component analysis of a second moment that is released once with noise.

    Takes the eigenvectors of the largest eigenvalues of

    .. math:: \sum_i z_i z_i^T + E, \qquad
              z_i = (x_i - c) \cdot \min(1, \mathrm{row\_norm} / \lVert x_i - c \rVert_2)

    with a centre c and a symmetric matrix E of Gaussian noise. All else is computed from c, which
    is public or released with noise, and that one noisy matrix.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components, public; None keeps all.
    epsilon : float, default=1.0
        Privacy loss, above 0. More than 40 adds the noise of 40.
    delta : float, default=1e-6
        In (0, 1).
    row_norm : float, default=1.0
        Declared bound on the Euclidean norm of a row, counted from the centre. In `fit` longer rows
        are scaled down to it; `transform` scales nothing.
    center : float, array-like of shape (n_features,), "private" or None, default=None
        A public centre that is subtracted from the rows, such as the middle of declared ranges;
        None is the origin. "private" takes the mean of rows clipped to `center_norm`, released with
        noise that 5 % of the squared privacy parameter of a Gaussian pays for. CSR rows take None
        alone.
    center_norm : float or None, default=None
        For a "private" centre, the declared bound on the norm of rows as they are; None is
        `row_norm`. Where rows lie far from the origin, choose it about as large as they are long,
        and `row_norm` as what they differ by.
    neighbours : {"zero-out", "replace-one"} or Neighbours, default="zero-out"
        The relation of the guarantee. The default is that of the estimators that are trained by
        private gradients and adds the lesser noise; before a
        :class:`~skdp.linear_model.PrivateElasticNetClassifier`, whose relation is replace-one,
        choose that, since guarantees of different relations do not add up.
    ledger : Ledger or None, default=None
        Where each fit spends before it looks at the rows, such as an
        :class:`~skdp.privacy.InMemoryLedger`; every fit spends again.
    random_state : None, int, RandomState or Generator, default=None
        None draws from a cryptographic generator keyed by the operating system. Anything else is
        for tests: it warns, and the statement records it.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal directions, by decreasing eigenvalue, the largest entry of each positive.
    explained_variance_ : ndarray of shape (n_components,)
        Eigenvalues of the noisy matrix divided by the number of rows, and at least 0.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Their share of the sum over all components.
    noise_floor_ : float
        About the largest of the `explained_variance_` that noise alone would show,
        ``noise_scale_ * sqrt(2 n_features) / n_samples``. Components near or below it are noise.
    mean_ : ndarray of shape (n_features,)
        The centre; zeros without one.
    n_components_ : int
        Number of components.
    privacy_ : PrivacyStatement
        What this fit promised.
    sensitivity_ : Sensitivity
        L2 bound on the change of the second moment's vector, rounding included.
    noise_scale_ : float
        Standard deviation of the noise on the diagonal of the second moment, a sum over rows; off
        the diagonal it is smaller by sqrt(2).
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
    *Guarantees.* (epsilon, delta)-differential privacy of the noisy matrix, of a private centre
    with it, and so of all fitted attributes. In the Frobenius norm a null row moves the matrix by
    ``row_norm^2`` at most, another row by ``sqrt(2) row_norm^2``. Noise goes on the upper triangle
    with its off-diagonal entries scaled by ``sqrt(2)``, which keeps that norm, and is calibrated by
    the exact curve of the Gaussian mechanism (Balle and Wang 2018, Theorem 8). A private centre is
    released before, and the second moment is that around the released centre: two Gaussians, which
    compose to one (Dong, Roth and Su 2022). Assumed public: number of rows, columns, how X is
    stored, all parameters.

    *What is not released.* ``transform`` of private rows gives private rows: pass them on to a
    private estimator and to nobody else. A pipeline does so, and each of its private steps spends;
    :func:`~skdp.pipeline.pipeline_statement` states the whole.

    *Clipping.* A bound on each row's influence is needed where rows are summed, in `fit`. Mapping a
    row is a function of that row and of released components, so `transform` stays the linear map
    that it is in scikit-learn, with `inverse_transform` as its inverse. Rows longer than `row_norm`
    (images with a `row_norm` of 1) therefore count by their direction alone in `fit`, and keep
    their length in `transform`. To clip in both, put a
    :class:`~skdp.preprocessing.RowNormClipper` in front.

    *Centre.* Without one the first component is about the mean, which all rows share, and what
    tells them apart has that much less weight against the noise. Where rows lie far from the origin
    (images), a private centre is worth its small price.

    *Cost.* n_samples n_features^2 operations, and memory for a few arrays of n_features^2.

    *Bias.* Noise spreads the eigenvalues of the matrix to ``noise_floor_`` around where they were,
    so the explained variances of weak components are too large.

    References
    ----------
    Dwork, Talwar, Thakurta and Zhang (2014), Analyze Gauss: optimal bounds for privacy-preserving
    principal component analysis.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skdp.decomposition import PrivatePCA
    >>> X, _ = load_digits(return_X_y=True)
    >>> pca = PrivatePCA(8, epsilon=2.0, row_norm=50.0).fit(X)
    >>> pca.transform(X).shape
    (1797, 8)
    >>> pca.privacy_
    PrivacyStatement(epsilon=2, delta=1e-06, neighbours=zero-out, unit=row)
    >>> rest = X - pca.inverse_transform(pca.transform(X))
    >>> bool((rest**2).sum() < 0.25 * (X**2).sum())
    True
    """

    _parameter_constraints = {  # noqa: RUF012  (scikit-learn's convention)
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "epsilon": [Interval(Real, 0, None, closed="neither")],
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "row_norm": [Interval(Real, SMALLEST_NORM, LARGEST_NORM, closed="both")],
        "center": [StrOptions({"private"}), Real, "array-like", None],
        "center_norm": [Interval(Real, SMALLEST_NORM, LARGEST_NORM, closed="both"), None],
        "neighbours": [StrOptions({"zero-out", "replace-one"}), Neighbours],
        "ledger": [None, HasMethods("spend")],
        "random_state": ["random_state", NumpyGenerator],
    }

    def __init__(
        self,
        n_components=None,
        *,
        epsilon=1.0,
        delta=1e-6,
        row_norm=1.0,
        center=None,
        center_norm=None,
        neighbours="zero-out",
        ledger=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.row_norm = row_norm
        self.center = center
        self.center_norm = center_norm
        self.neighbours = neighbours
        self.ledger = ledger
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Spend the budget and release a noisy second moment of the rows.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Private rows.
        y : None
            Ignored.

        Returns
        -------
        self
            With the components.
        """
        X = admit_rows(self, X)
        n_components = self._admitted_n_components(X.shape[1])
        plan = self._plan(X)
        statement = self._statement(plan)
        self._warn_of_large_delta(X.shape[0], stacklevel=4)
        rng = self._random_source(stacklevel=4)
        self._spend(statement)
        centre, noisy = plan.release(lambda c, norm: centred_blocks(X, c, norm), rng)
        self.privacy_ = statement
        self.sensitivity_ = plan.sensitivity
        self.noise_scale_ = plan.noise_scale
        self.noise_floor_ = self.noise_scale_ * math.sqrt(2 * X.shape[1]) / X.shape[0]
        self.mean_ = centre
        self._decompose(noisy / X.shape[0], n_components)
        return self

    def _plan(self, X):
        """Fix everything that depends on public facts alone."""
        relation = Neighbours(self.neighbours)
        moment = SecondMoment(*X.shape, self._number("row_norm"), relation)
        centre = self._admitted_centre(X)
        if not self._centre_is_private():
            return AroundKnownCentre.planned(moment, self._budget(), centre)
        return AroundReleasedCentre.planned(
            RowSum(*X.shape, self._centre_norm(), relation), moment, self._budget()
        )

    def _centre_is_private(self):
        return isinstance(self.center, str)

    def _centre_norm(self):
        return self._number("row_norm" if self.center_norm is None else "center_norm")

    def _admitted_n_components(self, n_features):
        n_components = n_features if self.n_components is None else int(self.n_components)
        if n_components > n_features:
            raise ValueError(
                f"n_components={n_components} is larger than the number of features, {n_features}."
            )
        return n_components

    def _admitted_centre(self, X):
        """Return a public centre as an array, or None for none or a private one."""
        if self.center_norm is not None and not self._centre_is_private():
            raise ValueError("center_norm is set, but only center='private' uses it.")
        if isinstance(self.center, bool | np.bool_):
            raise ValueError(
                f"center={self.center!r} is no centre: pass a public vector or number, 'private' "
                "for a mean that is paid for, or None."
            )
        if self.center is None:
            return None
        if sparse.issparse(X):
            raise ValueError("Sparse rows would become dense when centred. Set center=None.")
        if self._centre_is_private():
            return None
        problem = (
            f"center must be a finite number, or one for each of the {X.shape[1]} columns; got "
            f"{self.center!r}."
        )
        try:
            centre = np.broadcast_to(np.asarray(self.center, dtype=np.float64), X.shape[1:])
        except (TypeError, ValueError):
            raise ValueError(problem) from None
        if not np.isfinite(centre).all():
            raise ValueError(problem)
        return centre.copy()

    def _statement(self, plan):
        relation = plan.sensitivity.neighbours
        return PrivacyStatement(
            curve=plan.curve,
            budget=self._budget(),
            neighbours=relation,
            theorem=plan.theorem,
            assumptions=(
                RELATION_FACTS[relation],
                "The columns are public, and so is how X is stored (float32 or float64, dense or "
                "sparse).",
                self._clipping(),
                "No parameter of the model was chosen by looking at this data.",
            ),
            noise=noise_source(seeded=self.random_state is not None),
        )

    def _clipping(self):
        bound = f"Each row is clipped to Euclidean norm {self._number('row_norm')}"
        if self._centre_is_private():
            return (
                f"{bound} from a centre that is released before, and for this to norm "
                f"{self._centre_norm()}; the bounds were declared, not computed from the data."
            )
        centre = "" if self.center is None else " from a centre that is public"
        return f"{bound}{centre}, a bound that was declared, not computed from the data."

    def _decompose(self, matrix, n_components):
        """Store the leading eigenvectors of the released matrix."""
        values, vectors = np.linalg.eigh(matrix)
        variances = np.maximum(values[::-1], 0.0)
        components = vectors.T[::-1][:n_components]
        largest = np.abs(components).argmax(axis=1)
        signs = np.sign(np.take_along_axis(components, largest[:, None], axis=1))
        self.n_components_ = n_components
        self.components_ = np.ascontiguousarray(components * signs)
        self.explained_variance_ = variances[:n_components].copy()
        total = variances.sum()
        self.explained_variance_ratio_ = self.explained_variance_ / (total if total > 0 else 1.0)

    def transform(self, X):
        """Map rows to their coordinates along the components; rows are not clipped.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            ``(X - mean_) @ components_.T``, finite and of the dtype of X. Each row is a function of
            that row of X and of the components.
        """
        X = admit_new_rows(self, X)
        components = self.components_.astype(X.dtype, copy=False)
        with np.errstate(all="ignore"):
            scores = safe_sparse_dot(X, components.T, dense_output=True)
            scores -= components @ self.mean_.astype(X.dtype)
        # Whether a sum overflows must not decide whether the next step of a pipeline refuses.
        return np.nan_to_num(scores, copy=False)

    def inverse_transform(self, X):
        """Map coordinates back to rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Coordinates.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            ``X @ components_ + mean_``: the nearest points in the span of the components.
        """
        check_is_fitted(self)
        refuse_non_numbers(X)
        X = quote_free(lambda: check_array(X, dtype=FLOATS, input_name="X"), "X")
        if X.shape[1] != self.n_components_:
            raise ValueError(
                f"X has {X.shape[1]} columns, but {type(self).__name__} has {self.n_components_} "
                "components."
            )
        with np.errstate(all="ignore"):
            return X @ self.components_.astype(X.dtype, copy=False) + self.mean_.astype(X.dtype)

    @property
    def _n_features_out(self):
        return self.n_components_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.center is None
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

"""Ridge regression from noisy moments."""

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.linear_model import LinearRegression
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_array

from skdp._admission import (
    admit_rows,
    check_is_fitted,
    fit_context,
    quote_free,
    refuse_non_numbers,
)
from skdp.linear_model.output_perturbed import SCALE
from skdp.linear_model.ridge_model import MomentModel
from skdp.mechanisms.label_moments import LabelMoments


class PrivateRidge(RegressorMixin, MomentModel):
    r"""Least squares from moments that are released once with noise.

    Releases, of rows ``z_i = (x_i, c)`` clipped to `row_norm` and labels clipped to `y_bound`,

    .. math:: S = \sum_i z_i z_i^T + E, \qquad g = \sum_i z_i y_i^T + e, \qquad \sum_i y_i^2 + e'

    with one draw of Gaussian noise, calibrated exactly, and computes all else from those: the
    coefficients ``max(S, f)^{-1} g``, the maximum being that of each eigenvalue and a floor f that
    is about the largest eigenvalue of the noise E.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss, above 0. More than 40 adds the noise of 40.
    delta : float, default=1e-6
        In (0, 1).
    row_norm : float, default=1.0
        Declared bound on the Euclidean norm of a row; longer rows are scaled down to it, in `fit`
        and when predicting. Bring columns to comparable public ranges first
        (:class:`~skdp.preprocessing.PublicRangeScaler`).
    y_bound : float, default=1.0
        Declared bound on labels; they are clipped to [-y_bound, y_bound], each output. Subtract the
        middle of a public range first.
    alpha : float, default=0.0
        Penalty ``alpha ||w||^2`` beside the sum of squares as in scikit-learn's ``Ridge``, of the
        intercept too (in units of its column). The noise calls for none: the floor is enough.
    shrinkage : {"floor", "adassp"}, default="floor"
        "adassp" adds one lambda to all eigenvalues, what the smallest lacks to the floor (Wang
        2018, with the eigenvalue of the noisy matrix in place of a release of its own). "floor" was
        better on most of the data measured.
    fit_intercept : bool, default=True
        Whether rows get a constant column. Under add-or-remove-one it is also what releases the
        number of rows.
    intercept_scaling : float, default=0.3
        The constant column in units of `row_norm`, from 2^-10 to 2. Larger adds noise to all,
        lesser to the intercept.
    neighbours : {"add-or-remove-one", "replace-one", "zero-out"}, default="add-or-remove-one"
        The relation of the guarantee. The default hides the number of rows too; replace-one adds
        up to 1.5 times the noise.
    ledger : Ledger or None, default=None
        Where each fit spends, such as an :class:`~skdp.privacy.InMemoryLedger`.
    random_state : None, int, RandomState or Generator, default=None
        None draws from a cryptographic generator keyed by the operating system. Anything else is
        for tests: it warns, and the statement records it.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_outputs, n_features)
        Released weights.
    intercept_ : float or ndarray of shape (n_outputs,)
        Released intercepts.
    floor_ : float
        What eigenvalues of the moment of rows, in units of ``row_norm^2``, were raised to.
    n_samples_ : float, int or None
        The number of rows where it is public; otherwise the one released with noise, None without
        an intercept.
    privacy_ : PrivacyStatement
        What this fit promised.
    sensitivity_ : Sensitivity
        L2 bound on the change of the released vector, rounding included.
    noise_scale_ : float
        Standard deviation of the noise on it, in units of ``row_norm^2``.
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
    *Guarantees.* (epsilon, delta)-differential privacy of all that is released, for the relation
    that `neighbours` names. The bound on how far a row moves the moments is that of
    `skdp.mechanisms.label_moments.LabelMoments`; the noise is calibrated by the exact curve
    of the Gaussian mechanism (Balle and Wang 2018, Theorem 8). One joint release costs what its
    parts cost together: mu^2 adds up. Assumed public: columns, how X is stored, all parameters.

    *Sums.* Rows and labels are rounded towards 0 to multiples of 2^-20 of their bounds, and their
    products summed as whole numbers. So the sums do not depend on the order of rows, on chunks or
    on the number of threads, and have no rounding error to account for.

    *One pass.* :meth:`fit_chunks` reads an iterable of chunks once and releases once at its end.
    There is no ``partial_fit``: its state would hold exact sums of private rows in an object that
    is pickled, copied and printed.

    *Cost.* n_samples n_features^2 operations, and memory for a few arrays of n_features^2.

    References
    ----------
    Wang (2018), Revisiting differentially private linear regression: optimal and adaptive
    prediction and estimation in unbounded domain. Dwork, Talwar, Thakurta and Zhang (2014), Analyze
    Gauss.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.linear_model import PrivateRidge
    >>> rows = np.mgrid[-1:1:71j, -1:1:71j].reshape(2, -1).T
    >>> labels = rows @ [0.5, -0.25] + 0.1
    >>> model = PrivateRidge(epsilon=2.0, row_norm=1.5).fit(rows, labels)
    >>> bool(np.abs(model.coef_ - [0.5, -0.25]).max() < 0.1)
    True
    >>> model.privacy_
    PrivacyStatement(epsilon=2, delta=1e-06, neighbours=add-or-remove-one, unit=row)
    >>> low, high = model.coef_interval(0.99)
    >>> low.shape
    (2,)
    """

    _parameter_constraints = {  # noqa: RUF012
        **MomentModel._parameter_constraints,
        "y_bound": [SCALE],
    }

    def __init__(
        self,
        *,
        epsilon=1.0,
        delta=1e-6,
        row_norm=1.0,
        y_bound=1.0,
        alpha=0.0,
        shrinkage="floor",
        fit_intercept=True,
        intercept_scaling=0.3,
        neighbours="add-or-remove-one",
        ledger=None,
        random_state=None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.row_norm = row_norm
        self.y_bound = y_bound
        self.alpha = alpha
        self.shrinkage = shrinkage
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
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
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Labels.

        Returns
        -------
        self
            The released model.
        """
        self._fit_rows(*self._admit(X, y, reset=True))
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def fit_chunks(self, chunks):
        """Fit to rows that come in chunks, in one pass, with one release at the end.

        The model is that of `fit` on all rows: the sums are the same, bit for bit. Chunks are
        admitted as they come, so the budget is spent after the last one was read.

        Parameters
        ----------
        chunks : iterable of (X, y)
            Chunks of at least one row.

        Returns
        -------
        self
            The released model.
        """
        self._fit_chunks(chunks)
        return self

    def _admit(self, X, y, reset):
        if y is None:
            raise ValueError("PrivateRidge requires y to be passed, but the target y is None.")
        refuse_non_numbers(y, "y")
        X = admit_rows(self, X, reset=reset)
        y = quote_free(
            lambda: check_array(y, dtype=np.float64, ensure_2d=False, input_name="y"), "y"
        )
        quote_free(lambda: check_consistent_length(X, y), "y")
        self._remember(y.shape[1] if y.ndim == 2 else None, reset)
        return X, self._coded(y.reshape(len(y), -1))

    def _remember(self, n_outputs, reset):
        if reset:
            self._n_outputs = n_outputs
        elif n_outputs != self._n_outputs:
            raise ValueError("The labels of a chunk have another shape than those before.")

    def _coded(self, y):
        bound = self._number("y_bound")
        return np.clip(y, -bound, bound) / bound

    def _moments(self):
        k = self._n_outputs or 1
        return LabelMoments(
            n_features=self.n_features_in_,
            n_outputs=k,
            constant=self._constant(),
            label_norm=float(np.sqrt(k)) * (1 + 2.0**-50),
            least_product=-float(k),
            squares=True,
            neighbours=self._relation(),
        )

    def _label_assumption(self):
        bound = self._number("y_bound")
        return f"Labels are clipped to [-{bound}, {bound}], a declared bound."

    def _store(self, weights):
        self.coef_, self.intercept_ = self._squeezed(
            *self._in_units(weights, self._number("y_bound"))
        )

    def _squeezed(self, coef, intercept):
        if self._n_outputs is not None:
            return coef, intercept
        return coef[0], float(intercept[0])

    def coef_interval(self, confidence=0.95, *, population=True):
        """Return intervals of coefficients that account for the noise; they cost nothing.

        Parameters
        ----------
        confidence : float, default=0.95
            Of each interval by itself, in (0, 1).
        population : bool, default=True
            Whether the coefficients meant are those of least squares in the population that the
            rows are a sample of, their residuals of equal variance; otherwise those of these rows,
            had there been no noise. Rows and labels as clipped, either way, without `alpha`.

        Returns
        -------
        low, high : ndarray of the shape of `coef_`
            Centred at least squares from the moments as released, which `coef_` differs from where
            an eigenvalue is below `floor_`. Infinite where the smallest eigenvalue is below twice
            the radius of the noise: no finite interval is justified there.

        Notes
        -----
        ``S (w - w0) = e - E w0`` holds exactly and its right hand side is normal, so intervals are
        those of a normal w, the noise in S taken with the estimated coefficients.
        """
        check_is_fitted(self)
        if population and self.n_samples_ is None:
            raise ValueError(
                "Without an intercept the number of rows was not released, and intervals for a "
                "population need it. Set population=False."
            )
        ends = self._coded_intervals(confidence, self.n_samples_ if population else None)
        d = self.n_features_in_
        scale = self._number("y_bound") / self._number("row_norm")
        low, high = (end[:d].T * scale for end in ends)
        return (low, high) if self._n_outputs is not None else (low[0], high[0])

    def predict(self, X):
        """Return predictions for rows clipped to `row_norm` as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Of the shape of y in `fit`.
        """
        scores = self._scores(X)
        return scores if self._n_outputs is not None else scores.ravel()

    def to_sklearn(self):
        """Return a plain fitted pipeline of a row clipper and a ``LinearRegression``."""
        check_is_fitted(self)
        return self._as_pipeline(LinearRegression())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        tags.target_tags.multi_output = True
        return tags

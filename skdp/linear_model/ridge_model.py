"""The recipe of ridge models: admit, plan, spend, sum exactly, release the moments once."""

from abc import ABCMeta, abstractmethod
from numbers import Real

import numpy as np
from scipy import sparse

from skdp._admission import HasMethods, Interval, StrOptions, check_is_fitted
from skdp._estimator import PrivateEstimator
from skdp._random import NumpyGenerator
from skdp.linear_model.clipped_rows import ClippedRowsMixin
from skdp.linear_model.output_perturbed import SCALE
from skdp.linear_model.ridge_solution import RidgeSolution
from skdp.mechanisms import GaussianMechanism
from skdp.mechanisms.label_moments import FRACTION_BITS, LARGEST_CONSTANT, ExactSums, whole_numbers
from skdp.privacy import Neighbours, PrivacyStatement
from skdp.privacy.statement import noise_source
from skdp.records import clip_rows
from skdp.records.row_blocks import BLOCK_ROWS

THEOREM = (
    "Gaussian noise on the moments of bounded rows and labels, released together (Wang 2018, "
    "AdaSSP, with one exact calibration in place of three thirds)"
)
COLUMNS = "The columns are public, and so is how X is stored (float32 or float64, dense or sparse)."
RELATION_FACTS = {
    Neighbours.ADD_OR_REMOVE_ONE: (
        "The number of rows is private; a neighbour has one row more or less."
    ),
    Neighbours.ZERO_OUT: (
        "The number of rows is public; a neighbour has one row replaced by a null row, which adds "
        "nothing to any sum."
    ),
    Neighbours.REPLACE_ONE: (
        "The number of rows is public; a neighbour has one row replaced by any other."
    ),
}


def row_blocks(X, row_norm):
    """Yield rows clipped and divided by `row_norm`, as dense float64 blocks."""
    for start in range(0, X.shape[0], BLOCK_ROWS):
        rows = clip_rows(X[start : start + BLOCK_ROWS], row_norm)
        dense = rows.toarray() if sparse.issparse(rows) else rows
        yield np.asarray(dense, dtype=np.float64) / row_norm


class MomentModel(ClippedRowsMixin, PrivateEstimator, metaclass=ABCMeta):
    """Linear model computed from noisy moments. A subclass codes the labels."""

    _parameter_constraints = {  # noqa: RUF012  (scikit-learn's convention)
        "epsilon": [Interval(Real, 0, None, closed="neither")],
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "alpha": [Interval(Real, 0, 1e30, closed="both")],
        "row_norm": [SCALE],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 2.0**-10, LARGEST_CONSTANT, closed="both")],
        "shrinkage": [StrOptions({"floor", "adassp"})],
        "neighbours": [
            StrOptions({"add-or-remove-one", "replace-one", "zero-out"}),
            Neighbours,
        ],
        "ledger": [None, HasMethods("spend")],
        "random_state": ["random_state", NumpyGenerator],
    }

    #: Eigenvalues are raised to so many times the noise's radius.
    _floor_share = 1.0

    @abstractmethod
    def _admit(self, X, y, reset):
        """Return rows as admitted, and coded labels of shape (n_samples, n_outputs)."""

    @abstractmethod
    def _moments(self):
        """Return the moments to release, once the labels are admitted."""

    @abstractmethod
    def _label_assumption(self):
        """Return what the statement says of the labels."""

    def _fit_rows(self, X, coded):
        """Plan, spend, sum, release: once the budget is spent there is no other outcome."""
        moments, mechanism = self._plan()
        statement, rng = self._announced(mechanism, X.shape[0])
        self._spend(statement)
        sums = ExactSums(moments)
        self._add(sums, X, coded)
        self._release(moments, mechanism, sums, statement, rng, X.shape[0])

    def _fit_chunks(self, chunks):
        """As `_fit_rows`; a chunk is admitted when it comes, so all are summed before spending."""
        sums, n_samples = None, 0
        for X, y in chunks:
            X, coded = self._admit(X, y, reset=sums is None)
            if sums is None:
                moments, mechanism = self._plan()
                sums = ExactSums(moments)
            self._add(sums, X, coded)
            n_samples += X.shape[0]
        if sums is None:
            raise ValueError("chunks is empty: there is nothing to fit.")
        statement, rng = self._announced(mechanism, n_samples)
        self._spend(statement, "fit_chunks")
        self._release(moments, mechanism, sums, statement, rng, n_samples)

    def _plan(self):
        """Fix everything that depends on public facts alone."""
        moments = self._moments()
        mechanism = GaussianMechanism.calibrated(
            moments.sensitivity, self._budget(), size=moments.size
        )
        return moments, mechanism

    def _announced(self, mechanism, n_samples):
        statement = PrivacyStatement(
            curve=mechanism,
            budget=self._budget(),
            neighbours=mechanism.sensitivity.neighbours,
            theorem=f"{THEOREM}. {mechanism.theorem}",
            assumptions=(
                RELATION_FACTS[mechanism.sensitivity.neighbours],
                COLUMNS,
                f"Each row is clipped to Euclidean norm {self._number('row_norm')}, a bound that "
                "was declared, not computed from the data.",
                self._label_assumption(),
                "No parameter of the model was chosen by looking at this data.",
            ),
            noise=noise_source(seeded=self.random_state is not None),
        )
        if mechanism.sensitivity.neighbours is not Neighbours.ADD_OR_REMOVE_ONE:
            self._warn_of_large_delta(n_samples, stacklevel=6)
        return statement, self._random_source(stacklevel=6)

    def _relation(self):
        return Neighbours(self.neighbours)

    def _constant(self):
        """Return the constant column in units of `row_norm`, a multiple of 2^-20, or None."""
        if not self.fit_intercept:
            return None
        return float(np.ldexp(whole_numbers(self._number("intercept_scaling")), -FRACTION_BITS))

    def _add(self, sums, X, coded):
        for place, rows in enumerate(row_blocks(X, self._number("row_norm"))):
            start = place * BLOCK_ROWS
            sums.add(rows, coded[start : start + len(rows)])

    def _release(self, moments, mechanism, sums, statement, rng, n_samples):
        self._released = mechanism.release(moments.from_sums(sums), rng)
        self._moments_of_fit = moments
        self.privacy_ = statement
        self.sensitivity_ = mechanism.total_sensitivity
        self.noise_scale_ = mechanism.noise_scale
        solution = self._solution()
        self.n_samples_ = self._known_number(moments, solution.moments, n_samples)
        self._store(self._coefficients(solution))

    def _solution(self):
        """Return what follows from the released vector."""
        moments, noise = self._moments_of_fit, self.noise_scale_
        return RidgeSolution(moments.read(self._released), noise, noise / moments.label_weight)

    def _known_number(self, moments, noisy, n_samples):
        """Return the number of rows, the noisy one where it is private; None if not released."""
        if moments.neighbours is not Neighbours.ADD_OR_REMOVE_ONE:
            return n_samples
        if moments.constant is None:
            return None
        return float(max(noisy.second[-1, -1] / moments.constant**2, 1.0))

    def _coefficients(self, solution):
        """Return weights per unit row and coded label, shape (order, n_outputs)."""
        alpha = self._number("alpha") / self._number("row_norm") ** 2
        if self.shrinkage == "adassp":
            self.floor_ = solution.radius
            return solution.adaptive(self.floor_, alpha)
        self.floor_ = self._floor_share * solution.radius
        return solution.floored(self.floor_, alpha)

    def _in_units(self, weights, label_unit):
        """Return coefficients (n_outputs, n_features) and intercepts (n_outputs,) of raw rows."""
        coef = weights[: self.n_features_in_].T * (label_unit / self._number("row_norm"))
        constant = self._moments_of_fit.constant
        if constant is None:
            return coef, np.zeros(len(coef))
        return coef, weights[-1] * (constant * label_unit)

    def _coded_intervals(self, confidence, n_samples):
        check_is_fitted(self)
        if not 0 < confidence < 1:
            raise ValueError(f"confidence must be in (0, 1), got {confidence!r}.")
        return self._solution().intervals(confidence, n_samples)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

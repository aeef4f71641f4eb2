"""Certificates: proof that a computed point is near the minimiser, rounding included."""

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from skdp._validation import positive, positive_integer
from skdp.exceptions import CertificationError
from skdp.objectives import Objective
from skdp.records import Records, score_terms, summation_terms

Array = npt.NDArray[np.float64]

UNIT_ROUNDOFF = 2.0**-53
#: tol must be this many rounding bounds: see `solvers.accelerated` for why 6 suffice.
ROUNDING_MARGIN = 6.0
#: Largest ratio of smoothness to strong convexity: beyond, fits would take too long.
LARGEST_CONDITION = 1e10


@final
@dataclass(frozen=True)
class Certificate:
    """Proof that a point is within `radius` of the minimiser.

    The radius is the tolerance asked for, not the one reached: how near a solver came depends
    on the data, and noise scaled by it would leak.

    Parameters
    ----------
    gradient_tol : float
        Bound on the norm of the smallest subgradient, rounding errors included.
    strong_convexity : float
        lam of the objective: the subdifferential is lam-strongly monotone and holds 0 at the
        minimiser, so ``lam ||w - w*|| <= gradient_tol``.
    """

    gradient_tol: float
    strong_convexity: float

    def __post_init__(self) -> None:
        positive(gradient_tol=self.gradient_tol, strong_convexity=self.strong_convexity)

    @property
    def radius(self) -> float:
        """Bound on the distance to the minimiser."""
        return self.gradient_tol / self.strong_convexity


@final
@dataclass(frozen=True)
class Problem:
    """An objective with the public bounds of the records it will meet.

    Parameters
    ----------
    objective : Objective
    n_samples, n_features : int
        Shape of the records, the constant column left out.
    kappa : float
        Bound on the norm of a row, the constant column included.
    max_weight : float
        Bound on the weight of a record.
    tol : float
        The certificate's `gradient_tol`.
    """

    objective: Objective
    n_samples: int
    n_features: int
    kappa: float
    max_weight: float
    tol: float

    def __post_init__(self) -> None:
        positive_integer(n_samples=self.n_samples, n_features=self.n_features)
        positive(kappa=self.kappa, max_weight=self.max_weight, tol=self.tol)

    @cached_property
    def smoothness(self) -> float:
        """Lipschitz constant M of the smooth part's gradient."""
        return self.objective.smoothness(self.kappa, self.max_weight)

    @cached_property
    def radius(self) -> float:
        """Bound R on the norm of the minimiser."""
        return self.objective.minimiser_radius(self.kappa, self.max_weight)

    @property
    def certificate(self) -> Certificate:
        """What a point that passes `certifies` is certified for."""
        return Certificate(self.tol, self.objective.strong_convexity)

    def rounding_bound(self, norm: float) -> float:
        """Bound on the error of the computed smallest subgradient at a point of this norm.

        With u = 2^-53 and g(k) = k u / (1 - k u) (Higham 2002, Lemma 3.1, any order of
        summation), for rows of norm <= kappa and weights <= W:

        * a score is off by at most g(k) kappa ||w||, k = `score_terms` + 2, hence a derivative
          by curvature times that, plus (16 + 2 n_outputs) u (L + curvature) for its own
          evaluation, L being the bound on the derivative at this norm;
        * the weighted sum over records, each term W L kappa at most, goes through k additions
          (`summation_terms`) and four more roundings;
        * the L2 part, the sum with it and the step of a first-order method add
          4 u (smoothness) ||w||;
        * a tilt t enters by one more sum: u (norm(t) + W L kappa + l2 ||w||), and 3 u norm(t) in
          a step;
        * adding an L1 level rounds by u times the result, which `certifies` allows for.
        """
        loss = self.objective.loss
        slope = loss.gradient_bound(self.kappa, norm)
        score = _gamma(score_terms(self.n_features) + 2) * self.kappa * norm
        own = (16 + 2 * loss.n_outputs) * UNIT_ROUNDOFF * (slope + loss.smoothness)
        total = _gamma(summation_terms(self.n_samples, self.n_features) + 4) * slope
        data = self.max_weight * self.kappa * (loss.smoothness * score + own + total)
        tilt = self.objective.tilt.norm
        summed = self.max_weight * slope * self.kappa + self.smoothness * norm if tilt else 0.0
        return 1.001 * (data + UNIT_ROUNDOFF * (4 * self.smoothness * norm + 4 * tilt + summed))

    def certifies(self, subgradient_norm: float, coef_norm: float) -> bool:
        """Whether a smallest subgradient computed to have this norm proves the tolerance."""
        size = self.objective.loss.n_outputs * (self.n_features + 1)
        upper = subgradient_norm * (1 + (size + 8) * UNIT_ROUNDOFF)
        return upper + self.rounding_bound(coef_norm) <= self.tol

    @property
    def least_tol(self) -> float:
        """Tolerance from which on every admissible data set can be certified."""
        # A point certified for 2 tol lies within 2 tol / lam of the minimiser.
        reach = self.radius + 2 * self.tol / self.objective.strong_convexity
        return ROUNDING_MARGIN * self.rounding_bound(reach)

    def require_certifiable(self) -> None:
        """Raise CertificationError where some admissible data set could not be certified."""
        self._require_condition()
        least = self.least_tol
        if not self.tol >= least:
            raise CertificationError(
                f"tol={self.tol:g} cannot be certified in float64 for {self.n_samples} rows of "
                f"{self.n_features} features, norm {self.kappa:.4g} and weight up to "
                f"{self.max_weight:g}: use tol >= {least * 1.05:.2g}, or a larger alpha, a "
                "smaller l1_ratio, row_norm or max_sample_weight."
            )

    def _require_condition(self) -> None:
        convexity = self.objective.strong_convexity
        if not self.smoothness <= LARGEST_CONDITION * convexity:
            needed = (self.smoothness - convexity) / (LARGEST_CONDITION - 1)
            raise CertificationError(
                f"alpha * (1 - l1_ratio) = {convexity:g} is too small to certify a minimum for "
                f"rows of norm {self.kappa:.4g} and weight up to {self.max_weight:g}: use at "
                f"least {needed * 1.05:.2g}, or a smaller row_norm or max_sample_weight."
            )


def check_certifiable(
    objective: Objective,
    n_samples: int,
    n_features: int,
    kappa: float,
    max_weight: float,
    tol: float,
) -> None:
    """Refuse, from public facts alone, a tolerance that some data set could not reach.

    Parameters
    ----------
    objective : Objective
    n_samples, n_features : int
        Shape of the records, the constant column left out.
    kappa : float
        Bound on the norm of a row, the constant column included.
    max_weight : float
        Bound on the weight of a record.
    tol : float
        Bound wanted on the norm of the smallest subgradient.

    Raises
    ------
    CertificationError
        When tol is below `ROUNDING_MARGIN` times the rounding bound, or the ratio of smoothness
        to strong convexity is above `LARGEST_CONDITION`. The message says what to change.

    Examples
    --------
    >>> from skdp.objectives import ElasticNet, Logistic, Objective
    >>> objective = Objective(Logistic(), ElasticNet(alpha=0.01))
    >>> check_certifiable(objective, 1000, 20, kappa=1.0, max_weight=1.0, tol=1e-8)
    """
    Problem(objective, n_samples, n_features, kappa, max_weight, tol).require_certifiable()


def certify(problem: Problem, records: Records, coef: Array) -> Certificate | None:
    """Return the certificate of `coef`, or None if it cannot be had.

    Evaluates the smallest subgradient in float64, whatever the type of the data, and adds the
    bound on its rounding error.
    """
    subgradient = problem.objective.subgradient(coef, records)
    if problem.certifies(float(np.linalg.norm(subgradient)), float(np.linalg.norm(coef))):
        return problem.certificate
    return None


def _gamma(count: int) -> float:
    return count * UNIT_ROUNDOFF / (1 - count * UNIT_ROUNDOFF)

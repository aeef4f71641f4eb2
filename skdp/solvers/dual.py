"""Certified minimisers for losses with kinks: hinge and epsilon-insensitive.

The certificate is a pair of points, w and the slopes a of the records, whose primal and dual values
differ by at most a declared gap (`skdp.objectives.piecewise_linear`). Both objectives are
lam-strongly convex in w, so that ``norm(w - w*) <= sqrt(gap / lam)``.

The slopes come from the loss rounded off within h of its kinks, a problem that the smooth solvers
handle: its minimiser's own slopes are a point of the dual (Nesterov 2005). h is lowered by tens,
each minimiser the start of the next, until a pair is certified. *It always is:* with h and the
subgradient tau of the last stage, both public,

    gap <= W c h + tau^2 / (2 lam),    c = 1/8, or 1/4 where two kinks are nearer than 2 h,

and that stage ends with accelerated proximal gradient steps, which are proved to reach tau.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NoReturn, final

import numpy as np
import numpy.typing as npt

from skdp._validation import positive, positive_integer
from skdp.exceptions import CertificationError
from skdp.objectives import ElasticNet, Objective
from skdp.objectives.piecewise_linear import PiecewiseLinearLoss
from skdp.records import Records, score_terms, summation_terms
from skdp.solvers.accelerated import accelerated_proximal_gradient
from skdp.solvers.base import UNIT_ROUNDOFF, Problem
from skdp.solvers.newton import proximal_newton
from skdp.solvers.point import Point, Search, norm

Array = npt.NDArray[np.float64]

#: Each stage rounds the kinks off within so much less than the one before.
NARROWING: Final = 0.1
#: Shares of the gap: what the last stage's band may cost, and its tolerance. The more for either
#: the less must float64 tell apart, and they need the same (an error of E / h in h is balanced).
ROUNDED_OFF, TOLERATED = 0.52, 0.45


@final
@dataclass(frozen=True)
class GapCertificate:
    """Proof that a point is within ``sqrt(gap / strong_convexity)`` of the minimiser.

    Parameters
    ----------
    gap : float
        The declared bound on the primal-dual gap, rounding included; not the one reached.
    strong_convexity : float
        lam of the objective.
    """

    gap: float
    strong_convexity: float

    def __post_init__(self) -> None:
        positive(gap=self.gap, strong_convexity=self.strong_convexity)

    @property
    def radius(self) -> float:
        """Bound on the distance to the minimiser."""
        return math.sqrt(self.gap / self.strong_convexity)


@final
@dataclass(frozen=True)
class GapProblem:
    """A loss with kinks and a penalty, with the public bounds of the records they will meet.

    Parameters
    ----------
    loss : PiecewiseLinearLoss
    penalty : ElasticNet
    n_samples, n_features : int
        Shape of the records, the constant column left out.
    kappa : float
        Bound on the norm of a row, the constant column included.
    max_weight : float
        Bound on the weight of a record.
    gap : float
        The certificate's.

    Notes
    -----
    *Guarantees.* `solve` returns a point within ``certificate.radius`` of the minimiser on every
    admissible input, once `require_certifiable` has passed: no exception, no warning, no count.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.objectives import ElasticNet
    >>> from skdp.objectives.piecewise_linear import Hinge
    >>> from skdp.records import InMemoryRecords
    >>> problem = GapProblem(Hinge(), ElasticNet(0.5), 2, 1, kappa=1.0, max_weight=1.0, gap=1e-8)
    >>> records = InMemoryRecords(np.array([[1.0], [-0.5]]), np.array([1.0, -1.0]))
    >>> problem.solve(records).round(3)
    array([[1.]])
    """

    loss: PiecewiseLinearLoss
    penalty: ElasticNet
    n_samples: int
    n_features: int
    kappa: float
    max_weight: float
    gap: float

    def __post_init__(self) -> None:
        positive_integer(n_samples=self.n_samples, n_features=self.n_features)
        positive(kappa=self.kappa, max_weight=self.max_weight, gap=self.gap)

    @property
    def certificate(self) -> GapCertificate:
        """What a point that passes `certifies` is certified for."""
        return GapCertificate(self.gap, self.penalty.strong_convexity)

    @property
    def n_outputs(self) -> int:
        """Scores of a record: one."""
        return self.loss.n_outputs

    @property
    def narrowest(self) -> float:
        """Half-width of the last stage."""
        return min(1.0, self.loss.half_width_for(ROUNDED_OFF * self.gap / self.max_weight))

    @cached_property
    def last(self) -> Problem:
        """The smooth problem whose minimiser is certified in any case."""
        return self._smoothed(self.narrowest)

    def _smoothed(self, half_width: float) -> Problem:
        """Rounded off within h, and solved as well as that is worth: tau = 0.45 sqrt(gap lam)."""
        gap = self.max_weight * self.loss.smoothing_gap(half_width) / ROUNDED_OFF
        return Problem(
            Objective(self.loss.smoothed(half_width), self.penalty),
            n_samples=self.n_samples,
            n_features=self.n_features,
            kappa=self.kappa,
            max_weight=self.max_weight,
            tol=TOLERATED * math.sqrt(gap * self.penalty.l2),
        )

    def _stages(self) -> Iterator[Problem]:
        half_width = 1.0
        while half_width > 2 * self.narrowest:
            yield self._smoothed(half_width)
            half_width *= NARROWING
        yield self.last

    def solve(self, records: Records) -> Array:
        """Return a point within ``certificate.radius`` of the minimiser, shape (1, n_columns)."""
        self.require_certifiable()
        with np.errstate(all="ignore"):
            start: Array | None = None
            for stage in self._stages():
                search = Search(stage, records)
                point = proximal_newton(search, start)
                if self.certifies(search, point):
                    return point.coef
                start = point.coef
            return accelerated_proximal_gradient(search, point).coef

    def certifies(self, search: Search, point: Point) -> bool:
        """Whether w and the slopes of the smoothed loss at w are proved to be within the gap.

        With S the records' share of the gap, e the smallest element of ``-v + dr(w)`` and
        ``delta = norm(e) / lam``: P(w) - D(a) <= S + lam delta^2 / 2, as r* is 1/lam-smooth, and w
        is within delta of the point that belongs to a. Hence
        ``norm(w - w*) <= delta / 2 + sqrt(S / lam + delta^2 / 4)``, at most sqrt(gap / lam) when
        ``S + sqrt(gap lam) delta <= gap``.
        """
        size, records = norm(point.coef), search.records
        slopes = search.objective.loss.derivative(point.scores, records.targets)
        gaps = self.loss.duality_gap(point.scores, slopes, records.targets)
        share = records.total(gaps) / records.n_samples
        share = share * (1 + _gamma(self._summed)) + self._gap_rounding(size)
        columns = self.n_features + 1
        residual = point.residual * (1 + (columns + 8) * UNIT_ROUNDOFF)
        residual += self._residual_rounding(size)
        return bool(share + math.sqrt(self.gap / self.penalty.l2) * residual <= self.gap)

    @property
    def _summed(self) -> int:
        return summation_terms(self.n_samples, self.n_features) + 8

    def _gap_rounding(self, size: float) -> float:
        """Bound on the error of the records' share of the gap, but for that of its summation.

        A gap changes by at most 2 per unit of score, and is made of a few roundings of numbers
        no larger than twice the largest score and target.
        """
        largest = self.kappa * size
        score = _gamma(score_terms(self.n_features) + 2) * largest
        return 1.001 * self.max_weight * (2 * score + 32 * UNIT_ROUNDOFF * (1 + self._reach(size)))

    def _reach(self, size: float) -> float:
        """Bound on scores, targets within reach and the insensitivity, added up."""
        radius = self.loss.minimiser_radius(self.kappa, self.max_weight, self.penalty.l2)
        return 2 * (self.kappa * (size + radius) + self.loss.flat)

    def _residual_rounding(self, size: float) -> float:
        """Bound on the error of e for the slopes as they are: sums and the L2 part."""
        total = _gamma(self._summed) * self.max_weight * self.kappa
        return 1.001 * (total + 4 * UNIT_ROUNDOFF * self.penalty.l2 * size)

    def require_certifiable(self) -> None:
        """Raise CertificationError where some admissible data set could not be certified."""
        last = self.last
        try:
            last.require_certifiable()
        except CertificationError:
            self._refuse()
        reach = last.radius + 2 * last.tol / self.penalty.l2
        spread = math.sqrt(self.gap / self.penalty.l2)
        rounding = 2 * self._gap_rounding(reach) + 2 * spread * self._residual_rounding(reach)
        certain = self.max_weight * self.loss.smoothing_gap(self.narrowest) + spread * last.tol
        if not certain * (1 + _gamma(self._summed)) + rounding <= self.gap:
            self._refuse()

    def _refuse(self) -> NoReturn:
        raise CertificationError(
            f"A primal-dual gap of {self.gap:.2g} cannot be certified in float64 for "
            f"{self.n_samples} rows of norm {self.kappa:.4g} and weight up to "
            f"{self.max_weight:g}: penalise more, or lower row_norm."
        )


def _gamma(count: int) -> float:
    return count * UNIT_ROUNDOFF / (1 - count * UNIT_ROUNDOFF)

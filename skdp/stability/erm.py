"""How far one record moves the minimiser of a strongly convex objective.

The objective is ``F(w) = (1/n) sum_i s_i loss(w; z_i) + l1 norm_1(w) + l2/2 norm_2(w)^2`` with
``0 <= s_i <= max_weight``, divided by the public n, never by the sum of the weights. Two data sets
that differ in one record (replace-one) have minimisers within ``D / (n l2)``, where D is the
diameter of the set of gradients that one record can have at a common minimiser: the convex rest of
the objective cancels (strong monotonicity of the subdifferential; Bousquet and Elisseeff 2002,
Theorem 22; Chaudhuri, Monteleoni and Sarwate 2011, Corollary 8, for D = 2 L kappa). Where a unit
owns up to m of the n rows, m gradients change at that minimiser, each by at most D: m D / (n l2).
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

from skdp.objectives import ElasticNet
from skdp.objectives.losses import ConvexLoss
from skdp.privacy.budget import Neighbours, Sensitivity
from skdp.solvers import Certificate
from skdp.stability.domain import Domain

# The bounds are evaluated with a handful of rounded operations, each off by 2^-53 relative.
ROUND_UP = 1 + 2.0**-40


@dataclass(frozen=True)
class MinimiserBound(ABC):
    """A proved bound on the distance between two exact minimisers."""

    theorem: str

    @abstractmethod
    def distance(self, loss: ConvexLoss, penalty: ElasticNet, domain: Domain) -> float:
        """Bound on the Euclidean distance when the rows of one unit are replaced."""


@final
@dataclass(frozen=True)
class GradientDiameterBound(MinimiserBound):
    """``m D / (n l2)`` for units of m rows, and at most ``2 max(max_weight L kappa - l1, 0) / l2``.

    The second bound holds because ``l2 norm(w)^2 + l1 norm_1(w) <= max_weight L kappa norm(w)`` at
    a minimiser. It needs the L1 penalty on every released coordinate, so it is left out when the
    unpenalised-by-L1 constant column is there.
    """

    theorem: str = (
        "Minimisers of an l2-strongly convex objective move by at most D/(n l2) when one record is "
        "replaced, D the diameter of the gradients of one record (Bousquet and Elisseeff 2002, "
        "Theorem 22; Chaudhuri, Monteleoni and Sarwate 2011, Corollary 8)"
    )

    def distance(self, loss: ConvexLoss, penalty: ElasticNet, domain: Domain) -> float:
        kappa, weight, l2 = domain.kappa, domain.max_weight, penalty.strong_convexity
        diameter = loss.gradient_diameter(kappa, weight, l2)
        moved = domain.rows_per_unit * diameter / (domain.n_samples * l2)
        if domain.has_intercept or penalty.l1 == 0:
            return moved
        radius = loss.minimiser_radius(kappa, weight, l2)
        slope = weight * loss.gradient_bound(kappa, radius) * kappa
        # The difference cancels: 2^-50 of the slope covers its rounding.
        return min(moved, (2 * max(slope - penalty.l1, 0.0) + 2.0**-50 * slope) / l2)


@final
@dataclass(frozen=True)
class PublishedBound(MinimiserBound):
    """``4 m L kappa / (n l2)``, for comparison: at least twice what is needed.

    L is the Lipschitz constant of the loss; where it has none, its largest slope on the ball that
    holds the minimiser.
    """

    theorem: str = (
        "Sensitivity 4 L kappa/(n lambda) of regularised empirical risk minimisers (Watson, "
        "Rozemberczki and Sarkar 2020, Theorem 4, in the L2 norm)"
    )

    def distance(self, loss: ConvexLoss, penalty: ElasticNet, domain: Domain) -> float:
        kappa, l2 = domain.kappa, penalty.strong_convexity
        slope = loss.gradient_bound(kappa, math.inf)
        if not math.isfinite(slope):
            radius = loss.minimiser_radius(kappa, domain.max_weight, l2)
            slope = loss.gradient_bound(kappa, radius)
        units = domain.n_samples / domain.rows_per_unit
        return 4 * domain.max_weight * slope * kappa / (units * l2)


def minimiser_sensitivity(
    loss: ConvexLoss,
    penalty: ElasticNet,
    certificate: Certificate,
    domain: Domain,
    bound: MinimiserBound,
) -> Sensitivity:
    """Return the L2 sensitivity of a certified minimiser under replace-one.

    Every solver result lies within `certificate.radius` of its exact minimiser, on every input, so
    two of them lie within the distance of the minimisers plus twice the radius. The declared
    tolerance counts, not the one reached.
    """
    moved = bound.distance(loss, penalty, domain) + 2 * certificate.radius
    return Sensitivity(moved * ROUND_UP, "l2", Neighbours.REPLACE_ONE)


def l1_from_l2(sensitivity: Sensitivity, size: int) -> Sensitivity:
    """Return the L1 bound that an L2 bound implies in `size` dimensions: sqrt(size) times it.

    It is attained (rows proportional to (+-1, ..., +-1)), so coordinate Laplace noise cannot do
    with less.
    """
    if sensitivity.norm != "l2":
        raise ValueError(f"An L2 sensitivity is needed, got {sensitivity.norm}.")
    value = sensitivity.value * math.sqrt(size) * ROUND_UP
    return Sensitivity(value, "l1", sensitivity.neighbours)

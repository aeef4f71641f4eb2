"""How much noise: the rules that watson.py compares, each from public facts alone.

With kappa^2 = 2 (rows of norm 1 and a constant column of 1), n records, L = 1 the slope of the
logistic loss, g the L2 part of the penalty, d coefficients:

* tight: D / (n g) in the L2 norm (D the gradient diameter), L2-Laplace noise. What skdp does.
* Theorem 4: 4 L kappa / (n g), times sqrt(d) in the L1 norm, coordinate Laplace noise; the paper's,
  `bound="paper"` in skdp. Valid, with more noise than needed.
* Theorem 7: sqrt(2 beta / g), beta = 2 L^2 kappa^2 / (n g), L2-Laplace noise; valid for minimisers.
* fixed: coordinate Laplace noise of scale 0.1 whatever g is, which is no rule: its epsilon by the
  tight bound is sqrt(d) D / (0.1 n g).
"""

import math
from collections.abc import Callable

from skdp.mechanisms.additive import AdditiveMechanism
from skdp.objectives import ElasticNet, Logistic
from skdp.privacy import Neighbours, PrivacyBudget, Sensitivity
from skdp.stability.domain import Domain
from skdp.stability.erm import GradientDiameterBound, PublishedBound
from skdp.stability.noise import NOISE_RULES, coordinate_laplace, l2_laplace
from skdp.stability.output_perturbation import OutputPerturbationPlan

TOL = 1e-8
L1_RATIO = 0.05
FIXED_SCALE = 0.1
LOSS = Logistic()
TIGHT, PAPER, SQUARE_ROOT, FIXED = "tight", "Theorem 4", "Theorem 7", "fixed b = 0.1"

Rule = Callable[[Domain, ElasticNet, PrivacyBudget], AdditiveMechanism]


def penalty_of(strength: float) -> ElasticNet:
    """Return the elastic net of a given lambda."""
    return ElasticNet(alpha=strength, l1_ratio=L1_RATIO)


def plan(
    domain: Domain, penalty: ElasticNet, budget: PrivacyBudget, noise: str = "l2_laplace"
) -> OutputPerturbationPlan:
    """Plan a fit by the tight rule; its minimiser is that of every rule."""
    bound, kind = GradientDiameterBound(), NOISE_RULES[noise]
    return OutputPerturbationPlan.for_penalty(
        LOSS, penalty, domain, budget, tol=TOL, bound=bound, noise=kind
    )


def _tight(domain: Domain, penalty: ElasticNet, budget: PrivacyBudget) -> AdditiveMechanism:
    return plan(domain, penalty, budget).mechanism


def _paper(domain: Domain, penalty: ElasticNet, budget: PrivacyBudget) -> AdditiveMechanism:
    return OutputPerturbationPlan.for_penalty(
        LOSS, penalty, domain, budget, tol=TOL, bound=PublishedBound(), noise=coordinate_laplace
    ).mechanism


def _square_root(domain: Domain, penalty: ElasticNet, budget: PrivacyBudget) -> AdditiveMechanism:
    convexity = penalty.strong_convexity
    beta = 2 * domain.kappa**2 / (domain.n_samples * convexity)
    moved = math.sqrt(2 * beta / convexity) + 2 * TOL / convexity
    sensitivity = Sensitivity(moved, "l2", Neighbours.REPLACE_ONE)
    return l2_laplace(sensitivity, budget, domain.n_columns)


def _fixed(domain: Domain, penalty: ElasticNet, budget: PrivacyBudget) -> AdditiveMechanism:
    scale = Sensitivity(FIXED_SCALE / math.sqrt(domain.n_columns), "l2", Neighbours.REPLACE_ONE)
    return coordinate_laplace(scale, PrivacyBudget(1.0), domain.n_columns)


RULES: dict[str, Rule] = {TIGHT: _tight, PAPER: _paper, SQUARE_ROOT: _square_root, FIXED: _fixed}

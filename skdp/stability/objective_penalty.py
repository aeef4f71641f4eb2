"""The penalty of a perturbed objective, from public facts alone: its ``alpha="auto"``.

The expected excess loss at a strong convexity t has two parts, as in `skdp.stability.tradeoff`:

- bias: the penalised optimum rises by ``norm(w_t)^2 / 2`` per unit of t. The energy
  ``t norm(w_t)^2`` is at most ``t R(t)^2``, R the proved radius; on real data it is about
  `ENERGY` of that for strong penalties, and falls off as a square root where t is less than
  `TURN` times the square of a row's norm, as the minimiser stops growing;
- privacy: a tilt of variance v on each coordinate moves the minimiser by the inverse of n (H + t)
  times it, H the second derivative of the loss, and costs v / (2 n^2) times the sum of
  h / (h + t)^2 over the eigenvalues h of H. These are taken to add up to the bound on the trace
  of H, and to fall off as j^-`DECAY`.

The three constants were chosen on public data sets (adult, breast_cancer, digits, sms_spam,
spambase, wine) for the accuracy of what is released, never on the user's data.
"""

import functools
import math
from typing import Final

import numpy as np

from skdp.exceptions import CertificationError
from skdp.objectives import ElasticNet, Loss
from skdp.privacy.budget import PrivacyBudget
from skdp.stability.domain import Domain
from skdp.stability.objective_perturbation import (
    ObjectivePerturbationPlan,
    TiltFacts,
    TiltRule,
    require_smooth,
    trace_bound,
)
from skdp.stability.tradeoff import PlannedFit

__all__ = ["planned_objective_penalty"]

ENERGY: Final = 0.7
TURN: Final = 0.3
DECAY: Final = 3.0
# Beyond, eigenvalues that fall off so fast are nothing beside any penalty of the grid.
_MOST_EIGENVALUES = 2000
# In units of max_weight kappa^2 / 2, the scale of the loss's curvature.
_GRID = np.logspace(-6, 2, 97)
_LOG_STEP = math.log(_GRID[1] / _GRID[0])


@functools.lru_cache(maxsize=128)
def planned_objective_penalty(
    loss: Loss,
    l1_ratio: float,
    domain: Domain,
    budget: PrivacyBudget,
    *,
    tol: float,
    noise: TiltRule,
) -> ElasticNet:
    """Return the penalty of least expected excess loss, or the next stronger that can be had.

    Where `tol` cannot be certified, or the determinant leaves nothing of epsilon.
    """
    require_smooth(loss)

    def penalty_of(strong_convexity: float) -> ElasticNet:
        return ElasticNet(alpha=strong_convexity / (1 - l1_ratio), l1_ratio=l1_ratio)

    def admissible(penalty: ElasticNet) -> bool:
        try:
            ObjectivePerturbationPlan.for_penalty(
                loss, penalty, domain, budget, tol=tol, noise=noise
            )
        except (CertificationError, ValueError):
            return False
        return True

    scale = domain.max_weight * domain.kappa**2
    grid = _GRID * (scale / 2)
    slope = [0.5 * energy(loss, domain, float(t)) for t in grid]
    costs = [privacy_loss(loss, penalty_of(float(t)), domain, budget, noise) for t in grid]
    excess = np.cumsum(slope) * _LOG_STEP + costs
    # Beyond the grid, for an epsilon that the determinant would use up on it.
    beyond = grid[-1] * 2.0 ** np.arange(1, 60)
    stronger = [penalty_of(float(t)) for t in (*grid[np.argmin(excess) :], *beyond)]
    return next(filter(admissible, stronger), stronger[0])


def energy(loss: Loss, domain: Domain, strong_convexity: float) -> float:
    """Typical ``strong_convexity norm(minimiser)^2``."""
    bound = PlannedFit(loss, domain, lambda _: 0.0).energy(strong_convexity)
    root = math.sqrt(strong_convexity / (TURN * domain.max_weight * domain.kappa**2))
    return ENERGY * bound * min(1.0, root)


def privacy_loss(
    loss: Loss, penalty: ElasticNet, domain: Domain, budget: PrivacyBudget, noise: TiltRule
) -> float:
    """Typical rise of the mean loss through the tilt; infinite where epsilon is used up."""
    facts = TiltFacts.of(loss, penalty, domain, budget)
    if not facts.affordable:
        return math.inf
    mechanism = noise(facts, 1.0, 0.0)
    variance = (mechanism.expected_norm / domain.n_samples) ** 2 / facts.size
    eigenvalues = np.arange(1.0, 1 + min(domain.n_columns, _MOST_EIGENVALUES)) ** -DECAY
    eigenvalues *= trace_bound(loss, domain) / (loss.n_outputs * eigenvalues.sum())
    moved = eigenvalues / (eigenvalues + penalty.strong_convexity) ** 2
    return 0.5 * variance * loss.n_outputs * float(moved.sum())

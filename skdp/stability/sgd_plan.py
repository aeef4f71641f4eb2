"""A planned fit by stable SGD: everything that is fixed before the data is read."""

import functools
import math
from dataclasses import dataclass
from typing import Self, final

from skdp.mechanisms.additive import AdditiveMechanism
from skdp.objectives.losses import Loss
from skdp.objectives.nonsmooth import NonSmoothLoss
from skdp.privacy.budget import Neighbours, PrivacyBudget, Sensitivity
from skdp.stability.amplified import AmplifiedRelease, budget_within
from skdp.stability.domain import Domain
from skdp.stability.noise import NoiseRule
from skdp.stability.sgd_bounds import sgd_sensitivity, theorem_of
from skdp.stability.sgd_run import StableRun
from skdp.stability.tradeoff import PlannedFit

__all__ = ["StableSGDPlan", "planned_strong_convexity"]


@final
@dataclass(frozen=True)
class StableSGDPlan:
    """Run, sensitivity and mechanism of one fit, from public facts alone.

    Attributes
    ----------
    run : StableRun
    sensitivity : Sensitivity
        How far one record moves the outcome of the run, rounding included.
    mechanism : AdditiveMechanism
        Releases all coefficients of all outputs and the intercept in one draw.
    """

    run: StableRun
    sensitivity: Sensitivity
    mechanism: AdditiveMechanism

    @classmethod
    def for_run(cls, run: StableRun, budget: PrivacyBudget, noise: NoiseRule) -> Self:
        """Plan a run; refuse one whose steps stretch distances."""
        _refuse_expansion(run)
        sensitivity = sgd_sensitivity(run)
        chance = run.participation.chance(run.n_passes)
        size = run.loss.n_outputs * run.domain.n_columns
        return cls(run, sensitivity, noise(sensitivity, budget_within(budget, chance), size))

    @property
    def curve(self) -> AdditiveMechanism | AmplifiedRelease:
        """What the release costs."""
        chance = self.run.participation.chance(self.run.n_passes)
        return self.mechanism if chance == 1 else AmplifiedRelease(self.mechanism, chance)

    @property
    def theorem(self) -> str:
        """What the sensitivity rests on, with its sources."""
        return theorem_of(self.run)


def _refuse_expansion(run: StableRun) -> None:
    largest, limit = float(run.sizes.max()), run.largest_step
    if largest > limit * (1 + 2.0**-40):
        raise ValueError(
            f"The largest step has size {largest:.4g}; steps above 2 / (max_weight * curvature * "
            f"(row_norm^2 + intercept_scaling^2)) = {limit:.4g} stretch distances, and noise would "
            "grow exponentially with their number. Set eta0 to at most that, give the schedule a "
            "cap, or set a smaller row_norm."
        )


@functools.lru_cache(maxsize=128)  # public facts in, public facts out; audits ask again and again
def planned_strong_convexity(
    loss: Loss, domain: Domain, n_steps: int, budget: PrivacyBudget, noise: NoiseRule
) -> float:
    """Return the l2 of least expected excess loss for steps 1/(l2 t), from public facts alone.

    Such a run is as sensitive as the exact minimiser, D / (n l2), plus, for a loss with a kink,
    W kappa rho / (l2 sqrt(T)); which l2 is best is then a matter of the loss alone.
    """
    smooth = loss.rounded_off if isinstance(loss, NonSmoothLoss) else loss
    kink = loss.slope_range / math.sqrt(n_steps) if isinstance(loss, NonSmoothLoss) else 0.0
    kappa, weight, size = domain.kappa, domain.max_weight, loss.n_outputs * domain.n_columns
    unit = Sensitivity(1.0, "l2", Neighbours.REPLACE_ONE)
    unit_size = noise(unit, budget, size).expected_norm / math.sqrt(size)

    def noise_size(l2: float) -> float:
        diameter = smooth.gradient_diameter(kappa, weight, l2)
        moved = (diameter / domain.n_samples + weight * kappa * kink) / l2
        return unit_size * domain.rows_per_unit * moved

    return PlannedFit(smooth, domain, noise_size).best_strong_convexity()

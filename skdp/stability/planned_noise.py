"""What the noise of a planned fit is expected to cost, wherever it comes in."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, final

from skdp.objectives import ElasticNet, Loss
from skdp.privacy.budget import Neighbours, PrivacyBudget, Sensitivity
from skdp.solvers import Certificate
from skdp.stability.domain import Domain
from skdp.stability.erm import GradientDiameterBound, minimiser_sensitivity
from skdp.stability.noise import NOISE_RULES
from skdp.stability.objective_penalty import planned_objective_penalty, privacy_loss
from skdp.stability.objective_perturbation import (
    OBJECTIVE_NOISES,
    ObjectivePerturbationPlan,
    TiltFacts,
    require_smooth,
    trace_bound,
)
from skdp.stability.output_perturbation import OutputPerturbationPlan, planned_penalty
from skdp.stability.tradeoff import PlannedFit

__all__ = ["PERTURBED", "NoiseFacts", "NoiseOnMinimiser", "PlannedNoise", "TiltOfObjective"]


@final
@dataclass(frozen=True)
class NoiseFacts:
    """Public facts of a fit to be planned.

    Attributes
    ----------
    loss : Loss
    domain : Domain
    budget : PrivacyBudget
    l1_ratio : float
    noise : str
    tol : float
    """

    loss: Loss
    domain: Domain
    budget: PrivacyBudget
    l1_ratio: float
    noise: str
    tol: float

    def penalty(self, alpha: float) -> ElasticNet:
        """Return the elastic net of a strength."""
        return ElasticNet(alpha, self.l1_ratio)

    @property
    def given(self) -> tuple[Loss, float, Domain, PrivacyBudget]:
        """What the planned penalties take."""
        return self.loss, self.l1_ratio, self.domain, self.budget


class PlannedNoise(Protocol):
    """Where noise comes in, and what it costs."""

    def planned(self) -> ElasticNet:
        """Return the penalty that the estimators take by themselves."""

    def require(self, penalty: ElasticNet) -> None:
        """Refuse a penalty that no fit can have."""

    def missed(self, penalty: ElasticNet) -> float:
        """Bound on the loss that the certified minimiser misses; infinite without a plan."""

    def cost(self, penalty: ElasticNet) -> float:
        """Estimate of the loss through the noise, to second order; infinite without a plan."""


@final
@dataclass(frozen=True)
class NoiseOnMinimiser:
    """``perturbation="output"``."""

    facts: NoiseFacts

    @property
    def _rules(self) -> dict[str, Any]:
        facts = self.facts
        noise = NOISE_RULES[facts.noise]
        return {"tol": facts.tol, "bound": GradientDiameterBound(), "noise": noise}

    def planned(self) -> ElasticNet:
        return planned_penalty(*self.facts.given, **self._rules)

    def require(self, penalty: ElasticNet) -> None:
        loss, _, domain, budget = self.facts.given
        if domain.neighbours is not Neighbours.REPLACE_ONE:
            raise ValueError(
                "Noise on the minimiser is for replace-one neighbours; set "
                "perturbation='objective' for zero-out."
            )
        OutputPerturbationPlan.for_penalty(loss, penalty, domain, budget, **self._rules)

    def missed(self, penalty: ElasticNet) -> float:
        return self.facts.tol**2 / (2 * penalty.l2)

    def cost(self, penalty: ElasticNet) -> float:
        return self._fit.privacy_loss(penalty.l2)

    @cached_property
    def _fit(self) -> PlannedFit:
        facts = self.facts
        size = facts.loss.n_outputs * facts.domain.n_columns
        unit = Sensitivity(1.0, "l2", Neighbours.REPLACE_ONE)
        mechanism = NOISE_RULES[facts.noise](unit, facts.budget, size)
        per_unit = mechanism.expected_norm / math.sqrt(size)

        def noise_size(l2: float) -> float:
            penalty, bound = facts.penalty(l2 / (1 - facts.l1_ratio)), GradientDiameterBound()
            certificate = Certificate(facts.tol, penalty.l2)
            moved = minimiser_sensitivity(facts.loss, penalty, certificate, facts.domain, bound)
            return per_unit * moved.value

        return PlannedFit(facts.loss, facts.domain, noise_size)


@final
@dataclass(frozen=True)
class TiltOfObjective:
    """``perturbation="objective"``.

    What the solver misses is hidden in the second noise: the former counts as missed, with what the
    latter costs.
    """

    facts: NoiseFacts

    def __post_init__(self) -> None:
        if self.facts.noise not in OBJECTIVE_NOISES:
            raise ValueError(f"A tilt has no noise={self.facts.noise!r}.")

    @property
    def _rules(self) -> dict[str, Any]:
        return {"tol": self.facts.tol, "noise": OBJECTIVE_NOISES[self.facts.noise]}

    def planned(self) -> ElasticNet:
        return planned_objective_penalty(*self.facts.given, **self._rules)

    def require(self, penalty: ElasticNet) -> None:
        self._plan(penalty)

    def _plan(self, penalty: ElasticNet) -> ObjectivePerturbationPlan:
        loss, _, domain, budget = self.facts.given
        return ObjectivePerturbationPlan.for_penalty(loss, penalty, domain, budget, **self._rules)

    def missed(self, penalty: ElasticNet) -> float:
        if not self._affordable(penalty):
            return math.inf
        mechanism = self._plan(penalty).mechanism
        trace = trace_bound(self.facts.loss, self.facts.domain)
        hidden = mechanism.second.expected_norm**2 / mechanism.size * trace / 2
        return mechanism.solver_radius**2 * penalty.l2 / 2 + hidden

    def cost(self, penalty: ElasticNet) -> float:
        loss, _, domain, budget = self.facts.given
        return privacy_loss(loss, penalty, domain, budget, OBJECTIVE_NOISES[self.facts.noise])

    def _affordable(self, penalty: ElasticNet) -> bool:
        loss, _, domain, budget = self.facts.given
        require_smooth(loss)
        return TiltFacts.of(loss, penalty, domain, budget).affordable


#: By the value of the parameter `perturbation`.
PERTURBED: Mapping[str, Callable[[NoiseFacts], PlannedNoise]] = {
    "output": NoiseOnMinimiser,
    "objective": TiltOfObjective,
}

"""A planned objective perturbation: everything that is fixed before the data is read."""

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Self, final

import numpy as np
import numpy.typing as npt

from skdp._random import RandomSource
from skdp.mechanisms.additive import EPSILON_CAP
from skdp.mechanisms.objective_perturbation import (
    GaussianObjectivePerturbation,
    L2LaplaceObjectivePerturbation,
    ObjectivePerturbation,
)
from skdp.objectives import ElasticNet, Loss, Objective, Tilt
from skdp.privacy.budget import Neighbours, PrivacyBudget, Sensitivity
from skdp.records import Records
from skdp.solvers import Problem, solve_certified
from skdp.stability.domain import Domain
from skdp.stability.erm import ROUND_UP
from skdp.stability.output_perturbation import problem_of

__all__ = [
    "OBJECTIVE_NOISES",
    "ObjectivePerturbationPlan",
    "RecordsToTilt",
    "TiltFacts",
    "TiltRule",
    "require_smooth",
    "trace_bound",
]

Array = npt.NDArray[np.float64]

#: Of the budget beside the determinant, what hides the solver's point may take so much, and costs
#: a hundredth of the tilt then, if the tolerance can be had.
_SECOND_SHARE, _SECOND_COST = 0.05, 0.1
#: A tolerance this much above what rounding allows leaves room for the larger tilt that it causes.
_SPARE, _ROUNDS = 1.25, 60
#: Where the grid of the second noise is too fine to reach the farthest minimiser, so much is tried.
_COARSER = 4.0


@final
@dataclass(frozen=True)
class RecordsToTilt:
    """``n F`` of private records; what `ObjectivePerturbation.release` takes."""

    problem: Problem
    records: Records

    def minimiser(self, tilt: Array) -> Array:
        """Minimise n F(w) + <tilt, w> to the problem's tolerance (of F), whatever the records."""
        problem, n_samples = self.problem, self.records.n_samples
        slope = tilt.reshape(-1, self.records.n_columns) / n_samples
        return solve_certified(
            replace(problem.objective, tilt=Tilt(slope)),
            self.records,
            problem.tol,
            kappa=problem.kappa,
            max_weight=problem.max_weight,
        )

    def summed_gradient(self, coef: Array) -> Array:
        """``sum_i s_i loss'(x_i w; y_i) x_i``, shape of `coef`."""
        records, loss = self.records, self.problem.objective.loss
        return records.gradient_sum(loss.derivative(records.scores(coef), records.targets))


@final
@dataclass(frozen=True)
class TiltFacts:
    """What the size of a tilt follows from.

    Attributes
    ----------
    sensitivity : Sensitivity
        How far one unit moves the summed gradient at any w.
    size : int
        Number of coefficients.
    budget : PrivacyBudget
    log_determinant : float
        What one unit adds to the log determinant of the summed second derivative.
    branches : int
        See `Loss.branches`.
    curvature : float
        Strong convexity of n F.
    """

    sensitivity: Sensitivity
    size: int
    budget: PrivacyBudget
    log_determinant: float
    branches: int
    curvature: float

    @classmethod
    def of(
        cls, loss: Loss, penalty: ElasticNet, domain: Domain, budget: PrivacyBudget
    ) -> "TiltFacts":
        """A record of weight up to W has a gradient of norm at most W L kappa, at any w.

        A record that is nulled, constant column and all, takes its gradient out of the sum; one
        that is replaced puts another in: 2 W L kappa. The determinants are as far apart under
        either relation: second derivatives are positive semi-definite, so that another record put
        in only brings them nearer. Where a unit owns m rows, all bounds are m times those of one.
        """
        per_unit, reach = domain.rows_per_unit, domain.max_weight * domain.kappa
        gradients = 1 if domain.neighbours is Neighbours.ZERO_OUT else 2
        curvature = domain.n_samples * penalty.strong_convexity
        slope = loss.gradient_bound(domain.kappa, math.inf)
        moved = gradients * per_unit * slope * reach * ROUND_UP
        determinant = per_unit * loss.log_determinant(reach * domain.kappa / curvature)
        return cls(
            sensitivity=Sensitivity(moved, "l2", domain.neighbours),
            size=loss.n_outputs * domain.n_columns,
            budget=budget,
            log_determinant=determinant * ROUND_UP,
            branches=loss.branches,
            curvature=curvature,
        )

    @property
    def affordable(self) -> bool:
        """Whether the determinant leaves a twentieth of epsilon, or more."""
        return self.log_determinant <= 0.95 * min(self.budget.epsilon, EPSILON_CAP)

    def fields(self, solver_radius: float, second_share: float) -> dict[str, Any]:
        """Return the fields of a mechanism."""
        return {**vars(self), "solver_radius": solver_radius, "second_share": second_share}


#: Takes facts, the radius of the solver and the cost of its noise relative to that of the tilt.
TiltRule = Callable[[TiltFacts, float, float], ObjectivePerturbation]


def gaussian_tilt(facts: TiltFacts, radius: float, cost: float) -> ObjectivePerturbation:
    """``mu^2`` is shared: (1 + s^2) (1 + cost / s^2) is least for s = cost^(1/4)."""
    share = min(max(cost**0.25, 1e-4), 1.0)
    return GaussianObjectivePerturbation(**facts.fields(radius, share))


def l2_laplace_tilt(facts: TiltFacts, radius: float, cost: float) -> ObjectivePerturbation:
    """``epsilon`` is shared: (1 + s)^2 (1 + cost / s^2) is least for s = cost^(1/3)."""
    share = min(max(cost ** (1 / 3), 1e-4), 1.0)
    return L2LaplaceObjectivePerturbation(**facts.fields(radius, share))


def least_expected_tilt(facts: TiltFacts, radius: float, cost: float) -> ObjectivePerturbation:
    """L2-Laplace for pure budgets, otherwise whichever tilt has the smaller expected norm."""
    laplace = l2_laplace_tilt(facts, radius, cost)
    if facts.budget.delta > 0:
        with suppress(ValueError):
            gaussian = gaussian_tilt(facts, radius, cost)
            _ = gaussian.second  # it may not exist where the first does
            if gaussian.expected_norm < laplace.expected_norm:
                return gaussian
    return laplace


OBJECTIVE_NOISES: Mapping[str, TiltRule] = MappingProxyType(
    {"auto": least_expected_tilt, "l2_laplace": l2_laplace_tilt, "gaussian": gaussian_tilt}
)


@final
@dataclass(frozen=True)
class ObjectivePerturbationPlan:
    """Objective, tolerance and mechanism of one fit, from public facts alone.

    Attributes
    ----------
    problem : Problem
        What is minimised beside the tilt, and the tolerance that the solver reaches on every input
        and every tilt.
    mechanism : ObjectivePerturbation
        Tilts it, solves it and releases all coefficients of all outputs and the intercept.
    """

    problem: Problem
    mechanism: ObjectivePerturbation

    @classmethod
    def for_penalty(
        cls,
        loss: Loss,
        penalty: ElasticNet,
        domain: Domain,
        budget: PrivacyBudget,
        *,
        tol: float,
        noise: TiltRule,
    ) -> Self:
        """Plan a fit with a given penalty; refuse what cannot be certified or paid.

        A smaller tolerance than `tol` is taken where its noise would be felt, and a larger one
        where the largest tilt leaves float64 no choice; what it costs is counted.
        """
        require_smooth(loss)
        facts = TiltFacts.of(loss, penalty, domain, budget)
        _require_determinant(facts, loss, penalty, domain)
        tol = min(tol, _wanted_tolerance(loss, penalty, domain, facts))
        for _ in range(_ROUNDS):
            cost = _second_cost(loss, penalty, domain, facts, tol)
            mechanism = noise(facts, tol / penalty.strong_convexity * ROUND_UP, cost)
            problem = _problem(loss, penalty, domain, tol, mechanism.largest_tilt)
            reached = problem.least_tol <= tol
            if reached and _fits(problem, mechanism):
                break
            tol = _COARSER * tol if reached else _SPARE * problem.least_tol
        problem.require_certifiable()
        return cls(replace(problem, objective=Objective(loss, penalty)), mechanism)

    def released(self, records: Records, rng: RandomSource) -> Array:
        """Tilt, solve and release, shape (n_outputs, n_columns)."""
        objective: Any = RecordsToTilt(self.problem, records)
        return self.mechanism.release(objective, rng)


def _fits(problem: Problem, mechanism: ObjectivePerturbation) -> bool:
    """Whether no reachable point is beyond the largest number of the second release's grid."""
    return problem.radius + mechanism.radius <= mechanism.second.largest


def require_smooth(loss: Loss) -> None:
    """Refuse a loss for which there is no theorem."""
    if not loss.twice_differentiable:
        raise ValueError(
            f"perturbation='objective' needs a loss that is twice differentiable, which "
            f"{type(loss).__name__} is not. Use loss='log_loss' for classes and "
            "loss='log_cosh' for numbers, or perturbation='output'."
        )
    if not math.isfinite(loss.gradient_bound(1.0, math.inf)):
        raise ValueError(
            f"perturbation='objective' needs a loss whose slope is bounded at every w, since a "
            f"tilted objective may have its minimum anywhere; {type(loss).__name__} grows without "
            "bound. Use loss='log_cosh', perturbation='output', or PrivateRidge."
        )


def _require_determinant(facts: TiltFacts, loss: Loss, penalty: ElasticNet, domain: Domain) -> None:
    if facts.affordable:
        return
    needed = _least_strong_convexity(loss, domain, 0.9 * min(facts.budget.epsilon, EPSILON_CAP))
    raise ValueError(
        f"alpha * (1 - l1_ratio) = {penalty.strong_convexity:.3g} leaves nothing of "
        f"epsilon={facts.budget.epsilon!r} for the noise: one unit may change the determinant of "
        f"the second derivatives by e^{facts.log_determinant:.3g}. Set alpha to "
        f"{needed * penalty.alpha / penalty.strong_convexity:.2g} or more, or leave it 'auto'."
    )


def _least_strong_convexity(loss: Loss, domain: Domain, log_determinant: float) -> float:
    """Return a penalty, at most twice the least one, for which a unit adds no more than this."""
    scale = domain.max_weight * domain.kappa**2 / domain.n_samples
    convexity = scale * 2.0**-40
    while domain.rows_per_unit * loss.log_determinant(scale / convexity) > log_determinant:
        convexity *= 2
    return convexity


def _problem(
    loss: Loss, penalty: ElasticNet, domain: Domain, tol: float, largest_tilt: float
) -> Problem:
    """The problem under the largest tilt; of a tilt, only the norm counts in what is required."""
    slope = np.full((1, 1), largest_tilt / domain.n_samples * ROUND_UP)
    tilted = Objective(loss, penalty, Tilt(slope))
    return replace(problem_of(loss, penalty, domain, tol), objective=tilted)


def trace_bound(loss: Loss, domain: Domain) -> float:
    """Bound on the trace of the loss's second derivative."""
    return domain.max_weight * loss.smoothness * domain.kappa**2


def _wanted_tolerance(loss: Loss, penalty: ElasticNet, domain: Domain, facts: TiltFacts) -> float:
    """Tolerance for which the second noise costs little: see `_second_cost`."""
    share = _SECOND_SHARE * _SECOND_COST
    root = math.sqrt(penalty.strong_convexity / trace_bound(loss, domain)) / 4
    return share * facts.sensitivity.value / domain.n_samples * root


def _second_cost(
    loss: Loss, penalty: ElasticNet, domain: Domain, facts: TiltFacts, tol: float
) -> float:
    """What the noise on the solver's point costs in loss relative to the tilt, for equal mu.

    Noise of variance v on w costs v T / 2, T the trace of the loss's second derivative; a tilt of
    variance v moves w by the inverse of n (H + lam) times it, and costs v / (2 n^2) times the sum
    of h / (h + lam)^2 over the eigenvalues h of H, of which one may reach 1 / (4 lam).
    """
    convexity = penalty.strong_convexity
    second = trace_bound(loss, domain) * (2 * tol / convexity) ** 2
    tilt = (facts.sensitivity.value / domain.n_samples) ** 2 / (4 * convexity)
    return second / tilt

"""A planned output perturbation: everything that is fixed before the data is read."""

import functools
import math
from dataclasses import dataclass
from typing import Self, final

import numpy as np
import numpy.typing as npt

from skdp._random import RandomSource
from skdp.exceptions import CertificationError
from skdp.mechanisms.additive import AdditiveMechanism
from skdp.objectives import ElasticNet, Loss, Objective
from skdp.privacy.budget import Neighbours, PrivacyBudget, Sensitivity
from skdp.records import Records
from skdp.solvers import Certificate, Problem, solve_certified
from skdp.stability.domain import Domain
from skdp.stability.erm import MinimiserBound, minimiser_sensitivity
from skdp.stability.noise import NoiseRule
from skdp.stability.tradeoff import PlannedFit

Array = npt.NDArray[np.float64]


@final
@dataclass(frozen=True)
class OutputPerturbationPlan:
    """Objective, tolerance and mechanism of one fit, from public facts alone.

    Attributes
    ----------
    problem : Problem
        What is minimised, and the tolerance that the solver reaches on every input.
    sensitivity : Sensitivity
        How far one record moves the certified minimiser, tolerance included.
    mechanism : AdditiveMechanism
        Releases all coefficients of all outputs and the intercept in one draw.
    """

    problem: Problem
    sensitivity: Sensitivity
    mechanism: AdditiveMechanism

    @classmethod
    def for_penalty(
        cls,
        loss: Loss,
        penalty: ElasticNet,
        domain: Domain,
        budget: PrivacyBudget,
        *,
        tol: float,
        bound: MinimiserBound,
        noise: NoiseRule,
    ) -> Self:
        """Plan a fit with a given penalty; refuse what cannot be certified."""
        problem = problem_of(loss, penalty, domain, tol)
        problem.require_certifiable()
        certificate = Certificate(tol, penalty.strong_convexity)
        sensitivity = minimiser_sensitivity(loss, penalty, certificate, domain, bound)
        mechanism = noise(sensitivity, budget, loss.n_outputs * domain.n_columns)
        return cls(problem, sensitivity, mechanism)

    def released(self, records: Records, rng: RandomSource) -> Array:
        """Solve and release, shape (n_outputs, n_columns)."""
        return self.mechanism.release(self.minimiser(records), rng)

    def minimiser(self, records: Records) -> Array:
        """Return the certified minimiser, shape (n_outputs, n_columns): private until released."""
        problem = self.problem
        return solve_certified(
            problem.objective,
            records,
            problem.tol,
            kappa=problem.kappa,
            max_weight=problem.max_weight,
        )


def problem_of(loss: Loss, penalty: ElasticNet, domain: Domain, tol: float) -> Problem:
    """What is minimised on records of a domain."""
    return Problem(
        Objective(loss, penalty),
        n_samples=domain.n_samples,
        n_features=domain.n_features,
        kappa=domain.kappa,
        max_weight=domain.max_weight,
        tol=tol,
    )


@functools.lru_cache(maxsize=128)  # public facts in, public facts out; audits ask again and again
def planned_penalty(
    loss: Loss,
    l1_ratio: float,
    domain: Domain,
    budget: PrivacyBudget,
    *,
    tol: float,
    bound: MinimiserBound,
    noise: NoiseRule,
) -> ElasticNet:
    """Return the penalty of least expected excess loss, from public facts alone.

    Where `tol` cannot be certified for that one, the next stronger for which it can.
    """
    unit, size = Sensitivity(1.0, "l2", Neighbours.REPLACE_ONE), loss.n_outputs * domain.n_columns
    # By the expected norm, since noise="auto" compares that: where it changes the kind of noise
    # the size does not jump, so that alpha falls as epsilon grows there too.
    unit_size = noise(unit, budget, size).expected_norm / math.sqrt(size)

    def penalty_of(strong_convexity: float) -> ElasticNet:
        return ElasticNet(alpha=strong_convexity / (1 - l1_ratio), l1_ratio=l1_ratio)

    def noise_size(strong_convexity: float) -> float:
        penalty = penalty_of(strong_convexity)
        certificate = Certificate(tol, penalty.strong_convexity)
        return unit_size * minimiser_sensitivity(loss, penalty, certificate, domain, bound).value

    def certifiable(strong_convexity: float) -> bool:
        try:
            problem_of(loss, penalty_of(strong_convexity), domain, tol).require_certifiable()
        except CertificationError:
            return False
        return True

    fit = PlannedFit(loss, domain, noise_size)
    return penalty_of(fit.best_strong_convexity(certifiable))

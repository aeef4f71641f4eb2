"""Minimisers with certificates."""

import numpy as np
import numpy.typing as npt

from skdp.objectives import Objective
from skdp.records import Records
from skdp.solvers.accelerated import accelerated_proximal_gradient
from skdp.solvers.base import Certificate, Problem, Solution, certify, check_certifiable
from skdp.solvers.newton import proximal_newton
from skdp.solvers.point import Search

__all__ = ["Certificate", "Problem", "Solution", "certify", "check_certifiable", "solve_certified"]

Array = npt.NDArray[np.float64]


def solve_certified(
    objective: Objective,
    records: Records,
    tol: float,
    *,
    kappa: float,
    max_weight: float = 1.0,
) -> Array:
    problem = Problem(objective, records.n_samples, records.n_features, kappa, max_weight, tol)
    problem.require_certifiable()
    with np.errstate(all="ignore"):
        search = Search(problem, records)
        point = proximal_newton(search)
        return accelerated_proximal_gradient(search, point).coef

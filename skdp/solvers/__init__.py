"""Minimisers with certificates."""

import numpy as np
import numpy.typing as npt

from skdp.objectives import Objective
from skdp.records import Records
from skdp.solvers.accelerated import accelerated_proximal_gradient
from skdp.solvers.base import Certificate, Problem, certify, check_certifiable
from skdp.solvers.newton import proximal_newton
from skdp.solvers.point import Search

__all__ = ["Certificate", "Problem", "certify", "check_certifiable", "solve_certified"]

Array = npt.NDArray[np.float64]


def solve_certified(
    objective: Objective,
    records: Records,
    tol: float,
    *,
    kappa: float,
    max_weight: float = 1.0,
) -> Array:
    """Return a point whose smallest subgradient is proved to have norm at most `tol`.

    Parameters
    ----------
    objective : Objective
    records : Records
        Rows of norm at most `kappa`, constant column included, weights at most `max_weight`.
    tol : float
        Bound on the norm of the smallest subgradient, rounding errors included.
    kappa, max_weight : float
        Public bounds; the records must keep them.

    Returns
    -------
    ndarray of shape (n_outputs, n_columns)
        At most tol / strong_convexity away from the minimiser, as `Certificate` says.

    Raises
    ------
    CertificationError
        From public facts, before the records are read (`check_certifiable`).

    Notes
    -----
    *Guarantees.* Past that check there is no outcome but a certified point: no exception, no
    warning, no count of steps. Newton's method does the work; should it stop short, a
    first-order method takes over whose arrival is proved (`skdp.solvers.accelerated`). Only
    the time it takes depends on the data.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.objectives import ElasticNet, Logistic, Objective
    >>> from skdp.records import InMemoryRecords, clip_rows
    >>> X = np.array([[3.0, 0.1], [2.0, -0.2], [-1.0, 0.2], [-2.0, -0.1]])
    >>> y = np.array([1.0, 1.0, -1.0, -1.0])
    >>> records = InMemoryRecords(clip_rows(X, 1.0), y, constant=1.0)
    >>> objective = Objective(Logistic(), ElasticNet(alpha=0.1, l1_ratio=0.5))
    >>> solve_certified(objective, records, 1e-8, kappa=2**0.5).round(3)
    array([[ 1.814,  0.   , -0.005]])
    """
    problem = Problem(objective, records.n_samples, records.n_features, kappa, max_weight, tol)
    problem.require_certifiable()
    with np.errstate(all="ignore"):
        search = Search(problem, records)
        return accelerated_proximal_gradient(search, proximal_newton(search)).coef

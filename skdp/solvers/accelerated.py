"""The solver that provably arrives: accelerated proximal gradient steps in epochs.

*In exact arithmetic*, steps of length 1/M with momentum (1 - sqrt(q)) / (1 + sqrt(q)),
q = lam / M, bring F - F* down by (1 - sqrt(q)) each, to within a factor 2 (Nesterov 2004, 2.2.4;
with a prox: Schmidt, Le Roux & Bach 2011). The smallest subgradient r satisfies
F - F* <= r^2 / (2 lam), and after a plain step r^2 <= 2 M (F - F*); so an epoch of
ln(16 / q) / sqrt(q) steps halves r.

*In floating point*, gradients are off by E at most (`Problem.rounding_bound`). A plain step from
w to v lowers F by M ||v - w||^2 / 2 - E ||v - w||, and r(v) <= M ||v - w|| + E. As long as
M ||v - w|| > 3 E this is a fixed amount, so plain steps end with M ||v - w|| <= 3 E, r <= 4 E as
it is and 5 E as it is computed, which is certified when tol >= 6 E. Hence an epoch that fails
to halve r is followed by plain steps, twice as many each time.

Iterates stay within four radii R: the epochs start from 0 or from a point of norm <= 2 R, and
plain steps do not lead away from the minimiser. E at four radii is at most four times as large,
so the same argument first leads to a point with r <= 2 tol, which is near enough for E to be
the value that `Problem.require_certifiable` has compared with tol.
"""

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from skdp.objectives.penalties import soft_threshold
from skdp.solvers.point import Point, Search, norm

Array = npt.NDArray[np.float64]

FARTHEST: Final = 2.0


def accelerated_proximal_gradient(search: Search, start: Point) -> Point:
    """Return a certified point; `start` is used if it is no farther out than a minimiser may be."""
    farthest = FARTHEST * search.problem.radius
    best = start if norm(start.coef) <= farthest else search.origin()
    condition = search.problem.smoothness / search.objective.strong_convexity
    length = math.ceil(math.sqrt(condition) * math.log(16 * condition)) + 1
    plain_length = length
    while not search.certifies(best):
        reached = _steps(search, best, length, _momentum(condition))
        halved = reached.residual <= best.residual / 2 and norm(reached.coef) <= farthest
        if halved or search.certifies(reached):
            best = reached
        else:
            best = _steps(search, best, plain_length, momentum=0.0)
            plain_length *= 2
    return best


def _momentum(condition: float) -> float:
    root = 1 / math.sqrt(condition)
    return (1 - root) / (1 + root)


def _steps(search: Search, start: Point, count: int, momentum: float) -> Point:
    """Run proximal gradient steps from `start`; stop early at a certified point."""
    smoothness = search.problem.smoothness
    previous = coef = start.coef
    for remaining in reversed(range(count)):
        # The last step is a plain one: it is what bounds the subgradient by the value.
        ahead = coef + (momentum if remaining else 0.0) * (coef - previous)
        gradient = search.objective.gradient(ahead, search.records)
        stepped = soft_threshold(ahead - gradient / smoothness, search.levels / smoothness)
        previous, coef = coef, stepped
        if smoothness * norm(coef - ahead) <= search.problem.tol:
            point = Point(search, coef)
            if search.certifies(point):
                return point
    return Point(search, coef)

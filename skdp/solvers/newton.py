"""Damped proximal Newton: the solver that does the work in practice."""

from typing import final

import numpy as np
import numpy.typing as npt

from skdp.solvers.models import Effort, GramModel, ProductModel
from skdp.solvers.point import Point, Search, norm
from skdp.solvers.quadratic import QuadraticModel

Array = npt.NDArray[np.float64]

MAX_STEPS = 200
BISECTIONS = 80
#: A step is short below this part of the way; so many are borne before models are damped.
SHORT, SHORT_STEPS = 0.25, 20
SUFFICIENT_DECREASE = 0.1
LOOSEST_ACCURACY = 0.1
#: Numbers of coefficients and rows up to which a factorisation costs next to nothing.
SMALL, FEW = 600, 2000


def proximal_newton(search: Search, start: Array | None = None) -> Point:
    """Minimise second-order models until a point is certified, or no step helps.

    Sets out from 0 or from `start`. Returns the last point, certified or not.
    """
    newton = ProximalNewton(search, start)
    for _ in range(MAX_STEPS):
        if search.certifies(newton.point) or not newton.advance():
            break
    return newton.point


@final
class ProximalNewton:
    """Steps to the minimiser of a second-order model, or as far that way as it leads down.

    A whole step is taken if it lowers the objective by a fair part of what its slope promises
    (Lee, Sun & Saunders 2014), or if it halves the smallest subgradient seen so far: near the
    minimum, values no longer tell two points apart. Otherwise the lowest point on the way is
    taken. Where there is none, or it is near time and again, as with losses whose curvature jumps,
    the next model is damped (Levenberg 1944); whole steps undo the damping.
    """

    def __init__(self, search: Search, start: Array | None = None) -> None:
        self._search = search
        self.point = search.origin() if start is None else Point(search, start)
        self._first = self._least = self.point.residual
        self._damping = 0.0
        self._short_steps = 0

    def advance(self) -> bool:
        """Take one step; False if there is none to take."""
        search, point = self._search, self.point
        target = self._model().minimise()
        slope = float(np.vdot(point.gradient, target - point.coef))
        slope += search.lasso_change(point, target)
        scores = search.records.scores(target)
        falls = search.change(point, target, scores) <= SUFFICIENT_DECREASE * slope < 0
        full = Point(search, target, scores)
        if falls or full.residual <= self._least / 2:
            return self._move_to(full, self._damping / 10)
        lowest = lowest_between(search, point, full)
        if lowest is None:
            self._damping = 10 * max(self._damping, search.objective.penalty.l2)
            return self._damping <= search.problem.smoothness
        length = norm(lowest.coef - point.coef)
        short = 0 < length < SHORT * norm(full.coef - point.coef)
        self._short_steps += short
        if short and self._short_steps > SHORT_STEPS:
            return self._move_to(lowest, max(4 * self._damping, 0.1 * point.residual / length))
        return self._move_to(lowest, self._damping)

    def _move_to(self, point: Point, damping: float) -> bool:
        self.point, self._least = point, min(self._least, point.residual)
        self._damping = damping if damping > self._search.objective.penalty.l2 / 10 else 0.0
        return True

    def _model(self) -> QuadraticModel:
        """Choose how to hold the second derivative: in full where that is small enough."""
        search, point = self._search, self.point
        shrink = min(LOOSEST_ACCURACY, (point.residual / self._first) ** 0.5)
        accuracy = max(shrink * point.residual, 0.2 * search.problem.tol)
        effort = Effort(accuracy, self._damping)
        moving = ((point.coef != 0) | (point.subgradient != 0)).any(axis=0) | (search.levels == 0)
        columns = np.flatnonzero(moving)
        if _gram_pays(search, len(columns)):
            return GramModel(search, point, effort, None if moving.all() else columns)
        return ProductModel(search, point, effort)


def _gram_pays(search: Search, width: int) -> bool:
    """Whether the second derivative in full costs less than its products.

    Several outputs make it dearer; an L1 part, with several systems to solve, cheaper.
    """
    n_outputs = search.objective.loss.n_outputs
    power = 0.2 if search.objective.penalty.l1 > 0 else 0.5
    size = n_outputs * width
    if size <= SMALL and search.records.n_samples <= FEW:
        return True
    return bool(n_outputs**power * size <= search.records.gram_limit)


def lowest_between(search: Search, point: Point, full: Point) -> Point | None:
    """Return the lowest point between two, found by bisection on the slope; None if the first.

    The slope rises along the way and is negative at the start; scores on the way come by
    interpolation, so that no product with the rows is needed.
    """
    move, scores_move = full.coef - point.coef, full.scores - point.scores
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        if high - low <= 0.05 * low:
            break
        middle = (low + high) / 2
        coef = point.coef + middle * move
        scores = point.scores + middle * scores_move
        if search.slope(coef, scores, move, scores_move) < 0:
            low = middle
        else:
            high = middle
    found = Point(search, point.coef + low * move)
    lower = search.change(point, found.coef, found.scores) < 0
    return found if lower else None

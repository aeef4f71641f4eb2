"""Proximal Newton: the solver that does the work in practice."""

import numpy as np
import numpy.typing as npt

from skdp.solvers.point import Point, Search
from skdp.solvers.quadratic import GramModel, ProductModel, QuadraticModel

Array = npt.NDArray[np.float64]

MAX_STEPS = 100
BISECTIONS = 80
SUFFICIENT_DECREASE = 0.1
LOOSEST_ACCURACY = 0.1
SMALL = 600


def proximal_newton(search: Search) -> Point:
    """Minimise second-order models until a point is certified, or no step helps.

    A step goes to the model's minimiser, or part of the way there: far enough down by Armijo's
    rule (Lee, Sun & Saunders 2014). Where values no longer tell two points apart, halving the
    smallest subgradient counts as well. Returns the last point, certified or not.
    """
    point = search.origin()
    first = point.residual
    for _ in range(MAX_STEPS):
        if search.certifies(point):
            break
        target = model_around(search, point, first).minimise()
        following = step_towards(search, point, target)
        if following is None:
            break
        point = following
    return point


def model_around(search: Search, point: Point, first_residual: float) -> QuadraticModel:
    """Choose how to hold the second derivative: in full where that is small enough."""
    shrink = min(LOOSEST_ACCURACY, (point.residual / first_residual) ** 0.5)
    accuracy = max(shrink * point.residual, 0.2 * search.problem.tol)
    moving = ((point.coef != 0) | (point.subgradient != 0)).any(axis=0) | (search.levels == 0)
    columns = np.flatnonzero(moving)
    if _gram_pays(search, len(columns)):
        return GramModel(search, point, accuracy, None if moving.all() else columns)
    return ProductModel(search, point, accuracy)


def _gram_pays(search: Search, width: int) -> bool:
    """Whether the second derivative in full costs less than its products.

    Several outputs make it dearer; an L1 part, with several systems to solve, cheaper.
    """
    n_outputs = search.objective.loss.n_outputs
    power = 0.2 if search.objective.penalty.l1 > 0 else 0.5
    size = n_outputs * width
    return bool(size <= SMALL or n_outputs**power * size <= search.records.gram_limit)


def step_towards(search: Search, point: Point, target: Array) -> Point | None:
    """Return an acceptable point on the way to `target`."""
    slope = float(np.vdot(point.gradient, target - point.coef))
    slope += search.lasso_change(point, target)
    scores = search.records.scores(target)
    if search.change(point, target, scores) <= SUFFICIENT_DECREASE * slope < 0:
        return Point(search, target, scores)
    full = Point(search, target, scores)
    if full.residual <= point.residual / 2:
        return full
    return _lowest_between(search, point, full)


def _lowest_between(search: Search, point: Point, full: Point) -> Point | None:
    """Return the lowest point between two, found by bisection on the slope.

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

"""A point with all that a solver asks of it."""

from typing import Any, final

import numpy as np
import numpy.typing as npt

from skdp.objectives.penalties import steepest_subgradient
from skdp.records import Records
from skdp.solvers.base import Problem

Array = npt.NDArray[np.float64]


@final
class Point:
    """Scores, gradient of the smooth part and smallest subgradient at `coef`."""

    __slots__ = ("coef", "gradient", "residual", "scores", "subgradient")

    def __init__(self, search: "Search", coef: Array, scores: Array | None = None) -> None:
        self.coef = coef
        self.scores = search.records.scores(coef) if scores is None else scores
        self.gradient = search.objective.gradient(coef, search.records, self.scores)
        self.subgradient = steepest_subgradient(self.gradient, coef, search.levels)
        self.residual = norm(self.subgradient)


@final
class Search:
    """A problem with its records: where solvers look for a certified point."""

    def __init__(self, problem: Problem, records: Records) -> None:
        self.problem = problem
        self.objective = problem.objective
        self.records = records
        penalty = self.objective.penalty
        self.levels: Array = penalty.levels(records.n_features, records.n_columns)

    def origin(self) -> Point:
        """Return the point 0, from where every solver sets out."""
        shape = (self.objective.loss.n_outputs, self.records.n_columns)
        return Point(self, np.zeros(shape))

    def certifies(self, point: Point) -> bool:
        """Whether the point is proved to meet the tolerance."""
        return self.problem.certifies(point.residual, norm(point.coef))

    def change(self, before: Point, coef: Array, scores: Array) -> float:
        """``F(coef) - F(before.coef)``, computed from differences: F itself may be far larger."""
        losses = self.objective.loss.value_change(scores, before.scores, self.records.targets)
        move, middle = coef - before.coef, coef + before.coef
        ridge = self.objective.penalty.l2 / 2 * float(np.vdot(move, middle))
        mean = self.records.total(losses) / self.records.n_samples
        return mean + ridge + self.objective.tilt.value(move) + self.lasso_change(before, coef)

    def slope(self, coef: Array, scores: Array, move: Array, scores_move: Array) -> float:
        """Slope of F at `coef` along `move`, seen from behind where it has a kink."""
        records, penalty = self.records, self.objective.penalty
        slopes = self.objective.loss.derivative(scores, records.targets) * scores_move
        total = records.total(slopes) / records.n_samples
        signs = np.where(coef == 0, -np.sign(move), np.sign(coef))
        pulls = (signs * move * self.levels).sum() + self.objective.tilt.value(move)
        return float(total + penalty.l2 * np.vdot(coef, move) + pulls)

    def lasso_change(self, before: Point, coef: Array) -> float:
        """Change of the L1 part."""
        return float(((np.abs(coef) - np.abs(before.coef)) * self.levels).sum())


def norm(array: npt.NDArray[Any]) -> float:
    """Euclidean norm of all entries."""
    return float(np.sqrt(np.vdot(array, array)))

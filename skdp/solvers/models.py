"""Second-order models of an objective around a point: H in full, or by its products."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

from skdp.solvers.point import Point, Search, norm
from skdp.solvers.quadratic import QuadraticModel

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

MAX_PRODUCTS = 1000


@final
@dataclass(frozen=True)
class Effort:
    """How well a model must be minimised, and what is added to H to keep steps short."""

    accuracy: float
    damping: float = 0.0


@final
class GramModel(QuadraticModel):
    """H in full, over chosen columns; coordinates are (n_outputs, len(columns)), flattened."""

    longest_walk = 300

    def __init__(
        self,
        search: Search,
        point: Point,
        effort: Effort,
        columns: npt.NDArray[np.intp] | None,
    ) -> None:
        self.accuracy = effort.accuracy
        self._columns = columns
        self._shape = point.coef.shape
        self.start = self._chosen(point.coef)
        self.gradient = self._chosen(point.gradient)
        self.levels = self._chosen(np.broadcast_to(search.levels, self._shape))
        self._hessian = hessian(search, point, columns)
        self._hessian.ravel()[:: len(self._hessian) + 1] += effort.damping
        self.diagonal = self._hessian.diagonal()
        self._linear = self._hessian @ self.start - self.gradient

    def _chosen(self, coef: Array) -> Array:
        return (coef if self._columns is None else coef[:, self._columns]).ravel()

    def expand(self, v: Array) -> Array:
        if self._columns is None:
            return v.reshape(self._shape)
        coef = np.zeros(self._shape)
        coef[:, self._columns] = v.reshape(self._shape[0], -1)
        return coef

    def solve(
        self, active: Mask | None, pull: Array | float, v: Array, gradient: Array
    ) -> tuple[Array, Array]:
        target = self._linear - pull
        if active is None or active.all():
            v = cholesky_solve(self._hessian, target)
        else:
            chosen = np.flatnonzero(active)
            v = np.zeros_like(v)
            block = self._hessian[np.ix_(chosen, chosen)]
            v[chosen] = cholesky_solve(block, target[chosen], spare=True)
        return v, self.gradient_at(v)

    def gradient_at(self, v: Array) -> Array:
        gradient: Array = self._hessian @ v - self._linear
        return gradient


@final
class ProductModel(QuadraticModel):
    """H by its products with vectors; coordinates are those of the objective.

    Systems are solved by conjugate gradients, preconditioned by the diagonal, to `accuracy`
    in the norm of the residual.
    """

    longest_walk = 10

    def __init__(self, search: Search, point: Point, effort: Effort) -> None:
        self._search = search
        self._damping = effort.damping
        self.accuracy = effort.accuracy
        self.start, self.gradient = point.coef, point.gradient
        self.levels = np.broadcast_to(search.levels, point.coef.shape)
        objective, records = search.objective, search.records
        self._second = objective.loss.second_derivative(point.scores, records.targets)
        diagonal = records.column_squares(objective.loss.curvature_diagonal(self._second))
        self.diagonal = diagonal / records.n_samples + objective.penalty.l2 + effort.damping

    def expand(self, v: Array) -> Array:
        return v

    def gradient_at(self, v: Array) -> Array:
        return self.gradient + self._product(v - self.start)

    def _product(self, direction: Array) -> Array:
        search = self._search
        product = search.objective.curvature_product(self._second, direction, search.records)
        if self._damping:
            product += self._damping * direction
        return product

    def solve(
        self, active: Mask | None, pull: Array | float, v: Array, gradient: Array
    ) -> tuple[Array, Array]:
        keep: Any = 1.0 if active is None else active
        if active is not None and (v[~active] != 0).any():
            moved = v * keep
            gradient = gradient + self._product(moved - v)
            v = moved
        return self._conjugate_gradients(keep, pull, v, gradient)

    def _conjugate_gradients(
        self, keep: Any, pull: Array | float, v: Array, gradient: Array
    ) -> tuple[Array, Array]:
        # Quotients of numpy's numbers: where Python's raise, these only go astray.
        residual = -(gradient + pull) * keep
        scaled = residual / self.diagonal
        direction, energy = scaled, np.vdot(residual, scaled)
        for _ in range(MAX_PRODUCTS):
            if norm(residual) <= self.accuracy or not energy > 0:
                break
            image = self._product(direction)
            step = energy / np.vdot(direction, image)
            v = v + step * direction
            gradient = gradient + step * image
            residual = -(gradient + pull) * keep
            scaled = residual / self.diagonal
            previous, energy = energy, np.vdot(residual, scaled)
            direction = scaled + (energy / previous) * direction
        return v, gradient


def hessian(search: Search, point: Point, columns: npt.NDArray[np.intp] | None) -> Array:
    """Second derivative of the smooth part over chosen columns of every output."""
    objective, records = search.objective, search.records
    loss, n_outputs = objective.loss, objective.loss.n_outputs
    width = records.n_columns if columns is None else len(columns)
    matrix = np.empty((n_outputs, width, n_outputs, width))
    second = loss.second_derivative(point.scores, records.targets)
    for k, other, sign, weights in loss.curvature_blocks(second):
        gram = records.weighted_gram(weights, columns)
        gram *= sign / records.n_samples
        matrix[k, :, other] = matrix[other, :, k] = gram
    square = matrix.reshape(n_outputs * width, n_outputs * width)
    square.ravel()[:: n_outputs * width + 1] += objective.penalty.l2
    return square


def cholesky_solve(matrix: Array, target: Array, *, spare: bool = False) -> Array:
    """Solve a positive definite system; a matrix that rounding made indefinite gives NaN.

    A symmetric matrix that is spare is factored in place (its transpose has LAPACK's order).
    """
    if not target.size:
        return target
    _, solution, failed = lapack.dposv(matrix.T, target, lower=1, overwrite_a=spare)
    return np.full_like(target, np.nan) if failed else solution

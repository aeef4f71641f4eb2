"""Second-order models of an objective, and their minimisers by the primal-dual active set method.

A model around w is ``<g, v - w> + (v - w)^T H (v - w) / 2 + sum_j level_j |v_j|``. At its
minimiser v, with gradient G = g + H (v - w), every coordinate satisfies
``v_j H_jj = soft(v_j H_jj - G_j, level_j)``: the coordinates with |v_j H_jj - G_j| > level_j are
*active* and have G_j = -level_j sign(v_j H_jj - G_j); the others are 0. Guessing the active set
and the signs from the last v, solving for v and repeating until the guess stands is Newton's
method on these equations (Hintermueller, Ito & Kunisch 2003). Without levels, one solve is all.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

from skdp.objectives.penalties import soft_threshold, steepest_subgradient
from skdp.solvers.point import Point, Search, norm

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

PATIENCE = 5
BURSTS = (20, 40, 80, 160)
MAX_PRODUCTS = 1000


@final
@dataclass(frozen=True)
class Effort:
    """How well a model must be minimised, and what is added to H to keep steps short."""

    accuracy: float
    damping: float = 0.0


class QuadraticModel(ABC):
    """A model in coordinates of its choice: `start`, `gradient` and `levels` share a shape.

    Attributes
    ----------
    start, gradient : ndarray
        w and g.
    levels : ndarray
        Weight of each abs(v_j).
    diagonal : ndarray
        H_jj.
    accuracy : float
        Norm of the model's smallest subgradient at which v will do.
    """

    longest_walk: ClassVar[int]
    start: Array
    gradient: Array
    levels: Array
    diagonal: Array
    accuracy: float

    @abstractmethod
    def solve(
        self, active: Mask | None, pull: Array | float, v: Array, gradient: Array
    ) -> tuple[Array, Array]:
        """Find v, zero where not active, whose gradient G is -pull where active.

        `active` None is all. The last v and its gradient are where an iterative method starts.
        Returns v and G at v.
        """

    @abstractmethod
    def expand(self, v: Array) -> Array:
        """Return v as coefficients of the objective, shape (n_outputs, n_columns)."""

    @abstractmethod
    def gradient_at(self, v: Array) -> Array:
        """Return G at v."""

    def minimise(self) -> Array:
        """Return the minimiser, nearly, as coefficients of the objective."""
        penalised = self.levels > 0
        if not penalised.any():
            return self.expand(self.solve(None, 0.0, self.start, self.gradient)[0])
        v, gradient = self.start, self.gradient
        self._curvature = float(self.diagonal.max())
        for burst in BURSTS:
            found = self._active_set(penalised, v, gradient)
            if found is not None:
                return self.expand(found)
            v, gradient = self._descend(v, gradient, burst)
            if self._will_do(v, gradient):
                return self.expand(v)
        return self.expand(self._walk(penalised, v, gradient))

    def _will_do(self, v: Array, gradient: Array) -> bool:
        """Whether v is below the start and nearly at rest."""
        fall = np.vdot(v - self.start, self.gradient + gradient) / 2
        fall += ((np.abs(v) - np.abs(self.start)) * self.levels).sum()
        return bool(fall < 0) and self.residual(v, gradient) <= self.accuracy

    def residual(self, v: Array, gradient: Array) -> float:
        """Norm of the model's smallest subgradient at v."""
        return norm(steepest_subgradient(gradient, v, self.levels))

    def _active_set(self, penalised: Mask, v: Array, gradient: Array) -> Array | None:
        """Guess signs until they stand or v will do; None if guessing leads nowhere."""
        guess: Array | None = None
        best, patience = math.inf, PATIENCE
        while patience:
            target = self.diagonal * v - gradient
            signs = np.sign(target) * (np.abs(target) > self.levels)
            signs *= penalised
            if guess is not None and np.array_equal(signs, guess):
                return v
            guess = signs
            active = (signs != 0) | ~penalised
            v, gradient = self.solve(active, self.levels * signs, v, gradient)
            residual = self.residual(v, gradient)
            if residual <= self.accuracy and self._will_do(v, gradient):
                return v
            patience = PATIENCE if residual <= best / 2 else patience - 1
            best = min(best, residual)
        return None

    def _descend(self, v: Array, gradient: Array, count: int) -> tuple[Array, Array]:
        """Take accelerated proximal gradient steps with restarts (O'Donoghue & Candes 2015).

        The gradient is affine, so one product with H serves both the step and its length: a
        curvature met on the way that is larger than the one assumed replaces it.
        """
        ahead, gradient_ahead, inertia = v, gradient, 1.0
        for _ in range(count):
            curvature = self._curvature
            step = soft_threshold(ahead - gradient_ahead / curvature, self.levels / curvature)
            gradient_step = self.gradient_at(step)
            move = step - ahead
            met = float(np.vdot(move, gradient_step - gradient_ahead))
            if met > curvature * 1.0001 * float(np.vdot(move, move)):
                self._curvature *= 1.5
                ahead, gradient_ahead, inertia = v, gradient, 1.0
                continue
            if float(np.vdot(move, step - v)) < 0:
                inertia = 1.0
            grown = (1 + math.sqrt(1 + 4 * inertia**2)) / 2
            momentum, inertia = (inertia - 1) / grown, grown
            ahead = step + momentum * (step - v)
            gradient_ahead = gradient_step + momentum * (gradient_step - gradient)
            v, gradient = step, gradient_step
            if curvature * norm(move) <= self.accuracy:
                break
        return v, gradient


    def _walk(self, penalised: Mask, v: Array, gradient: Array) -> Array:
        """Walk downhill from face to face (feature-sign search, Lee et al. 2007).

        Slow and sure: the model's value falls at every step, and there are finitely many
        faces.
        """
        for _ in range(self.longest_walk):
            slack = steepest_subgradient(gradient, v, self.levels)
            if norm(slack) <= self.accuracy:
                break
            following = self._next_face(penalised, slack, v, gradient)
            if following is None:
                break
            v = following
            gradient = self.gradient_at(v)
        return v

    def _next_face(
        self, penalised: Mask, slack: Array, v: Array, gradient: Array
    ) -> Array | None:
        """Return the lowest point on the way to the minimiser for fixed signs, if below v.

        Freeing every coordinate that wants to move is tried first, then the keenest alone,
        which is bound to lead down where the others are at rest, then none.
        """
        support = (v != 0) | ~penalised
        outside = np.where(support, 0.0, np.abs(slack))
        for least in (0.0, outside.max(), np.inf):
            freed = outside >= least if least else outside > 0
            signs = np.where(freed, -np.sign(slack), np.sign(v)) * penalised
            target, _ = self.solve(support | freed, self.levels * signs, v, gradient)
            move = target - v
            against = (v == 0) & (slack * move > 0)
            slope = float(np.vdot(slack, move) + 2 * (self.levels * np.abs(move))[against].sum())
            if slope < 0:
                curvature = float(np.vdot(move, self.gradient_at(target) - gradient))
                return lowest_on_segment(v, move, slope, curvature, self.levels)
        return None


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
            v[chosen] = cholesky_solve(self._hessian[np.ix_(chosen, chosen)], target[chosen])
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
        residual = -(gradient + pull) * keep
        scaled = residual / self.diagonal
        direction, energy = scaled, float(np.vdot(residual, scaled))
        for _ in range(MAX_PRODUCTS):
            if norm(residual) <= self.accuracy or energy <= 0:
                break
            image = self._product(direction)
            step = energy / float(np.vdot(direction, image))
            v = v + step * direction
            gradient = gradient + step * image
            residual = -(gradient + pull) * keep
            scaled = residual / self.diagonal
            previous, energy = energy, float(np.vdot(residual, scaled))
            direction = scaled + (energy / previous) * direction
        return v, gradient


def lowest_on_segment(
    v: Array, move: Array, slope: float, curvature: float, levels: Array
) -> Array:
    """Minimise ``slope t + curvature t^2 / 2 + kinks`` over v + t move, t in [0, 1].

    A kink is where a coordinate crosses 0: the slope jumps by twice its level times its speed,
    and the coordinate is exactly 0 if that is where the minimum lies.
    """
    crossing = np.flatnonzero((v * move < 0) & (np.abs(v) < np.abs(move)) & (levels > 0))
    times = -v.flat[crossing] / move.flat[crossing]
    order = np.argsort(times)
    times, crossing = times[order], crossing[order]
    jumps = 2 * np.abs(move.flat[crossing]) * np.broadcast_to(levels, v.shape).flat[crossing]
    slopes = slope + np.concatenate(([0.0], np.cumsum(jumps)))
    # Piece k runs between crossings k - 1 and k; the first to end uphill holds the minimum.
    ends = np.append(times, 1.0)
    uphill = slopes + curvature * ends >= 0
    piece = int(np.argmax(uphill)) if uphill.any() else len(times)
    start = times[piece - 1] if piece else 0.0
    lowest = min(max(-slopes[piece] / curvature, start), ends[piece])
    found = v + lowest * move
    if piece and lowest == start:
        found.flat[crossing[piece - 1]] = 0.0
    return found


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


def cholesky_solve(matrix: Array, target: Array) -> Array:
    """Solve a positive definite system; a matrix that rounding made indefinite gives NaN."""
    _, solution, failed = lapack.dposv(matrix, target, lower=1)
    return np.full_like(target, np.nan) if failed else solution

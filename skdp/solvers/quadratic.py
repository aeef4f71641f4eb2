"""Second-order models of an objective, and their minimisers by the primal-dual active set method.

A model around w is ``<g, v - w> + (v - w)^T H (v - w) / 2 + sum_j level_j |v_j|``. At its
minimiser v, with gradient G = g + H (v - w), every coordinate satisfies
``v_j H_jj = soft(v_j H_jj - G_j, level_j)``: the coordinates with |v_j H_jj - G_j| > level_j are
*active* and have G_j = -level_j sign(v_j H_jj - G_j); the others are 0. Guessing the active set
and the signs from the last v, solving for v and repeating until the guess stands is Newton's
method on these equations (Hintermueller, Ito & Kunisch 2003). Without levels, one solve is all.
Guesses may go round in circles; then accelerated gradient steps bring v nearer, and if that does
not help, a walk along the faces on which the signs are fixed, which only ever leads down.
"""

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from skdp.objectives.penalties import soft_threshold, steepest_subgradient
from skdp.solvers.point import norm

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

#: Guesses in a row that may fail to halve the residual.
PATIENCE = 5
#: Numbers of first-order steps between rounds of guessing.
BURSTS = (20, 40, 80, 160)


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
            found = self._guess(penalised, v, gradient)
            if found is not None:
                return self.expand(found)
            v, gradient = self._descend(v, gradient, burst)
            if not self._is_below(v, gradient):
                v, gradient = self.start, self.gradient
            elif self.residual(v, gradient) <= self.accuracy:
                return self.expand(v)
        return self.expand(self._walk(penalised, v, gradient))

    def _is_below(self, v: Array, gradient: Array) -> bool:
        """Whether the model is lower at v than at the start."""
        fall = np.vdot(v - self.start, self.gradient + gradient) / 2
        fall += ((np.abs(v) - np.abs(self.start)) * self.levels).sum()
        return bool(fall < 0)

    def residual(self, v: Array, gradient: Array) -> float:
        """Norm of the model's smallest subgradient at v."""
        return norm(steepest_subgradient(gradient, v, self.levels))

    def _guess(self, penalised: Mask, v: Array, gradient: Array) -> Array | None:
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
            if residual <= self.accuracy and self._is_below(v, gradient):
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

    def _next_face(self, penalised: Mask, slack: Array, v: Array, gradient: Array) -> Array | None:
        """Return the lowest point on the way to the minimiser for fixed signs, if below v.

        When the coordinates off zero are at rest, every other one that wants to move is freed,
        or else the keenest alone, which is bound to lead down.
        """
        support = (v != 0) | ~penalised
        outside = np.where(support, 0.0, np.abs(slack))
        keenest = float(outside.max())
        rested = norm(slack[support]) <= 0.1 * keenest
        for least in (0.0, keenest) if rested else (np.inf,):
            freed = (outside >= least) & (outside > 0)
            signs = np.where(freed, -np.sign(slack), np.sign(v)) * penalised
            target, _ = self.solve(support | freed, self.levels * signs, v, gradient)
            move = target - v
            against = (v == 0) & (slack * move > 0)
            slope = float(np.vdot(slack, move) + 2 * (self.levels * np.abs(move))[against].sum())
            if slope < 0:
                curvature = float(np.vdot(move, self.gradient_at(target) - gradient))
                return lowest_on_segment(v, move, slope, curvature, self.levels)
        return None


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
    found: Array = v + lowest * move
    if piece and lowest == start:
        found.flat[crossing[piece - 1]] = 0.0
    return found

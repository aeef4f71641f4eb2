"""What becomes of a released gradient: post-processing, without a cost."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from skdp.mechanisms.statistics import Selection
from skdp.training.gradients import Array, Rows
from skdp.training.steps import Update

__all__ = ["SGD", "Adam", "Descent", "Momentum", "Optimizer"]

#: Values, correction of the mean, and the two scalars: scale and Gamma.
State = tuple[Array, Array, Array]
#: Learning rates and weights of some steps; divisor, decay and number of free parameters.
Facts = tuple[Array, Array, float, float, int]
#: Values and moments; learning rates and corrections of some steps; the numbers of `Adam`.
AdamState = tuple[tuple[Array, Array, Array], Array, Array, tuple[float, float, float]]
#: Below it the mean of the iterates would lose digits by cancellation.
SMALLEST_SCALE = 1e-3


@final
@dataclass(frozen=True, eq=False)
class Descent:
    """The public facts of a descent.

    Attributes
    ----------
    learning_rates : ndarray of shape (n_steps,)
        Step sizes, for the mean gradient.
    divisor : float
        Expected batch size: what a sum is divided by.
    decay : float
        Strength of the L2 penalty ``(decay / 2) ||w||^2``, which needs no data.
    n_free : int
        Number of parameters, at the end of the vector, that do not decay (the intercepts).
    average_from : int
        The result is the mean of the iterates after this many steps; ``n_steps - 1`` gives the
        last one.
    """

    learning_rates: Array
    divisor: float
    decay: float
    n_free: int
    average_from: int

    @property
    def n_steps(self) -> int:
        """Number of steps."""
        return len(self.learning_rates)

    @property
    def averaging(self) -> Array:
        """Weight of each iterate in the result, shape (n_steps,)."""
        weights = np.zeros(self.n_steps)
        weights[self.average_from :] = 1 / (self.n_steps - self.average_from)
        return weights


class Optimizer(ABC):
    """Applies released sums of gradients, in the order of the steps.

    The parameters are ``scale * values``, so that decay costs nothing on coordinates that no
    update touches. The mean of the iterates is kept in the same way: with c_t their weights and
    Gamma_t = sum_{s <= t} c_s scale_s it equals Gamma_T values_T minus the sum over steps of
    Gamma_{t-1} times the change of values in step t.
    """

    def __init__(self, descent: Descent, start: Array) -> None:
        self.scale = 1.0
        self.values = np.array(start, dtype=np.float64)
        self._correction = np.zeros_like(self.values)
        self._descent, self._weights = descent, descent.averaging
        self._gamma, self._step = 0.0, 0

    def apply(self, total: Update) -> None:
        """Make one step with a noisy sum of gradients: of all, or of selected, coordinates."""
        rate = self._descent.learning_rates[self._step]
        self._decay(1 - rate * self._descent.decay)
        where, gradient = _parts(total)
        change = self._direction(where, gradient / self._descent.divisor)
        self._move(where, -rate / self.scale * change)
        self._gamma += self._weights[self._step] * self.scale
        self._step += 1

    def result(self) -> Array:
        """Return the weighted mean of the iterates, after the last step."""
        mean: Array = self._gamma * self.values - self._correction
        return mean

    @abstractmethod
    def _direction(self, where: "slice | Rows", gradient: Array) -> Array:
        """Turn the mean gradient on some coordinates into the direction of the step."""

    def _move(self, where: "slice | Rows", change: Array) -> None:
        self.values[where] += change
        if self._gamma:
            self._correction[where] += self._gamma * change

    def _decay(self, factor: float) -> None:
        if factor == 1:
            return
        self.scale *= factor
        free = slice(len(self.values) - self._descent.n_free, None)
        self._move(free, self.values[free] * (1 / factor - 1))
        if self.scale < SMALLEST_SCALE:
            self._rescale()

    def _rescale(self) -> None:
        self._correction -= self._gamma * self.values
        self.values *= self.scale
        self._gamma, self.scale = 0.0, 1.0


@final
class SGD(Optimizer):
    """Stochastic gradient descent."""

    def arrays(self, n_steps: int) -> tuple[State, Facts]:
        """Return the state, to be changed in place, and the facts of the next steps.

        For compiled code, which makes those steps and hands the state to `made`.
        """
        facts, steps = self._descent, slice(self._step, self._step + n_steps)
        return (self.values, self._correction, np.array([self.scale, self._gamma])), (
            facts.learning_rates[steps],
            self._weights[steps],
            facts.divisor,
            facts.decay,
            facts.n_free,
        )

    def made(self, n_steps: int, state: State) -> None:
        """Take note of steps that compiled code has made."""
        self.scale, self._gamma = state[2].tolist()
        self._step += n_steps

    def _direction(self, where: "slice | Rows", gradient: Array) -> Array:
        return gradient


@final
class Momentum(Optimizer):
    """Heavy ball: the step is the sum of past gradients, each with a share `momentum` of the next.

    So the learning rate acts 1 / (1 - momentum) times in the long run. The velocity of coordinates
    that no update touches stands still.

    References
    ----------
    Polyak (1964), Some methods of speeding up the convergence of iteration methods, eq. 9.
    """

    def __init__(self, descent: Descent, start: Array, momentum: float = 0.9) -> None:
        super().__init__(descent, start)
        self._momentum, self._velocity = momentum, np.zeros_like(self.values)

    def _direction(self, where: "slice | Rows", gradient: Array) -> Array:
        velocity: Array = self._momentum * self._velocity[where] + gradient
        self._velocity[where] = velocity
        return velocity


@final
class Adam(Optimizer):
    """Adam, with decoupled decay; the moments of coordinates that no update touches stand still.

    References
    ----------
    Kingma and Ba (2015), Adam: a method for stochastic optimization, Algorithm 1, with corrections
    made as at the end of section 2.
    """

    def __init__(
        self,
        descent: Descent,
        start: Array,
        betas: tuple[float, float] = (0.9, 0.999),
        floor: float = 1e-8,
    ) -> None:
        super().__init__(descent, start)
        self._betas, self._floor = betas, floor
        self._first, self._second = np.zeros_like(self.values), np.zeros_like(self.values)

    def arrays(self, n_steps: int) -> AdamState:
        """Return the state, to be changed in place, and the facts of the next steps.

        For compiled code, which makes those steps with a scale of 1 and says so by `made`.
        """
        steps = np.arange(self._step, self._step + n_steps)
        return (
            (self.values, self._first, self._second),
            self._descent.learning_rates[steps],
            np.stack(self._corrected(steps), axis=1),
            (*self._betas, self._descent.divisor),
        )

    def made(self, n_steps: int) -> None:
        """Take note of steps that compiled code has made without an average."""
        self._step += n_steps
        self._gamma += float(self._weights[self._step - n_steps : self._step].sum())

    def _direction(self, where: "slice | Rows", gradient: Array) -> Array:
        first, second = self._betas
        self._first[where] += (1 - first) * (gradient - self._first[where])
        self._second[where] += (1 - second) * (gradient**2 - self._second[where])
        factor, floor = self._corrected(self._step)
        direction: Array = factor * self._first[where] / (np.sqrt(self._second[where]) + floor)
        return direction

    def _corrected(self, steps: Any) -> tuple[Any, Any]:
        """Factors and floors of steps that correct both moments for their start at 0."""
        first, second = (1 - beta ** (steps + 1.0) for beta in self._betas)
        return np.sqrt(second) / first, np.sqrt(second) * self._floor


def _parts(total: Update) -> tuple["slice | Rows", Array]:
    if not isinstance(total, Selection):
        return slice(None), total
    if total.values is None:
        raise ValueError("A selection without values is no update.")
    return total.indices, total.values

"""The law of dense Gaussian noise that is drawn only where and when somebody looks.

Textbook DP-SGD makes steps t = 1, ..., T on every coordinate of w,

    w_t = a_t w_{t-1} - (eta_t / B) (G_t + s_t xi_t),    xi_t ~ N(0, 1) independent,

with a_t = 1 - eta_t decay, G_t the sum of the clipped gradients and s_t the standard deviation of
its noise, and returns sum_t c_t w_t with public weights c_t (the mean of the last iterates, say).
On a coordinate that no record of the batch has, G_t of a generalised linear model is 0 and nobody
reads the weight, so its noise can wait.

*Random walk.* With D_t = a_1 ... a_t and w_t = D_t u_t, the walk u_t = u_{t-1} + delta_t has
increments delta_t = -(eta_t / (B D_t)) (G_t + s_t xi_t), of noise variance
v_t = (eta_t s_t / (B D_t))^2.

*Weighted sum.* With Gamma_t = c_1 D_1 + ... + c_t D_t, summation by parts gives

    sum_{s <= t} c_s w_s = Gamma_t u_t - Z_t,    Z_t = sum_{s <= t} Gamma_{s-1} delta_s.

*A gap* of steps i < s <= k without gradients adds N = sum delta_s to u and
M = sum Gamma_{s-1} delta_s to Z. They are jointly Gaussian with mean 0 and

    Var N = V = sum v_s,    Cov(N, M) = S1 = sum v_s Gamma_{s-1},
    Var M = S2 = sum v_s Gamma_{s-1}^2,

differences of prefix sums. The gradient of step k + 1 reads u_k, so N is drawn. Given N, M has mean
N S1 / V and variance S2 - S1^2 / V, independent of all that is read afterwards, as for a Brownian
bridge. The mean is added to Z at once; the variance is only noted as pending, as no gradient reads
Z. Nothing of the kind is needed before the first c_t other than 0. (The sums are kept with
Gamma_T - Gamma_{s-1} in place of Gamma_{s-1}: S1 / V becomes Gamma_T minus it and S2 - S1^2 / V
stays, without cancelling where Gamma has converged and v_t is large.)

*The end.* The last gap adds sum_{i < s <= T} (Gamma_T - Gamma_{s-1}) delta_s to the result. Its
variance and all that is pending are drawn as one normal. So there is one normal for each touch and
one for each coordinate, where the textbook has T for each coordinate.

*Windows.* Under decay v_t grows like D_t^-2. Before D_t falls below 2^-10, or v_t below 10^-10 of
the sum so far, every coordinate is drawn up to date; then Z becomes Z - Gamma u, u becomes D u, and
D and Gamma start again at 1 and 0. So prefix sums keep their digits.

The joint law of all coordinates is the textbook's in real arithmetic. It would not be in finite
arithmetic: the last bits of a sum show how many draws it has, hence whether any record touched the
coordinate. Therefore every coordinate is drawn to the end and then rounded once, to a public grid
far coarser than rounding errors and far finer than the noise: rounded continuous noise, not an
exact integer law. What reads weights in between (Adam, projections, soft thresholds, adaptive
clipping) has no such form.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, final

import numpy as np
import numpy.typing as npt

from skdp._validation import non_negative, positive

__all__ = ["Gap", "Schedule", "Window"]

Array = npt.NDArray[np.float64]
Steps = npt.NDArray[np.int64]

#: A window ends where weights have shrunk this far or a step is this small against those before.
_SMALLEST_SCALE = 2.0**-10
_SMALLEST_VARIANCE = 1e-10

#: Grid of the result, in standard deviations of its noise.
_GRID = 2.0**-20


class Gap(NamedTuple):
    """What the noise of some steps in a row adds to u and to Z.

    Attributes
    ----------
    std : ndarray
        Standard deviation of N, the increment of u.
    slope : ndarray
        S1 / V: the conditional mean of M, the increment of Z, is ``slope * N``.
    pending : ndarray
        S2 - S1^2 / V, the conditional variance of M.
    """

    std: Array
    slope: Array
    pending: Array


@final
@dataclass(frozen=True, eq=False)
class Window:
    """Steps that share one time scale. Arrays have an entry for "before the first step" and n more.

    Attributes
    ----------
    first : int
        Number of steps before the window.
    rate, spread, share : ndarray of shape (n + 1,)
        eta_t / B, eta_t s_t / B and c_t; 0 in front.
    scale : ndarray of shape (n + 1,)
        D_t, 1 in front.
    """

    first: int
    rate: Array
    spread: Array
    share: Array
    scale: Array

    @property
    def n_steps(self) -> int:
        """Number of steps in it."""
        return len(self.scale) - 1

    @property
    def stop(self) -> int:
        """Number of steps up to its end."""
        return self.first + self.n_steps

    @cached_property
    def step(self) -> Array:
        """eta_t / (B D_t): what a gradient is multiplied by."""
        return self.rate / self.scale

    @cached_property
    def weight(self) -> Array:
        """Gamma_t."""
        gamma: Array = np.cumsum(self.share * self.scale)
        return gamma

    @cached_property
    def sums(self) -> Array:
        """Prefix sums of v_t, v_t r_t and v_t r_t^2, r_t = Gamma_n - Gamma_{t-1}; (n + 1, 3)."""
        powers = self._ahead[:, None] ** np.arange(3)
        prefix: Array = np.cumsum(self._variance[:, None] * powers, axis=0)
        return prefix

    @cached_property
    def rest(self) -> Array:
        """sum_{i < s} v_s (Gamma_n - Gamma_{s-1})^2: variance that the last gap adds."""
        terms = (self._variance * self._ahead**2)[1:]
        return np.append(np.cumsum(terms[::-1])[::-1], 0.0)

    def gap(self, start: Steps, stop: int) -> Gap:
        """Return the law of the noise of steps start + 1, ..., stop."""
        variance, cross, square = (self.sums[stop] - self.sums[start]).T
        mean = np.divide(cross, variance, out=np.zeros_like(cross), where=variance > 0)
        # Rounding may leave a little less than 0.
        pending = np.maximum(square - cross * mean, 0.0)
        return Gap(np.sqrt(variance), self.weight[-1] - mean, pending)

    @cached_property
    def _variance(self) -> Array:
        return np.square(self.spread / self.scale)

    @cached_property
    def _ahead(self) -> Array:
        """Gamma_n - Gamma_{t-1}, summed from the end; the entry in front is not used."""
        ahead: Array = np.cumsum((self.share * self.scale)[::-1])[::-1]
        return ahead


@final
@dataclass(frozen=True, eq=False)
class Schedule:
    """The public numbers of a run.

    Parameters
    ----------
    learning_rates : ndarray of shape (n_steps,)
        eta_t, at least 0.
    noise_stds : ndarray of shape (n_steps,)
        s_t, standard deviation of the noise of a sum of gradients, at least 0.
    averaging : ndarray of shape (n_steps,)
        c_t, weight of the t-th iterate in the result, at least 0.
    divisor : float
        B, expected batch size.
    decay : float, default=0.0
        Strength of the L2 penalty on all coordinates but the intercept.

    Raises
    ------
    ValueError
        If numbers are out of range or shapes differ, if a step would take all of the weight away
        (learning rate times decay of 1 or more), or if the result would carry no noise.

    Examples
    --------
    >>> import numpy as np
    >>> rates, stds, mean = np.full(4, 0.5), np.ones(4), np.full(4, 0.25)
    >>> schedule = Schedule(rates, stds, mean, divisor=1.0)
    >>> schedule.result_std  # (1/2) (1^2 + (3/4)^2 + (1/2)^2 + (1/4)^2)^(1/2)
    0.6846...
    >>> (window,) = schedule.windows()
    >>> window.gap(np.array([0]), 2).std  # two steps of 1/2
    array([0.7071...])
    """

    learning_rates: Array
    noise_stds: Array
    averaging: Array
    divisor: float
    decay: float = 0.0

    def __post_init__(self) -> None:
        positive(divisor=self.divisor)
        non_negative(decay=self.decay)
        if not self.learning_rates.shape == self.noise_stds.shape == self.averaging.shape:
            raise ValueError("Learning rates, noise and averaging must have the same shape.")
        for numbers in (self.learning_rates, self.noise_stds, self.averaging):
            if not (numbers >= 0).all():
                raise ValueError("Learning rates, noise and averaging must be at least 0.")
        if not (self._shrinkage > 0).all():
            raise ValueError("The learning rate times the decay must be below 1 in every step.")
        if not 0 < self.result_std < math.inf:
            raise ValueError("The noise of the result must have a finite positive variance.")

    @property
    def n_steps(self) -> int:
        """Number of steps."""
        return len(self.learning_rates)

    @property
    def rates(self) -> Array:
        """eta_t / B."""
        return self.learning_rates / self.divisor

    @cached_property
    def result_std(self) -> float:
        """Standard deviation of the result on a coordinate that decays."""
        return self._result_std(self._shrinkage)

    @property
    def grid(self) -> float:
        """Grid of coordinates that decay: the smallest power of two from 2^-20 std upwards."""
        return _power_of_two(_GRID * self.result_std)

    @property
    def intercept_grid(self) -> float:
        """The same for the intercept, which does not decay."""
        return _power_of_two(_GRID * self._result_std(np.ones(self.n_steps)))

    def windows(self) -> Iterator[Window]:
        """Yield the windows that the run falls into."""
        first = 0
        while first < self.n_steps:
            window = self._window(first)
            yield window
            first = window.stop

    @cached_property
    def _shrinkage(self) -> Array:
        return 1 - self.learning_rates * self.decay

    def _result_std(self, shrinkage: Array) -> float:
        """Step t enters the result with r_t = c_t + a_{t+1} r_{t+1}."""
        weight, variance = 0.0, 0.0
        spreads = self.rates * self.noise_stds
        later = np.append(shrinkage[1:], 0.0)
        for spread, share, factor in zip(
            spreads[::-1], self.averaging[::-1], later[::-1], strict=True
        ):
            weight = share + factor * weight
            variance += (spread * weight) ** 2
        return math.sqrt(variance)

    def _window(self, first: int) -> Window:
        scale: Array = np.multiply.accumulate(self._shrinkage[first:])
        spread = (self.rates * self.noise_stds)[first:]
        stop = 1 + _first_true(_ends(scale, spread))
        run = slice(first, first + stop)

        def padded(front: float, values: Array) -> Array:
            return np.concatenate([np.array([front]), values])

        return Window(
            first,
            padded(0.0, self.rates[run]),
            padded(0.0, spread[:stop]),
            padded(0.0, self.averaging[run]),
            padded(1.0, scale[:stop]),
        )


def _ends(scale: Array, spread: Array) -> npt.NDArray[np.bool_]:
    """Tell after which steps a window must end."""
    shrunk = scale[1:] < _SMALLEST_SCALE
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        variance = np.square(spread / scale)
        small = variance[1:] < _SMALLEST_VARIANCE * np.cumsum(variance)[:-1]
    return np.append(shrunk | (small & (spread[1:] > 0)), True)


def _first_true(flags: npt.NDArray[np.bool_]) -> int:
    return int(np.argmax(flags))


def _power_of_two(least: float) -> float:
    mantissa, exponent = math.frexp(least)
    return math.ldexp(1.0, exponent - 1 if mantissa == 0.5 else exponent)

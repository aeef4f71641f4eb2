"""Expected excess loss of a planned fit, from public facts alone; drives ``alpha="auto"``.

More regularisation means less noise and more bias. For a strong convexity t the two parts are

- bias: the penalised optimum rises by ``norm(w_t)^2 / 2`` per unit of t (envelope theorem), and
  ``t norm(w_t)^2`` is at most the energy ``t R(t)^2``, R the proved radius of the minimiser;
  a minimiser on real data has about `TYPICAL_ENERGY` of that;
- privacy: noise u at a minimiser costs ``E[u_1^2] trace(Hessian) / 2`` with
  ``trace(Hessian) <= max_weight smoothness kappa^2`` for the loss alone (Watson, Rozemberczki and
  Sarkar 2020, section 4, sharpened to second order).

`TYPICAL_ENERGY` is a constant chosen on public data sets (those of the benchmarks), not a function
of the user's data.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from skdp.objectives import Loss
from skdp.stability.domain import Domain

Array = npt.NDArray[np.float64]

TYPICAL_ENERGY = 0.4
# In units of max_weight kappa^2 / 2, the scale of the loss's curvature.
_GRID = np.logspace(-6, 2, 97)
_LOG_STEP = math.log(_GRID[1] / _GRID[0])


@final
@dataclass(frozen=True)
class PlannedFit:
    """What a fit will cost in loss, before it is made.

    Parameters
    ----------
    loss : Loss
        The loss whose constants are used.
    domain : Domain
        Public facts.
    noise_size : callable
        Size of the noise on one coordinate for a given strong convexity: expected norm divided by
        the root of the number of coefficients.
    """

    loss: Loss
    domain: Domain
    noise_size: Callable[[float], float]

    def energy(self, strong_convexity: float) -> float:
        """Bound on ``strong_convexity * norm(minimiser)^2``.

        Huber regression with unknown labels has no such bound for small penalties; there the
        labels are taken to be of the size at which the loss turns linear, as for squared loss.
        """
        weight, kappa = self.domain.max_weight, self.domain.kappa
        radius = self.loss.minimiser_radius(kappa, weight, strong_convexity)
        energy = strong_convexity * radius**2
        if math.isfinite(self.loss.pull):
            return energy
        turn = self.loss.gradient_bound(kappa, radius) / self.loss.smoothness
        return min(energy, weight * turn**2 / 4)

    def privacy_loss(self, strong_convexity: float) -> float:
        """Expected rise of the mean loss through the noise."""
        trace = self.domain.max_weight * self.loss.smoothness * self.domain.kappa**2
        return 0.5 * self.noise_size(strong_convexity) ** 2 * trace

    def excess_loss(self) -> tuple[Array, Array]:
        """Strong convexities and the expected excess loss at each, up to a constant."""
        grid = _GRID * (self.domain.max_weight * self.domain.kappa**2 / 2)
        slope = np.array([0.5 * TYPICAL_ENERGY * self.energy(float(t)) for t in grid])
        noise = np.array([self.privacy_loss(float(t)) for t in grid])
        return grid, np.cumsum(slope) * _LOG_STEP + noise

    def best_strong_convexity(
        self, admissible: Callable[[float], bool] = lambda strong_convexity: True
    ) -> float:
        """The strong convexity of least expected excess loss, or the next larger admissible one.

        Less noise never asks for more of it: the bias does not depend on the budget and the noise
        falls with the strong convexity. Where none is admissible, the largest.
        """
        grid, excess = self.excess_loss()
        candidates = map(float, grid[np.argmin(excess) :])
        return next(filter(admissible, candidates), float(grid[-1]))

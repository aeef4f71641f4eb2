"""Expected excess loss of a planned fit, from public facts alone; drives ``alpha="auto"``.

More regularisation means less noise and more bias. For a strong convexity t the two parts are

- bias: the penalised optimum rises by ``norm(w_t)^2 / 2`` per unit of t (envelope theorem), and
  ``t norm(w_t)^2`` is at most the energy ``t R(t)^2``, R the proved radius of the minimiser;
  a minimiser on real data has about `TYPICAL_ENERGY` of that;
- privacy: noise u at a minimiser costs ``E[u_1^2] trace(Hessian) / 2`` with
  ``trace(Hessian) <= max_weight smoothness kappa^2`` for the loss alone (Watson, Rozemberczki and
  Sarkar 2020, section 4, sharpened to second order).

`TYPICAL_ENERGY` is a constant chosen on public data sets (those of the benchmarks), not a function
of the user's data. `plan` tells both parts, and those that do not decide on the penalty.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, final

import numpy as np
import numpy.typing as npt

from skdp.objectives import Logistic, Loss
from skdp.privacy.budget import Neighbours, PrivacyBudget
from skdp.stability.domain import Domain

if TYPE_CHECKING:
    from skdp.stability.expected_loss import ExpectedLoss

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


def plan(
    n_samples: int,
    n_features: int,
    epsilon: float,
    *,
    delta: float = 0.0,
    loss: Loss | None = None,
    alpha: float | Literal["auto"] = "auto",
    l1_ratio: float = 0.15,
    row_norm: float = 1.0,
    intercept_scaling: float | None = 1.0,
    max_weight: float = 1.0,
    noise: str = "auto",
    tol: float = 1e-8,
    reference_norm: float | None = None,
    perturbation: Literal["output", "objective"] = "output",
    neighbours: Neighbours | str = Neighbours.REPLACE_ONE,
) -> "ExpectedLoss":
    """Say what a private elastic net is expected to lose, before any budget is spent.

    Parameters
    ----------
    n_samples, n_features : int
        Size of the data, public.
    epsilon, delta : float
        The budget.
    loss : Loss or None, default=None
        None is the logistic loss of two classes; ``Multinomial(K)`` is that of K.
    alpha : "auto" or float, default="auto"
        "auto" is what ``alpha="auto"`` of the estimators takes.
    l1_ratio, row_norm, tol
        As of :class:`~skdp.linear_model.PrivateElasticNetClassifier`.
    intercept_scaling : float or None, default=1.0
        None for no intercept.
    max_weight : float, default=1.0
        Largest sample weight times the largest class weight.
    noise : {"auto", "laplace", "l2_laplace", "gaussian"}, default="auto"
    reference_norm : float or None, default=None
        Norm of the model that the loss is compared with; None is a norm for which scores reach 5
        times the width over which the loss bends, a score of 10 for the logistic loss. A guess,
        since no public fact tells how well the labels can be told from the rows.
    perturbation : {"output", "objective"}, default="output"
        Where the noise comes in, as of the estimators.
    neighbours : {"replace-one", "zero-out"}, default="replace-one"
        The relation of the promise; "zero-out" for perturbation="objective" only.

    Returns
    -------
    ExpectedLoss
        Prints as a table; has `alpha`, `chosen`, `kept` and `to_frame`.

    Raises
    ------
    ValueError
        For numbers out of range.
    CertificationError
        When `tol` cannot be certified for these facts.

    Examples
    --------
    >>> expected = plan(20_000, 30, epsilon=1.0)
    >>> round(expected.alpha, 3)
    0.003
    >>> 0.5 < expected.kept < 1
    True
    """
    from skdp.stability.expected_loss import ExpectedLoss  # which is made of a `PlannedFit`

    if perturbation not in ("output", "objective"):
        raise ValueError(f"perturbation must be 'output' or 'objective', got {perturbation!r}.")
    relation = Neighbours(neighbours)
    domain = Domain(
        n_samples, n_features, row_norm, intercept_scaling, max_weight, neighbours=relation
    )
    budget = PrivacyBudget(epsilon, delta)
    loss = Logistic() if loss is None else loss
    if not isinstance(loss, Loss):
        raise TypeError(
            f"loss must be an object of skdp.objectives, such as Huber(1.0), or None; got {loss!r}."
        )
    return ExpectedLoss.planned(
        *(loss, domain, budget, alpha, l1_ratio, noise, tol, reference_norm), perturbation
    )

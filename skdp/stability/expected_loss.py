"""What a released minimiser is expected to lose, part by part, from public facts alone."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self, final

import numpy as np

from skdp._validation import positive
from skdp.objectives import ElasticNet, Loss
from skdp.privacy.budget import PrivacyBudget, Sensitivity
from skdp.solvers import Certificate
from skdp.stability.domain import Domain
from skdp.stability.erm import GradientDiameterBound, minimiser_sensitivity
from skdp.stability.planned_noise import PERTURBED, NoiseFacts, PlannedNoise
from skdp.stability.tradeoff import TYPICAL_ENERGY, PlannedFit

__all__ = ["ExpectedLoss", "LossParts"]

_ROWS, _DECADES, _PIECES = 9, 2, 300
#: The best model is taken to have scores of so many times the width over which the loss bends.
_REACH = 5.0
#: A penalty of so many times the curvature of the loss leaves 0.
_ENDLESS = 1e6


@final
@dataclass(frozen=True)
class LossParts:
    """Expected excess of the mean loss on new records, over that of the best linear model.

    Attributes
    ----------
    regularisation : float
        Estimate of what the penalty costs, beside the best model of the reference norm; see
        `skdp.stability.tradeoff`.
    optimisation : float
        Bound ``tol^2 / (2 l2)`` on what the certified minimiser misses; where the objective is
        tilted, with the cost of the second noise that hides it.
    generalisation : float
        What the loss of new records exceeds that of the records of the fit by: the number of
        coefficients over n (an estimate, exact for large n and a model that is true: Akaike 1974),
        or, where that is smaller, ``max_weight L kappa`` times the sensitivity (a bound: Bousquet
        and Elisseeff 2002).
    privacy : float
        Estimate of what the noise costs, to second order.
    """

    regularisation: float
    optimisation: float
    generalisation: float
    privacy: float

    @property
    def total(self) -> float:
        """The sum of the parts."""
        return self.regularisation + self.optimisation + self.generalisation + self.privacy


@final
@dataclass(frozen=True)
class ExpectedLoss:
    """Expected excess loss as a function of alpha; made by `skdp.stability.tradeoff.plan`.

    Attributes
    ----------
    loss : Loss
    domain : Domain
    budget : PrivacyBudget
    alpha : float
        The penalty that is planned.
    l1_ratio, tol : float
    noise : str
    reference_norm : float
        Norm of the model that the loss is compared with. No public fact tells it.
    perturbation : str, default="output"
        Where the noise comes in.
    """

    loss: Loss
    domain: Domain
    budget: PrivacyBudget
    alpha: float
    l1_ratio: float
    noise: str
    tol: float
    reference_norm: float
    perturbation: str = "output"

    @classmethod
    def planned(
        cls,
        loss: Loss,
        domain: Domain,
        budget: PrivacyBudget,
        alpha: float | Literal["auto"],
        l1_ratio: float,
        noise: str,
        tol: float,
        reference_norm: float | None,
        perturbation: str = "output",
    ) -> Self:
        """Plan; "auto" takes the alpha that the estimators take. Refuse what no fit can do."""
        facts = NoiseFacts(loss, domain, budget, l1_ratio, noise, tol)
        planned = PERTURBED[perturbation](facts)
        penalty = planned.planned() if alpha == "auto" else ElasticNet(alpha, l1_ratio)
        planned.require(penalty)
        if reference_norm is None:
            reference_norm = _REACH * loss.slope_at_zero / loss.smoothness / domain.kappa
        positive(reference_norm=reference_norm)
        return cls(
            *(loss, domain, budget, penalty.alpha, l1_ratio, noise, tol, reference_norm),
            perturbation,
        )

    def parts(self, alpha: float) -> LossParts:
        """Return the parts of the expected excess loss for another penalty."""
        penalty = self._penalty(alpha)
        l2 = penalty.l2
        kappa, weight = self.domain.kappa, self.domain.max_weight
        radius = self.loss.minimiser_radius(kappa, weight, l2)
        slope = weight * self.loss.gradient_bound(kappa, radius) * kappa
        return LossParts(
            regularisation=self._bias(l2),
            optimisation=self._noise.missed(penalty),
            generalisation=min(
                slope * self.sensitivity(alpha).value, self._size / self.domain.n_samples
            ),
            privacy=self._noise.cost(penalty),
        )

    def _bias(self, l2: float) -> float:
        """``integral of energy(t) / (2 t) dt`` up to l2, at most the loss of the model 0.

        By the envelope theorem, with the energy ``t norm(w_t)^2`` of a typical minimiser, whose
        norm stops growing at `reference_norm`.
        """
        path = np.geomspace(l2 * 1e-14, l2, _PIECES)
        typical = [TYPICAL_ENERGY * self._fit.energy(float(t)) for t in path]
        energies = np.minimum(typical, path * self.reference_norm**2)
        return min(0.5 * float(np.trapezoid(energies, np.log(path))), self._loss_at_zero)

    @property
    def chosen(self) -> LossParts:
        """The parts for `alpha`."""
        return self.parts(self.alpha)

    def sensitivity(self, alpha: float) -> Sensitivity:
        """Return the L2 sensitivity of the certified minimiser for another penalty."""
        penalty = self._penalty(alpha)
        certificate = Certificate(self.tol, penalty.l2)
        bound = GradientDiameterBound()
        return minimiser_sensitivity(self.loss, penalty, certificate, self.domain, bound)

    @property
    def gain(self) -> float:
        """Estimate of what the best model gains over one that is 0 everywhere."""
        domain = self.domain
        return self._bias(_ENDLESS * domain.max_weight * self.loss.smoothness * domain.kappa**2)

    @property
    def kept(self) -> float:
        """Estimate of the share of `gain` that a private model keeps, in [0, 1)."""
        return max(0.0, 1 - self.chosen.total / self.gain)

    @property
    def alphas(self) -> tuple[float, ...]:
        """Penalties from a hundredth to a hundred times the planned one."""
        powers = np.linspace(-_DECADES, _DECADES, _ROWS)
        return tuple(float(self.alpha * 10.0**power) for power in powers)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame: one row for each of `alphas`, one column for each part."""
        import pandas as pd

        rows = [{**vars(self.parts(a)), "total": self.parts(a).total} for a in self.alphas]
        return pd.DataFrame(rows, index=pd.Index(self.alphas, name="alpha"))

    def __str__(self) -> str:
        head = f"{'alpha':>10}  {'penalty':>9}  {'solver':>9}  {'new data':>9}  {'noise':>9}"
        lines = [f"{head}  {'total':>9}", *map(self._line, self.alphas), "", self._verdict()]
        return "\n".join(lines)

    def _line(self, alpha: float) -> str:
        parts = self.parts(alpha)
        numbers = (*vars(parts).values(), parts.total)
        mark = "  <- planned" if alpha == self.alpha else ""
        return f"{alpha:>10.3g}  " + "  ".join(f"{x:>9.2g}" for x in numbers) + mark

    def _verdict(self) -> str:
        return (
            f"alpha={self.alpha:.3g} is expected to lose {self.chosen.total:.2g}: of the "
            f"{self.gain:.2g} that the best model gains over one that says nothing, "
            f"{self.kept:.0%} is left."
        )

    @property
    def _loss_at_zero(self) -> float:
        """Largest loss of the model that is 0 everywhere; infinite for unbounded labels."""
        if math.isinf(self.loss.pull):
            return math.inf
        scores = np.zeros(1) if self.loss.n_outputs == 1 else np.zeros((1, self.loss.n_outputs))
        target = getattr(self.loss, "y_bound", 1.0)
        return float(self.loss.value(scores, np.array([target]))[0])

    def _penalty(self, alpha: float) -> ElasticNet:
        return ElasticNet(alpha, self.l1_ratio)

    @property
    def _size(self) -> int:
        """Number of coefficients."""
        return self.loss.n_outputs * self.domain.n_columns

    @cached_property
    def _noise(self) -> PlannedNoise:
        facts = (self.loss, self.domain, self.budget, self.l1_ratio, self.noise, self.tol)
        return PERTURBED[self.perturbation](NoiseFacts(*facts))

    @property
    def _fit(self) -> PlannedFit:
        """Of which the energy alone is asked."""
        return PlannedFit(self.loss, self.domain, lambda _: 0.0)

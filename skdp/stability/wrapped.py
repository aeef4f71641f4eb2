"""A planned release of a wrapped model's minimiser: all that is fixed before the data is read."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
import numpy.typing as npt

from skdp.exceptions import CertificationError
from skdp.objectives import ElasticNet, Loss, Objective
from skdp.objectives.losses import ConvexLoss
from skdp.objectives.piecewise_linear import PiecewiseLinearLoss
from skdp.privacy.budget import Neighbours, PrivacyBudget, Sensitivity
from skdp.records import InMemoryRecords
from skdp.solvers import Problem, solve_certified
from skdp.solvers.dual import GapProblem
from skdp.stability.domain import Domain
from skdp.stability.erm import ROUND_UP, GradientDiameterBound
from skdp.stability.noise import NoiseRule
from skdp.stability.reading import ModelReading
from skdp.stability.tradeoff import PlannedFit

Array = npt.NDArray[np.float64]
CertifiedProblem = Problem | GapProblem

BOUND = GradientDiameterBound()
#: What inexact minimisers may add to the sensitivity, as a share of it, where float64 allows it.
SMOOTH_SHARE, GAP_SHARE = 1e-3, 1e-2
#: No tolerance is wanted looser than this, on the norm of a subgradient.
LOOSEST_TOL = 1e-8
#: Sensitivities that consist of the solver's inaccuracy alone are of no use.
LARGEST_SHARE = 4.0


@final
@dataclass(frozen=True)
class WrappedPlan:
    """Objective and certificate of a wrapped model's minimiser.

    Parameters
    ----------
    reading : ModelReading
        What is minimised.
    problem : Problem or GapProblem
        The same with its certificate: one of `reading.labels.n_problems` alike.
    domain : Domain
        Public facts.
    """

    reading: ModelReading
    problem: CertifiedProblem
    domain: Domain

    @classmethod
    def for_reading(cls, reading: ModelReading, domain: Domain) -> Self:
        """Plan a release; raise CertificationError for what float64 cannot certify."""
        penalty = reading.penalty(domain.n_samples)
        return cls(reading, certified_problem(reading.loss, penalty, domain), domain)

    @property
    def sensitivity(self) -> Sensitivity:
        """L2 bound on the distance of all coefficients together, certificate included."""
        penalty = self.reading.penalty(self.domain.n_samples)
        moved = BOUND.distance(self.reading.loss, penalty, self.domain)
        return joint_sensitivity(moved + 2 * self.problem.certificate.radius, self.reading)

    @property
    def size(self) -> int:
        """Number of coefficients."""
        return size(self.reading, self.domain)

    def minimisers(
        self,
        rows: Any,
        y: npt.NDArray[Any],
        class_weights: Array | None,
        row_weights: Array | None = None,
    ) -> Array:
        """Return certified minimisers, shape (n_outputs, n_columns): private until released.

        `row_weights` are 1, or 0 for places of rows that nobody fills.
        """
        parts = [
            self._solve(
                InMemoryRecords(
                    rows, targets, _product(weights, row_weights), self.reading.constant
                )
            )
            for targets, weights in self._problems(y, class_weights)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _problems(
        self, y: npt.NDArray[Any], class_weights: Array | None
    ) -> Iterator[tuple[npt.NDArray[Any], Any]]:
        for targets, weights in self.reading.labels.problems(y, class_weights):
            yield self._within_reach(targets), weights

    def _within_reach(self, targets: npt.NDArray[Any]) -> npt.NDArray[Any]:
        problem = self.problem
        if isinstance(problem, Problem):
            return targets
        radius = problem.loss.minimiser_radius(
            problem.kappa, problem.max_weight, problem.penalty.strong_convexity
        )
        return problem.loss.within_reach(targets, problem.kappa * radius)

    def _solve(self, records: InMemoryRecords) -> Array:
        problem = self.problem
        if isinstance(problem, GapProblem):
            return problem.solve(records)
        return solve_certified(
            problem.objective,
            records,
            problem.tol,
            kappa=problem.kappa,
            max_weight=problem.max_weight,
        )


def _product(weights: Array | None, others: Array | None) -> Array | None:
    if weights is None or others is None:
        return others if weights is None else weights
    return weights * others


def size(reading: ModelReading, domain: Domain) -> int:
    """Number of coefficients that are released together."""
    return reading.labels.n_problems * reading.loss.n_outputs * domain.n_columns


def joint_sensitivity(moved: float, reading: ModelReading) -> Sensitivity:
    """Return the L2 sensitivity of all problems' minimisers, each of which moves by `moved`.

    A record is in all K problems of one class against the rest, so that their distances add in
    squares: sqrt(K) times one of them.
    """
    joint = moved * math.sqrt(reading.labels.n_problems)
    return Sensitivity(joint * ROUND_UP, "l2", Neighbours.REPLACE_ONE)


def exact_sensitivity(reading: ModelReading, domain: Domain) -> Sensitivity:
    """Return the L2 sensitivity of exact minimisers, no certificate included."""
    moved = BOUND.distance(reading.loss, reading.penalty(domain.n_samples), domain)
    return joint_sensitivity(moved, reading)


# ------------------------------------------------------------------------------ how near to certify


def certified_problem(loss: ConvexLoss, penalty: ElasticNet, domain: Domain) -> CertifiedProblem:
    """Return the problem with the tightest certificate that is worth having and can be had."""
    moved = loss.gradient_diameter(domain.kappa, domain.max_weight, penalty.l2)
    moved /= domain.n_samples
    if isinstance(loss, PiecewiseLinearLoss):
        problem = _first_certifiable(_gap_problems(loss, penalty, domain, moved), GAP_SHARE)
    elif isinstance(loss, Loss):
        problem = _first_certifiable(_smooth_problems(loss, penalty, domain, moved), SMOOTH_SHARE)
    else:
        raise TypeError(f"No solver knows the loss {loss!r}.")
    if problem is None:
        raise CertificationError(
            f"A penalty of strong convexity {penalty.l2:.3g} in mean-loss form is not enough to "
            f"certify a minimum over {domain.n_samples} rows of norm {domain.kappa:.4g}: penalise "
            "more (a smaller C, a larger alpha, a smaller l1_ratio), or lower row_norm."
        )
    return problem


def _first_certifiable(
    problem_for: Callable[[float], CertifiedProblem], share: float
) -> CertifiedProblem | None:
    while share <= LARGEST_SHARE:
        problem = problem_for(share)
        try:
            problem.require_certifiable()
        except CertificationError:
            share *= 1.25
        else:
            return problem
    return None


def _smooth_problems(
    loss: Loss, penalty: ElasticNet, domain: Domain, moved: float
) -> Callable[[float], Problem]:
    """Problems by the share 2 tau / (D / n), the tightest at most `LOOSEST_TOL`."""
    scale = min(1.0, 2 * LOOSEST_TOL / (SMOOTH_SHARE * moved))

    def problem_for(share: float) -> Problem:
        return Problem(
            Objective(loss, penalty),
            n_samples=domain.n_samples,
            n_features=domain.n_features,
            kappa=domain.kappa,
            max_weight=domain.max_weight,
            tol=_unscaled(share, scale) * moved / 2,
        )

    return problem_for


def _unscaled(share: float, scale: float) -> float:
    """Start from `SMOOTH_SHARE * scale` and end at `LARGEST_SHARE`, evenly on the log scale."""
    progress = math.log(share / SMOOTH_SHARE) / math.log(LARGEST_SHARE / SMOOTH_SHARE)
    return float(share * scale ** (1 - progress))


def _gap_problems(
    loss: PiecewiseLinearLoss, penalty: ElasticNet, domain: Domain, moved: float
) -> Callable[[float], GapProblem]:
    """Problems by the share 2 sqrt(g / lambda) / (D / (n lambda))."""

    def problem_for(share: float) -> GapProblem:
        return GapProblem(
            loss,
            penalty,
            n_samples=domain.n_samples,
            n_features=domain.n_features,
            kappa=domain.kappa,
            max_weight=domain.max_weight,
            gap=(share * moved / 2) ** 2 / penalty.l2,
        )

    return problem_for


# -------------------------------------------------------------------- what to expect of a release


@final
@dataclass(frozen=True)
class ReleaseForecast:
    """What a release will be like, from public facts alone.

    Attributes
    ----------
    parameter, value : str, float
        The model's own parameter of the penalty, and what it is set to.
    suggested : float
        Value of least expected excess loss.
    sensitivity : float
        L2 distance by which one record can move the weights, with the value as it is.
    noise_norm : float
        Expected Euclidean norm of the noise on all weights.
    noise_loss : float
        Expected rise of the mean loss through the noise, at most.
    possible_gain : float
        Mean loss of a model without weights, which no model can improve on by more.
    n_samples, n_features : int
        For so many rows and columns.
    """

    parameter: str
    value: float
    suggested: float
    sensitivity: float
    noise_norm: float
    noise_loss: float
    possible_gain: float
    n_samples: int
    n_features: int

    @property
    def drowned(self) -> bool:
        """Whether the noise is expected to cost more than a model can be worth."""
        return self.noise_loss >= self.possible_gain

    def __str__(self) -> str:
        verdict = "more" if self.drowned else "less"
        hint = ": nothing is left of it" if self.drowned else ""
        return (
            f"With {self.parameter}={self.value:.3g} and {self.n_samples} rows of "
            f"{self.n_features} columns, one record moves the weights by up to "
            f"{self.sensitivity:.3g}, and the noise has length {self.noise_norm:.3g}. It costs up "
            f"to {self.noise_loss:.2g} in mean loss, {verdict} than the {self.possible_gain:.2g} "
            f"that a model can gain{hint}. Suggested: {self.parameter}={self.suggested:.3g}."
        )


def forecast(
    reading: ModelReading, domain: Domain, budget: PrivacyBudget, noise: NoiseRule
) -> ReleaseForecast:
    """Say what a release will be like, and which penalty to take."""
    coefficients = size(reading, domain)
    unit = noise(Sensitivity(1.0, "l2", Neighbours.REPLACE_ONE), budget, coefficients)
    fit = _planned_fit(reading, domain, unit.expected_norm / math.sqrt(coefficients))
    # One record's move alone: a penalty too weak to certify is to be described too.
    sensitivity = exact_sensitivity(reading, domain).value
    return ReleaseForecast(
        parameter=reading.strength.name,
        value=reading.strength.value,
        suggested=_suggested(reading, domain, fit),
        sensitivity=sensitivity,
        noise_norm=unit.expected_norm * sensitivity,
        noise_loss=fit.privacy_loss(reading.penalty(domain.n_samples).l2),
        possible_gain=domain.max_weight * loss_without_weights(fit.loss),
        n_samples=domain.n_samples,
        n_features=domain.n_features,
    )


def _penalty(reading: ModelReading, strong_convexity: float) -> ElasticNet:
    return ElasticNet(strong_convexity / (1 - reading.l1_ratio), reading.l1_ratio)


def _planned_fit(reading: ModelReading, domain: Domain, unit_size: float) -> PlannedFit:
    def noise_size(strong_convexity: float) -> float:
        moved = BOUND.distance(reading.loss, _penalty(reading, strong_convexity), domain)
        return unit_size * joint_sensitivity(moved, reading).value

    return PlannedFit(smooth_stand_in(reading.loss), domain, noise_size)


def _suggested(reading: ModelReading, domain: Domain, fit: PlannedFit) -> float:
    """Value of the model's parameter of least expected excess loss."""

    def certifiable(strong_convexity: float) -> bool:
        try:
            certified_problem(reading.loss, _penalty(reading, strong_convexity), domain)
        except CertificationError:
            return False
        return True

    alpha = _penalty(reading, fit.best_strong_convexity(certifiable)).alpha
    return reading.strength.value_for(alpha, domain.n_samples)


def loss_without_weights(loss: Loss) -> float:
    """Return the loss at score 0 of the largest target, 1 where none is declared."""
    if loss.n_outputs > 1:
        return math.log(loss.n_outputs)
    target = getattr(loss, "y_bound", 1.0)
    return float(loss.value(np.zeros(1), np.array([target]))[0])


def smooth_stand_in(loss: ConvexLoss) -> Loss:
    """Return a smooth loss for what needs a curvature: one with kinks is rounded off widely."""
    if isinstance(loss, PiecewiseLinearLoss):
        return loss.smoothed(0.5)
    if isinstance(loss, Loss):
        return loss
    raise TypeError(f"Nothing smooth stands for {loss!r}.")

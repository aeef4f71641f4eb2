"""Everything about a private training run that is public: what runs and what it costs."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Self, final

import numpy as np

from skdp._validation import positive, positive_integer
from skdp.privacy.budget import Neighbours, PrivacyBudget
from skdp.training.sampling import Sampler
from skdp.training.schedules import NoiseSchedule
from skdp.training.selectors import CoordinateSelector
from skdp.training.steps import Step

if TYPE_CHECKING:
    from dp_accounting import DpEvent

__all__ = ["TrainingPlan"]

_LARGEST_SUM = 2.0**52
#: Under add-or-remove-one the number of records is private; no batch exceeds the expected
#: number of all records by this factor but with a probability that no arithmetic can see.
_SPARE_RECORDS = 2**8


@final
@dataclass(frozen=True)
class TrainingPlan:
    """A run of private training steps, fixed before the data is looked at.

    Attributes
    ----------
    sampler : Sampler
        Draws the batches and names the relation.
    selector : CoordinateSelector
        Which coordinates are released.
    noise : NoiseSchedule
        Noise multiplier of each step.
    max_grad_norm : float
        Norm to which each record's whole gradient is clipped.
    n_steps : int
        Number of steps of one run.
    size : int
        Number of parameters.
    n_runs : int, default=1
        Number of runs over the same records that `event` covers.
    prior : DpEvent or None, default=None
        What was released of the same records before, under the same budget.
    prior_theorem : str, default=""
        What that is, and rests on.

    Notes
    -----
    *Guarantees.* Selection and noise of a step see the same records, so their costs are composed
    first, amplified by the sampling once, and composed over steps; see `Sampler` for the theorem.

    Examples
    --------
    >>> from skdp.privacy import PrivacyBudget
    >>> from skdp.training import AllCoordinates, ConstantNoise, PoissonSampler, TrainingPlan
    >>> sampler = PoissonSampler.of_batch_size(100, 10_000)
    >>> plan = TrainingPlan(sampler, AllCoordinates(), ConstantNoise(), 1.0, n_steps=200, size=50)
    >>> calibrated = plan.calibrated(PrivacyBudget(1.0, 1e-6))
    >>> 0.9 < calibrated.noise.level < 1.1
    True
    """

    sampler: Sampler
    selector: CoordinateSelector
    noise: NoiseSchedule
    max_grad_norm: float
    n_steps: int
    size: int
    n_runs: int = 1
    prior: "DpEvent | None" = None
    prior_theorem: str = ""

    def __post_init__(self) -> None:
        positive(max_grad_norm=self.max_grad_norm)
        positive_integer(n_steps=self.n_steps, size=self.size, n_runs=self.n_runs)
        planned = sum(count for _, count in self._noise_phases)
        if planned != self.n_steps:
            raise ValueError(
                f"{type(self.noise).__name__} plans {planned} steps of the {self.n_steps} to make."
            )

    @property
    def event(self) -> "DpEvent":
        """What all runs cost together, with what was released before."""
        from dp_accounting import dp_event

        run = self._run_event(self.n_steps)
        runs = run if self.n_runs == 1 else dp_event.SelfComposedDpEvent(run, self.n_runs)
        return self._after_prior(runs)

    def event_after(self, n_steps: int) -> "DpEvent":
        """What the first steps of one run cost, with what was released before."""
        return self._after_prior(self._run_event(n_steps))

    def _after_prior(self, event: "DpEvent") -> "DpEvent":
        from dp_accounting import dp_event

        return event if self.prior is None else dp_event.ComposedDpEvent([self.prior, event])

    def _run_event(self, n_steps: int) -> "DpEvent":
        from dp_accounting import dp_event

        if self.noise.promised is not None:
            return self.noise.promised
        parts, first = [], 0
        for step, count in self._phases:
            if first < n_steps:
                within = min(count, n_steps - first)
                parts.append(self.sampler.event(step.event, within, first))
            first += count
        return parts[0] if len(parts) == 1 else dp_event.ComposedDpEvent(parts)

    @property
    def theorem(self) -> str:
        """What the guarantee rests on."""
        step = self._phases[0][0]
        filtered = "" if self.noise.theorem is None else f". All steps: {self.noise.theorem}"
        each = f"{self.sampler.theorem}. Each step: {step.theorem}"
        before = "" if self.prior is None else f". Before: {self.prior_theorem}"
        return f"Differentially private SGD, {each}{filtered}{before}"

    def calibrated(self, budget: PrivacyBudget) -> Self:
        """Return the plan of the same shape with the least noise that keeps the budget.

        Raises
        ------
        ValueError
            If no noise keeps the budget, as with delta = 0.
        UnsupportedEventError
            If the sampler has no theorem for this selector.
        """
        if budget.delta == 0:
            raise ValueError(
                "delta=0 is kept by no Gaussian noise, which private SGD adds in every step: set "
                "delta well below 1 / n_samples. PrivateElasticNetClassifier takes delta=0."
            )
        if self.noise.adaptive:
            from skdp.training.adaptive_run import filtered

            return replace(self, noise=filtered(self, budget).noise)
        shape = replace(self, noise=self.noise.at_level(1.0))
        calibrated = replace(self, noise=self.noise.at_level(_least_level(shape, budget)))
        if not calibrated._keeps(budget):  # classes of users may be equal that are not the same
            level = _least_level.__wrapped__(shape, budget)
            calibrated = replace(self, noise=self.noise.at_level(level))
        calibrated.refuse_inexact_sums()
        return calibrated

    def _keeps(self, budget: PrivacyBudget) -> bool:
        from skdp.privacy.accounting import epsilon_of

        return epsilon_of(self.event, budget.delta) <= budget.epsilon

    def refuse_inexact_sums(self) -> None:
        """Refuse noise so small that sums on its grid would not be exact in float64."""
        private = self.sampler.neighbours is Neighbours.ADD_OR_REMOVE_ONE
        records = self.sampler.public_size * (_SPARE_RECORDS if private else 1)
        records *= self.sampler.rows_per_unit
        for step, _ in self._phases:
            for norm, grid in step.sums:
                if records * norm / grid > _LARGEST_SUM:
                    raise ValueError(
                        "So little noise on so many records cannot be added exactly in float64; "
                        "lower epsilon."
                    )

    def steps(self) -> Iterator[Step]:
        """Yield the step of each of the `n_steps` steps."""
        if self.noise.adaptive:
            raise ValueError(
                "The noise of these steps depends on what is released: run them by adaptive_dpsgd."
            )
        for step, count in self._phases:
            for _ in range(count):
                yield step

    def step_at(self, multiplier: float) -> Step:
        """Return a step of this noise multiplier."""
        return self.selector.step(self.sampler, self.max_grad_norm, self.size, multiplier)

    def multipliers(self) -> Iterator[float]:
        """Yield the noise multiplier of each step."""
        for multiplier, count in self._noise_phases:
            for _ in range(count):
                yield multiplier

    @property
    def mean_noise(self) -> float:
        """Root mean square of the noise multipliers: that of the mean release of a run."""
        phases = self._noise_phases
        if len(phases) == 1:
            return phases[0][0]
        return math.sqrt(math.fsum(count * sigma**2 for sigma, count in phases) / self.n_steps)

    @property
    def _noise_phases(self) -> list[tuple[float, int]]:
        return self.noise.phases(self.n_steps, self.sampler.steps_per_epoch)

    @cached_property
    def _phases(self) -> list[tuple[Step, int]]:
        return [(self.step_at(multiplier), count) for multiplier, count in self._noise_phases]


@lru_cache(maxsize=256)
def _least_level(shape: TrainingPlan, budget: PrivacyBudget) -> float:
    from skdp.privacy.calibration import calibrate

    start = _first_guess(shape, budget)
    return calibrate(
        lambda level: replace(shape, noise=shape.noise.at_level(level)).event,
        budget,
        (0.8 * start, 1.25 * start),
    )


def _first_guess(shape: TrainingPlan, budget: PrivacyBudget) -> float:
    """Level of the central limit: mu^2 = sum over steps of q^2 (e^(1/sigma^2) - 1).

    Bu, Dong, Long and Su (2020), Deep learning with Gaussian differential privacy, Theorem 4.
    """
    from scipy.optimize import brentq

    from skdp.privacy.gaussian_curve import gaussian_mu

    mu = gaussian_mu(min(budget.epsilon, 40.0), budget.delta)
    wanted = mu**2 * shape.sampler.steps_per_epoch**2 / shape.n_runs
    shares, counts = np.array(shape._noise_phases).T

    def excess(log_level: float) -> float:
        exponents = np.minimum((math.exp(log_level) * shares) ** -2.0, 600.0)
        return math.log(float(counts @ np.expm1(exponents)) / wanted)

    level = shape.sampler.sensitivity(1.0).value * math.exp(brentq(excess, -30.0, 30.0, xtol=1e-3))
    return max(0.3 * shape.sampler.rows_per_unit / float(shares.min()), level)

"""The private loop where the noise depends on what was released: under a filter."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from skdp._random import RandomSource
from skdp.privacy.budget import PrivacyBudget
from skdp.training.gradients import Array, Batch, PerRecordGradients, Rows
from skdp.training.optimizers import Optimizer
from skdp.training.plan import TrainingPlan
from skdp.training.private_loop import Progress
from skdp.training.schedules import ConstantNoise, epochs_of_steps
from skdp.training.validation_noise import ValidationDecay

if TYPE_CHECKING:
    from dp_accounting import DpEvent

    from skdp.privacy.filters import PrivacyFilter

__all__ = ["AdaptiveRun", "adaptive_dpsgd", "filtered"]

#: A filter promises a hair less than the budget, which absorbs all rounding.
_KEPT = 1 - 2.0**-20
#: Share of delta for finite precision, far more than noise takes that hides anything.
_FOR_PRECISION = 2.0**-20


class AdaptiveRun(NamedTuple):
    """What an adaptive run released; all of it is covered by the promise of its filter.

    Attributes
    ----------
    parameters : ndarray of shape (size,)
        The last iterate.
    n_steps : int
        Number of steps that were made, at most that of the plan.
    multipliers : tuple of float
        Noise multiplier of each epoch that was made.
    scores : tuple of float
        Accuracy on the public validation data after each epoch.
    """

    parameters: Array
    n_steps: int
    multipliers: tuple[float, ...]
    scores: tuple[float, ...]


def adaptive_dpsgd(
    plan: TrainingPlan,
    gradients: PerRecordGradients,
    optimizer: Optimizer,
    rng: RandomSource,
    progress: Progress | None,
    score: Callable[[Array], float],
) -> AdaptiveRun:
    """Run a plan whose noise decays by accuracy on public data; stop before it costs too much.

    Parameters
    ----------
    plan : TrainingPlan
        What to run at most; calibrated, with a `ValidationDecay`.
    gradients, optimizer, rng, progress
        As for `dpsgd`.
    score : callable
        Takes the parameters, an ndarray of shape (size,), and returns the accuracy on validation
        data that is public.

    Returns
    -------
    AdaptiveRun
        As private as `plan.event` says, which does not depend on what happened. Not the mean of
        iterates: which ones it would be of is not known beforehand.

    Raises
    ------
    ValueError
        If the total does not cover the first epoch; no record has been read then.

    References
    ----------
    Yu et al. (2019), Differentially private model publishing for deep learning; for what
    the filter proves see `skdp.privacy.filters`.
    """
    schedule = _schedule(plan)
    batches, noise = rng.spawn(), rng.spawn()
    rows = _rows(plan, gradients.n_records, batches)
    allowed = schedule.filter.start()
    multipliers: list[float] = []
    scores: list[float] = []
    made = 0
    for _, count in epochs_of_steps(plan.n_steps, plan.sampler.steps_per_epoch):
        sigma = schedule.multiplier_after(scores)
        step = plan.step_at(sigma)
        if not allowed.admits(plan.sampler.event(step.event, count, made)):
            break
        replace(plan, noise=ConstantNoise(sigma)).refuse_inexact_sums()
        for _ in range(count):
            batch = Batch(gradients, optimizer.values, optimizer.scale, next(rows))
            optimizer.apply(step.release(batch, noise))
        made += count
        multipliers.append(sigma)
        scores.append(score(optimizer.scale * optimizer.values))
        if progress is not None:
            progress(made)
    if not made:
        raise ValueError("The total of the filter does not cover a single epoch.")
    last = optimizer.scale * optimizer.values
    return AdaptiveRun(last, made, tuple(multipliers), tuple(scores))


def filtered(plan: TrainingPlan, budget: PrivacyBudget) -> TrainingPlan:
    """Return the plan with a filter for a budget, and with noise to begin with.

    Where all that a run does is Gaussian noise without sampling, the filter is exact. Else it is
    that of the Renyi order which is best for a run of constant noise.

    Raises
    ------
    UnsupportedEventError
        If there is no filter for what the steps do.
    """
    from skdp.privacy.composition import Parts

    schedule = _schedule(plan)

    def constant(level: float) -> "DpEvent":
        steady = replace(plan, noise=ConstantNoise(level))
        return steady.event_after(plan.n_steps)

    gaussian = Parts.of(constant(1.0)).only_noise
    total, level = (_gaussian if gaussian else _renyi)(plan, constant, budget)
    noise = replace(schedule, level=level * schedule.head_start, total=total)
    ready = replace(plan, noise=noise)
    ready.refuse_inexact_sums()
    _, count = next(epochs_of_steps(plan.n_steps, plan.sampler.steps_per_epoch))
    first = plan.sampler.event(ready.step_at(noise.multiplier_after([])).event, count, 0)
    if not noise.filter.start().admits(first):
        raise ValueError(
            "The budget does not pay for a single epoch of that noise: raise head_start or epsilon."
        )
    return ready


def _gaussian(
    plan: TrainingPlan, constant: Callable[[float], "DpEvent"], budget: PrivacyBudget
) -> tuple["PrivacyFilter", float]:
    from skdp.privacy.composition import Parts
    from skdp.privacy.filters import GaussianFilter
    from skdp.privacy.gaussian_curve import gaussian_mu

    precision = budget.delta * _FOR_PRECISION / plan.n_runs
    delta = budget.delta * (1 - _FOR_PRECISION) * _KEPT
    mu = gaussian_mu(budget.epsilon * _KEPT, delta) / math.sqrt(plan.n_runs)
    level = Parts.of(constant(1.0)).mu / mu
    return GaussianFilter(plan.sampler.neighbours, precision, mu), level


def _renyi(
    plan: TrainingPlan, constant: Callable[[float], "DpEvent"], budget: PrivacyBudget
) -> tuple["PrivacyFilter", float]:
    from scipy.optimize import brentq

    from skdp.exceptions import UnsupportedEventError
    from skdp.privacy.composition import Parts
    from skdp.privacy.filters import RenyiFilter
    from skdp.privacy.renyi import RenyiCurve

    precision = budget.delta * _FOR_PRECISION / plan.n_runs
    delta = budget.delta * (1 - _FOR_PRECISION) * _KEPT

    def curve(level: float) -> RenyiCurve:
        divergences = Parts.of(constant(level)).renyi()
        if divergences is None:
            raise UnsupportedEventError("No Renyi divergence is known for the steps of this plan.")
        return RenyiCurve(divergences * plan.n_runs)

    def excess(log_level: float) -> float:
        return math.log(curve(math.exp(log_level)).epsilon_at(delta) / budget.epsilon)

    low = high = 0.0
    while excess(low) <= 0:
        low -= 1.0
    while excess(high) > 0:
        high += 1.0
    level = math.exp(brentq(excess, low, high, xtol=1e-6)) * (1 + 2e-6)
    order = curve(level).best_order(delta)
    divergence = RenyiCurve.divergence_at(order, budget.epsilon * _KEPT, delta) / plan.n_runs
    return RenyiFilter(plan.sampler.neighbours, precision, order, divergence), level


def _schedule(plan: TrainingPlan) -> ValidationDecay:
    if not isinstance(plan.noise, ValidationDecay):
        raise TypeError(f"{plan.noise!r} is no schedule that depends on what is released.")
    return plan.noise


def _rows(plan: TrainingPlan, n_records: int, rng: RandomSource) -> Iterator[Rows]:
    for block in plan.sampler.blocks(n_records, plan.n_steps, rng):
        yield from block.each()

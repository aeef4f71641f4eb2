"""How long a run of given noise may be."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from skdp._validation import positive, positive_integer
from skdp.privacy.budget import Neighbours, PrivacyBudget
from skdp.training.plan import TrainingPlan
from skdp.training.schedules import EpochSchedule

__all__ = ["EpochsWithin", "epochs_within", "longest"]

_ROUNDING = 1 + 1e-12


class EpochsWithin(NamedTuple):
    """What fits into a total rho.

    Attributes
    ----------
    n_epochs : int
        Number of epochs; the next one would exceed the total.
    rho : float
        What they cost.
    last_multiplier : float
        Noise multiplier of the last of them; infinite where there is none.
    """

    n_epochs: int
    rho: float
    last_multiplier: float


def epochs_within(
    schedule: EpochSchedule,
    rho_total: float,
    neighbours: Neighbours = Neighbours.ZERO_OUT,
    most_epochs: int = 100_000,
) -> EpochsWithin:
    """Count the epochs of a schedule that a total of zero-concentrated privacy pays for.

    An epoch in which each record takes part in one step costs 1 / (2 sigma^2), four times that
    where a record may be replaced. The loop stops before the epoch that would exceed the total.
    Nothing is amplified: with Poisson batches the same epochs cost far less (`longest`).

    Parameters
    ----------
    schedule : EpochSchedule
        At the level sigma_0.
    rho_total : float
        Total rho, above 0; exceeded by rounding at most, 1e-12 of it.
    neighbours : Neighbours, default=Neighbours.ZERO_OUT
        The relation.
    most_epochs : int, default=100_000
        Where to stop in any case.

    Returns
    -------
    EpochsWithin
        Epochs, their cost and the last noise.

    References
    ----------
    Yu et al. (2019), Differentially private model publishing for deep learning, Algorithm 1.

    Examples
    --------
    >>> from skdp.training import ConstantNoise, ExponentialDecay
    >>> epochs_within(ConstantNoise(8.0), 0.78125)
    EpochsWithin(n_epochs=100, rho=0.78125, last_multiplier=8.0)
    >>> epochs_within(ExponentialDecay(0.01, level=10.0), 0.78125).n_epochs
    71
    """
    positive(rho_total=rho_total)
    positive_integer(most_epochs=most_epochs)
    if getattr(schedule, "adaptive", True):
        raise TypeError(
            f"schedule must fix the noise of every epoch beforehand, got {schedule!r}: an adaptive "
            "one costs what its filter allows, however many epochs that is."
        )
    factor = 2 if neighbours is Neighbours.REPLACE_ONE else 1
    rho, last = 0.0, math.inf
    for epoch in range(most_epochs):
        sigma = schedule.multiplier(epoch)
        following = rho + factor**2 / (2 * sigma**2)
        if following > rho_total * _ROUNDING:
            return EpochsWithin(epoch, rho, last)
        rho, last = following, sigma
    return EpochsWithin(most_epochs, rho, last)


def longest(plan: TrainingPlan, budget: PrivacyBudget, most_epochs: int = 10_000) -> TrainingPlan:
    """Return the plan with the most epochs that its noise, as it is, can make within a budget.

    Parameters
    ----------
    plan : TrainingPlan
        Its schedule at the level sigma_0; its `n_steps` does not matter.
    budget : PrivacyBudget
        What all runs may cost.
    most_epochs : int, default=10_000
        Where to stop in any case.

    Returns
    -------
    TrainingPlan
        Of whole epochs; one more would exceed the budget, or `most_epochs`.

    Raises
    ------
    ValueError
        If not even one epoch fits.

    Examples
    --------
    >>> from skdp.training import AllCoordinates, ExponentialDecay, ShuffledBatches
    >>> sampler, noise = ShuffledBatches(600, 60_000), ExponentialDecay(0.0138, level=10.0)
    >>> plan = TrainingPlan(sampler, AllCoordinates(), noise, 4.0, n_steps=1, size=50)
    >>> longest(plan, PrivacyBudget(5.68, 1e-5)).n_steps
    6000
    """
    from skdp.privacy.accounting import epsilon_of, rough_epsilon_of

    positive_integer(most_epochs=most_epochs)
    if not isinstance(plan, TrainingPlan):
        raise TypeError(f"plan must be a TrainingPlan, got {plan!r}.")

    def of_epochs(epochs: int) -> TrainingPlan:
        steps = math.ceil(epochs * plan.sampler.steps_per_epoch * (1 - 2.0**-40))
        return replace(plan, n_steps=steps)

    def keeps(epochs: int) -> bool:
        return epsilon_of(of_epochs(epochs).event, budget.delta) <= budget.epsilon

    def surely_keeps(epochs: int) -> bool:  # the rough account errs on the private side
        return rough_epsilon_of(of_epochs(epochs).event, budget.delta) <= budget.epsilon

    epochs = _most(surely_keeps, most_epochs)
    while epochs < most_epochs and keeps(epochs + 1):
        epochs += 1
    if not epochs:
        raise ValueError(
            f"At this noise not even one epoch keeps epsilon={budget.epsilon:g}: add noise."
        )
    return of_epochs(epochs)


def _most(holds: Callable[[int], bool], limit: int) -> int:
    """Return the greatest number up to a limit for which something holds that holds below too."""
    low, high = 0, 1
    while high <= limit and holds(high):
        low, high = high, 2 * high
    high = min(high, limit + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low

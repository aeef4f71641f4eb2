"""What Zhang, Mironov and Hejazinia (2021) account for a step, beside what it costs.

The paper splits the budget between selection and noise and amplifies each of the two by sampling on
its own, though both see the same batch. NONE of that is a guarantee: it is here to be compared.
"""

from dataclasses import dataclass, replace

from dp_accounting import dp_event

from skdp.privacy import PrivacyBudget
from skdp.privacy.accounting import epsilon_of
from skdp.privacy.calibration import calibrate
from skdp.training import (
    ConstantNoise,
    CoordinateSelector,
    GaussianSelector,
    Sampler,
    TrainingPlan,
)
from skdp.training.steps import RefinedStep, TopKStep

NOISE, SELECTION = PrivacyBudget(20.0, 5e-6), PrivacyBudget(10.0, 5e-6)


@dataclass(frozen=True)
class Claim:
    """A plan, what the paper's split says that it costs, and what it does cost."""

    plan: TrainingPlan
    claimed: float
    sound: float


def split_claim(
    sampler: Sampler, selector: CoordinateSelector, clip: float, n_steps: int, size: int
) -> Claim:
    """Return the plan of epsilon 20 for noise and 10 for selection, each amplified on its own."""
    delta = NOISE.delta + SELECTION.delta
    shape = TrainingPlan(sampler, selector, ConstantNoise(), clip, n_steps=n_steps, size=size)
    noise = calibrate(lambda sigma: _event(shape, sigma, 0.0), NOISE, (0.3, 0.6))
    chosen = calibrate(lambda sigma: _event(shape, sigma, 1.0), SELECTION, (0.3, 0.6))
    multiplier = (noise**-2 + chosen**-2) ** -0.5
    share = chosen**-2 / (noise**-2 + chosen**-2)
    plan = replace(shape, selector=replace(selector, share=share), noise=ConstantNoise(multiplier))
    claimed = NOISE.epsilon + SELECTION.epsilon
    return Claim(plan, claimed, epsilon_of(plan.event, delta))


def _event(shape: TrainingPlan, sigma: float, share: float) -> dp_event.DpEvent:
    """Cost of the noise of all steps (share 0), or of their selections (share 1), alone."""
    even = replace(shape.selector, share=0.5)
    step = even.step(shape.sampler, shape.max_grad_norm, shape.size, sigma * 0.5**0.5)
    assert isinstance(step, RefinedStep)
    part = step.selection if share else step.noise
    return shape.sampler.event(part.event, shape.n_steps)


def published(sampler: Sampler, n_steps: int, size: int, clip: float, delta: float) -> float:
    """Return epsilon of the noise multiplier 0.32 on all coordinates, which the paper has as 30."""
    step = GaussianSelector(1).step(sampler, clip, size, 0.32)
    assert isinstance(step, TopKStep)
    return epsilon_of(sampler.event(step.event, n_steps), delta)

"""DP-SGD on dense records with the steps of a block made in one compiled call."""

from collections.abc import Iterator
from itertools import groupby, islice

from skdp._random import RandomSource
from skdp.training.glm import GlmGradients
from skdp.training.gradients import Array
from skdp.training.optimizers import SGD
from skdp.training.plan import TrainingPlan
from skdp.training.private_loop import Progress
from skdp.training.sampling import Batches
from skdp.training.steps import DenseStep, Step

__all__ = ["fused_dpsgd"]

#: Numbers of noise that are drawn at a time, if more than one step's.
_NOISE_AT_A_TIME = 2**18


def fused_dpsgd(
    plan: TrainingPlan,
    gradients: GlmGradients,
    optimizer: SGD,
    rng: RandomSource,
    progress: Progress | None = None,
) -> Array:
    """Run a plan without a selector on dense records, as `dpsgd` does; same parameters.

    Notes
    -----
    *Guarantees.* Those of `dpsgd`: each step adds to the exact integer sum of its records the
    integers that `GridGaussianMechanism.release` adds, drawn from the same law, and makes the
    step with the total alone. Given the same noise, the parameters are the same bit for bit.
    """
    batches, noise = rng.spawn(), rng.spawn()
    steps, made = plan.steps(), 0
    for block in plan.sampler.blocks(gradients.n_records, plan.n_steps, batches):
        for step, part in _portions(steps, block, gradients.size):
            _run(step, gradients, optimizer, part, noise)
            made += len(part.offsets) - 1
        if progress is not None:
            progress(made)
    return optimizer.result()


def _portions(
    steps: Iterator[Step], block: Batches, size: int
) -> Iterator[tuple[DenseStep, Batches]]:
    """Cut a block where the noise changes, and where the noise of the steps would be large."""
    most, at = max(1, _NOISE_AT_A_TIME // size), 0
    for step, equal in groupby(islice(steps, len(block.offsets) - 1)):
        count = sum(1 for _ in equal)
        for start in range(at, at + count, most):
            stop = min(start + most, at + count)
            yield _dense(step), Batches(block.rows, block.offsets[start : stop + 1])
        at += count


def _dense(step: Step) -> DenseStep:
    if not isinstance(step, DenseStep):
        raise TypeError(f"{type(step).__name__} selects, which the compiled steps do not.")
    return step


def _run(
    step: DenseStep,
    gradients: GlmGradients,
    optimizer: SGD,
    part: Batches,
    rng: RandomSource,
) -> None:
    n_steps = len(part.offsets) - 1
    noise = step.noise.integers(n_steps, rng)
    state, facts = optimizer.arrays(n_steps)
    gradients.descend(state, facts, part, noise, max_norm=step.max_norm, grid=step.noise.grid)
    optimizer.made(n_steps, state)

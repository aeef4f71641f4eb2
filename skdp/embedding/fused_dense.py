"""Steps with noise on every coordinate, made by compiled code where that is the same."""

from typing import Any

import numpy as np

from skdp._random import RandomSource
from skdp.embedding.gradients import CbowGradients
from skdp.training.gradients import Array
from skdp.training.optimizers import Adam
from skdp.training.plan import TrainingPlan
from skdp.training.private_loop import Progress
from skdp.training.rounded_noise import rounded_normals
from skdp.training.steps import DenseStep

__all__ = ["by_word", "can_fuse_dense", "fused_dense_dpsgd"]


def can_fuse_dense(plan: TrainingPlan, gradients: CbowGradients) -> bool:
    """Whether `fused_dense_dpsgd` makes these steps: noise everywhere, and a compiler."""
    step = plan.step_at(next(plan.multipliers()))
    return isinstance(step, DenseStep) and hasattr(gradients.route, "work")


def fused_dense_dpsgd(
    plan: TrainingPlan,
    gradients: CbowGradients,
    optimizer: Adam,
    rng: RandomSource,
    progress: Progress | None,
    begin: Progress,
) -> Array:
    """Run a plan without a selector, as `dpsgd` does; same parameters, no average of iterates.

    Notes
    -----
    *Guarantees.* Those of `dpsgd`: to the exact sum of the records of a step, in units of the
    grid, whole numbers are added, of the law that `GridGaussianMechanism.release` draws from, and
    the step is made with the total alone. Given the same noise, the vectors are the same bit for
    bit.
    """
    from skdp.embedding.dense_kernels import make_step

    batches, noise = rng.spawn(), rng.spawn()
    total = np.empty(gradients.shape)
    steps, made = plan.steps(), 0
    for block in plan.sampler.blocks(gradients.n_records, plan.n_steps, batches):
        state = by_word(optimizer, gradients.shape, len(block.offsets) - 1)
        for place, rows in enumerate(block.each()):
            step = _dense(next(steps))
            begin(made)
            sums = gradients.sums(
                optimizer.values, rows, max_norm=step.max_norm, grid=step.noise.grid
            )
            rounded_normals(step.noise.noise_std, total.reshape(-1), noise)
            make_step(state, place, *sums, total, step.noise.grid)
            made += 1
        optimizer.made(len(block.offsets) - 1)
        if progress is not None:
            progress(made)
    return optimizer.result()


def by_word(optimizer: Adam, shape: tuple[int, int], n_steps: int) -> Any:
    """Return what `Adam.arrays` does, vectors and moments with a row for each word."""
    vectors, *facts = optimizer.arrays(n_steps)
    return (tuple(array.reshape(shape) for array in vectors), *facts)


def _dense(step: object) -> DenseStep:
    if not isinstance(step, DenseStep):
        raise TypeError(f"{type(step).__name__} selects, which the compiled steps do not.")
    return step

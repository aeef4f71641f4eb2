"""The private loop. Models differ in their per-record gradients, and in nothing else."""

from collections.abc import Callable

from skdp._random import RandomSource
from skdp.training.gradients import Array, Batch, PerRecordGradients
from skdp.training.optimizers import Optimizer
from skdp.training.plan import TrainingPlan

__all__ = ["Progress", "dpsgd"]

#: Called with the number of steps that were made.
Progress = Callable[[int], None]


def dpsgd(
    plan: TrainingPlan,
    gradients: PerRecordGradients,
    optimizer: Optimizer,
    rng: RandomSource,
    progress: Progress | None = None,
    begin: Progress | None = None,
) -> Array:
    """Run a plan.

    Parameters
    ----------
    plan : TrainingPlan
        What to run; calibrated.
    gradients : PerRecordGradients
        Sums of clipped gradients of the records.
    optimizer : Optimizer
        Turns released sums into parameters.
    rng : RandomSource
        Where batches and noise come from, each from a stream of its own.
    progress : callable, optional
        Told after each block of steps how many have been made.
    begin : callable, optional
        Told before each step how many have been made.

    Returns
    -------
    ndarray of shape (size,)
        The parameters: a function of what the mechanisms of the steps released, and so private
        as `plan.event` says.

    References
    ----------
    Abadi et al. (2016), Deep learning with differential privacy, Algorithm 1; Zhang, Mironov and
    Hejazinia (2021), Wide network learning with differential privacy, Algorithm 3.
    """
    batches, noise = rng.spawn(), rng.spawn()
    steps = plan.steps()
    made = 0
    for block in plan.sampler.blocks(gradients.n_records, plan.n_steps, batches):
        for rows in block.each():
            step = next(steps)
            if begin is not None:
                begin(made)
            batch = Batch(gradients, optimizer.values, optimizer.scale, rows)
            optimizer.apply(step.release(batch, noise))
            made += 1
        if progress is not None:
            progress(made)
    return optimizer.result()

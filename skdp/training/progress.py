"""A progress bar that shows public facts: steps, epochs, and the epsilon they have cost."""

from collections.abc import Iterator
from contextlib import contextmanager

from skdp.training.plan import TrainingPlan
from skdp.training.private_loop import Progress

__all__ = ["progress_bar"]

_UPDATES = 10


@contextmanager
def progress_bar(plan: TrainingPlan, delta: float, verbose: int) -> Iterator[Progress | None]:
    """Yield what a training run is to call after each block of steps; None where it is quiet.

    Nothing that is shown was computed from the data: no loss, no size of a batch.
    """
    if not verbose:
        yield None
        return
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    from skdp.privacy.accounting import epsilon_of

    columns = (
        TextColumn("step {task.completed} of {task.total}"),
        BarColumn(),
        TextColumn(
            "epoch {task.fields[epoch]:.1f}, epsilon spent {task.fields[epsilon]:.3g}"
            "{task.fields[sigma]}"
        ),
    )
    every = max(1, plan.n_steps // _UPDATES)
    # Noise that follows what is released is not known to the plan.
    noise = [] if plan.noise.adaptive else [f", sigma {sigma:.3g}" for sigma in plan.multipliers()]
    with Bar(*columns) as bar:
        task = bar.add_task("training", total=plan.n_steps, epoch=0.0, epsilon=0.0, sigma="")
        shown = 0

        def report(made: int) -> None:
            nonlocal shown
            if made // every > shown // every or made == plan.n_steps:
                shown = made
                spent = epsilon_of(plan.event_after(made), delta)
                epoch = made / plan.sampler.steps_per_epoch
                sigma = noise[made - 1] if noise else ""
                bar.update(task, completed=made, epoch=epoch, epsilon=spent, sigma=sigma)

        yield report

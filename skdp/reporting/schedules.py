"""A figure of the noise of a run, epoch by epoch, and of what it has cost by then."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skdp.reporting.figures import BLUE, GREY, VERMILION
from skdp.training import TrainingPlan

__all__ = ["draw_schedules"]

# Okabe and Ito (2008), after those of the other figures.
_COLOURS = (BLUE, VERMILION, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", GREY)
_DASHES = ("-", "--", "-.", ":")
_POINTS = 12


def draw_schedules(plans: Mapping[str, TrainingPlan], delta: float, path: Path, title: str) -> None:
    """Write a figure of noise multiplier and cumulative epsilon over the epochs of plans.

    Parameters
    ----------
    plans : dict of str to TrainingPlan
        Names and plans, whose noise is fixed beforehand.
    delta : float
        At which epsilon is shown.
    path : Path
        File to write; its suffix chooses the format.
    title : str
        Heading of the figure.

    Raises
    ------
    ValueError
        If the noise of a plan depends on what it releases.
    """
    from matplotlib.figure import Figure

    adaptive = [name for name, plan in plans.items() if plan.noise.adaptive]
    if adaptive:
        raise ValueError(f"The noise of {adaptive[0]!r} is not known beforehand.")
    figure = Figure(figsize=(9.6, 4.4), layout="constrained")
    figure.suptitle(title, fontsize=13)
    noise, spent = figure.subplots(1, 2)
    for place, (name, plan) in enumerate(plans.items()):
        look = {
            "color": _COLOURS[place % len(_COLOURS)],
            "linestyle": _DASHES[place % len(_DASHES)],
            "linewidth": 1.8,
        }
        noise.step(*_noise_of(plan), where="post", label=name, **look)
        spent.plot(*_spending_of(plan, delta), marker="o", markersize=3, **look)
    _finish(noise, "noise multiplier")
    _finish(spent, f"epsilon spent, at delta = {delta:g}")
    figure.legend(
        *noise.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False
    )
    figure.savefig(path, dpi=150)


def _noise_of(plan: TrainingPlan) -> tuple[list[float], list[float]]:
    """Epochs at which the noise changes, and the noise from there on."""
    per_epoch = plan.sampler.steps_per_epoch
    starts, sigmas, first = [], [], 0
    for sigma, count in plan.noise.phases(plan.n_steps, per_epoch):
        starts.append(first / per_epoch)
        sigmas.append(sigma)
        first += count
    return [*starts, first / per_epoch], [*sigmas, sigmas[-1]]


def _spending_of(plan: TrainingPlan, delta: float) -> tuple[list[float], list[float]]:
    from skdp.privacy.accounting import epsilon_of

    ends = sorted({math.ceil(plan.n_steps * point / _POINTS) for point in range(1, _POINTS + 1)})
    epsilons = [epsilon_of(plan.event_after(end), delta) for end in ends]
    return [end / plan.sampler.steps_per_epoch for end in ends], epsilons


def _finish(axes: Any, label: str) -> None:
    axes.set_xlabel("epoch")
    axes.set_title(label, fontsize=11)
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e5e5e5")
    axes.set_axisbelow(True)

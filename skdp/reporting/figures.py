"""Figures of results, drawn without a display."""

from pathlib import Path
from typing import Any

from skdp.reporting.privacy_cost import Metric, PrivacyCost

# Okabe and Ito (2008): told apart with every kind of colour vision; markers and dashes repeat it.
BLUE, VERMILION, GREY = "#0072B2", "#D55E00", "#595959"

PANELS: dict[str, Metric] = {
    "Accuracy": lambda scores: scores.accuracy,
    "AUC": lambda scores: scores.auc,
}


def draw_privacy_cost(cost: PrivacyCost, path: Path, title: str) -> None:
    """Write a figure of accuracy and AUC against epsilon beside the references.

    Parameters
    ----------
    cost : PrivacyCost
        The scores.
    path : Path
        File to write; its suffix chooses the format.
    title : str
        Heading of the figure.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 4.6), layout="constrained")
    figure.suptitle(title, fontsize=13)
    for axes, (name, metric) in zip(figure.subplots(1, len(PANELS)), PANELS.items(), strict=True):
        _draw_panel(axes, cost, metric)
        axes.set_title(name, fontsize=11)
    figure.legend(
        *figure.axes[0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=3,
        frameon=False,
    )
    figure.savefig(path, dpi=150)


def _draw_panel(axes: Any, cost: PrivacyCost, metric: Metric) -> None:
    _draw_reference(axes, metric(cost.non_private), "without privacy", VERMILION, "--")
    _draw_reference(axes, metric(cost.majority), "majority class", GREY, ":")
    _draw_private(axes, cost, metric)
    axes.set_xscale("log")
    axes.set_xticks(list(cost.private), [f"{epsilon:g}" for epsilon in cost.private])
    axes.minorticks_off()
    axes.margins(x=0.15, y=0.12)
    axes.set_xlabel("epsilon (smaller is more private)")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e5e5e5")
    axes.set_axisbelow(True)


def _draw_private(axes: Any, cost: PrivacyCost, metric: Metric) -> None:
    spreads = cost.spreads(metric)
    epsilons, means = list(spreads), [s.mean for s in spreads.values()]
    reach = [
        [s.mean - s.low for s in spreads.values()],
        [s.high - s.mean for s in spreads.values()],
    ]
    draws = len(next(iter(cost.private.values())))
    axes.errorbar(
        epsilons,
        means,
        yerr=reach,
        color=BLUE,
        marker="o",
        capsize=5,
        linewidth=2,
        label=f"private, mean and range of {draws} draws" if draws > 1 else "private, one draw",
    )
    for epsilon, mean, following in zip(epsilons, means, [*means[1:], means[-1]], strict=True):
        axes.annotate(
            f"{mean:.3f}",
            (epsilon, mean),
            textcoords="offset points",
            # On the side that the line to the next point does not take.
            xytext=(7, -13 if following >= mean else 6),
            fontsize=9,
            color=BLUE,
        )


def _draw_reference(axes: Any, level: float, label: str, colour: str, dashes: str) -> None:
    axes.axhline(level, color=colour, linestyle=dashes, linewidth=1.6, label=label)
    axes.annotate(
        f"{level:.3f}",
        (0.995, level),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        xytext=(0, 4),
        ha="right",
        fontsize=9,
        color=colour,
    )

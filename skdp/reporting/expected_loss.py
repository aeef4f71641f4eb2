"""A figure of what a planned private fit is expected to lose."""

from pathlib import Path

from skdp.reporting.figures import BLUE, GREY, VERMILION
from skdp.stability.expected_loss import ExpectedLoss

__all__ = ["draw_expected_loss"]

# Okabe and Ito (2008), after those of the other figures.
GREEN = "#009E73"
PARTS = {
    "regularisation": ("penalty", VERMILION, "--"),
    "generalisation": ("new data", GREEN, "-."),
    "privacy": ("noise", BLUE, "-"),
}


def draw_expected_loss(expected: ExpectedLoss, path: Path, title: str) -> None:
    """Write a figure of the parts of the expected excess loss against alpha.

    The part of the solver is left out: it lies far below the others.

    Parameters
    ----------
    expected : ExpectedLoss
        Of `skdp.stability.tradeoff.plan`.
    path : Path
        File to write; its suffix chooses the format.
    title : str
        Heading of the figure.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.8), layout="constrained")
    figure.suptitle(title, fontsize=13)
    axes, frame = figure.subplots(), expected.to_frame()
    for column, (label, colour, dashes) in PARTS.items():
        axes.plot(
            frame.index, frame[column], color=colour, linestyle=dashes, linewidth=1.8, label=label
        )
    axes.plot(frame.index, frame["total"], color="black", linewidth=2.4, label="all")
    axes.axvline(expected.alpha, color=GREY, linestyle=":", label=f"alpha = {expected.alpha:.3g}")
    axes.set(xscale="log", yscale="log", xlabel="alpha", ylabel="expected excess loss")
    lowest = float(frame["total"].min()) / 100
    axes.set_ylim(lowest, float(frame["total"].max()) * 2)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e5e5e5")
    figure.legend(loc="outside lower center", ncols=5, frameon=False)
    figure.savefig(path, dpi=150)

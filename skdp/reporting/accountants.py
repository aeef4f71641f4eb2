"""What accountants say of the same noise, as a table and as a figure."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from skdp.privacy.comparison import AccountantRow
from skdp.reporting.figures import BLUE, GREY, VERMILION

__all__ = ["accountants_table", "draw_accountants"]

_LOOKS = (
    (BLUE, "o"),
    ("#56B4E9", "s"),
    ("#009E73", "^"),
    (VERMILION, "v"),
    ("#CC79A7", "D"),
    ("#E69F00", "P"),
    (GREY, "X"),
)


def accountants_table(
    epochs: Sequence[int], rows: Sequence[Sequence[AccountantRow]], title: str | None = None
) -> Any:
    """Return a table of epsilons: a row an accountant, a column a number of epochs.

    Parameters
    ----------
    epochs : sequence of int
        Numbers of epochs.
    rows : sequence of sequence of AccountantRow
        What the accountants say, for each of them.
    title : str, default=None
        Heading of the table.

    Returns
    -------
    rich.table.Table
        To be printed by a rich console.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, show_edge=False)
    table.add_column("accountant", no_wrap=True)
    table.add_column("guarantee", no_wrap=True)
    for number in epochs:
        table.add_column(f"{number}", justify="right", no_wrap=True)
    for said in zip(*rows, strict=True):
        certified = "yes" if said[0].certified else "no"
        numbers = (f"{row.epsilon:.3g}" for row in said)
        table.add_row(said[0].accountant, certified, *numbers)
    return table


def draw_accountants(
    epochs: Sequence[int], rows: Sequence[Sequence[AccountantRow]], path: Path, title: str
) -> None:
    """Write a figure of epsilon against epochs, guarantees with full lines.

    Parameters
    ----------
    epochs, rows
        As for `accountants_table`.
    path : Path
        File to write; its suffix chooses the format.
    title : str
        Heading of the figure.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 5.4), layout="constrained")
    axes = figure.subplots()
    for said, (colour, marker) in zip(zip(*rows, strict=True), _LOOKS, strict=True):
        name = said[0].accountant
        axes.plot(
            epochs,
            [row.epsilon for row in said],
            color=colour,
            marker=marker,
            markersize=5,
            linestyle="-" if said[0].certified else ":",
            label=name if said[0].certified else f"{name} (no guarantee here)",
        )
    axes.set(xscale="log", yscale="log", xlabel="epochs", ylabel="epsilon")
    axes.set_title(title, fontsize=13)
    axes.grid(color="#e5e5e5")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    figure.savefig(path, dpi=150)

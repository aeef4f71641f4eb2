"""Results as tables for a terminal."""

from typing import Any

from skdp.reporting.privacy_cost import Metric, PrivacyCost, Scores, Spread

COLUMNS: dict[str, Metric] = {
    "accuracy": lambda scores: scores.accuracy,
    "balanced accuracy": lambda scores: scores.balanced_accuracy,
    "AUC": lambda scores: scores.auc,
}


def privacy_cost_table(cost: PrivacyCost, title: str | None = None) -> Any:
    """Return a table of what privacy cost: one row a model, best and worst draw in brackets.

    Parameters
    ----------
    cost : PrivacyCost
        The scores.
    title : str, default=None
        Heading of the table.

    Returns
    -------
    rich.table.Table
        To be printed by a rich console.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    # Without edges it fits into 80 characters.
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, show_edge=False)
    table.add_column("model", no_wrap=True)
    for name in COLUMNS:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_row("majority class", *_single(cost.majority))
    spreads = [cost.spreads(metric) for metric in COLUMNS.values()]
    for epsilon in spreads[0]:
        table.add_row(f"epsilon {epsilon:g}", *(_spread(s[epsilon]) for s in spreads))
    table.add_row("without privacy", *_single(cost.non_private))
    return table


def _single(scores: Scores) -> list[str]:
    return [_alone(metric(scores)) for metric in COLUMNS.values()]


def _alone(value: float) -> str:
    # As wide as a spread, so that the numbers of a column stand below each other.
    return f"{value:.3f}" + " " * 12


def _spread(spread: Spread) -> str:
    if spread.low == spread.high:
        return _alone(spread.mean)
    low, high = (f"{value:.3f}".removeprefix("0") for value in (spread.low, spread.high))
    return f"{spread.mean:.3f} ({low}-{high})"

"""The history of a ledger as HTML: a table, and a curve of what is spent."""

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skdp.privacy.ledger_reader import LedgerReader

__all__ = ["page", "view"]

_SHOWN = ("time", "status", "experiment", "purpose", "epsilon", "delta", "share")
_WIDTH, _HEIGHT = 480.0, 120.0


def page(ledger: "LedgerReader") -> str:
    """Return a complete page."""
    title = escape(ledger.description["dataset"] or "Privacy ledger")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        "<style>body{font-family:sans-serif;margin:2em}td,th{padding:.2em .6em;text-align:left}"
        f"</style></head><body><h1>{title}</h1>{view(ledger)}</body></html>"
    )


def view(ledger: "LedgerReader") -> str:
    """Return the table and the curve."""
    history, cap = ledger.history(), ledger.cap
    head = "".join(f"<th>{name}</th>" for name in _SHOWN)
    rows = "".join(
        "<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row) + "</tr>"
        for row in history[list(_SHOWN)].itertuples(index=False)
    )
    return (
        f"<div><p>Guarantee for each {escape(ledger.unit)}: epsilon = {cap.epsilon:g}, "
        f"delta = {cap.delta:g} ({ledger.neighbours.value}), whatever is spent below "
        f"({escape(ledger.theorem)}).</p>{_curve(list(history['share']))}"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _cell(value: object) -> str:
    if value is None or value != value:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else escape(str(value))


def _curve(shares: list[float]) -> str:
    step = _WIDTH / max(1, len(shares))
    points = [f"0,{_HEIGHT:g}"]
    for number, share in enumerate(shares):
        high = f"{_HEIGHT * (1 - share):.1f}"
        points += [f"{number * step:.1f},{high}", f"{(number + 1) * step:.1f},{high}"]
    return (
        f'<svg role="img" aria-label="share of the budget spent" width="{_WIDTH:g}" '
        f'height="{_HEIGHT:g}" style="border:1px solid #888"><polyline fill="none" '
        f'stroke="#1565c0" stroke-width="2" points="{" ".join(points)}"/></svg>'
        "<p>Share of the budget spent or reserved, entry by entry; the top edge is the cap.</p>"
    )

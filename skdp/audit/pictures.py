"""Figures of audits, drawn on matplotlib axes."""

from textwrap import fill
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["axes_for", "draw_rates", "draw_scores"]

# Okabe and Ito (2008): told apart with every kind of colour vision; dashes repeat it.
_ON_DATA, _ON_NEIGHBOUR, _LIMIT = "#0072B2", "#D55E00", "#595959"


def axes_for(ax: Any, title: str) -> Any:
    """Return the axes given, or new ones, under a title."""
    if ax is None:
        from matplotlib.figure import Figure

        ax = Figure(figsize=(6.4, 4.8), layout="constrained").subplots()
    ax.set_title(fill(title, 72), fontsize=9)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def draw_scores(
    first: NDArray[np.float64], second: NDArray[np.float64], event: Any, ax: Any, title: str
) -> Any:
    """Draw how two samples of a score are distributed, and where the event begins."""
    ax = axes_for(ax, title)
    low, high = np.quantile(np.concatenate([first, second]), [0.005, 0.995])
    low, high = min(low, event.threshold), max(high, event.threshold)
    edges = np.linspace(low, high if high > low else low + 1, 50)
    for scores, label, colour, style in (
        (first, "with the record", _ON_DATA, "-"),
        (second, "neighbour", _ON_NEIGHBOUR, "--"),
    ):
        height = np.histogram(np.clip(scores, edges[0], edges[-1]), edges)[0] / len(scores)
        ax.stairs(height, edges, color=colour, linestyle=style, linewidth=1.6, label=label)
    ax.axvline(event.threshold, color=_LIMIT, linestyle=":", label="event: from here")
    ax.set_xlabel(f"score: {event.name}")
    ax.set_ylabel("share of fits")
    ax.legend(frameon=False)
    return ax


def draw_rates(false_positives: Any, true_positives: Any, ceiling: Any, ax: Any, title: str) -> Any:
    """Draw an ROC curve on logarithmic scales, with what is possible at most if that is known."""
    ax = axes_for(ax, title)
    ax.step(false_positives, true_positives, where="post", color=_ON_DATA, label="attack")
    least = max(1e-5, float(np.min(false_positives[false_positives > 0], initial=1e-3)))
    rates = np.geomspace(least, 1, 80)
    if ceiling is not None:
        allowed = [ceiling(rate) for rate in rates]
        ax.plot(rates, allowed, color=_ON_NEIGHBOUR, linestyle="--", label="allowed by the claim")
    ax.plot(rates, rates, color=_LIMIT, linestyle=":", label="guessing")
    ax.set(xscale="log", yscale="log", xlim=(least, 1), ylim=(least, 1.05))
    ax.set_xlabel("false positive rate")
    ax.set_ylabel("true positive rate")
    ax.legend(frameon=False)
    return ax

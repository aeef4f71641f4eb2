"""The rows of accuracy.py as Markdown tables."""

from collections.abc import Iterable

import numpy as np

from benchmarks.methods import (
    AS_PLANNED,
    DIFFPRIVLIB,
    MAJORITY,
    NO_INTERCEPT,
    PUBLISHED,
    PURE_L2,
    SKDP,
    SKLEARN,
    WEAK_PENALTY,
)
from benchmarks.scores import Mean

PRIVATE = (SKDP, PURE_L2, PUBLISHED, DIFFPRIVLIB, NO_INTERCEPT)
NOT_PRIVATE = (AS_PLANNED, SKLEARN, WEAK_PENALTY, MAJORITY)
METRICS = {
    "accuracy": "Accuracy, per cent",
    "balanced_accuracy": "Balanced accuracy, per cent",
    "auc": "AUC, per cent (macro one-vs-rest)",
}


class Results:
    """Per-seed values by data set, method and epsilon."""

    def __init__(self, rows: Iterable[dict[str, str]]) -> None:
        self._rows: dict[tuple[str, str, str], list[dict[str, str]]] = {}
        for row in rows:
            key = (row["data"], row["method"], row["epsilon"])
            self._rows.setdefault(key, []).append(row)
        self.data = list(dict.fromkeys(data for data, _, _ in self._rows))
        self.methods = {method for _, method, _ in self._rows}
        numbers = {float(epsilon) for _, _, epsilon in self._rows}
        self.epsilons = [f"{number:g}" for number in sorted(numbers) if np.isfinite(number)]

    def values(self, data: str, method: str, epsilon: str, metric: str) -> list[float]:
        """Return the values of all seeds in order; of all classes for recall."""
        rows = self._rows.get((data, method, epsilon)) or self._rows.get((data, method, "inf"), [])
        ordered = sorted(rows, key=lambda row: int(row["seed"]))
        return [float(row[metric]) for row in ordered]

    def recall(self, data: str, method: str, epsilon: str) -> str:
        rows = self._rows.get((data, method, epsilon)) or self._rows.get((data, method, "inf"), [])
        each = np.mean([[float(r) for r in row["recall"].split()] for row in rows], axis=0)
        return " / ".join(f"{100 * r:.0f}" for r in each)


def tables(rows: Iterable[dict[str, str]]) -> str:
    """Return every table that the rows suffice for."""
    results = Results(rows)
    parts = []
    if {SKDP, DIFFPRIVLIB} <= results.methods:
        parts += [_comparison(results, DIFFPRIVLIB), _comparison(results, NO_INTERCEPT)]
    for metric, title in METRICS.items():
        parts.append(f"### {title}")
        parts += [_metric_table(results, data, metric) for data in results.data]
    parts.append("### Recall of each class, per cent\n\n" + _recall_table(results))
    return "\n\n".join(parts) + "\n"


def _header(*cells: str) -> str:
    return f"| {' | '.join(cells)} |\n|---|{'---:|' * (len(cells) - 1)}\n"


def _metric_table(results: Results, data: str, metric: str) -> str:
    lines = []
    for method in (*PRIVATE, *NOT_PRIVATE):
        cells = [results.values(data, method, epsilon, metric) for epsilon in results.epsilons]
        if all(cells):
            lines.append(f"| {method} | {' | '.join(Mean.of(c).per_cent() for c in cells)} |")
    return _header(f"**{data}**, epsilon =", *results.epsilons) + "\n".join(lines)


def _recall_table(results: Results) -> str:
    lines = [
        f"| {data} | {method} | "
        + " | ".join(results.recall(data, method, epsilon) for epsilon in results.epsilons)
        + " |"
        for data in results.data
        for method in (SKDP, DIFFPRIVLIB, SKLEARN)
        if method in results.methods
    ]
    return _header("data", "method", *results.epsilons) + "\n".join(lines)


def _comparison(results: Results, peer: str) -> str:
    """Differences paired by split: both methods see the same rows."""
    lines, ahead, behind = [], 0, 0
    for data in results.data:
        for epsilon in results.epsilons:
            cells = []
            for metric in METRICS:
                ours = np.array(results.values(data, SKDP, epsilon, metric))
                theirs = np.array(results.values(data, peer, epsilon, metric))
                cells.append(Mean.of(ours - theirs))
            accuracy = cells[0]
            is_behind = accuracy.value < -2 * accuracy.error
            ahead, behind = ahead + (accuracy.value > 0), behind + is_behind
            texts = " | ".join(f"{100 * c.value:+.1f} ± {100 * c.error:.1f}" for c in cells)
            lines.append(f"| {data} | {epsilon} | {texts} | {'yes' if is_behind else 'no'} |")
    return (
        f"### skdp minus {peer}, points\n\n"
        + _header("data", "epsilon", "accuracy", "balanced accuracy", "AUC", "behind by > 2 s.e.?")
        + "\n".join(lines)
        + f"\n\nAhead in accuracy in {ahead} of {len(lines)} cells, behind by more than two "
        f"standard errors in {behind}."
    )

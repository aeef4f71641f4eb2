"""The rows of zhang.py as Markdown tables: means and standard errors over splits, by epsilon."""

from collections.abc import Callable, Iterable

import numpy as np

from benchmarks.papers.wide_rows import Row
from benchmarks.scores import Mean

METRICS = {
    "accuracy": "Accuracy, per cent",
    "balanced_accuracy": "Balanced accuracy, per cent",
    "auc": "AUC, per cent",
}
EVERY_EPSILON = "inf"

Text = Callable[[list[float]], str]


class Results:
    """Values of all seeds by data set, method and epsilon."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows: dict[tuple[str, str, str], list[Row]] = {}
        for row in rows:
            key = (row["data"], row["method"], row["epsilon"])
            self._rows.setdefault(key, []).append(row)
        self.data = list(dict.fromkeys(data for data, _, _ in self._rows))
        self.methods = list(dict.fromkeys(method for _, method, _ in self._rows))
        numbers = {float(epsilon) for _, _, epsilon in self._rows}
        self.epsilons = [f"{number:g}" for number in sorted(numbers) if np.isfinite(number)]

    def values(self, data: str, method: str, epsilon: str, column: str) -> list[float]:
        """Return the values of all seeds in order; none if this was not measured."""
        found = self._rows.get((data, method, epsilon))
        found = found or self._rows.get((data, method, EVERY_EPSILON), [])
        return [float(row[column]) for row in sorted(found, key=lambda row: int(row["seed"]))]


def tables(rows: Iterable[Row]) -> str:
    """Return every table that the rows suffice for."""
    results = Results(rows)
    parts = []
    for metric, title in METRICS.items():
        parts.append(f"## {title}")
        parts += [_table(results, data, metric, _per_cent) for data in results.data]
    parts.append("## Share of coefficients that are not zero, per cent")
    parts += [_table(results, data, "nonzero", _per_cent) for data in results.data]
    parts.append("## CPU seconds of a fit")
    parts += [_table(results, data, "seconds", _seconds) for data in results.data]
    return "\n\n".join(parts) + "\n"


def _per_cent(values: list[float]) -> str:
    return Mean.of(values).per_cent()


def _seconds(values: list[float]) -> str:
    return f"{np.median(values):.2g}"


def _table(results: Results, data: str, column: str, text: Text) -> str:
    lines = []
    for method in results.methods:
        cells = [results.values(data, method, epsilon, column) for epsilon in results.epsilons]
        if any(cells):
            lines.append(f"| {method} | {' | '.join(text(c) if c else '' for c in cells)} |")
    head = f"| **{data}**, epsilon = | {' | '.join(results.epsilons)} |\n"
    return head + f"|---|{'---:|' * len(results.epsilons)}\n" + "\n".join(lines)

"""The cells of watson.py as Markdown tables and figures."""

import csv
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from benchmarks.papers.watson import MAJORITY, NOT_PRIVATE, STATIC, TOP_K
from benchmarks.papers.watson_rules import FIXED, PAPER, SQUARE_ROOT, TIGHT

Cell = dict[str, str]
RULES = (NOT_PRIVATE, TIGHT, PAPER, SQUARE_ROOT, FIXED)
ALL_COLUMNS = "model of all columns"
THRESHOLDS = ("auto", "2 sd", *(f"T = {value:g}" for value in STATIC))
LARGE_SETS = ("adult", "spambase", "kddcup99")
GENES = ("gene ALL", "gene Golub")


class Results:
    """The cells of the file, found by any of their columns."""

    def __init__(self, path: Path) -> None:
        with path.open(newline="") as stored:
            self._cells = list(csv.DictReader(stored))

    def cells(self, **wanted: str) -> list[Cell]:
        """Return all cells with these values."""
        return [c for c in self._cells if all(c[name] == value for name, value in wanted.items())]

    def cell(self, **wanted: str) -> Cell | None:
        """Return the one such cell, if it was measured."""
        found = self.cells(**wanted)
        return found[0] if found else None

    def values(self, column: str, **wanted: str) -> list[str]:
        """Return the different values of a column, by size."""
        return sorted({c[column] for c in self.cells(**wanted)}, key=float)

    def series(self, along: str, **wanted: str) -> tuple[list[float], list[float], list[float]]:
        """Return places, means and standard errors along a column."""
        found = sorted(self.cells(**wanted), key=lambda c: float(c[along]))
        columns = ([float(c[name]) for c in found] for name in (along, "mean", "error"))
        places, means, errors = columns
        return places, means, errors


def per_cent(cell: Cell | None) -> str:
    """Return mean ± standard error in per cent."""
    if cell is None:
        return ""
    return f"{100 * float(cell['mean']):.1f} ± {100 * float(cell['error']):.1f}"


def number(cell: Cell | None) -> str:
    """Return the mean in three digits."""
    return "" if cell is None else f"{float(cell['mean']):.3g}"


def two_digits(cell: Cell | None) -> str:
    """Return mean ± standard error in two digits after the point."""
    return "" if cell is None else f"{float(cell['mean']):.2f} ± {float(cell['error']):.2f}"


def table(head: str, columns: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]]) -> str:
    """Return one table; rows without any value are left out."""
    lines = [f"| {name} | {' | '.join(cells)} |" for name, cells in rows if any(cells)]
    ruler = f"|---|{'---:|' * len(columns)}"
    return "\n".join([f"| {head} | {' | '.join(columns)} |", ruler, *lines])


def accuracy_table(results: Results, data: str, epsilon: str) -> str:
    """Accuracy by rule against lambda, and the epsilon that the fixed noise has."""
    wanted = {"experiment": "lambda", "data": data}
    strengths = [s for s in results.values("lambda", **wanted) if float(s) > 0]
    rows = []
    for rule in RULES:
        spent = "0" if rule == NOT_PRIVATE else epsilon
        found = [
            results.cell(rule=rule, epsilon=spent, measure="accuracy", **wanted, **{"lambda": s})
            for s in strengths
        ]
        rows.append((rule, [per_cent(cell) for cell in found]))
    spent = [
        results.cell(rule=FIXED, epsilon=epsilon, measure="epsilon", **wanted, **{"lambda": s})
        for s in strengths
    ]
    rows.append((f"*epsilon of {FIXED}*", [number(cell) for cell in spent]))
    base = per_cent(results.cell(rule=MAJORITY, measure="accuracy", **wanted))
    head = f"**{data}**, epsilon {epsilon} (majority {base}); lambda ="
    return table(head, strengths, rows)


def best_table(results: Results, sets: Sequence[str], epsilon: str) -> str:
    """Return the best accuracy of each rule over lambda."""
    rows = []
    for rule in (*RULES, MAJORITY):
        spent = "0" if rule in (NOT_PRIVATE, MAJORITY) else epsilon
        wanted = {"experiment": "lambda", "measure": "accuracy", "rule": rule, "epsilon": spent}
        best = [
            max(results.cells(data=data, **wanted), key=lambda cell: float(cell["mean"]))
            for data in sets
        ]
        cells = [f"{per_cent(c)} (lambda {c['lambda']})" for c in best]
        rows.append((rule, cells if rule != MAJORITY else [per_cent(c) for c in best]))
    head = f"Best accuracy over lambda, chosen on the test rows; epsilon {epsilon}"
    return table(head, sets, rows)


def feature_table(results: Results, data: str, rule: str, epsilon: str) -> str:
    """F1 by threshold against lambda."""
    wanted = {"experiment": "features", "data": data}
    strengths = results.values("lambda", **wanted)

    def row(text: Callable[[Cell | None], str], **which: str) -> list[str]:
        found = [results.cell(**which, **wanted, **{"lambda": s}) for s in strengths]
        return [text(cell) for cell in found]

    rows = [
        ("features of the model", row(number, rule=NOT_PRIVATE, measure="features")),
        (
            "F1 if all are kept",
            row(two_digits, rule=NOT_PRIVATE, measure="F1 of non-zero, all kept"),
        ),
    ]
    for target in ("non-zero", "large"):
        for name in THRESHOLDS:
            measure = f"F1 of {target}, {name}"
            cells = row(two_digits, rule=rule, epsilon=epsilon, measure=measure)
            rows.append((f"{target}, {name}", cells))
    for name in THRESHOLDS:
        measure = f"selected, {name}"
        rows.append(
            (f"*selected, {name}*", row(number, rule=rule, epsilon=epsilon, measure=measure))
        )
    return table(f"**{data}**, {rule}, epsilon {epsilon}; lambda =", strengths, rows)


def size_table(results: Results, data: str, epsilon: str, patients: int) -> str:
    """What is found as every patient is there more often."""
    wanted = {"experiment": "size", "data": data, "epsilon": epsilon}
    copies = results.values("copies", rule=TOP_K, **wanted)
    measures = (
        (ALL_COLUMNS, "accuracy", per_cent),
        (ALL_COLUMNS, "accuracy without noise", per_cent),
        (ALL_COLUMNS, "features", number),
        (ALL_COLUMNS, "selected, auto", number),
        (ALL_COLUMNS, "of them non-zero", two_digits),
        (TOP_K, "accuracy", per_cent),
        (TOP_K, "of the best 10", two_digits),
        (TOP_K, "of the best 1 %", two_digits),
    )
    rows = []
    for rule, measure, text in measures:
        found = [results.cell(rule=rule, measure=measure, copies=c, **wanted) for c in copies]
        rows.append((f"{rule}: {measure}", [text(cell) for cell in found]))
    sizes = [f"{int(c) * patients:,}" for c in copies]
    return table(f"**{data}**, epsilon {epsilon}, delta 1e-6; n =", sizes, rows)


def draw_accuracy(results: Results, path: Path) -> None:
    """Accuracy against lambda, one panel a set."""
    figure, panels = _panels(len(LARGE_SETS))
    for panel, data in zip(panels, LARGE_SETS, strict=True):
        for rule in RULES:
            spent = "0" if rule == NOT_PRIVATE else "1"
            wanted = {"experiment": "lambda", "data": data, "rule": rule, "epsilon": spent}
            places, means, errors = results.series("lambda", measure="accuracy", **wanted)
            style = "--" if rule == NOT_PRIVATE else "-"
            panel.errorbar(places, means, errors, label=rule, linestyle=style, marker=".")
        panel.set(title=data, xscale="log", xlabel="lambda")
    panels[0].set_ylabel("accuracy, epsilon 1")
    panels[0].legend(fontsize="small")
    _save(figure, path)


def draw_features(results: Results, path: Path) -> None:
    """F1 against lambda, one panel a set, of the tight rule."""
    figure, panels = _panels(len(LARGE_SETS))
    for panel, data in zip(panels, LARGE_SETS, strict=True):
        wanted = {"experiment": "features", "data": data}
        kept = {"rule": NOT_PRIVATE, "measure": "F1 of non-zero, all kept"}
        panel.plot(*results.series("lambda", **kept, **wanted)[:2], "k--", label="all kept")
        for name in THRESHOLDS:
            which = {"rule": TIGHT, "epsilon": "1", "measure": f"F1 of non-zero, {name}"}
            panel.errorbar(*results.series("lambda", **which, **wanted), label=name, marker=".")
        panel.set(title=data, xscale="log", xlabel="lambda", ylim=(0, 1.02))
    panels[0].set_ylabel("F1 of non-zero features, epsilon 1")
    panels[0].legend(fontsize="small")
    _save(figure, path)


def draw_size(results: Results, patients: dict[str, int], path: Path) -> None:
    """Accuracy on gene expression against n, epsilon 1."""
    figure, panels = _panels(len(GENES))
    for panel, data in zip(panels, GENES, strict=True):
        for rule in (ALL_COLUMNS, TOP_K):
            wanted = {"experiment": "size", "data": data, "rule": rule, "epsilon": "1"}
            copies, means, errors = results.series("copies", measure="accuracy", **wanted)
            sizes = [count * patients[data] for count in copies]
            panel.errorbar(sizes, means, errors, label=rule, marker=".")
        base = results.cell(experiment="size", data=data, rule=MAJORITY)
        panel.axhline(float(base["mean"]), color="k", linestyle="--", label=MAJORITY)
        panel.set(title=data, xscale="log", xlabel="n")
    panels[0].set_ylabel("accuracy, epsilon 1")
    panels[0].legend(fontsize="small")
    _save(figure, path)


def _panels(count: int):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, count, figsize=(3.4 * count, 3.2), layout="constrained")
    return figure, panels


def _save(figure, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)

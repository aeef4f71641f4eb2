"""Write docs/choosing.md and its figures from benchmarks/results/utility; measures nothing.

Usage: python -m benchmarks.utility.write_choosing
"""

from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.utility import write_calibration

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "utility" / "linear.csv"
NETWORKS = ROOT / "benchmarks" / "results" / "utility" / "networks.csv"
SECOND = ROOT / "benchmarks" / "results" / "utility" / "second_order.txt"
VARIANTS = ROOT / "benchmarks" / "results" / "utility" / "rule_variants.csv"
SPEED = ROOT / "benchmarks" / "results" / "speed" / "linear_fit.txt"
TEXT = ROOT / "benchmarks" / "utility" / "choosing_page.md"
TARGET = ROOT / "docs" / "choosing.md"
FIGURE = ROOT / "docs" / "figures" / "choosing.png"
DEFAULT, CEILING, CONSTANT = "skdp default", "not private", "constant"
EPSILONS = (0.1, 0.5, 1.0, 3.0, 10.0)
REGRESSIONS = ("diabetes", "diamonds", "student_por")
#: Anchors of earlier measurements, accuracy at delta = 1 / n^1.1, each the best of a grid.
ANCHORS = {
    "adult": (0.831, 0.843, 0.844, 0.844, 0.845),
    "breast_cancer": (0.853, 0.931, 0.951, 0.958, 0.961),
    "digits": (0.313, 0.767, 0.871, 0.935, 0.944),
    "wine": (0.626, 0.857, 0.930, 0.959, 0.970),
}
ANCHOR = "best anchor"


class Comparison:
    """The measured table, cell by cell."""

    def __init__(self, file: Path):
        found = pd.read_csv(file, keep_default_na=False)
        found["scores"] = [
            np.array([float(s) for s in cell.split()]) for cell in found["scores"].astype(str)
        ]
        self._cells = {(r.data, r.epsilon, r.method): r for r in found.itertuples()}
        self.data = sorted({data for data, _, method in self._cells if method == DEFAULT})
        others = {DEFAULT, CEILING, CONSTANT, "skdp ridge"}
        self.peers = sorted(set(found["method"]) - others)

    def mean(self, data, epsilon, method):
        """Return the mean over the splits of the default.

        Where a method has fewer, that is the default's mean less the difference on those that both
        have.
        """
        cell = self._cells.get((data, epsilon, method))
        if cell is None:
            return None
        own = self._cells[data, epsilon or max(EPSILONS), DEFAULT]
        return float(own.scores.mean() - _paired(own, cell).mean())

    def best_peer(self, data, epsilon):
        """Return name, mean, and the paired difference of the default with its standard error."""
        own = self._cells[data, epsilon, DEFAULT]
        best = None
        for name in self.peers:
            cell = self._cells.get((data, epsilon, name))
            if cell is None:
                continue
            gap = _paired(own, cell)
            mean = self.mean(data, epsilon, name)
            if best and mean <= best[1]:
                continue
            error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else 0.0
            best = name, mean, float(gap.mean()), float(error)
        anchor = dict(zip(EPSILONS, ANCHORS.get(data, ()), strict=False)).get(epsilon)
        if anchor and anchor > best[1]:
            spread = own.scores.std(ddof=1) / np.sqrt(len(own.scores))
            best = ANCHOR, anchor, float(own.mean) - anchor, float(np.sqrt(2) * spread)
        return best

    def seeds(self, data, method=DEFAULT):
        """Return the number of splits, 0 for none."""
        cell = self._cells.get((data, 0.0 if method == CEILING else 1.0, method))
        return 0 if cell is None else len(cell.scores)


def _paired(own, cell):
    n = min(len(own.scores), len(cell.scores))
    return own.scores[:n] - cell.scores[:n]


def table(found: Comparison) -> str:
    """Return the table of the default beside the best peer."""
    lines = [
        "| data (splits) | | 0.1 | 0.5 | 1 | 3 | 10 | not private | constant |",
        "|---" * 9 + "|",
    ]
    for data in found.data:
        own = [found.mean(data, e, DEFAULT) for e in EPSILONS]
        best = [found.best_peer(data, e) for e in EPSILONS]
        cells = [_marked(mean, peer) for mean, peer in zip(own, best, strict=True)]
        kind = ", $R^2$" if data in REGRESSIONS else ""
        ends = f"{found.mean(data, 0.0, CEILING):.3f} | {found.mean(data, 0.0, CONSTANT):.3f}"
        lines.append(
            f"| {data}{kind} ({found.seeds(data)}) | skdp | {' | '.join(cells)} | {ends} |"
        )
        told = " | ".join(f"{max(p[1], -9.99):.3f} {SHORT[p[0]]}" for p in best)
        lines.append(f"| | best peer | {told} | | |")
    return "\n".join(lines)


SHORT = {
    "AdaSSP": "S", "BoostedAdaSSP": "B", "AMP": "P", "DP-SGD in NumPy": "G", "DP-EBM": "E",
    "Opacus linear": "O", "Opacus network": "M", "diffprivlib LogisticRegression": "L",
    "diffprivlib GaussianNB": "N", "diffprivlib LinearRegression": "R",
    "diffprivlib RandomForest": "F", ANCHOR: "A",
}  # fmt: skip


def _marked(mean, peer):
    _, _, gap, error = peer
    if gap > 0:
        return f"**{mean:.3f}**"
    return f"{mean:.3f}" if gap >= -2 * error else f"{mean:.3f} (-{-gap:.3f})"


def counts(found: Comparison) -> dict[str, int]:
    """Return how many cells are ahead, level, and behind by more than two standard errors."""
    told = {"cells": 0, "ahead": 0, "level": 0, "behind": 0}
    for data in found.data:
        for epsilon in EPSILONS:
            _, _, gap, error = found.best_peer(data, epsilon)
            told["cells"] += 1
            told["ahead" if gap > 0 else "level" if gap >= -2 * error else "behind"] += 1
    return told


def behind(found: Comparison) -> str:
    """Return a line for each cell that trails by more than two standard errors."""
    lines = []
    for data in found.data:
        for epsilon in EPSILONS:
            name, mean, gap, error = found.best_peer(data, epsilon)
            if gap < -2 * error:
                told = f"{-gap:.3f} ± {error:.3f} behind {name} ({mean:.3f})"
                lines.append(f"- {data} at epsilon {epsilon:g}: {told}.")
    return "\n".join(lines) or "None."


def ridge_table(found: Comparison) -> str:
    """Return the default beside the ridge models' defaults."""
    lines = ["| data | | 0.1 | 0.5 | 1 | 3 | 10 |", "|---" * 7 + "|"]
    for data in found.data:
        ridge = [found.mean(data, e, "skdp ridge") for e in EPSILONS]
        if None not in ridge:
            lines.append(
                f"| {data} | ridge | " + " | ".join(f"{mean:.3f}" for mean in ridge) + " |"
            )
    return "\n".join(lines)


def variants_table(file: Path) -> str:
    """Return the default rule beside variants of it, on splits of their own."""
    found = pd.read_csv(file)
    names = ["default", *sorted(set(found["variant"]) - {"default"})]
    lines = [f"| data, epsilon | {' | '.join(names)} |", "|---" * (1 + len(names)) + "|"]
    for (data, epsilon), rows in found.groupby(["data", "epsilon"], sort=False):
        told = rows.set_index("variant")
        cells = [_variant(told.loc[name]) if name in told.index else "" for name in names]
        lines.append(f"| {data}, {epsilon:g} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _variant(cell) -> str:
    if not cell["error"]:
        return f"{cell['mean']:.3f}"
    return f"{cell['difference']:+.3f} ± {cell['error']:.3f}"


def splits_table(found: Comparison) -> str:
    """Return how many splits each method was measured on."""
    methods = (DEFAULT, CEILING, "skdp ridge", *found.peers)
    names = ["skdp", "not private", "ridge", *(SHORT[name] for name in found.peers)]
    lines = [f"| data | {' | '.join(names)} |", "|---" * (1 + len(names)) + "|"]
    for data in found.data:
        told = [str(found.seeds(data, method) or "") for method in methods]
        lines.append(f"| {data} | {' | '.join(told)} |")
    return "\n".join(lines)


def network_table(file: Path) -> str:
    """Return the default network beside the default linear model, and both without privacy."""
    found = pd.read_csv(file)
    means = found.groupby(["method", "epsilon"])["accuracy"].agg(["mean", "sem", "count"])
    lines = ["| | 0.1 | 0.5 | 1 | 3 | 10 | not private |", "|---" * 7 + "|"]
    for private, plain in PAIRS.items():
        cells = [_with_error(means.loc[private, epsilon]) for epsilon in EPSILONS]
        lines.append(f"| {private} | {' | '.join(cells)} | {_with_error(means.loc[plain, 0.0])} |")
    return "\n".join(lines)


#: Methods of `networks`, and what they are without privacy.
PAIRS = {
    "PrivateMLPClassifier": "MLPClassifier",
    "PrivateLinearClassifier": "LogisticRegression",
}


def _with_error(cell) -> str:
    return f"{cell['mean']:.3f}" + ("" if cell["count"] < 2 else f" ± {cell['sem']:.3f}")


def draw(found: Comparison) -> None:
    """Draw accuracy against epsilon, a panel for each data set."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    columns = 3
    rows = -(-len(found.data) // columns)
    figure, panels = plt.subplots(rows, columns, figsize=(10, 2.7 * rows), squeeze=False)
    for panel in panels.ravel()[len(found.data) :]:
        panel.axis("off")
    for panel, data in zip(panels.ravel(), found.data, strict=False):
        for place, name in enumerate((DEFAULT, *found.peers)):
            means = [found.mean(data, e, name) for e in EPSILONS]
            if None in means:
                continue
            color, width = ("black", 2) if name == DEFAULT else (f"C{place}", 1)
            line = "-" if place < 10 else "-."
            panel.plot(EPSILONS, means, line, marker=".", label=name, color=color, linewidth=width)
        panel.axhline(found.mean(data, 0.0, CEILING), color="gray", linestyle="--", linewidth=1)
        panel.axhline(found.mean(data, 0.0, CONSTANT), color="gray", linestyle=":", linewidth=1)
        panel.set_xscale("log")
        panel.set_title(data, fontsize=9)
        low = min(found.mean(data, 0.0, CONSTANT), found.mean(data, 0.1, DEFAULT))
        high = found.mean(data, 0.0, CEILING)
        panel.set_ylim(low - 0.25 * (high - low), high + 0.08 * (high - low))
    handles, labels = panels[0, 0].get_legend_handles_labels()
    for panel in panels.ravel():
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            if label not in labels:
                handles, labels = [*handles, handle], [*labels, label]
    figure.legend(handles, labels, loc="lower center", ncol=4, fontsize=8)
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    FIGURE.parent.mkdir(exist_ok=True)
    figure.savefig(FIGURE, dpi=100)


def main() -> None:
    """Write page and figures."""
    found = Comparison(RESULTS)
    told = counts(found)
    page = TEXT.read_text()
    parts = {
        "TABLE": table(found),
        "BEHIND": behind(found),
        "RIDGE": ridge_table(found),
        "VARIANTS": variants_table(VARIANTS),
        "SPLITS": splits_table(found),
        "SECOND": SECOND.read_text().rstrip(),
        "NETWORKS": network_table(NETWORKS),
        "CELLS": str(told["cells"]),
        "AHEAD": str(told["ahead"]),
        "LEVEL": str(told["level"]),
        "TRAILING": str(told["behind"]),
        "SPEED": SPEED.read_text().strip() if SPEED.exists() else "not measured",
        **write_calibration.parts(),
    }
    for name, text in parts.items():
        page = page.replace("{{" + name + "}}", text)
    TARGET.write_text(page)
    draw(found)
    write_calibration.draw()


if __name__ == "__main__":
    main()

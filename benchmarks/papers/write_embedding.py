"""Write docs/embeddings.md and its figure from the results of zhang_embedding.py; measures nothing.

Usage: python -m benchmarks.papers.write_embedding
"""

import csv
import re
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "papers" / "zhang_embedding.csv"
SHARER = RESULTS.with_name("zhang_sharer.csv")
TIMES = ROOT / "benchmarks" / "results" / "speed"
SPEED, VOCABULARY = TIMES / "cbow_epoch.txt", TIMES / "cbow_vocabulary.txt"
TARGET = ROOT / "docs" / "embeddings.md"
PROSE = Path(__file__).with_name("embedding_page.md")
READING = Path(__file__).with_name("embedding_reading.md")
FIGURE = ROOT / "docs" / "figures" / "embedding_losses.png"
BATCHES = ("20", "500")
COLORS = {
    "no privacy": "#000000",
    "dense noise": "#0072B2",
    "exponential": "#D55E00",
    "sparse vector": "#CC79A7",
    "gaussian": "#009E73",
    "rows, gaussian": "#56B4E9",
    "rows, adafest": "#E69F00",
}

Row = dict[str, str]


def rows_of(setting: str, batch: str) -> list[Row]:
    """Return the rows of a setting with batches of one size, methods in one order."""
    with RESULTS.open(newline="") as stored:
        rows = csv.DictReader(stored)
        found = [row for row in rows if (row["setting"], row["batch"]) == (setting, batch)]
    return sorted(found, key=_place)


def _place(row: Row) -> tuple[float, bool, int]:
    order = ["untrained", *COLORS]
    epsilon = float(row["epsilon"] or 0)
    known = {"untrained": -2.0, "no privacy": -1.0}.get(row["method"], epsilon)
    return known, row["accounting"] == "the paper's", order.index(row["method"])


def label(row: Row) -> str:
    paper = " (the paper's split)" if row["accounting"] == "the paper's" else ""
    return row["method"] + paper


def last_losses(rows: list[Row]) -> list[Row]:
    """Return the last epoch of each arm."""
    found = {}
    for row in rows:
        if row["train"]:
            found[row["method"], row["accounting"], row["epsilon"]] = row
    return list(found.values())


def loss_table(setting: str, batch: str) -> str:
    """Return losses after the last epoch that was made."""
    lines = [
        "| method | epsilon | sound epsilon | noise | epochs | training loss | test loss |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for row in last_losses(rows_of(setting, batch)):
        claimed, sound = _epsilon(row["epsilon"]), _epsilon(row["sound_epsilon"])
        sigma = f"{float(row['sigma']):.3f}" if row["accounting"] else ""
        made = (
            row["epoch"]
            if row["epoch"] in ("0", row["epochs"])
            else (f"{row['epoch']} of {row['epochs']}")
        )
        train, test = float(row["train"]), float(row["test"])
        lines.append(
            f"| {label(row)} | {claimed} | {sound} | {sigma} | {made} | {train:.3f} | {test:.3f} |"
        )
    return "\n".join(lines)


def accuracy_table() -> str:
    """Return per cent of reviews that are classified correctly, for each size of batches."""
    found: dict[tuple[str, str, str], dict[str, str]] = {}
    for setting, start in (("paper", "N(0, 1)"), ("small", "0.1 N(0, 1)")):
        for batch in BATCHES:
            for row in rows_of(setting, batch):
                if row["accuracy"]:
                    arm = found.setdefault((start, label(row), _epsilon(row["epsilon"])), {})
                    arm[batch] = f"{100 * float(row['accuracy']):.1f}"
    lines = [
        "| start | method | epsilon | " + " | ".join(f"batches of {n}" for n in BATCHES) + " |",
        "|---|---|---:|---:|---:|",
    ]
    for arm, correct in found.items():
        lines.append("| " + " | ".join([*arm, *(correct.get(n, "") for n in BATCHES)]) + " |")
    return "\n".join(lines)


def exposure_table() -> str:
    """Return mean exposures of planted phrases, for each number of copies."""
    found: dict[str, list[str]] = {}
    with SHARER.open(newline="") as stored:
        for row in csv.DictReader(stored):
            epsilon = _epsilon(row["epsilon"])
            arm = row["method"] + (f", epsilon {epsilon}" if epsilon else "")
            found.setdefault(arm, []).append(f"{float(row['mean_exposure']):.1f}")
    lines = ["| | 1 copy | 10 copies | 100 copies |", "|---|---:|---:|---:|"]
    return "\n".join(lines + [f"| {' | '.join([arm, *bits])} |" for arm, bits in found.items()])


def _epsilon(text: str) -> str:
    return "" if text in ("", "inf") else f"{float(text):.3g}"


def draw() -> None:
    """Draw losses by epoch: training dotted, test solid; a panel for each epsilon and batch."""
    columns = [("paper", "30")] + [("small", epsilon) for epsilon in ("1", "3", "10")]
    figure, grid = plt.subplots(len(BATCHES), len(columns), figsize=(14.4, 7.0), squeeze=False)
    figure.set_layout_engine("constrained")
    for batch, axes in zip(BATCHES, grid, strict=True):
        for axis, (setting, epsilon) in zip(axes, columns, strict=True):
            _draw_panel(axis, _arms(setting, batch, epsilon))
            start = "N(0, 1)" if setting == "paper" else "0.1 N(0, 1)"
            title = f"epsilon {epsilon}, start {start}, batches of {batch}"
            axis.set_title(title, fontsize=9)
    handles = {
        name: handle
        for axis in grid.flat
        for handle, name in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    names = [name for name in COLORS if name in handles]
    lines = [handles[name] for name in names]
    figure.legend(lines, names, loc="outside lower center", ncols=len(names), frameon=False)
    figure.savefig(FIGURE, dpi=110)
    plt.close(figure)


def _draw_panel(axis: Any, arms: dict[str, list[Row]]) -> None:
    if not arms:
        axis.set_visible(False)
    for method, rows in arms.items():
        epochs = [int(row["epoch"]) for row in rows]
        for part, style in (("test", "-"), ("train", ":")):
            losses = [float(row[part]) for row in rows]
            name = method if part == "test" else None
            axis.plot(epochs, losses, style, color=COLORS[method], label=name)
    axis.set(xlabel="epoch", ylabel="loss: test solid, training dotted")
    axis.grid(axis="y", color="#e5e5e5")
    axis.spines[["top", "right"]].set_visible(False)


def _arms(setting: str, batch: str, epsilon: str) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows_of(setting, batch):
        wanted = _epsilon(row["epsilon"]) == epsilon or row["method"] == "no privacy"
        if wanted and row["train"] and row["accounting"] in ("", "sound"):
            found.setdefault(row["method"], []).append(row)
    found.pop("untrained", None)
    return found if len(found) > 1 else {}


def readings() -> dict[str, str]:
    """Return what a person has made of the figures, by heading."""
    parts = READING.read_text().split("\n# ")
    named = (part.removeprefix("# ").split("\n", 1) for part in parts)
    return {f"reading_{name.strip()}": text.strip() for name, text in named}


def main() -> None:
    """Write the page and its figure."""
    draw()
    lines = SPEED.read_text().splitlines()
    text = PROSE.read_text()
    tables = {
        f"{setting}_{batch}": loss_table(setting, batch)
        for setting in ("paper", "small")
        for batch in BATCHES
    }
    empty = {f"{{{name}}}" for name, table in tables.items() if table.count("\n") < 2}
    parts = {
        # What is said about a table that has no rows yet is left out with it.
        **{name: "" if any(map(part.count, empty)) else part for name, part in readings().items()},
        **tables,
        "accuracy": accuracy_table(),
        "remembered": exposure_table(),
        "vocabulary": VOCABULARY.read_text().split("\n\n")[1].strip(),
        "speed": "\n".join(line for line in lines if not line.startswith("Requirement")).strip(),
    }
    for name, part in parts.items():
        text = text.replace("{" + name + "}", part)
    TARGET.write_text(re.sub("\n{3,}", "\n\n", text))


if __name__ == "__main__":
    main()

"""Write docs/embeddings.md and its figure from the results of zhang_embedding.py; measures nothing.

Usage: python -m benchmarks.papers.write_embedding
"""

import csv
from pathlib import Path

import matplotlib.pyplot as plt

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "papers" / "zhang_embedding.csv"
SPEED = ROOT / "benchmarks" / "results" / "speed" / "cbow_epoch.txt"
TARGET = ROOT / "docs" / "embeddings.md"
PROSE = Path(__file__).with_name("embedding_page.md")
READING = Path(__file__).with_name("embedding_reading.md")
FIGURE = ROOT / "docs" / "figures" / "embedding_losses.png"
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


def rows_of(setting: str) -> list[Row]:
    """Return the rows of a setting."""
    with RESULTS.open(newline="") as stored:
        return [row for row in csv.DictReader(stored) if row["setting"] == setting]


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


def loss_table(setting: str) -> str:
    """Return losses after the last epoch."""
    lines = [
        "| method | epsilon | sound epsilon | training loss | test loss |",
        "|---|---:|---:|---:|---:|",
    ]
    for row in last_losses(rows_of(setting)):
        claimed, sound = _epsilon(row["epsilon"]), _epsilon(row["sound_epsilon"])
        train, test = float(row["train"]), float(row["test"])
        lines.append(f"| {label(row)} | {claimed} | {sound} | {train:.3f} | {test:.3f} |")
    return "\n".join(lines)


def accuracy_table() -> str:
    """Return per cent of reviews that are classified correctly."""
    lines = ["| start | method | epsilon | correct, % |", "|---|---|---:|---:|"]
    for setting, start in (("paper", "N(0, 1)"), ("small", "0.1 N(0, 1)")):
        for row in rows_of(setting):
            if row["accuracy"]:
                correct = 100 * float(row["accuracy"])
                epsilon = _epsilon(row["epsilon"])
                lines.append(f"| {start} | {label(row)} | {epsilon} | {correct:.1f} |")
    return "\n".join(lines)


def _epsilon(text: str) -> str:
    return "" if text in ("", "inf") else f"{float(text):.3g}"


def draw() -> None:
    """Draw losses by epoch: training dashed, test solid; one panel for each epsilon."""
    panels = [("paper", "30")] + [("small", epsilon) for epsilon in ("1", "3", "10")]
    panels = [panel for panel in panels if _arms(*panel)]
    figure, axes = plt.subplots(1, len(panels), figsize=(3.6 * len(panels), 3.6))
    figure.set_layout_engine("constrained")
    for axis, (setting, epsilon) in zip(axes.flat, panels, strict=True):
        for method, rows in _arms(setting, epsilon).items():
            epochs = [int(row["epoch"]) for row in rows]
            for part, style in (("test", "-"), ("train", ":")):
                losses = [float(row[part]) for row in rows]
                name = method if part == "test" else None
                axis.plot(epochs, losses, style, color=COLORS[method], label=name)
        start = "N(0, 1)" if setting == "paper" else "0.1 N(0, 1)"
        axis.set_title(f"epsilon {epsilon}, start {start}", fontsize=10)
        axis.set(xlabel="epoch", ylabel="loss: test solid, training dotted")
        axis.grid(axis="y", color="#e5e5e5")
        axis.spines[["top", "right"]].set_visible(False)
    axes.flat[0].legend(fontsize=7, frameon=False)
    figure.savefig(FIGURE, dpi=150)
    plt.close(figure)


def _arms(setting: str, epsilon: str) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows_of(setting):
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
    rows = [row for setting in ("paper", "small") for row in rows_of(setting)]
    lines = SPEED.read_text().splitlines()
    text = PROSE.read_text()
    parts = {
        "epochs": max((row["epoch"] for row in rows if row["epoch"]), key=int),
        "seeds": {1: "one"}.get(len({row["seed"] for row in rows}), "several"),
        "paper": loss_table("paper"),
        "small": loss_table("small"),
        "accuracy": accuracy_table(),
        "speed": "\n".join(line for line in lines if not line.startswith("Requirement")).strip(),
        **readings(),
    }
    for name, part in parts.items():
        text = text.replace("{" + name + "}", part)
    TARGET.write_text(text)


if __name__ == "__main__":
    main()

"""Write docs/schedules.md and its figures from benchmarks/results; measures nothing.

Usage: python -m benchmarks.papers.write_yu
"""

import csv
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from benchmarks.papers.yu import DELTA, PUBLISHED
from benchmarks.scores import Mean
from skdp.privacy.comparison import compare_accountants
from skdp.reporting import draw_accountants, draw_schedules
from skdp.training import AllCoordinates, ShuffledBatches, TrainingPlan

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "papers" / "yu.csv"
COMPONENTS = ROOT / "benchmarks" / "results" / "utility" / "network_components.csv"
TARGET = ROOT / "docs" / "schedules.md"
PROSE = Path(__file__).with_name("yu_page.md")
FIGURES = ROOT / "docs" / "figures"
EPOCHS = (1, 10, 100, 200, 400)
NAMES = ("schedules", "rates", "layers", "accounted", "cancer", "fashion", "defaults")

Cell = tuple[str, str, str]


def read(path: Path) -> dict[str, dict[Cell, list[dict[str, str]]]]:
    """Return the rows of every experiment by arm, batches and epsilon, in the order of the file."""
    found: dict[str, dict[Cell, list[dict[str, str]]]] = {}
    with path.open(newline="") as stored:
        for row in csv.DictReader(stored):
            cell = (row["arm"], row["batches"], row["epsilon"])
            found.setdefault(row["experiment"], {}).setdefault(cell, []).append(row)
    return found


def mean(rows: list[dict[str, str]], column: str) -> Mean:
    return Mean.of([float(row[column]) for row in rows])


def table(cells: dict[Cell, list[dict[str, str]]]) -> str:
    """Return accuracy by arm."""
    lines = [
        "| noise | batches | epsilon | epochs | test accuracy, % | fits | CPU seconds |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for (arm, batches, epsilon), rows in cells.items():
        epochs = mean(rows, "epochs").value
        shown = "" if epochs != epochs or not epochs else f"{epochs:.3g}"
        at = "" if epsilon == "inf" else epsilon
        lines.append(
            f"| {arm} | {batches} | {at} | {shown} | {per_cent(rows)} | "
            f"{len(rows)} | {mean(rows, 'seconds').value:.3g} |"
        )
    return "\n".join(lines)


def per_cent(rows: list[dict[str, str]]) -> str:
    """Return the mean accuracy, with a standard error where there are several fits."""
    found = mean(rows, "accuracy")
    return found.per_cent() if len(rows) > 1 else f"{100 * found.value:.1f}"


def wide_tables() -> str:
    """Return accuracy within all directions and within some, by data set."""
    found: dict[tuple[str, ...], list[dict[str, str]]] = {}
    with COMPONENTS.open(newline="") as stored:
        for row in csv.DictReader(stored):
            cell = tuple(row[name] for name in ("data", "n", "columns", "epsilon"))
            found.setdefault(cell, []).append(row)
    lines = [
        "| data | rows | columns | epsilon | all directions, % | directions | those alone, % | "
        "CPU seconds |",
        "|---|---:|---:|---:|---:|---:|---:|---|",
    ]
    for cell, rows in found.items():
        every = [row for row in rows if row["components"] == "all"]
        some = [row for row in rows if row["components"] != "all"]
        seconds = " and ".join(f"{mean(part, 'seconds').value:.2g}" for part in (every, some))
        lines.append(
            f"| {' | '.join(cell)} | {per_cent(every)} | {some[0]['components']} | "
            f"{per_cent(some)} | {seconds} |"
        )
    return "\n".join(lines)


def accountants() -> str:
    """Return the epsilons of one noise as accountants have them."""
    columns = [compare_accountants(0.01, 6.0, epochs, DELTA) for epochs in EPOCHS]
    lines = [
        f"| accountant, epochs | a guarantee | {' | '.join(f'after {n}' for n in EPOCHS)} |",
        f"|---|---|{'---:|' * len(EPOCHS)}",
    ]
    for said in zip(*columns, strict=True):
        numbers = " | ".join(f"{row.epsilon:.4g}" for row in said)
        certified = "yes" if said[0].certified else "no"
        lines.append(f"| {said[0].accountant} | {certified} | {numbers} |")
    draw_accountants(
        EPOCHS,
        columns,
        FIGURES / "yu_accountants.png",
        "q = 0.01, noise multiplier 6, delta = 1e-5",
    )
    return "\n".join(lines)


def draw_plans() -> None:
    """Draw noise and spending of the published schedules on MNIST."""
    sampler = ShuffledBatches(600, 60_000)
    plans = {}
    for name, (noise, epochs) in PUBLISHED.items():
        level = 8.0 if name == "uniform" else 10.0
        plans[name] = TrainingPlan(
            sampler, AllCoordinates(), noise.at_level(level), 4.0, n_steps=100 * epochs, size=71_010
        )
    draw_schedules(
        plans, DELTA, FIGURES / "yu_schedules.png", "Published schedules, shuffled batches of 600"
    )


def draw_rates(cells: dict[Cell, list[dict[str, str]]]) -> None:
    """Draw accuracy against the rate of decay."""
    figure, axes = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    rates = [float(arm.removeprefix("k = ")) for arm, _, _ in cells]
    means = [mean(rows, "accuracy") for rows in cells.values()]
    values, errors = [100 * m.value for m in means], [100 * m.error for m in means]
    axes.errorbar(rates, values, yerr=errors, marker="o", capsize=3, color="#0072B2")
    axes.set(xlabel="k of exponential decay", ylabel="test accuracy, per cent")
    axes.set_title("Decay rate at equal budget, MNIST, 200 hidden units", fontsize=11)
    axes.grid(axis="y", color="#e5e5e5")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(FIGURES / "yu_rates.png", dpi=150)
    plt.close(figure)


def main() -> None:
    """Write the page and its figures."""
    found = read(RESULTS)
    draw_plans()
    parts: dict[str, Any] = {name: table(cells) for name, cells in found.items()}
    parts = {name: parts.get(name, "(not measured)") for name in NAMES}
    if "rates" in found:
        draw_rates(found["rates"])
    parts |= {"accountants": accountants(), "wide": wide_tables()}
    page = PROSE.read_text(encoding="utf-8").format(**parts)
    TARGET.write_text(page, encoding="utf-8")
    print(f"{TARGET} is written")


if __name__ == "__main__":
    main()

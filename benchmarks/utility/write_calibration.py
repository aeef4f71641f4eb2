"""Tables and figure of how sure the models are, for docs/choosing.md; measures nothing."""

from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "benchmarks" / "results" / "utility"
DEFAULT, OTHERS = FOLDER / "calibration.csv", FOLDER / "calibration_others.csv"
CURVES = FOLDER / "calibration_curves.csv"
FIGURE = ROOT / "docs" / "figures" / "calibration.png"
AT = 1.0
PANELS = ("adult", "nist_acs_national", "made_2", "spambase", "digits", "mnist_7x7")
TWO_CLASSES = {"adult", "nist_acs_national", "made_2", "spambase"}
#: Bins of fewer test rows, over all splits, are left out of the figure.
FEWEST = 20
#: Corrections as they are drawn.
LINES = {
    "None": ("scores as they are", "gray", "-"),
    "noise": ("noise", "C0", "--"),
    "clipping": ("clipping", "C3", "-"),
}


def parts() -> dict[str, str]:
    """Return what the page is filled with."""
    found, others = _read(DEFAULT), _read(OTHERS)
    return {
        "CALIBRATION": table(found),
        "CALIBRATION_COUNTS": counts_table(found, others),
        "CALIBRATION_OTHERS": table_of_others(others),
    }


def _read(file: Path) -> pd.DataFrame:
    return pd.read_csv(file, keep_default_na=False)


def counts_table(found: pd.DataFrame, others: pd.DataFrame) -> str:
    """Return in how many cells the log loss changes by more than two standard errors."""
    kinds = [("the default", found)]
    kinds += [(f"noise on {told}", others[others["method"] == m]) for m, told in NOISE_ON.items()]
    lines = ["| model | correction | cells that it changes | lower | higher |", "|---" * 5 + "|"]
    for model, cells in kinds:
        for name in ("auto", "clipping", "noise"):
            rows = cells[(cells["correction"] == name) & (cells["factor"] < 1)]
            if len(rows):
                lower = (rows["gain"] > 2 * rows["error"]).sum()
                higher = (rows["gain"] < -2 * rows["error"]).sum()
                lines.append(f'| {model} | `"{name}"` | {len(rows)} | {lower} | {higher} |')
    return "\n".join(lines)


def table(found: pd.DataFrame) -> str:
    """Return log losses and calibration errors of the default at one epsilon."""
    lines = [
        "| data | log loss | noise | clipping | best | factors: noise, clipping, best | error "
        "| noise | clipping | default |",
        "|---" * 10 + "|",
    ]
    for data, rows in found[found["epsilon"] == AT].groupby("data", sort=False):
        cells = rows.set_index("correction")
        names = ("noise", "clipping", "best")
        losses = [f"{cells.loc[name, 'log_loss']:.3f}" for name in ("None", *names)]
        factors = ", ".join(f"{cells.loc[name, 'factor']:.2f}" for name in names)
        errors = [f"{cells.loc[name, 'ece']:.3f}" for name in ("None", "noise", "clipping")]
        chosen = "as it is" if cells.loc["auto", "factor"] == 1 else "**clipping**"
        lines.append(f"| {' | '.join([data, *losses, factors, *errors, chosen])} |")
    return "\n".join(lines)


def table_of_others(found: pd.DataFrame) -> str:
    """Return the log losses of models that are released once, as they are and corrected."""
    told = " | ".join(f"{epsilon:g}" for epsilon in SHOWN)
    lines = [f"| data | noise on | {told} |", "|---" * (2 + len(SHOWN)) + "|"]
    for (data, method), rows in found.groupby(["data", "method"], sort=False):
        cells = rows.set_index(["epsilon", "correction"])["log_loss"]
        texts = [
            " / ".join(f"{cells[epsilon, name]:.3f}" for name in ("None", "noise", "best"))
            for epsilon in SHOWN
        ]
        lines.append(f"| {data} | {NOISE_ON[method]} | {' | '.join(texts)} |")
    return "\n".join(lines)


#: Epsilons of that table.
SHOWN = (0.1, 1.0, 10.0)
NOISE_ON = {"output": "the minimiser", "objective": "the objective", "stable": "SGD's outcome"}


def draw() -> None:
    """Draw the share of hits against the probability of the predicted class."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    found = _read(CURVES)
    figure, panels = plt.subplots(2, 3, figsize=(10, 6))
    for panel, data in zip(panels.ravel(), PANELS, strict=True):
        panel.plot([0, 1], [0, 1], color="black", linewidth=0.5)
        for name, (label, color, line) in LINES.items():
            bins = found[(found["data"] == data) & (found["correction"] == name)]
            bins = bins[bins["rows"] >= FEWEST]
            panel.plot(
                bins["predicted"], bins["observed"], line, marker=".", color=color, label=label
            )
        low = 0.45 if data in TWO_CLASSES else 0.2
        panel.set(xlim=(low, 1.01), ylim=(low, 1.01), title=data)
    panels[1, 1].set_xlabel("probability of the predicted class")
    panels[0, 0].set_ylabel("share of hits")
    panels[0, 0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(FIGURE, dpi=100)

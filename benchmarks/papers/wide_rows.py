"""One row of a CSV file per fit on wide data."""

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import Split
from benchmarks.scores import scores

METRICS = ("accuracy", "balanced_accuracy", "auc")
COLUMNS = ("data", "method", "epsilon", "seed", *METRICS, "nonzero", "seconds")

Row = dict[str, str]


def row_of(
    data: str, method: str, epsilon: float, seed: int, model: Any, split: Split, seconds: float
) -> Row:
    """Score a fitted model on the test rows."""
    found = scores(model, split)
    values = (
        data,
        method,
        f"{epsilon:g}",
        str(seed),
        *(f"{getattr(found, name):.4f}" for name in METRICS),
        f"{_nonzero(model):.5f}",
        f"{seconds:.3f}",
    )
    return dict(zip(COLUMNS, values, strict=True))


def _nonzero(model: Any) -> float:
    """Return the share of coefficients that are not zero; 0 for a model without any."""
    coef = getattr(model, "coef_", np.zeros(1))
    stored = coef.toarray() if hasattr(coef, "toarray") else np.asarray(coef)
    return float(np.mean(stored != 0))


def read(path: Path) -> list[Row]:
    with path.open(newline="") as stored:
        return list(csv.DictReader(stored))


def write(path: Path, rows: Iterable[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as target:
        writer = csv.DictWriter(target, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)

"""Further data sets for the calibration of probabilities: other classes of the same rows, and new.

The rule of ``probability_correction="auto"`` was settled before those of `FRESH` were measured, but
for the least n mu and number of columns, which `SMALL` gave reason for.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits, make_classification
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from benchmarks.utility import linear_data
from benchmarks.utility.linear_data import Task
from skdp.preprocessing import RowNormClipper

KDD_ROWS = 60_000
#: Of the counts in a window of 2 seconds or 100 connections; all other numbers are on a log scale.
KDD_COUNTS = {"count": 511, "srv_count": 511, "dst_host_count": 255, "dst_host_srv_count": 255}
KDD_LARGEST = 2.0**32
#: Classes, class separation and clusters of each class of made-up rows.
MADE = {
    "made_2": (2, 1.0, 2), "made_2_easy": (2, 3.0, 1), "made_4": (4, 1.0, 1), "made_3": (3, 0.7, 2),
}  # fmt: skip
FRESH = ("census_sex", "fashion_7x7", "kdd_kinds", "made_3")
#: Digits of 12 principal components: the labels that are told from the others.
SMALL = {"digits_zero": (0,), "digits_above_4": (5, 6, 7, 8, 9)}
KDD_KINDS = ("normal.", "smurf.", "neptune.")
MADE_RANGE = 4.0


def further(names: list[str]) -> Iterator[Task]:
    """Yield the sets of these names; those of `linear_data` too."""
    folder = Path(os.environ.get("SKDP_DATA", ""))
    makers = {
        "acs_thirds": lambda: incomes(folder, (3, 7)),
        "acs_fifths": lambda: incomes(folder, (2, 4, 6, 8)),
        "census_sex": lambda: sexes(folder),
        "kddcup99": lambda: connections(folder),
        "kdd_kinds": lambda: connections(folder, kinds=True),
        "mnist_7x7": lambda: coarse("mnist_7x7", folder / "mnist.npz", "X_train", "y_train"),
        "fashion_7x7": lambda: coarse("fashion_7x7", folder / "fashion_mnist_t10k.npz", "X", "y"),
        **{name: lambda name=name: made(name) for name in MADE},
        **{name: lambda name=name: small(name) for name in SMALL},
    }
    for name in names:
        if name in makers:
            yield makers[name]()
        else:
            yield from linear_data.tasks(name)


def incomes(folder: Path, bounds: tuple[int, ...]) -> Task:
    """The people of nist_acs_national, and between which deciles of income they are."""
    columns = linear_data.acs(folder)
    frame = pd.read_csv(folder / "nist_acs_national2019.csv.gz", dtype=str, na_filter=False)
    deciles = frame.loc[frame["PINCP_DECILE"] != "N", "PINCP_DECILE"].astype(int)
    name = {2: "acs_thirds", 4: "acs_fifths"}[len(bounds)]
    return Task(name, columns.X, np.searchsorted(bounds, deciles, side="right"), len(bounds) + 1)


def sexes(folder: Path) -> Task:
    """The people of census_income_kdd, and whether they are women, from all other columns."""
    columns = linear_data.census(folder)
    frame = pd.read_parquet(folder / "census_income_kdd.parquet").iloc[: linear_data.CENSUS_ROWS]
    names = linear_data.CENSUS_CATEGORIES
    widths = [len(frame[name].cat.categories) for name in names]
    end = columns.X.shape[1] - sum(widths[names.index("sex") + 1 :])
    others = np.delete(columns.X, range(end - widths[names.index("sex")], end), axis=1)
    women = frame["sex"].astype(str).str.strip() == "Female"
    return _task("census_sex", others, women, 2)


def connections(folder: Path, *, kinds: bool = False) -> Task:
    """60,000 connections of KDD Cup 1999, drawn at random, and whether, or how, they attack."""
    frame = pd.read_parquet(folder / "kddcup99_10pct.parquet").sample(KDD_ROWS, random_state=0)
    parts = []
    for name, column in frame.select_dtypes("number").items():
        if name in KDD_COUNTS:
            parts.append(column / KDD_COUNTS[name])
        elif name.endswith("_rate"):
            parts.append(column)
        else:
            parts.append(np.log1p(column) / np.log1p(KDD_LARGEST))
    rows, labels = np.column_stack(parts) / 3, frame["label"].astype(str)
    if kinds:
        found = [labels == kind for kind in KDD_KINDS]
        return _task("kdd_kinds", rows, np.select(found, range(len(found)), len(found)), 4)
    return _task("kddcup99", rows, labels != "normal.", 2)


def coarse(name: str, file: Path, rows: str, labels: str) -> Task:
    """Pictures of 28 x 28 pixels, means of 4 x 4 of them; ten classes."""
    with np.load(file) as stored:
        pictures = stored[rows].reshape(-1, 7, 4, 7, 4) / 255.0
        return _task(name, pictures.mean((2, 4)).reshape(-1, 49) / 3, stored[labels], 10)


def made(name: str) -> Task:
    """50,000 made-up rows of 100 columns, 20 of them informative."""
    n_classes, separation, clusters = MADE[name]
    X, y = make_classification(
        50_000, 100, n_informative=20, n_classes=n_classes, class_sep=separation,
        n_clusters_per_class=clusters, random_state=1,
    )  # fmt: skip
    return _task(name, np.clip(X / MADE_RANGE, -1, 1) / 5, y, n_classes)


def small(name: str) -> Task:
    """1,797 digits of 12 principal components, some of them against the others."""
    X, y = load_digits(return_X_y=True)
    rows = StandardScaler().fit_transform(PCA(12, random_state=0).fit_transform(X))
    return _task(name, np.clip(rows / MADE_RANGE, -1, 1), np.isin(y, SMALL[name]), 2)


def _task(name, X, y, n_classes):
    rows = RowNormClipper(row_norm=1.0).fit_transform(X)
    return Task(name, rows, np.asarray(y, dtype=int), n_classes)

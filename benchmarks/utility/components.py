"""What training within private components does to a network: accuracy on rows kept aside.

`PrivateMLPClassifier` with nothing set but public facts, with `n_components` None and given: 50 of
the columns of wide tables, 20 of those of narrower ones, which "auto" would leave as they are.
Zero-out, delta 1e-5, 70 % of the rows for training.

- MNIST: the 60,000 training rows alone. Fashion-MNIST: 10,000 rows.
- a9a, Census-Income: tables of categories, of which many columns vary little and tell much.
- made: `make_classification(50_000, 300, n_informative=20, n_redundant=30)`.
- spread: made so that components must fail. Of 400 columns 60 have ten times the spread of the
  rest, and a linear score of all of them, each by its own spread, decides.

Usage: python -m benchmarks.utility.components [--splits 2] [--only NAMES] [--output FILE]
"""

import argparse
import csv
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from benchmarks.papers.network_data import splits as network_splits
from benchmarks.utility.linear_data import tasks
from skdp.neural_network import PrivateMLPClassifier

EPSILONS = (1.0, 8.0)
NAMES = ("mnist", "fashion_mnist", "made", "a9a", "census_income_kdd", "spread")


def data_of(name: str) -> tuple[Any, Any, int]:
    """Return rows in [-1, 1], labels and how many components to take."""
    if name in ("mnist", "fashion_mnist"):
        _, split = next(iter(network_splits(name)))
        return split.train, split.y_train, 50
    if name == "made":
        X, y = make_classification(50_000, 300, n_informative=20, n_redundant=30, random_state=0)
        return np.clip(X / 4, -1, 1), y, 50
    if name == "spread":
        rng = np.random.default_rng(0)
        X, weights = rng.normal(size=(50_000, 400)), rng.normal(size=400)
        spread = np.r_[np.full(60, 1.0), np.full(340, 0.1)]
        return np.clip(X * spread / 4, -1, 1), (X @ weights > 0).astype(int), 50
    task = next(tasks(name))
    return task.X / np.abs(task.X).max(), task.y, 20


def measured(name: str, n_splits: int) -> Iterator[dict[str, Any]]:
    """Yield a row for each fit."""
    X, y, n_components = data_of(name)
    rows, classes = np.asarray(X.todense() if sparse.issparse(X) else X, np.float32), np.unique(y)
    for epsilon in EPSILONS:
        for taken in (None, n_components):
            for split in range(n_splits):
                X_train, X_test, y_train, y_test = train_test_split(
                    rows, y, test_size=0.3, stratify=y, random_state=split
                )
                model = PrivateMLPClassifier(
                    epsilon=epsilon, delta=1e-5, classes=classes, n_components=taken
                )
                start = time.process_time()
                model.fit(X_train, y_train)
                seconds = time.process_time() - start
                yield {
                    "data": name,
                    "n": len(X_train),
                    "columns": rows.shape[1],
                    "epsilon": epsilon,
                    "components": taken or "all",
                    "split": split,
                    "accuracy": f"{model.score(X_test, y_test):.4f}",
                    "seconds": f"{seconds:.3g}",
                }


def main() -> None:
    """Write a row for each fit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--only", default=",".join(NAMES))
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    file = given.output.open("w", newline="") if given.output else sys.stdout
    writer = None
    for name in given.only.split(","):
        for row in measured(name, given.splits):
            if writer is None:
                writer = csv.DictWriter(file, row)
                writer.writeheader()
            writer.writerow(row)
            file.flush()


if __name__ == "__main__":
    main()

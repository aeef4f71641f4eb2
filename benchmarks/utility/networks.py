"""Where no linear score is enough: the default network beside the default linear model.

`make_classification(50_000, 100, n_informative=20, random_state=0)`: two classes of two clusters
each, of which no plane tells more than three quarters. Accuracy at delta = 1 / n^1.1, n = 35,000
rows for training, zero-out, nothing set but public facts: classes, epsilon, delta, the norm to
which rows are clipped, and for networks the range [-4, 4] to which columns are clipped. Both were
taken from how such data is made (columns without a signal are standard normal), not from the rows.

Usage: python -m benchmarks.utility.networks [--splits 3] [--output FILE]
"""

import argparse
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

from skdp.exceptions import LittleToLearnWarning
from skdp.linear_model import PrivateLinearClassifier
from skdp.neural_network import PrivateMLPClassifier

EPSILONS = (0.1, 0.5, 1.0, 3.0, 10.0)
RANGE, ROW_NORM = 4.0, 20.0
NETWORK, LINEAR = "PrivateMLPClassifier", "PrivateLinearClassifier"
PLAIN_NETWORK, PLAIN_LINEAR = "MLPClassifier", "LogisticRegression"


def measured(n_splits: int) -> Iterator[tuple[Any, ...]]:
    """Yield method, epsilon, split, accuracy and seconds of processor time."""
    X, y = make_classification(50_000, 100, n_informative=20, random_state=0)
    boxed = np.clip(X / RANGE, -1, 1).astype(np.float32)
    for split in range(n_splits):
        train, test = train_test_split(
            np.arange(len(y)), test_size=0.3, stratify=y, random_state=split
        )
        given = {"delta": len(train) ** -1.1, "classes": [0, 1]}

        def fitted(name, model, rows, epsilon=0.0, split=split, train=train, test=test):
            start = time.process_time()
            model.fit(rows[train], y[train])
            taken = time.process_time() - start
            score = float(np.mean(model.predict(rows[test]) == y[test]))
            return name, epsilon, split, round(score, 4), round(taken, 2)

        for epsilon in EPSILONS:
            network = PrivateMLPClassifier(epsilon=epsilon, **given)
            yield fitted(NETWORK, network, boxed, epsilon)
            linear = PrivateLinearClassifier(epsilon=epsilon, row_norm=ROW_NORM, **given)
            yield fitted(LINEAR, linear, X, epsilon)
        yield fitted(PLAIN_LINEAR, LogisticRegression(max_iter=300), X)
        if split == 0:
            yield fitted(PLAIN_NETWORK, MLPClassifier(max_iter=60, random_state=0), boxed)


def main() -> None:
    """Write a line for each fit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore", LittleToLearnWarning)
    warnings.filterwarnings("ignore", module="sklearn")
    lines = ["method,epsilon,split,accuracy,seconds"]
    for row in measured(given.splits):
        lines.append(",".join(map(str, row)))
        print(lines[-1], file=sys.stderr, flush=True)
    text = "\n".join(lines) + "\n"
    if given.output:
        given.output.write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()

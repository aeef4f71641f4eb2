"""Does another rule do better where the default trails? On splits that no table here is made of.

The default of `PrivateLinearClassifier` beside the same with one constant of its rule changed, on
splits 1000, 1001, ... of the sets; those of the tables are 0 to 9. Besides sms_spam three more sets
of sparse texts: words of basehock, pcmac and movie reviews, binary rows of norm 1; and the same
three with so few rows of the second class that it has 15 % of them.

Usage: python -m benchmarks.utility.rule_variants [--only wine,sms_spam] [--output FILE]
"""

import argparse
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.preprocessing import normalize

from benchmarks.utility.linear import delta_of
from benchmarks.utility.linear_data import Task, tasks
from skdp.exceptions import LittleToLearnWarning, PrivacyLeakWarning
from skdp.linear_model import PrivateLinearClassifier
from skdp.training import descent
from skdp.training.descent import DescentFacts

FIRST = 1000
#: Share of mu^2 for the sums of rows; factors of the sum of learning rates and the clipping norm;
#: whether the share of the classes is released.
BASE = (0.1, 1.0, 1.0, True)
DENSE = {
    "share 0.03": (0.03, 1.0, 1.0, True), "travel x 0.5": (0.1, 0.5, 1.0, True),
    "travel x 2": (0.1, 2.0, 1.0, True), "clip x 0.5": (0.1, 1.0, 0.5, True),
}  # fmt: skip
SPARSE = {"no share": (0.1, 1.0, 1.0, False), "no share and travel x 1.5": (0.1, 1.5, 1.0, False)}
UNEVEN, FEW = " 15 %", 0.15
#: Splits and epsilons.
SETS = {
    "wine": (20, (0.5, 1.0, 10.0), DENSE),
    "breast_cancer": (14, (0.5, 1.0, 10.0), DENSE),
    "sms_spam": (4, (0.5, 1.0, 3.0, 10.0), SPARSE),
    "basehock": (5, (0.5, 1.0, 3.0, 10.0), SPARSE),
    "pcmac": (5, (0.5, 1.0, 3.0, 10.0), SPARSE),
    "movie_reviews": (4, (1.0, 3.0, 10.0), SPARSE),
    **{
        f"{name}{UNEVEN}": (8, (1.0, 3.0, 10.0), SPARSE)
        for name in ("basehock", "pcmac", "movie_reviews")
    },
}
TRAVEL, CLIP = DescentFacts.travel.fget, DescentFacts.clip.fget
BALANCES = DescentFacts.balances


def task_of(name: str) -> Task:
    """Return one of the sets."""
    if name.endswith(UNEVEN):
        return _uneven(task_of(name.removesuffix(UNEVEN)), name)
    folder = Path(os.environ.get("SKDP_DATA", ""))
    if name == "movie_reviews":
        frame = pd.read_parquet(folder / "movie_reviews.parquet")
        words = HashingVectorizer(
            n_features=2**12, alternate_sign=False, binary=True, norm="l2"
        ).transform(frame["text"])
        return Task(name, words, (frame["label"] == "pos").to_numpy().astype(int), 2)
    if name not in ("basehock", "pcmac"):
        return next(iter(tasks(name)))
    with np.load(folder / f"{name}.npz") as stored:
        counts = (np.ones(len(stored["data"])), stored["indices"], stored["indptr"])
        words = sparse.csr_matrix(counts, shape=stored["shape"])
        return Task(name, normalize(words), (stored["y"] == stored["y"].max()).astype(int), 2)


def _uneven(task: Task, name: str) -> Task:
    first, second = (np.flatnonzero(task.y == label) for label in (0, 1))
    n_kept = int(len(first) * FEW / (1 - FEW))
    kept = np.r_[first, np.random.default_rng(5).permutation(second)[:n_kept]]
    return Task(name, task.X.tocsr()[kept], task.y[kept], 2)


def accuracies(task: Task, epsilon: float, n_splits: int, rule: tuple) -> np.ndarray:
    """Return the accuracy on each split under a rule."""
    share, far, short, told = rule
    balances = BALANCES if told else property(lambda facts: False)
    scores = []
    with (
        patch.object(descent, "_STATISTICS_SHARE", share),
        patch.object(DescentFacts, "travel", property(lambda facts: far * TRAVEL(facts))),
        patch.object(DescentFacts, "balances", balances),
        patch.object(DescentFacts, "clip", property(lambda facts: short * CLIP(facts))),
    ):
        for seed in range(FIRST, FIRST + n_splits):
            train, test = task.split(seed)
            model = PrivateLinearClassifier(
                epsilon=epsilon, delta=delta_of(task, len(train)), classes=range(task.n_classes)
            )
            predicted = model.fit(task.X[train], task.y[train]).predict(task.X[test])
            scores.append(np.mean(predicted == task.y[test]))
    return np.array(scores)


def rows(only: str) -> Iterator[list]:
    """Yield data, epsilon, variant, splits, mean, difference to the default and its error."""
    for name in only.split(","):
        task, (n_splits, epsilons, variants) = task_of(name), SETS[name]
        for epsilon in epsilons:
            base = accuracies(task, epsilon, n_splits, BASE)
            for variant, rule in {"default": BASE, **variants}.items():
                found = base if rule == BASE else accuracies(task, epsilon, n_splits, rule)
                gap = found - base
                error = gap.std(ddof=1) / np.sqrt(n_splits)
                told = [f"{value:.4f}" for value in (found.mean(), gap.mean(), error)]
                yield [name, epsilon, variant, n_splits, *told]


def main() -> None:
    """Write a line for each variant."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(SETS))
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore", PrivacyLeakWarning)
    warnings.simplefilter("ignore", LittleToLearnWarning)
    lines = ["data,epsilon,variant,splits,mean,difference,error"]
    lines += [",".join(map(str, row)) for row in rows(given.only)]
    text = "\n".join(lines) + "\n"
    if given.output:
        given.output.write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()

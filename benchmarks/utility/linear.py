"""The default of private linear models beside peers at their best setting, on twelve data sets.

Accuracy at delta = 1 / n^1.1, R^2 at delta 1e-5, over splits and noise. Rows are scaled by public
bounds and clipped to norm 1 (`linear_data`). skdp gets no setting at all but that norm, epsilon,
delta and the classes. A peer's setting is chosen for each data set and epsilon by its mean score on
the very test rows it is scored on, which costs it nothing: more than a user could do.

Relation: zero-out, the number of rows public. Its noise is that of add-or-remove-one with a public
number of rows, which is what the (epsilon, delta) peers here calibrate for. diffprivlib's pure
epsilon is for replace-one.

Usage: python -m benchmarks.utility.linear [--seeds 5] [--only adult,wine] [--diamonds FILE]
       [--export FOLDER | --peers FILE,FILE] [--raw] [--output FILE]
       [--first 3] [--parts default,peers] [--large-splits 2] [--methods "AMP,AdaSSP"]
"""

import argparse
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.linear_model import LinearRegression, LogisticRegression

from benchmarks.utility.linear_data import Task, tasks
from benchmarks.utility.linear_numpy import peers
from skdp.exceptions import LittleToLearnWarning, PrivacyLeakWarning
from skdp.linear_model import (
    PrivateLinearClassifier,
    PrivateLinearRegressor,
    PrivateRidge,
    PrivateRidgeClassifier,
)

EPSILONS = (0.1, 0.5, 1.0, 3.0, 10.0)
#: Sets whose fits of peers take long get fewer splits, and fewer settings.
LARGE = 4_000_000
DEFAULT = "skdp default"
PARTS = "ceilings,default,ridge,peers"


def delta_of(task: Task, n_train: int) -> float:
    """Return the delta of a comparison."""
    return n_train**-1.1 if task.n_classes else 1e-5


def scores(
    task: Task, seeds: range, parts: str = PARTS, large_splits: int = 2, methods: str = ""
) -> Iterator[tuple]:
    """Yield method, setting, epsilon, seed and score."""
    begins = tuple(methods.split(","))
    large = np.prod(task.X.shape) > LARGE
    wanted = parts.split(",")
    for seed in seeds:
        train, test = task.split(seed)
        X, y, X_test, y_test = task.X[train], task.y[train], task.X[test], task.y[test]

        def score(predicted, y_test=y_test):
            if task.n_classes:
                return float(np.mean(predicted == y_test))
            return float(
                1 - ((predicted - y_test) ** 2).sum() / ((y_test - y_test.mean()) ** 2).sum()
            )

        delta = delta_of(task, len(train))
        if task.n_classes:
            ceiling = LogisticRegression(C=100.0, max_iter=300, tol=1e-3)
            base = np.full(len(y_test), np.bincount(y).argmax())
        else:
            ceiling, base = LinearRegression(), np.full(len(y_test), y.mean())
        if "ceilings" in wanted:
            yield "not private", "", 0.0, seed, score(ceiling.fit(X, y).predict(X_test))
            yield "constant", "", 0.0, seed, score(base)
        for epsilon in EPSILONS:
            for name, model in ours(task, epsilon, delta):
                if name.removeprefix("skdp ") in wanted:
                    yield name, "", epsilon, seed, score(model.fit(X, y).predict(X_test))
            if "peers" not in wanted or (large and seed >= large_splits):
                continue
            for name, setting, peer in peers(task.n_classes, task.X.shape[1], large):
                if not f"{name} {setting}".startswith(begins):
                    continue
                fitted = peer.fit(X, y, task.n_classes, epsilon, delta, seed)
                yield name, setting, epsilon, seed, score(predicted(task, fitted.scores(X_test)))


def ours(task: Task, epsilon: float, delta: float) -> Iterator[tuple]:
    """Yield the names and models of skdp, defaults only."""
    given = {"epsilon": epsilon, "delta": delta}
    if task.n_classes:
        given["classes"] = range(task.n_classes)
        yield DEFAULT, PrivateLinearClassifier(**given)
        if task.X.shape[1] <= 800:
            yield "skdp ridge", PrivateRidgeClassifier(**given)
    else:
        yield DEFAULT, PrivateLinearRegressor(**given)
        yield "skdp ridge", PrivateRidge(**given)


def predicted(task: Task, values: np.ndarray) -> np.ndarray:
    """Return classes or labels of scores."""
    if task.n_classes == 0:
        return values[:, 0]
    return (values[:, 0] > 0).astype(int) if values.shape[1] == 1 else values.argmax(axis=1)


def export(task: Task, seeds: int, folder: Path) -> None:
    """Write rows, labels and splits for peers in other environments."""
    rows = task.X.toarray() if sparse.issparse(task.X) else task.X
    splits = {}
    for seed in range(seeds):
        splits[f"train{seed}"], splits[f"test{seed}"] = task.split(seed)
    np.savez(
        folder / f"{task.name}.npz",
        X=rows.astype(np.float32),
        y=task.y,
        n_classes=task.n_classes,
        **splits,
    )


def summary(found: pd.DataFrame) -> pd.DataFrame:
    """Return one line for each data set, epsilon and method, at its best setting.

    A setting that has fewer splits than others of its method is left out there.
    """
    once = found.drop_duplicates(["data", "method", "setting", "epsilon", "seed"], keep="last")
    in_order = once.sort_values("seed", kind="stable")
    means = in_order.groupby(["data", "method", "setting", "epsilon"])["score"].agg(
        ["mean", "std", "count", lambda values: " ".join(f"{value:.4f}" for value in values)]
    )
    means.columns = ["mean", "deviation", "seeds", "scores"]
    means = means.reset_index()
    most = means.groupby(["data", "method", "epsilon"])["seeds"].transform("max")
    best = means[means["seeds"] == most].sort_values("mean")
    best = best.groupby(["data", "epsilon", "method"]).tail(1)
    return best.sort_values(["data", "epsilon", "method"]).round(4)


def main() -> None:
    """Write the table, or export the data."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--diamonds")
    parser.add_argument("--export", type=Path)
    parser.add_argument("--peers", default="")
    parser.add_argument("--raw", action="store_true", help="one line a fit, for --peers")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--first", type=int, default=0, help="the first split")
    parser.add_argument("--parts", default=PARTS)
    parser.add_argument("--large-splits", type=int, default=2, help="splits of peers on large sets")
    parser.add_argument("--methods", default="", help="peers of which name and setting begin so")
    given = parser.parse_args()
    warnings.simplefilter("ignore", PrivacyLeakWarning)
    warnings.simplefilter("ignore", LittleToLearnWarning)
    rows = []
    for task in () if given.only == "none" else tasks(given.only, given.diamonds):
        if given.export:
            export(task, given.seeds, given.export)
            continue
        seeds = range(given.first, given.seeds)
        found = scores(task, seeds, given.parts, given.large_splits, given.methods)
        rows += [(task.name, *line) for line in found]
        print(task.name, task.X.shape, file=sys.stderr, flush=True)
    if given.export:
        return
    found = pd.DataFrame(rows, columns=["data", "method", "setting", "epsilon", "seed", "score"])
    others = [pd.read_csv(file, keep_default_na=False) for file in given.peers.split(",") if file]
    whole = pd.concat([found, *others])
    text = (whole if given.raw else summary(whole)).to_csv(index=False)
    if given.output:
        given.output.write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()

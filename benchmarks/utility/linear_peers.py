"""Peers that need an environment of their own: diffprivlib, and interpret's DP-EBM.

Reads what `benchmarks.utility.linear --export FOLDER` wrote and imports nothing of skdp.

Usage: OTHER/bin/python benchmarks/utility/linear_peers.py {diffprivlib,interpret} FOLDER
       [--seeds 5] [--first 0] [--only NAMES] [--method NAME] [--output FILE]
"""

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np

EPSILONS = (0.1, 0.5, 1.0, 3.0, 10.0)


def diffprivlib_fits(n_classes, largest):
    from diffprivlib.models import GaussianNB, LinearRegression, LogisticRegression

    if n_classes == 0:
        yield (
            "diffprivlib LinearRegression",
            "",
            lambda X, y, epsilon, delta, seed: LinearRegression(
                epsilon=epsilon, bounds_X=(-1, 1), bounds_y=(-1, 1), random_state=seed
            ).fit(X, y),
        )
        return
    for C in (0.01, 1.0) if largest else (0.01, 0.1, 1.0, 10.0):
        yield (
            "diffprivlib LogisticRegression",
            f"C={C}",
            lambda X, y, epsilon, delta, seed, C=C: LogisticRegression(
                epsilon=epsilon, data_norm=1.0, C=C, random_state=seed
            ).fit(X, y),
        )
    yield (
        "diffprivlib GaussianNB",
        "",
        lambda X, y, epsilon, delta, seed: GaussianNB(
            epsilon=epsilon, bounds=(-1, 1), random_state=seed
        ).fit(X, y),
    )


def interpret_fits(n_classes, largest):
    from interpret.privacy import (
        DPExplainableBoostingClassifier,
        DPExplainableBoostingRegressor,
    )

    if n_classes > 2:
        return
    maker = DPExplainableBoostingClassifier if n_classes else DPExplainableBoostingRegressor

    def fit(X, y, epsilon, delta, seed):
        told = {"privacy_bounds": dict.fromkeys(range(X.shape[1]), (-1, 1))}
        if not n_classes:
            told |= {"privacy_target_min": -1, "privacy_target_max": 1}
        model = maker(
            feature_types=["continuous"] * X.shape[1],
            epsilon=epsilon,
            delta=delta,
            random_state=seed,
            n_jobs=1,
            **told,
        )
        return model.fit(X, y)

    yield "DP-EBM", "defaults", fit


def score(model, X, y, n_classes):
    predicted = model.predict(X)
    if n_classes:
        return float(np.mean(predicted == y))
    return float(1 - ((predicted - y) ** 2).sum() / ((y - y.mean()) ** 2).sum())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("peer", choices=["diffprivlib", "interpret"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, help="the first split, also of large sets")
    parser.add_argument("--only", default="")
    parser.add_argument("--method", default="", help="this one alone")
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    fits = {"diffprivlib": diffprivlib_fits, "interpret": interpret_fits}[given.peer]
    lines = ["data,method,setting,epsilon,seed,score"]
    warnings.simplefilter("ignore")
    for file in sorted(given.folder.glob("*.npz")):
        if given.only and file.stem not in given.only.split(","):
            continue
        with np.load(file) as stored:
            X, y, n_classes = stored["X"].astype(float), stored["y"], int(stored["n_classes"])
            largest = X.size > 4e6
            seeds = range(given.first or 0, given.seeds)
            if largest and given.first is None:
                seeds = seeds[:2]
            splits = [(s, stored[f"train{s}"], stored[f"test{s}"]) for s in seeds]
        for name, setting, fit in fits(n_classes, largest):
            if given.method not in ("", name):
                continue
            for epsilon in EPSILONS:
                for seed, train, test in splits:
                    delta = len(train) ** -1.1 if n_classes else 1e-5
                    model = fit(X[train], y[train], epsilon, delta, seed)
                    found = score(model, X[test], y[test], n_classes)
                    lines.append(f"{file.stem},{name},{setting},{epsilon:g},{seed},{found:.5f}")
        print(file.stem, file=sys.stderr)
    text = "\n".join(lines) + "\n"
    given.output.write_text(text) if given.output else print(text, end="")


if __name__ == "__main__":
    main()

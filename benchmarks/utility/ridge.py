"""Accuracy and R^2 of the ridge models with defaults only, over splits and noise.

Classification at delta = 1 / n^1.1, 70 % of the rows for training, regression at delta 1e-5, 80 %.
Rows are scaled by published bounds and clipped to norm 1; labels of a regression are less the
middle of a public range and divided by half of it. `not_private` is the same least squares without
noise. Diamonds are those that the package plotnine ships (data/diamonds.csv): 6 numbers and 20
indicators of categories.

Usage: python -m benchmarks.utility.ridge [--seeds 10] [--diamonds FILE] [--only digits,diamonds]
       [--output FILE]
"""

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.linear_model import LinearRegression, RidgeClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from benchmarks.data import adult, breast_cancer, digits, wine
from skdp.exceptions import PrivacyLeakWarning
from skdp.linear_model import PrivateRidge, PrivateRidgeClassifier
from skdp.preprocessing import RowNormClipper

EPSILONS = (0.1, 0.5, 1.0, 3.0, 10.0)
RELATIONS = ("add-or-remove-one", "replace-one")
HEADER = "data,n_train,relation,delta,method,epsilon,score,mean,deviation,seeds"
# Of the columns of diamonds, rounded outwards from what is sold: carats, percent, millimetres.
DIAMOND_BOUNDS = {
    "carat": (0, 5), "depth": (40, 80), "table": (40, 100), "x": (0, 10), "y": (0, 10), "z": (0, 10)
}  # fmt: skip
DIAMOND_CATEGORIES = {
    "cut": ["Fair", "Good", "Very Good", "Premium", "Ideal"],
    "color": list("DEFGHIJ"),
    "clarity": ["I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"],
}
LARGEST_PRICE = 20_000


@dataclass(frozen=True)
class Regression:
    """Rows of norm at most 1, and labels in [-1, 1]."""

    name: str
    X: np.ndarray
    y: np.ndarray


def diamonds(file: Path) -> Regression:
    """53,940 diamonds and their price."""
    frame = pd.read_csv(file)
    columns = [
        np.clip(2 * (frame[name] - low) / (high - low) - 1, -1, 1)
        for name, (low, high) in DIAMOND_BOUNDS.items()
    ]
    columns += [
        frame[name] == level for name, levels in DIAMOND_CATEGORIES.items() for level in levels
    ]
    return _regression("diamonds", np.column_stack(columns), 2 * frame["price"] / LARGEST_PRICE - 1)


def diabetes() -> Regression:
    """442 people; columns as shipped, of which 0.2 is a bound, and a score up to 360."""
    X, y = load_diabetes(return_X_y=True)
    return _regression("diabetes", X / 0.2, y / 180 - 1)


def friedman() -> Regression:
    """20,640 synthetic rows of 8 columns; labels about 0 to 30."""
    X, y = make_friedman1(20_640, 8, noise=1.0, random_state=0)
    return _regression("friedman", 2 * X - 1, y / 15 - 1)


def _regression(name, X, y) -> Regression:
    rows = RowNormClipper(row_norm=1.0).fit_transform(np.asarray(X, dtype=float))
    return Regression(name, rows, np.clip(np.asarray(y, dtype=float), -1, 1))


def regression_lines(problem: Regression, seeds: int) -> Iterator[str]:
    """One line for each relation, method and epsilon."""
    n_train = round(0.8 * len(problem.X))
    head = f"{problem.name},{n_train}"

    def score(model, seed):
        X, test, y, labels = train_test_split(
            problem.X, problem.y, train_size=n_train, random_state=seed
        )
        return {"r2": clone(model).fit(X, y).score(test, labels)}

    yield from lines(f"{head},,0,not_private,inf", LinearRegression(), score, seeds)
    for relation in RELATIONS:
        for shrinkage in ("floor", "adassp"):
            for epsilon in EPSILONS:
                model = PrivateRidge(
                    epsilon=epsilon, delta=1e-5, shrinkage=shrinkage, neighbours=relation
                )
                place = f"{head},{relation},{1e-5:g},{shrinkage},{epsilon:g}"
                yield from lines(place, model, score, seeds)


def classification_lines(problem, seeds: int) -> Iterator[str]:
    """One line for each relation, method, epsilon and score."""
    n_train = len(problem.split(0).train)
    delta = n_train**-1.1
    head = f"{problem.name},{n_train}"

    def score(model, seed):
        split = problem.split(seed)
        fitted = clone(model).fit(split.train, split.y_train)
        found = {"accuracy": np.mean(fitted.predict(split.test) == split.y_test)}
        if problem.n_classes == 2:
            found["auc"] = roc_auc_score(split.y_test, fitted.decision_function(split.test))
        return found

    yield from lines(f"{head},,0,not_private,inf", RidgeClassifier(alpha=1e-6), score, seeds)
    for relation in RELATIONS:
        for shrinkage in ("floor", "adassp"):
            for epsilon in EPSILONS:
                model = PrivateRidgeClassifier(
                    epsilon=epsilon,
                    delta=delta,
                    shrinkage=shrinkage,
                    neighbours=relation,
                    classes=range(problem.n_classes),
                )
                place = f"{head},{relation},{delta:.3g},{shrinkage},{epsilon:g}"
                yield from lines(place, model, score, seeds)


def lines(place: str, model, score: Callable, seeds: int) -> Iterator[str]:
    """One line of means and standard deviations for each score."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        found = [score(model, seed) for seed in range(seeds)]
    for name in found[0]:
        values = np.array([scores[name] for scores in found])
        yield f"{place},{name},{values.mean():.4f},{values.std():.4f},{seeds}"


def main() -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--diamonds", type=Path)
    parser.add_argument(
        "--only", default="digits,breast_cancer,wine,adult,diabetes,friedman,diamonds"
    )
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    regressions = {"diabetes": diabetes, "friedman": friedman}
    if given.diamonds:
        regressions["diamonds"] = lambda: diamonds(given.diamonds)
    classifications = {maker.__name__: maker for maker in (digits, breast_cancer, wine, adult)}
    table = [HEADER]
    for name in given.only.split(","):
        if name in regressions:
            table += regression_lines(regressions[name](), given.seeds)
        elif name in classifications:
            table += classification_lines(classifications[name](), given.seeds)
        else:
            print(f"{name} is skipped: pass its file", file=sys.stderr)
    text = "\n".join(table) + "\n"
    if given.output:
        given.output.write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()

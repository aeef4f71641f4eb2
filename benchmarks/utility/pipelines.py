"""Whole private pipelines on raw columns, with bounds that are powers of ten.

Three pipelines before a `SparseDPSGDClassifier` of default settings. "scaler" pays for medians,
`PrivateStandardScaler(method="median", clip=1)` with 15 % of the budget; "decades" learns nothing:
log10(value / bound) + 1, each row by itself; "both" pays for the medians of those. Rows are then
clipped to norm 3. Relations: zero-out, or add-or-remove-one with all rows in each step.

Usage: python -m benchmarks.utility.pipelines [--splits 10] [--adult-splits 2] [--output FILE]
"""

import argparse
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from skdp.datasets import load_adult
from skdp.exceptions import PrivacyLeakWarning
from skdp.linear_model import SparseDPSGDClassifier
from skdp.pipeline import (
    PrivatePipeline,
    RowByRow,
    check_private_pipeline,
    make_private_pipeline,
)
from skdp.preprocessing import PrivateStandardScaler, RowNormClipper
from skdp.privacy import Neighbours
from skdp.training import PoissonSampler

RESULT = Path(__file__).parents[1] / "results" / "utility" / "pipelines.csv"
EPSILONS = (0.1, 1.0, 3.0)
DELTA = 1e-5
ROW_NORM = 3.0
SCALER_SHARE = 0.15
RELATIONS = (Neighbours.ZERO_OUT, Neighbours.ADD_OR_REMOVE_ONE)
# The batch size must be a constant under add-or-remove-one: about the rows of a study, rounded.
BREAST_CANCER_ROWS, ADULT_ROWS = 400, 32_000
# Of the columns' documentation; ages and hours have two digits, amounts of money five.
ADULT_NUMBERS = {"age": (0, 100), "education-num": (0, 100), "hours-per-week": (0, 100)}
ADULT_MONEY = ("capital-gain", "capital-loss")
LARGEST_AMOUNT = 100_000.0


class Decades:
    """How many decades a value lies above a tenth of its bound; -2 for what is far below."""

    def __init__(self, bounds):
        self.bounds = bounds

    def __call__(self, X):
        """Return the decades of each value by itself."""
        return np.log10(np.clip(np.asarray(X) / self.bounds, 1e-3, 1.0)) + 1.0


def share_of_range(X):
    """Return log(1 + x) / log(1 + LARGEST_AMOUNT) of each amount by itself."""
    return np.log1p(np.clip(np.asarray(X), 0, LARGEST_AMOUNT)) / np.log1p(LARGEST_AMOUNT)


def decade_bounds(X):
    """Powers of ten above the columns: what documentation would have said, as the data is public.

    A user must not compute them from private rows.
    """
    return 10.0 ** np.ceil(np.log10(X.max(axis=0)))


def model(relation: Neighbours, n_rows: int) -> SparseDPSGDClassifier:
    """Return the classifier with default settings, its sampling apart."""
    if relation is Neighbours.ZERO_OUT:
        return SparseDPSGDClassifier(classes=[0, 1])
    return SparseDPSGDClassifier(classes=[0, 1], sampling=PoissonSampler(1.0, n_rows, relation))


def scaler(bounds, relation: Neighbours) -> PrivateStandardScaler:
    """Return the scaler by medians."""
    return PrivateStandardScaler(bounds, method="median", clip=1.0, neighbours=relation)


def private(steps, epsilon: float) -> PrivatePipeline:
    """Return a pipeline of these steps with one budget."""
    pipeline = make_private_pipeline(*steps, epsilon=epsilon, delta=DELTA)
    names = check_private_pipeline(pipeline).private
    if len(names) > 1:
        pipeline.set_params(shares=dict(zip(names, (SCALER_SHARE, 1 - SCALER_SHARE), strict=True)))
    return pipeline


def of_breast_cancer(bounds) -> dict[str, Callable]:
    """Return what stands before the clipper, by name."""
    decades = FunctionTransformer(RowByRow(Decades(bounds)))
    return {
        "scaler": lambda relation: [scaler((0.0, bounds), relation)],
        "decades": lambda relation: [decades],
        "both": lambda relation: [decades, scaler((-2.0, 1.0), relation)],
    }


def breast_cancer(splits: int) -> Iterator[tuple]:
    """Yield (data, relation, steps, epsilon, score, value), each split and budget."""
    X, y = load_breast_cancer(return_X_y=True)
    before = of_breast_cancer(decade_bounds(X))
    for relation, epsilon, seed in cases(splits):
        train, test, labels, truth = train_test_split(X, y, test_size=0.25, random_state=seed)
        for name, steps in before.items():
            last = model(relation, BREAST_CANCER_ROWS)
            whole = private([*steps(relation), RowNormClipper(ROW_NORM), last], epsilon)
            score = whole.fit(train, labels).score(test, truth)
            yield "breast_cancer", relation.value, name, epsilon, "accuracy", score


def of_adult(relation: Neighbours, paid: bool):
    """Return the encoding of Adult's raw columns."""
    table = load_adult().schema
    chosen = [name for name in table.encoded if name in table.categories]
    categories = OneHotEncoder(
        categories=[list(table.categories[name]) for name in chosen],
        handle_unknown="ignore",
        sparse_output=False,
    )
    numbers = list(ADULT_NUMBERS)
    bounds = np.array([ADULT_NUMBERS[name][1] for name in numbers], dtype=float)
    ranged = (
        scaler((0.0, bounds), relation) if paid else FunctionTransformer(RowByRow(Decades(bounds)))
    )
    money = FunctionTransformer(RowByRow(share_of_range))
    return make_column_transformer(
        (ranged, numbers), (money, list(ADULT_MONEY)), (categories, chosen), sparse_threshold=0
    )


def adult(splits: int) -> Iterator[tuple]:
    """Yield as `breast_cancer` does; a third of all rows is for testing."""
    table = load_adult()
    X = pd.concat([table.X_train, table.X_test])
    y = pd.concat([table.y_train, table.y_test]).to_numpy() == table.classes[1]
    for relation, epsilon, seed in cases(splits):
        train, test, labels, truth = train_test_split(
            X, y.astype(int), test_size=1 / 3, random_state=seed
        )
        for name in ("scaler", "decades"):
            last = model(relation, ADULT_ROWS)
            steps = [of_adult(relation, name == "scaler"), RowNormClipper(ROW_NORM), last]
            shown = private(steps, epsilon).fit(train, labels).decision_function(test)
            auc = roc_auc_score(truth, shown)
            yield "adult", relation.value, name, epsilon, "auc", auc


def cases(splits: int) -> Iterator[tuple]:
    """Yield (relation, epsilon, seed of a split)."""
    for relation in RELATIONS:
        for epsilon in EPSILONS:
            for seed in range(splits):
                yield relation, epsilon, seed


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--adult-splits", type=int, default=2)
    parser.add_argument("--output", type=Path, default=RESULT)
    given = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        found = [*breast_cancer(given.splits), *adult(given.adult_splits)]
    columns = ["data", "relation", "steps", "epsilon", "score", "value"]
    groups = pd.DataFrame(found, columns=columns).groupby(columns[:-1], sort=False)["value"]
    table = groups.agg(mean="mean", deviation="std", splits="count").reset_index()
    table.insert(4, "delta", f"{DELTA:g}")
    table.round(4).to_csv(given.output, index=False)
    print(table.round(3).to_string(index=False))


if __name__ == "__main__":
    main()

"""Which private scaler to take: medians, quartiles, or means and variances, on raw columns.

Each stands before a `SparseDPSGDClassifier` of default settings, with 15 % of the budget, bounds
that are powers of ten, values clipped to one scale from the centre, and rows clipped to norm 3. In
"median, row norm" the norm is no constant, but a quantile of row norms that takes 5 %.

Usage: python -m benchmarks.utility.scalers [--splits 30] [--adult-splits 2] [--output FILE]
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

from benchmarks.utility.pipelines import (
    ADULT_MONEY,
    ADULT_NUMBERS,
    DELTA,
    EPSILONS,
    ROW_NORM,
    decade_bounds,
    share_of_range,
)
from skdp.datasets import load_adult
from skdp.exceptions import PrivacyLeakWarning
from skdp.linear_model import SparseDPSGDClassifier
from skdp.pipeline import RowByRow, check_private_pipeline, make_private_pipeline
from skdp.preprocessing import PrivateQuantileClipper, PrivateStandardScaler, RowNormClipper

RESULT = Path(__file__).parents[1] / "results" / "utility" / "scalers.csv"
CONSTANT = RowNormClipper(ROW_NORM)
LEARNED = PrivateQuantileClipper((-1.0, 1.0), target="row_norm", n_points=200)
VARIANTS = {
    "median": ("median", CONSTANT, (0.15, 0.85)),
    "quartiles": ("quartiles", CONSTANT, (0.15, 0.85)),
    "moments": ("moments", CONSTANT, (0.15, 0.85)),
    "median, row norm": ("median", LEARNED, (0.15, 0.05, 0.8)),
}


def score_of(before: Callable, variant: str, epsilon: float, parts: list, score: Callable) -> float:
    """Fit one pipeline and score it; `before` takes a scaler and returns the first step."""
    method, clipper, shares = VARIANTS[variant]
    train, test, labels, truth = parts
    steps = [before(method), clipper, SparseDPSGDClassifier(classes=[0, 1])]
    pipeline = make_private_pipeline(*steps, epsilon=epsilon, delta=DELTA)
    names = check_private_pipeline(pipeline).private
    pipeline.set_params(shares=dict(zip(names, shares, strict=True)))
    return score(pipeline.fit(train, labels), test, truth)


def breast_cancer(splits: int, data: str, wider: float) -> Iterator[tuple]:
    """Yield (data, variant, epsilon, value): accuracy, a quarter held out."""
    X, y = load_breast_cancer(return_X_y=True)
    bounds = wider * decade_bounds(X)

    def before(method):
        return PrivateStandardScaler((0.0, bounds), method=method, clip=1.0)

    def accuracy(fitted, test, truth):
        return fitted.score(test, truth)

    for seed in range(splits):
        parts = train_test_split(X, y, test_size=0.25, random_state=seed)
        for variant in VARIANTS:
            for epsilon in EPSILONS:
                value = score_of(before, variant, epsilon, parts, accuracy)
                yield data, variant, epsilon, value


def adult(splits: int) -> Iterator[tuple]:
    """Yield as `breast_cancer` does: the area under the curve, a third held out."""
    table = load_adult()
    X = pd.concat([table.X_train, table.X_test])
    y = (pd.concat([table.y_train, table.y_test]).to_numpy() == table.classes[1]).astype(int)
    chosen = [name for name in table.schema.encoded if name in table.schema.categories]
    numbers = list(ADULT_NUMBERS)
    bounds = np.array([ADULT_NUMBERS[name][1] for name in numbers], dtype=float)

    def before(method):
        categories = OneHotEncoder(
            categories=[list(table.schema.categories[name]) for name in chosen],
            handle_unknown="ignore",
            sparse_output=False,
        )
        scaler = PrivateStandardScaler((0.0, bounds), method=method, clip=1.0)
        money = FunctionTransformer(RowByRow(share_of_range))
        return make_column_transformer(
            (scaler, numbers), (money, list(ADULT_MONEY)), (categories, chosen), sparse_threshold=0
        )

    def area(fitted, test, truth):
        return roc_auc_score(truth, fitted.decision_function(test))

    for seed in range(splits):
        parts = train_test_split(X, y, test_size=1 / 3, random_state=seed)
        for variant in VARIANTS:
            for epsilon in EPSILONS:
                yield "adult", variant, epsilon, score_of(before, variant, epsilon, parts, area)


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=30)
    parser.add_argument("--adult-splits", type=int, default=2)
    parser.add_argument("--output", type=Path, default=RESULT)
    given = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        found = [
            *breast_cancer(given.splits, "breast_cancer", 1.0),
            *breast_cancer(given.splits, "breast_cancer, bounds 100 times wider", 100.0),
            *adult(given.adult_splits),
        ]
    columns = ["data", "scaler", "epsilon", "value"]
    groups = pd.DataFrame(found, columns=columns).groupby(columns[:-1], sort=False)["value"]
    table = groups.agg(mean="mean", deviation="std", splits="count").reset_index()
    table.insert(3, "delta", f"{DELTA:g}")
    table.round(4).to_csv(given.output, index=False)
    print(table.round(3).to_string(index=False))


if __name__ == "__main__":
    main()

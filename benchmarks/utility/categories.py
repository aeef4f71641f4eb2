"""What it costs not to declare categories: Adult's six columns of them, declared or found.

As `scalers` with medians, which get 15 % of the budget; categories are those of the data set's
documentation, at no cost, or found by a `PrivateOneHotEncoder` with 10 % of the budget.

Usage: python -m benchmarks.utility.categories [--splits 5] [--output FILE]
"""

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from benchmarks.utility.pipelines import (
    ADULT_MONEY,
    ADULT_NUMBERS,
    DELTA,
    EPSILONS,
    ROW_NORM,
    share_of_range,
)
from skdp.datasets import load_adult
from skdp.exceptions import PrivacyLeakWarning
from skdp.linear_model import SparseDPSGDClassifier
from skdp.pipeline import RowByRow, check_private_pipeline, make_private_pipeline
from skdp.preprocessing import PrivateOneHotEncoder, PrivateStandardScaler, RowNormClipper

RESULT = Path(__file__).parents[1] / "results" / "utility" / "categories.csv"
SHARES = {"declared": (0.15, 0.85), "found": (0.15, 0.1, 0.75)}


def encoder(kind: str, categories: list[list[str]]) -> OneHotEncoder | PrivateOneHotEncoder:
    """Return an encoder that knows the categories, or one that has to find them."""
    if kind == "found":
        return PrivateOneHotEncoder()
    return OneHotEncoder(categories=categories, handle_unknown="ignore", sparse_output=False)


def measured(splits: int) -> Iterator[tuple]:
    """Yield (categories, epsilon, area under the curve, number of categories)."""
    table = load_adult()
    X = pd.concat([table.X_train, table.X_test])
    y = (pd.concat([table.y_train, table.y_test]).to_numpy() == table.classes[1]).astype(int)
    chosen = [name for name in table.schema.encoded if name in table.schema.categories]
    declared = [list(table.schema.categories[name]) for name in chosen]
    numbers = list(ADULT_NUMBERS)
    bounds = np.array([ADULT_NUMBERS[name][1] for name in numbers], dtype=float)
    for seed in range(splits):
        train, test, labels, truth = train_test_split(X, y, test_size=1 / 3, random_state=seed)
        for kind, shares in SHARES.items():
            for epsilon in EPSILONS:
                columns = make_column_transformer(
                    (PrivateStandardScaler((0.0, bounds), clip=1.0), numbers),
                    (FunctionTransformer(RowByRow(share_of_range)), list(ADULT_MONEY)),
                    (encoder(kind, declared), chosen),
                    sparse_threshold=0,
                )
                model = SparseDPSGDClassifier(classes=[0, 1])
                steps = (columns, RowNormClipper(ROW_NORM), model)
                pipeline = make_private_pipeline(*steps, epsilon=epsilon, delta=DELTA)
                names = check_private_pipeline(pipeline).private
                pipeline.set_params(shares=dict(zip(names, shares, strict=True)))
                area = roc_auc_score(truth, pipeline.fit(train, labels).decision_function(test))
                fitted = pipeline[0].transformers_[2][1]
                yield kind, epsilon, area, sum(map(len, fitted.categories_))


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--output", type=Path, default=RESULT)
    given = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        found = list(measured(given.splits))
    columns = ["categories", "epsilon", "auc", "known"]
    groups = pd.DataFrame(found, columns=columns).groupby(columns[:2], sort=False)
    table = groups.agg(
        mean=("auc", "mean"), deviation=("auc", "std"), known=("known", "mean"),
        splits=("auc", "count"),
    ).reset_index()  # fmt: skip
    table.insert(2, "delta", f"{DELTA:g}")
    table.round(4).to_csv(given.output, index=False)
    print(table.round(4).to_string(index=False))


if __name__ == "__main__":
    main()

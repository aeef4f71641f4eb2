"""Best of a grid of penalties, private and paid for, against diffprivlib's, at equal total budget.

All rows have norm at most 1 by public constants; relation replace-one, delta 0 unless it is named.
The grid is the same for all, six penalties. diffprivlib's search is scikit-learn's: each candidate
fitted on 80 % of the training rows and scored on the rest, the winner fitted again on all. *Every
fit pays*: seven fits share epsilon. *Uncharged*: each of them has all of epsilon, as `GridSearchCV`
over diffprivlib does it; the total is seven times what its column says. Either way its choice is by
scores without noise, for which nobody pays. Labels of student_por: whether the last grade is 10 or
more.

Usage: python -m benchmarks.utility.private_search [--peer] [--only adult,spambase] [--page]
`--peer` runs where diffprivlib imports. Writes rows of benchmarks/results/private_search.csv;
`--page` measures nothing and writes the table of docs/private_search.md.
"""

import argparse
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, ShuffleSplit

from benchmarks.utility.linear_data import Task, tasks

RESULT = Path(__file__).parents[1] / "results" / "private_search.csv"
PAGE = Path(__file__).parents[2] / "docs" / "private_search.md"
BEGIN, END = "<!-- table of benchmarks/utility/private_search.py -->", "<!-- end of table -->"
DATA = ("breast_cancer", "student_por", "spambase", "nist_acs_national", "adult")
ALPHAS = (0.001, 0.01, 0.03, 0.1, 0.3, 1.0)
EPSILONS = (0.5, 1.0, 3.0)
SPLITS = range(5)
N_FITS = len(ALPHAS) + 1
METHODS = (
    "one default fit", "search, random", "search, exponential", "one default fit, delta 1e-6",
    "search, random, delta 1e-6", "not private",
    "diffprivlib, one default fit", "diffprivlib, every fit pays", "diffprivlib, uncharged",
)  # fmt: skip


def ours(epsilon: float, n_train: int) -> dict[str, Any]:
    """Return unfitted methods by name."""
    from skdp.linear_model import PrivateElasticNetClassifier
    from skdp.model_selection import PrivateGridSearchCV

    model = PrivateElasticNetClassifier(epsilon=epsilon, classes=[0, 1])
    grid = {"alpha": list(ALPHAS)}
    search = PrivateGridSearchCV(model, grid, epsilon=epsilon)
    return {
        "one default fit": model,
        "search, random": search,
        "search, exponential": clone(search).set_params(strategy="exponential"),
        "one default fit, delta 1e-6": clone(model).set_params(delta=1e-6),
        "search, random, delta 1e-6": clone(search).set_params(delta=1e-6),
        "not private": _search(LogisticRegression(max_iter=1000), n_train),
    }


def peer(epsilon: float, n_train: int) -> dict[str, Any]:
    """Return unfitted methods by name."""
    from diffprivlib.models import LogisticRegression as PrivateLogistic

    def model(share: float) -> Any:
        return PrivateLogistic(epsilon=share, data_norm=1.0, max_iter=1000)

    return {
        "diffprivlib, one default fit": model(epsilon),
        "diffprivlib, every fit pays": _search(model(epsilon / N_FITS), n_train),
        "diffprivlib, uncharged": _search(model(epsilon), n_train),
    }


def _search(model: Any, n_train: int) -> GridSearchCV:
    grid = {"C": [1 / (alpha * n_train) for alpha in ALPHAS]}
    split = ShuffleSplit(1, test_size=0.2)
    return GridSearchCV(model, grid, cv=split, error_score="raise")


def measured(task: Task, methods: Any) -> list[tuple]:
    """Return data, epsilon, method, accuracy, seconds of each fit."""
    y = task.y if task.n_classes else (task.y >= 0).astype(int)
    found = []
    for seed in SPLITS:
        train, test = task.split(seed)
        for epsilon in EPSILONS:
            for name, method in methods(epsilon, len(train)).items():
                start = time.perf_counter()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    method.fit(task.X[train], y[train])
                seconds = time.perf_counter() - start
                accuracy = float((method.predict(task.X[test]) == y[test]).mean())
                found.append((task.name, epsilon, name, accuracy, seconds))
    return found


def merged(fresh: pd.DataFrame) -> pd.DataFrame:
    """Return what was measured before with what is measured now in its place."""
    keys = ["data", "epsilon", "method"]
    before = pd.read_csv(RESULT) if RESULT.exists() else fresh.iloc[:0]
    both = pd.concat([before, fresh]).drop_duplicates(keys, keep="last")
    both = both[both["method"].isin(METHODS) & both["data"].isin(DATA)]
    places = {"data": DATA, "method": METHODS}

    def order(column: pd.Series) -> pd.Series:
        return column.map(places[column.name].index) if column.name in places else column

    return both.sort_values(keys, key=order)


def written(table: pd.DataFrame) -> str:
    """Return the results as a table in Markdown, accuracy in per cent."""
    wide = table.pivot(index=["data", "epsilon"], columns="method", values="accuracy")
    lines = ["| data | epsilon | " + " | ".join(METHODS) + " |"]
    lines.append("|---|---:|" + "---:|" * len(METHODS))
    for data in DATA:
        for epsilon in EPSILONS:
            cells = (f"{100 * wide.loc[(data, epsilon), name]:.1f}" for name in METHODS)
            lines.append(f"| {data} | {epsilon:g} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def write_page() -> None:
    """Put the table of all results in its place in the documentation."""
    page = PAGE.read_text()
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{written(pd.read_csv(RESULT))}\n\n{END}{after}")


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", action="store_true", help="diffprivlib's methods")
    parser.add_argument("--only", default=",".join(DATA))
    parser.add_argument("--page", action="store_true", help="write the page from the results")
    arguments = parser.parse_args()
    if arguments.page:
        write_page()
        return
    if "SKDP_DATA" not in os.environ:
        parser.error("SKDP_DATA must name the folder that holds the data")
    for name in arguments.only.split(","):
        (task,) = tasks(name)
        rows = measured(task, peer if arguments.peer else ours)
        table = pd.DataFrame(rows, columns=["data", "epsilon", "method", "accuracy", "seconds"])
        means = table.groupby(["data", "epsilon", "method"], sort=False).agg(
            accuracy=("accuracy", "mean"), std=("accuracy", "std"), seconds=("seconds", "mean")
        )
        fresh = np.round(means, 4).reset_index()
        merged(fresh).to_csv(RESULT, index=False)
        print(fresh.to_string(index=False), flush=True)


if __name__ == "__main__":
    main()

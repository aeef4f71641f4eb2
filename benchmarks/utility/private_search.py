"""Private search against one default fit and a search without privacy, at equal total budget.

Run `python -m benchmarks.utility.private_search`; writes benchmarks/results/private_search.csv.
"""

import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from benchmarks import data
from skdp.linear_model import PrivateElasticNetClassifier
from skdp.model_selection import PrivateGridSearchCV

RESULT = Path(__file__).parents[1] / "results" / "private_search.csv"
GRID = {"alpha": [0.001, 0.003, 0.01, 0.03, 0.1, 0.3]}
EPSILONS = (0.5, 1.0, 3.0)
SPLITS = range(5)


def fits(epsilon: float) -> dict:
    """Return unfitted methods by name."""
    model = PrivateElasticNetClassifier(epsilon=epsilon, classes=[0, 1])
    return {
        "one default fit": model,
        "search, random": PrivateGridSearchCV(model, GRID, epsilon=epsilon),
        "search, exponential": PrivateGridSearchCV(
            model, GRID, epsilon=epsilon, strategy="exponential"
        ),
        "search, not private": GridSearchCV(LogisticRegression(max_iter=500), {"C": [0.1, 1, 10]}),
    }


def main() -> None:
    """Measure and write."""
    rows = []
    for problem in (data.breast_cancer(), data.adult()):
        for seed in SPLITS:
            split = problem.split(seed)
            for epsilon in EPSILONS:
                for name, method in fits(epsilon).items():
                    start = time.perf_counter()
                    method.fit(split.train, split.y_train)
                    seconds = time.perf_counter() - start
                    score = method.score(split.test, split.y_test)
                    rows.append((problem.name, epsilon, name, score, seconds))
    table = pd.DataFrame(rows, columns=["data", "epsilon", "method", "accuracy", "seconds"])
    means = table.groupby(["data", "epsilon", "method"], sort=False).agg(
        accuracy=("accuracy", "mean"), std=("accuracy", "std"), seconds=("seconds", "mean")
    )
    RESULT.write_text(np.round(means, 4).to_csv())
    print(means.to_string())


if __name__ == "__main__":
    main()

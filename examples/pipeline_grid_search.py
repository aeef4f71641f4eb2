"""A private pipeline whose parameters GridSearchCV chooses, and what that does and does not cost.

A grid search on private rows fits once per candidate and fold, and each fit spends. Worse, the
scores by which it chooses come from private rows without noise, so that the choice itself is not
covered by any of these fits. So search on rows that are public (here: the older patients, whose
records we pretend are published), and fit the winner on the private rows once.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import Pipeline

from skdp.linear_model import PrivateElasticNetClassifier
from skdp.pipeline import pipeline_statement
from skdp.preprocessing import PublicRangeScaler
from skdp.privacy import InMemoryLedger

# Declared from the description of the measurements; values outside are clipped.
RANGES = {
    "mean radius": (5, 30),
    "mean texture": (5, 40),
    "mean smoothness": (0.05, 0.2),
    "mean concave points": (0, 0.25),
    "worst radius": (5, 40),
    "worst concave points": (0, 0.3),
}
EPSILON = 3.0
GRID = {"model__alpha": [0.01, 0.03, 0.1], "model__row_norm": [1.0, 1.5]}


def main() -> None:
    """Search on public rows, fit on private ones, and count what was spent."""
    data = load_breast_cancer(as_frame=True)
    frame, benign = data.data[list(RANGES)], data.target.to_numpy()
    private, public, y_private, y_public = train_test_split(
        frame, benign, test_size=0.3, random_state=0
    )
    train, test, y_train, y_test = train_test_split(private, y_private, random_state=0)
    pipeline = Pipeline(
        [
            ("scale", PublicRangeScaler(bounds=RANGES)),
            ("model", PrivateElasticNetClassifier(epsilon=EPSILON, classes=[0, 1])),
        ]
    )
    # Candidates are fitted with the noise of the public rows' number, so more of it than later.
    search = GridSearchCV(pipeline, GRID, cv=3).fit(public, y_public)
    print(f"chosen on {len(public)} public rows, at no cost: {search.best_params_}")

    ledger = InMemoryLedger(epsilon=4.0, delta=1e-5)
    winner = pipeline.set_params(**search.best_params_, model__ledger=ledger).fit(train, y_train)
    print(f"accuracy on {len(test)} held-out rows: {winner.score(test, y_test):.2f}")
    print(f"left in the ledger: {ledger.remaining()}")

    n_fits = 3 * int(np.prod([len(values) for values in GRID.values()])) + 1
    print(
        f"The same search on the private rows would have been {n_fits} fits, epsilon "
        f"{n_fits * EPSILON:g} in total, and its choice would still have followed scores "
        "without noise, for which nothing is promised."
    )
    print(pipeline_statement(winner).explain())


if __name__ == "__main__":
    main()

"""Private search against a search that chooses without noise, at equal total budget.

A private search tries candidates on disjoint parts of the rows and chooses with noise: what it
spends, it spends once. `GridSearchCV` fits each candidate on each fold and refits the winner; a
ledger charges every fit, so each gets a small part of the same budget. And its choice follows
scores of private rows without noise, for which nothing is promised at all.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline

from skdp.linear_model import PrivateElasticNetClassifier
from skdp.model_selection import PrivateGridSearchCV
from skdp.preprocessing import PublicRangeScaler
from skdp.privacy import InMemoryLedger

COLUMNS = ["mean radius", "mean texture", "mean concave points", "worst radius"]
# Declared from the description of the measurements; values outside are clipped.
BOUNDS = (np.array([5.0, 5.0, 0.0, 5.0]), np.array([30.0, 40.0, 0.25, 40.0]))
EPSILON = 3.0
FOLDS = 3
ALPHAS = [0.01, 0.03, 0.1, 0.3]


def rows() -> list[np.ndarray]:
    """Real tumours (UCI, Wolberg et al. 1995) in declared ranges, and a part to test on."""
    data = load_breast_cancer(as_frame=True)
    X, y = data.data[COLUMNS].to_numpy(), data.target.to_numpy()
    X = PublicRangeScaler(bounds=BOUNDS).fit_transform(X)
    return train_test_split(X, y, random_state=0, stratify=y)


def private_search(ledger: InMemoryLedger) -> PrivateGridSearchCV:
    """One release: the winner, whose choice and fit are private together."""
    return PrivateGridSearchCV(
        make_pipeline(PrivateElasticNetClassifier(classes=[0, 1])),
        {"privateelasticnetclassifier__alpha": ALPHAS},
        epsilon=EPSILON,
        ledger=ledger,
    )


def search_without_noise(ledger: InMemoryLedger) -> GridSearchCV:
    """One fit for each candidate and fold, and one more, each paid for."""
    n_fits = len(ALPHAS) * FOLDS + 1
    model = PrivateElasticNetClassifier(epsilon=EPSILON / n_fits, classes=[0, 1], ledger=ledger)
    # A fit that the ledger refuses must not pass for a bad score.
    return GridSearchCV(model, {"alpha": ALPHAS}, cv=FOLDS, error_score="raise")


def main() -> None:
    """Search twice with the same budget, and compare."""
    train, test, y_train, y_test = rows()
    ledger = InMemoryLedger(epsilon=4.0, delta=1e-5)
    search = private_search(ledger).fit(train, y_train)
    print(f"private search chose {search.best_params_}: accuracy {search.score(test, y_test):.2f}")
    print(f"left in the ledger: {ledger.remaining()}")

    other = InMemoryLedger(epsilon=4.0, delta=1e-5)
    plain = search_without_noise(other).fit(train, y_train)
    print(
        f"{len(other.history())} fits that share the same budget: accuracy "
        f"{plain.score(test, y_test):.2f}; epsilon {other.spent().epsilon:g} spent, and the choice "
        "of the winner is not covered by it"
    )
    default = PrivateElasticNetClassifier(epsilon=EPSILON, classes=[0, 1]).fit(train, y_train)
    print(f"one fit of the default, no search: accuracy {default.score(test, y_test):.2f}")
    regression = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0, 10.0]}).fit(train, y_train)
    print(f"without privacy: accuracy {regression.score(test, y_test):.2f}")
    print(search.privacy_.explain())


if __name__ == "__main__":
    main()

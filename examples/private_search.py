"""Private search against non-private search at the same total budget.

A private search spends its epsilon on choosing and fitting together. A plain search that chooses by
scores without noise looks better and has no guarantee for what it chose.
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


def main() -> None:
    """Search privately, once, and compare."""
    data = load_breast_cancer(as_frame=True)
    X, y = data.data[COLUMNS].to_numpy(), data.target.to_numpy()
    X = PublicRangeScaler(bounds=BOUNDS).fit_transform(X)
    train, test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)

    ledger = InMemoryLedger(epsilon=4.0, delta=1e-5)
    search = PrivateGridSearchCV(
        make_pipeline(PrivateElasticNetClassifier(classes=[0, 1])),
        {"privateelasticnetclassifier__alpha": [0.01, 0.03, 0.1, 0.3]},
        epsilon=EPSILON,
        ledger=ledger,
    ).fit(train, y_train)
    print(f"private search chose {search.best_params_}: accuracy {search.score(test, y_test):.2f}")
    print(f"left in the ledger: {ledger.remaining}")

    default = PrivateElasticNetClassifier(epsilon=EPSILON, classes=[0, 1]).fit(train, y_train)
    print(f"one fit of the default, same budget: accuracy {default.score(test, y_test):.2f}")
    plain = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0, 10.0]}).fit(train, y_train)
    print(f"without privacy: accuracy {plain.score(test, y_test):.2f}")
    print(search.privacy_.explain())


if __name__ == "__main__":
    main()

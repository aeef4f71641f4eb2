"""Private feature selection on a table with many more columns than a private model can bear.

64 pixels of 1,797 handwritten digits stand between 10,000 columns of noise ("probes"). Noise on
the weights of all columns grows with their number; the noise that a private top-k has to overcome
grows with its logarithm. So part of the budget goes into ten columns, and the rest into a model.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from skdp.feature_selection import PrivateSelectKBest
from skdp.linear_model import PrivateElasticNetClassifier
from skdp.pipeline import pipeline_statement
from skdp.privacy import InMemoryLedger

N_PROBES = 10_000
# By construction of the images and the probes: declared, not looked up in the data.
VALUES = (0.0, 1.0)


def wide_table() -> tuple[np.ndarray, np.ndarray]:
    """Return grey levels of pixels with probes behind them, and whether the digit is even."""
    pixels, digit = load_digits(return_X_y=True)
    probes = np.random.default_rng(0).random((len(digit), N_PROBES))
    return np.hstack([pixels / 16, probes]), (digit % 2 == 0).astype(int)


def main() -> None:
    """Fit with and without a selection, for the same budget, and say what it means."""
    X, even = wide_table()
    train, test, y_train, y_test = train_test_split(X, even, random_state=0)
    settings = {"delta": 1e-6, "classes": [0, 1]}
    everything = PrivateElasticNetClassifier(epsilon=3.0, row_norm=2.0, **settings)
    # Two draws of one experiment: with your data fit one of them only, since each fit spends.
    score = everything.fit(train, y_train).score(test, y_test)
    print(f"a model of all {X.shape[1]:,} columns: accuracy {score:.2f}")

    ledger = InMemoryLedger(epsilon=4.0, delta=1e-5)
    selector = PrivateSelectKBest(k=10, epsilon=2.0, value_range=VALUES, ledger=ledger, **settings)
    model = PrivateElasticNetClassifier(epsilon=1.0, row_norm=2.0, ledger=ledger, **settings)
    pipeline = make_pipeline(selector, model).fit(train, y_train)
    chosen = selector.get_support(indices=True)
    print(f"of ten columns: accuracy {pipeline.score(test, y_test):.2f}")
    print(f"{np.sum(chosen < 64)} of the ten are pixels: {chosen.tolist()}")
    print(f"a column is found if its covariance is well above {selector.noise_floor_:.3f}")
    print(f"left in the ledger: {ledger.remaining()}")
    print(pipeline_statement(pipeline).explain())


if __name__ == "__main__":
    main()

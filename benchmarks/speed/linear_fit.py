"""Time of a fit of each default beside scikit-learn's, 50,000 rows of 100 columns.

CPU seconds of one thread, least of some fits; the first fit of skdp also compiles and calibrates
and is given by itself. Required: at most three times ``LogisticRegression`` with the same penalty,
which is none. Run with OPENBLAS_NUM_THREADS=1.

Usage: python -m benchmarks.speed.linear_fit [--fits 5]
"""

import argparse
import time

import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LinearRegression, LogisticRegression

from skdp.linear_model import (
    PrivateLinearClassifier,
    PrivateLinearRegressor,
    PrivateRidge,
    PrivateRidgeClassifier,
)
from skdp.preprocessing import RowNormClipper

SHAPE = 50_000, 100


def least(make, X, y, fits):
    """Return the time of the first fit, and the least of the others."""
    times = []
    for _ in range(fits + 1):
        start = time.process_time()
        make().fit(X, y)
        times.append(time.process_time() - start)
    return times[0], min(times[1:])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fits", type=int, default=5)
    given = parser.parse_args()
    X, y = make_classification(*SHAPE, n_informative=30, random_state=0)
    X = RowNormClipper(row_norm=1.0).fit_transform(np.clip(X / 4, -1, 1) / np.sqrt(SHAPE[1] / 3))
    labels = X @ np.random.default_rng(0).normal(size=SHAPE[1]) / 4
    print(f"{'fit of 50,000 x 100':44s} {'first':>7s} {'then':>7s} {'ratio':>6s}")
    reference = least(lambda: LogisticRegression(C=np.inf), X, y, given.fits)
    squares = least(LinearRegression, X, labels, given.fits)
    print(f"{'LogisticRegression(C=inf)':44s} {reference[0]:7.2f} {reference[1]:7.2f} {1:6.1f}")
    print(f"{'LinearRegression':44s} {squares[0]:7.2f} {squares[1]:7.2f} {1:6.1f}")
    delta = {"delta": 1e-5}
    for epsilon in (0.1, 1.0, 3.0, 10.0):
        for maker, target, beside in (
            (PrivateLinearClassifier, y, reference),
            (PrivateRidgeClassifier, y, reference),
            (PrivateLinearRegressor, labels, reference),
            (PrivateRidge, labels, reference),
        ):
            first, then = least(
                lambda maker=maker, epsilon=epsilon: maker(epsilon=epsilon, **delta),
                X,
                target,
                given.fits,
            )
            name = f"{maker.__name__}(epsilon={epsilon:g})"
            print(f"{name:44s} {first:7.2f} {then:7.2f} {then / beside[1]:6.1f}", flush=True)


if __name__ == "__main__":
    main()

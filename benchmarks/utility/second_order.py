"""Differentially private Newton steps beside the default descent, at their best of a grid.

Ganesh, Haghifam, Steinke and Thakurta (2023), Faster differentially private convex optimization
via second-order methods: each step adds noise twice, to the mean gradient g and to the step that
follows from it. With rows of norm at most kappa (constant column included), n public and a row that
is nulled, g moves by kappa / n, and ``(H + lam I)^-1 g`` for the released g by

    norm(g) a / (lam^2 + lam a),   a = kappa^2 / (4 n)

(Sherman and Morrison). All releases are Gaussian, so T steps compose to mu^2 = T (mu_g^2 + mu_s^2),
which is what the budget allows; half of it goes to either. H is the second derivative, or the
quadratic upper bound ``tanh(m / 2) / (2 m)``, which makes the steps go downhill from anywhere.
lam is `times` the size at which the noise of a step is as long as the step may be. Noise is from a
float generator: for comparison only. Accuracy at delta = 1 / n^1.1, zero-out; the best of 24
settings by the test rows themselves, which costs it nothing.

Usage: python -m benchmarks.utility.second_order [--splits 5] [--only adult,breast_cancer]
"""

import argparse
import itertools
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import expit

from benchmarks.utility.linear import delta_of
from benchmarks.utility.linear_data import tasks
from skdp.exceptions import PrivacyLeakWarning
from skdp.linear_model import PrivateLinearClassifier
from skdp.privacy.gaussian_curve import gaussian_mu

EPSILONS = (0.5, 3.0)
KAPPA = np.sqrt(2.0)
GRID = tuple(itertools.product((1, 3, 6, 12), (1.0, 4.0, 16.0), (False, True)))


@dataclass(frozen=True)
class NoisyNewton:
    """One setting."""

    n_steps: int
    times: float
    upper_bound: bool

    def fit(self, X: np.ndarray, y: np.ndarray, mu: float, seed: int) -> np.ndarray:
        """Return weights for rows with a constant column of ones; y is -1 or 1."""
        rng = np.random.default_rng(seed)
        n, d = X.shape
        part = mu / np.sqrt(2 * self.n_steps)
        moved = KAPPA**2 / (4 * n)
        lam = self.times * moved * np.sqrt(d) / part
        w = np.zeros(d)
        for _ in range(self.n_steps):
            margin = X @ w
            gradient = -(y * expit(-y * margin)) @ X / n
            gradient = gradient + rng.normal(size=d) * KAPPA / (n * part)
            bend = self._bend(margin)
            second = (X.T * bend) @ X / n + lam * np.eye(d)
            reach = np.linalg.norm(gradient) * moved / (lam**2 + lam * moved)
            w = w - np.linalg.solve(second, gradient) + rng.normal(size=d) * reach / part
        return w

    def _bend(self, margin: np.ndarray) -> np.ndarray:
        if not self.upper_bound:
            return expit(margin) * expit(-margin)
        size = np.maximum(np.abs(margin), 1e-6)
        return np.tanh(size / 2) / (2 * size)


def scores(only: str, splits: int) -> Iterator[tuple]:
    """Yield data, method, setting, epsilon, split and accuracy."""
    for task in tasks(only):
        for split, epsilon in itertools.product(range(splits), EPSILONS):
            train, test = task.split(split)
            delta = delta_of(task, len(train))
            default = PrivateLinearClassifier(epsilon=epsilon, delta=delta, classes=range(2))
            found = default.fit(task.X[train], task.y[train]).predict(task.X[test])
            yield task.name, "default", "", epsilon, split, np.mean(found == task.y[test])
            rows = np.hstack([task.X, np.ones((len(task.y), 1))])
            signs, mu = 2.0 * task.y - 1, gaussian_mu(epsilon, delta)
            for setting in GRID:
                w = NoisyNewton(*setting).fit(rows[train], signs[train], mu, split)
                right = np.mean((rows[test] @ w > 0) == (signs[test] > 0))
                yield task.name, "noisy Newton", str(setting), epsilon, split, right


def main() -> None:
    """Print the default and the best setting of each set and epsilon."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--only", default="adult,breast_cancer")
    given = parser.parse_args()
    warnings.simplefilter("ignore", PrivacyLeakWarning)
    columns = ["data", "method", "setting", "epsilon", "split", "score"]
    found = pd.DataFrame(list(scores(given.only, given.splits)), columns=columns)
    means = found.groupby(columns[:4])["score"].agg(["mean", "sem"]).reset_index()
    best = means.sort_values("mean").groupby(["data", "epsilon", "method"]).tail(1)
    print(best.sort_values(["data", "epsilon", "method"]).round(4).to_string(index=False))


if __name__ == "__main__":
    main()

"""Would shrinking margins for the known noise calibrate probabilities? Log loss on test rows.

`raw` is the log loss of the released model, `shrunk` with all scores times
1 / sqrt(1 + pi v / 8), v the variance of the noise on the margin of a row of the largest norm, as
in the probit approximation of a logistic-normal integral (MacKay, 1992). For a perturbed objective
v is that for a curvature of the penalty alone, the worst there is. `best` is the factor that would
have been best for the test rows, which nobody can know.

Usage: python -m benchmarks.utility.shrunk_margins [--seeds 5] [--only adult,wine] [--output FILE]
"""

import argparse
import math
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn.base import clone

from benchmarks.data import Problem, problems
from benchmarks.utility.objective import EPSILONS, MODELS, SETS
from skdp.exceptions import PrivacyLeakWarning

COLUMNS = ("data", "method", "epsilon", "raw", "shrunk", "factor", "best", "best_factor")


def lines_of(problem: Problem, seeds: int) -> Iterator[str]:
    """One line for each perturbation and epsilon: means over splits."""
    delta = len(problem.split(0).y_train) ** -1.1
    for name in ("output", "objective"):
        for epsilon in EPSILONS:
            model = clone(MODELS[name]).set_params(
                epsilon=epsilon, delta=delta, classes=range(problem.n_classes)
            )
            found = np.mean([measured(model, problem.split(seed)) for seed in range(seeds)], axis=0)
            yield ",".join([problem.name, name, f"{epsilon:g}", *(f"{x:.3f}" for x in found)])


def measured(model, split) -> tuple[float, ...]:
    """Log loss as released, shrunk, and at best, with the two factors."""
    fitted = model.fit(split.train, split.y_train)
    scores = fitted.decision_function(split.test)
    if scores.ndim == 1:
        scores = np.column_stack([np.zeros(len(scores)), scores])
    factor = 1 / math.sqrt(1 + math.pi * margin_variance(fitted) / 8)

    def log_loss(by: float) -> float:
        logs = log_softmax(by * scores, axis=1)
        return float(-logs[np.arange(len(logs)), split.y_test].mean())

    best = minimize_scalar(lambda t: log_loss(math.exp(t)), bounds=(-8, 3), method="bounded")
    return log_loss(1.0), log_loss(factor), factor, float(best.fun), math.exp(best.x)


def margin_variance(model) -> float:
    """Of the difference of two scores of a row of the largest norm."""
    mechanism = model._mechanism
    deviation = mechanism.expected_norm / math.sqrt(mechanism.size)
    if model.perturbation == "objective":
        deviation /= mechanism.curvature
    kappa = math.hypot(model.row_norm, model.intercept_scaling)
    return (deviation * kappa) ** 2 * (1 if len(model.classes_) == 2 else 2)


def main() -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", default=SETS)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    lines = [",".join(COLUMNS)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        for problem in problems(given.only):
            lines += lines_of(problem, given.seeds)
    text = "\n".join(lines) + "\n"
    if given.output:
        given.output.write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()

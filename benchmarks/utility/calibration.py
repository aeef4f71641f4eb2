"""Are probabilities calibrated, and does `probability_correction` help? On test rows, defaults.

A line for each data set, method, epsilon and correction: the factor of scores, the log loss, by how
much it is lower than without a correction (with the standard error over splits) and the expected
calibration error (Guo et al. 2017: 15 bins of the probability of the predicted class). "best" is
the factor that would have been best for the test rows, which nobody can know. "default" is
`PrivateLinearClassifier`; "output" and "objective" are `PrivateElasticNetClassifier`, "stable" is
`StableSGDClassifier`. All at delta = 1 / n^1.1.

Usage: python -m benchmarks.utility.calibration [--seeds 10] [--only adult,wine]
       [--methods default;output] [--output FILE] [--curves FILE]
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
from sklearn.calibration import calibration_curve

from benchmarks.utility.calibration_data import FRESH, SMALL, further
from benchmarks.utility.linear_data import Task
from skdp.exceptions import LittleToLearnWarning, PrivacyLeakWarning
from skdp.linear_model import (
    PrivateElasticNetClassifier,
    PrivateLinearClassifier,
    StableSGDClassifier,
)
from skdp.linear_model.probabilities import CORRECTIONS

EPSILONS = (0.1, 0.5, 1.0, 3.0, 10.0)
SEEN = ("adult", "breast_cancer", "digits", "sms_spam", "spambase", "wine")
LATER = (
    "a9a", "census_income_kdd", "nist_acs_national", "acs_thirds", "acs_fifths", "kddcup99",
    "mnist_7x7", "made_2", "made_2_easy", "made_4",
)  # fmt: skip
COLUMNS = ("data", "method", "epsilon", "correction", "factor", "log_loss", "gain", "error", "ece")
CURVE_COLUMNS = ("data", "correction", "predicted", "observed", "rows")
CURVES_AT, N_BINS = 1.0, 15


class Told(PrivateLinearClassifier):
    """The default, and what each correction would multiply its scores by."""

    def _store(self, model, facts):
        super()._store(model, facts)
        self.factors = {str(name): rule(model) for name, rule in CORRECTIONS.items()}
        self.factors["auto"] = self.probability_factor_


def default(**given) -> tuple[object, dict[str, float]]:
    """Return a model with its data and its factors."""
    model = Told(**_settings(given)).fit(given["X"], given["y"])
    return model, model.factors


def by_noise(kind, **given) -> tuple[object, dict[str, float]]:
    """As `default`, of models that know one correction."""
    model = clone(kind).set_params(**_settings(given)).fit(given["X"], given["y"])
    factors = {"None": 1.0, "noise": model.probability_factor_}
    model.probability_factor_ = 1.0
    return model, factors


def _settings(given):
    return {name: given[name] for name in ("epsilon", "delta", "classes")}


NOISE = {"probability_correction": "noise"}
METHODS = {
    "default": default,
    "output": lambda **given: by_noise(PrivateElasticNetClassifier(**NOISE), **given),
    "objective": lambda **given: by_noise(
        PrivateElasticNetClassifier(perturbation="objective", **NOISE), **given
    ),
    "stable": lambda **given: by_noise(StableSGDClassifier(**NOISE), **given),
}


def log_loss(scores: np.ndarray, labels: np.ndarray) -> float:
    """Mean of minus the log probability of the labels."""
    logs = log_softmax(scores, axis=1)
    return float(-logs[np.arange(len(logs)), labels].mean())


def curve(scores: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return for each bin with rows in it mean probability, share of hits and number of rows."""
    probabilities = np.exp(log_softmax(scores, axis=1))
    sure, hits = probabilities.max(axis=1), probabilities.argmax(axis=1) == labels
    observed, predicted = calibration_curve(hits, sure, n_bins=N_BINS)
    rows = np.histogram(sure, np.linspace(0, 1, N_BINS + 1))[0]
    return predicted, observed, rows[rows > 0]


def calibration_error(scores: np.ndarray, labels: np.ndarray) -> float:
    """Expected difference of probability and share of hits."""
    predicted, observed, rows = curve(scores, labels)
    return float(np.average(np.abs(predicted - observed), weights=rows))


def best_factor(scores: np.ndarray, labels: np.ndarray) -> float:
    """Return the factor of least log loss on these rows."""

    def loss(log_factor):
        return log_loss(math.exp(log_factor) * scores, labels)

    return math.exp(minimize_scalar(loss, bounds=(-8, 3), method="bounded").x)


def of_classes(scores: np.ndarray) -> np.ndarray:
    """Return a score for each class."""
    return np.column_stack([np.zeros(len(scores)), scores]) if scores.ndim == 1 else scores


def measured(task: Task, method: str, epsilon: float, seeds: int):
    """Return corrections with their figures on each split, and curves over all of them."""
    figures, curves = {}, {}
    for seed in range(seeds):
        train, test = task.split(seed)
        model, factors = METHODS[method](
            X=task.X[train], y=task.y[train], epsilon=epsilon, delta=len(train) ** -1.1,
            classes=range(task.n_classes),
        )  # fmt: skip
        scores, labels = of_classes(model.decision_function(task.X[test])), task.y[test]
        factors["best"] = best_factor(scores, labels)
        for name, factor in factors.items():
            loss = log_loss(factor * scores, labels)
            error = calibration_error(factor * scores, labels)
            figures.setdefault(name, []).append((factor, loss, error))
            curves.setdefault(name, []).append((factor * scores, labels))
    pooled = {
        name: curve(*map(np.concatenate, zip(*found, strict=True)))
        for name, found in curves.items()
    }
    return {name: np.array(found) for name, found in figures.items()}, pooled


def lines_of(task: Task, method: str, seeds: int) -> Iterator[tuple[str, list[str]]]:
    """Yield a line of the table, and those of its curve, for each epsilon and correction."""
    for epsilon in EPSILONS:
        figures, curves = measured(task, method, epsilon, seeds)
        for name, found in figures.items():
            factor, loss, ece = found.mean(axis=0)
            gains = figures["None"][:, 1] - found[:, 1]
            error = gains.std(ddof=1) / math.sqrt(seeds) if seeds > 1 else math.nan
            told = (*(f"{x:.4f}" for x in (factor, loss, gains.mean(), error, ece)),)
            line = ",".join([task.name, method, f"{epsilon:g}", name, *told])
            wanted = method == "default" and epsilon == CURVES_AT and name != "best"
            bins = zip(*curves[name], strict=True) if wanted else ()
            yield line, [f"{task.name},{name},{p:.4f},{o:.4f},{n}" for p, o, n in bins]


def main() -> None:
    """Write the table and the curves, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--only", default=",".join((*SEEN, *LATER, *FRESH, *SMALL)))
    parser.add_argument("--methods", default="default", help="by semicolons")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--curves", type=Path)
    given = parser.parse_args()
    lines, curves = [",".join(COLUMNS)], [",".join(CURVE_COLUMNS)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        warnings.simplefilter("ignore", LittleToLearnWarning)
        for task in further(given.only.split(",")):
            for method in given.methods.split(";"):
                for line, points in lines_of(task, method, given.seeds):
                    lines.append(line)
                    curves += points
                    if not given.output:
                        print(line, flush=True)
            if given.output:
                given.output.write_text("\n".join(lines) + "\n")
            if given.curves:
                given.curves.write_text("\n".join(curves) + "\n")


if __name__ == "__main__":
    main()

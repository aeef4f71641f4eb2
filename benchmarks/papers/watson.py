"""Noise scaled by stability: Watson, Rozemberczki and Sarkar (2020), with elastic-net classifiers.

Three experiments, each with 10 draws: a stratified split with 70 % for training, driven by a seed,
and one draw of noise from the system.

* lambda: accuracy against lambda, without noise and with the noise of each rule (watson_rules.py).
* features: F1 of the privately selected features against those of the same model without noise,
  and against those of its features that reach the threshold, for thresholds tied to the noise and
  static ones.
* size: gene expression, every patient there m times. The minimiser is that of the patients once;
  what falls with m is the noise. From which n on do accuracy, thresholded weights and a private
  top-k find anything?

    export SKDP_DATA=FOLDER OPENBLAS_NUM_THREADS=1
    python -m benchmarks.papers.watson --output benchmarks/results/papers/watson.csv
    python -m benchmarks.papers.write_watson

The file has one row per cell: mean and standard error over the draws in which it is defined (F1 is
not where there is nothing to find).
"""

import argparse
import csv
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.data import Problem, Split
from benchmarks.papers.watson_data import gene_rows, problems
from benchmarks.papers.watson_rules import (
    FIXED,
    L1_RATIO,
    LOSS,
    PAPER,
    RULES,
    TIGHT,
    TOL,
    penalty_of,
    plan,
)
from benchmarks.scores import Mean
from skdp._random import RandomSource
from skdp.feature_selection.scores import ClassTarget, FeatureScore, RowBounds
from skdp.feature_selection.top_k import exponential
from skdp.linear_model import PrivateElasticNetClassifier
from skdp.mechanisms.additive import AdditiveMechanism
from skdp.privacy import PrivacyBudget
from skdp.records import InMemoryRecords
from skdp.stability.domain import Domain
from skdp.stability.erm import GradientDiameterBound
from skdp.stability.noise import NOISE_RULES
from skdp.stability.output_perturbation import planned_penalty
from skdp.stability.selection import noise_threshold

LAMBDAS = tuple(float(f"{10.0**power:.3g}") for power in np.arange(-5, 0.1, 0.5))
EPSILONS = {"gene ALL": (1.0, 10.0, 40.0), "gene Golub": (1.0, 10.0, 40.0)}
STATIC = (0.1, 1.0)
COPIES = (1, 3, 10, 30, 100, 300, 1000, 3000, 10_000)
K = 10
SMALL_DELTA = 1e-6
#: With ten columns of values in [-1, 1].
SELECTED_ROW_NORM = 2.0
NOT_PRIVATE, MAJORITY, TOP_K = "not private", "majority class", "private top 10, then model"
COLUMNS = (
    "experiment", "data", "rule", "epsilon", "lambda", "copies", "measure",
    "mean", "error", "draws",
)  # fmt: skip

Key = tuple[str, ...]
Cell = tuple[Key, float]


def key(*parts: object) -> Key:
    """Return the columns of a cell as text."""
    return tuple(f"{part:g}" if isinstance(part, float) else str(part) for part in parts)


def minimiser(split: Split, strength: float) -> tuple[Domain, np.ndarray]:
    """Return the public facts and the exact weights, the intercept last."""
    domain = Domain(len(split.y_train), split.train.shape[1], 1.0, 1.0)
    fit = plan(domain, penalty_of(strength), PrivacyBudget(1.0))
    records = InMemoryRecords(split.train, 2.0 * split.y_train - 1, None, 1.0)
    return domain, fit.minimiser(records).ravel()


def accuracy(weights: np.ndarray, split: Split) -> float:
    return float(np.mean((split.test @ weights[:-1] + weights[-1] > 0) == split.y_test))


def majority(split: Split) -> float:
    return float(np.mean(split.y_test == (split.y_train.mean() > 0.5)))


def f1(selected: np.ndarray, wanted: np.ndarray) -> float:
    """2 TP / (2 TP + FP + FN)."""
    return float(2 * np.sum(selected & wanted) / (selected.sum() + wanted.sum()))


def released(mechanism: AdditiveMechanism, weights: np.ndarray) -> np.ndarray:
    return mechanism.release(weights, RandomSource.from_system())


def along_lambda(problem: Problem, split: Split) -> Iterator[Cell]:
    """Accuracy and features at every lambda."""
    yield key("lambda", problem.name, MAJORITY, 0.0, 0.0, 1, "accuracy"), majority(split)
    for strength in LAMBDAS:
        domain, weights = minimiser(split, strength)
        where = (strength, 1)
        shown = key("lambda", problem.name, NOT_PRIVATE, 0.0, *where, "accuracy")
        yield shown, accuracy(weights, split)
        start = ("features", problem.name, NOT_PRIVATE, 0.0, *where)
        nonzero = weights[:-1] != 0
        yield key(*start, "features"), float(nonzero.sum())
        if nonzero.any():
            yield key(*start, "F1 of non-zero, all kept"), f1(np.ones_like(nonzero), nonzero)
        for epsilon in EPSILONS.get(problem.name, (1.0,)):
            for name, rule in RULES.items():
                mechanism = rule(domain, penalty_of(strength), PrivacyBudget(epsilon))
                noisy = released(mechanism, weights)
                shown = key("lambda", problem.name, name, epsilon, *where, "accuracy")
                yield shown, accuracy(noisy, split)
                if name in (TIGHT, PAPER):
                    start = ("features", problem.name, name, epsilon, *where)
                    yield from features(start, mechanism, weights[:-1], noisy[:-1])
                if name == FIXED:
                    least = plan(domain, penalty_of(strength), PrivacyBudget(1.0)).sensitivity.value
                    spent = np.sqrt(domain.n_columns) * least / 0.1
                    yield key("lambda", problem.name, name, epsilon, *where, "epsilon"), spent


def features(
    start: tuple[object, ...], mechanism: AdditiveMechanism, weights: np.ndarray, noisy: np.ndarray
) -> Iterator[Cell]:
    """F1 of what passes a threshold."""
    thresholds = {"auto": noise_threshold(mechanism, weights.size)}
    thresholds["2 sd"] = 2 * mechanism.standard_deviation
    thresholds |= {f"T = {value:g}": value for value in STATIC}
    for name, threshold in thresholds.items():
        selected = np.abs(noisy) >= threshold
        for what, wanted in (("non-zero", weights != 0), ("large", np.abs(weights) >= threshold)):
            if wanted.any():  # otherwise there is nothing to find, and no F1
                yield key(*start, f"F1 of {what}, {name}"), f1(selected, wanted)
        yield key(*start, f"selected, {name}"), float(selected.sum())


def along_size(problem: Problem, split: Split, raw: Split) -> Iterator[Cell]:
    """Everything that depends on n alone, each patient there `copies` times; delta 1e-6."""
    yield key("size", problem.name, MAJORITY, 0.0, 0.0, 1, "accuracy"), majority(split)
    score = FeatureScore(
        ClassTarget(2), RowBounds((-1.0, 1.0), None), len(raw.y_train), raw.train.shape[1]
    )
    exact = score.of(raw.train, raw.y_train)
    for copies in COPIES:
        for epsilon in (1.0, 10.0):
            budget = PrivacyBudget(epsilon, SMALL_DELTA)
            yield from whole_model(problem.name, split, copies, budget)
            yield from top_k(problem.name, raw, copies, budget, exact)


def whole_model(name: str, split: Split, copies: int, budget: PrivacyBudget) -> Iterator[Cell]:
    """A private model of all columns, lambda from public facts alone."""
    n = copies * len(split.y_train)
    domain = Domain(n, split.train.shape[1], 1.0, 1.0)
    rules = {"tol": TOL, "bound": GradientDiameterBound(), "noise": NOISE_RULES["auto"]}
    strength = planned_penalty(LOSS, L1_RATIO, domain, budget, **rules).alpha
    mechanism = plan(domain, penalty_of(strength), budget, "auto").mechanism
    _, weights = minimiser(split, strength)
    noisy = released(mechanism, weights)
    threshold = noise_threshold(mechanism, weights.size - 1)
    selected = np.abs(noisy[:-1]) >= threshold
    place = ("size", name, "model of all columns", budget.epsilon, 0.0, copies)
    yield key(*place, "accuracy"), accuracy(noisy, split)
    yield key(*place, "accuracy without noise"), accuracy(weights, split)
    yield key(*place, "selected, auto"), float(selected.sum())
    yield key(*place, "features"), float(np.sum(weights[:-1] != 0))
    if selected.any():
        yield key(*place, "of them non-zero"), float(np.mean(weights[:-1][selected] != 0))


def top_k(
    name: str, raw: Split, copies: int, budget: PrivacyBudget, exact: np.ndarray
) -> Iterator[Cell]:
    """Half of the budget finds ten columns, the other half fits a model of them."""
    half = PrivacyBudget(budget.epsilon / 2, budget.delta / 2)
    n, p = copies * len(raw.y_train), raw.train.shape[1]
    mechanism = exponential(
        FeatureScore(ClassTarget(2), RowBounds((-1.0, 1.0), None), n, p), K, half
    )
    # Sums of products over copies are as many times as large.
    chosen = mechanism.release(copies * exact, RandomSource.from_system()).indices
    best = np.argsort(-exact)[:K]
    place = ("size", name, TOP_K, budget.epsilon, 0.0, copies)
    yield key(*place, "of the best 10"), float(np.isin(chosen, best).mean())
    good = np.argsort(-exact)[: p // 100]
    yield key(*place, "of the best 1 %"), float(np.isin(chosen, good).mean())
    model = PrivateElasticNetClassifier(
        epsilon=half.epsilon, delta=half.delta, row_norm=SELECTED_ROW_NORM, classes=[0, 1]
    )
    rows = np.repeat(raw.train[:, chosen], copies, axis=0)
    model.fit(rows, np.repeat(raw.y_train, copies))
    yield key(*place, "accuracy"), float(model.score(raw.test[:, chosen], raw.y_test))


def measure(only: str, draws: int) -> Iterator[dict[str, str]]:
    """Yield one row per cell."""
    for problem in problems(only):
        found: dict[Key, list[float]] = defaultdict(list)
        raw = gene_rows(problem.name) if problem.name in EPSILONS else None
        for seed in range(draws):
            split = problem.split(seed)
            for where, value in along_lambda(problem, split):
                found[where].append(value)
            if raw is not None:
                for where, value in along_size(problem, split, raw.split(seed)):
                    found[where].append(value)
            print(problem.name, "draw", seed, "done", file=sys.stderr, flush=True)
        for where, values in found.items():
            mean = Mean.of(values)
            row = (*where, f"{mean.value:.4g}", f"{mean.error:.2g}", str(len(values)))
            yield dict(zip(COLUMNS, row, strict=True))


def main() -> None:
    """Measure and store."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--draws", type=int, default=10)
    options.add_argument("--only", default="", help="names of data sets, separated by commas")
    options.add_argument("--output", type=Path, required=True, help="CSV file")
    arguments = options.parse_args()
    rows = list(measure(arguments.only, arguments.draws))
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    with arguments.output.open("w", newline="") as target:
        writer = csv.DictWriter(target, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()

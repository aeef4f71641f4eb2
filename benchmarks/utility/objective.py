"""Output against objective perturbation, and private SGD, with defaults only.

All at delta = 1 / n^1.1 with 70 % of the rows for training, rows scaled by published bounds and
clipped to norm 1; seeds drive the split, noise comes from the system. Output and objective
perturbation protect a row that is replaced; private SGD one that is nulled (zero-out), which is a
weaker promise, and so does objective perturbation a second time.

Usage: python -m benchmarks.utility.objective [--seeds 5] [--only adult,wine] [--output FILE]
       [--methods "output;objective"]
       python -m benchmarks.utility.objective --table FILE
       python -m benchmarks.utility.objective --time
"""

import argparse
import csv
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from benchmarks.data import Problem, problems
from skdp.exceptions import PrivacyLeakWarning
from skdp.linear_model import PrivateElasticNetClassifier, SparseDPSGDClassifier

EPSILONS = (0.1, 0.5, 1.0, 3.0, 10.0)
SETS = "adult,breast_cancer,digits,sms_spam,spambase,wine"
COLUMNS = ("data", "n_train", "delta", "method", "relation", "epsilon", "seed", "accuracy", "auc")
MODELS = {
    "output": PrivateElasticNetClassifier(),
    "objective": PrivateElasticNetClassifier(perturbation="objective"),
    "objective zero-out": PrivateElasticNetClassifier(
        perturbation="objective", neighbours="zero-out"
    ),
    "private SGD": SparseDPSGDClassifier(),
}


def rows_of(problem: Problem, seeds: int, methods: list[str]) -> Iterator[list[object]]:
    """One row for each method, epsilon and seed."""
    n_train = len(problem.split(0).y_train)
    delta = n_train**-1.1
    for name in methods:
        model = MODELS[name]
        for epsilon in EPSILONS:
            for seed in range(seeds):
                split = problem.split(seed)
                fitted = clone(model).set_params(
                    epsilon=epsilon, delta=delta, classes=range(problem.n_classes)
                )
                fitted.fit(split.train, split.y_train)
                relation = fitted.privacy_.neighbours.value
                accuracy, auc = scores_of(fitted, split)
                place = [problem.name, n_train, f"{delta:.3g}", name, relation, epsilon, seed]
                yield [*place, f"{accuracy:.4f}", f"{auc:.4f}"]


def scores_of(model, split) -> tuple[float, float]:
    """Accuracy, and area under the ROC curve of two classes."""
    accuracy = float(np.mean(model.predict(split.test) == split.y_test))
    if split.n_classes > 2:
        return accuracy, np.nan
    return accuracy, float(roc_auc_score(split.y_test, model.decision_function(split.test)))


def table(file: Path) -> str:
    """Markdown: mean accuracy of each method, and standard errors of the means."""
    with file.open() as lines:
        rows = list(csv.DictReader(lines))
    epsilons = list(dict.fromkeys(row["epsilon"] for row in rows))
    head = "| data | n | method | " + " | ".join(f"epsilon {float(e):g}" for e in epsilons) + " |"
    text = [head, "|---" * (3 + len(epsilons)) + "|"]
    for data, n, method in dict.fromkeys((r["data"], r["n_train"], r["method"]) for r in rows):
        cells = []
        for epsilon in epsilons:
            place = {"data": data, "method": method, "epsilon": epsilon}
            found = [
                float(row["accuracy"])
                for row in rows
                if all(row[key] == value for key, value in place.items())
            ]
            error = np.std(found, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.nan
            cells.append(f"{np.mean(found):.3f} ± {error:.3f}")
        text.append(f"| {data} | {n} | {method} | " + " | ".join(cells) + " |")
    return "\n".join(text)


def times() -> Iterator[str]:
    """Seconds of one core beside scikit-learn's with the same penalty, 50,000 rows of 100."""
    X, y = make_classification(50_000, 100, n_informative=30, random_state=0)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    for epsilon in (0.1, 1.0, 10.0):
        model = clone(MODELS["objective"]).set_params(epsilon=epsilon, delta=1e-6, classes=(0, 1))
        first = seconds(model, X, y)
        convexity = model.alpha_ * (1 - model.l1_ratio)
        plain = LogisticRegression(C=1 / (len(X) * convexity), max_iter=1000)
        ours, theirs = (min(seconds(each, X, y) for _ in range(3)) for each in (model, plain))
        yield f"epsilon {epsilon:g}: {ours:.2f} s, first {first:.2f} s, scikit-learn {theirs:.2f} s"


def seconds(model, X, y) -> float:
    """Of processor time, for one fit."""
    start = time.process_time()
    model.fit(X, y)
    return time.process_time() - start


def main() -> None:
    """Measure, or print the table of what was measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", default=SETS)
    parser.add_argument("--methods", default=";".join(MODELS), help="by semicolons")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--table", type=Path)
    parser.add_argument("--time", action="store_true")
    given = parser.parse_args()
    if given.time:
        print("\n".join(times()))
        return
    if given.table:
        print(table(given.table))
        return
    lines = [",".join(COLUMNS)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        for problem in problems(given.only):
            found = rows_of(problem, given.seeds, given.methods.split(";"))
            lines += [",".join(map(str, row)) for row in found]
    text = "\n".join(lines) + "\n"
    if given.output:
        given.output.write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()

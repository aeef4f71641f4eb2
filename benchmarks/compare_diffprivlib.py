"""A small comparison with diffprivlib's private logistic regression, on the Adult census table.

Runs where diffprivlib imports: `pip install -e ".[diffprivlib]"`, which brings scikit-learn 1.7.
methods.py says what is compared and what each side claims; accuracy.py is the full comparison.

Usage: python -m benchmarks.compare_diffprivlib [--quick]
"""

import argparse
import time
from dataclasses import replace

from benchmarks.data import Split, adult
from benchmarks.methods import (
    DIFFPRIVLIB,
    METHODS,
    NO_INTERCEPT,
    SKDP,
    SKLEARN,
    Method,
    diffprivlib_problem,
)
from benchmarks.scores import Mean, scores

EPSILONS = (1.0, 10.0)
COMPARED = (SKDP, DIFFPRIVLIB, NO_INTERCEPT, SKLEARN)


def measure(method: Method, split: Split, epsilon: float, repeats: int) -> str:
    """Mean and standard error of accuracy and AUC, mean seconds of a fit."""
    started = time.perf_counter()
    found = [
        scores(method.fit(split, epsilon), split) for _ in range(repeats if method.random else 1)
    ]
    seconds = (time.perf_counter() - started) / len(found)
    accuracy, auc = (Mean.of([getattr(one, name) for one in found]) for name in ("accuracy", "auc"))
    return (
        f"| {method.name:<25} | {epsilon:>7g} | {accuracy.per_cent():<10} | {auc.per_cent():<10} "
        f"| {seconds:>7.2f} |"
    )


def compare(*, repeats: int, n_train: int | None) -> None:
    """Print the table for one split."""
    split = adult().split(seed=0)
    split = replace(split, train=split.train[:n_train], y_train=split.y_train[:n_train])
    print(f"Adult: {len(split.y_train)} training rows, {split.train.shape[1]} columns,")
    print(f"{repeats} repetitions, relation replace-one, delta 0, per cent ± standard error.")
    print("diffprivlib's theorem does not cover its unpenalised intercept (see methods.py).\n")
    print(f"| {'model':<25} | epsilon | {'accuracy':<10} | {'AUC':<10} | seconds |")
    print(f"|{'-' * 27}|--------:|{'-' * 12}|{'-' * 12}|--------:|")
    for epsilon in EPSILONS:
        for method in METHODS:
            if method.name in COMPARED:
                print(measure(method, split, epsilon, repeats), flush=True)


def main() -> None:
    """Compare, or say why not."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="5 repetitions, 10,000 rows")
    arguments = parser.parse_args()
    reason = diffprivlib_problem()
    if reason:
        print(f"skipped: {reason}")
    elif arguments.quick:
        compare(repeats=5, n_train=10_000)
    else:
        compare(repeats=10, n_train=None)


if __name__ == "__main__":
    main()

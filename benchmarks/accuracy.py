"""Accuracy, balanced accuracy, AUC and per-class recall beside the peers, with default settings.

Each seed drives a stratified split, 70 % for training; noise comes from the system. The methods and
the neighbouring relation (replace-one for all) are described in methods.py. diffprivlib needs an
environment of its own, so results go to CSV files that several runs write and one run joins:

    python -m benchmarks.accuracy --output here.csv
    OTHER_ENVIRONMENT/bin/python -m benchmarks.accuracy --methods diffprivlib --output there.csv
    python -m benchmarks.accuracy --join here.csv there.csv --output benchmarks/results/accuracy.csv

The last one also prints the tables of docs/benchmarks.md.
"""

import argparse
import csv
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.accuracy_tables import tables
from benchmarks.data import Problem, problems
from benchmarks.methods import DIFFPRIVLIB, Method, diffprivlib_problem, methods
from benchmarks.scores import scores

EPSILONS = (0.1, 0.5, 1.0, 3.0, 10.0)
METRICS = ("accuracy", "balanced_accuracy", "auc")
COLUMNS = ("data", "method", "epsilon", "seed", "fits", *METRICS, "recall")

Row = dict[str, str]


def rows_of(problem: Problem, method: Method, n_seeds: int, n_repeats: int) -> Iterator[Row]:
    """Yield one row per epsilon and seed: means over `n_repeats` fits with fresh noise."""
    n_fits = n_repeats if method.random else 1
    for seed in range(n_seeds):
        split = problem.split(seed)
        for epsilon in EPSILONS if method.uses_epsilon else (np.inf,):
            found = [scores(method.fit(split, epsilon), split) for _ in range(n_fits)]
            means = [np.mean([getattr(one, name) for one in found]) for name in METRICS]
            recall = np.mean([one.recall for one in found], axis=0)
            row = (
                problem.name,
                method.name,
                f"{epsilon:g}",
                seed,
                n_fits,
                *(f"{mean:.4f}" for mean in means),
                " ".join(f"{share:.3f}" for share in recall),
            )
            yield dict(zip(COLUMNS, map(str, row), strict=True))


def measure(arguments: argparse.Namespace) -> list[Row]:
    """Fit everything that was asked for and can be had here."""
    chosen = methods(arguments.methods)
    reason = diffprivlib_problem()
    if reason:
        print(reason, file=sys.stderr)
        chosen = [method for method in chosen if not method.name.startswith(DIFFPRIVLIB)]
    found: list[Row] = []
    for problem in problems(arguments.only):
        for method in chosen:
            found += rows_of(problem, method, arguments.seeds, arguments.repeats)
            print(problem.name, method.name, "done", file=sys.stderr, flush=True)
    return found


def read(path: Path) -> list[Row]:
    with path.open(newline="") as stored:
        return list(csv.DictReader(stored))


def write(path: Path, rows: list[Row]) -> None:
    with path.open("w", newline="") as target:
        writer = csv.DictWriter(target, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    """Measure or join, then print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=1, help="fits per split, fresh noise each")
    parser.add_argument("--only", default="", help="names of data sets, separated by commas")
    parser.add_argument("--methods", default="", help="starts of names, separated by commas")
    parser.add_argument("--join", type=Path, nargs="+", help="join these files, measure nothing")
    parser.add_argument("--output", type=Path, help="CSV file")
    arguments = parser.parse_args()
    if arguments.join:
        found = [row for path in arguments.join for row in read(path)]
    else:
        found = measure(arguments)
    if arguments.output:
        write(arguments.output, found)
    print(tables(found))


if __name__ == "__main__":
    main()

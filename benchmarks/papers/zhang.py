"""Where a private choice of coordinates helps: Zhang, Mironov and Hejazinia (2021), linear part.

Accuracy, balanced accuracy and AUC against epsilon for noise on all coordinates, for each selector,
with the selected coordinates clipped again and without, and for Opacus. Each seed drives a
stratified split, 70 % for training. `nonzero` is the share of coefficients that the fit has moved.
Opacus needs an environment of its own:

    export SKDP_DATA=FOLDER OPENBLAS_NUM_THREADS=1
    python -m benchmarks.papers.zhang --output ours.csv
    OTHER_ENVIRONMENT/bin/python -m benchmarks.papers.opacus_peer --output opacus.csv
    python -m benchmarks.papers.zhang --join ours.csv opacus.csv --output results/papers/zhang.csv

The last one also prints the tables for the documentation.
"""

import argparse
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.data import Problem, Split
from benchmarks.papers.wide_data import problems
from benchmarks.papers.wide_methods import Method, methods
from benchmarks.papers.wide_rows import Row, read, row_of, write
from benchmarks.papers.wide_tables import tables

EPSILONS = (0.1, 0.5, 1.0, 3.0, 10.0)


def fitted_row(problem: Problem, method: Method, split: Split, epsilon: float, seed: int) -> Row:
    """Fit once and score on the test rows."""
    start = time.process_time()
    model = method.fit(split, epsilon)
    seconds = time.process_time() - start
    return row_of(problem.name, method.name, epsilon, seed, model, split, seconds)


def rows_of(problem: Problem, chosen: Iterable[Method], seed: int) -> Iterator[Row]:
    """Yield one row per method and epsilon."""
    split = problem.split(seed)
    for method in chosen:
        for epsilon in EPSILONS if method.uses_epsilon else (np.inf,):
            yield fitted_row(problem, method, split, epsilon, seed)
    print(problem.name, "seed", seed, "done", file=sys.stderr, flush=True)


def run(chosen: list[Method], arguments: argparse.Namespace) -> list[Row]:
    """Fit `chosen` on every set that was asked for; store what there is after each split."""
    found: list[Row] = []
    for problem in problems(arguments.only):
        for seed in range(arguments.first, arguments.first + arguments.seeds):
            found += rows_of(problem, chosen, seed)
            if arguments.output:
                write(arguments.output, found)
    return found


def parser(doc: str) -> argparse.ArgumentParser:
    """Return the options that this script and the peer's share."""
    options = argparse.ArgumentParser(description=doc.splitlines()[0])
    options.add_argument("--seeds", type=int, default=10)
    options.add_argument("--first", type=int, default=0, help="first seed")
    options.add_argument("--only", default="", help="names of data sets, separated by commas")
    options.add_argument("--methods", default="", help="names, separated by semicolons")
    options.add_argument("--output", type=Path, help="CSV file")
    return options


def main() -> None:
    """Measure or join, then print the tables."""
    options = parser(__doc__)
    options.add_argument("--join", type=Path, nargs="+", help="join these files, measure nothing")
    arguments = options.parse_args()
    if arguments.join:
        found = [row for path in arguments.join for row in read(path)]
        if arguments.output:
            write(arguments.output, found)
    else:
        found = run(methods(arguments.methods), arguments)
    print(tables(found))


if __name__ == "__main__":
    main()

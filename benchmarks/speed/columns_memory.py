"""Peak memory of private SGD at 20,000,000 columns, in vectors of that length.

Each fit runs in a process of its own that has fitted a small table before, so that imports and
compiled code do not count; measured is the rise of resident memory above what the process and the
rows occupy before the fit. With a selector the coefficients are made sparse at the end. A vector
is 20,000,000 numbers of 8 bytes, 160 MB; the coefficients are one. No gradient is ever dense.

Requirement: the data and at most 5 vectors.

Usage: python -m benchmarks.speed.columns_memory
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import subprocess
import sys

from benchmarks import synthetic
from benchmarks.resident import risen
from benchmarks.speed.columns import BATCH, CASES, NO_SELECTOR
from benchmarks.timing import machine
from skdp.linear_model import SparseDPSGDClassifier

LIMIT = 5.0
N_SAMPLES, N_FEATURES = 50_000, 20_000_000
VECTOR = 8 * N_FEATURES
DECAY = "with L2 decay"


def model_of(case: str) -> SparseDPSGDClassifier:
    """Return the estimator of a case, without averaging or with decay where its name says so."""
    name, _, extra = case.partition("; ")
    return SparseDPSGDClassifier(
        batch_size=BATCH,
        n_epochs=2,
        classes=[0, 1],
        average=extra != "last iterate",
        alpha=1e-4 if extra == DECAY else 0.0,
        **CASES[name],
    )


def one_case(case: str) -> None:
    """Print the rise in vectors; runs in a process of its own."""
    model = model_of(case)
    small = synthetic.long_tail(2000, 10_000)
    model.fit(small.X, small.y)
    table = synthetic.long_tail(N_SAMPLES, N_FEATURES)

    def work() -> None:
        model.fit(table.X, table.y)
        if model.selector is not None:
            model.sparsify()

    print(risen(work) / VECTOR, table.n_bytes / VECTOR)


def main() -> None:
    """Run every case in its own process and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", help="measure one, here")
    arguments = parser.parse_args()
    if arguments.case:
        one_case(arguments.case)
        return
    print(f"{machine()}; {N_SAMPLES} rows, {N_FEATURES:,} columns, batches of {BATCH}\n")
    print("| selector | the rows, vectors | beyond the rows, vectors |")
    print("|---|---:|---:|")
    cases = [*CASES, f"{NO_SELECTOR}; {DECAY}", f"{NO_SELECTOR}; last iterate"]
    worst = 0.0
    for case in cases:
        command = [sys.executable, "-m", "benchmarks.speed.columns_memory", "--case", case]
        answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        rise, rows = map(float, answer.split())
        print(f"| {case} | {rows:.2f} | {rise:.2f} |", flush=True)
        worst = max(worst, rise)
    print(f"\nMost beyond the rows {worst:.2f} vectors, requirement {LIMIT:g}")
    sys.exit(not worst <= LIMIT)


if __name__ == "__main__":
    main()

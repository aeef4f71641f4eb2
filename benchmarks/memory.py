"""Peak memory of a fit beyond the data, as a multiple of the data.

Each fit runs in a process of its own that has fitted a small table before, so that imports do not
count. Two measures: what Python and NumPy allocate (tracemalloc; it does not see scratch memory of
compiled libraries), and, where the kernel lets us reset its mark, the rise of resident memory.

Requirement: at most 2 times the data beyond the data.

Usage: python -m benchmarks.memory
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import subprocess
import sys
import tracemalloc
from functools import partial

import numpy as np

from benchmarks import synthetic
from benchmarks.resident import risen
from benchmarks.timing import machine
from skdp.linear_model import PrivateElasticNetClassifier

LIMIT = 2.0
CASES = {
    "dense float64": lambda size: synthetic.dense(np.float64, n_samples=size),
    "dense float32": lambda size: synthetic.dense(np.float32, n_samples=size),
    "CSR float64": lambda size: synthetic.text(np.float64, n_samples=size),
    "CSR float32": lambda size: synthetic.text(np.float32, n_samples=size),
}
ALPHAS = ("auto", 1e-3, 2e-5)


def allocated(table: synthetic.Table, model: PrivateElasticNetClassifier) -> float:
    """Peak of traced allocations during a fit, in multiples of the data."""
    tracemalloc.start()
    model.fit(table.X, table.y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / table.n_bytes


def one_case(case: str, alpha: str) -> None:
    """Print both measures; runs in a process of its own."""
    setting = alpha if alpha == "auto" else float(alpha)
    model = PrivateElasticNetClassifier(alpha=setting, row_norm=1.0, classes=[0, 1])
    small = CASES[case](500)
    model.fit(small.X, small.y)
    table = CASES[case](synthetic.N_SAMPLES)
    # Resident memory first: the tracer's own records would count.
    rise = risen(partial(model.fit, table.X, table.y)) / table.n_bytes
    print(table.n_bytes, rise, allocated(table, model))


def main() -> None:
    """Run every case in its own process and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", nargs=2, metavar=("ROWS", "ALPHA"), help="measure one, here")
    arguments = parser.parse_args()
    if arguments.case:
        one_case(*arguments.case)
        return
    print(f"{machine()}; {synthetic.N_SAMPLES} rows\n")
    print("| rows | data, MB | alpha | resident memory | allocations |")
    print("|---|---:|---:|---:|---:|")
    worst = 0.0
    for case in CASES:
        for alpha in map(str, ALPHAS):
            command = [sys.executable, "-m", "benchmarks.memory", "--case", case, alpha]
            answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            size, rise, peak = map(float, answer.split())
            print(f"| {case} | {size / 1e6:.0f} | {alpha} | {rise:.2f} | {peak:.2f} |", flush=True)
            worst = max(worst, peak, np.nan_to_num(rise))
    print(f"\nLargest {worst:.2f} times the data, requirement {LIMIT:g}")
    sys.exit(worst > LIMIT)


if __name__ == "__main__":
    main()

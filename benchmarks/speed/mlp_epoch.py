"""An epoch of a private network beside MLPClassifier's and Opacus's.

50,000 rows of 100 columns, one hidden layer of 64 ReLU units, batches of 256. Ours: Poisson
batches, exact integer noise from a cryptographic generator, sums in float64, for float64 and
float32 rows. scikit-learn's MLPClassifier (its default Adam, shuffled batches) is not private.
Opacus trains the same network in float32 with torch's own generator: with its Poisson loader, and
with ghost clipping on batches that are cut from tensors. Plain torch is beside them for scale. Our
epoch and MLPClassifier's are differences of longer and shorter fits. All take turns, on one thread;
ratios of CPU times, median (least to greatest).

Requirement: at most 1.5 times MLPClassifier on rows of the same type; with float32 rows at most 1/2
of Opacus with ghost clipping and 1/4 of Opacus with its loader.

Opacus runs in the interpreter given by `--opacus`; without it those lines are left out.

Usage: python -m benchmarks.speed.mlp_epoch [--turns 7] [--opacus ENVIRONMENT/bin/python]
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import sys
import warnings
from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

from benchmarks import synthetic
from benchmarks.speed.dense_epoch import BATCH, Opacus
from benchmarks.timing import Clock, Pair, machine, per_unit
from skdp.neural_network import PrivateMLPClassifier

HIDDEN, FEW, MANY = (64,), 1, 11
OPACUS = {"loader": 1 / 4, "ghost": 1 / 2, "plain": None}
LIMIT = 1.5


def ours(table: synthetic.Table, n_epochs: int) -> PrivateMLPClassifier:
    model = PrivateMLPClassifier(HIDDEN, batch_size=BATCH, n_epochs=n_epochs, classes=[0, 1])
    return model.fit(table.X, table.y)


def theirs(table: synthetic.Table, n_epochs: int) -> MLPClassifier:
    model = MLPClassifier(
        HIDDEN, batch_size=BATCH, max_iter=n_epochs, tol=0.0, n_iter_no_change=n_epochs + 1
    )
    return model.fit(table.X, table.y)


def clock_of(fit: object, table: synthetic.Table) -> Clock:
    """Return what clocks an epoch, after a first fit: calibration and imports are slow once."""
    clock = partial(per_unit, partial(fit, table), FEW, MANY)
    clock()
    return clock


def row(name: str, pair: Pair, limit: float | None) -> str:
    mine, other = pair.seconds
    if limit is None:
        return f"| {name} | {mine:.4f} | {other:.4f} | {pair.cpu} | | |"
    met = "yes" if pair.cpu.median <= limit else "NO"
    return f"| {name} | {mine:.4f} | {other:.4f} | {pair.cpu} | {limit:.2g} | {met} |"


def main() -> None:
    """Print the table; the exit status tells whether the requirements are met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--opacus", help="an interpreter with Opacus")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    found, versions = [], ""
    for dtype in (np.float64, np.float32):
        table = synthetic.dense(dtype)
        mine, other = clock_of(ours, table), clock_of(theirs, table)
        pair = Pair.of_clocks(mine, other, arguments.turns)
        found.append((f"MLPClassifier, {np.dtype(dtype).name}", pair, LIMIT))
    for way, limit in OPACUS.items() if arguments.opacus else ():
        with Opacus(arguments.opacus, table, "opacus_mlp_epoch.py", way) as opacus:
            pair = Pair.of_clocks(mine, opacus.epoch, arguments.turns)
            versions = f", {opacus.versions}"
        name = "plain torch" if way == "plain" else f"Opacus, {way}"
        found.append((f"{name}, float32", pair, limit))
    print(f"{machine()}{versions}; {len(table.y)} rows, batches of {BATCH}\n")
    print("| other | our epoch, s | its epoch, s | ratio | at most | met |")
    print("|---|---:|---:|---:|---:|---|")
    for line in found:
        print(row(*line))
    failed = any(limit is not None and pair.cpu.median > limit for _, pair, limit in found)
    print(f"\nRequirements {'NOT met' if failed else 'met'}")
    sys.exit(failed)


if __name__ == "__main__":
    main()

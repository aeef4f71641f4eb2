"""An epoch of private SGD on dense rows beside SGDClassifier's and Opacus's.

50,000 rows of 100 columns, batches of 256 drawn by Poisson sampling; ours is exact integer noise
from a cryptographic generator on float64 rows. scikit-learn's SGDClassifier (log_loss, batches of
one row) is not private. Opacus trains ``Linear(100, 1)`` with its Poisson loader, in float32 and
with torch's own generator. Our epoch and SGDClassifier's are differences of longer and shorter
fits. All take turns, on one thread; ratios of CPU times, median (least to greatest).

Requirement: at most 0.8 times SGDClassifier, at most 1/12 of Opacus.

Opacus runs in the interpreter given by `--opacus`; without it that line is left out.

Usage: python -m benchmarks.speed.dense_epoch [--turns 7] [--opacus ENVIRONMENT/bin/python]
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Self

import numpy as np
from sklearn.linear_model import SGDClassifier

from benchmarks import synthetic
from benchmarks.timing import Pair, machine, per_unit
from skdp.linear_model import SparseDPSGDClassifier

LIMITS = {"SGDClassifier": 0.8, "Opacus": 1 / 12}
BATCH, FEW, MANY = 256, 2, 22


class Opacus:
    """Another interpreter that runs an epoch whenever it is asked to."""

    def __init__(
        self, interpreter: str, table: synthetic.Table, name: str = "opacus_epoch.py", *more: str
    ) -> None:
        self._folder = tempfile.TemporaryDirectory()
        stored = Path(self._folder.name) / "rows.npz"
        np.savez(stored, X=table.X, y=table.y)
        script = Path(__file__).with_name(name)
        command = [interpreter, str(script), str(stored), str(BATCH), *more]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, bufsize=1)
        self.versions = self._process.stdout.readline().strip()

    def epoch(self) -> tuple[float, float]:
        """CPU seconds and wall seconds of an epoch."""
        self._process.stdin.write("epoch\n")
        cpu, wall = map(float, self._process.stdout.readline().split())
        return cpu, wall

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stdin.close()
        self._process.wait()
        self._folder.cleanup()


def ours(table: synthetic.Table, n_epochs: int) -> SparseDPSGDClassifier:
    model = SparseDPSGDClassifier(batch_size=BATCH, n_epochs=n_epochs, classes=[0, 1])
    return model.fit(table.X, table.y)


def sgd(table: synthetic.Table, n_epochs: int) -> SGDClassifier:
    return SGDClassifier(loss="log_loss", max_iter=n_epochs, tol=None).fit(table.X, table.y)


def row(name: str, pair: Pair) -> str:
    mine, theirs = pair.seconds
    met = "yes" if pair.cpu.median <= LIMITS[name] else "NO"
    return f"| {name} | {mine:.4f} | {theirs:.4f} | {pair.cpu} | {LIMITS[name]:.2g} | {met} |"


def main() -> None:
    """Print the table; the exit status tells whether the requirements are met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--opacus", help="an interpreter with Opacus")
    arguments = parser.parse_args()
    table = synthetic.dense()
    clock = partial(per_unit, partial(ours, table), FEW, MANY)
    theirs = partial(per_unit, partial(sgd, table), FEW, MANY)
    clock(), theirs()  # what is slow once: compilation, calibration, first imports
    pairs = {"SGDClassifier": Pair.of_clocks(clock, theirs, arguments.turns)}
    versions = ""
    if arguments.opacus:
        with Opacus(arguments.opacus, table) as opacus:
            pairs["Opacus"] = Pair.of_clocks(clock, opacus.epoch, arguments.turns)
            versions = f", {opacus.versions}"
    print(f"{machine()}{versions}; {len(table.y)} rows, batches of {BATCH}\n")
    print("| other | our epoch, s | its epoch, s | ratio | at most | met |")
    print("|---|---:|---:|---:|---:|---|")
    for name, pair in pairs.items():
        print(row(name, pair))
    failed = any(pair.cpu.median > LIMITS[name] for name, pair in pairs.items())
    print(f"\nRequirements {'NOT met' if failed else 'met'}")
    sys.exit(failed)


if __name__ == "__main__":
    main()

"""A pass of stable SGD beside one of scikit-learn's SGDClassifier.

50,000 rows: dense with 100 columns, CSR with 50 non-zeros of 100,000 columns. Both make one step a
row (unless it says otherwise) on the logistic loss, with the same penalty. A pass is the difference
of longer and shorter fits, planning included. Both take turns, on one thread; ratios of CPU times,
median (least to greatest).

Requirement: at most 2 times SGDClassifier, for the last iterate with an L2 or elastic-net penalty.
Averages, batches and projections are listed without one.

Usage: python -m benchmarks.speed.stable_sgd [--turns 7]
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import sys
import warnings
from functools import partial
from typing import Any

from sklearn.linear_model import SGDClassifier

from benchmarks import synthetic
from benchmarks.timing import Pair, machine, per_unit
from skdp.linear_model import StableSGDClassifier

LIMIT, ALPHA = 2.0, 1e-3
FEW, MANY = 2, 12
#: Ours, theirs, whether the requirement covers it.
KINDS: dict[str, tuple[dict[str, Any], dict[str, Any], bool]] = {
    "L2": ({}, {"penalty": "l2"}, True),
    "elastic net": ({"l1_ratio": 0.15}, {"penalty": "elasticnet", "l1_ratio": 0.15}, True),
    "constant step": (
        {"learning_rate": "constant", "eta0": 0.5},
        {"penalty": "l2", "learning_rate": "constant", "eta0": 0.5},
        True,
    ),
    "average of all": ({"average": True}, {"penalty": "l2", "average": True}, False),
    "batches of 20": ({"batch_size": 20}, {"penalty": "l2"}, False),
}


def ours(table: synthetic.Table, parameters: dict[str, Any], n_epochs: int) -> StableSGDClassifier:
    model = StableSGDClassifier(alpha=ALPHA, n_epochs=n_epochs, classes=[0, 1], **parameters)
    return model.fit(table.X, table.y)


def theirs(table: synthetic.Table, parameters: dict[str, Any], n_epochs: int) -> SGDClassifier:
    model = SGDClassifier(loss="log_loss", alpha=ALPHA, max_iter=n_epochs, tol=None, **parameters)
    return model.fit(table.X, table.y)


def measured(table: synthetic.Table, kind: str, turns: int) -> Pair:
    mine, other, _ = KINDS[kind]
    clocks = [
        partial(per_unit, partial(fit, table, parameters), FEW, MANY)
        for fit, parameters in ((ours, mine), (theirs, other))
    ]
    for clock in clocks:
        clock()  # what is slow once: compilation, first imports
    return Pair.of_clocks(*clocks, turns)


def main() -> None:
    """Print the table; the exit status tells whether the requirements are met."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=7)
    arguments = parser.parse_args()
    print(f"{machine()}; {synthetic.N_SAMPLES} rows\n")
    print("| rows | | our pass, s | SGDClassifier's, s | ratio | at most | met |")
    print("|---|---|---:|---:|---:|---:|---|")
    failed = False
    for table in (synthetic.dense(), synthetic.text()):
        for kind, (_, _, required) in KINDS.items():
            pair = measured(table, kind, arguments.turns)
            mine, other = pair.seconds
            late = required and pair.cpu.median > LIMIT
            failed |= late
            verdict = f"{LIMIT:g} | {'NO' if late else 'yes'}" if required else " | "
            print(f"| {table.name} | {kind} | {mine:.4f} | {other:.4f} | {pair.cpu} | {verdict} |")
    print(f"\nRequirements {'NOT met' if failed else 'met'}")
    sys.exit(failed)


if __name__ == "__main__":
    main()

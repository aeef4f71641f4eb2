"""Word vectors with more and more words: CPU time of a step, as a multiple of that with 1,000.

The model of `cbow_epoch`, with as many rows or coordinates selected at each size: 20 rows, or 2,000
coordinates. The time of a step is the difference of a longer and a shorter fit; sizes take turns,
on one thread; median (least to greatest).

Usage: python -m benchmarks.speed.cbow_vocabulary [--turns 3]
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
from functools import partial

import numpy as np

from benchmarks.speed.cbow_epoch import BATCH, documents, ours
from benchmarks.timing import machine, per_unit

SIZES = (1_000, 4_000, 16_000, 64_000, 256_000)
WAYS = {
    "20 rows": {"selector": "gaussian", "n_selected": 20},
    "2,000 coordinates": {
        "selector": "gaussian", "selection": "coordinates", "n_selected": 2000
    },
}  # fmt: skip


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=3)
    turns = parser.parse_args().turns
    print(f"{machine()}; batches of {BATCH}\n")
    print("| words | " + " | ".join(WAYS) + " |")
    print("|---:|" + "---:|" * len(WAYS))
    corpora = {n: documents(n) for n in SIZES}
    seconds = {}
    for way, how in WAYS.items():
        clocks = {n: partial(per_unit, partial(_fit, corpora[n], how, n), 1, 8) for n in SIZES}
        for clock in clocks.values():
            clock()  # what is slow once: compilation, calibration, first imports
        taken = [[clock()[0] for clock in clocks.values()] for _ in range(turns)]
        seconds[way] = np.array(taken)
    for at, n_words in enumerate(SIZES):
        ratios = [seconds[way][:, at] / seconds[way][:, 0] for way in WAYS]
        cells = [f"{np.median(r):.2g} ({r.min():.2g} to {r.max():.2g})" for r in ratios]
        print(f"| {n_words:,} | " + " | ".join(cells) + " |")


def _fit(corpus: list[list[str]], how: dict[str, object], n_words: int, n_epochs: int) -> None:
    ours(corpus, how, n_epochs, n_words)


if __name__ == "__main__":
    main()

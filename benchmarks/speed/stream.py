"""Rows streamed through `partial_fit` in chunks: memory does not depend on how many there are.

Chunks of 100,000 rows are generated, seen once and dropped. ``chunks="disjoint"``: each call is a
whole private run on its chunk, which goes on from the coefficients so far. Speed is megabytes of
rows over CPU seconds of `partial_fit`, generation left out: of one epoch a chunk, and of the
default number of epochs. Memory is the highest resident memory, the generated chunk included,
during the first half of the stream and during the second.

Requirement: the second is at most 1.02 times the first.

Usage: python -m benchmarks.speed.stream [--gigabytes 1] [--epochs 1 auto]
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from benchmarks import synthetic
from benchmarks.resident import reset_peak, resident
from benchmarks.timing import machine
from skdp.linear_model import SparseDPSGDClassifier

LIMIT = 1.02
N_SAMPLES, N_FEATURES = 100_000, 1_000_000
Chunk = Callable[[int], synthetic.Table]
KINDS: dict[str, Chunk] = {
    "dense, 100 columns": partial(synthetic.dense, n_samples=N_SAMPLES),
    "CSR, 1,000,000 columns": partial(synthetic.long_tail, N_SAMPLES, N_FEATURES),
}


@dataclass(frozen=True)
class Stream:
    """What went through `partial_fit`, how fast, and the highest resident memory on the way."""

    n_bytes: int
    n_chunks: int
    seconds: float
    peaks: tuple[int, int]
    passes: float

    @classmethod
    def of(cls, chunk: Chunk, n_epochs: float | str, n_bytes: float) -> "Stream":
        """Stream about so many bytes."""
        first, model = (SparseDPSGDClassifier(n_epochs=n_epochs) for _ in range(2))
        table = chunk(seed=0)
        first.partial_fit(table.X, table.y, classes=[0, 1])  # compiles
        n_chunks = max(10, math.ceil(n_bytes / table.n_bytes))
        seconds, done, peaks = 0.0, 0, [0, 0]
        for i in range(n_chunks):
            half = 2 * i // n_chunks
            if not peaks[half]:
                reset_peak()
            table = chunk(seed=i)
            started = time.process_time()
            model.partial_fit(table.X, table.y, classes=[0, 1])
            seconds += time.process_time() - started
            done += table.n_bytes
            peaks[half] = resident("VmHWM")
        passes = model.n_steps_ * model.batch_size_ / N_SAMPLES
        return cls(done, n_chunks, seconds, tuple(peaks), passes)

    @property
    def growth(self) -> float:
        return self.peaks[1] / self.peaks[0]

    def row(self, name: str) -> str:
        speed = self.n_bytes / 1e6 / self.seconds
        first, second = (f"{peak / 1e6:.0f}" for peak in self.peaks)
        return (
            f"| {name} | {self.n_bytes / 1e9:.1f} | {self.n_chunks} | {self.passes:.1f} "
            f"| {speed:.0f} | {first} | {second} | {self.growth:.3f} |"
        )


def main() -> None:
    """Print the table; the exit status tells whether the requirement is met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=1.0, help="of each kind of rows")
    parser.add_argument("--epochs", nargs="+", default=["1", "auto"], help="of a chunk")
    arguments = parser.parse_args()
    print(f"{machine()}; chunks of {N_SAMPLES} rows\n")
    print(
        "| rows | GB | chunks | epochs a chunk | MB/s | memory, first half, MB "
        "| second half, MB | growth |\n|---|---:|---:|---:|---:|---:|---:|---:|"
    )
    worst = 0.0
    for name, chunk in KINDS.items():
        for n_epochs in arguments.epochs:
            setting = n_epochs if n_epochs == "auto" else float(n_epochs)
            stream = Stream.of(chunk, setting, 1e9 * arguments.gigabytes)
            print(stream.row(name), flush=True)
            worst = max(worst, stream.growth)
    print(f"\nLargest growth {worst:.3f}, requirement {LIMIT:g}")
    sys.exit(worst > LIMIT)


if __name__ == "__main__":
    main()

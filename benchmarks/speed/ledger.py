"""Milliseconds of a spend from a ledger on disk, and of opening a long one.

Beside each a bare insert in the same folder: an SQLite file in WAL mode, synchronous=FULL, one
open connection, a transaction for each row. Medians; the events' modules are imported before.

Requirements: less than 5 ms for Gaussian and pure entries, 150 ms otherwise (sampled steps, 200
of them, a new sampling rate each time); less than 1 s to open 10,000 entries.

Usage: python -m benchmarks.speed.ledger [--entries 10000]
"""

import argparse
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from dp_accounting import DpEvent, dp_event

from benchmarks.timing import machine
from skdp.privacy import PrivacyLedger
from skdp.privacy.events import GaussianReleaseDpEvent, PureReleaseDpEvent


def gaussian(_: int) -> DpEvent:
    return GaussianReleaseDpEvent(1e-4, "l2", "zero-out", 1.0)


def pure(_: int) -> DpEvent:
    return PureReleaseDpEvent(1e-4, 0.0, 1.0, "l2", "zero-out", 1e4)


def sampled(number: int) -> DpEvent:
    noisy = GaussianReleaseDpEvent(1e-3, "l2", "zero-out", 1.0)
    step = dp_event.PoissonSampledDpEvent(0.01 + 1e-6 * number, noisy)
    return dp_event.SelfComposedDpEvent(step, 200)


def milliseconds(action: Callable[[int], None], repeats: int) -> float:
    taken = []
    for number in range(repeats):
        started = time.perf_counter()
        action(number)
        taken.append(time.perf_counter() - started)
    return 1000 * statistics.median(taken)


def bare(path: Path) -> Callable[[int], None]:
    one = sqlite3.connect(path, isolation_level=None)
    one.execute("PRAGMA journal_mode=WAL")
    one.execute("PRAGMA synchronous=FULL")
    one.execute("CREATE TABLE entries (id INTEGER PRIMARY KEY, body TEXT)")

    def insert(_: int) -> None:
        one.execute("BEGIN IMMEDIATE")
        one.execute("INSERT INTO entries (body) VALUES (?)", ("x" * 500,))
        one.execute("COMMIT")

    return insert


def main() -> None:
    """Print the table; the exit status tells whether the requirements are met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--entries", type=int, default=10_000)
    entries = parser.parse_args().entries
    print(f"{machine()}\n")
    print("| filter | entry | ms | bare insert, ms | requirement, ms |\n|---|---|---:|---:|---:|")
    met = True
    with tempfile.TemporaryDirectory() as folder:
        insert = bare(Path(folder) / "bare.db")
        cases = [("renyi", gaussian, 5.0), ("renyi", pure, 5.0), ("gaussian", gaussian, 5.0),
                 ("basic", pure, 5.0), ("renyi", sampled, 150.0)]  # fmt: skip
        for name, make, limit in cases:
            path = Path(folder) / f"{name}-{make.__name__}.db"
            ledger = PrivacyLedger.create(path, 30.0, 1e-5, neighbours="zero-out", filter=name)
            ledger.spend_event(make(-1), purpose="warm")

            def spend(number: int, ledger=ledger, make=make) -> None:  # type: ignore[no-untyped-def]
                ledger.spend_event(make(number), purpose="mean")

            took, beside = milliseconds(spend, 100), milliseconds(insert, 100)
            met &= took < limit
            print(f"| {name} | {make.__name__} | {took:.2f} | {beside:.2f} | {limit:g} |")
        path = Path(folder) / "long.db"
        ledger = PrivacyLedger.create(path, 30.0, 1e-5, neighbours="zero-out")
        event = gaussian(0)
        for _ in range(entries):
            ledger.spend_event(event, purpose="mean")
        del ledger
        opened = milliseconds(lambda _: PrivacyLedger.open(path).remaining() and None, 5)
        started = time.perf_counter()
        PrivacyLedger.open(path).verify()
        verified = time.perf_counter() - started
    print(f"\nOpen {entries:,} entries: {opened:.1f} ms, requirement 1000 ms")
    print(f"Verify them: {verified:.1f} s")
    sys.exit(not (met and opened < 1000))


if __name__ == "__main__":
    main()

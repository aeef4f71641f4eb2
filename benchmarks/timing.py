"""Pairs of fits that take turns, so that a busy machine slows both, and their ratios."""

import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy
import sklearn

Work = Callable[[], Any]
#: Returns CPU seconds and wall seconds of what it ran.
Clock = Callable[[], tuple[float, float]]


@dataclass(frozen=True)
class Ratio:
    """CPU time of one over that of another, one value per turn."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return float(np.median(self.values))

    def __str__(self) -> str:
        low, high = min(self.values), max(self.values)
        return f"{self.median:.2g} ({low:.2g} to {high:.2g})"


@dataclass(frozen=True)
class Pair:
    """Seconds of CPU and of wall time of two kinds of work that took turns."""

    ours: tuple[tuple[float, float], ...]
    theirs: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, ours: Work, theirs: Work, turns: int) -> "Pair":
        """Run both in turn; warm up first if it matters."""
        return cls.of_clocks(partial(clocked, ours), partial(clocked, theirs), turns)

    @classmethod
    def of_clocks(cls, ours: Clock, theirs: Clock, turns: int) -> "Pair":
        """Let two kinds of work that clock themselves take turns."""
        turns_taken = [(ours(), theirs()) for _ in range(turns)]
        return cls(*zip(*turns_taken, strict=True))

    @property
    def cpu(self) -> Ratio:
        return self._ratio(0)

    @property
    def wall(self) -> Ratio:
        return self._ratio(1)

    @property
    def seconds(self) -> tuple[float, float]:
        """CPU seconds of both, medians."""
        ours, theirs = (
            float(np.median([cpu for cpu, _ in side])) for side in (self.ours, self.theirs)
        )
        return ours, theirs

    def _ratio(self, clock: int) -> Ratio:
        pairs = zip(self.ours, self.theirs, strict=True)
        return Ratio(tuple(a[clock] / b[clock] for a, b in pairs))


def clocked(work: Work) -> tuple[float, float]:
    """CPU seconds and wall seconds of one run."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - cpu, time.perf_counter() - wall


def clocked_by_user(work: Work) -> tuple[float, float]:
    """CPU seconds outside of the kernel, and wall seconds: getting memory is left out."""
    cpu, wall = os.times().user, time.perf_counter()
    work()
    return os.times().user - cpu, time.perf_counter() - wall


def per_unit(
    work: Callable[[int], Any],
    few: int,
    many: int,
    clock: Callable[[Work], tuple[float, float]] = clocked,
) -> tuple[float, float]:
    """CPU seconds and wall seconds of one step or epoch: what `many` cost more than `few`."""
    less, more = clock(partial(work, few)), clock(partial(work, many))
    cpu, wall = (np.subtract(more, less) / (many - few)).tolist()
    return cpu, wall


def machine() -> str:
    """What was run on, without a date or a name."""
    return (
        f"{os.cpu_count()} cores ({platform.machine()}), one thread; Python "
        f"{platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}, "
        f"scikit-learn {sklearn.__version__}"
    )

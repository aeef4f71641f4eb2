"""Resident memory of this process, as the Linux kernel counts it."""

import ctypes
from pathlib import Path

from benchmarks.timing import Work

STATUS, MARK = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def resident(name: str) -> int:
    """Bytes of resident memory: VmRSS now, VmHWM at most since the last reset."""
    line = next(x for x in STATUS.read_text().splitlines() if x.startswith(name))
    return 1024 * int(line.split()[1])


def reset_peak() -> None:
    """Give freed memory back, so that using it counts, and forget earlier peaks."""
    ctypes.CDLL(None).malloc_trim(0)
    MARK.write_text("5")


def risen(work: Work) -> float:
    """Bytes by which resident memory rises above what it was; NaN where that is unknown."""
    try:
        reset_peak()
        before = resident("VmRSS")
    except (OSError, AttributeError):
        return float("nan")
    work()
    return resident("VmHWM") - before

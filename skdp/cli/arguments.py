"""Arguments of commands: text turned into a value, or refused in words."""

import argparse
import math
from pathlib import Path

FIGURE_FORMATS = (".pdf", ".png", ".svg")


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def epsilon(text: str) -> float:
    """Return a finite number above 0."""
    value = _number(text)
    if not (0 < value < math.inf):
        raise argparse.ArgumentTypeError(f"must be a finite number above 0, got {text!r}")
    return value


def delta(text: str) -> float:
    """Return a number in [0, 1)."""
    value = _number(text)
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"must be a number in [0, 1), got {text!r}")
    return value


def share(text: str) -> float:
    """Return a number in (0, 1)."""
    value = _number(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"must be a number in (0, 1), got {text!r}")
    return value


def count(text: str) -> int:
    """Return a whole number of at least 1."""
    value = int(text) if text.isascii() and text.isdecimal() else 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text!r}")
    return value


def figure_path(text: str) -> Path:
    """Return the path of a figure that can be written, as far as can be told beforehand."""
    path = Path(text)
    if path.suffix.lower() not in FIGURE_FORMATS:
        raise argparse.ArgumentTypeError(
            f"must end in one of {', '.join(FIGURE_FORMATS)}, got {text!r}"
        )
    return file_path(text)


def file_path(text: str) -> Path:
    """Return the path of a file that can be written, as far as can be told beforehand."""
    path = Path(text)
    if not path.parent.is_dir() or path.is_dir():
        raise argparse.ArgumentTypeError(f"must be a file in a folder that exists, got {text!r}")
    return path

"""Checks of the fields of events."""

import math
from typing import Any

__all__ = ["positive_field", "probability_field", "whole_field"]


def positive_field(_: Any, attribute: Any, value: float) -> None:
    """Require a finite number above 0."""
    if not 0 < value < math.inf:
        raise ValueError(f"{attribute.name} must be a finite number above 0, got {value!r}.")


def probability_field(_: Any, attribute: Any, value: float) -> None:
    """Require a number in [0, 1)."""
    if not 0 <= value < 1:
        raise ValueError(f"{attribute.name} must be in [0, 1), got {value!r}.")


def whole_field(_: Any, attribute: Any, value: int) -> None:
    """Require a whole number of at least 1."""
    if not 1 <= value < math.inf or value != int(value):
        raise ValueError(f"{attribute.name} must be a whole number of at least 1, got {value!r}.")

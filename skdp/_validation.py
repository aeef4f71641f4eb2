"""Checks of parameters, said once at the border."""

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np


def is_real(value: object) -> bool:
    """Whether `value` is a real number that is not a bool."""
    return isinstance(value, Real) and not isinstance(value, bool)


def wide_integers(named: Mapping[str, Any]) -> None:
    """Refuse integers of NumPy in which products overflow, alone or in a tuple."""
    for name, value in named.items():
        for number in value if isinstance(value, tuple) else (value,):
            if isinstance(number, np.integer) and number.dtype != np.int64:
                raise TypeError(
                    f"{name}={value!r} holds an integer of type {number.dtype}, in which products "
                    "of parameters may overflow: pass int(value)."
                )


def positive(**named: float) -> None:
    """Require each named value to be a finite number above zero."""
    for name, value in named.items():
        if not is_real(value) or not math.isfinite(value) or value <= 0:
            raise ValueError(f"{name} must be a finite number above 0, got {value!r}.")


def non_negative(**named: float) -> None:
    """Require each named value to be a finite number of at least zero."""
    for name, value in named.items():
        if not is_real(value) or not math.isfinite(value) or value < 0:
            raise ValueError(f"{name} must be a finite number of at least 0, got {value!r}.")


def positive_integer(**named: int) -> None:
    """Require each named value to be a whole number of at least one."""
    for name, value in named.items():
        if not is_real(value) or value != int(value) or value < 1:
            raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")

"""Checks of parameters, said once at the border."""

import math
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

import numpy as np


def is_real(value: object) -> bool:
    """Whether `value` is a real number that is not a bool."""
    return isinstance(value, Real) and not isinstance(value, bool)


def wide_numbers(named: Mapping[str, Any]) -> None:
    """Refuse NumPy numbers in which arithmetic would overflow, or round more than float64 does."""
    for name, value in named.items():
        for number in _parts(value):
            if isinstance(number, np.number) and not _is_wide(number.dtype):
                plain = "float" if number.dtype.kind == "f" else "int"
                raise TypeError(
                    f"{name}={value!r} holds a number of type {number.dtype}, whose arithmetic is "
                    f"too narrow for sums and products of parameters: pass {plain}(value)."
                )


def _parts(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, tuple | list) else (value,)


def _is_wide(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "if" and dtype.itemsize >= 8


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

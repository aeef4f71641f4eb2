"""Errors of steps that are not of this package, told without what they quote."""

import traceback
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, TypeVar

import numpy as np

from skdp._admission import quote_free
from skdp.exceptions import PrivacyError

__all__ = ["quoting_nothing"]

T = TypeVar("T")

_OTHERWISE = (
    "Step {step} could not take the rows ({kind}). What it says may quote a cell and is not shown: "
    "fit it on made-up rows to see it."
)


def quoting_nothing(call: Callable[[], T], steps: Iterable[Any]) -> T:
    """Call; steps then neither quote a cell in an error nor warn of arithmetic.

    Errors of this package, of its ledgers and about parameters pass as they are.
    """
    classes = {type(step) for step in steps if not type(step).__module__.startswith("skdp.")}
    try:
        with np.errstate(all="ignore"):
            return call()
    except Exception as error:
        culprit = _culprit(error.__traceback__, classes)
        if culprit is None or _is_harmless(error):
            raise
        refusal = _retold(error, culprit)
    raise refusal  # outside of `except`, so that no chained error quotes a cell either


def _culprit(trace: TracebackType | None, classes: set[type]) -> str | None:
    """Return the class of the innermost step that the error came through; None for other code."""
    frames = [frame for frame, _ in traceback.walk_tb(trace)]
    if frames and str(frames[-1].f_globals.get("__name__")).startswith("skdp."):
        return None
    for frame in reversed(frames):
        owner = type(frame.f_locals.get("self"))
        if owner in classes:
            return owner.__name__
    return None


def _is_harmless(error: Exception) -> bool:
    about_parameters = type(error).__name__ == "InvalidParameterError"
    return about_parameters or isinstance(error, PrivacyError | Warning | MemoryError)


def _retold(error: Exception, step: str) -> Exception:
    def again() -> None:
        raise error

    told = _OTHERWISE.format(step=step, kind=type(error).__name__)
    try:
        quote_free(again, "X", told)
    except Exception as retold:
        return type(retold)(*retold.args)  # a new one: that one has a context
    return ValueError(told)

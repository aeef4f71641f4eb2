"""Generators that an estimator holds: copies of one draw the same noise, which no audit may see."""

from typing import Any

from sklearn.base import BaseEstimator

from skdp._random import renewed

__all__ = ["renew_generators"]

_DEPTH = 4


def renew_generators(holder: Any, seed: int | None, depth: int = _DEPTH) -> None:
    """Put new generators in the place of those among the attributes of an object, and within them.

    Confidence in what many fits show rests on their independence; clones and deep copies of an
    object share the state of a generator that it keeps.
    """
    if depth == 0 or not hasattr(holder, "__dict__"):
        return
    for place, (name, value) in enumerate(sorted(vars(holder).items())):
        fresh = renewed(value, None if seed is None else seed + 7919 * place)
        if fresh is not None:
            vars(holder)[name] = fresh
        elif isinstance(value, BaseEstimator):
            renew_generators(value, seed, depth - 1)
        elif isinstance(value, list | tuple):
            for part in value:
                inner = part[1] if isinstance(part, tuple) and len(part) > 1 else part
                if isinstance(inner, BaseEstimator):
                    renew_generators(inner, seed, depth - 1)

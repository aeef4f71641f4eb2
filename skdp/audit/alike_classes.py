"""Noise that is the same in every class, as diffprivlib 0.6.6 adds it under ``n_jobs=2``."""

import math
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from skdp.audit.fits import call_fit
from skdp.audit.repeats import CHANCE
from skdp.audit.word_canaries import are_documents

__all__ = ["alike_classes"]

_RELATIVE = 1e-9


def alike_classes(estimator: Any, data: Any) -> tuple[list[str], list[str]]:
    """Return sentences on rows of `coef_` that agree on empty rows: on faults, and on what may be.

    Two of two classes mirror each other by right; rows that a threshold has emptied agree by right.
    """
    if are_documents(data["X"] if isinstance(data, dict) else data[0]):
        return [], []
    try:
        data = _emptied(data)
    except TypeError:  # text, say
        return [], []
    has_params = hasattr(estimator, "set_params")
    parallel = [None, 2] if hasattr(estimator, "n_jobs") and has_params else [None]
    sure: list[str] = []
    unclear: list[str] = []
    for n_jobs in parallel:
        unfitted = clone(estimator, safe=False)
        if n_jobs is not None:
            unfitted.set_params(n_jobs=n_jobs)
        first = _classes(unfitted, data)
        if first is None:
            continue
        pairs = [p for p in combinations(range(len(first)), 2) if _alike(*first[list(p)])]
        if not pairs:
            continue
        told = "" if n_jobs is None else f" with n_jobs={n_jobs}"
        tables = np.array([_classes(unfitted, data) for _ in range(_matches(len(first)))])
        same = [p for p in pairs if _matched(tables[:, p[0]], tables[:, p[1]])]
        if same:
            sure.append(f"{len(same)} pairs of classes have the same noise{told}")
        elif np.any(first):
            unclear.append(f"{len(pairs)} pairs of classes are equal on empty rows{told}")
    return sure, unclear


def _classes(unfitted: Any, data: Any) -> NDArray[np.float64] | None:
    coef = getattr(call_fit(clone(unfitted, safe=False), data), "coef_", None)
    if coef is None or np.ndim(coef) != 2 or len(coef) < 3:
        return None
    return np.asarray(coef, dtype=float)


def _alike(first: NDArray[np.float64], second: NDArray[np.float64]) -> bool:
    return bool(np.allclose(first, second, rtol=_RELATIVE, atol=0.0))


def _matches(n_classes: int) -> int:
    """Return after how many fits no pair of so many classes is in the same order by chance."""
    pairs, n = math.comb(n_classes, 2), 2
    while math.factorial(n) * CHANCE < 2 * pairs:
        n += 1
    return n


def _emptied(data: Any) -> Any:
    if isinstance(data, dict):
        return {
            **data,
            "X": data["X"] * 0 if not isinstance(data["X"], list) else _zeros(data["X"]),
        }
    X = data[0]
    return (_zeros(X) if isinstance(X, list) else X * 0, *data[1:])


def _zeros(X: Any) -> NDArray[np.float64]:
    return np.zeros(np.shape(X))


def _matched(first: NDArray[np.float64], second: NDArray[np.float64]) -> bool:
    """Whether two lists of rows are alike place by place, and no two rows of the first are.

    Rows that are independent of each other are in the same order once in n! times.
    """
    scale = float(np.abs(first).max(initial=0.0))
    apart = np.abs(first[:, None] - first[None]).max(axis=2, initial=0.0)
    different = (apart[np.triu_indices(len(first), 1)] > _RELATIVE * scale).all()
    return bool(different) and bool((np.abs(first - second) <= _RELATIVE * scale).all())

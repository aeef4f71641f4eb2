"""What the steps of a fit will promise, found out on made-up rows before anything is spent.

Statements follow from public facts: parameters, columns, how rows are stored and, where it is
public, their number. So a fit on rows of zeros makes those of the fit on the private rows.
"""

import warnings
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn, Self, final

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier

from skdp.privacy import PrivacyStatement

__all__ = ["CannotRehearseError", "Rehearsal", "made_up_labels", "made_up_rows", "rehearsed"]


class CannotRehearseError(Exception):
    """A step could not take made-up rows."""


class _Rehearsed(Exception):
    """The last step has said what it would promise; it need not run."""


@final
class Rehearsal:
    """A ledger that writes down what would be spent, and stops before the last step runs."""

    def __init__(self, n_steps: int) -> None:
        self.statements: list[PrivacyStatement] = []
        self._n_steps = n_steps

    def spend(
        self,
        statement: PrivacyStatement,
        *,
        purpose: str,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        """Note what a step promises."""
        self.statements.append(statement)
        if len(self.statements) == self._n_steps:
            raise _Rehearsed

    def cover(self, statement: PrivacyStatement, *, purpose: str, assumption: str) -> NoReturn:
        """Refuse: no step of a pipeline is fitted in parts."""
        raise CannotRehearseError

    def __sklearn_clone__(self) -> Self:
        return self


def rehearsed(
    pipeline: Any, rehearsal: Rehearsal, X: Any, y: Any, params: Mapping[str, Any]
) -> list[PrivacyStatement]:
    """Return what the steps of an unfitted pipeline, which spend in `rehearsal`, will promise.

    Raises
    ------
    CannotRehearseError
        If a step takes neither rows of zeros nor of ones.
    """
    labels = made_up_labels(pipeline, y)
    error: Exception | None = None
    for fill in (0, 1):
        rehearsal.statements.clear()
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
                pipeline.fit(made_up_rows(X, fill), labels, **params)
        except _Rehearsed:
            return rehearsal.statements
        except Exception as refused:
            error = refused
    raise CannotRehearseError from error


def made_up_rows(X: Any, fill: int) -> Any:
    """Return as many rows with the columns, types and storage of X; texts are empty.

    Examples
    --------
    >>> made_up_rows(np.array([[1.5, 2.5]]), 0)
    array([[0., 0.]])
    """
    if hasattr(X, "iloc"):
        return _filled_frame(X, fill)
    if hasattr(X, "schema"):  # polars
        cells = {name: [_cell(dtype, fill)] * len(X) for name, dtype in X.schema.items()}
        return type(X)(cells, schema=X.schema)
    if sparse.issparse(X):
        return type(X)(X.shape, dtype=X.dtype)
    if hasattr(X, "dtype"):
        return _filled(X.shape, X.dtype, fill)
    if len(X) and isinstance(X[0], str):
        return [""] * len(X)
    return _filled((len(X), len(X[0])), np.dtype(float), fill)


def made_up_labels(pipeline: Any, y: Any) -> Any:
    """Return labels that hold each class, or zeros; the classes are public."""
    if y is None:
        return None
    given = np.asarray(y)
    last = pipeline.steps[-1][1]
    if not is_classifier(last):
        return np.zeros(given.shape)
    declared = getattr(last, "classes", None)
    classes = np.unique(given) if declared is None else np.asarray(list(declared))
    return classes[np.arange(len(given)) % len(classes)]


def _filled(shape: Iterable[int], dtype: np.dtype[Any], fill: int) -> Any:
    shape = tuple(shape)
    if dtype.kind in "biufc":
        return np.full(shape, fill, dtype=dtype)
    return np.full(shape, "", dtype=object if dtype.kind == "O" else dtype)


def _filled_frame(X: Any, fill: int) -> Any:
    """Return a frame of the columns and types of X, on an index that tells nothing."""
    from pandas import DataFrame, Series

    columns = [
        Series(_filled((len(X),), dtype, fill), dtype=dtype)
        if isinstance(dtype, np.dtype)
        else Series([_cell(dtype, fill)] * len(X), dtype=dtype)
        for dtype in X.dtypes
    ]
    return DataFrame(dict(zip(X.columns, columns, strict=True)))


def _cell(dtype: Any, fill: int) -> Any:
    """Return a value of an extension type: one of its categories, a number, or a text."""
    categories = getattr(dtype, "categories", None)
    if categories is not None:
        return categories[0] if len(categories) else None
    numeric = getattr(dtype, "is_numeric", lambda: getattr(dtype, "kind", "O") in "biuf")()
    return fill if numeric else ""

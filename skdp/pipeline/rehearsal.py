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

from skdp.exceptions import PrivacyError
from skdp.privacy import PrivacyStatement

__all__ = [
    "CannotRehearseError",
    "Rehearsal",
    "Spent",
    "each_class",
    "made_up_labels",
    "made_up_rows",
    "n_rows_of",
    "rehearsed",
]


class CannotRehearseError(Exception):
    """A step could not take made-up rows."""


class Spent(BaseException):
    """All that was asked for has been said; the fit need not go on."""


@final
class Rehearsal:
    """A ledger that writes down what would be spent.

    Parameters
    ----------
    n_steps : int or None, default=None
        After so many statements the fit is ended, before the step that made the last one runs;
        None never ends it.
    """

    def __init__(self, n_steps: int | None = None) -> None:
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
            raise Spent

    def cover(self, statement: PrivacyStatement, *, purpose: str, assumption: str) -> NoReturn:
        """Refuse: no fit here goes on with an earlier one."""
        raise PrivacyError("A fit within another spends for itself; nothing before it covers it.")

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
        except Spent:
            return rehearsal.statements
        except Exception as refused:
            error = refused
    raise CannotRehearseError from error


def made_up_rows(
    X: Any, fill: int, n_rows: int | None = None, *, objects: Any = "", categories: bool = True
) -> Any:
    """Return rows with the columns, types and storage of X; texts are empty.

    Parameters
    ----------
    X : rows
        A frame, an array, a sparse matrix, or a list of texts or of rows.
    fill : int
        Every number.
    n_rows : int or None, default=None
        How many; None for as many as X has.
    objects : str or int, default=""
        What cells hold that may be anything.
    categories : bool, default=True
        Whether a column of a type of categories holds the first of them; they are missing else,
        for rows whose fit may be released: a type that was inferred names what occurs.

    Examples
    --------
    >>> made_up_rows(np.array([[1.5, 2.5]]), 0)
    array([[0., 0.]])
    """
    n = n_rows_of(X) if n_rows is None else n_rows
    if hasattr(X, "iloc"):
        return _filled_frame(X, fill, n, objects, categories)
    if hasattr(X, "schema"):  # polars
        cells = {name: [_cell(dtype, fill, categories)] * n for name, dtype in X.schema.items()}
        return type(X)(cells, schema=X.schema)
    if sparse.issparse(X):
        return type(X)((n, X.shape[1]), dtype=X.dtype)
    if hasattr(X, "dtype"):
        return _filled((n, *X.shape[1:]), X.dtype, fill, objects)
    if len(X) and isinstance(X[0], str):
        return [""] * n
    return _filled((n, len(X[0])), np.dtype(float), fill)


def n_rows_of(X: Any) -> int:
    """Return the number of rows of a table, or of texts in a list."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


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
    return each_class(classes, len(given))


def each_class(classes: Any, n_rows: int) -> Any:
    """Return as many labels, of all classes in turn."""
    return classes[np.arange(n_rows) % len(classes)]


def _filled(shape: Iterable[int], dtype: np.dtype[Any], fill: int, objects: Any = "") -> Any:
    kinds = {"O": objects, **dict.fromkeys("biufc", fill)}
    return np.full(tuple(shape), kinds.get(dtype.kind, ""), dtype=dtype)


def _filled_frame(X: Any, fill: int, n: int, objects: Any, known: bool) -> Any:
    """Return a frame of the columns and types of X, on an index that tells nothing."""
    from pandas import DataFrame, Series

    columns = [
        Series(_filled((n,), dtype, fill, objects), dtype=dtype)
        if isinstance(dtype, np.dtype)
        else Series([_cell(dtype, fill, known)] * n, dtype=dtype)
        for dtype in X.dtypes
    ]
    return DataFrame(dict(zip(X.columns, columns, strict=True)))


def _cell(dtype: Any, fill: int, known: bool) -> Any:
    """Return a value of an extension type: one of its categories, a number, or a text."""
    categories = getattr(dtype, "categories", None)
    if categories is not None:
        return categories[0] if known and len(categories) else None
    numeric = getattr(dtype, "is_numeric", lambda: getattr(dtype, "kind", "O") in "biuf")()
    return fill if numeric else ""

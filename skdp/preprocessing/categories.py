"""Read tables of categories, without a cell in a refusal, and count."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_array, validate_data

from skdp._admission import quote_free, refuse_repeated_names
from skdp.mechanisms.stable_histogram import Category, KeyedCounts

__all__ = [
    "admit_categories",
    "categories_as_array",
    "category_counts",
    "declared_categories",
    "plain_categories",
]

Column = list[Category]

_NOT_CATEGORIES = (
    "{name} must hold text or finite numbers, not both in one column; None, NaN, NA and NaT are "
    "missing values. Convert dates and other objects to text first."
)
_EXACT = 2.0**53
_MISSING = ("NAType", "NaTType")


def admit_categories(transformer: Any, X: Any, *, reset: bool) -> list[Column]:
    """Return the categories of each column, or refuse; one missing value is like another: None.

    Whole numbers below 2^53 are integers, whatever the type of their column. Which value stands for
    a category never depends on other rows.
    """
    if sparse.issparse(X):
        raise TypeError("Sparse input was given, but dense data is required. Use X.toarray().")
    if isinstance(X, np.ma.MaskedArray):
        raise TypeError("X is a masked array, whose masked entries would be used as they are.")
    if hasattr(X, "collect") and not hasattr(X, "__array__"):
        raise TypeError("X is a lazy frame. Collect it first: collect().")
    refuse_repeated_names(X)
    parts = quote_free(lambda: _columns(X), "X", _NOT_CATEGORIES)
    quote_free(lambda: validate_data(transformer, X, reset=reset, skip_check_array=True), "X")
    return quote_free(lambda: list(map(plain_categories, parts)), "X", _NOT_CATEGORIES)


def _columns(X: Any) -> list[npt.NDArray[Any]]:
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        check_array(np.empty(X.shape), ensure_all_finite=False)
        return [np.asarray(X[name]) for name in X.columns]
    # numpy would choose a type for a list by all of its values.
    dtype = None if hasattr(X, "dtype") else object
    return list(check_array(X, dtype=dtype, ensure_all_finite=False).T)


def plain_categories(values: npt.NDArray[Any]) -> Column:
    """Return values as texts, numbers and None, or raise TypeError.

    Examples
    --------
    >>> plain_categories(np.array([1.0, -0.0, np.nan])), plain_categories(np.array(["a"]))
    ([1, 0, None], ['a'])
    """
    if values.dtype.kind not in "biufOUT":
        raise TypeError  # in our words
    cells: list[Any] = values.tolist()
    if set(map(type, cells)) == {str}:
        return cells
    found = [_plain(value, values.dtype.kind) for value in cells]
    if len({isinstance(value, str) for value in found if value is not None}) > 1:
        raise TypeError  # in our words
    return found


def _plain(value: Any, kind: str) -> Category:
    if type(value) is str:
        return value
    if value is None or type(value).__name__ in _MISSING:
        return None
    if isinstance(value, str):
        return str(value)
    if not isinstance(value, Real | np.bool_):
        raise TypeError("A category's argument must be a string or a real number.")
    if kind == "b":
        return bool(value)
    if isinstance(value, Integral | np.bool_):
        return int(value)
    number = float(value) + 0.0  # no negative zero
    if math.isinf(number):
        raise TypeError
    if math.isnan(number):
        return None
    # Whatever the type of the column: that of a list, or of a frame, may be decided by one row.
    return int(number) if number.is_integer() and abs(number) < _EXACT else number


def declared_categories(declared: Any, n_columns: int) -> list[dict[Category, None] | None]:
    """Return the declared categories of each column, None where they are private, or refuse.

    Examples
    --------
    >>> declared_categories(["private", ["f", "m"]], 2)
    [None, {'f': None, 'm': None}]
    """
    if isinstance(declared, str):
        return [None] * n_columns
    if len(declared) != n_columns:
        raise ValueError(
            f"categories must have one entry for each of the {n_columns} columns, got "
            f"{len(declared)}."
        )
    return [_declared(own) for own in declared]


def _declared(own: Any) -> dict[Category, None] | None:
    if isinstance(own, str):
        if own != "private":
            raise ValueError(f"categories of a column must be a list or 'private', got {own!r}.")
        return None
    problem = f"categories must be lists of different texts or of different numbers, got {own!r}."
    try:
        plain = plain_categories(np.array(list(own), dtype=object))
    except TypeError:
        raise ValueError(problem) from None
    found = dict.fromkeys(plain)
    if not found or len(found) < len(plain):
        raise ValueError(problem)
    return found


def category_counts(columns: Sequence[Column], known: Sequence[Any]) -> KeyedCounts:
    """Count the categories of each column; of a column whose categories are `known`, those alone.

    Examples
    --------
    >>> category_counts([["a", "b", "a"], ["x", "y", None]], [None, {"x": 0}]).counts
    {(0, 'a'): 2.0, (0, 'b'): 1.0, (1, 'x'): 1.0}
    """
    counts = {
        (place, category): float(count)
        for place, (column, own) in enumerate(zip(columns, known, strict=True))
        for category, count in Counter(column).items()
        if own is None or category in own
    }
    return KeyedCounts(counts)


def categories_as_array(categories: Iterable[Category]) -> npt.NDArray[Any]:
    """Return categories as scikit-learn shows them: numbers as such, missing ones as NaN.

    Examples
    --------
    >>> categories_as_array(["a", None]), categories_as_array([1, 2])
    (array(['a', nan], dtype=object), array([1, 2]))
    """
    shown = [math.nan if category is None else category for category in categories]
    if any(isinstance(category, str) for category in shown):
        return np.array(shown, dtype=object)
    return np.array(shown)

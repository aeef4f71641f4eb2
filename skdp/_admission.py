"""Is the input admissible? Checked before anything is spent, refused without quoting the data.

The only import of scikit-learn's private validators. Neighbouring data sets range over admissible
rows, so a refusal here lies outside the guarantee; it names no value, row or cell all the same.
"""

import warnings
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import _fit_context as fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

__all__ = [
    "Interval",
    "StrOptions",
    "admit_labels",
    "admit_new_rows",
    "admit_training",
    "admit_weights",
    "check_is_fitted",
    "fit_context",
    "quote_free",
    "refuse_strings",
]

T = TypeVar("T")

# First lines of scikit-learn's messages that state shapes, types and column names only.
_QUOTE_FREE = (
    "Input X contains",
    "Input y contains",
    "Input sample_weight contains",
    "Complex data not supported",
    "Found array with",
    "Found input variables with inconsistent numbers of samples",
    "Sample weights must",
    "Negative values in data passed to `sample_weight`",
    "sample_weight.shape ==",
    "Expected a 2-dimensional container but got",
    "y should be a 1d array",
    "This ",
    "requires y to be passed",
)
_COLUMN_MESSAGES = ("The feature names should match", "X has ", "Feature names are only supported")
_RESHAPE = (
    "Expected a 2-D array, got one of another dimension. Reshape your data either using "
    "array.reshape(-1, 1) if it has a single feature or array.reshape(1, -1) if it contains a "
    "single sample."
)
_NOT_NUMBERS = (
    "{name} could not be read as numbers. Encode strings and categories first, with declared "
    "categories: sklearn.preprocessing.OneHotEncoder(categories=...)."
)
_NO_STRING_OR_NUMBER = (
    "float() argument must be a string or a real number: {name} holds an object that is neither."
)


def _without_quotes(error: Exception, name: str) -> str:
    message = str(error)
    first_line = message.splitlines()[0] if message else ""
    if message.startswith(_COLUMN_MESSAGES):
        return message
    if first_line.startswith(_QUOTE_FREE):
        return first_line
    if first_line.startswith("Expected 2D array"):
        return _RESHAPE
    if isinstance(error, TypeError) and "argument must be" in first_line:
        return _NO_STRING_OR_NUMBER.format(name=name)
    return _NOT_NUMBERS.format(name=name)


def quote_free(check: Callable[[], T], name: str) -> T:
    """Run a check; what it raises keeps its type and loses the cells it quotes."""
    try:
        return check()
    except TypeError as error:
        refusal: Exception = TypeError(_without_quotes(error, name))
    except ValueError as error:
        refusal = ValueError(_without_quotes(error, name))
    raise refusal  # outside of `except`, so that no chained error quotes a cell either


def refuse_strings(values: Any, name: str = "X") -> None:
    """Refuse text: numpy would read the strings "1.5" as numbers without a word."""
    if not _may_hold_strings(values):
        return
    cells = np.asarray(values, dtype=object)
    if any(isinstance(cell, str | bytes) for cell in cells.ravel()):
        raise ValueError(_NOT_NUMBERS.format(name=name))


def _may_hold_strings(X: Any) -> bool:
    column_types = getattr(X, "dtypes", None)
    if column_types is not None and hasattr(X, "columns"):
        return not all(_is_numeric_type(dtype) for dtype in column_types)
    dtype = getattr(X, "dtype", None)
    if dtype is not None:
        return getattr(dtype, "kind", "O") in "OSU"
    return isinstance(X, list | tuple)


def _is_numeric_type(dtype: Any) -> bool:
    is_numeric = getattr(dtype, "is_numeric", None)  # polars
    if callable(is_numeric):
        return bool(is_numeric())
    return bool(getattr(dtype, "kind", "O") in "biuf")


def admit_training(estimator: Any, X: Any, y: Any, *, y_numeric: bool) -> tuple[Any, Any]:
    """Return X (dense float64 or float32, or CSR) and y (1-D), or refuse."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )
    refuse_strings(X)
    if y_numeric:
        refuse_strings(y, "y")
    admitted: tuple[Any, Any] = quote_free(
        lambda: validate_data(
            estimator,
            X,
            y,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_min_samples=2,
            y_numeric=y_numeric,
        ),
        "X or y",
    )
    return admitted


def admit_new_rows(estimator: Any, X: Any) -> Any:
    """Return rows to predict for, dense or CSR, or refuse."""
    check_is_fitted(estimator)
    refuse_strings(X)
    return quote_free(
        lambda: validate_data(
            estimator, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32]
        ),
        "X",
    )


def admit_weights(sample_weight: Any, X: Any) -> npt.NDArray[np.float64]:
    """Return one non-negative finite weight a row, or refuse."""
    return quote_free(
        lambda: _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True),
        "sample_weight",
    )


def admit_labels(
    y: npt.NDArray[Any], declared: Any
) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp]]:
    """Return the sorted classes and each label's place among them, or refuse."""
    classes = _classes_of(y) if declared is None else _declared_classes(declared)
    if _is_text(classes) != _is_text(y):
        _refuse_labels()
    places = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    if not np.all(classes[places] == y):
        _refuse_labels()
    return classes, places


def _classes_of(y: npt.NDArray[Any]) -> npt.NDArray[Any]:
    with warnings.catch_warnings():
        # It warns when many labels differ: a fact about the labels.
        warnings.simplefilter("ignore")
        kind = type_of_target(y, input_name="y")
    if kind not in ("binary", "multiclass"):
        raise ValueError(
            f"Unknown label type: {kind}. A classifier needs discrete classes; for real-valued "
            "targets use a regressor."
        )
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(
            "y holds only one class. Declare the public set of classes (classes=...) to fit on "
            "data in which some are absent."
        )
    return classes


def _declared_classes(declared: Any) -> npt.NDArray[Any]:
    given = np.asarray(declared)
    classes = np.unique(given)
    if given.ndim != 1 or len(classes) < 2:
        raise ValueError(f"classes must list at least 2 different classes, got {declared!r}.")
    return classes


def _is_text(labels: npt.NDArray[Any]) -> bool:
    return labels.dtype.kind in "OSU"


def _refuse_labels() -> NoReturn:
    raise ValueError("y holds a label outside of the declared classes (parameter classes).")

"""Is the input admissible? Checked before anything is spent, refused without quoting the data.

The only import of scikit-learn's private validators. Neighbouring data sets range over admissible
rows, so a refusal here lies outside the guarantee; it names no value, row or cell all the same.
Names of columns are public.
"""

import functools
import warnings
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn import config_context
from sklearn.base import _fit_context
from sklearn.utils import assert_all_finite, check_consistent_length
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import (
    _check_sample_weight,
    _check_y,
    check_is_fitted,
    validate_data,
)

__all__ = [
    "HasMethods",
    "Interval",
    "StrOptions",
    "admit_blocks",
    "admit_groups",
    "admit_labels",
    "admit_new_rows",
    "admit_rows",
    "admit_targets",
    "admit_training",
    "admit_weights",
    "check_is_fitted",
    "fit_context",
    "quote_free",
    "refuse_non_numbers",
    "refuse_repeated_names",
]

T = TypeVar("T")
Fit = Callable[..., Any]

FLOATS = [np.float64, np.float32]

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
    "np.matrix is not supported",
    "requires y to be passed",
)
_ADVICE = {
    "contains NaN": " Fill or drop missing values first, by a rule fixed without the data, or with "
    "skdp.preprocessing.PrivateImputer.",
    "contains infinity": " Clip values to a declared range first.",
    "Complex data": ". Pass real and imaginary parts as two columns.",
    "Negative values": " Weights must be at least 0.",
}
_COLUMN_MESSAGES = ("The feature names should match", "X has ", "Feature names are only supported")
_RESHAPE = (
    "Expected a 2-D array, got one of another dimension. Reshape your data either using "
    "array.reshape(-1, 1) if it has a single feature or array.reshape(1, -1) if it contains a "
    "single sample."
)
_NOT_NUMBERS = (
    "{name} could not be read as numbers. Convert text and objects that stand for numbers; encode "
    "strings, dates and categories first, with declared categories: "
    "sklearn.preprocessing.OneHotEncoder(categories=...)."
)
_NO_STRING_OR_NUMBER = (
    "float() argument must be a string or a real number: {name} holds an object that is neither."
)
_NOT_LABELS = "{name} must hold class labels, all numbers or all strings, none of them missing."
_NOT_GROUPS = "{name} must hold names of groups, all integers or all strings, none missing."
_TOO_LARGE = "{name} holds a number too large for float64. Clip values to a declared range first."


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[Fit], Fit]:
    """scikit-learn's decorator of `fit`, and: a fit that raises leaves no trace.

    The estimator is then as it was before, fitted or not. Floating-point errors are not reported
    either, whatever `numpy.seterr` says: where they occur depends on the data.
    """
    check = _fit_context(prefer_skip_nested_validation=prefer_skip_nested_validation)

    def decorate(fit: Fit) -> Fit:
        checked = check(fit)

        @functools.wraps(fit)
        def whole_or_nothing(estimator: Any, *args: Any, **kwargs: Any) -> Any:
            before = vars(estimator).copy()
            try:
                with np.errstate(all="ignore"):
                    return checked(estimator, *args, **kwargs)
            except BaseException:
                vars(estimator).clear()
                vars(estimator).update(before)
                raise

        return whole_or_nothing

    return decorate


def _without_quotes(error: Exception, name: str, otherwise: str) -> str:
    message = str(error)
    first_line = message.splitlines()[0] if message else ""
    if message.startswith(_COLUMN_MESSAGES):
        return message
    if first_line.startswith(_QUOTE_FREE):
        return first_line + next((a for key, a in _ADVICE.items() if key in first_line), "")
    if first_line.startswith("Expected 2D"):
        return _RESHAPE
    if isinstance(error, OverflowError):
        return _TOO_LARGE.format(name=name)
    if isinstance(error, TypeError) and "argument must be" in first_line:
        return _NO_STRING_OR_NUMBER.format(name=name)
    return otherwise.format(name=name)


def quote_free(check: Callable[[], T], name: str, otherwise: str = _NOT_NUMBERS) -> T:
    """Run a check; what it raises becomes a TypeError or ValueError that quotes no cell.

    Finite means finite here, also for who told scikit-learn to assume it: no noise and no
    solver copes with NaN.
    """
    try:
        with np.errstate(all="ignore"), config_context(assume_finite=False):
            return check()
    except (Warning, MemoryError):
        raise
    except TypeError as error:
        refusal: Exception = TypeError(_without_quotes(error, name, otherwise))
    except Exception as error:
        refusal = ValueError(_without_quotes(error, name, otherwise))
    raise refusal  # outside of `except`, so that no chained error quotes a cell either


def refuse_non_numbers(values: Any, name: str = "X") -> None:
    """Refuse what numpy would read as numbers without a word.

    The text "1.5", dates, categories with numeric labels, the hidden entries of masked arrays.
    """
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(
            f"{name} is a masked array, whose masked entries would be used as they are. Fill them "
            "first, by public values: filled(...)."
        )
    if hasattr(values, "collect") and not hasattr(values, "__array__"):
        raise TypeError(f"{name} is a lazy frame. Collect it first: collect().")
    if not _holds_numbers(values, name):
        raise ValueError(_NOT_NUMBERS.format(name=name))


def _holds_numbers(values: Any, name: str) -> bool:
    if hasattr(values, "columns") and hasattr(values, "dtypes"):
        return all(_is_numeric_type(dtype) for dtype in values.dtypes)
    if sparse.issparse(values):
        return values.dtype.kind in "biufc"
    cells = quote_free(lambda: np.asarray(values), name)
    if cells.dtype.kind == "O":
        return not any(isinstance(cell, str | bytes) for cell in cells.flat)
    return cells.dtype.kind in "biufc"


def _is_numeric_type(dtype: Any) -> bool:
    is_numeric = getattr(dtype, "is_numeric", None)  # polars
    if callable(is_numeric):
        return bool(is_numeric()) or str(dtype) == "Boolean"
    return getattr(dtype, "kind", "O") in "biufc"


def _well_formed(X: Any) -> Any:
    """Return a sparse matrix as an object of its own, or refuse indices that lead out of it.

    Reading such a matrix is undefined behaviour. An object of its own, on the same arrays, because
    scipy remembers that indices are sorted and distinct, also after they were changed in place.
    """
    if not sparse.issparse(X) or X.format not in ("csr", "csc", "bsr", "coo"):
        return X
    try:
        if X.format == "coo":
            return type(X)((X.data, X.coords), shape=X.shape)
        fresh = type(X)((X.data, X.indices, X.indptr), shape=X.shape)
        fresh.check_format(full_check=True)
    except ValueError:
        fresh = None
    if fresh is None:
        raise ValueError("X is a sparse matrix whose indices do not fit its shape.")
    return fresh


def _in_stored_order(X: Any) -> Any:
    """Return COO and BSR matrices as CSR with their duplicate entries, each row in stored order.

    scipy's conversion sums duplicates in an order that depends on other rows; `clip_rows` does not.
    """
    if not sparse.issparse(X) or X.format not in ("coo", "bsr") or X.ndim != 2:
        return X
    entries = X.tocoo(copy=False)
    order = np.argsort(entries.row, kind="stable")
    lengths = np.bincount(entries.row, minlength=X.shape[0])
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    container = sparse.csr_matrix if isinstance(X, sparse.spmatrix) else sparse.csr_array
    return container((entries.data[order], entries.col[order], indptr), shape=X.shape)


def refuse_repeated_names(X: Any) -> None:
    names = list(getattr(X, "columns", ())) if hasattr(X, "dtypes") else []
    if len(set(names)) < len(names):
        raise ValueError("X has several columns of the same name. Rename them.")


def admit_rows(estimator: Any, X: Any, **how: Any) -> Any:
    """Return rows as float64 or float32, dense or of a sparse format accepted, or refuse.

    `how` goes to scikit-learn's `validate_data`; CSR is accepted by default.
    """
    refuse_non_numbers(X)
    refuse_repeated_names(X)
    X = _in_stored_order(_well_formed(X))
    how = {"accept_sparse": "csr", "dtype": FLOATS, **how}
    return quote_free(lambda: validate_data(estimator, X, **how), "X")


def admit_training(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    y_numeric: bool,
    reset: bool = True,
    min_samples: int = 2,
) -> tuple[Any, Any]:
    """Return X (dense float64 or float32, or CSR) and y (1-D; float64 if numeric), or refuse.

    Without `reset`, X must have the columns of an earlier call.
    """
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )
    X = admit_rows(estimator, X, ensure_min_samples=min_samples, reset=reset)
    y = admit_targets(estimator, y, y_numeric=y_numeric)
    quote_free(lambda: check_consistent_length(X, y), "y")
    return X, y


def admit_targets(estimator: Any, y: Any, *, y_numeric: bool) -> npt.NDArray[Any]:
    """Return targets in an array of one dimension, float64 if numeric, or refuse."""
    return _admit_numbers(estimator, y) if y_numeric else _admit_any(estimator, y)


def _admit_numbers(estimator: Any, y: Any) -> npt.NDArray[np.float64]:
    refuse_non_numbers(y, "y")

    def check() -> npt.NDArray[np.float64]:
        numbers: npt.NDArray[np.float64] = _check_y(y, y_numeric=True, estimator=estimator)
        # Once more: missing values of object arrays and long doubles become NaN or infinite here.
        numbers = numbers.astype(np.float64)
        assert_all_finite(numbers, input_name="y")
        return numbers

    return quote_free(check, "y")


def _admit_any(estimator: Any, y: Any) -> npt.NDArray[Any]:
    if isinstance(y, np.ma.MaskedArray):
        refuse_non_numbers(y, "y")
    if isinstance(y, list | tuple) and len({isinstance(label, str) for label in y}) > 1:
        # numpy would turn the numbers into strings.
        raise ValueError(_NOT_LABELS.format(name="y"))
    if getattr(getattr(y, "dtype", None), "kind", "") == "T":  # numpy's variable-width strings
        y = y.astype(object)
    labels: npt.NDArray[Any] = quote_free(
        lambda: _check_y(y, estimator=estimator), "y", _NOT_LABELS
    )
    return labels


def admit_new_rows(estimator: Any, X: Any) -> Any:
    """Return rows to predict for, dense or CSR, or refuse."""
    check_is_fitted(estimator)
    return admit_rows(estimator, X, reset=False)


def admit_weights(sample_weight: Any, X: Any) -> npt.NDArray[np.float64]:
    """Return one non-negative finite weight a row, or refuse."""
    if sample_weight is not None:
        refuse_non_numbers(sample_weight, "sample_weight")
    return quote_free(
        lambda: _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True),
        "sample_weight",
    )


def admit_blocks(blocks: Any, n_records: int) -> tuple[npt.NDArray[np.intp], int]:
    """Return the place of each record's block among the sorted blocks, and their number."""
    names = np.asarray(blocks)
    if names.shape != (n_records,):
        raise ValueError(
            f"blocks must name one block for each of the {n_records} rows, got an array of shape "
            f"{names.shape}."
        )
    # Mixed or missing names have no order.
    kinds = names.dtype.kind in "biuUS" or all(isinstance(name, str) for name in names)
    if not kinds:
        raise TypeError("blocks must be all integers or all strings.")
    found, places = np.unique(names, return_inverse=True)
    return places, len(found)


def admit_groups(groups: Any, n_rows: int) -> tuple[npt.NDArray[np.intp], int]:
    """Return the place of each row's group in the order of their first rows, and their number."""
    if isinstance(groups, np.ma.MaskedArray):
        refuse_non_numbers(groups, "groups")
    names = quote_free(lambda: _group_names(groups), "groups", _NOT_GROUPS)
    if names.shape != (n_rows,):
        raise ValueError(
            f"groups must name one group for each of the {n_rows} rows, got an array of shape "
            f"{names.shape}."
        )
    place: dict[object, int] = {}
    places = [place.setdefault(name, len(place)) for name in names.tolist()]
    return np.array(places, dtype=np.intp), len(place)


def _group_names(groups: Any) -> npt.NDArray[Any]:
    """Return names in an array, as objects where numpy would turn one kind into another."""
    names = groups if hasattr(groups, "dtype") else list(groups)
    names = np.asarray(names, dtype=object) if isinstance(names, list) else np.asarray(names)
    if names.dtype.kind in "iuU":
        return names
    kinds = {_kind_of_name(name) for name in names.flat}
    if len(kinds) != 1 or None in kinds:
        raise TypeError  # in our words
    return names


def _kind_of_name(name: object) -> type | None:
    if isinstance(name, str):
        return str
    is_number = isinstance(name, int | np.integer) and not isinstance(name, bool)
    return int if is_number else None


def admit_labels(
    y: npt.NDArray[Any], declared: Any
) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp]]:
    """Return the sorted classes and each label's place among them, or refuse."""
    labels = _plain(y)
    classes = _classes_of(labels) if declared is None else _declared_classes(declared)
    places = _places(labels, classes)
    if places.min() < 0:
        raise ValueError(
            "y holds a label outside of the declared classes (parameter classes). Labels and "
            "classes must both be numbers or both be strings."
        )
    return classes, places


def _plain(y: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return labels in an array of their own type, where an array of objects holds numbers."""
    if y.dtype.kind != "O" or any(isinstance(label, str) for label in y):
        return y
    return quote_free(lambda: np.asarray(y.tolist()), "y", _NOT_LABELS)


def _classes_of(labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if labels.dtype.kind == "O" and not all(isinstance(label, str) for label in labels):
        _refuse_kind("unknown")
    with warnings.catch_warnings():
        # It warns when many labels differ: a fact about the labels.
        warnings.simplefilter("ignore")
        kind = quote_free(lambda: type_of_target(labels, input_name="y"), "y", _NOT_LABELS)
    if kind not in ("binary", "multiclass"):
        _refuse_kind(kind)
    classes = np.unique(labels)
    if len(classes) < 2:
        raise ValueError(
            "y holds only one class. Declare the public set of classes (classes=...) to fit on "
            "data in which some are absent."
        )
    return classes


def _refuse_kind(kind: str) -> NoReturn:
    raise ValueError(
        f"Unknown label type: {kind}. A classifier needs discrete classes, all numbers or all "
        "strings; for real-valued targets use a regressor."
    )


def _declared_classes(declared: Any) -> npt.NDArray[Any]:
    given = np.asarray(declared, dtype=object)
    kinds = {isinstance(label, str | bytes) for label in given.flat}
    classes = np.asarray(given.tolist()) if len(kinds) == 1 and given.ndim == 1 else given
    if classes.dtype.kind not in "biufUS" or len(np.unique(classes)) < 2 or _has_nan(classes):
        raise ValueError(
            "classes must be a list or an array of at least 2 different numbers or strings, got "
            f"{declared!r}."
        )
    return np.unique(classes)


def _has_nan(classes: npt.NDArray[Any]) -> bool:
    return bool((classes != classes).any())


def _places(labels: npt.NDArray[Any], classes: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Return each label's place among the sorted classes, -1 where it has none."""
    kind = labels.dtype.kind
    if kind == classes.dtype.kind and kind in "biufU":
        near = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
        return np.where(classes[near] == labels, near, -1)
    place = {label: i for i, label in enumerate(classes.tolist())}
    try:
        return np.array([place.get(label, -1) for label in labels.tolist()], dtype=np.intp)
    except TypeError:  # a label that cannot be hashed is none of them
        return np.full(len(labels), -1, dtype=np.intp)

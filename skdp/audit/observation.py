"""What a fitted model shows an attacker, as a vector."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skdp.audit.fits import NoFitError

__all__ = ["Everything", "changed_rows", "observer", "rows_of", "stacked"]

#: Attributes larger than this are left out: predictions speak for a network's weights.
_LARGEST = 2000
_OUTPUTS = ("decision_function", "predict_proba", "predict", "transform")


@final
@dataclass(frozen=True)
class Everything:
    """All numbers among the fitted attributes, and the outputs at some rows.

    Attributes
    ----------
    rows : array-like of shape (n_rows, n_features) or None
        Where a model without `coef_` is asked, by the first of `decision_function`,
        `predict_proba`, `predict` and `transform` that it has.
    """

    rows: Any = None

    def __call__(self, model: Any) -> NDArray[np.float64]:
        """Return the numbers of a fitted model, shape (n_numbers,)."""
        parts = [
            numbers
            for name, value in sorted(vars(model).items())
            if _is_fitted(name, model)
            for numbers in _numbers(value)
        ]
        if hasattr(model, "get_support"):
            parts.append(np.asarray(model.get_support(), dtype=float))
        parts += [np.asarray(part, dtype=float).ravel() for part in self._outputs(model)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _outputs(self, model: Any) -> list[Any]:
        method = next((getattr(model, name) for name in _OUTPUTS if hasattr(model, name)), None)
        if self.rows is None or method is None or hasattr(model, "coef_"):
            return []
        found = method(self.rows)
        found = np.asarray(found.toarray() if sparse.issparse(found) else found)
        return [found] if found.dtype.kind in "fiub" else []


def _is_fitted(name: str, model: Any) -> bool:
    """Whether a name is one that fitted attributes have: a class of one's own may use any."""
    if name.startswith("_"):
        return False
    if not hasattr(model, "get_params"):
        return True
    return name.endswith("_") and name not in model.get_params(deep=False)


def _numbers(value: Any) -> list[NDArray[np.float64]]:
    if isinstance(value, list | tuple):
        return [numbers for part in value for numbers in _numbers(part)]
    if hasattr(value, "words") and getattr(value, "counts", None) is not None:  # a vocabulary
        found = sorted(zip(value.words, value.counts, strict=True))
        value = np.array([count for _, count in found], dtype=float)
    if sparse.issparse(value):
        value = value.toarray() if value.shape[0] * value.shape[1] <= _LARGEST else None
    if not isinstance(value, np.ndarray | float | int | np.generic):
        return []
    array = np.asarray(value)
    if array.dtype.kind not in "fiub" or array.size > _LARGEST:
        return []
    return [array.astype(np.float64).ravel()]


def observer(release: Any, data: Any, neighbour: Any) -> Callable[[Any], Any]:
    """Return what maps a model to its numbers: `release` itself, or everything for "auto"."""
    if callable(release):
        return release  # type: ignore[no-any-return]
    if release != "auto":
        raise ValueError(f'release must be "auto" or a callable, got {release!r}.')
    return Everything(changed_rows(data, neighbour))


def changed_rows(data: Any, neighbour: Any) -> NDArray[np.float64] | None:
    """Return the rows of either data set that are not in the other one, five at most."""
    try:
        first, second = (_rows_and_labels(given) for given in (data, neighbour))
    except (ValueError, TypeError):
        return None
    found = [row for row in first if not (second == row).all(axis=1).any()]
    found += [row for row in second if not (first == row).all(axis=1).any()]
    width = _rows(data).shape[1]
    rows = np.array([row[:width] for row in found[:5]])
    return rows if len(rows) and np.isfinite(rows).all() else None


def rows_of(data: Any, most: int) -> Any:
    """Return the first rows of arguments of `fit`, at which a model can be asked; None for none."""
    X = data["X"] if isinstance(data, dict) else data[0]
    try:
        return X.iloc[:most] if hasattr(X, "iloc") else X[:most]
    except TypeError:
        return None


def _rows(data: Any) -> Any:
    X = data["X"] if isinstance(data, dict) else data[0]
    return X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=float)


def _rows_and_labels(data: Any) -> NDArray[np.float64]:
    X = _rows(data)
    y = data.get("y") if isinstance(data, dict) else (data[1] if len(data) > 1 else None)
    if y is None:
        return X  # type: ignore[no-any-return]
    _, codes = np.unique(np.asarray(y), return_inverse=True)
    labels = np.asarray(y, dtype=float) if np.asarray(y).dtype.kind in "fiub" else codes
    return np.column_stack([X, labels])


def stacked(*outcomes: list[Any]) -> list[NDArray[np.float64]]:
    """Return the outcomes of fits as arrays (n_fits, n_numbers), alike for all data sets.

    The first column says whether the fit raised; numbers that are not finite become large ones.
    Where fits show vectors of several lengths, the length is a number too.

    Raises
    ------
    NoFitError
        If no fit succeeded, from what the first one raised.
    """
    vectors = [v for some in outcomes for v in some if not isinstance(v, Exception)]
    if not vectors:
        error = outcomes[0][0]
        raise NoFitError(f"No fit succeeded; the first raised {error!r}.") from error
    widest = max(np.size(vector) for vector in vectors)
    return [np.array([_row(outcome, widest) for outcome in some]) for some in outcomes]


def _row(outcome: Any, widest: int) -> NDArray[np.float64]:
    row = np.zeros(widest + 2)
    if isinstance(outcome, Exception):
        row[0] = 1.0
        return row
    vector = np.asarray(outcome, dtype=np.float64).ravel()
    row[1] = len(vector)
    row[2 : 2 + len(vector)] = np.nan_to_num(vector, nan=1e300, posinf=1e300, neginf=-1e300)
    return row

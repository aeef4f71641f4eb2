"""A function of the user that is declared to treat each row by itself."""

from collections.abc import Callable
from typing import Any


class RowByRow:
    """A function for a `FunctionTransformer`, with the promise that it maps each row by itself.

    The promise: the function learns nothing, keeps nothing, and what it returns for a row, its
    columns included, is the same whatever the other rows hold and however many there are. Nothing
    can check this; a statement lists it among its assumptions.

    Parameters
    ----------
    function : callable
        Takes rows, returns as many rows. To be pickled, a function that has a name in a module.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import FunctionTransformer
    >>> from skdp.pipeline import RowByRow
    >>> def ratios(X):
    ...     return X[:, :1] / X[:, 1:]
    >>> FunctionTransformer(RowByRow(ratios)).fit_transform(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[0.5 ],
           [0.75]])
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        if not callable(function):
            raise TypeError(f"function must be callable, got {function!r}.")
        self.function = function

    def __call__(self, X: Any, **kwargs: Any) -> Any:
        """Return the function of the rows."""
        return self.function(X, **kwargs)

    def __repr__(self) -> str:
        return f"RowByRow({getattr(self.function, '__qualname__', self.function)})"

    def __eq__(self, other: object) -> bool:
        return type(other) is RowByRow and other.function == self.function

    def __hash__(self) -> int:
        return hash((RowByRow, self.function))

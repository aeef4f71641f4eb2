"""What a fit would spend, found on stand-in rows before the real ones are looked at."""

from typing import Any, NamedTuple, final

import numpy as np
from scipy import sparse

from skdp.exceptions import PrivacyError

__all__ = ["RehearsalLedger", "Spent", "StandIn"]


class Spent(BaseException):
    """The fit has said what it would spend, which is all that was asked."""


@final
class RehearsalLedger:
    """Keeps what is spent; with `stops`, it ends the fit then, before any row is used."""

    def __init__(self, *, stops=False):
        self._stops = stops
        self.statements = []

    def __sklearn_clone__(self):
        return self

    def spend(self, statement, *, purpose, parameters=None):
        """Take a statement down."""
        self.statements.append(statement)
        if self._stops:
            raise Spent

    def cover(self, statement, *, purpose, assumption):
        """Refuse: fits of a search begin afresh."""
        raise PrivacyError("A fit of a search spends; nothing before it covers it.")


class StandIn(NamedTuple):
    """Rows of zeros with the columns and storage of the real ones, and labels of each class."""

    X: Any
    y: Any
    metadata: dict[str, Any]

    @classmethod
    def of(cls, X, classes, n, metadata):
        """Return n rows in the place of X; each is a group of its own, of weight 1."""
        if hasattr(X, "columns"):
            import pandas as pd

            rows = pd.DataFrame(np.zeros((n, X.shape[1])), columns=X.columns)
        elif sparse.issparse(X):
            rows = sparse.csr_array((n, X.shape[1]), dtype=X.dtype)
            rows = rows if isinstance(X, sparse.sparray) else sparse.csr_matrix(rows)
        else:
            rows = np.zeros((n, X.shape[1]), dtype=X.dtype)
        y = np.zeros(n) if classes is None else classes[np.arange(n) % len(classes)]
        return cls(rows, y, metadata.stand_in(n))

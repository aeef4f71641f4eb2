"""Admit the rows that a transformer is given, or refuse them without quoting a cell."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array

from skdp import _admission
from skdp._admission import quote_free, refuse_non_numbers


def admit_rows(transformer: Any, X: Any, *, accept_sparse: Any, **how: Any) -> Any:
    """Return rows as float64 or float32, dense or of the sparse format accepted, or refuse.

    `how` goes to scikit-learn's `validate_data`.
    """
    if not accept_sparse and sparse.issparse(X):
        raise TypeError("Sparse input was given, but dense data is required. Use X.toarray().")
    return _admission.admit_rows(transformer, X, accept_sparse=accept_sparse, **how)


def admit_transformed(transformer: Any, X: Any) -> Any:
    """Return transformed rows, which need no column names, to map back, or refuse."""
    refuse_non_numbers(X)
    rows = quote_free(lambda: check_array(X, dtype=[np.float64, np.float32]), "X")
    if rows.shape[1] != transformer.n_features_in_:
        raise ValueError(
            f"X has {rows.shape[1]} features, but {type(transformer).__name__} is expecting "
            f"{transformer.n_features_in_} features as input."
        )
    return rows

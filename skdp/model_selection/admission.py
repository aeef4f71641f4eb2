"""Are the rows of a search admissible? Asked before anything is spent."""

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import validate_data

from skdp._admission import (
    admit_rows,
    admit_targets,
    admit_training,
    quote_free,
    refuse_non_numbers,
    refuse_repeated_names,
)
from skdp.model_selection.candidates import quiet
from skdp.model_selection.searchable import (
    before_private,
    is_pipeline,
    parts_of,
    private_steps,
    spenders,
)
from skdp.pipeline.refusals import quoting_nothing
from skdp.pipeline.rehearsal import Rehearsal, Spent, n_rows_of

__all__ = ["admitted", "begin", "refuse_inadmissible"]


def admitted(search, X, y, *, y_numeric):
    """Return rows and targets of which parts can be taken, or refuse.

    An estimator takes numbers. What the steps of a pipeline take is found out when there are
    candidates; see `refuse_inadmissible`.
    """
    if is_pipeline(search.estimator):
        return _as_given(search, X, y, y_numeric)
    names = X.columns if hasattr(X, "iloc") else None
    X, y = admit_training(search, X, y, y_numeric=y_numeric)
    if names is not None:
        import pandas as pd

        X = pd.DataFrame(X, columns=names)
    return X, y


def _as_given(search, X, y, y_numeric):
    if y is None:
        raise ValueError("A search requires y to be passed, but the target y is None.")
    is_lazy = hasattr(X, "collect") and not hasattr(X, "__array__")
    if is_lazy or isinstance(X, np.ma.MaskedArray):
        refuse_non_numbers(X)
    if sparse.issparse(X):
        X = admit_rows(search, X)
    else:
        X = _table(X)
        refuse_repeated_names(X)
        quote_free(lambda: validate_data(search, X, skip_check_array=True), "X")
    if n_rows_of(X) < 2:
        raise ValueError(f"Found {n_rows_of(X)} rows; a search needs at least 2.")
    y = admit_targets(search, y, y_numeric=y_numeric)
    quote_free(lambda: check_consistent_length(X, y), "y")
    return X, y


def _table(X):
    """Return a frame, an array or a list of texts; rows lose the names that an index gives them."""
    if hasattr(X, "iloc"):
        return X.reset_index(drop=True)
    if hasattr(X, "columns") and hasattr(X, "schema"):  # polars
        return X
    if isinstance(X, list | tuple) and all(isinstance(text, str) for text in X):
        return list(X)
    cells = quote_free(lambda: np.asarray(X), "X")
    # Numbers that stand beside texts in a list would be texts.
    is_text = cells.dtype.kind in "US" and not hasattr(X, "dtype")
    cells = np.array(X, dtype=object) if is_text else cells
    if cells.ndim not in (1, 2) or (cells.ndim == 1 and cells.dtype.kind not in "OUT"):
        raise ValueError(
            "Expected a table of 2 dimensions, or texts in 1, got an array of "
            f"{cells.ndim} dimensions."
        )
    return cells


def refuse_inadmissible(plan, rows):
    """Refuse rows that a fit or a score would refuse later, when the budget was spent.

    Steps before the first private one learn nothing from rows, so that those of the stand-in
    candidates do what those of the trials will. What the first private one admits, later ones do.
    """
    for part in plan.parts.training:
        rows.metadata.refuse_unusable(rows.units.rows(part))
    for model, one in zip(plan.models, plan.offer.tried, strict=True):
        if is_pipeline(model):
            _refuse_unmapped(one.model, rows.X)
            begin(model, rows.X, rows.y, rows.metadata.of(slice(None)), rows.units.n)


def _refuse_unmapped(fitted, X):
    before = before_private(fitted)
    if before is None:
        return
    with quiet():
        mapped = quoting_nothing(lambda: before.transform(X), parts_of(before))
    if not _all_finite(mapped):
        raise ValueError(
            "A step before the first private one returns values that are no finite numbers for "
            "some rows. Clip or map them to a declared range, or fill them in, there."
        )


def begin(model, X, y, metadata, n_groups=None):
    """Fit a copy as far as a private step would spend, which admits the rows before that."""
    ledger, model = Rehearsal(1), clone(model)
    for step in private_steps(model):
        if n_groups is not None and getattr(step, "max_rows_per_group", None) is not None:
            step.set_params(n_groups=n_groups)
    for spender in spenders(model):
        spender.set_params(ledger=ledger)
    try:
        with quiet():
            quoting_nothing(lambda: model.fit(X, y, **metadata), parts_of(model))
    except Spent:
        pass


def _all_finite(values):
    """Whether numbers are finite; what holds texts is left to the next step."""
    entries = values.data if sparse.issparse(values) else np.asarray(values)
    return entries.dtype.kind not in "fc" or bool(np.isfinite(entries).all())

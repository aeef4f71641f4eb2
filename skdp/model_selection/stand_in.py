"""Rows that take the place of private ones while a search is planned."""

from typing import Any, NamedTuple

import numpy as np

from skdp.model_selection.admission import begin
from skdp.model_selection.searchable import is_pipeline
from skdp.pipeline.rehearsal import each_class, made_up_rows

__all__ = ["StandIn", "stand_in_for"]


class StandIn(NamedTuple):
    """Rows with the columns, types and storage of the real ones, and labels of each class."""

    X: Any
    y: Any
    metadata: dict[str, Any]

    @classmethod
    def of(cls, X, classes, n, metadata, fill=0, objects=""):
        """Return n rows in the place of X; each is a group of its own, of weight 1."""
        y = np.zeros(n) if classes is None else each_class(classes, n)
        rows = made_up_rows(X, fill, n, objects=objects, categories=False)
        return cls(rows, y, metadata.stand_in(n))


def stand_in_for(models, X, classes, n, metadata):
    """Return rows that all models take: zeros, or ones; cells that may be anything empty, or so."""
    tries = [
        StandIn.of(X, classes, n, metadata, fill, objects)
        for fill, objects in ((0, ""), (1, ""), (0, 0), (1, 1))
    ]
    return next((rows for rows in tries if all(_takes(m, rows) for m in models)), tries[0])


def _takes(model, rows):
    if not is_pipeline(model):  # the rows were admitted as numbers
        return True
    try:
        begin(model, rows.X, rows.y, rows.metadata)
    except (ValueError, TypeError):
        return False
    return True

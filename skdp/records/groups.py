"""Rows that belong to groups, brought into a table of public size."""

from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
import numpy.typing as npt
from scipy import sparse

Places = npt.NDArray[np.intp]


@final
@dataclass(frozen=True)
class GroupSlots:
    """``n_groups * per_group`` slots: group g owns those from ``g * per_group`` on.

    Attributes
    ----------
    rows : ndarray of int
        Kept rows of the table: the first `per_group` of each group, in the order given.
    slots : ndarray of int
        The slot of each of them, increasing.
    n_groups, per_group : int
        Public.

    Notes
    -----
    What a group's slots hold is a function of that group's rows alone. Slots that no row fills
    hold zeros, with weight 0, so that a sum over all slots divided by their number is divided by
    a public number.

    Examples
    --------
    >>> import numpy as np
    >>> kept = GroupSlots.first_rows(np.array([0, 1, 0, 0]), n_groups=3, per_group=2)
    >>> kept.rows, kept.slots
    (array([0, 2, 1]), array([0, 1, 2]))
    >>> kept.weights(None)
    array([1., 1., 1., 0., 0., 0.])
    """

    rows: Places
    slots: Places
    n_groups: int
    per_group: int

    @classmethod
    def first_rows(cls, places: Places, *, n_groups: int, per_group: int) -> Self:
        """Keep the first rows of each group; `places` names the group of each row."""
        order = np.argsort(places, kind="stable")
        sorted_places = places[order]
        starts = np.searchsorted(sorted_places, sorted_places)
        rank = np.arange(len(order)) - starts
        kept = rank < per_group
        return cls(order[kept], sorted_places[kept] * per_group + rank[kept], n_groups, per_group)

    @property
    def n_slots(self) -> int:
        """Number of slots: the divisor of a mean."""
        return self.n_groups * self.per_group

    @property
    def starts(self) -> Places:
        """Where each group's rows begin in `rows`, and where the last one's end."""
        return np.searchsorted(self.slots, np.arange(self.n_groups + 1) * self.per_group)

    @property
    def empty(self) -> Places:
        """The slots that no row fills."""
        return np.flatnonzero(self.weights(None) == 0)

    def table(self, X: Any) -> Any:
        """Return X with its kept rows in their slots, CSR for CSR; other slots are zero."""
        if not sparse.issparse(X):
            filled = np.zeros((self.n_slots, X.shape[1]), dtype=X.dtype)
            filled[self.slots] = X[self.rows]
            return filled
        kept = X[self.rows]
        lengths = np.zeros(self.n_slots, dtype=kept.indptr.dtype)
        lengths[self.slots] = np.diff(kept.indptr)
        indptr = np.concatenate([kept.indptr[:1], np.cumsum(lengths, dtype=kept.indptr.dtype)])
        return type(X)((kept.data, kept.indices, indptr), shape=(self.n_slots, X.shape[1]))

    def column(self, values: npt.NDArray[Any], empty: float) -> npt.NDArray[Any]:
        """Return one value a slot, `empty` where no row is."""
        filled = np.full(self.n_slots, empty, dtype=values.dtype)
        filled[self.slots] = values[self.rows]
        return filled

    def data(
        self, X: Any, targets: npt.NDArray[Any], weights: npt.NDArray[np.float64] | None
    ) -> tuple[Any, npt.NDArray[Any], npt.NDArray[np.float64]]:
        """Return rows, targets and weights slot by slot; empty ones have target 1, weight 0."""
        return self.table(X), self.column(targets, 1), self.weights(weights)

    def weights(self, weights: npt.NDArray[np.float64] | None) -> npt.NDArray[np.float64]:
        """Return one weight a slot, 0 where no row is; None stands for ones."""
        if weights is not None:
            return self.column(weights, 0.0)
        filled = np.zeros(self.n_slots)
        filled[self.slots] = 1.0
        return filled

"""What the compiled steps are handed: the numbers of some objects in tuples that numba knows."""

from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from skdp.training.lazy_noise import Window
from skdp.training.lazy_state import Array, LazyState, Records

__all__ = ["Indices", "Law", "Scratch", "Table", "Weights", "unsigned"]

Indices = npt.NDArray[np.unsignedinteger[Any]]


def unsigned(indices: npt.NDArray[Any]) -> Indices:
    """Return the same numbers, none of them negative: numba checks signed ones at each use."""
    return indices.view(np.dtype(f"u{indices.itemsize}"))


class Table(NamedTuple):
    """`Records`."""

    indptr: Indices
    indices: Indices
    data: npt.NDArray[Any]
    targets: Array
    max_norm: float

    @classmethod
    def of(cls, records: Records) -> Self:
        """Return the numbers of some records."""
        indptr, indices = unsigned(records.indptr), unsigned(records.indices)
        return cls(indptr, indices, records.data, records.targets, records.max_norm)


class Weights(NamedTuple):
    """`LazyState`; `stamps` are the bits of `cells`."""

    cells: Array
    stamps: npt.NDArray[np.int64]
    intercept: Array
    mean_intercept: Array
    averages: bool

    @classmethod
    def of(cls, state: LazyState) -> Self:
        """Return the numbers of a state."""
        stamps = state.cells.view(np.int64)
        return cls(state.cells, stamps, state.intercept, state.mean_intercept, state.averages)


class Law(NamedTuple):
    """`Window`."""

    scale: Array
    step: Array
    weight: Array
    sums: Array
    rate: Array
    spread: Array
    share: Array

    @classmethod
    def of(cls, window: Window) -> Self:
        """Return the numbers of a window."""
        return cls(*(getattr(window, name) for name in cls._fields))


class Scratch(NamedTuple):
    """What a step needs only while it is made; a slot is the place of a feature in the batch."""

    slots: npt.NDArray[np.uint32]
    features: Indices
    stamps: npt.NDArray[np.uint64]
    u: Array
    gradient: Array
    drift: Array
    pending: Array
    gaps: Array
    scores: Array
    intercept_gradient: Array

    @classmethod
    def sized(cls, n_slots: int, n_outputs: int, index: np.dtype[Any]) -> Self:
        """Return room for batches of fewer than `n_slots` entries."""
        return cls(
            slots=np.empty(n_slots, dtype=np.uint32),
            features=unsigned(np.empty(n_slots, dtype=index)),
            stamps=np.empty(n_slots, dtype=np.uint64),
            u=np.empty((n_slots, n_outputs)),
            gradient=np.empty((n_slots, n_outputs)),
            drift=np.empty((n_slots, n_outputs)),
            pending=np.empty(n_slots),
            gaps=np.empty((n_slots, 3)),
            scores=np.empty(n_outputs),
            intercept_gradient=np.empty(n_outputs),
        )

"""Hands records to the compiled kernels. Imported lazily: it needs numba."""

from typing import Any, final

import numpy as np
import numpy.typing as npt

from skdp.embedding import kernels
from skdp.embedding.records import CbowRecords

__all__ = ["CompiledRoute"]

Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]


@final
class CompiledRoute:
    """See `skdp.embedding.gradients.Route`. Not for two threads at the same time."""

    def __init__(self, records: CbowRecords, size: int) -> None:
        documents = records.documents
        self.records: Any = (
            # A memory map is another type for the compiler; this is the same memory.
            np.asarray(documents.places).view(np.ndarray),
            documents.starts,
            records.firsts,
            records.law.shares,
            records.law.others,
            (
                records.window,
                records.n_negatives,
                records.by_document,
                records.most_examples,
                size,
            ),
            records.salts,
        )
        self.work = tuple(np.full((2, len(records.law.shares)), -1, dtype=np.int32))

    def clipped_sum(
        self, table: Array, scale: float, rows: Rows, key: np.uint64, limit: float, grid: float
    ) -> tuple[Rows, Array]:
        found: tuple[Rows, Array] = kernels.clipped_sum(
            self.records, self.work, table, scale, rows, key, limit, grid
        )
        return found

    def touches(
        self, rows: Rows, key: np.uint64, limit: float, grid: float, width: int
    ) -> tuple[Rows, Array]:
        found: tuple[Rows, Array] = kernels.touches(
            self.records, self.work, rows, key, limit, grid, width
        )
        return found

    def restricted_sum(
        self,
        table: Array,
        scale: float,
        rows: Rows,
        selected: Rows,
        key: np.uint64,
        limit: float,
        grid: float,
    ) -> Array:
        found: Array = kernels.restricted_sum(
            self.records, self.work, table, scale, rows, selected, key, limit, grid
        )
        return found

    def lengths(self, sums: Array) -> Array:
        return kernels.lengths(sums)

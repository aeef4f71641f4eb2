"""What tests of private SGD share: null records, the reference step, a model that is a canary."""

from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from skdp.mechanisms.label_moments import LabelMoments
from skdp.mechanisms.row_statistics import RowStatistics
from skdp.mechanisms.row_sum import RowSum
from skdp.mechanisms.statistics import SparseSum
from skdp.training.glm import GlmGradients
from skdp.training.linear_run import LinearRun
from skdp.training.mlp_gradients import MlpGradients


@contextmanager
def reference_steps():
    """Run rows without a selector through the loop, whose every release is recorded.

    `tests/test_lazy_noise.py` ties the law of the lazily drawn noise to this loop, and
    `tests/test_fused_dpsgd.py` the steps that are made in compiled code, bit for bit.
    """
    lazy, fused = LinearRun.lazy, LinearRun.fused
    LinearRun.lazy = LinearRun.fused = property(lambda self: False)
    try:
        yield
    finally:
        LinearRun.lazy, LinearRun.fused = lazy, fused


@contextmanager
def null_record(row=0):
    """Replace a record by the null record of zero-out: it has no gradient and touches nothing."""
    names = ("clipped_sum", "contribution_map", "restricted_sum")
    originals = {name: getattr(GlmGradients, name) for name in names}

    def without(name):
        place = 0 if name == "contribution_map" else 2

        def nulled(self, *args, **kwargs):
            given = list(args)
            given[place] = given[place][given[place] != row]
            return originals[name](self, *given, **kwargs)

        return nulled

    for name in names:
        setattr(GlmGradients, name, without(name))
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(GlmGradients, name, original)


@contextmanager
def null_network_record(row=0):
    """Replace a record by the null record: it keeps its place in batches and adds nothing."""
    original, total = MlpGradients._squared_gradients, RowSum.vector
    moments = {kind: kind.vector for kind in (RowStatistics, LabelMoments)}

    def nulled(self, rows, outputs, errors):
        squares = original(self, rows, outputs, errors)
        squares[rows == row] = np.inf
        return squares

    def without(blocks):
        start = 0
        for block in blocks:
            if start <= row < start + len(block):
                block = block.copy()
                block[row - start] = 0.0
            start += len(block)
            yield block

    def of_pairs(vector):
        def summed(self, chunks):
            rows, others = zip(*chunks, strict=True)
            return vector(self, zip(without(rows), others, strict=True))

        return summed

    MlpGradients._squared_gradients = nulled
    for kind, vector in moments.items():
        kind.vector = of_pairs(vector)
    RowSum.vector = lambda self, blocks: total(self, without(blocks))
    try:
        yield
    finally:
        MlpGradients._squared_gradients, RowSum.vector = original, total
        for kind, vector in moments.items():
            kind.vector = vector


@dataclass
class CanaryGradients:
    """Record 0 pulls coordinate 0 with all its might in every step; the others do nothing.

    With ``present`` False record 0 is null. Coordinate 0 is one that nobody else touches, so
    whether it moves, and whether it is selected, says whether the canary is there.
    """

    present: bool
    n_records: int
    size: int

    def _pull(self, rows, max_norm):
        there = self.present and bool((rows == 0).any())
        if not there:
            return SparseSum(np.zeros(0, dtype=np.int64), np.zeros(0), self.size)
        return SparseSum(np.zeros(1, dtype=np.int64), np.array([-max_norm]), self.size)

    def clipped_sum(self, values, scale, rows, *, max_norm, grid):
        return self._pull(rows, np.floor(max_norm / grid) * grid)

    def contribution_map(self, rows, *, max_norm, grid):
        pull = self._pull(rows, np.floor(max_norm / grid) * grid)
        return SparseSum(pull.indices, -pull.values, self.size)

    def restricted_sum(self, values, scale, rows, selected, *, max_norm, grid):
        total = self._pull(rows, np.floor(max_norm / grid) * grid).toarray()
        return total[selected]

"""Rows of data, asked for sums only."""

from skdp.records.base import Records
from skdp.records.clipping import canonical_rows, clip_rows, unflagged
from skdp.records.memory import InMemoryRecords, score_terms, summation_terms

__all__ = [
    "InMemoryRecords",
    "Records",
    "canonical_rows",
    "clip_rows",
    "score_terms",
    "summation_terms",
    "unflagged",
]

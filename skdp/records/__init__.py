"""Rows of data, asked for sums only."""

from skdp.records.base import Records
from skdp.records.clipping import clip_rows
from skdp.records.memory import InMemoryRecords, score_terms, summation_terms

__all__ = ["InMemoryRecords", "Records", "clip_rows", "score_terms", "summation_terms"]

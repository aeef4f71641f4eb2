"""Transformers that learn nothing from private rows."""

from skdp.preprocessing.public_range import PublicRangeScaler
from skdp.preprocessing.row_norm import RowNormClipper

__all__ = ["PublicRangeScaler", "RowNormClipper"]

"""Real data sets with their public bounds, categories and classes."""

from skdp.datasets.adult import AdultData, load_adult
from skdp.datasets.schema import (
    CategoryColumn,
    Column,
    LinearColumn,
    LogColumn,
    PublicSchema,
    QuadraticColumn,
    RangeColumn,
)

__all__ = [
    "AdultData",
    "CategoryColumn",
    "Column",
    "LinearColumn",
    "LogColumn",
    "PublicSchema",
    "QuadraticColumn",
    "RangeColumn",
    "load_adult",
]

"""Transformers for rows: those that learn nothing from them, and those that pay for it."""

from skdp.preprocessing.private_imputer import PrivateImputer
from skdp.preprocessing.private_min_max import PrivateMinMaxScaler
from skdp.preprocessing.private_one_hot import PrivateOneHotEncoder
from skdp.preprocessing.private_standard import PrivateStandardScaler
from skdp.preprocessing.public_range import PublicRangeScaler
from skdp.preprocessing.quantile_clipper import PrivateQuantileClipper
from skdp.preprocessing.row_norm import RowNormClipper

__all__ = [
    "PrivateImputer",
    "PrivateMinMaxScaler",
    "PrivateOneHotEncoder",
    "PrivateQuantileClipper",
    "PrivateStandardScaler",
    "PublicRangeScaler",
    "RowNormClipper",
]

"""Private feature selection."""

from skdp.feature_selection.from_model import PrivateSelectFromModel
from skdp.feature_selection.k_best import PrivateSelectKBest

__all__ = ["PrivateSelectFromModel", "PrivateSelectKBest"]

"""Choosing parameters on private rows, with the choice paid for."""

from skdp.model_selection.grid_search import PrivateGridSearchCV
from skdp.model_selection.randomized_search import PrivateRandomizedSearchCV

__all__ = ["PrivateGridSearchCV", "PrivateRandomizedSearchCV"]

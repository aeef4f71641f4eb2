"""Choosing parameters on private rows, with the choice paid for."""

from skdp.model_selection.search import PrivateGridSearchCV, PrivateRandomizedSearchCV

__all__ = ["PrivateGridSearchCV", "PrivateRandomizedSearchCV"]

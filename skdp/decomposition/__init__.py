"""Private decompositions of a table into a few directions."""

from skdp.decomposition.private_pca import PrivatePCA

__all__ = ["PrivatePCA"]

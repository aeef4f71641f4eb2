"""Drawing noise: the mechanisms through which private data leaves."""

from skdp.mechanisms.additive import AdditiveMechanism
from skdp.mechanisms.base import Mechanism
from skdp.mechanisms.exponential_selection import ExponentialTopK
from skdp.mechanisms.gaussian import GaussianMechanism
from skdp.mechanisms.gaussian_selection import GaussianThreshold, GaussianTopK
from skdp.mechanisms.grid_gaussian import GridGaussianMechanism
from skdp.mechanisms.laplace import L2LaplaceMechanism, LaplaceMechanism
from skdp.mechanisms.noisy_max import NoisyMaxTopK, PermuteAndFlip
from skdp.mechanisms.selection import SelectionMechanism
from skdp.mechanisms.sparse_vector import SparseVectorTechnique
from skdp.mechanisms.statistics import Selection, SparseSum

__all__ = [
    "AdditiveMechanism",
    "ExponentialTopK",
    "GaussianMechanism",
    "GaussianThreshold",
    "GaussianTopK",
    "GridGaussianMechanism",
    "L2LaplaceMechanism",
    "LaplaceMechanism",
    "Mechanism",
    "NoisyMaxTopK",
    "PermuteAndFlip",
    "Selection",
    "SelectionMechanism",
    "SparseSum",
    "SparseVectorTechnique",
]

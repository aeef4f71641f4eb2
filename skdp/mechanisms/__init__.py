"""Drawing noise: the mechanisms through which private data leaves."""

from skdp.mechanisms.base import Mechanism
from skdp.mechanisms.gaussian import GaussianMechanism
from skdp.mechanisms.laplace import L2LaplaceMechanism, LaplaceMechanism

__all__ = ["GaussianMechanism", "L2LaplaceMechanism", "LaplaceMechanism", "Mechanism"]

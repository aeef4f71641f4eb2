"""Private neural networks."""

from skdp.neural_network.private_mlp import PrivateMLPClassifier
from skdp.neural_network.private_mlp_regression import PrivateMLPRegressor

__all__ = ["PrivateMLPClassifier", "PrivateMLPRegressor"]

"""Private linear models."""

from skdp.linear_model.elastic_net import PrivateElasticNetClassifier
from skdp.linear_model.elastic_net_regression import PrivateElasticNet

__all__ = ["PrivateElasticNet", "PrivateElasticNetClassifier"]

"""Private linear models."""

from skdp.linear_model.elastic_net import PrivateElasticNet, PrivateElasticNetClassifier

__all__ = ["PrivateElasticNet", "PrivateElasticNetClassifier"]

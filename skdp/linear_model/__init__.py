"""Private linear models."""

from skdp.linear_model.elastic_net import PrivateElasticNetClassifier
from skdp.linear_model.elastic_net_regression import PrivateElasticNet
from skdp.linear_model.private_linear import PrivateLinearClassifier
from skdp.linear_model.private_linear_regression import PrivateLinearRegressor
from skdp.linear_model.ridge import PrivateRidge
from skdp.linear_model.ridge_classifier import PrivateRidgeClassifier
from skdp.linear_model.sparse_dpsgd import SparseDPSGDClassifier
from skdp.linear_model.sparse_dpsgd_regression import SparseDPSGDRegressor
from skdp.linear_model.stable_sgd import StableSGDClassifier
from skdp.linear_model.stable_sgd_regression import StableSGDRegressor

__all__ = [
    "PrivateElasticNet",
    "PrivateElasticNetClassifier",
    "PrivateLinearClassifier",
    "PrivateLinearRegressor",
    "PrivateRidge",
    "PrivateRidgeClassifier",
    "SparseDPSGDClassifier",
    "SparseDPSGDRegressor",
    "StableSGDClassifier",
    "StableSGDRegressor",
]

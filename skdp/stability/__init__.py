"""How far one record moves a trained model."""

from skdp.stability.domain import Domain
from skdp.stability.erm import (
    GradientDiameterBound,
    MinimiserBound,
    PublishedBound,
    minimiser_sensitivity,
)

__all__ = [
    "Domain",
    "GradientDiameterBound",
    "MinimiserBound",
    "PublishedBound",
    "minimiser_sensitivity",
]

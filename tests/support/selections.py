"""One of every kind of selection, for tests."""

import pytest

from skdp.mechanisms import (
    ExponentialTopK,
    GaussianThreshold,
    GaussianTopK,
    NoisyMaxTopK,
    PermuteAndFlip,
    SparseVectorTechnique,
)
from skdp.privacy.budget import Neighbours, Sensitivity

UNIT = Sensitivity(1.0, "l2", Neighbours.ZERO_OUT)
HUGE = 10**9


def top(size, k=2):
    """One of every kind of selection, of comparable noise."""
    k = min(k, size)
    return {
        "gaussian": GaussianTopK(UNIT, size, k, noise_std=1.0),
        "threshold": GaussianThreshold(UNIT, size, noise_std=1.0, threshold=1.5),
        "exponential": ExponentialTopK(UNIT, size, k, eta=1.0),
        "noisy max": NoisyMaxTopK(UNIT, size, k, epsilon=1.0),
        "permute and flip": PermuteAndFlip(UNIT, size, epsilon=1.0),
        "sparse vector": SparseVectorTechnique(UNIT, size, k, epsilon=8.0, threshold=1.0),
        "numeric sparse": SparseVectorTechnique(
            UNIT, size, k, epsilon=30.0, threshold=1.0, constants="paper"
        ),
    }


KINDS = list(top(6))
every_kind = pytest.mark.parametrize("kind", KINDS)

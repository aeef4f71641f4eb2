"""Private feature selection: small released weights are set to zero, at no further cost."""

from dataclasses import dataclass
from typing import Self, final

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from skdp._validation import non_negative
from skdp.mechanisms.additive import AdditiveMechanism

Array = npt.NDArray[np.float64]


def noise_threshold(
    mechanism: AdditiveMechanism, n_weights: int, expected_false_positives: float = 1.0
) -> float:
    """Smallest threshold that noise alone passes at most so often in expectation.

    The expected number of weights with ``abs(noise) >= t`` among `n_weights` zeros is
    ``2 n_weights P(u_1 > t)``, also for noise that is dependent across coordinates.
    """
    allowed = expected_false_positives / (2 * n_weights)
    if allowed >= 0.5:
        return 0.0
    high = mechanism.standard_deviation
    while float(mechanism.survival(high)) > allowed:
        high *= 2
    root = brentq(lambda t: float(mechanism.survival(t)) - allowed, 0.0, high, xtol=1e-9 * high)
    return float(root) * (1 + 1e-8)


@final
@dataclass(frozen=True)
class WeightThreshold:
    """Keeps weights of at least `value` in absolute value.

    The threshold is public: a declared number or a function of the noise. Zeroing released
    weights by it is post-processing.
    """

    value: float = 0.0

    def __post_init__(self) -> None:
        non_negative(threshold=self.value)

    @classmethod
    def named(
        cls, threshold: float | str | None, mechanism: AdditiveMechanism, n_weights: int
    ) -> Self:
        """Turn the estimators' parameter into a threshold."""
        if threshold is None:
            return cls()
        if threshold == "auto":
            return cls(noise_threshold(mechanism, n_weights))
        return cls(float(threshold))

    def apply(self, weights: Array) -> Array:
        """Return `weights` with the small ones set to zero."""
        return np.where(np.abs(weights) >= self.value, weights, 0.0)

    def flip_probability(self, weight: npt.ArrayLike, mechanism: AdditiveMechanism) -> Array:
        """Probability that the decision to keep a weight differs from ``weight != 0``."""
        size = np.abs(np.asarray(weight, dtype=np.float64))
        missed = mechanism.survival(size - self.value) - mechanism.survival(size + self.value)
        return np.where(size == 0, 2 * mechanism.survival(self.value), missed)

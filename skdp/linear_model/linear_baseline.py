"""What a private model predicts where nothing can be learnt: the commonest class, or the mean."""

from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from skdp._random import RandomSource
from skdp.mechanisms import GaussianMechanism
from skdp.mechanisms.label_moments import FRACTION_BITS, whole_numbers
from skdp.privacy import Neighbours, PrivacyBudget, Sensitivity

__all__ = ["ClassShares", "LabelMean"]

Array = npt.NDArray[np.float64]


@final
@dataclass(frozen=True)
class ClassShares:
    """Numbers of rows of each class, with noise.

    Guarantees
    ----------
    A row more or less, or made null, moves the vector of counts by 1; one replaced by another moves
    it by sqrt(2).
    """

    mechanism: GaussianMechanism

    theorem = "Gaussian noise on the numbers of rows of the classes"

    @classmethod
    def planned(
        cls, n_classes: int, neighbours: Neighbours, budget: PrivacyBudget
    ) -> "ClassShares":
        """Return the calibrated release."""
        moved = np.sqrt(2.0) if neighbours is Neighbours.REPLACE_ONE else 1.0
        sensitivity = Sensitivity(float(moved) * (1 + 2.0**-50), "l2", neighbours)
        return cls(GaussianMechanism.calibrated(sensitivity, budget, size=n_classes))

    def intercepts(self, places: npt.NDArray[np.intp], rng: RandomSource) -> Array:
        """Return log odds of the second of two classes, or a score of each of several."""
        size = self.mechanism.size
        counts = np.bincount(places, minlength=size).astype(np.float64)
        noisy = self.mechanism.release(counts, rng)
        scores = np.log(np.maximum(noisy, self.mechanism.noise_scale))
        return np.asarray(scores[1:] - scores[0] if size == 2 else scores - scores.mean())


@final
@dataclass(frozen=True)
class LabelMean:
    """Sum of labels within [-1, 1], with noise, over the public number of rows.

    Guarantees
    ----------
    A row more or less, or made null, moves the sum by 1; one replaced by another by 2.
    """

    mechanism: GaussianMechanism
    n_records: int

    theorem = "Gaussian noise on the sum of clipped labels"

    @classmethod
    def planned(cls, n_records: int, neighbours: Neighbours, budget: PrivacyBudget) -> "LabelMean":
        """Return the calibrated release."""
        moved = 2.0 if neighbours is Neighbours.REPLACE_ONE else 1.0
        sensitivity = Sensitivity(moved, "l2", neighbours)
        return cls(GaussianMechanism.calibrated(sensitivity, budget, size=1), n_records)

    def intercepts(self, labels: Array, rng: RandomSource) -> Array:
        """Return the mean, shrunk towards 0 by what of it is noise, shape (1,)."""
        total = np.ldexp(whole_numbers(labels).sum(keepdims=True), -FRACTION_BITS)
        noisy = self.mechanism.release(total, rng)
        kept = 1 - self.mechanism.noise_scale**2 / np.maximum(noisy**2, 1e-300)
        mean = np.clip(noisy * np.maximum(kept, 0.0) / self.n_records, -1, 1)
        return np.asarray(mean, dtype=np.float64)

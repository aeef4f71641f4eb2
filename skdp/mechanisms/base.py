"""The one door through which private data leaves."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
import numpy.typing as npt

from skdp._random import RandomSource
from skdp._validation import positive_integer
from skdp.privacy.budget import Norm, PrivacyBudget, Sensitivity

if TYPE_CHECKING:
    from dp_accounting import DpEvent

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Mechanism(ABC):
    """Adds calibrated noise to a vector and releases the sum.

    An instance is public: it is a function of declared bounds and the budget alone. Private
    data enters through `release`, and nowhere else.

    Attributes
    ----------
    sensitivity : Sensitivity
        How far one record moves the vector, as declared (before rounding to the grid).
    size : int
        Number of coordinates released together.
    """

    required_norm: ClassVar[Norm]
    sensitivity: Sensitivity
    size: int

    def __post_init__(self) -> None:
        positive_integer(size=self.size)
        if self.sensitivity.norm != self.required_norm:
            raise ValueError(
                f"{type(self).__name__} needs a sensitivity in the {self.required_norm} norm, "
                f"got {self.sensitivity.norm}."
            )

    @classmethod
    @abstractmethod
    def calibrated(cls, sensitivity: Sensitivity, budget: PrivacyBudget, *, size: int) -> Self:
        """Return the mechanism with the least noise that keeps the budget."""

    @property
    @abstractmethod
    def grid(self) -> float:
        """Spacing of the grid of released values, a power of two."""

    @property
    @abstractmethod
    def total_sensitivity(self) -> Sensitivity:
        """The declared sensitivity plus what rounding to the grid can add."""

    @property
    @abstractmethod
    def noise_scale(self) -> float:
        """Scale parameter of the noise, in the units of the vector."""

    @property
    @abstractmethod
    def standard_deviation(self) -> float:
        """Standard deviation of the noise on one coordinate."""

    @property
    @abstractmethod
    def expected_norm(self) -> float:
        """Expected Euclidean norm of the noise over all coordinates."""

    @abstractmethod
    def survival(self, threshold: npt.ArrayLike) -> Array:
        """Probability that the noise on one coordinate exceeds `threshold` (of any sign)."""

    @abstractmethod
    def delta_at(self, epsilon: float) -> float:
        """Smallest delta that is proved for `epsilon`, finite precision included."""

    @abstractmethod
    def epsilon_at(self, delta: float) -> float:
        """Smallest epsilon that is proved for `delta`; infinite where there is none."""

    @property
    @abstractmethod
    def event(self) -> "DpEvent":
        """What was run, for an accountant. Imports dp_accounting on first use."""

    @property
    @abstractmethod
    def theorem(self) -> str:
        """The theorem that the guarantee rests on, with its source."""

    def release(self, value: npt.ArrayLike, rng: RandomSource) -> Array:
        """Return `value` plus noise, on the grid.

        Parameters
        ----------
        value : array-like with `size` elements
            The exact statistic. Any shape; the result has the same.
        rng : RandomSource
            Where the noise comes from.

        Returns
        -------
        ndarray of float64
            Integers times `grid`.
        """
        exact = np.asarray(value, dtype=np.float64)
        if exact.size != self.size:
            raise ValueError(f"value must have {self.size} elements, got {exact.size}.")
        return self._release(exact.ravel(), rng).reshape(exact.shape)

    @abstractmethod
    def _release(self, value: Array, rng: RandomSource) -> Array:
        """Release a flat vector of `size` coordinates."""

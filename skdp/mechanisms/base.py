"""The one door through which private data leaves."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from skdp._random import RandomSource
from skdp._validation import positive_integer
from skdp.mechanisms.statistics import SparseSum
from skdp.privacy.budget import Norm, Sensitivity

if TYPE_CHECKING:
    from dp_accounting import DpEvent

__all__ = ["Array", "Mechanism"]

Array = npt.NDArray[np.float64]
Released = TypeVar("Released")


@dataclass(frozen=True)
class Mechanism(ABC, Generic[Released]):
    """Releases something of a vector, at a stated cost.

    An instance is public: it is a function of declared bounds and parameters alone. Private data
    enters through `release`, and nowhere else.

    Attributes
    ----------
    sensitivity : Sensitivity
        How far one record moves the vector, as declared (before rounding to the grid).
    size : int
        Number of coordinates of the vector.
    """

    required_norm: ClassVar[Norm]
    sensitivity: Sensitivity
    size: int

    def __post_init__(self) -> None:
        positive_integer(size=self.size)
        object.__setattr__(self, "size", int(self.size))  # products with narrow ones overflow
        if self.sensitivity.norm != self.required_norm:
            raise ValueError(
                f"{type(self).__name__} needs a sensitivity in the {self.required_norm} norm, "
                f"got {self.sensitivity.norm}."
            )

    @property
    @abstractmethod
    def event(self) -> "DpEvent":
        """What was run, for an accountant. Imports dp_accounting on first use."""

    @property
    @abstractmethod
    def theorem(self) -> str:
        """The theorem that the guarantee rests on, with its source."""

    def release(self, value: "npt.ArrayLike | SparseSum", rng: RandomSource) -> Released:
        """Release what the mechanism releases of `value`.

        Parameters
        ----------
        value : array-like with `size` elements, or SparseSum for a selection
            The exact statistic.
        rng : RandomSource
            Where the noise comes from.

        Returns
        -------
        ndarray of float64 or Selection
            A noisy vector of the shape of `value`, or the coordinates selected.
        """
        return self._release(value, rng)

    @abstractmethod
    def _release(self, value: "npt.ArrayLike | SparseSum", rng: RandomSource) -> Released:
        """Check the size of `value` and release."""

    def _require_size(self, size: int) -> None:
        if size != self.size:
            raise ValueError(f"value must have {self.size} elements, got {size}.")

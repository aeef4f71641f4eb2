"""How much noise each step adds, as a function of the step alone."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Self, final

from skdp._validation import positive

__all__ = ["ConstantNoise", "NoiseSchedule"]


@dataclass(frozen=True)
class NoiseSchedule(ABC):
    """Noise multipliers of the steps of a run: standard deviations over sensitivity.

    A schedule is a shape times a level. The level is what calibration finds.
    """

    level: float = 1.0

    def __post_init__(self) -> None:
        positive(level=self.level)

    @abstractmethod
    def phases(self, n_steps: int, steps_per_epoch: float) -> list[tuple[float, int]]:
        """Return (noise multiplier, number of consecutive steps that have it), in order."""

    def at_level(self, level: float) -> Self:
        """Return the schedule of this shape at another level."""
        return replace(self, level=level)


@final
@dataclass(frozen=True)
class ConstantNoise(NoiseSchedule):
    """The same noise multiplier, the level, in every step.

    Examples
    --------
    >>> ConstantNoise(2.0).phases(100, 10.0)
    [(2.0, 100)]
    """

    def phases(self, n_steps: int, steps_per_epoch: float) -> list[tuple[float, int]]:
        return [(self.level, n_steps)]

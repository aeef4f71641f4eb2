"""How much noise each step adds, as a function of the step alone."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar, Self, final

from skdp._validation import non_negative, positive, positive_integer

if TYPE_CHECKING:
    from dp_accounting import DpEvent

__all__ = [
    "ConstantNoise",
    "ConstantThen",
    "EpochSchedule",
    "ExponentialDecay",
    "NoiseSchedule",
    "PolynomialDecay",
    "StepDecay",
    "TimeDecay",
    "epochs_of_steps",
]

#: A quotient of two integers may lie above a whole number by rounding alone.
_ROUNDING = 1 - 2.0**-40
#: Beyond that, a run costs what its last epochs cost, and its noise is lost in rounding.
_LEAST_SHARE = 1e-6


@dataclass(frozen=True)
class NoiseSchedule(ABC):
    """Noise multipliers of the steps of a run: standard deviations over sensitivity.

    A schedule is a shape times a level. The level is what calibration finds.
    """

    #: Whether the noise of a step depends on what was released before it.
    adaptive: ClassVar[bool] = False

    level: float = field(default=1.0, kw_only=True)

    def __post_init__(self) -> None:
        positive(level=self.level)

    @abstractmethod
    def phases(self, n_steps: int, steps_per_epoch: float) -> list[tuple[float, int]]:
        """Return (noise multiplier, number of consecutive steps that have it), in order."""

    def at_level(self, level: float) -> Self:
        """Return the schedule of this shape at another level."""
        return replace(self, level=level)

    @property
    def promised(self) -> "DpEvent | None":
        """What a run costs whatever it does, where its noise is adaptive; None elsewhere."""
        return None

    @property
    def theorem(self) -> str | None:
        """Why `promised` holds."""
        return None


@dataclass(frozen=True)
class EpochSchedule(NoiseSchedule):
    """The noise multiplier of epoch t = 0, 1, ... is sigma_t = level * share(t).

    A step belongs to the epoch floor(step / steps per epoch), whole or not.
    """

    @abstractmethod
    def share(self, epoch: int) -> float:
        """Return sigma_t / sigma_0, of epoch t = 0, 1, ...; that of epoch 0 is 1."""

    def multiplier(self, epoch: int) -> float:
        """Return sigma_t, the noise multiplier of epoch t = 0, 1, ..."""
        share = self.share(epoch)
        if not share >= _LEAST_SHARE:
            raise ValueError(
                f"{self!r} leaves {share:.3g} of its noise in epoch {epoch}; make fewer epochs, or "
                "let it decay more slowly."
            )
        return self.level * share

    def phases(self, n_steps: int, steps_per_epoch: float) -> list[tuple[float, int]]:
        epochs = epochs_of_steps(n_steps, steps_per_epoch)
        each = ((self.multiplier(epoch), count) for epoch, count in epochs)
        groups = groupby(each, key=lambda phase: phase[0])
        return [(sigma, sum(count for _, count in same)) for sigma, same in groups]


def epochs_of_steps(n_steps: int, steps_per_epoch: float) -> Iterator[tuple[int, int]]:
    """Yield (epoch, number of its steps), in order, for as many steps.

    Examples
    --------
    >>> list(epochs_of_steps(9, 2.5))
    [(0, 3), (1, 2), (2, 3), (3, 1)]
    """
    positive(steps_per_epoch=steps_per_epoch)
    made, epoch = 0, 0
    while made < n_steps:
        end = min(n_steps, math.ceil((epoch + 1) * steps_per_epoch * _ROUNDING))
        if end > made:
            yield epoch, end - made
        made, epoch = end, epoch + 1


@final
@dataclass(frozen=True)
class ConstantNoise(EpochSchedule):
    """The same noise multiplier, the level, in every step.

    Parameters
    ----------
    level : float, default=1.0
        The noise multiplier.

    Examples
    --------
    >>> ConstantNoise(2.0).phases(100, 10.0)
    [(2.0, 100)]
    """

    level: float = 1.0

    def share(self, epoch: int) -> float:
        return 1.0

    def phases(self, n_steps: int, steps_per_epoch: float) -> list[tuple[float, int]]:
        return [(self.level, n_steps)]


@final
@dataclass(frozen=True)
class TimeDecay(EpochSchedule):
    """sigma_t = sigma_0 / (1 + k t).

    Parameters
    ----------
    k : float
        Rate, at least 0.
    level : float, default=1.0
        sigma_0, which calibration finds.

    References
    ----------
    Yu, Liu, Pu, Gursoy and Truex (2019), Differentially private model publishing for deep
    learning, section V.

    Examples
    --------
    >>> TimeDecay(0.25, level=10.0).phases(30, 10.0)
    [(10.0, 10), (8.0, 10), (6.666666666666666, 10)]
    """

    k: float

    def __post_init__(self) -> None:
        super().__post_init__()
        non_negative(k=self.k)

    def share(self, epoch: int) -> float:
        return 1 / (1 + self.k * epoch)


@final
@dataclass(frozen=True)
class ExponentialDecay(EpochSchedule):
    """sigma_t = sigma_0 e^(-k t).

    Parameters
    ----------
    k : float
        Rate, at least 0.
    level : float, default=1.0
        sigma_0, which calibration finds.

    References
    ----------
    Yu et al. (2019), Differentially private model publishing for deep learning, section V.

    Examples
    --------
    >>> round(ExponentialDecay(0.01, level=10.0).multiplier(70), 3)
    4.966
    """

    k: float

    def __post_init__(self) -> None:
        super().__post_init__()
        non_negative(k=self.k)

    def share(self, epoch: int) -> float:
        return math.exp(-self.k * epoch)


@final
@dataclass(frozen=True)
class StepDecay(EpochSchedule):
    """sigma_t = sigma_0 k^floor(t / period).

    Parameters
    ----------
    k : float
        What is left of the noise after each period, in (0, 1].
    period : int
        Number of epochs between two decays.
    level : float, default=1.0
        sigma_0, which calibration finds.

    References
    ----------
    Yu et al. (2019), Differentially private model publishing for deep learning, section V.

    Examples
    --------
    >>> StepDecay(0.5, 10, level=8.0).phases(250, 10.0)
    [(8.0, 100), (4.0, 100), (2.0, 50)]
    """

    k: float
    period: int

    def __post_init__(self) -> None:
        super().__post_init__()
        _share_of_1(k=self.k)
        positive_integer(period=self.period)

    def share(self, epoch: int) -> float:
        return float(self.k ** (epoch // self.period))


@final
@dataclass(frozen=True)
class PolynomialDecay(EpochSchedule):
    """sigma_t = sigma_0 ((1 - end) (1 - min(t, period) / period)^k + end).

    Parameters
    ----------
    k : float
        Power, above 0.
    end : float
        The last noise as a share of the first, in (0, 1]: the sigma_end of the source is
        ``end * level``, so that calibration scales the whole shape.
    period : int
        Number of epochs after which the noise is constant.
    level : float, default=1.0
        sigma_0, which calibration finds.

    References
    ----------
    Yu et al. (2019), Differentially private model publishing for deep learning, section V.

    Examples
    --------
    >>> schedule = PolynomialDecay(2, 0.5, 100, level=8.0)
    >>> schedule.multiplier(0), schedule.multiplier(50), schedule.multiplier(1000)
    (8.0, 5.0, 4.0)
    """

    k: float
    end: float
    period: int

    def __post_init__(self) -> None:
        super().__post_init__()
        positive(k=self.k)
        _share_of_1(end=self.end)
        positive_integer(period=self.period)

    def share(self, epoch: int) -> float:
        left = 1 - min(epoch, self.period) / self.period
        return float((1 - self.end) * left**self.k + self.end)


@final
@dataclass(frozen=True)
class ConstantThen(EpochSchedule):
    """sigma_t = sigma_0 for t < start, then that of a schedule which begins there.

    Parameters
    ----------
    schedule : EpochSchedule
        What follows; its level is 1, since `level` is that of the whole.
    start : int
        Number of epochs of constant noise.
    level : float, default=1.0
        sigma_0, which calibration finds.

    References
    ----------
    Yu et al. (2019), Differentially private model publishing for deep learning: their experiments
    on the Cancer data, with exponential decay.

    Examples
    --------
    >>> ConstantThen(StepDecay(0.5, 1), 2, level=4.0).phases(5, 1.0)
    [(4.0, 3), (2.0, 1), (1.0, 1)]
    """

    schedule: EpochSchedule
    start: int

    def __post_init__(self) -> None:
        super().__post_init__()
        positive_integer(start=self.start)
        if getattr(self.schedule, "adaptive", True):
            raise TypeError(
                f"schedule must fix the noise of every epoch beforehand, got {self.schedule!r}: "
                "one that follows what is released has a level of its own."
            )
        if self.schedule.level != 1:
            raise ValueError(
                f"schedule must be at level 1, got {self.schedule!r}: set the level of the whole."
            )

    def share(self, epoch: int) -> float:
        return self.schedule.share(max(0, epoch - self.start))


def _share_of_1(**given: float) -> None:
    for name, value in given.items():
        if not 0 < value <= 1:
            raise ValueError(f"{name} must be in (0, 1], got {value!r}.")

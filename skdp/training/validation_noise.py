"""Noise that decays when the accuracy on validation data stalls."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, final

from skdp._validation import non_negative, positive, positive_integer
from skdp.training.schedules import NoiseSchedule

if TYPE_CHECKING:
    from dp_accounting import DpEvent

    from skdp.privacy.filters import PrivacyFilter

__all__ = ["ValidationDecay"]

_PUBLIC = (
    "The validation data, on which the noise schedule depends, is public: no record of it is "
    "protected."
)
_PRIVATE = (
    "Validation data and training data share no record, for which the user vouches; the number of "
    "validation records is public. Each of them is protected as a training record is: the noise "
    "on the accuracies of all epochs is within the same total (parallel composition)."
)


@final
@dataclass(frozen=True)
class ValidationDecay(NoiseSchedule):
    """The noise is multiplied by `factor` when validation accuracy stops rising.

    Before each epoch e with (e + 1) a multiple of `period`, the mean accuracy of the last `window`
    epochs is compared with that of the check before (0 at first); if it has grown by less than
    `threshold`, the noise decays.

    The noise depends on what was released, so that the run needs a filter: it stops before the
    epoch that would exceed the budget, and promises the budget whatever happened. Validation data
    is public, or `private`: then its records get the same promise as those of the training, by
    Gaussian noise on the number of hits of each epoch.

    Parameters
    ----------
    X_val, y_val : array-like, default=None
        Public validation records and their labels, for a network; None where they are its
        `validation_data`, or private and arguments of its `fit`.
    period : int, default=10
        Number of epochs between two checks.
    threshold : float, default=0.01
        Growth of accuracy that is enough to keep the noise.
    window : int, default=5
        Number of epochs whose accuracies are averaged, at most `period`.
    factor : float, default=0.8
        What is left of the noise after a decay, in (0, 1].
    head_start : float, default=1.25
        sigma_0 over the noise of a run of the planned length that never decays and spends all.
        Above 1, one that never decays does not spend all, and each decay after that shortens the
        run. 1.25 is that of the source on MNIST.
    private : bool, default=False
        Whether validation records are protected. They must be records that the training does not
        use, and a network that is a classifier. The noise on the accuracy of an epoch is about
        sqrt(n_epochs) / (n_validation mu), with mu about epsilon / 4 at delta = 1e-5.
    level : float, default=1.0
        sigma_0, which calibration finds.
    total : PrivacyFilter or None, default=None
        What the run may cost, which calibration sets.

    References
    ----------
    Yu, Liu, Pu, Gursoy and Truex (2019), Differentially private model publishing for deep
    learning, section V.

    Examples
    --------
    >>> schedule = ValidationDecay(period=2, window=1, factor=0.5, level=8.0)
    >>> [schedule.multiplier_after([0.9] * epoch) for epoch in range(6)]
    [8.0, 8.0, 8.0, 4.0, 4.0, 2.0]
    """

    adaptive: ClassVar[bool] = True
    X_val: Any = field(default=None, compare=False, repr=False)
    y_val: Any = field(default=None, compare=False, repr=False)
    period: int = 10
    threshold: float = 0.01
    window: int = 5
    factor: float = 0.8
    head_start: float = 1.25
    private: bool = field(default=False, kw_only=True)
    total: "PrivacyFilter | None" = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        positive_integer(period=self.period, window=self.window)
        non_negative(threshold=self.threshold)
        positive(factor=self.factor, head_start=self.head_start)
        if self.window > self.period:
            raise ValueError(f"window={self.window} is longer than period={self.period}.")
        if self.private and not (self.X_val is None and self.y_val is None):
            raise ValueError(
                "A schedule keeps X_val and y_val: pass private ones to the fit of the network."
            )
        if self.factor > 1:
            raise ValueError(f"factor must be in (0, 1], got {self.factor!r}.")

    def multiplier_after(self, accuracies: Sequence[float]) -> float:
        """Return the noise multiplier of the epoch that follows those with these accuracies."""
        sigma, before = self.level, 0.0
        for epoch in range(self.period - 1, len(accuracies) + 1, self.period):
            recent = accuracies[max(0, epoch - self.window) : epoch]
            if not recent:
                continue
            now = math.fsum(recent) / len(recent)
            sigma *= self.factor if now - before < self.threshold else 1.0
            before = now
        return sigma

    def phases(self, n_steps: int, steps_per_epoch: float) -> list[tuple[float, int]]:
        """Return those of a run that never decays."""
        return [(self.level, n_steps)]

    @property
    def assumption(self) -> str:
        """What a statement assumes of the validation data."""
        return _PRIVATE if self.private else _PUBLIC

    @property
    def promised(self) -> "DpEvent":
        """What the run costs at most, by its filter."""
        return self.filter.event

    @property
    def theorem(self) -> str:
        """That of the filter."""
        return self.filter.theorem

    @property
    def filter(self) -> "PrivacyFilter":
        """The total under which the run is made.

        Raises
        ------
        ValueError
            If none was set.
        """
        if self.total is None:
            raise ValueError("An adaptive schedule needs a total: calibrate the plan first.")
        return self.total

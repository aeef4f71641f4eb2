"""The privacy curve of a release that with some probability does not see the record at all."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from skdp.mechanisms.additive import EPSILON_CAP, AdditiveMechanism
from skdp.privacy.budget import PrivacyBudget

if TYPE_CHECKING:
    from dp_accounting import DpEvent

__all__ = ["AmplifiedRelease", "budget_within"]

# Rounding of the formulas here, each of a few operations.
_SPARE = 2.0**-40


@final
@dataclass(frozen=True)
class AmplifiedRelease:
    """``log(1 + p (e^epsilon - 1))`` at p delta, where `mechanism` is (epsilon, delta)-private.

    With probability 1 - p, secret and independent of the data, the record has no influence; what is
    released then is also what is released without the record, from which the mechanism tells it
    apart no better than from any other record. Advanced joint convexity: Balle, Barthe and Gaboardi
    (2018), Privacy amplification by subsampling, Theorem 2.

    Parameters
    ----------
    mechanism : AdditiveMechanism
        Calibrated to a record that takes part.
    chance : float
        p, in (0, 1].

    Examples
    --------
    >>> from skdp.mechanisms import LaplaceMechanism
    >>> from skdp.privacy.budget import Neighbours, Sensitivity
    >>> moved = Sensitivity(1.0, "l1", Neighbours.REPLACE_ONE)
    >>> laplace = LaplaceMechanism.calibrated(moved, PrivacyBudget(1.0), size=1)
    >>> round(AmplifiedRelease(laplace, 0.1).epsilon_at(1e-9), 3)
    0.159
    """

    mechanism: AdditiveMechanism
    chance: float

    def delta_at(self, epsilon: float) -> float:
        """Least delta proved at `epsilon`, finite precision included."""
        return self.chance * self.mechanism.delta_at(_without(epsilon, self.chance))

    def epsilon_at(self, delta: float) -> float:
        """Least epsilon proved at `delta`; infinite where there is none."""
        whole = self.mechanism.epsilon_at(min(1.0, delta / self.chance * (1 - _SPARE)))
        return math.inf if math.isinf(whole) else _with(whole, self.chance)

    @property
    def theorem(self) -> str:
        """What the guarantee rests on, with its sources."""
        return (
            f"{self.mechanism.theorem}. A record that sits out every pass has no influence (Balle, "
            "Barthe and Gaboardi 2018, Theorem 2)"
        )

    @property
    def event(self) -> "DpEvent":
        """The pair (epsilon, delta) alone: of such a mixture accountants know no more."""
        from skdp.privacy.events import PureReleaseDpEvent

        total = self.mechanism.total_sensitivity
        epsilon = self.mechanism.epsilon
        return PureReleaseDpEvent(
            epsilon=_with(epsilon, self.chance),
            delta=self.chance * self.mechanism.delta_at(epsilon) * (1 + _SPARE),
            sensitivity=total.value,
            norm=total.norm,
            neighbours=total.neighbours.value,
            noise_scale=self.mechanism.noise_scale,
        )


def budget_within(budget: PrivacyBudget, chance: float) -> PrivacyBudget:
    """Return what a mechanism may cost a record that takes part with probability `chance`."""
    if chance == 1:
        return budget
    epsilon = _without(min(budget.epsilon, EPSILON_CAP), chance)
    return PrivacyBudget(epsilon, min(budget.delta / chance, 0.5) * (1 - _SPARE))


def _with(epsilon: float, chance: float) -> float:
    return math.log1p(chance * math.expm1(epsilon)) * (1 + _SPARE)


def _without(epsilon: float, chance: float) -> float:
    """The inverse, rounded down; for large epsilon, epsilon - log(chance)."""
    if epsilon > 600:
        return epsilon
    return math.log1p(math.expm1(epsilon) / chance) * (1 - _SPARE)

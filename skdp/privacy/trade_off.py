"""What a privacy curve lets an attacker do.

All bounds come from points of a curve delta(epsilon), each of which is a proved statement. A
search for the best point therefore can only be loose, never wrong.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, final

from scipy.optimize import minimize_scalar

from skdp.privacy.budget import PrivacyBudget
from skdp.privacy.pure_curve import pure_delta, pure_epsilon

__all__ = ["BudgetCurve", "PrivacyCurve", "attack_power", "belief_range", "privacy_loss_bound"]

_LARGEST_EXPONENT = 700.0


class PrivacyCurve(Protocol):
    """All pairs (epsilon, delta) that are proved for one release, or for a series of them."""

    def delta_at(self, epsilon: float) -> float:
        """Least delta proved at an epsilon >= 0."""

    def epsilon_at(self, delta: float) -> float:
        """Least epsilon proved at a delta in [0, 1]; infinite where there is none."""


@final
@dataclass(frozen=True)
class BudgetCurve:
    """delta(x) = delta + (1 - delta) (e^epsilon - e^x)+ / (1 + e^epsilon).

    All that follows from one pair (epsilon, delta): with probability delta everything is
    revealed, otherwise randomised response is run.

    Attributes
    ----------
    budget : PrivacyBudget
        The pair.

    References
    ----------
    Kairouz, Oh and Viswanath (2015), The composition theorem for differential privacy.

    Examples
    --------
    >>> from skdp.privacy import PrivacyBudget
    >>> round(BudgetCurve(PrivacyBudget(1.0)).delta_at(0.0), 4)
    0.4621
    """

    budget: PrivacyBudget

    def delta_at(self, epsilon: float) -> float:
        """Least delta proved at `epsilon`."""
        revealed = self.budget.delta
        return min(1.0, revealed + (1 - revealed) * pure_delta(self.budget.epsilon, epsilon))

    def epsilon_at(self, delta: float) -> float:
        """Least epsilon proved at `delta`."""
        if delta < self.budget.delta:
            return math.inf
        left = (delta - self.budget.delta) / (1 - self.budget.delta)
        return pure_epsilon(self.budget.epsilon, left)


def attack_power(curve: PrivacyCurve, false_positive_rate: float) -> float:
    """1 - max over epsilon >= 0 of 1 - delta - e^epsilon a and e^-epsilon (1 - delta - a).

    The greatest true positive rate of any test between two neighbouring data sets at false
    positive rate a: one minus the trade-off function of the curve.

    Parameters
    ----------
    curve : PrivacyCurve
        What is proved.
    false_positive_rate : float
        In [0, 1].

    Returns
    -------
    float
        In [0, 1], at least `false_positive_rate`.

    References
    ----------
    Wasserman and Zhou (2010), A statistical framework for differential privacy; Dong, Roth and
    Su (2022), Gaussian differential privacy, Proposition 2.12.

    Examples
    --------
    >>> from skdp.privacy import PrivacyBudget
    >>> round(attack_power(BudgetCurve(PrivacyBudget(1.0)), 0.01), 4)
    0.0272
    """
    rate = false_positive_rate
    if not 0 <= rate <= 1:
        raise ValueError(f"false_positive_rate must be in [0, 1], got {rate!r}.")

    def steep(epsilon: float) -> float:
        return 1 - curve.delta_at(epsilon) - math.exp(epsilon) * rate

    def flat(epsilon: float) -> float:
        return math.exp(-epsilon) * (1 - curve.delta_at(epsilon) - rate)

    # Beyond these ends the two functions only fall: at the second one flat has passed half of
    # the most that it can be.
    end_of_steep = -math.log(rate) if rate > math.exp(-_LARGEST_EXPONENT) else _LARGEST_EXPONENT
    end_of_flat = min(curve.epsilon_at((1 - rate) / 2) + math.log(2), _LARGEST_EXPONENT)
    missed = max(_maximum(steep, 0.0, end_of_steep), _maximum(flat, 0.0, end_of_flat), 0.0)
    return min(1.0, max(1 - missed, rate))


def belief_range(privacy_loss: float, prior: float = 0.5) -> tuple[float, float]:
    """Interval from p / (p + (1 - p) e^l) to p / (p + (1 - p) e^-l).

    Where a belief of p can move when the privacy loss is at most l in absolute value.

    Parameters
    ----------
    privacy_loss : float
        At least 0; may be infinite.
    prior : float, default=0.5
        The belief before the release, in (0, 1).

    Returns
    -------
    tuple of two floats
        The least and the greatest belief afterwards.

    References
    ----------
    Wood et al. (2018), Differential privacy: a primer for a non-technical audience, section IV.

    Examples
    --------
    >>> low, high = belief_range(1.0)
    >>> round(low, 3), round(high, 3)
    (0.269, 0.731)
    """
    shrunk = math.exp(-privacy_loss)
    low = prior * shrunk / (prior * shrunk + (1 - prior))
    return low, prior / (prior + (1 - prior) * shrunk)


def privacy_loss_bound(curve: PrivacyCurve, chance: float) -> float:
    """Minimum over epsilon of epsilon - log(1 - (1 + e^-epsilon) delta(epsilon) / chance).

    A number that the privacy loss of the output exceeds, in absolute value, with probability at
    most `chance`, whichever of the two neighbouring data sets is the true one. Since
    delta(e) = E_P[(1 - e^(e - L))+], P(L > l) <= delta(e) / (1 - e^(e - l)) for every e < l; and
    P(L < -l) <= e^-l Q(L < -l), where the same bound holds for Q.

    Parameters
    ----------
    curve : PrivacyCurve
        What is proved, in both directions.
    chance : float
        In [0, 1).

    Returns
    -------
    float
        Infinite where the curve gives no bound.

    Examples
    --------
    >>> from skdp.privacy import PrivacyBudget
    >>> round(privacy_loss_bound(BudgetCurve(PrivacyBudget(1.0)), 1e-9), 6)
    1.0
    """
    if not 0 <= chance < 1:
        raise ValueError(f"chance must be in [0, 1), got {chance!r}.")
    start = curve.epsilon_at(chance / 2)
    if chance == 0 or start == math.inf:
        return start

    def negated(epsilon: float) -> float:
        weighed = (1 + math.exp(-epsilon)) * curve.delta_at(epsilon) / chance
        return math.log1p(-weighed) - epsilon if weighed < 1 else -math.inf

    end = curve.epsilon_at(chance * 1e-9)
    return -_maximum(negated, start, end if end < math.inf else start + 10.0)


def _maximum(function: Callable[[float], float], low: float, high: float) -> float:
    """Maximum of a function with a single peak in [low, high]; what it returns is a value of it."""
    ends = max(function(low), function(high))
    if high <= low:
        return ends

    def falling(point: float) -> float:
        return -max(function(point), -1e300)

    found = minimize_scalar(falling, bounds=(low, high), method="bounded", options={"xatol": 1e-10})
    return max(ends, -float(found.fun))

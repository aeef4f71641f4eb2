"""The least noise that keeps a budget, for any family of events."""

import math
from collections.abc import Callable

from dp_accounting import DpEvent
from scipy.optimize import brentq

from skdp._validation import positive
from skdp.privacy.accounting import epsilon_of
from skdp.privacy.budget import PrivacyBudget

__all__ = ["RELATIVE_TOLERANCE", "calibrate"]

RELATIVE_TOLERANCE = 1e-6
_DOUBLINGS = 200


def calibrate(
    make_event: Callable[[float], DpEvent],
    budget: PrivacyBudget,
    bracket: tuple[float, float] = (1.0, 2.0),
) -> float:
    """Return the least noise whose event keeps the budget.

    The cost of what is returned has been evaluated and lies within the budget, whatever the
    accuracy of the search; where the cost falls continuously with the noise, a noise that is
    smaller by more than a few `RELATIVE_TOLERANCE` does not.

    Parameters
    ----------
    make_event : callable
        Takes the noise (a positive number; more of it costs less) and returns the event.
    budget : PrivacyBudget
        What the event may cost.
    bracket : tuple of two floats, default=(1.0, 2.0)
        Where to search first; moved, by doubling or halving, where it does not hold the answer.
        Convolutions are slow for very little noise, so a wide bracket is a waste.

    Returns
    -------
    float
        The noise.

    Raises
    ------
    ValueError
        If no amount of noise keeps the budget (Gaussian noise at delta = 0, say), or none is
        needed.
    UnsupportedEventError
        If no accountant has a bound for the event.

    Examples
    --------
    >>> from dp_accounting import GaussianDpEvent
    >>> from skdp.privacy.budget import PrivacyBudget
    >>> round(calibrate(GaussianDpEvent, PrivacyBudget(1.0, 1e-6)), 4)
    4.2247
    """
    low, high = bracket
    positive(low=low, high=high)
    if low >= high:
        raise ValueError(f"bracket must be increasing, got {bracket!r}.")

    def excess(noise: float) -> float:
        spent = epsilon_of(make_event(noise), budget.delta)
        # Bounded, because the root finder interpolates; the sign is that of the comparison.
        ratio = min(max(spent, 1e-300) / budget.epsilon, 1e6)
        return max(math.log(ratio), 1e-15) if spent > budget.epsilon else min(math.log(ratio), 0)

    low, high = _bracketing(low, high, excess)
    found = brentq(excess, low, high, xtol=low * RELATIVE_TOLERANCE, rtol=RELATIVE_TOLERANCE)
    step = RELATIVE_TOLERANCE
    while excess(found) > 0:
        found *= 1 + step
        step *= 2
    return float(found)


def _bracketing(low: float, high: float, excess: Callable[[float], float]) -> tuple[float, float]:
    for _ in range(_DOUBLINGS):
        if excess(high) > 0:
            low, high = high, 2 * high
        elif excess(low) <= 0:
            low, high = low / 2, low
        else:
            return low, high
    raise ValueError(
        "No noise meets the budget exactly: with delta = 0 Gaussian noise never does, and an "
        "event without cost always does."
    )

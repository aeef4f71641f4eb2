"""The least noise that keeps a budget, for any family of events."""

import math
from collections.abc import Callable

from dp_accounting import DpEvent
from scipy.optimize import brentq

from skdp._validation import positive
from skdp.privacy.accounting import epsilon_of, rough_epsilon_of
from skdp.privacy.budget import PrivacyBudget

__all__ = ["RELATIVE_TOLERANCE", "calibrate"]

RELATIVE_TOLERANCE = 1e-6
_DOUBLINGS = 200
# How near the rough search goes before the fine one starts.
_NEAR = 1e-3


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

    def rough(noise: float) -> float:
        return _excess(rough_epsilon_of(make_event(noise), budget.delta), budget)

    def fine(noise: float) -> float:
        return _excess(epsilon_of(make_event(noise), budget.delta), budget)

    low, high = _bracketing(low, high, rough)
    start = float(brentq(rough, low, high, xtol=low * _NEAR, rtol=_NEAR))
    steepness = (rough(high) - rough(low)) / math.log(high / low)
    return _refined(start, fine, steepness)


def _excess(spent: float, budget: PrivacyBudget) -> float:
    """log(spent / budget), bounded for root finders; its sign is that of the comparison."""
    ratio = math.log(min(max(spent / budget.epsilon, 1e-6), 1e6))
    return max(ratio, 1e-15) if spent > budget.epsilon else min(ratio, 0.0)


def _bracketing(low: float, high: float, excess: Callable[[float], float]) -> tuple[float, float]:
    for _ in range(_DOUBLINGS):
        if excess(high) > 0:
            low, high = high, 2 * high
        elif excess(low) <= 0:
            low, high = low / 2, low
        else:
            return low, high
    raise ValueError(
        "No noise meets the budget exactly: Gaussian noise never does with delta = 0, or one too "
        "small for finite precision, and an event without cost always does. Set a larger delta, "
        "such as 1e-6, well below 1 / n_samples."
    )


def _refined(noise: float, excess: Callable[[float], float], steepness: float) -> float:
    """Secant steps, few because each costs; halving where they leave what is known."""
    too_little, enough, before = 0.0, math.inf, None
    slope = min(max(steepness, -20.0), -0.1)
    for _ in range(_DOUBLINGS):
        value = excess(noise)
        too_little, enough = (noise, enough) if value > 0 else (too_little, noise)
        if -RELATIVE_TOLERANCE <= value <= 0 or enough <= too_little * (1 + RELATIVE_TOLERANCE):
            return enough
        if before is not None:
            steep = (value - before[1]) / math.log(noise / before[0])
            slope = min(max(steep, -20.0), -0.1)
        before = noise, value
        # Aimed at the middle of what ends the search.
        step = -(value + RELATIVE_TOLERANCE / 2) / slope
        noise *= math.exp(min(max(step, -0.7), 0.7))
        if not too_little < noise < enough:
            noise = math.sqrt(too_little * enough)
    raise ValueError("The cost of the event does not fall with its noise.")

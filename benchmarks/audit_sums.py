"""What theory lets an attacker see of a sum of noisy gradients, and how surely a control is found.

A curve maps epsilon to the least delta of a pair of laws, either way round.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import ndtr

from skdp.audit.claims import Claim
from skdp.audit.counts import at_least, at_most, delta_shown, geometric_sum

Curve = Callable[[float], float]

_ERROR_RATE = 0.05
#: Standard deviations beyond the outermost shifts, and thresholds tried for a chance.
_TAIL, _CELLS, _THRESHOLDS = 9.0, 1500, 80


def epsilon_shown(curve: Curve, delta: float, distance: int = 1) -> float:
    """Return the least epsilon of one record that a pair so many records apart allows."""
    low, high = 0.0, 50.0
    for _ in range(60):
        middle = (low + high) / 2
        allowed = min(1.0, delta * geometric_sum(middle, distance))
        low, high = (middle, high) if curve(distance * middle) > allowed else (low, middle)
    return high


@dataclass(frozen=True)
class SumLaw:
    """A number that is N(s, 1) on D and N(-r, 1) on D', with random shifts s, r >= 0.

    The sum of all released gradients in the direction of a canary's, in units of its noise, where
    the canary takes part in a random number of steps, and what stands in its place on D' in as
    many, and others do not pull that way.

    Attributes
    ----------
    shifts : tuple of float
        What s may be.
    chances : tuple of float
        How likely each of them is.
    opposite : tuple of float
        What r may be, each as likely; empty for 0.
    """

    shifts: tuple[float, ...]
    chances: tuple[float, ...] = (1.0,)
    opposite: tuple[float, ...] = ()

    @classmethod
    def of_draws(cls, mu: float, n_steps: int, rate: float, replaced: bool) -> "SumLaw":
        """Return the law where one release shows mu, and a record is in each step by chance.

        A record that is replaced pulls half as far, and as far the other way on D'.
        """
        from scipy.stats import binom

        times = np.arange(n_steps + 1)
        shifts = (mu * times / math.sqrt(n_steps) / (2 if replaced else 1)).tolist()
        chances = binom.pmf(times, n_steps, rate).tolist()
        return cls(tuple(shifts), tuple(chances), tuple(shifts) if replaced else ())

    @classmethod
    def mixed(cls, laws: "list[SumLaw]") -> "SumLaw":
        """Return what is seen by whoever does not know which of these laws it is."""
        each = [(law.shifts, law.chances, law.opposite) for law in laws]
        shifts, chances, opposite = (tuple(sum(some, ())) for some in zip(*each, strict=True))
        return cls(shifts, tuple(chance / len(laws) for chance in chances), opposite)

    def at_noise(self, share: float) -> "SumLaw":
        """Return the law with this share of the noise."""
        shifts, opposite = (tuple(s / share for s in some) for some in (self.shifts, self.opposite))
        return SumLaw(shifts, self.chances, opposite)

    def curve(self, epsilon: float) -> float:
        """Return the least delta at this epsilon; the likelihood ratio grows with the number."""
        likely, unlikely = self.tails(self._thresholds(_CELLS))
        return float(delta_shown(likely, unlikely, epsilon).max())

    def tails(self, thresholds: Any) -> tuple[Any, Any]:
        """P[number >= threshold] on D and on D'."""
        chances = np.array(self.chances)
        likely = chances @ ndtr(np.array(self.shifts)[:, None] - thresholds)
        unlikely = ndtr(-thresholds)
        if self.opposite:
            unlikely = chances @ ndtr(-np.array(self.opposite)[:, None] - thresholds)
        return np.minimum(likely, 1.0), np.minimum(unlikely, 1.0)

    def chance(self, n_counted: int, claim: Claim, distance: int = 1) -> float:
        """How likely so many fits are to accuse, by the best of the thresholds."""
        tails = zip(*self.tails(self._thresholds(_THRESHOLDS)), strict=True)
        return max(chance_of_accusing(*pair, n_counted, claim, distance) for pair in tails)

    def _thresholds(self, number: int) -> Any:
        return np.linspace(
            -max(self.opposite, default=0.0) - _TAIL, max(self.shifts) + _TAIL, number
        )


def chance_of_accusing(
    likely: float, unlikely: float, n_counted: int, claim: Claim, distance: int = 1
) -> float:
    """How likely counts of an event with these probabilities are to contradict a claim."""
    from scipy.stats import binom

    least = _least_hits(n_counted, claim, distance)
    chances = binom.pmf(np.arange(n_counted + 1), n_counted, unlikely)
    return float(chances @ binom.sf(least - 1, n_counted, likely))


@lru_cache(maxsize=32)
def _least_hits(n: int, claim: Claim, distance: int) -> Any:
    """By hits on D', with how many on D, or more, the claim is contradicted; n + 1 for never."""
    assert claim.epsilon is not None
    hits = np.arange(n + 1)
    likely, unlikely = at_least(hits, n, _ERROR_RATE / 2), at_most(hits, n, _ERROR_RATE / 2)
    shown = delta_shown(likely, unlikely[:, None], distance * claim.epsilon)
    accused = shown > claim.delta * geometric_sum(claim.epsilon, distance)
    return np.where(accused.any(axis=1), accused.argmax(axis=1), n + 1)


def mean_curve(laws: Any) -> Curve:
    """Curve of a law drawn from these, each as likely, which the attacker is told."""
    return lambda epsilon: float(np.mean([law.curve(epsilon) for law in laws]))

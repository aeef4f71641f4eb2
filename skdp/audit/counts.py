"""Lower bounds on epsilon and delta from counts, valid with a stated probability.

An event is chosen first; then it happens k times in n releases on D and k' times in n' on D'.
Clopper and Pearson (1934): with probability 1 - a, p >= B(a; k, n - k + 1), the a-quantile of a
beta law, and likewise above. Both bounds together fail with probability `error_rate` at most.
"""

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy.special import betaincinv, ndtri

__all__ = [
    "EventCounts",
    "at_least",
    "at_most",
    "delta_shown",
    "epsilon_shown",
    "geometric_sum",
    "mu_shown",
]

_LARGEST_EXPONENT = 700.0


def geometric_sum(epsilon: float, distance: int) -> float:
    """1 + e^epsilon + ... + e^((distance - 1) epsilon): by it delta grows over as many neighbours.

    References
    ----------
    Vadhan (2017), The complexity of differential privacy, Lemma 2.2.

    Examples
    --------
    >>> geometric_sum(0.0, 3), geometric_sum(2000.0, 1)
    (3.0, 1.0)
    """
    return sum(math.exp(min(step * epsilon, _LARGEST_EXPONENT)) for step in range(distance))


def at_least(hits: Any, trials: Any, error_rate: float) -> Any:
    """Lower confidence bound on the probability of an event seen `hits` times, elementwise."""
    hits = np.asarray(hits, dtype=np.float64)
    some = np.maximum(hits, np.finfo(float).tiny)
    return np.where(hits > 0, betaincinv(some, trials - hits + 1, error_rate), 0.0)[()]


def at_most(hits: Any, trials: Any, error_rate: float) -> Any:
    """Upper confidence bound on the probability of an event seen `hits` times, elementwise."""
    return 1.0 - at_least(trials - np.asarray(hits), trials, error_rate)


def epsilon_shown(likely: Any, unlikely: Any, delta: float = 0.0) -> Any:
    """Maximum of log((p - delta)/q), log((1 - q - delta)/(1 - p)) and 0, elementwise.

    From p <= e^epsilon q + delta for the event and, the other way round, for its complement.

    Parameters
    ----------
    likely, unlikely : float or ndarray
        A lower bound p on the probability on D, and an upper bound q on that on D'.
    delta : float, default=0.0
        The delta of the guarantee.

    Returns
    -------
    float or ndarray
        Every (epsilon, delta)-guarantee has at least this epsilon.

    References
    ----------
    Kairouz, Oh and Viswanath (2015), The composition theorem for differential privacy.
    """
    likely, unlikely = np.asarray(likely, dtype=float), np.asarray(unlikely, dtype=float)
    return np.maximum(
        np.maximum(
            _log_ratio(likely - delta, unlikely), _log_ratio(1 - unlikely - delta, 1 - likely)
        ),
        0.0,
    )[()]


def delta_shown(likely: Any, unlikely: Any, epsilon: float) -> Any:
    """Maximum of p - e^epsilon q, 1 - q - e^epsilon (1 - p) and 0, elementwise."""
    likely, unlikely = np.asarray(likely, dtype=float), np.asarray(unlikely, dtype=float)
    factor = np.exp(epsilon)
    shown = np.maximum(likely - factor * unlikely, 1 - unlikely - factor * (1 - likely))
    return np.maximum(shown, 0.0)[()]


def mu_shown(likely: Any, unlikely: Any) -> Any:
    """Phi^-1(p) - Phi^-1(q), at least 0: the mu that a Gaussian trade-off curve must have.

    References
    ----------
    Dong, Roth and Su (2022), Gaussian differential privacy; Nasr et al. (2023), Tight auditing of
    differentially private machine learning, section 4.
    """
    with np.errstate(invalid="ignore"):
        difference = ndtri(likely) - ndtri(unlikely)
    return np.maximum(np.nan_to_num(difference, nan=0.0, posinf=np.inf, neginf=0.0), 0.0)[()]


@final
@dataclass(frozen=True)
class EventCounts:
    """How often an event happened on D, where it is likelier, and on D'.

    Every method holds for the true value with probability 1 - `error_rate` at least, all of them
    together too, since they rest on the same two confidence bounds.

    Parameters
    ----------
    hits, trials : int
        On D.
    hits_other, trials_other : int
        On D'.
    error_rate : float
        In (0, 1).

    Examples
    --------
    >>> from skdp.audit import EventCounts
    >>> counts = EventCounts(700, 1000, 100, 1000, error_rate=0.05)
    >>> round(counts.epsilon(), 3), round(counts.delta(1.0), 3)
    (1.718, 0.344)
    """

    hits: float
    trials: int
    hits_other: float
    trials_other: int
    error_rate: float

    @property
    def probability(self) -> float:
        """Lower bound on the probability on D."""
        return float(at_least(self.hits, self.trials, self.error_rate / 2))

    @property
    def other_probability(self) -> float:
        """Upper bound on the probability on D'."""
        return float(at_most(self.hits_other, self.trials_other, self.error_rate / 2))

    def epsilon(self, delta: float = 0.0, distance: int = 1) -> float:
        """Every (epsilon, delta)-guarantee has at least this epsilon; 0 if nothing is shown.

        Of one record, where the data sets are so many records apart: the least epsilon with
        p <= e^(k epsilon) q + delta (1 + ... + e^((k - 1) epsilon)), either way round.
        """
        p, q = self.probability, self.other_probability
        shown = float(epsilon_shown(p, q, delta))
        if distance == 1 or delta == 0 or shown == 0:
            return shown / distance
        # Division is too much: delta grows with the distance. Bisection ends on the low side.
        low, high = 0.0, min(shown, _LARGEST_EXPONENT) / distance
        for _ in range(60):
            middle = (low + high) / 2
            total = min(1.0, delta * geometric_sum(middle, distance))
            excess = delta_shown(p, q, distance * middle) > total
            low, high = (middle, high) if excess else (low, middle)
        return low

    def delta(self, epsilon: float, distance: int = 1) -> float:
        """Every (epsilon, delta)-guarantee has at least this delta; 0 if nothing is shown.

        Of one record, where the data sets are so many records apart.
        """
        p, q = self.probability, self.other_probability
        shown = delta_shown(p, q, min(distance * epsilon, _LARGEST_EXPONENT))
        return float(shown) / geometric_sum(epsilon, distance)

    def mu(self, distance: int = 1) -> float:
        """If the trade-off curve is that of N(mu, 1) against N(0, 1), mu is at least this.

        Of one record: a curve of mu becomes one of k mu over k records (Dong, Roth and Su 2022).
        """
        return float(mu_shown(self.probability, self.other_probability)) / distance


def _log_ratio(numerator: Any, denominator: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log(numerator) - np.log(denominator)
    return np.where(numerator > 0, ratio, -np.inf)

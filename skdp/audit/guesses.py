"""What right guesses of independent coins show of epsilon."""

import math

import numpy as np
from scipy.special import bdtrc, expit, gammaln

from skdp.audit.counts import geometric_sum

__all__ = ["epsilon_of_guesses", "guessing_p_value"]

_LARGEST_EPSILON = 50.0


def guessing_p_value(
    n_canaries: int, n_guesses: int, n_right: int, epsilon: float, delta: float = 0.0
) -> float:
    """P(B >= v) + 2 m delta max over i of P(v - i <= B < v)/i, B ~ Bin(r, e^eps/(1 + e^eps)).

    How likely an attacker on an (epsilon, delta)-private run is, at most, to guess so many coins.

    Parameters
    ----------
    n_canaries : int
        m, coins that were flipped.
    n_guesses : int
        r, coins that were guessed.
    n_right : int
        v, guesses that were right.
    epsilon, delta : float
        The hypothesis.

    Returns
    -------
    float
        In [0, 1].

    References
    ----------
    Steinke, Nasr and Jagielski (2023), Privacy auditing with one (1) training run, Theorem 5.2.

    Examples
    --------
    >>> round(guessing_p_value(100, 100, 80, 1.0), 3)
    0.072
    """
    chance = float(expit(epsilon))
    tail = float(bdtrc(n_right - 1, n_guesses, chance)) if n_right > 0 else 1.0
    if delta == 0 or n_right == 0:
        return min(1.0, tail)
    below = np.arange(n_right - 1, -1, -1.0)
    logs = gammaln(n_guesses + 1) - gammaln(below + 1) - gammaln(n_guesses - below + 1)
    # 1 - chance by its own formula: it is tiny where epsilon is large.
    logs = logs + below * math.log(chance) + (n_guesses - below) * math.log(float(expit(-epsilon)))
    largest = float((np.cumsum(np.exp(logs)) / np.arange(1, n_right + 1)).max())
    return min(1.0, tail + 2 * n_canaries * delta * largest)


def epsilon_of_guesses(
    n_canaries: int,
    n_guesses: int,
    n_right: int,
    *,
    delta: float = 0.0,
    error_rate: float = 0.05,
    distance: int = 1,
) -> float:
    """Return the largest epsilon whose p-value is at most `error_rate`, at least 0.

    Where a coin changes so many records, epsilon and delta are those of one of them.

    Examples
    --------
    >>> round(epsilon_of_guesses(1000, 100, 100), 2)
    3.49
    """

    def excess(epsilon: float) -> float:
        total = min(1.0, delta * geometric_sum(epsilon, distance))
        value = guessing_p_value(n_canaries, n_guesses, n_right, distance * epsilon, total)
        return value - error_rate

    if n_guesses == 0 or excess(0.0) > 0:
        return 0.0
    if excess(_LARGEST_EPSILON) <= 0:
        return _LARGEST_EPSILON
    # Bisection keeps the side on which the p-value is small enough.
    low, high = 0.0, _LARGEST_EPSILON
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) <= 0 else (low, middle)
    return low

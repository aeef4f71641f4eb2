"""How many of very many independent events with probability 1/m happen, decided exactly."""

import math
from bisect import bisect_right
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from skdp._random import RandomSource
from skdp.mechanisms.continuous import refined, uniforms

__all__ = ["TOTAL_VARIATION", "binomial"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

TOTAL_VARIATION = 2.0**-170
"""Total variation of one number to the binomial: what lies outside the window."""

_LOG_WINDOW = 120.0
_FIXED_POINT = 512


def binomial(n: int, m: int, rng: RandomSource) -> int:
    """Draw a Binomial(n, 1/m) number.

    Inversion of a uniform, with the outcomes in the order of rising probability, so that also
    unlikely ones have a relatively precise share. What double precision cannot settle, some once
    in 2^30 draws, is decided with 192 more bits and integers of 512 bits.

    Parameters
    ----------
    n : int
        How many events there are, at least 1.
    m : int
        Reciprocal of their probability, at least 2.
    rng : RandomSource
        Where the bits come from.

    Notes
    -----
    By Bernstein's inequality more than (2 n x / m)^(1/2) + x away from n/m lies a probability of
    at most 2 e^-x; x = 120 here. The ratio of the probabilities of k + 1 and k is
    (n - k) / ((k + 1) (m - 1)), and a product of w such ratios errs by at most 3 w 2^-53.

    Examples
    --------
    >>> from skdp._random import RandomSource
    >>> 100 < binomial(2 * 10**9, 10**7, RandomSource.from_seed(0)) < 300
    True
    """
    outcomes, weights = _window(n, m)
    order = np.argsort(weights)
    cumulative = np.cumsum(weights[order])
    uniform = float(uniforms(1, rng)[0])
    target = uniform * cumulative[-1]
    margin = cumulative * (16 * (outcomes.size + 4) * 2.0**-53)
    first, last = (int(np.searchsorted(cumulative + shift, target)) for shift in (margin, -margin))
    if first == last:
        return int(outcomes[order[first]])
    return int(outcomes[_decide(uniform, n, m, outcomes, order, rng)])


def _window(n: int, m: int) -> tuple[Indices, Floats]:
    """Outcomes near the mode and their probabilities, as multiples of the mode's."""
    mode = (n + 1) // m
    reach = math.ceil(math.sqrt(2 * n / m * _LOG_WINDOW) + _LOG_WINDOW) + 2
    below = np.arange(mode, max(0, mode - reach), -1, dtype=np.float64)
    above = np.arange(mode, min(n, mode + reach), dtype=np.float64)
    down = np.cumprod(below * (m - 1) / (n - below + 1))
    up = np.cumprod((n - above) / ((above + 1) * (m - 1)))
    outcomes = np.arange(mode - below.size, mode + above.size + 1)
    return outcomes, np.concatenate([down[::-1], [1.0], up])


def _decide(
    uniform: float, n: int, m: int, outcomes: Indices, order: Indices, rng: RandomSource
) -> int:
    """Place of the outcome in `outcomes`, in fixed-point arithmetic of 512 bits."""
    weights = _integer_weights(n, m, outcomes)
    cumulative = list(accumulate(weights[place] for place in order))
    target = refined(uniform, rng) * cumulative[-1]
    return int(order[bisect_right(cumulative, target)])


def _integer_weights(n: int, m: int, outcomes: Indices) -> list[int]:
    lowest, highest = int(outcomes[0]), int(outcomes[-1])
    mode = (n + 1) // m
    up, down = [1 << _FIXED_POINT], []
    for k in range(mode, highest):
        up.append(up[-1] * (n - k) // ((k + 1) * (m - 1)))
    weight = 1 << _FIXED_POINT
    for k in range(mode, lowest, -1):
        weight = weight * k * (m - 1) // (n - k + 1)
        down.append(weight)
    return down[::-1] + up

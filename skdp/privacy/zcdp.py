"""Zero-concentrated differential privacy: D_a(P||Q) <= rho a for every order a > 1.

What Gaussian noise without sampling costs is mu = sqrt(2 rho) exactly (`gaussian_curve`); the
conversions here hold for any mechanism of which only rho is known.
"""

import math
from collections.abc import Callable

from scipy.optimize import minimize_scalar

from skdp._validation import non_negative, positive

__all__ = ["zcdp_delta", "zcdp_epsilon", "zcdp_rho"]

_ROUNDED_UP = 1 + 1e-12
#: Logarithms of a - 1 that are looked at.
_RANGE = (-20.0, 25.0)


def zcdp_delta(rho: float, epsilon: float) -> float:
    """Min over a > 1 of e^((a-1)(a rho - epsilon)) (1 - 1/a)^a / (a - 1).

    The least delta that is known for rho alone, rounded upwards.

    Parameters
    ----------
    rho : float
        Above 0.
    epsilon : float
        At least 0.

    Returns
    -------
    float
        In [0, 1].

    References
    ----------
    Canonne, Kamath and Steinke (2020), The discrete Gaussian for differential privacy,
    Corollary 13.

    Examples
    --------
    >>> 0.99e-5 < zcdp_delta(0.78125, 6.1231) < 1e-5
    True
    """
    positive(rho=rho)
    non_negative(epsilon=epsilon)

    def log_delta(log_rest: float) -> float:
        rest = math.exp(log_rest)
        order = 1 + rest
        return rest * (order * rho - epsilon) - log_rest + order * (log_rest - math.log1p(rest))

    return min(1.0, math.exp(min(0.0, _least(log_delta))) * _ROUNDED_UP)


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Min over a > 1 of a rho + log(1 - 1/a) - (log delta + log a) / (a - 1).

    The inverse of `zcdp_delta`, rounded upwards.

    Parameters
    ----------
    rho : float
        Above 0.
    delta : float
        In (0, 1).

    Returns
    -------
    float
        At least 0.

    References
    ----------
    Canonne, Kamath and Steinke (2020), The discrete Gaussian for differential privacy,
    Proposition 12; Balle, Barthe, Gaboardi, Hsu and Sato (2020), Hypothesis testing
    interpretations and Renyi differential privacy, Theorem 21.

    Examples
    --------
    >>> round(zcdp_epsilon(0.78125, 1e-5), 3)
    6.123
    """
    positive(rho=rho)
    _inside(delta)

    def epsilon(log_rest: float) -> float:
        rest = math.exp(log_rest)
        log_order = math.log1p(rest)
        return (1 + rest) * rho + log_rest - log_order - (math.log(delta) + log_order) / rest

    return max(0.0, _least(epsilon) * _ROUNDED_UP)


def zcdp_rho(epsilon: float, delta: float) -> float:
    """Max over a > 1 of (epsilon - log(1 - 1/a) + (log delta + log a) / (a - 1)) / a.

    The greatest rho with zcdp_epsilon(rho, delta) <= epsilon, rounded downwards.

    Parameters
    ----------
    epsilon : float
        Above 0.
    delta : float
        In (0, 1).

    Returns
    -------
    float
        Above 0.

    Examples
    --------
    >>> round(zcdp_rho(6.1231, 1e-5), 3)
    0.781
    """
    positive(epsilon=epsilon)
    _inside(delta)

    def lacking(log_rest: float) -> float:
        rest = math.exp(log_rest)
        log_order = math.log1p(rest)
        gained = epsilon - log_rest + log_order
        lost = -(math.log(delta) + log_order) / rest
        return (lost + abs(lost) * 1e-12 - gained * (1 - 1e-12)) / (1 + rest)

    return -_least(lacking)


def _inside(delta: float) -> None:
    if not 0 < delta < 1:
        raise ValueError(f"delta must be in (0, 1), got {delta!r}.")


def _least(function: Callable[[float], float]) -> float:
    """Any order is proved; the best is found to the accuracy of the search."""
    start, stop = _RANGE
    grid = [start + (stop - start) * i / 90 for i in range(91)]
    with_overflow = [_or_infinite(function, point) for point in grid]
    best = grid[with_overflow.index(min(with_overflow))]
    found = minimize_scalar(
        lambda point: _or_infinite(function, point),
        bounds=(best - 0.5, best + 0.5),
        method="bounded",
        options={"xatol": 1e-9},
    )
    return min(float(found.fun), *with_overflow)


def _or_infinite(function: Callable[[float], float], point: float) -> float:
    try:
        return function(point)
    except OverflowError:
        return math.inf

"""The privacy curve of a mechanism of which only epsilon-DP is known, its inverse and its rho.

The worst mechanism with a pure guarantee is binary randomised response.
"""

import math

import numpy as np
from numpy.typing import NDArray

from skdp._validation import non_negative, positive

__all__ = ["pure_delta", "pure_epsilon", "pure_renyi", "pure_rho"]

_ROUNDING = 2.0**-49


def pure_delta(guarantee: float, epsilon: float) -> float:
    """(e^guarantee - e^epsilon) / (1 + e^guarantee), 0 from epsilon = guarantee on.

    Parameters
    ----------
    guarantee : float
        The epsilon of the pure guarantee, above 0.
    epsilon : float
        At least 0.

    Returns
    -------
    float
        Least delta at `epsilon`, rounded upwards.

    References
    ----------
    Kairouz, Oh and Viswanath (2015), The composition theorem for differential privacy.

    Examples
    --------
    >>> from skdp.privacy.pure_curve import pure_delta
    >>> round(pure_delta(1.0, 0.0), 4)
    0.4621
    """
    positive(guarantee=guarantee)
    if math.isnan(epsilon) or epsilon < 0:
        raise ValueError(f"epsilon must be at least 0, got {epsilon!r}.")
    if epsilon >= guarantee:
        return 0.0
    exact = -math.expm1(epsilon - guarantee) / (1 + math.exp(-guarantee))
    return min(1.0, exact * (1 + _ROUNDING))


def pure_epsilon(guarantee: float, delta: float) -> float:
    """Least epsilon >= 0 with pure_delta(guarantee, epsilon) <= delta, rounded upwards.

    Parameters
    ----------
    guarantee : float
        The epsilon of the pure guarantee, above 0.
    delta : float
        In [0, 1].

    Returns
    -------
    float
        At most `guarantee`.

    Examples
    --------
    >>> from skdp.privacy.pure_curve import pure_epsilon
    >>> pure_epsilon(1.0, 0.0)
    1.0
    >>> pure_epsilon(1.0, 0.5)
    0.0
    """
    positive(guarantee=guarantee)
    non_negative(delta=delta)
    removed = delta * (1 - _ROUNDING) * (1 + math.exp(-guarantee))
    if removed >= 1 or pure_delta(guarantee, 0.0) <= delta:
        return 0.0
    found = guarantee + math.log1p(-removed)
    return min(guarantee, max(found, 0.0) + _ROUNDING * guarantee)


def pure_rho(epsilon: float) -> float:
    """Epsilon tanh(epsilon / 2), the least rho that every epsilon-DP mechanism has.

    For randomised response and t = a - 1/2, (a - 1) D_a = log cosh(t epsilon) -
    log cosh(epsilon / 2). As log cosh(sqrt(s) epsilon) is concave in s, its tangent at s = 1/4
    bounds this by epsilon tanh(epsilon / 2) (t^2 - 1/4) = rho a (a - 1), with equality as a
    tends to 1. It improves on the epsilon^2 / 2 of Bun and Steinke (2016), Proposition 4.

    Examples
    --------
    >>> round(pure_rho(1.0), 4)
    0.4621
    """
    return epsilon * math.tanh(epsilon / 2)


def pure_renyi(epsilon: float, orders: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log((e^(a epsilon) + e^((1-a) epsilon)) / (1 + e^epsilon)) / (a - 1) at each order a.

    The greatest Renyi divergence of epsilon-DP mechanisms, that of randomised response, rounded
    upwards (Mironov, 2017, Proposition 5).

    Examples
    --------
    >>> pure_renyi(1.0, np.array([2.0, 1e6])).round(4)
    array([0.7353, 1.    ])
    """
    rest = orders - 1
    exact = np.logaddexp(orders * epsilon, -rest * epsilon) - np.logaddexp(0.0, epsilon)
    rounded_up = (exact + _ROUNDING * (1 + orders * epsilon)) / rest
    found: NDArray[np.float64] = np.minimum(
        rounded_up, orders * pure_rho(epsilon) * (1 + _ROUNDING)
    )
    return found

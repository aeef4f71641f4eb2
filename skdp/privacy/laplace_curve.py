"""Renyi divergences of Laplace noise, and their rho."""

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["laplace_renyi", "laplace_rho"]

_ROUNDING = 2.0**-49


def laplace_rho(epsilon: float) -> float:
    """Epsilon - 1 + e^-epsilon, the least rho of Laplace noise of scale 1 / epsilon.

    It is the Kullback-Leibler divergence, the limit of D_a / a as a tends to 1. That D_a is no more
    than rho a: both sides vanish at epsilon = 0, and with n = 2 a - 1, y = e^-epsilon their
    derivatives by epsilon compare as 2 (1 - y^n) and (1 - y) (n + 1 + (n - 1) y^n). The latter less
    the former is a convex function of y on [0, 1] that has, with its derivative, a zero at 1.

    Examples
    --------
    >>> round(laplace_rho(1.0), 4)
    0.3679
    """
    if epsilon > 0.01:
        return (epsilon + math.expm1(-epsilon)) * (1 + 2.0**-42)
    # Without cancellation; the next term of the series is negative.
    return epsilon**2 / 2 * (1 - epsilon / 3 + epsilon**2 / 12) * (1 + _ROUNDING)


def laplace_renyi(epsilon: float, orders: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log((a e^((a-1) epsilon) + (a-1) e^(-a epsilon)) / (2a-1)) / (a-1) at each order a.

    Of Laplace noise of scale 1 / epsilon on what moves by 1 in L1 norm, in both directions, rounded
    upwards (Mironov, 2017, Table II). In several coordinates it is the sum of theirs, which is
    greatest where one moves by all of it: (a-1) D_a is convex in epsilon and 0 at 0.

    Examples
    --------
    >>> laplace_renyi(1.0, np.array([2.0, 1e6])).round(4)
    array([0.6191, 1.    ])
    """
    rest = orders - 1
    won = np.log(orders / (2 * orders - 1)) + rest * epsilon
    lost = np.log(rest / (2 * orders - 1)) - orders * epsilon
    rounded_up = (np.logaddexp(won, lost) + _ROUNDING * (1 + orders * epsilon)) / rest
    found: NDArray[np.float64] = np.minimum(rounded_up, orders * laplace_rho(epsilon))
    return found

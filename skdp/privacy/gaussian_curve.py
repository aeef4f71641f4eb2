"""The privacy curve of Gaussian noise, and its two inverses.

Each function errs on the private side: the rounding of the arithmetic is bounded and added to
delta, and a root that was found is moved until the inequality that it stands for holds.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import erfcx, ndtr, ndtri

from skdp._validation import non_negative, positive

__all__ = ["gaussian_delta", "gaussian_deltas", "gaussian_epsilon", "gaussian_mu"]

_UNIT = 2.0**-52
_SMALLEST = math.ulp(0.0)
_LARGEST_MU = 1e150
_SMALLEST_DELTA = 1e-300
_BEYOND = 1e-310
_TIGHT = {"xtol": _SMALLEST, "rtol": 4 * _UNIT, "maxiter": 300}


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu).

    The least delta of N(mu, 1) against N(0, 1) at `epsilon`, rounded upwards.

    Parameters
    ----------
    mu : float
        Sensitivity divided by the standard deviation of the noise, above 0.
    epsilon : float
        Any real number.

    Returns
    -------
    float
        In (0, 1]. Relative error below 1e-7 for epsilon >= 0 and delta above 1e-150.

    References
    ----------
    Balle and Wang (2018), Improving the Gaussian mechanism for differential privacy, Theorem 8.

    Examples
    --------
    >>> from skdp.privacy.gaussian_curve import gaussian_delta
    >>> round(gaussian_delta(1.0, 1.0), 6)
    0.126937
    """
    positive(mu=mu)
    if math.isnan(epsilon):
        raise ValueError("epsilon must not be NaN.")
    if epsilon == math.inf:
        return _SMALLEST
    if epsilon < 0:
        # The pair is symmetric, so 1 - e^epsilon (1 - delta(-epsilon)) = delta(epsilon).
        mirrored = math.exp(epsilon) * gaussian_delta(mu, -epsilon)
        return min(1.0, -math.expm1(epsilon) + mirrored + 2 * _UNIT)
    return _delta_rounded_up(mu, epsilon)


def gaussian_deltas(mu: float, epsilons: NDArray[np.float64]) -> NDArray[np.float64]:
    """`gaussian_delta` at many epsilon >= 0 at once, rounded upwards like it.

    Examples
    --------
    >>> from skdp.privacy.gaussian_curve import gaussian_deltas
    >>> gaussian_deltas(1.0, np.array([0.0, 1.0])).round(6)
    array([0.382925, 0.126937])
    """
    half, shift = mu / 2, epsilons / mu
    a = half - shift
    # Four roundings may have gone into epsilon itself; beyond 38 the curve is below 1e-300.
    rounding = 8 * _UNIT * (half + shift)
    near = a > -38
    inner = np.where(near, a, -38.0)
    density = np.exp(-inner * inner / 2) / 2
    below = density * erfcx((mu - inner) / math.sqrt(2))
    above = np.where(inner < 0, density * erfcx(-np.minimum(inner, 0) / math.sqrt(2)), ndtr(inner))
    common = 8 * (_UNIT + np.abs(inner) * rounding)
    cancelled = 16 * (_UNIT + rounding / np.maximum(1.0, np.abs(inner))) * above
    difference = np.maximum(above - below, 0.0) * (1 + common) + cancelled
    phi = density * math.sqrt(2 / math.pi)
    tangent = mu * (phi + inner * above) * (1 + common) + 16 * _UNIT * mu * phi * (1 + inner**2)
    rounded_up = np.minimum(np.minimum(difference, tangent) + _SMALLEST, 1.0)
    return np.where(near, rounded_up, _BEYOND)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Least epsilon >= 0 with gaussian_delta(mu, epsilon) <= delta, rounded upwards.

    Parameters
    ----------
    mu : float
        Sensitivity divided by the standard deviation of the noise, above 0.
    delta : float
        In [0, 1].

    Returns
    -------
    float
        Infinite at delta = 0.

    Examples
    --------
    >>> from skdp.privacy.gaussian_curve import gaussian_epsilon
    >>> round(gaussian_epsilon(1 / 4.2247, 1e-6), 4)
    1.0
    """
    positive(mu=mu)
    _probability(delta)
    if delta == 0 or mu > _LARGEST_MU:
        return math.inf
    if _delta_rounded_up(mu, 0.0) <= delta:
        return 0.0

    def excess(epsilon: float) -> float:
        return _log_ratio(mu, epsilon, delta)

    upper = _pushed(mu * (mu / 2 - float(ndtri(delta))), excess, factor=2.0)
    root = brentq(excess, 0.0, upper, **_TIGHT) if excess(0.0) > 0 else 0.0
    return _nudged(root, excess, direction=1)


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Greatest mu with gaussian_delta(mu, epsilon) <= delta, rounded downwards.

    The least noise for a statistic of sensitivity s is then s / mu.

    Parameters
    ----------
    epsilon : float
        At least 0.
    delta : float
        In [1e-300, 1): below, double precision has no digits left.

    Returns
    -------
    float
        Above 0.

    References
    ----------
    Balle and Wang (2018), Improving the Gaussian mechanism for differential privacy.

    Examples
    --------
    >>> from skdp.privacy.gaussian_curve import gaussian_mu
    >>> round(1 / gaussian_mu(1.0, 1e-6), 4)
    4.2247
    """
    non_negative(epsilon=epsilon)
    if delta == 0:
        raise ValueError(
            "Gaussian noise meets no budget with delta = 0: set delta, well below 1 / n_samples."
        )
    if not _SMALLEST_DELTA <= delta < 1:
        raise ValueError(f"delta must be at least 1e-300 and below 1, got {delta!r}.")

    def excess(mu: float) -> float:
        return _log_ratio(mu, epsilon, delta)

    # Phi(mu/2 - epsilon/mu) <= delta already suffices; it is a quadratic inequality in mu.
    quantile = float(ndtri(delta))
    root = math.sqrt(quantile**2 + 2 * epsilon)
    start = quantile + root if quantile >= 0 else 2 * epsilon / (root - quantile)
    # Without epsilon, delta = 2 Phi(mu/2) - 1 <= mu / sqrt(2 pi).
    lower = _pushed(max(start, 2 * delta), excess, factor=0.5)
    upper = lower
    while excess(upper) <= 0:
        upper *= 2.0
    return _nudged(brentq(excess, lower, upper, **_TIGHT), excess, direction=-1)


def _delta_rounded_up(mu: float, epsilon: float) -> float:
    half, shift = mu / 2, epsilon / mu
    a, b = half - shift, -half - shift
    rounding = _UNIT * (half + shift)
    if shift == math.inf or a < -40 - rounding:
        return _SMALLEST
    # b^2 - a^2 = 2 epsilon, so e^epsilon phi(b) = phi(a) and no large exponential is needed.
    density = math.exp(-a * a / 2) / 2
    below = density * float(erfcx(-b / math.sqrt(2)))
    above = density * float(erfcx(-a / math.sqrt(2))) if a < 0 else float(ndtr(a))
    common = 8 * (_UNIT + abs(a) * rounding)
    if common > 1:
        return 1.0
    cancelled = 16 * (_UNIT + rounding / max(1.0, abs(a))) * above
    difference = max(above - below, 0.0) * (1 + common) + cancelled
    # Convexity of Phi/phi: sharper than the difference where that one cancels (small mu).
    phi = density * math.sqrt(2 / math.pi)
    tangent = mu * (phi + a * above) * (1 + common) + 16 * _UNIT * mu * phi * (1 + a * a)
    return min(1.0, min(difference, tangent) + _SMALLEST)


def _log_ratio(mu: float, epsilon: float, delta: float) -> float:
    """log(gaussian_delta / delta), never of the wrong sign where the logarithms round."""
    value = _delta_rounded_up(mu, epsilon)
    ratio = math.log(value) - math.log(delta)
    return max(ratio, _UNIT) if value > delta else min(ratio, 0.0)


def _pushed(start: float, excess: Callable[[float], float], *, factor: float) -> float:
    while excess(start) > 0:
        start *= factor
    return start


def _nudged(root: float, excess: Callable[[float], float], *, direction: int) -> float:
    step = _UNIT
    while excess(root) > 0:
        root *= 1 + direction * step
        step *= 2
    return root


def _probability(delta: float) -> None:
    if not 0 <= delta <= 1:
        raise ValueError(f"delta must be in [0, 1], got {delta!r}.")

"""Bounded range: privacy losses that lie in an interval of known length at an unknown place.

A mechanism is eta-bounded-range where, for every ordered pair of neighbours, the losses of all
outputs lie in some [t - eta, t]. The exponential mechanism is the example; so is one Gumbel draw.
It is eta-DP, and a good deal more.
"""

import math

import numpy as np
from numpy.typing import NDArray

from skdp._validation import positive
from skdp.privacy.budget import Norm

__all__ = ["bounded_range_delta", "bounded_range_renyi", "score_range"]

Array = NDArray[np.float64]
_ROUNDING = 2.0**-48


def bounded_range_delta(eta: float, epsilon: float) -> float:
    """(1 - e^((epsilon - eta)/2))^2 / (1 - e^-eta), 0 from epsilon = eta on.

    The greatest delta that an eta-bounded-range mechanism can have at `epsilon`, rounded upwards.
    With losses t and t - eta, which are the extremes, P[loss = t] = (1 - e^(t-eta))/(1 - e^-eta);
    the supremum over t of (1 - e^(epsilon-t)) P[loss = t] is at t = (epsilon + eta)/2.

    Parameters
    ----------
    eta : float
        Length of the range, above 0.
    epsilon : float
        At least 0.

    Returns
    -------
    float
        In [0, 1].

    References
    ----------
    Durfee and Rogers (2019), Practical differentially private top-k selection; Dong, Durfee and
    Rogers (2020), Optimal differential privacy composition for exponential mechanisms.

    Examples
    --------
    >>> from skdp.privacy.bounded_range import bounded_range_delta
    >>> round(bounded_range_delta(1.0, 0.0), 6), round(math.tanh(1 / 4), 6)
    (0.244919, 0.244919)
    """
    positive(eta=eta)
    if math.isnan(epsilon) or epsilon < 0:
        raise ValueError(f"epsilon must be at least 0, got {epsilon!r}.")
    if epsilon >= eta:
        return 0.0
    return min(1.0, math.expm1((epsilon - eta) / 2) ** 2 / -math.expm1(-eta) * (1 + _ROUNDING))


def bounded_range_renyi(eta: float, orders: Array) -> Array:
    """Sup over t of log(A - B e^t)/(a - 1) + t, at most a eta^2 / 8.

    The greatest Renyi divergence, in both directions, of eta-bounded-range mechanisms at each
    order a: of losses t and t - eta as in `bounded_range_delta`. With c = e^(-(a-1) eta), A = c +
    (1 - c)/(1 - e^-eta) and B = (1 - c) e^-eta / (1 - e^-eta), the supremum is at e^t = A (a - 1)
    / (B a), clipped to t in [0, eta].

    Parameters
    ----------
    eta : float
        Length of the range, above 0.
    orders : ndarray of shape (n_orders,)
        Above 1.

    Returns
    -------
    ndarray of shape (n_orders,)
        Rounded upwards.

    References
    ----------
    Cesar and Rogers (2021), Bounding, concentrating and truncating, for the a eta^2 / 8.

    Examples
    --------
    >>> from skdp.privacy.bounded_range import bounded_range_renyi
    >>> bounded_range_renyi(1.0, np.array([2.0, 3.0])).round(4)
    array([0.2402, 0.3434])
    """
    positive(eta=eta)
    rest = orders - 1
    lost, unit = -np.expm1(-rest * eta), -math.expm1(-eta)
    constant = 1 - lost + lost / unit
    slope = lost * math.exp(-eta) / unit
    with np.errstate(divide="ignore"):
        place = np.clip(np.log(constant) + np.log(rest / orders) - np.log(slope), 0.0, eta)
    exact = np.log(constant - slope * np.exp(place)) / rest + place
    # A - B e^t is A/a at the supremum, so that a units in the last place may be lost.
    rounded_up = exact + _ROUNDING * (orders + eta) / rest
    found: Array = np.minimum(rounded_up, orders * eta**2 / 8 * (1 + _ROUNDING))
    return found


def score_range(change: float, norm: Norm) -> float:
    """Return how far one record can move scores |G_j| apart: sup over it of max d - min d.

    With d_j = |G_j + v_j| - |G_j|, |d_j| <= |v_j|: the range is at most sqrt(2) times the
    Euclidean norm of v (a + b <= sqrt(2 (a^2 + b^2))), its L1 norm, and twice its greatest entry.
    The exponential mechanism with weights e^(|G_j| / beta) then is of bounded range, eta =
    range / beta.

    Parameters
    ----------
    change : float
        Bound on the norm of v, the change of the whole vector G under the relation that is meant;
        for replaced records twice the norm of one, so that nothing has to be doubled here.
    norm : {"l1", "l2", "linf"}
        The norm of that bound.

    Returns
    -------
    float
        The range.

    Examples
    --------
    >>> from skdp.privacy.bounded_range import score_range
    >>> round(score_range(1.0, "l2"), 6), score_range(1.0, "l1"), score_range(1.0, "linf")
    (1.414214, 1.0, 2.0)
    """
    positive(change=change)
    factors = {"l1": 1.0, "l2": math.nextafter(math.sqrt(2), 2), "linf": 2.0}
    return factors[norm] * change

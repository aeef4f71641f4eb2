"""Formulas of the literature, for comparison. NONE of what is here is a guarantee.

Some are loose, some hold under conditions that are not checked, and some are false; the docstring
says which. They return plain numbers. A `PrivacyStatement` takes the curve of an event that an
accountant has priced, so nothing here can be made one; there is no function that turns these
numbers into events.

The first four are what Yu, Liu, Pu, Gursoy and Truex (2019), Differentially private model
publishing for deep learning, account with.
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np
from scipy.special import gammaln, logsumexp

from skdp._validation import positive, positive_integer

__all__ = [
    "average_form_rho",
    "bun_steinke_epsilon",
    "moments_accountant_epsilon",
    "sampling_estimate_epsilon",
    "sampling_estimate_order",
    "sampling_estimate_rho",
    "strong_composition_epsilon",
]


def bun_steinke_epsilon(rho: float, delta: float) -> float:
    """Rho + 2 sqrt(rho log(1/delta)); not a guarantee that this library states: loose.

    True of any mechanism that is rho-zCDP, which is for the caller to know; `zcdp_epsilon` says
    less in every case, and Gaussian noise has an exact curve.

    References
    ----------
    Bun and Steinke (2016), Concentrated differential privacy, Proposition 1.3.

    Examples
    --------
    >>> round(bun_steinke_epsilon(0.78125, 1e-5), 3)
    6.779
    """
    return rho + 2 * math.sqrt(rho * math.log(1 / delta))


def average_form_rho(rhos: Iterable[float]) -> float:
    """Mean rho of the batches of an epoch; not a guarantee: false.

    The first published form of a theorem on random reshuffling, since corrected to the maximum. Two
    batches of which one is released with noise of mu = 4 and the other costs nothing: the
    true epsilon is 23.05 at delta = 1e-5, what the mean says 17.57.

    References
    ----------
    Yu et al. (2019), Theorem 2 before its erratum.

    Examples
    --------
    >>> average_form_rho([8.0, 0.0])
    4.0
    """
    return float(np.mean(list(rhos)))


def sampling_estimate_rho(rate: float, multiplier: float) -> float:
    """q^2 / sigma^2 for a step on a random sample; not a guarantee: found by trying.

    Claimed for orders up to `sampling_estimate_order` and q up to 1 / (16 sigma). False at sigma =
    1 (by 4.7 % at q = 0.0348, order 4) and far below; about twice the truth for large sigma.

    References
    ----------
    Yu et al. (2019), Theorem 3.

    Examples
    --------
    >>> round(sampling_estimate_rho(0.01, 4.0), 9)
    6.25e-06
    """
    positive(rate=rate, multiplier=multiplier)
    return (rate / multiplier) ** 2


def sampling_estimate_order(rate: float, multiplier: float) -> float:
    """sigma^2 log(1 / (q sigma)) + 1, to which the estimate is claimed; not a guarantee.

    Examples
    --------
    >>> round(sampling_estimate_order(0.01, 4.0), 2)
    52.5
    """
    positive(rate=rate, multiplier=multiplier)
    return multiplier**2 * math.log(1 / (rate * multiplier)) + 1


def sampling_estimate_epsilon(steps: Sequence[tuple[float, float, int]], delta: float) -> float:
    """Return what `sampling_estimate_rho` would imply; not a guarantee: the estimate is none.

    Parameters
    ----------
    steps : sequence of (q, sigma, count)
        Sampling rate, noise multiplier, and how many steps have them.
    delta : float
        In (0, 1).

    Examples
    --------
    >>> round(sampling_estimate_epsilon([(0.01, 6.0, 10_000)], 1e-5), 3)
    1.159
    """
    rho = math.fsum(count * sampling_estimate_rho(q, sigma) for q, sigma, count in steps)
    order = min(sampling_estimate_order(q, sigma) for q, sigma, _ in steps)
    if delta >= math.exp(-rho * (order - 1) ** 2):
        return bun_steinke_epsilon(rho, delta)
    return rho * order - math.log(delta) / (order - 1)


def moments_accountant_epsilon(
    rate: float, multiplier: float, n_steps: int, delta: float, most_moments: int = 32
) -> float:
    """Return what the moments accountant said; not a guarantee of ours: loose.

    Renyi divergences of Poisson sampling at whole orders 2, ..., `most_moments` + 1, with the
    conversion of that time. Few moments are the reason why it stands still for few steps. It would
    be false for shuffled batches.

    References
    ----------
    Abadi et al. (2016), Deep learning with differential privacy, Theorem 2.

    Examples
    --------
    >>> round(moments_accountant_epsilon(0.01, 6.0, 10_000, 1e-5), 4)
    0.8227
    """
    positive_integer(n_steps=n_steps, most_moments=most_moments)
    found = math.inf
    for moment in range(1, most_moments + 1):
        log_moment = n_steps * _log_moment(rate, multiplier, moment + 1)
        found = min(found, (log_moment - math.log(delta)) / moment)
    return found


def strong_composition_epsilon(rate: float, multiplier: float, n_steps: int, delta: float) -> float:
    """Return what strong composition of amplified steps says; not a guarantee: conditions unmet.

    Each step by the classical formula of Gaussian noise (proved for epsilon below 1 only, not
    checked here) at its share of delta, its logarithm rounded up as in the source, amplified by
    sampling, and composed as by Dwork, Rothblum and Vadhan (2010).

    References
    ----------
    Yu et al. (2019), the comparison of accountants in their code.

    Examples
    --------
    >>> round(strong_composition_epsilon(0.01, 6.0, 10_000, 1e-5), 2)
    13.9
    """
    positive_integer(n_steps=n_steps)
    inner = delta / ((n_steps + 1) * rate)
    whole = math.ceil(math.sqrt(2 * math.log(1.25 / inner))) / multiplier
    step = math.log1p(rate * math.expm1(whole))
    slack = math.log((n_steps + 1) / delta)
    return step * math.sqrt(2 * n_steps * slack) + n_steps * step * math.expm1(step)


def _log_moment(rate: float, multiplier: float, order: int) -> float:
    """(order - 1) times the Renyi divergence of the sampled Gaussian, at a whole order."""
    taken = np.arange(order + 1.0)
    binomials = gammaln(order + 1) - gammaln(taken + 1) - gammaln(order - taken + 1)
    weights = binomials + (order - taken) * math.log1p(-rate) + taken * math.log(rate)
    return float(logsumexp(weights + taken * (taken - 1) / (2 * multiplier**2)))

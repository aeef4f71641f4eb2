"""Renyi divergences: subsampled, and converted to epsilon and delta."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

__all__ = ["ORDERS", "RenyiCurve", "poisson_renyi"]

Array = NDArray[np.float64]
_ROUNDED_UP = 1 + 2.0**-36

# Whole numbers from 2 on: where `poisson_renyi` is proved.
_SMALL = np.arange(2.0, 65.0)
_LARGE = np.array([72.0, 80, 96, 112, 128, 160, 192, 256, 384, 512, 768, 1024])
ORDERS: Array = np.concatenate([_SMALL, _LARGE])


def poisson_renyi(rate: float, renyi: Callable[[Array], Array]) -> Array:
    """Log(sum over l <= a of C(a,l) (1-q)^(a-l) q^l e^((l-1) r(l))) / (a-1) at each of `ORDERS`.

    For (1-q) Q + q P over Q it is the divergence itself, if r(l) = D_l(P||Q). The other direction
    is no greater, at orders a >= 2, if r(l) bounds D_l(Q||P) as well. Let z = P/Q, u = 1 - q + q z,
    v = 1 - q + q/z and w = 3 (1-q) / (3 + 2 (a-2) q). For one c, F(z) = w u^a + (1-w) z v^a + c
    (z-1) - u^(1-a) has F(1) = F'(1) = 0. Up to positive factors F'' is w u^(2a-1) + (1-w) z^-3
    v^(a-2) u^(a+1) - 1 >= e^H - 1 (means of two kinds); H is convex in log z, as log u and log v
    are, and H = H' = 0 at z = 1. So F >= 0, and its mean under Q says E_Q[u^(1-a)] <= w E_Q[u^a] +
    (1-w) E_P[v^a]. The factor 3 of Zhu and Wang (2019), Poisson subsampled Renyi differential
    privacy, is not needed.

    Parameters
    ----------
    rate : float
        q, in (0, 1).
    renyi : callable
        Takes orders, returns r; of everything that is done to one sample.

    Returns
    -------
    ndarray of shape (n_orders,)
        Rounded upwards. Only for these orders: below 2 nothing is proved.

    References
    ----------
    Mironov, Talwar and Zhang (2019), Renyi differential privacy of the sampled Gaussian mechanism,
    for the Gaussian case; checked here against quadrature.
    """
    return np.concatenate([_on_block(rate, renyi, *block) for block in _blocks()]) * _ROUNDED_UP


@final
@dataclass(frozen=True, eq=False)
class RenyiCurve:
    """Renyi divergences at `ORDERS`, as a privacy curve.

    delta = min over a of e^((a-1) (r(a) - epsilon)) (1 - 1/a)^(a-1) / a.

    References
    ----------
    Canonne, Kamath and Steinke (2020), The discrete Gaussian for differential privacy, Prop. 12;
    Balle, Barthe, Gaboardi, Hsu and Sato (2020), Hypothesis testing interpretations, Theorem 21.
    """

    divergences: Array

    def delta_at(self, epsilon: float) -> float:
        """Least delta proved at epsilon."""
        rest = ORDERS - 1
        logs = rest * (self.divergences - epsilon + np.log1p(-1 / ORDERS)) - np.log(ORDERS)
        return math.exp(min(0.0, float(logs.min()))) * _ROUNDED_UP

    def epsilon_at(self, delta: float) -> float:
        """Least epsilon >= 0 proved at delta; infinite at 0."""
        if delta <= 0:
            return math.inf
        return max(0.0, float((self.divergences + _shifts(delta)).min()) + 2.0**-40)

    def best_order(self, delta: float) -> int:
        """Return the order whose bound at delta is the least."""
        return int(ORDERS[(self.divergences + _shifts(delta)).argmin()])

    @staticmethod
    def divergence_at(order: int, epsilon: float, delta: float) -> float:
        """Return the divergence of one order that implies epsilon at delta."""
        place = int(np.searchsorted(ORDERS, order))
        return float(epsilon - 2.0**-40 - _shifts(delta)[place])


def _shifts(delta: float) -> Array:
    return np.log1p(-1 / ORDERS) - (math.log(delta) + np.log(ORDERS)) / (ORDERS - 1)


def _on_block(
    rate: float, renyi: Callable[[Array], Array], orders: Array, chosen: Array, binomials: Array
) -> Array:
    exponents = np.maximum((chosen - 1) * renyi(chosen), 0.0)
    # Without the terms 0 and 1 and with e^z - 1 for e^z, what is left of the sum is 1 exactly.
    with np.errstate(divide="ignore"):
        growth = exponents + np.log(-np.expm1(-exponents))
    unchosen = np.maximum(orders[:, None] - chosen, 0)
    terms = binomials + unchosen * math.log1p(-rate) + chosen * math.log(rate) + growth
    greatest = np.maximum(terms.max(axis=1), -700.0)
    total = np.exp(terms - greatest[:, None]).sum(axis=1)  # scipy's logsumexp takes much longer
    with np.errstate(divide="ignore"):
        moments: Array = np.logaddexp(0.0, greatest + np.log(total))
    return moments / (orders - 1)


@lru_cache(maxsize=1)
def _blocks() -> list[tuple[Array, Array, Array]]:
    """Orders; the numbers 2, 3, ... up to them; log binomial coefficients, -inf for none."""
    blocks = []
    for orders in (_SMALL, _LARGE):
        chosen = np.arange(2.0, orders[-1] + 1)
        rest = orders[:, None] - chosen
        logs = gammaln(orders[:, None] + 1) - gammaln(chosen + 1)
        logs = logs - gammaln(np.maximum(rest, 0) + 1)
        blocks.append((orders, chosen, np.where(rest >= 0, logs, -np.inf)))
    return blocks

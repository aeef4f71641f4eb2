"""Random numbers of trials, and what the best of so many trials costs."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from skdp._validation import positive
from skdp.privacy.pure_curve import pure_delta, pure_renyi
from skdp.privacy.renyi import ORDERS

__all__ = ["TrialLaw"]

Array = NDArray[np.float64]
_ROUNDED_UP = 1 + 1e-8
_TAIL = 80.0


@final
@dataclass(frozen=True)
class TrialLaw:
    """Truncated negative binomial law on 1, 2, ...; Poisson on 0, 1, ... where shape is infinite.

    P[K = k] ~ (1 - gamma)^k (shape)(shape + 1)...(shape + k - 1) / k!. Shape 1 is geometric, 0 is
    logarithmic: P[K = k] = (1 - gamma)^k / (k log(1 / gamma)).

    Attributes
    ----------
    mean : float
        Above 1, at most 10,000.
    shape : float
        At least 0; infinity is Poisson.

    References
    ----------
    Papernot and Steinke (2022), Hyperparameter tuning with Renyi differential privacy,
    Definition 1, Theorems 2 and 6, Corollary 3.

    Examples
    --------
    >>> round(TrialLaw(10.0, 1.0).gamma, 6)
    0.1
    """

    mean: float
    shape: float

    def __post_init__(self) -> None:
        positive(mean=self.mean)
        if not 1 < self.mean <= 1e4 or math.isnan(self.shape) or self.shape < 0:
            raise ValueError(
                "mean must be above 1 and at most 10,000 and shape at least 0, got "
                f"mean={self.mean!r}, shape={self.shape!r}."
            )

    @property
    def is_poisson(self) -> bool:
        """Whether no trial at all is possible."""
        return self.shape == math.inf

    @property
    def gamma(self) -> float:
        """The parameter of the truncated negative binomial that has this mean, by bisection."""
        low, high = -60.0, -1e-12
        for _ in range(200):
            middle = (low + high) / 2
            if self._mean_at(middle) > self.mean:
                low = middle
            else:
                high = middle
        return math.exp(low)

    def _mean_at(self, log_gamma: float) -> float:
        odds = math.expm1(-log_gamma)
        if self.shape == 0:
            return odds / -log_gamma
        return self.shape * odds / -math.expm1(self.shape * log_gamma)

    def survivals(self) -> Array:
        """P[K > k] for k = 0, 1, ..., as far as e^-80 or so: relatively precise."""
        logs = self._log_masses()
        masses = np.exp(logs - logs.max())
        beyond = np.cumsum(masses[::-1])[::-1]
        found: Array = beyond[1:] / beyond[0]
        return found

    def _log_masses(self) -> Array:
        if self.is_poisson:
            k = np.arange(self.mean + 20 * math.sqrt(self.mean) + 200)
            logs: Array = k * math.log(self.mean) - gammaln(k + 1)
            return logs
        gamma = self.gamma
        k = np.arange(1.0, (_TAIL + 20 * self.shape) / -math.log1p(-gamma) + 10)
        rising = gammaln(k + self.shape) - gammaln(k + 1)
        # Nothing is never drawn; its place keeps the numbers in order.
        return np.array([-math.inf, *(k * math.log1p(-gamma) + rising)])

    def guarantee(self, epsilon: float) -> float:
        """The best of K trials that are epsilon-DP each: (2 + shape) epsilon; Corollary 3."""
        return (2 + self.shape) * epsilon * _ROUNDED_UP

    def renyi_of_pure(self, epsilon: float) -> Array:
        """Divergences at `ORDERS` of the best of K trials that are epsilon-DP each."""
        return self.renyi(pure_renyi(epsilon, ORDERS), lambda at: pure_delta(epsilon, at))

    def renyi(self, trial: Array, delta_at: Callable[[float], float]) -> Array:
        """Divergences at `ORDERS` of the best of K trials with divergences `trial`.

        Both directions where `trial` holds in both. `delta_at` is the privacy curve of one trial,
        which the Poisson law needs.
        """
        first = trial + math.log(self.mean) / (ORDERS - 1)
        if self.is_poisson:
            tails = np.array([delta_at(math.log1p(1 / (a - 1))) for a in ORDERS])
            whole = first + self.mean * tails
        else:
            price = (1 - 1 / ORDERS) * trial - math.log(self.gamma) / ORDERS
            whole = first + (1 + self.shape) * price.min()
        grown: Array = np.minimum.accumulate(whole[::-1])[::-1] * _ROUNDED_UP
        return grown

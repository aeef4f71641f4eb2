"""Laws of the noise on scores: drawn one by one, or the largest of very many at once."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from skdp._random import RandomSource
from skdp.mechanisms.continuous import exponentials, laplaces
from skdp.mechanisms.order_statistics import log_cdf_of_largest
from skdp.mechanisms.statistics import Floats

__all__ = ["EXPONENTIAL", "GUMBEL", "LAPLACE", "NoiseLaw", "score_error"]


@final
@dataclass(frozen=True)
class NoiseLaw:
    """A continuous law of scale 1.

    Attributes
    ----------
    draw : callable
        Maps a number n and a source to n independent variables.
    quantile : callable
        Maps log F(x) to x, F the cdf.
    """

    draw: Callable[[int, RandomSource], Floats]
    quantile: Callable[[Floats], Floats]

    def largest(self, n: int, m: int, rng: RandomSource) -> Floats:
        """Draw the `m` largest of `n` variables, in decreasing order."""
        return self.quantile(log_cdf_of_largest(n, m, rng))


def score_error(n_selected: int) -> float:
    """How far a noisy score is off, in units of the noise's scale.

    Valid within 2^8 scales of the score that it is compared with, for noise of the laws here that
    was drawn on its own or as one of the `n_selected` largest, and scores divided by the scale
    after the one they are compared with has been subtracted. Of the 2^-42 three quarters are the
    roundings of three numbers of up to 2^9.
    """
    return 2.0**-42 + n_selected * 2.0**-53


def _gumbels(n: int, rng: RandomSource) -> Floats:
    return -np.log(exponentials(n, rng))


def _laplace_quantile(log_cdf: Floats) -> Floats:
    upper = -np.log(-2 * np.expm1(log_cdf))
    return np.where(log_cdf > -math.log(2), upper, math.log(2) + log_cdf)


GUMBEL = NoiseLaw(_gumbels, lambda log_cdf: -np.log(-log_cdf))
"""F(x) = exp(-exp(-x))."""

LAPLACE = NoiseLaw(laplaces, _laplace_quantile)
"""Density exp(-|x|) / 2."""

EXPONENTIAL = NoiseLaw(exponentials, lambda log_cdf: -np.log(-np.expm1(log_cdf)))
"""F(x) = 1 - exp(-x)."""

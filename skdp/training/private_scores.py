"""Accuracy on private validation records, released after each epoch of a training run."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self, final

from skdp._random import RandomSource
from skdp._validation import positive_integer
from skdp.mechanisms import GridGaussianMechanism
from skdp.privacy import Neighbours, Sensitivity
from skdp.privacy.filters import PrivacyFilter
from skdp.training.gradients import Array

__all__ = ["PrivateScores"]

#: The noise is so much larger that rounding does not carry its cost above the total.
_SPARE = 1 - 2.0**-45


@final
@dataclass(frozen=True)
class PrivateScores:
    """Planned releases of the number of hits among validation records, plus normal noise.

    One record changes a number of hits by at most 1. All releases together cost what a filter
    allows, for a record that no training step reads. A training record's cost is that of the
    training: to it, hits are computed from what was released.

    Attributes
    ----------
    n_records : int
        Number of validation records, which is public.
    mechanism : GridGaussianMechanism
        The noise of one release.

    References
    ----------
    McSherry (2009), Privacy integrated queries, Theorem 4, on parallel composition; Dong, Roth and
    Su (2022), Gaussian differential privacy, Corollary 3.3, on the sum of mu^2.

    Examples
    --------
    >>> from skdp.privacy.filters import GaussianFilter
    >>> total = GaussianFilter.of_rho(0.125, Neighbours.ZERO_OUT)
    >>> round(PrivateScores.within(total, n_records=1000, n_releases=100).standard_deviation, 3)
    0.02
    """

    n_records: int
    mechanism: GridGaussianMechanism

    @classmethod
    def within(cls, total: PrivacyFilter, n_records: int, n_releases: int) -> Self:
        """Return the plan of so many releases that use a total up.

        Raises
        ------
        ValueError
            If the number of records is not public, or no noise is within the total.
        """
        positive_integer(n_records=n_records, n_releases=n_releases)
        if total.neighbours is Neighbours.ADD_OR_REMOVE_ONE:
            raise ValueError(
                "Private validation data needs a relation under which the number of records is "
                "public: zero-out or replace-one."
            )
        one_hit = Sensitivity(1.0, "l2", total.neighbours)
        mu = total.gaussian_mu / math.sqrt(n_releases) * _SPARE
        planned = cls(n_records, GridGaussianMechanism.of_mu(one_hit, 1, mu))
        counted = total.start()
        if not all(counted.admits(planned.mechanism.event) for _ in range(n_releases)):
            raise ValueError(
                f"delta is too small for the finite precision of {n_releases} noisy accuracies."
            )
        return planned

    @property
    def standard_deviation(self) -> float:
        """Standard deviation of the noise on an accuracy."""
        return self.mechanism.standard_deviation / self.n_records

    def of(self, hits: Callable[[Array], int], rng: RandomSource) -> Callable[[Array], float]:
        """Return the noisy accuracy as a function of parameters, to be called once an epoch."""

        def score(parameters: Array) -> float:
            return float(self.mechanism.release([float(hits(parameters))], rng)[0]) / self.n_records

        return score

"""Laplace noise, on each coordinate or spherical."""

import math
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
import numpy.typing as npt

from skdp._random import RandomSource
from skdp.mechanisms.additive import PureMechanism
from skdp.mechanisms.base import Array
from skdp.mechanisms.integer_noise import (
    LAPLACE_SMALLEST_RATE,
    LAPLACE_TOTAL_VARIATION,
    Integers,
    discrete_laplace,
)
from skdp.mechanisms.noise_laws import (
    laplace_mean_norm,
    laplace_survival,
    spherical_laplace_survival,
)
from skdp.mechanisms.spherical_noise import (
    smallest_rate,
    spherical_laplace,
    spherical_total_variation,
)
from skdp.privacy.budget import Norm

__all__ = ["L2LaplaceMechanism", "LaplaceMechanism"]


@final
@dataclass(frozen=True)
class LaplaceMechanism(PureMechanism):
    """Independent Laplace noise on each coordinate: density ~ exp(-||u||_1 / b), b = s/epsilon.

    For a sensitivity s in the L1 norm. A vector of which only the L2 sensitivity is known has an
    L1 sensitivity of up to size^(1/2) times that, and `L2LaplaceMechanism` is then the better
    one in more than one dimension.

    Guarantees
    ----------
    Dwork, McSherry, Nissim and Smith (2006), Proposition 1: the ideal noise is epsilon-DP for every
    pair of vectors within s. Here it is the discrete Laplace on the grid, with s enlarged by
    g size for the rounding, drawn by independent binary digits of a geometric
    (`integer_noise.discrete_laplace`). Its total variation to the ideal law is 2^-126 a
    coordinate, so a release is (epsilon, (1 + e^epsilon) size 2^-126)-DP; that delta is
    `precision_delta`. A budget of delta = 0 is served up to it.

    Examples
    --------
    >>> from skdp._random import RandomSource
    >>> from skdp.mechanisms import LaplaceMechanism
    >>> from skdp.privacy.budget import Neighbours, PrivacyBudget, Sensitivity
    >>> sensitivity = Sensitivity(0.5, "l1", Neighbours.REPLACE_ONE)
    >>> mechanism = LaplaceMechanism.calibrated(sensitivity, PrivacyBudget(2.0), size=3)
    >>> round(mechanism.noise_scale, 4)
    0.25
    >>> mechanism.release([1.0, 2.0, 3.0], RandomSource.from_system()).shape
    (3,)
    """

    required_norm: ClassVar[Norm] = "l1"

    @property
    def standard_deviation(self) -> float:
        return math.sqrt(2) * self.noise_scale

    @property
    def expected_norm(self) -> float:
        return self.noise_scale * laplace_mean_norm(self.size)

    def survival(self, threshold: npt.ArrayLike) -> Array:
        return laplace_survival(np.asarray(threshold) / self.noise_scale)

    @property
    def theorem(self) -> str:
        return (
            "Dwork, McSherry, Nissim and Smith (2006), Proposition 1, for the discrete Laplace on "
            "a grid, drawn by independent binary digits"
        )

    @property
    def rounding(self) -> float:
        return float(self.size)

    @property
    def total_variation(self) -> float:
        return self.size * LAPLACE_TOTAL_VARIATION

    @property
    def _rates(self) -> tuple[float, float]:
        # Four times, so that no integer that can be drawn reaches the clip at 2^61.
        return 4 * LAPLACE_SMALLEST_RATE, 1.0

    def _noise(self, rng: RandomSource) -> Integers:
        return discrete_laplace(self.size, self.rate, rng)


@final
@dataclass(frozen=True)
class L2LaplaceMechanism(PureMechanism):
    """Spherical Laplace noise: density ~ exp(-||u||_2 / b), b = s/epsilon.

    For a sensitivity s in the L2 norm. The direction is uniform and the radius Gamma(size, b), so
    the expected norm is size b. In one dimension it is the Laplace mechanism.

    Guarantees
    ----------
    Chaudhuri, Monteleoni and Sarwate (2011), Algorithm 1; the K-norm mechanism of Hardt and
    Talwar (2010), section 4, with the Euclidean ball: the ideal noise is epsilon-DP. Here it is
    its analogue on the grid, P(z) ~ exp(-a ||z||_2) on the integers, with s enlarged by
    g size^(1/2) for the rounding, drawn as a gamma mixture of discrete Gaussians
    (`spherical_noise.spherical_laplace`). Its total variation to the ideal law is at most 2^-111
    in two dimensions, and far less in all others; a release is (epsilon, `precision_delta`)-DP
    with that of this size and grid. A budget of delta = 0 is served up to it.

    Examples
    --------
    >>> from skdp._random import RandomSource
    >>> from skdp.mechanisms import L2LaplaceMechanism
    >>> from skdp.privacy.budget import Neighbours, PrivacyBudget, Sensitivity
    >>> sensitivity = Sensitivity(0.5, "l2", Neighbours.REPLACE_ONE)
    >>> mechanism = L2LaplaceMechanism.calibrated(sensitivity, PrivacyBudget(2.0), size=3)
    >>> round(mechanism.expected_norm, 4), mechanism.precision_delta < 1e-30
    (0.75, True)
    >>> mechanism.release([1.0, 2.0, 3.0], RandomSource.from_system()).shape
    (3,)
    """

    required_norm: ClassVar[Norm] = "l2"

    @property
    def standard_deviation(self) -> float:
        return math.sqrt(self.size + 1) * self.noise_scale

    @property
    def expected_norm(self) -> float:
        return self.size * self.noise_scale

    def survival(self, threshold: npt.ArrayLike) -> Array:
        return spherical_laplace_survival(np.asarray(threshold) / self.noise_scale, self.size)

    @property
    def theorem(self) -> str:
        return (
            "Chaudhuri, Monteleoni and Sarwate (2011), Algorithm 1 (the K-norm mechanism of Hardt "
            "and Talwar, 2010, for the Euclidean ball), on a grid as a gamma mixture of discrete "
            "Gaussians"
        )

    @property
    def rounding(self) -> float:
        return math.sqrt(self.size)

    @property
    def total_variation(self) -> float:
        return spherical_total_variation(self.size, self.rate)

    @property
    def _rates(self) -> tuple[float, float]:
        # The finer grid in two dimensions makes up for the small power in the theta factor.
        largest = {1: 1.0, 2: 2.0**-36}.get(self.size, 2.0**-30)
        return smallest_rate(self.size), largest

    def _noise(self, rng: RandomSource) -> Integers:
        return spherical_laplace(self.size, self.rate, rng)

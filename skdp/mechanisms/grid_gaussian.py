"""Gaussian noise of a given size, for values that lie on its grid already."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self, final

import numpy as np
import numpy.typing as npt

from skdp._random import RandomSource
from skdp.mechanisms.base import Array, Mechanism
from skdp.mechanisms.noise_laws import gaussian_mean_norm
from skdp.mechanisms.rounded_gaussian import TOTAL_VARIATION, RoundedGaussian
from skdp.mechanisms.statistics import SparseSum
from skdp.privacy.budget import Norm, Sensitivity

if TYPE_CHECKING:
    from dp_accounting import DpEvent

__all__ = ["GridGaussianMechanism"]

_COARSEST = 2.0**-20


@final
@dataclass(frozen=True)
class GridGaussianMechanism(Mechanism[Array]):
    """Normal noise N(0, sigma^2) on each coordinate of a vector of multiples of `grid`.

    What is released is the vector plus rint(w N) times the grid g, w g = sigma, which is
    the vector plus w g N, rounded: post-processing of the continuous Gaussian mechanism. Nothing is
    added to the sensitivity for the grid as long as `value` lies on it; other numbers are rounded
    to it, which is not counted.

    Guarantees
    ----------
    Balle and Wang (2018), Theorem 8: with mu = s/sigma the least delta at epsilon is
    Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu). Finite precision adds a total
    variation of 2^-180 a coordinate, which the event carries.

    Parameters
    ----------
    sensitivity : Sensitivity
        L2 bound on how far one record moves the vector.
    size : int
        Number of coordinates.
    noise_std : float
        The sigma, in the units of the vector.

    Examples
    --------
    >>> from skdp._random import RandomSource
    >>> from skdp.mechanisms import GridGaussianMechanism
    >>> from skdp.privacy.budget import Neighbours, Sensitivity
    >>> sensitivity = Sensitivity(1.0, "l2", Neighbours.ZERO_OUT)
    >>> mechanism = GridGaussianMechanism(sensitivity, 3, noise_std=4.0)
    >>> mechanism.grid == 2.0**-18
    True
    >>> mechanism.release([1.0, 2.0, 3.0], RandomSource.from_system()).shape
    (3,)
    """

    required_norm: ClassVar[Norm] = "l2"
    noise_std: float

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self._noise

    @classmethod
    def of_mu(cls, sensitivity: Sensitivity, size: int, mu: float) -> Self:
        """Return the least noise of a given mu for values off the grid, rounding to it counted.

        A grid of g moves the distance of two vectors by g sqrt(size) at most, and g <= sigma /
        2^20; so sigma = (s + sigma sqrt(size) / 2^20) / mu is enough.
        """
        left = mu - _COARSEST * math.sqrt(size)
        if left <= 0:
            raise ValueError(
                f"epsilon and delta are too small for Gaussian noise of finite precision on {size} "
                "coordinates."
            )
        noise_std = sensitivity.value / left * (1 + 2.0**-48)
        rounded = sensitivity.value + noise_std * _COARSEST * math.sqrt(size)
        return cls(replace(sensitivity, value=rounded), size, noise_std)

    @property
    def grid(self) -> float:
        """Spacing of the released values, a power of two from sigma/2^21 to sigma/2^20."""
        return self._noise.grid

    @property
    def noise_scale(self) -> float:
        """Standard deviation of the normal noise, before rounding."""
        return self.noise_std

    @property
    def standard_deviation(self) -> float:
        """Standard deviation of the noise on one coordinate."""
        return self.noise_std

    @property
    def expected_norm(self) -> float:
        """Expected Euclidean norm of the noise over all coordinates."""
        return self.noise_std * gaussian_mean_norm(self.size)

    @property
    def event(self) -> "DpEvent":
        return self._noise.event(self.sensitivity, self.size * TOTAL_VARIATION)

    @property
    def theorem(self) -> str:
        return "Balle and Wang (2018), Theorem 8, for Gaussian noise and a sum rounded to a grid"

    def integers(self, n_releases: int, rng: RandomSource) -> Array:
        """Return the noise of some releases in units of the grid, shape (n_releases, size).

        For compiled code that adds it to values on the grid, and does nothing else with them.
        """
        return self._noise.integers(n_releases * self.size, rng).reshape(n_releases, self.size)

    @cached_property
    def _noise(self) -> RoundedGaussian:
        return RoundedGaussian(self.noise_std)

    def _release(self, value: npt.ArrayLike | SparseSum, rng: RandomSource) -> Array:
        exact = np.asarray(value, dtype=np.float64)
        self._require_size(exact.size)
        integers = self._noise.on_grid(exact.ravel())
        integers += self._noise.integers(self.size, rng)
        return self._noise.off_grid(integers).reshape(exact.shape)

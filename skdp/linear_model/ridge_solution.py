"""Coefficients and intervals from noisy moments: functions of what was released alone."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from skdp.mechanisms.label_moments import NoisyMoments

Array = npt.NDArray[np.float64]

#: Below so many times the noise's radius, an eigenvalue says too little for an interval.
_TELLING = 2.0


@final
@dataclass(frozen=True, eq=False)
class RidgeSolution:
    """Solutions of ``S w = g`` where ``S = S0 + E`` and ``g = g0 + e`` are noisy.

    Parameters
    ----------
    moments : NoisyMoments
        What was released.
    second_std, cross_std : float
        Noise on the diagonal of S (off it less by sqrt(2)) and on g.
    """

    moments: NoisyMoments
    second_std: float
    cross_std: float

    @property
    def radius(self) -> float:
        """About the largest eigenvalue of the noise, ``second_std * sqrt(2 d)`` (Wigner)."""
        return self.second_std * math.sqrt(2 * len(self.moments.second))

    def floored(self, floor: float, alpha: float) -> Array:
        """(max(S, floor) + alpha)^-1 g, the maximum taken of each eigenvalue."""
        values, vectors = np.linalg.eigh(self.moments.second)
        return self._divided(np.maximum(values, floor) + alpha, vectors)

    def adaptive(self, radius: float, alpha: float) -> Array:
        """(S + lambda)^-1 g, lambda what the smallest eigenvalue lacks to `radius` (Wang 2018)."""
        values, vectors = np.linalg.eigh(self.moments.second)
        return self._divided(values + max(0.0, radius - values[0]) + alpha, vectors)

    def _divided(self, divisors: Array, vectors: Array) -> Array:
        return np.asarray(vectors @ ((vectors.T @ self.moments.cross) / divisors[:, None]))

    def intervals(self, confidence: float, n_samples: float | None) -> tuple[Array, Array]:
        """Return lower and upper ends for the least-squares solution, shape (d, n_outputs) each.

        ``S (w - w0) = e - E w0`` exactly, w = S^-1 g and w0 = S0^-1 g0, and the right hand side is
        normal with covariance ``cross_std^2 I + second_std^2 (|w0|^2 I + w0 w0^T) / 2``. w stands
        for w0 there. With a number of rows, the sampling variance of least squares is added.
        """
        values, vectors = np.linalg.eigh(self.moments.second)
        shape = self.moments.cross.shape
        if values[0] <= _TELLING * self.radius:
            return np.full(shape, -np.inf), np.full(shape, np.inf)
        inverse = (vectors / values) @ vectors.T
        centre = inverse @ self.moments.cross
        variance = self._noise_variance(inverse, centre)
        if n_samples is not None:
            variance += inverse.diagonal()[:, None] * self._residual_variance(centre, n_samples)
        half = float(ndtri((1 + confidence) / 2)) * np.sqrt(variance)
        return centre - half, centre + half

    def _noise_variance(self, inverse: Array, centre: Array) -> Array:
        lengths = (centre**2).sum(axis=0)
        isotropic = self.cross_std**2 + self.second_std**2 * lengths / 2
        along = (inverse @ centre) ** 2 * self.second_std**2 / 2
        return np.asarray((inverse**2).sum(axis=1)[:, None] * isotropic + along)

    def _residual_variance(self, centre: Array, n_samples: float) -> Array:
        explained = (centre * (2 * self.moments.cross - self.moments.second @ centre)).sum(axis=0)
        residual = np.maximum(self.moments.squares - explained, 0.0)
        return np.asarray(residual / max(n_samples, 1.0))

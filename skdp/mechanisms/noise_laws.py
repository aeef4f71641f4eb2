"""Means and tails of continuous noise of unit scale, which the grid's noise follows closely."""

import functools
import math

import numpy as np
import numpy.typing as npt
from scipy.special import erfcx, ndtr, poch

__all__ = [
    "gaussian_mean_norm",
    "laplace_mean_norm",
    "laplace_survival",
    "spherical_laplace_survival",
]

Array = npt.NDArray[np.float64]

_SERIES_BELOW = 1e-3
_SERIES = [(-1) ** k * math.factorial(2 * k) / math.factorial(k) for k in range(1, 9)]
_ROWS = 4096


def gaussian_mean_norm(size: int) -> float:
    """Mean Euclidean norm of a standard normal: 2^(1/2) Gamma((d+1)/2) / Gamma(d/2)."""
    return math.sqrt(2) * float(poch(size / 2, 0.5))


@functools.lru_cache(maxsize=128)
def laplace_mean_norm(size: int) -> float:
    """Mean Euclidean norm of `size` independent Laplace variables of scale 1.

    For S >= 0, E S^(1/2) = (4 pi)^(-1/2) int_0^inf (1 - E exp(-t S)) t^(-3/2) dt, and the Laplace
    transform of a squared Laplace variable is pi^(1/2) z erfcx(z) with z = 1/(2 t^(1/2)). The
    trapezoidal rule in log t converges geometrically.
    """
    log_t, step = np.linspace(-90.0, 90.0, 901, retstep=True)
    log_t -= math.log(size)
    t = np.exp(log_t)
    z = 0.5 / np.sqrt(t)
    series = np.polyval([*_SERIES[::-1], 0.0], np.minimum(t, _SERIES_BELOW))
    closed = np.log(math.sqrt(math.pi) * z * erfcx(z))
    log_transform = np.where(t < _SERIES_BELOW, np.log1p(series), closed)
    integrand = -np.expm1(size * log_transform) * np.exp(-log_t / 2)
    return float(integrand.sum() * step / math.sqrt(4 * math.pi))


def laplace_survival(threshold: npt.ArrayLike) -> Array:
    """P(u > t) for a Laplace variable of scale 1."""
    t = np.asarray(threshold, dtype=np.float64)
    tail = np.exp(-np.abs(t)) / 2
    return np.asarray(np.where(t > 0, tail, 1 - tail))


def spherical_laplace_survival(threshold: npt.ArrayLike, size: int) -> Array:
    """P(u_1 > t) for a vector u of density proportional to exp(-||u||_2).

    The radius is Gamma(d), the direction uniform; equally, u is a normal vector with variance
    2 v, v ~ Gamma((d+1)/2), so that P(u_1 > t) = E Phi(-t / (2 v)^(1/2)).
    """
    t = np.asarray(threshold, dtype=np.float64)
    precision, weight = _normal_mixture(size)
    flat = t.reshape(-1, 1)
    rows = range(0, flat.shape[0], _ROWS)
    tails = [ndtr(-flat[at : at + _ROWS] * precision) @ weight for at in rows]
    return np.concatenate(tails).reshape(t.shape)


@functools.lru_cache(maxsize=128)
def _normal_mixture(size: int) -> tuple[Array, Array]:
    """Nodes 1/sigma and weights of the mixture of normals, by the trapezoidal rule in log v.

    In y = log v - log a, a the shape, the density is proportional to exp(a (1 + y - e^y)).
    """
    shape = (size + 1) / 2
    below = math.sqrt(100 / shape) + 50 / shape
    above = math.sqrt(500 / shape) if shape > 100 else math.log(300 / shape + 10)
    step = min(0.1, 0.4 / math.sqrt(shape))
    y = np.arange(-below, above, step)
    weight = np.exp(shape * (1 + y - np.exp(y)))
    return np.exp(-y / 2) / math.sqrt(2 * shape), weight / weight.sum()

"""Integer vectors whose law falls off with their Euclidean length."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from skdp._random import RandomSource
from skdp.mechanisms.integer_noise import (
    LAPLACE_TOTAL_VARIATION,
    discrete_gaussian,
    discrete_laplace,
)
from skdp.mechanisms.lazy_bernoulli import exact_arithmetic

__all__ = [
    "LARGEST_RATE",
    "smallest_rate",
    "spherical_laplace",
    "spherical_total_variation",
]

LARGEST_RATE = 2.0**10

_UNIFORM_WORDS = 6
_UNIFORM_BITS = 64 * _UNIFORM_WORDS
_PRODUCT_BITS = 320
_FINITE_PRECISION = 2.0**-180


def spherical_laplace(size: int, rate: float, rng: RandomSource) -> npt.NDArray[np.int64]:
    """Draw one vector of integers with P(z) proportional to exp(-a ||z||_2), a the rate.

    The continuous law is a scale mixture of Gaussians, whose variance is gamma distributed:
    exp(-a r) = C int_0^inf v^(-1/2) exp(-a^2 v / 2) exp(-r^2 / (2 v)) dv. On the lattice the
    discrete Gaussian of variance v is normalised by (2 pi v)^(size/2) theta(v)^size, so

    * v ~ Gamma((size + 1)/2, scale 2/a^2), then
    * z ~ discrete Gaussian of variance v, independently in each coordinate,

    is the law asked for, up to theta, which `spherical_total_variation` books. In one dimension,
    where theta matters most, the law is the discrete Laplace itself and is drawn as that.

    Parameters
    ----------
    size : int
        Dimension.
    rate : float
        The a of the formula, from `smallest_rate(size)` to `LARGEST_RATE`; its double is taken
        as an exact number.
    rng : RandomSource
        Where the bits come from.

    Returns
    -------
    ndarray of int64 of shape (size,)

    Raises
    ------
    ValueError
        If the rate is out of range.

    Examples
    --------
    >>> from skdp._random import RandomSource
    >>> spherical_laplace(3, 2.0**-30, RandomSource.from_system()).shape
    (3,)
    """
    if not smallest_rate(size) <= rate <= LARGEST_RATE:
        raise ValueError(
            f"rate must be from {smallest_rate(size):.3g} to {LARGEST_RATE:g} in dimension "
            f"{size}, got {rate!r}."
        )
    if size == 1:
        return discrete_laplace(1, rate, rng)
    return discrete_gaussian(size, mixing_variance(size, rate, rng), rng)


def smallest_rate(size: int) -> float:
    """Return the rate below which a coordinate might not fit into 58 bits.

    By Chernoff's bound with E exp(a y z) <= (1 - y^2)^(-(size+1)/2) for y = 1/2 or, in high
    dimension, y = 13/sqrt(size + 1): beyond this rate P(|z| > 2^58) < 2^-128 for all
    coordinates together, and P(|z| > 2^61) < 2^-1000.
    """
    return (256 + 16 * math.sqrt(size + 1)) * 2.0**-58


def spherical_total_variation(size: int, rate: float) -> float:
    r"""Bound the total variation of one `spherical_laplace` vector to its ideal law.

    Notes
    -----
    The mixture should weigh v by theta(v)^size. By Poisson summation the mean of that weight is
    1 + sum_{k != 0} (1 + 4 pi^2 |k|^2 / a^2)^(-(size+1)/2) over the dual lattice, and the total
    variation is at most the mean minus 1. Counting the k in cubic shells gives
    (a / 2 pi)^(size+1) (pi^2/3) size 3^(size-1).

    The rest, below size 2^-180, is: coins (2^-240 a coordinate); the clamp of v to
    [2^-200, 2^112] (2^-270); a uniform below 2^-192 ((size + 3)/2 times 2^-191); and, where none
    is, the 384 bits of each uniform and the 300 bits of v. These move v by a fraction eta with
    E eta <= 2^-188, and the law of z by at most eta sqrt(size): the relative entropy between
    discrete Gaussians of variances v and (1 + eta) v is about eta^2/4 a coordinate.
    """
    if size == 1:
        return LAPLACE_TOTAL_VARIATION
    log_theta = (
        (size + 1) * math.log(rate / (2 * math.pi))
        + math.log(math.pi**2 / 3 * size)
        + (size - 1) * math.log(3)
    )
    return min(1.0, math.exp(min(log_theta, 0.0)) + size * _FINITE_PRECISION)


def mixing_variance(size: int, rate: float, rng: RandomSource) -> Fraction:
    """Draw v ~ Gamma((size + 1)/2, scale 2/rate^2), exact to about 190 bits.

    A gamma variable of whole shape is a sum of exponentials, minus the logarithm of a product of
    uniforms; one of shape 1/2 is an exponential times cos^2(pi V), V uniform.
    """
    real = exact_arithmetic()
    gamma = _exponentials(_uniforms((size + 1) // 2, rng))
    if size % 2 == 0:
        (angle,) = _uniforms(1, rng)
        part = _exponentials(_uniforms(1, rng))
        gamma += part * real.cospi(real.ldexp(angle, -_UNIFORM_BITS - 1)) ** 2
    variance = 2 * gamma / real.mpf(rate) ** 2
    variance = min(max(variance, real.ldexp(1, -200)), real.ldexp(1, 112))
    mantissa, exponent = (int(part) for part in variance.man_exp)
    return Fraction(mantissa << max(exponent, 0), 1 << max(-exponent, 0))


def _uniforms(n: int, rng: RandomSource) -> list[int]:
    """Midpoints of `n` random cells of width 2^-384, in units of half a cell."""
    octets, width = rng.words(n * _UNIFORM_WORDS).tobytes(), 8 * _UNIFORM_WORDS
    starts = range(0, n * width, width)
    return [2 * int.from_bytes(octets[at : at + width], "little") + 1 for at in starts]


def _exponentials(uniforms: list[int]) -> Any:
    """Minus the logarithm of the product of uniforms."""
    product, scale = 1, -(_UNIFORM_BITS + 1) * len(uniforms)
    for factor in uniforms:
        product *= factor
        excess = max(0, product.bit_length() - _PRODUCT_BITS)
        product >>= excess
        scale += excess
    real = exact_arithmetic()
    return -real.log(real.mpf(product)) - scale * real.ln2

"""Normal noise rounded to integers, decided exactly.

Adding rint(w N) to an integer v is rounding v + w N. Whoever adds it to a vector of integers has
therefore run the Gaussian mechanism of standard deviation w, and only looked at less of it.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from skdp._random import RandomSource
from skdp._validation import positive
from skdp.mechanisms.continuous import coins, refined, signed_uniforms
from skdp.mechanisms.lazy_bernoulli import exact_arithmetic
from skdp.privacy.budget import Sensitivity
from skdp.privacy.gaussian_curve import gaussian_delta

if TYPE_CHECKING:
    from dp_accounting import DpEvent

__all__ = ["TOTAL_VARIATION", "RoundedGaussian"]

Floats = npt.NDArray[np.float64]

TOTAL_VARIATION = 2.0**-180
"""Total variation of one number to the rounded normal."""

_WIDTH_EXPONENT = 20
_RELATIVE_MARGIN = 2.0**-44
_ABSOLUTE_MARGIN = 2.0**-48
_BLOCK = 2**14
_LARGEST_INTEGER = 2.0**52
_LARGEST_EXPONENT = 700.0


@final
@dataclass(frozen=True)
class RoundedGaussian:
    """rint(w N) times a power-of-two grid g, with w g = `noise_std` and w from 2^20 up to 2^21.

    Parameters
    ----------
    noise_std : float
        Standard deviation of the normal noise before rounding, from 2^-990 to 2^990.

    Examples
    --------
    >>> from skdp._random import RandomSource
    >>> noise = RoundedGaussian(3.0)
    >>> noise.width * noise.grid
    3.0
    >>> z = noise.integers(1000, RandomSource.from_seed(0))
    >>> bool((z == z.round()).all()), 0.9 < z.std() / noise.width < 1.1
    (True, np.True_)
    """

    noise_std: float

    def __post_init__(self) -> None:
        positive(noise_std=self.noise_std)
        if not 2.0**-990 <= self.noise_std <= 2.0**990:
            raise ValueError(f"noise_std={self.noise_std!r} is out of the range of the grid.")

    @cached_property
    def width(self) -> float:
        """The w."""
        return math.ldexp(math.frexp(self.noise_std)[0], _WIDTH_EXPONENT + 1)

    @cached_property
    def grid(self) -> float:
        """The g."""
        return math.ldexp(1.0, math.frexp(self.noise_std)[1] - _WIDTH_EXPONENT - 1)

    def on_grid(self, values: Floats) -> Floats:
        """Return values/g as whole numbers, which multiples of g are; clamped at 2^52.

        NaN becomes 0: it would be an unbounded contribution, and raising would tell.
        """
        with np.errstate(over="ignore", under="ignore"):
            integers = np.rint(values / self.grid)
        np.minimum(
            np.maximum(integers, -_LARGEST_INTEGER, out=integers), _LARGEST_INTEGER, out=integers
        )
        integers[np.isnan(integers)] = 0.0
        return integers

    def off_grid(self, integers: Floats) -> Floats:
        """Return g times the whole numbers, without negative zeros, which would tell of signs."""
        return integers * self.grid + 0.0

    def integers(self, n: int, rng: RandomSource) -> Floats:
        """Draw `n` times rint(w N)."""
        if n > _BLOCK:
            starts = range(0, n, _BLOCK)
            return np.concatenate([self.integers(min(_BLOCK, n - at), rng) for at in starts])
        negative, tails = signed_uniforms(n, rng)
        magnitudes = self.magnitudes(tails, rng)
        return np.where(negative, -magnitudes, magnitudes)

    def integers_with(self, tails: Floats, rng: RandomSource) -> Floats:
        """Return `magnitudes` with random signs."""
        magnitudes = self.magnitudes(tails, rng)
        return np.where(coins(tails.size, rng), -magnitudes, magnitudes)

    def magnitudes(self, tails: Floats, rng: RandomSource) -> Floats:
        """Return rint(w |N|) where P(|N'| > |N|) = U, for uniforms U that begin as `tails` do.

        Double precision settles this unless w |N| lies next to a half-integer. There, at one
        number in 2^22 or so, 192 more bits of U are drawn and compared with the tail probability
        beyond the half-integer, computed to 300 bits.

        Parameters
        ----------
        tails : ndarray of float64, shape (n,)
            Numbers of `continuous.uniforms`, or such times a power of two.
        rng : RandomSource
            Where further bits come from.

        Notes
        -----
        The margin is 2^-44 w |N| + 2^-48 w. What `ndtri`, with a relative error below 2^-50 (a
        test compares it with mpmath), and the bits of U beyond the first 53 amount to is less
        than a twentieth of that.
        """
        exact: Floats = -self.width * ndtri(0.5 * tails)
        magnitudes: Floats = np.rint(exact)
        to_half = 0.5 - np.abs(exact - magnitudes)
        margin = _RELATIVE_MARGIN * exact + _ABSOLUTE_MARGIN * self.width
        for place in np.flatnonzero(to_half < margin):
            below = math.floor(exact[place])
            beyond = _two_sided_tail(below + 0.5, self.width)
            magnitudes[place] = below + (refined(float(tails[place]), rng) < beyond)
        return magnitudes

    def largest_magnitude(self, tail: float) -> float:
        """Bound `magnitudes` for all tails from `tail` to 1."""
        return math.floor(-self.width * float(ndtri(0.5 * tail))) + 1.0

    def tail_at(self, magnitude: float) -> float:
        """Return a number above P(|rint(w N)| >= magnitude)."""
        return min(1.0, 2 * float(ndtr((1 - magnitude) / self.width)))

    def event(self, sensitivity: Sensitivity, total_variation: float) -> "DpEvent":
        """Describe a release that is post-processing of this noise, up to a total variation t.

        What is run has a delta of at most delta(epsilon) + (1 + e^epsilon) t, delta being the
        Gaussian curve; and as no delta rises with epsilon, the value at any one epsilon bounds
        the excess over delta(epsilon) everywhere. It is taken where it is least.
        """
        from dp_accounting import NonPrivateDpEvent

        from skdp.privacy.events import GaussianReleaseDpEvent

        mu = sensitivity.value / self.noise_std
        best = -mu * (float(ndtri(total_variation)) + mu / 2)
        at = min(max(best, 0.0), _LARGEST_EXPONENT)
        delta = gaussian_delta(mu, at) + (1 + math.exp(at)) * total_variation
        if delta >= 1:
            return NonPrivateDpEvent()
        return GaussianReleaseDpEvent(
            sensitivity=sensitivity.value,
            norm=sensitivity.norm,
            neighbours=sensitivity.neighbours.value,
            noise_std=self.noise_std,
            delta=delta,
        )


def _two_sided_tail(threshold: float, width: float) -> Fraction:
    """P(width |N| > threshold) to 300 bits."""
    real = exact_arithmetic()
    tail = real.erfc(real.mpf(threshold) / (width * real.sqrt(2)))
    mantissa, exponent = (int(part) for part in tail.man_exp)
    return mantissa * Fraction(2) ** exponent

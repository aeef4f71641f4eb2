"""The noise of `RoundedGaussian`, drawn several times faster where there is a compiler."""

import functools
from typing import Any, NamedTuple, final

import numpy as np
import numpy.typing as npt

from skdp._random import RandomSource
from skdp.mechanisms.continuous import signed_uniforms_of
from skdp.mechanisms.rounded_gaussian import RoundedGaussian

__all__ = ["ANY", "Beginning", "rounded_normals"]

Array = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]

#: Words that are drawn at a time, which stay in the cache, and how many of them are for numbers
#: whose first bits are all zero, four on average.
_SPARE = 2**4
_BLOCK = 2**13 - _SPARE
_SIGN = np.uint64(2**63)


@final
class Beginning(NamedTuple):
    """Bits of a word that are known before it is drawn.

    Attributes
    ----------
    mask, value : int
        Which bits, and what they are.
    """

    mask: int
    value: int

    def words(self, n: int, rng: RandomSource) -> Words:
        """Draw `n` words, uniform among those that begin so."""
        drawn = rng.words(n)
        if not self.mask:
            return drawn
        begun = drawn & np.uint64(2**64 - 1 - self.mask)
        begun |= np.uint64(self.value)
        return begun


ANY = Beginning(0, 0)


def rounded_normals(
    noise_std: float, out: Array, rng: RandomSource, beginning: Beginning = ANY, zeros: int = 0
) -> None:
    """Fill a vector with rint(w N), the whole numbers of `RoundedGaussian.integers`.

    Parameters
    ----------
    noise_std : float
        Standard deviation, as `RoundedGaussian` takes it.
    out : ndarray of float64, shape (n,)
        Contiguous; large ones are dear to make, so make one and use it again.
    rng : RandomSource
        Where the bits come from.
    beginning : Beginning, optional
        What is known of the words, as `continuous.signed_uniforms_of` reads them.
    zeros : int, default=0
        Up to 7: numbers are drawn from the tail in which the uniform is 2^-zeros times one.

    Notes
    -----
    *Guarantees.* Those of `RoundedGaussian`: of the same words the same numbers are made. Compiled
    code decides those that lie far enough from half-integers; one in half a million, which does
    not, is decided by `RoundedGaussian.magnitudes`. One in 2,000, whose first bits are all zero,
    takes another word, as it does there.

    Examples
    --------
    >>> from skdp._random import RandomSource
    >>> z = np.empty(1000)
    >>> rounded_normals(3.0, z, RandomSource.from_seed(0))
    >>> bool((z == z.round()).all())
    True
    """
    law, compiled = RoundedGaussian(noise_std), compiled_kernels()
    if compiled is None or zeros > compiled.MOST_ZEROS:
        negative, tails = signed_uniforms_of(beginning.words(len(out), rng), rng)
        magnitudes = law.magnitudes(0.5**zeros * tails, rng)
        out[:] = np.where(negative, -magnitudes, magnitudes)
        return
    n_spare = 0 if beginning.mask else _SPARE
    for start in range(0, len(out), _BLOCK):
        part = out[start : start + _BLOCK]
        words = beginning.words(len(part) + n_spare, rng)
        places, sources = compiled.fill(part, words, law.width, zeros)
        if len(places):
            _, tails = signed_uniforms_of(words[sources], rng)
            known = np.where(sources < len(part), zeros, zeros + compiled.EXPONENT_BITS)
            magnitudes = law.magnitudes(0.5**known * tails, rng)
            part[places] = np.where(words[places] >= _SIGN, -magnitudes, magnitudes)


@functools.cache
def compiled_kernels() -> Any:
    """Return the module of compiled code, or None without numba."""
    try:
        from skdp.training import rounded_kernels
    except (ImportError, RuntimeError):  # an installation that does not fit, or has no cache
        return None
    return rounded_kernels

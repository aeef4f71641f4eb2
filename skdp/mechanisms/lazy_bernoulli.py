"""Coins whose probability is a real number, decided exactly."""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from skdp._random import RandomSource

__all__ = ["RELATIVE_ERROR", "TOTAL_VARIATION", "bernoulli", "exact_arithmetic"]

RELATIVE_ERROR = 2.0**-44
"""How wrong a probability handed to `bernoulli` may be, relatively (or 2^-64 absolutely)."""

TOTAL_VARIATION = 2.0**-250
"""Total variation between one coin and the ideal one."""

_WORD = 2.0**64
_MORE_WORDS = 3
_BITS = 64 * (1 + _MORE_WORDS)
_EXACT_BITS = 300


def bernoulli(
    probability: npt.NDArray[np.float64],
    shape: tuple[int, ...],
    rng: RandomSource,
    exact: Callable[[int], Any],
) -> npt.NDArray[np.bool_]:
    """Decide 1[U < P] for independent uniform U, with only as many bits of U as it takes.

    One word fixes U to within 2^-64. That settles the comparison unless the word lies within
    2^-43 P + 2^-63 of `probability`, which happens to about one coin in 2^42. For that coin alone
    192 more bits are drawn and P is computed to 300 bits. What is then still undecided has
    probability below 2^-250, so the law of the coin is exact up to that.

    Parameters
    ----------
    probability : ndarray of float64
        P as computed in double precision, in [0, 1], with a relative error of at most
        `RELATIVE_ERROR`, or an absolute one of at most 2^-64. Broadcasts to `shape`.
    shape : tuple of int
        Shape of the result.
    rng : RandomSource
        Where the bits come from.
    exact : callable
        Maps an index into the flattened result to the true P, as a number of
        `exact_arithmetic()`.

    Returns
    -------
    ndarray of bool

    Notes
    -----
    The margin is twice what `RELATIVE_ERROR` needs; the half that is left covers the rounding of
    the word to 53 bits (2^-53 relative). The absolute part is two words: one for the part of U
    not drawn yet and one for the absolute error allowed.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp._random import RandomSource
    >>> real = exact_arithmetic()
    >>> third = np.array([1 / 3])
    >>> coins = bernoulli(third, (900,), RandomSource.from_seed(0), lambda i: real.mpf(1) / 3)
    >>> 250 < coins.sum() < 350
    np.True_
    """
    drawn = rng.words(math.prod(shape)).reshape(shape)
    uniform = drawn.astype(np.float64)
    scaled = probability * _WORD
    margin = scaled * (2 * RELATIVE_ERROR) + 2.0
    success: npt.NDArray[np.bool_] = uniform < scaled - margin
    doubtful = np.flatnonzero(success != (uniform <= scaled + margin))
    for index in doubtful:
        success.flat[index] = _decide(int(drawn.flat[index]), exact(int(index)), rng)
    return success


def _decide(first: int, probability: Any, rng: RandomSource) -> bool:
    uniform = first
    for word in rng.words(_MORE_WORDS):
        uniform = (uniform << 64) | int(word)
    return bool(uniform < exact_arithmetic().ldexp(probability, _BITS))


@functools.cache
def exact_arithmetic() -> Any:
    """Return mpmath's functions at 300 bits, in a context that nobody else changes."""
    from mpmath import MPContext

    context = MPContext()
    context.prec = _EXACT_BITS
    return context

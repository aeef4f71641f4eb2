"""The noise of `RoundedGaussian`, drawn several times faster where there is a compiler."""

import functools
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from skdp._random import RandomSource
from skdp.mechanisms.continuous import signed_uniforms_of
from skdp.mechanisms.rounded_gaussian import RoundedGaussian

__all__ = ["rounded_normals"]

Array = npt.NDArray[np.float64]
Fill = Callable[[Array, npt.NDArray[np.uint64], float], npt.NDArray[np.int64]]

#: Words that are drawn at a time: they stay in the cache.
_BLOCK = 2**13


def rounded_normals(noise_std: float, out: Array, rng: RandomSource) -> None:
    """Fill a vector with rint(w N), the whole numbers of `RoundedGaussian.integers`.

    Parameters
    ----------
    noise_std : float
        Standard deviation, as `RoundedGaussian` takes it.
    out : ndarray of float64, shape (n,)
        Contiguous; large ones are dear to make, so make one and use it again.
    rng : RandomSource
        Where the bits come from.

    Notes
    -----
    *Guarantees.* Those of `RoundedGaussian`: of the same words the same numbers are made. Compiled
    code decides those that lie far enough from half-integers; one in about 2,000, which does not,
    or whose first bits are all zero, is decided by `RoundedGaussian.magnitudes`.

    Examples
    --------
    >>> from skdp._random import RandomSource
    >>> z = np.empty(1000)
    >>> rounded_normals(3.0, z, RandomSource.from_seed(0))
    >>> bool((z == z.round()).all())
    True
    """
    law, compiled = RoundedGaussian(noise_std), compiled_fill()
    if compiled is None:
        out[:] = law.integers(len(out), rng)
        return
    places, left = [], []
    for start in range(0, len(out), _BLOCK):
        part = out[start : start + _BLOCK]
        words = rng.words(len(part))
        undecided = compiled(part, words, law.width)
        places.append(start + undecided)
        left.append(words[undecided])
    if sum(map(len, left)):
        negative, tails = signed_uniforms_of(np.concatenate(left), rng)
        magnitudes = law.magnitudes(tails, rng)
        out[np.concatenate(places)] = np.where(negative, -magnitudes, magnitudes)


@functools.cache
def compiled_fill() -> Fill | None:
    """Return the compiled code, or None without numba."""
    try:
        from skdp.training.rounded_kernels import fill
    except (ImportError, RuntimeError):  # an installation that does not fit, or has no cache
        return None
    return fill

"""Noise of many coordinates, of which few are looked at: some bits of each, the rest on demand.

The noise of a coordinate is a function of random bits. The first ones, the sign and what says how
large the noise is, tell the stratum that it lies in, and so a bound. Further bits are drawn only
where that bound leaves it open whether the coordinate is selected: a noise is of the same law
whether its bits are drawn at once or one after the other.
"""

import functools
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from skdp._random import RandomSource
from skdp.mechanisms.continuous import exponentials_of, laplaces_of, uniforms
from skdp.mechanisms.rounded_gaussian import RoundedGaussian
from skdp.training.rounded_noise import Beginning, rounded_normals

__all__ = ["Exponentials", "Gaussians", "Laplaces", "StratifiedLaw", "Stratum", "UpperGaussians"]

Array = npt.NDArray[np.float64]

_SIGN, _FIRST = 63, 62
#: Bits after the sign that are looked at first.
MOST_ZEROS = 7
#: Words that are drawn at a time, which stay in the cache, and how many of them are for numbers
#: whose first bits are all zero, four on average.
_FOR_SMALL = 2**4
_BLOCK = 2**13 - _FOR_SMALL
#: Bounds are above what rounding makes of any noise.
_SPARE = 2.0**-30


@final
@dataclass(frozen=True)
class Stratum:
    """Noises whose words begin alike.

    Attributes
    ----------
    beginning : Beginning
        Of the words of `continuous.signed_uniforms_of`.
    zeros : int
        How many bits after the sign are known to be 0.
    smallest : float
        Below which no uniform of these words lies.
    """

    beginning: Beginning
    zeros: int
    smallest: float

    @classmethod
    def of(cls, sign: int | None, zeros: int, ended: bool) -> "Stratum":
        """Return words of a sign, or any, and so many zeros, or, where they go on, more."""
        mask = value = 0
        if sign is not None:
            mask, value = 1 << _SIGN, sign << _SIGN
        for place in range(zeros + ended):
            mask |= 1 << (_FIRST - place)
        if ended:
            value |= 1 << (_FIRST - zeros)
        return cls(Beginning(mask, value), zeros, 0.5 ** (zeros + 1) if ended else 0.0)

    @property
    def probability(self) -> float:
        """Share of all words."""
        return 0.5 ** self.beginning.mask.bit_count()


@dataclass(frozen=True)
class StratifiedLaw(ABC):
    """A law of noise, cut into strata of which the first holds the largest noises.

    Attributes
    ----------
    zeros : int or None
        From how many zeros on a word belongs to the first stratum, at most `MOST_ZEROS`; None
        where there is a single stratum.
    """

    zeros: int | None

    @classmethod
    def zeros_for(cls, size: int, expected: float) -> int | None:
        """Return the most zeros with which so many of `size` noises lie in the first stratum."""
        for zeros in range(MOST_ZEROS, -1, -1):
            if size * Stratum.of(cls._sign(), zeros, False).probability >= expected:
                return zeros
        return None

    @cached_property
    def strata(self) -> tuple[Stratum, ...]:
        """Each word belongs to one.

        With n bits known in the first stratum, the words of the j-th share n - j of these, from the
        sign on, and differ in the next.
        """
        if self.zeros is None:
            return (Stratum.of(None, 0, False),)
        sign = self._sign()
        first = Stratum.of(sign, self.zeros, False)
        others = [Stratum.of(sign, zeros, True) for zeros in range(self.zeros - 1, -1, -1)]
        small = [] if sign is None else [Stratum.of(1 - sign, 0, False)]
        return (first, *others, *small)

    @cached_property
    def tops(self) -> Array:
        """What no noise of each stratum exceeds: in absolute value, for a symmetric law."""
        return np.array([math.inf, *map(self._top, self.strata[1:])])

    @property
    def bar(self) -> float:
        """What all noises of the first stratum reach, and none of the others, but by rounding."""
        return float(self.tops[1:].max(initial=-math.inf)) + self._spare

    @abstractmethod
    def draw(self, place: int, out: Array, rng: RandomSource) -> None:
        """Fill a vector with noises of a stratum."""

    @staticmethod
    @abstractmethod
    def _sign() -> int | None:
        """Sign of the words of the largest noises; None for both."""

    @abstractmethod
    def _top(self, stratum: Stratum) -> float:
        """Return the bound of one that is not the first."""

    @property
    @abstractmethod
    def _spare(self) -> float:
        """By how much bounds are larger than need be."""


@dataclass(frozen=True)
class _Normals(StratifiedLaw):
    """The rint(w N) of `RoundedGaussian`."""

    noise_std: float

    def draw(self, place: int, out: Array, rng: RandomSource) -> None:
        stratum = self.strata[place]
        if stratum.smallest == 0 and stratum.zeros > 0:
            # As with the zeros in its words, but with fewer that these leave open; of any sign.
            rounded_normals(self.noise_std, out, rng, zeros=stratum.zeros)
        else:
            rounded_normals(self.noise_std, out, rng, stratum.beginning)

    def _top(self, stratum: Stratum) -> float:
        width = RoundedGaussian(self.noise_std).width
        return math.ceil(-width * float(ndtri(stratum.smallest / 2))) + self._spare

    @property
    def _spare(self) -> float:
        return 1.0


@final
@dataclass(frozen=True)
class Gaussians(_Normals):
    """The rint(w N) of `RoundedGaussian`, of which the largest in absolute value come first.

    Attributes
    ----------
    noise_std : float
        As it takes it.

    Examples
    --------
    >>> law = Gaussians(3, 1.0)
    >>> [stratum.probability for stratum in law.strata]
    [0.125, 0.125, 0.25, 0.5]
    >>> z = np.empty(1000)
    >>> law.draw(2, z, RandomSource.from_seed(0))
    >>> bool((abs(z) <= law.tops[2]).all() and (abs(z) > law.tops[3] - 3).all())
    True
    """

    @staticmethod
    def _sign() -> int | None:
        return None


@final
@dataclass(frozen=True)
class UpperGaussians(_Normals):
    """The rint(w N) of `RoundedGaussian`, of which the largest come first, the negative ones last.

    Attributes
    ----------
    noise_std : float
        As it takes it.

    Examples
    --------
    >>> law = UpperGaussians(2, 1.0)
    >>> [stratum.probability for stratum in law.strata]
    [0.125, 0.125, 0.25, 0.5]
    >>> z = np.empty(1000)
    >>> law.draw(3, z, RandomSource.from_seed(0))
    >>> bool((z <= 0).all())
    True
    """

    def draw(self, place: int, out: Array, rng: RandomSource) -> None:
        super().draw(place, out, rng)
        if place == 0 and self.zeros is not None:
            np.abs(out, out=out)

    @staticmethod
    def _sign() -> int | None:
        return 0

    def _top(self, stratum: Stratum) -> float:
        return self._spare if stratum is self.strata[-1] else super()._top(stratum)


@final
@dataclass(frozen=True)
class Exponentials(StratifiedLaw):
    """The numbers of `continuous.exponentials`; bounds are those of the Gumbel -log of each.

    Examples
    --------
    >>> law = Exponentials(2)
    >>> float(law.tops[1]), -math.log(-math.log(1 - 2**-3))  # what is below 2^-2, halved
    (2.013..., 2.013...)
    """

    def draw(self, place: int, out: Array, rng: RandomSource) -> None:
        stratum = self.strata[place]
        if not _drawn_compiled(stratum, True, out, rng):
            out[:] = exponentials_of(stratum.beginning.words(len(out), rng), rng)

    @staticmethod
    def _sign() -> int | None:
        return 1

    def _top(self, stratum: Stratum) -> float:
        if stratum is self.strata[-1]:
            return -math.log(math.log(2)) + self._spare
        return -math.log(-math.log1p(-stratum.smallest / 2)) + self._spare

    @property
    def _spare(self) -> float:
        return _SPARE


@final
@dataclass(frozen=True)
class Laplaces(StratifiedLaw):
    """The numbers of `continuous.laplaces`.

    Examples
    --------
    >>> Laplaces(1).tops.round(3)
    array([  inf, 0.693, 0.   ])
    """

    def draw(self, place: int, out: Array, rng: RandomSource) -> None:
        stratum = self.strata[place]
        if stratum.beginning.value >> _SIGN or not _drawn_compiled(stratum, False, out, rng):
            out[:] = laplaces_of(stratum.beginning.words(len(out), rng), rng)

    @staticmethod
    def _sign() -> int | None:
        return 0

    def _top(self, stratum: Stratum) -> float:
        if stratum is self.strata[-1]:
            return self._spare
        return -math.log(stratum.smallest) + self._spare

    @property
    def _spare(self) -> float:
        return _SPARE


def _drawn_compiled(stratum: Stratum, race: bool, out: Array, rng: RandomSource) -> bool:
    """Fill a vector in compiled code, if there is a compiler, and zeros are known."""
    kernels = _compiled_kernels()
    if kernels is None or stratum.zeros == 0:
        return False
    zeros, ended = stratum.zeros, stratum.smallest > 0
    for start in range(0, len(out), _BLOCK):
        part = out[start : start + _BLOCK]
        words = rng.words(len(part) + (0 if ended else _FOR_SMALL))
        places, known = kernels.fill(part, words, zeros, ended, race)
        if len(places):
            tails = 0.5**known * uniforms(len(places), rng)
            part[places] = -np.log1p(-0.5 * tails) if race else -np.log(tails)
    return True


@functools.cache
def _compiled_kernels() -> Any:
    """Return the module of compiled code, or None without numba."""
    try:
        from skdp.embedding import exponential_kernels
    except (ImportError, RuntimeError):  # an installation that does not fit, or has no cache
        return None
    return exponential_kernels

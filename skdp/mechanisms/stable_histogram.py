"""How often categories occur that nobody declared: those above a threshold, with noise."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self, final

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from skdp._random import RandomSource
from skdp.mechanisms.additive import EPSILON_CAP
from skdp.mechanisms.base import Array, Mechanism
from skdp.mechanisms.rounded_gaussian import TOTAL_VARIATION, RoundedGaussian
from skdp.mechanisms.statistics import SparseSum
from skdp.privacy.budget import Neighbours, Norm, PrivacyBudget, Sensitivity
from skdp.privacy.gaussian_curve import gaussian_mu

if TYPE_CHECKING:
    from dp_accounting import DpEvent

__all__ = ["Category", "Key", "KeyedCounts", "StableHistogram"]

Category = str | float | None
Key = tuple[int, Category]

#: The largest delta that an event takes.
_LARGEST = 1 - 2.0**-53
#: Part of delta for a rare category to show. More of it lowers the threshold by a few per cent, and
#: a ledger of Renyi divergences sets little delta aside.
_SHARE_OF_RARE = 0.1
_ROUNDED_UP = 1 + 2.0**-30


@final
@dataclass(frozen=True)
class KeyedCounts:
    """Counts of the categories of some columns; a category that is not there has 0.

    Parameters
    ----------
    counts : mapping from (column, category) to float
        A category is a text, a number, or None for a missing value.

    Examples
    --------
    >>> KeyedCounts({(0, "b"): 1.0, (0, "a"): 2.0}).keys
    ((0, 'a'), (0, 'b'))
    """

    counts: Mapping[Key, float]

    @property
    def keys(self) -> tuple[Key, ...]:
        """All keys in their order, missing values last."""
        return tuple(sorted(self.counts, key=_rank))

    def at(self, keys: Iterable[Key]) -> Array:
        """Return the counts of some keys."""
        return np.array([self.counts.get(key, 0.0) for key in keys], dtype=np.float64)


@final
@dataclass(frozen=True)
class StableHistogram(Mechanism[KeyedCounts]):
    r"""{(k, c_k + N_k) : k declared or (c_k > 0 in a hidden column), c_k + N_k >= T}, N_k normal.

    Guarantees
    ----------
    A record is in one category of each of `n_columns` columns. Added, removed or made null it moves
    so many counts by 1, and the vector of all counts by ``sqrt(n_columns)``; where it is replaced,
    ``sqrt(2 n_columns)``.

    The noisy counts of categories that occur in both of two neighbouring data sets, or are
    declared, are a Gaussian release, of which the rest is post-processing. The others are in the
    data of one record alone, at most one in each of the m columns that are `hidden`, with a count
    of 1. A category that is not declared, of a column that is not hidden, is never released. Let

    .. math:: \delta_\mathrm{rare} = 1 - P[1 + N < T]^m .

    Given that none of them reaches T, which is so with probabilities a and b of at least
    1 - delta_rare on the two data sets, the outputs are a pair of Gaussian releases G and G'. For
    every set of outputs 1 - a + a G - e^epsilon b G' is at most
    max(1 - a, 1 - b) + min(a, b) delta(epsilon), delta being the Gaussian curve; so all
    together, also composed with other releases, has that curve plus delta_rare (Korolova,
    Kenthapadi, Mishra and Ntoulas 2009, for Laplace noise; Wilkins, Kifer, Zhang and Karrer 2024,
    section 3, for Gaussian noise and m columns jointly).

    The noise is a normal number rounded to a grid of which counts are multiples.

    Parameters
    ----------
    sensitivity : Sensitivity
        L2 bound on how far a record moves all counts.
    size : int
        How many counts a record moves.
    noise_std : float
        The sigma, in records.
    threshold : float
        The T.
    hidden : tuple of int
        The m columns whose categories are not declared.
    declared : tuple of (column, category)
        Keys of the other columns.

    Examples
    --------
    >>> histogram = StableHistogram.calibrated(
    ...     Neighbours.ZERO_OUT, PrivacyBudget(1.0, 1e-6), n_columns=1
    ... )
    >>> round(histogram.threshold, 1), round(histogram.noise_std, 2)
    (23.1, 4.25)
    >>> counts = KeyedCounts({(0, "common"): 900.0, (0, "one person's"): 1.0})
    >>> histogram.release(counts, RandomSource.from_system()).keys
    ((0, 'common'),)
    """

    required_norm: ClassVar[Norm] = "l2"
    noise_std: float
    threshold: float
    hidden: tuple[int, ...]
    declared: tuple[Key, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(set(self.hidden)) < len(self.hidden):
            raise ValueError(f"hidden must be different columns, got {self.hidden!r}.")
        if self._noise.grid > 1:
            raise ValueError("epsilon and delta are too small to count records. Raise them.")

    @classmethod
    def calibrated(
        cls,
        neighbours: Neighbours,
        budget: PrivacyBudget,
        *,
        n_columns: int,
        declared: tuple[Key, ...] = (),
        least: float = 0.0,
    ) -> Self:
        """Return the histogram of least noise that keeps the budget, T being `least` or more.

        The columns are 0, ..., `n_columns` - 1; those without a declared key are hidden.
        """
        known = {column for column, _ in declared}
        hidden = tuple(column for column in range(n_columns) if column not in known)
        n_hidden = len(hidden)
        moved = n_columns * (2 if neighbours is Neighbours.REPLACE_ONE else 1)
        rare = _SHARE_OF_RARE * budget.delta if n_hidden else 0.0
        epsilon = min(budget.epsilon, EPSILON_CAP)
        mu = gaussian_mu(epsilon, (budget.delta - rare) * (1 - 2.0**-20))
        # A square root that is rounded downwards would be a bound that one record breaks.
        bound = Sensitivity(math.sqrt(moved) * (1 + 2.0**-50), "l2", neighbours)
        noise_std = bound.value / mu * (1 + 2.0**-48)
        reached = _threshold(noise_std, rare, n_hidden) if n_hidden else 0.0
        return cls(bound, moved, noise_std, max(reached, least), hidden, declared)

    @property
    def noise_scale(self) -> float:
        """Standard deviation of the noise on a count."""
        return self.noise_std

    @property
    def delta_rare(self) -> float:
        """Probability that some category of one record alone shows, rounded upwards."""
        if not self.hidden:
            return 0.0
        noise = self._noise
        beyond = (1 - self.threshold) / noise.grid + 1
        one = min(float(ndtr(beyond / noise.width)) * _ROUNDED_UP + TOTAL_VARIATION, _LARGEST)
        return min(-math.expm1(len(self.hidden) * math.log1p(-one)) * _ROUNDED_UP, _LARGEST)

    @property
    def event(self) -> "DpEvent":
        import attr
        from dp_accounting import NonPrivateDpEvent

        noise = self._noise.event(self.sensitivity, self.size * TOTAL_VARIATION)
        if isinstance(noise, NonPrivateDpEvent):
            return noise
        return attr.evolve(noise, delta=noise.delta + self.delta_rare)

    @property
    def theorem(self) -> str:
        return (
            "Balle and Wang (2018), Theorem 8, for noisy counts, and Wilkins et al. (2024) for the "
            "threshold that hides categories of single records (Korolova et al. 2009)"
        )

    @cached_property
    def _noise(self) -> RoundedGaussian:
        return RoundedGaussian(self.noise_std)

    def _release(
        self, value: "npt.ArrayLike | SparseSum | KeyedCounts", rng: RandomSource
    ) -> KeyedCounts:
        if not isinstance(value, KeyedCounts):
            raise TypeError("StableHistogram needs KeyedCounts.")
        keys = self._keys(value)
        if not keys:
            return KeyedCounts({})
        integers = self._noise.on_grid(value.at(keys)) + self._noise.integers(len(keys), rng)
        noisy = self._noise.off_grid(integers)
        above = np.flatnonzero(noisy >= self.threshold)
        return KeyedCounts({keys[i]: float(noisy[i]) for i in above})

    def _keys(self, value: KeyedCounts) -> tuple[Key, ...]:
        """Return the keys that get noise: others would show without being paid for."""
        hidden = set(self.hidden)
        occurring = {
            key: count for key, count in value.counts.items() if key[0] in hidden and count > 0
        }
        return KeyedCounts({**dict.fromkeys(self.declared, 0.0), **occurring}).keys


def _threshold(noise_std: float, delta_rare: float, n_hidden: int) -> float:
    """Return the T at which all columns together show a category of one record so rarely."""
    one = -math.expm1(math.log1p(-delta_rare) / n_hidden)
    return 1 + noise_std * (-float(ndtri(one)) * (1 + 2.0**-20) + 2.0**-18)


def _rank(key: Key) -> tuple[int, int, str | float]:
    column, category = key
    if category is None:
        return column, 2, 0.0
    return column, int(isinstance(category, str)), category

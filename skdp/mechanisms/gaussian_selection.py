"""Selections that look at the vector plus Gaussian noise, and at nothing else."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from skdp._random import RandomSource
from skdp._validation import is_real
from skdp.mechanisms.exceedances import TOTAL_VARIATION as EXTREMES_TOTAL_VARIATION
from skdp.mechanisms.exceedances import descending_tails, level_below, level_with
from skdp.mechanisms.order_statistics import distinct_outside, random_subset
from skdp.mechanisms.rounded_gaussian import TOTAL_VARIATION, RoundedGaussian
from skdp.mechanisms.selection import SelectionMechanism, TopMechanism
from skdp.mechanisms.statistics import Floats, Indices, Selection, SparseSum

if TYPE_CHECKING:
    from dp_accounting import DpEvent

__all__ = ["GaussianThreshold", "GaussianTopK"]


class _GaussianSelection(SelectionMechanism):
    """Post-processing of the vector plus rounded normal noise."""

    noise_std: float

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self._noise

    @property
    def grid(self) -> float:
        """Spacing of the noisy values, a power of two from sigma/2^21 to sigma/2^20."""
        return self._noise.grid

    @property
    def event(self) -> "DpEvent":
        total_variation = self.size * TOTAL_VARIATION + EXTREMES_TOTAL_VARIATION
        return self._noise.event(self.sensitivity, total_variation)

    @property
    def theorem(self) -> str:
        return (
            "Balle and Wang (2018), Theorem 8, for the noisy vector, of which the selection is "
            "post-processing"
        )

    @cached_property
    def _noise(self) -> RoundedGaussian:
        return RoundedGaussian(self.noise_std)


@final
@dataclass(frozen=True)
class GaussianTopK(_GaussianSelection, TopMechanism):
    """The k coordinates that are largest in absolute value after N(0, sigma^2) on every one.

    Selected are the k largest of abs(v_j + N_j), j = 1, ..., size, and their noisy values
    v_j + N_j come along: all of this is post-processing of one Gaussian release, so the cost does
    not depend on k. `value` consists of multiples of `grid`; other numbers are rounded to it,
    which the sensitivity does not count.

    Guarantees
    ----------
    Balle and Wang (2018), Theorem 8, for the vector plus noise. The noise is rint(w N) times the
    grid; a multiple of the grid plus this is the rounded sum, which is post-processing again, so
    the grid costs nothing. Of the coordinates that are zero only the largest noises are drawn
    (`exceedances.descending_tails`), with exactly the law of the noise of the others; ties are
    broken at random over both. Every rounding and every count that double precision does not
    settle is decided with further bits, so what finite precision adds is a total variation of
    size 2^-180 + 2^-164, which the event carries.

    Parameters
    ----------
    sensitivity : Sensitivity
        L2 bound on how far one record moves the vector.
    size : int
        Number of coordinates.
    n_selected : int
        The k, from 1 to `size`.
    noise_std : float
        The sigma, in the units of the vector.

    References
    ----------
    Durfee and Rogers (2019), Practical differentially private top-k selection with
    pay-what-you-get composition, for selection from noisy values.

    Examples
    --------
    >>> from skdp._random import RandomSource
    >>> from skdp.mechanisms import GaussianTopK, SparseSum
    >>> from skdp.privacy.budget import Neighbours, Sensitivity
    >>> sensitivity = Sensitivity(1.0, "l2", Neighbours.ZERO_OUT)
    >>> top = GaussianTopK(sensitivity, 10**9, n_selected=2, noise_std=1.0)
    >>> gradient = SparseSum([3, 500, 10**8], [90.0, 0.0, -70.0], 10**9)
    >>> top.release(gradient, RandomSource.from_seed(0)).indices
    array([        3, 100000000])
    """

    noise_std: float

    def _select(self, value: SparseSum, rng: RandomSource) -> Selection:
        listed = self._noise.on_grid(value.values)
        listed += self._noise.integers(listed.size, rng)
        rest = self._extremes(np.abs(listed), self.size - listed.size, rng)
        noisy = np.concatenate([listed, rest])
        chosen = _largest(np.abs(noisy), self.n_selected, rng)
        of_rest = chosen[chosen >= listed.size]
        of_listed = chosen[chosen < listed.size]
        others = distinct_outside(value.indices, self.size, of_rest.size, rng)
        return Selection.sorted(
            np.concatenate([value.indices[of_listed], others]),
            self._noise.off_grid(noisy[np.concatenate([of_listed, of_rest])]),
        )

    def _extremes(self, listed: Floats, n_rest: int, rng: RandomSource) -> Floats:
        """Noises of the rest, down to where none can be among the largest any more."""
        k = self.n_selected
        rest = np.empty(0)
        level = level_with(n_rest, k + 6 * math.sqrt(k) + 20)
        for tails, bound in descending_tails(n_rest, level, rng):
            rest = np.concatenate([rest, self._noise.integers_with(tails, rng)])
            magnitudes = np.concatenate([listed, np.abs(rest)])
            if magnitudes.size >= k and _kth(magnitudes, k) > self._noise.largest_magnitude(bound):
                break
        return rest


@final
@dataclass(frozen=True)
class GaussianThreshold(_GaussianSelection):
    """The coordinates that reach a threshold after N(0, sigma^2) on every one.

    Selected are all j with v_j + N_j >= threshold: the survivors of DP-AdaFEST, for a map v that
    counts to how many records a coordinate matters. How many there are is random; of the zero
    coordinates, size P(N >= threshold) in the mean. `value` consists of multiples of `grid`.

    Guarantees
    ----------
    As for `GaussianTopK`: post-processing of one Gaussian release (Balle and Wang, 2018,
    Theorem 8), up to a total variation of size 2^-180 + 2^-164, which the event carries.

    Parameters
    ----------
    sensitivity : Sensitivity
        L2 bound on how far one record moves the vector.
    size : int
        Number of coordinates.
    noise_std : float
        The sigma, in the units of the vector.
    threshold : float
        In the units of the vector.

    References
    ----------
    Ghazi et al. (2023), Sparsity-preserving differentially private training of large embedding
    models, Algorithm 1.

    Examples
    --------
    >>> from skdp._random import RandomSource
    >>> from skdp.mechanisms import GaussianThreshold, SparseSum
    >>> from skdp.privacy.budget import Neighbours, Sensitivity
    >>> sensitivity = Sensitivity(1.0, "l2", Neighbours.ZERO_OUT)
    >>> survivors = GaussianThreshold(sensitivity, 10**9, noise_std=1.0, threshold=15.0)
    >>> counts = SparseSum([3, 500, 10**8], [90.0, 1.0, 70.0], 10**9)
    >>> survivors.release(counts, RandomSource.from_seed(0)).indices
    array([        3, 100000000])
    """

    noise_std: float
    threshold: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_real(self.threshold) or not math.isfinite(self.threshold):
            raise ValueError(f"threshold must be a finite number, got {self.threshold!r}.")

    def _select(self, value: SparseSum, rng: RandomSource) -> Selection:
        least = math.ceil(float(np.clip(self.threshold / self.grid, -(2.0**60), 2.0**60)))
        noise = self._noise.integers(value.values.size, rng)
        survivors = value.indices[self._noise.on_grid(value.values) + noise >= least]
        level = level_below(self._noise.tail_at(least))
        tails, _ = next(descending_tails(self.size - noise.size, level, rng))
        n_others = int(np.sum(self._noise.integers_with(tails, rng) >= least))
        others = distinct_outside(value.indices, self.size, n_others, rng)
        return Selection.sorted(np.concatenate([survivors, others]))


def _kth(values: Floats, k: int) -> float:
    """The k-th largest."""
    return float(np.partition(values, values.size - k)[values.size - k])


def _largest(values: Floats, k: int, rng: RandomSource) -> Indices:
    """Places of the `k` largest; of equal ones at the border, a random choice."""
    threshold = _kth(values, k)
    above = np.flatnonzero(values > threshold)
    tied = np.flatnonzero(values == threshold)
    return np.concatenate([above, tied[random_subset(tied.size, k - above.size, rng)]])

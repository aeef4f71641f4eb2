"""Every record takes part in every step by its own coin."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self, final

import numpy as np

from skdp._random import RandomSource
from skdp._validation import positive, positive_integer
from skdp.mechanisms.continuous import exponentials
from skdp.privacy.budget import Neighbours
from skdp.training.sampling import Batches, Rows, Sampler, refuse_large_batch

if TYPE_CHECKING:
    from dp_accounting import DpEvent

__all__ = ["PoissonSampler"]

_ROWS_AT_A_TIME = 2**16
#: Below this rate the gaps between drawn rows are drawn, above it one word for each row.
_DENSE_RATE = 0.2


@final
@dataclass(frozen=True)
class PoissonSampler(Sampler):
    """Each record takes part in each step with probability q, independently of all else.

    Parameters
    ----------
    sampling_probability : float
        q, in (0, 1].
    expected_batch_size : float
        q times the number of records, where that is public; under add-or-remove-one a constant.
    relation : Neighbours, default=Neighbours.ZERO_OUT
        Zero-out: n is public and so may be q and the expected batch size computed from it.
        Add-or-remove-one: they, the number of steps and every setting are constants that
        nobody computed from n. Replace-one has a subsampled pair of its own.

    Notes
    -----
    *Guarantees.* The whole step is subsampled once and then composed over steps: Zhu, Dong and
    Wang (2022), Optimal accounting of differential privacy via characteristic function, with
    Balle, Barthe and Gaboardi (2018), Privacy amplification by subsampling. Gaps between drawn
    rows are geometric, from 64-bit words.

    Examples
    --------
    >>> sampler = PoissonSampler.of_batch_size(50, 1000)
    >>> sampler.sampling_probability, sampler.divisor, sampler.neighbours.value
    (0.05, 50, 'zero-out')
    """

    sampling_probability: float
    expected_batch_size: float
    relation: Neighbours = Neighbours.ZERO_OUT

    def __post_init__(self) -> None:
        positive(
            sampling_probability=self.sampling_probability,
            expected_batch_size=self.expected_batch_size,
        )
        if self.sampling_probability > 1:
            raise ValueError(
                f"sampling_probability must be at most 1, got {self.sampling_probability!r}."
            )

    @classmethod
    def of_batch_size(cls, batch_size: int, n_records: int) -> Self:
        """Return the sampler for a public number of records, under zero-out."""
        positive_integer(batch_size=batch_size, n_records=n_records)
        refuse_large_batch(batch_size, n_records)
        return cls(batch_size / n_records, batch_size)

    @property
    def neighbours(self) -> Neighbours:
        return self.relation

    @property
    def divisor(self) -> float:
        return self.expected_batch_size

    @property
    def steps_per_epoch(self) -> float:
        return 1 / self.sampling_probability

    @property
    def theorem(self) -> str:
        return (
            "Poisson sampling of the whole step, amplified once: Zhu, Dong and Wang (2022), "
            "Balle, Barthe and Gaboardi (2018)"
        )

    def for_records(self, n_records: int) -> Self:
        if self.relation is Neighbours.ADD_OR_REMOVE_ONE:
            return self
        return replace(self, expected_batch_size=self.sampling_probability * n_records)

    def admit(self, n_records: int) -> None:
        if self.relation is not Neighbours.ADD_OR_REMOVE_ONE:
            super().admit(n_records)

    def blocks(self, n_records: int, n_steps: int, rng: RandomSource) -> Iterator[Batches]:
        self.admit(n_records)
        at_a_time = max(1, int(_ROWS_AT_A_TIME / max(1.0, self.expected_batch_size)))
        for start in range(0, n_steps, at_a_time):
            yield self._draw(n_records, min(at_a_time, n_steps - start), rng)

    def _draw(self, n_records: int, n_steps: int, rng: RandomSource) -> Batches:
        """Draw from the steps times records as from one long row of coins."""
        coins = n_records * n_steps
        if self.sampling_probability >= _DENSE_RATE:
            places = _by_coin(coins, self.sampling_probability, rng)
        else:
            places = _by_gap(coins, self.sampling_probability, rng)
        steps, rows = np.divmod(places, n_records)
        return Batches(rows, np.searchsorted(steps, np.arange(n_steps + 1)))

    def event(self, step: "DpEvent", n_steps: int, first: int = 0) -> "DpEvent":
        from dp_accounting import dp_event

        sampled = dp_event.PoissonSampledDpEvent(self.sampling_probability, step)
        return dp_event.SelfComposedDpEvent(sampled, n_steps)


def _by_coin(coins: int, probability: float, rng: RandomSource) -> Rows:
    if probability == 1:
        return np.arange(coins)
    return np.flatnonzero(rng.words(coins) < np.uint64(math.ldexp(probability, 64)))


def _by_gap(coins: int, probability: float, rng: RandomSource) -> Rows:
    """Places of heads: P(gap >= k) = (1 - q)^k, by inversion of an exponential."""
    expected = coins * probability
    found, last = [], -1
    while last < coins:
        size = int(1.05 * expected + 6 * math.sqrt(expected) + 10)
        gaps = np.floor(exponentials(size, rng) / -math.log1p(-probability))
        places = last + np.cumsum(np.minimum(gaps, coins).astype(np.int64) + 1)
        found.append(places)
        last = int(places[-1])
        expected = max(1.0, (coins - last) * probability)
    places = np.concatenate(found)
    return places[: np.searchsorted(places, coins)]

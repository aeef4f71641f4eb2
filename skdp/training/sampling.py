"""Which records a step sees, and what that costs: one object says both, so they cannot disagree."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, Self, final

import numpy as np
import numpy.typing as npt

from skdp._random import RandomSource
from skdp._validation import positive, positive_integer
from skdp.mechanisms.continuous import exponentials
from skdp.privacy.budget import Neighbours, Sensitivity

if TYPE_CHECKING:
    from dp_accounting import DpEvent

__all__ = [
    "Batches",
    "FixedSizeWithoutReplacement",
    "FullBatch",
    "PoissonSampler",
    "RoundRobinBlocks",
    "Sampler",
    "ShuffledBatches",
]

Rows = npt.NDArray[np.int64]

_ROWS_AT_A_TIME = 2**16
#: Below this rate the gaps between drawn rows are drawn, above it one word for each row.
_DENSE_RATE = 0.2


class Batches(NamedTuple):
    """The batches of some consecutive steps: the i-th is ``rows[offsets[i]:offsets[i + 1]]``."""

    rows: Rows
    offsets: Rows

    def each(self) -> Iterator[Rows]:
        """Yield the rows of each batch."""
        for start, stop in zip(self.offsets[:-1], self.offsets[1:], strict=True):
            yield self.rows[start:stop]


@dataclass(frozen=True)
class Sampler(ABC):
    """Draws the batches of a training run and names the cost of a run.

    Its fields are public. The number of records is an argument where it may be private
    (`PoissonSampler` under add-or-remove-one) and must equal the field where there is one.
    """

    @property
    @abstractmethod
    def neighbours(self) -> Neighbours:
        """The relation that `event` refers to."""

    @property
    @abstractmethod
    def divisor(self) -> float:
        """Expected size of a batch: what sums are divided by, whatever was drawn."""

    @property
    @abstractmethod
    def steps_per_epoch(self) -> float:
        """Number of steps in which a record is expected to take part once."""

    @property
    @abstractmethod
    def theorem(self) -> str:
        """What `event` rests on."""

    @property
    def public_size(self) -> int:
        """Number of records as far as it is public; the expected one where it is not."""
        return max(1, round(self.divisor * self.steps_per_epoch))

    @abstractmethod
    def blocks(self, n_records: int, n_steps: int, rng: RandomSource) -> Iterator[Batches]:
        """Yield the batches of `n_steps` steps, some steps at a time."""

    @abstractmethod
    def event(self, step: "DpEvent", n_steps: int) -> "DpEvent":
        """Cost of so many steps, each of which costs `step` when it sees every record."""

    def sensitivity(self, norm_bound: float) -> Sensitivity:
        """How far one record moves a sum of vectors of norm at most `norm_bound`.

        A record that is replaced takes one vector away and brings another; a record that is
        added, removed or replaced by a null record does one of the two.
        """
        factor = 2 if self.neighbours is Neighbours.REPLACE_ONE else 1
        return Sensitivity(factor * norm_bound, "l2", self.neighbours)

    @abstractmethod
    def for_records(self, n_records: int) -> "Sampler":
        """Return the sampler of the same cost an epoch for another public number of records.

        Raises
        ------
        ValueError
            If there is none.
        """

    def admit(self, n_records: int) -> None:
        """Refuse another number of records than the public one."""
        if n_records != self.public_size:
            raise ValueError(f"This sampler is for {self.public_size} records, got {n_records}.")


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
        _refuse_large(batch_size, n_records)
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
        at_a_time = max(1, int(_ROWS_AT_A_TIME / max(1.0, self.sampling_probability * n_records)))
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

    def event(self, step: "DpEvent", n_steps: int) -> "DpEvent":
        from dp_accounting import dp_event

        sampled = dp_event.PoissonSampledDpEvent(self.sampling_probability, step)
        return dp_event.SelfComposedDpEvent(sampled, n_steps)


@final
@dataclass(frozen=True)
class ShuffledBatches(Sampler):
    """Each epoch is cut into batches at random; a record is in one batch of each epoch.

    Parameters
    ----------
    batch_size : int
        Size of the batches; the last one of an epoch may be smaller.
    n_records : int
        Number of records, public.
    relation : Neighbours, default=Neighbours.ZERO_OUT
        Zero-out or replace-one. With add-or-remove-one the cut itself would change.

    Notes
    -----
    *Guarantees.* Parallel composition: one epoch costs what one step costs a record that is
    certainly in it, and epochs add up. There is no amplification: a shuffled batch shows which
    place the record took, and one epoch can cost all that a step costs (Chua et al., 2024).

    Examples
    --------
    >>> ShuffledBatches(32, 100).steps_per_epoch
    4
    """

    batch_size: int
    n_records: int
    relation: Neighbours = Neighbours.ZERO_OUT

    def __post_init__(self) -> None:
        positive_integer(batch_size=self.batch_size, n_records=self.n_records)
        _refuse_large(self.batch_size, self.n_records)
        if self.relation is Neighbours.ADD_OR_REMOVE_ONE:
            raise ValueError(
                "Shuffled batches of a fixed size have no add-or-remove-one guarantee: one record "
                "more changes the cut. State zero-out or replace-one."
            )

    @property
    def neighbours(self) -> Neighbours:
        return self.relation

    @property
    def divisor(self) -> float:
        return self.batch_size

    @property
    def steps_per_epoch(self) -> int:
        return -(-self.n_records // self.batch_size)

    @property
    def public_size(self) -> int:
        return self.n_records

    @property
    def theorem(self) -> str:
        return "parallel composition over the batches of an epoch, no amplification"

    def for_records(self, n_records: int) -> Self:
        return replace(self, batch_size=min(self.batch_size, n_records), n_records=n_records)

    def blocks(self, n_records: int, n_steps: int, rng: RandomSource) -> Iterator[Batches]:
        self.admit(n_records)
        # The guarantee does not rest on the order, so it need not be cryptographic.
        order = rng.generator()
        edges = np.append(np.arange(0, n_records, self.batch_size), n_records)
        for start in range(0, n_steps, self.steps_per_epoch):
            steps = min(self.steps_per_epoch, n_steps - start)
            yield Batches(order.permutation(n_records), edges[: steps + 1])

    def event(self, step: "DpEvent", n_steps: int) -> "DpEvent":
        return _repeated(step, -(-n_steps // self.steps_per_epoch))


@final
@dataclass(frozen=True)
class FixedSizeWithoutReplacement(Sampler):
    """Each step sees a uniform subset of fixed size, drawn afresh.

    Parameters
    ----------
    batch_size : int
        Size of the subset.
    n_records : int
        Number of records, public.

    Notes
    -----
    *Guarantees.* Replace-one, by Renyi divergences: Wang, Balle and Kasiviswanathan (2019),
    Subsampled Renyi differential privacy and analytical moments accountant, Theorem 27.

    Examples
    --------
    >>> FixedSizeWithoutReplacement(10, 100).neighbours.value
    'replace-one'
    """

    batch_size: int
    n_records: int

    def __post_init__(self) -> None:
        positive_integer(batch_size=self.batch_size, n_records=self.n_records)
        _refuse_large(self.batch_size, self.n_records)

    @property
    def neighbours(self) -> Neighbours:
        return Neighbours.REPLACE_ONE

    @property
    def divisor(self) -> float:
        return self.batch_size

    @property
    def steps_per_epoch(self) -> float:
        return self.n_records / self.batch_size

    @property
    def public_size(self) -> int:
        return self.n_records

    @property
    def theorem(self) -> str:
        return "sampling without replacement: Wang, Balle and Kasiviswanathan (2019), Theorem 27"

    def for_records(self, n_records: int) -> Self:
        if n_records != self.n_records:
            raise ValueError(
                "Batches of a fixed size cost another amount on another number of records: "
                f"give chunks of {self.n_records} rows, or use sampling='poisson'."
            )
        return self

    def blocks(self, n_records: int, n_steps: int, rng: RandomSource) -> Iterator[Batches]:
        self.admit(n_records)
        offsets = np.array([0, self.batch_size])
        for _ in range(n_steps):
            yield Batches(_subset(n_records, self.batch_size, rng), offsets)

    def event(self, step: "DpEvent", n_steps: int) -> "DpEvent":
        from dp_accounting import dp_event

        sampled = dp_event.SampledWithoutReplacementDpEvent(self.n_records, self.batch_size, step)
        return dp_event.SelfComposedDpEvent(sampled, n_steps)


@final
@dataclass(frozen=True)
class FullBatch(Sampler):
    """Every step sees every record.

    Parameters
    ----------
    n_records : int
        Number of records, public.
    relation : Neighbours, default=Neighbours.ZERO_OUT
        Zero-out or replace-one.

    Notes
    -----
    *Guarantees.* Composition of the steps.

    Examples
    --------
    >>> FullBatch(100).steps_per_epoch
    1
    """

    n_records: int
    relation: Neighbours = Neighbours.ZERO_OUT

    def __post_init__(self) -> None:
        positive_integer(n_records=self.n_records)
        if self.relation is Neighbours.ADD_OR_REMOVE_ONE:
            raise ValueError(
                "A full batch divides by the number of records, which add-or-remove-one keeps "
                "private. Use PoissonSampler(sampling_probability=1.0, ...) with a constant."
            )

    @property
    def neighbours(self) -> Neighbours:
        return self.relation

    @property
    def divisor(self) -> float:
        return self.n_records

    @property
    def steps_per_epoch(self) -> int:
        return 1

    @property
    def theorem(self) -> str:
        return "composition of full-batch steps"

    def for_records(self, n_records: int) -> Self:
        return replace(self, n_records=n_records)

    def blocks(self, n_records: int, n_steps: int, rng: RandomSource) -> Iterator[Batches]:
        self.admit(n_records)
        everything = Batches(np.arange(n_records), np.array([0, n_records]))
        for _ in range(n_steps):
            yield everything

    def event(self, step: "DpEvent", n_steps: int) -> "DpEvent":
        return _repeated(step, n_steps)


@final
@dataclass(frozen=True)
class RoundRobinBlocks(Sampler):
    """Records lie in declared public blocks, which take turns.

    Parameters
    ----------
    block_of_record : ndarray of shape (n_records,) of int
        Place of each record's block, 0 to n_blocks - 1; public, and the same for neighbours.
    n_blocks : int
        Number of blocks.
    relation : Neighbours, default=Neighbours.ZERO_OUT
        Zero-out or replace-one.

    Notes
    -----
    *Guarantees.* Parallel composition: in T steps a record is used ceil(T / n_blocks) times.
    To draw the block at random instead does not lower epsilon, since the support of a sparse
    gradient shows which block was used.

    Examples
    --------
    >>> import numpy as np
    >>> RoundRobinBlocks(np.array([0, 1, 0, 1]), 2).divisor
    2.0
    """

    block_of_record: npt.NDArray[np.intp] = field(compare=False, repr=False)
    n_blocks: int
    relation: Neighbours = Neighbours.ZERO_OUT

    def __post_init__(self) -> None:
        positive_integer(n_blocks=self.n_blocks)
        if self.relation is Neighbours.ADD_OR_REMOVE_ONE:
            raise ValueError("Blocks are public, so that records cannot come or go.")

    @property
    def neighbours(self) -> Neighbours:
        return self.relation

    @property
    def divisor(self) -> float:
        return self.public_size / self.n_blocks

    @property
    def steps_per_epoch(self) -> int:
        return self.n_blocks

    @property
    def public_size(self) -> int:
        return len(self.block_of_record)

    @property
    def theorem(self) -> str:
        return "parallel composition over public blocks that take turns"

    def for_records(self, n_records: int) -> Self:
        self.admit(n_records)
        return self

    def blocks(self, n_records: int, n_steps: int, rng: RandomSource) -> Iterator[Batches]:
        self.admit(n_records)
        rows = np.argsort(self.block_of_record, kind="stable")
        edges = np.searchsorted(self.block_of_record[rows], np.arange(self.n_blocks + 1))
        for start in range(0, n_steps, self.n_blocks):
            yield Batches(rows, edges[: min(self.n_blocks, n_steps - start) + 1])

    def event(self, step: "DpEvent", n_steps: int) -> "DpEvent":
        return _repeated(step, -(-n_steps // self.n_blocks))


def _refuse_large(batch_size: int, n_records: int) -> None:
    if batch_size > n_records:
        raise ValueError(
            f"batch_size={batch_size} is larger than the number of records, {n_records}."
        )


def _repeated(step: "DpEvent", count: int) -> "DpEvent":
    from dp_accounting import dp_event

    return dp_event.SelfComposedDpEvent(step, count)


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


def _subset(n_records: int, size: int, rng: RandomSource) -> Rows:
    """Return a uniform subset: of the smallest of one random word for each record."""
    words = rng.words(n_records)
    return np.sort(np.argpartition(words, size - 1)[:size]) if size < n_records else np.arange(size)

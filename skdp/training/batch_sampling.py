"""Batches of fixed size, of all records, or of public blocks."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self, final

import numpy as np
import numpy.typing as npt

from skdp._random import RandomSource
from skdp._validation import positive_integer
from skdp.privacy.budget import Neighbours
from skdp.training.sampling import Batches, Rows, Sampler, refuse_large_batch

if TYPE_CHECKING:
    from dp_accounting import DpEvent

__all__ = ["FixedSizeWithoutReplacement", "FullBatch", "RoundRobinBlocks", "ShuffledBatches"]


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
        refuse_large_batch(self.batch_size, self.n_records)
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

    def event(self, step: "DpEvent", n_steps: int, first: int = 0) -> "DpEvent":
        return _repeated(step, _epochs_touched(first, n_steps, self.steps_per_epoch))


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
        refuse_large_batch(self.batch_size, self.n_records)

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

    def event(self, step: "DpEvent", n_steps: int, first: int = 0) -> "DpEvent":
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

    def event(self, step: "DpEvent", n_steps: int, first: int = 0) -> "DpEvent":
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

    def event(self, step: "DpEvent", n_steps: int, first: int = 0) -> "DpEvent":
        return _repeated(step, _epochs_touched(first, n_steps, self.n_blocks))


def _epochs_touched(first: int, n_steps: int, per_epoch: int) -> int:
    return -(-(first + n_steps) // per_epoch) - first // per_epoch


def _repeated(step: "DpEvent", count: int) -> "DpEvent":
    from dp_accounting import dp_event

    return dp_event.SelfComposedDpEvent(step, count)


def _subset(n_records: int, size: int, rng: RandomSource) -> Rows:
    """Return a uniform subset: of the smallest of one random word for each record."""
    words = rng.words(n_records)
    return np.sort(np.argpartition(words, size - 1)[:size]) if size < n_records else np.arange(size)

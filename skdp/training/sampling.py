"""Which records a step sees, and what that costs: one object says both, so they cannot disagree."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from skdp._random import RandomSource
from skdp.privacy.budget import Neighbours, Sensitivity

if TYPE_CHECKING:
    from dp_accounting import DpEvent

__all__ = ["Batches", "Rows", "Sampler", "refuse_large_batch"]

Rows = npt.NDArray[np.int64]


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

    @property
    def rows_per_unit(self) -> int:
        """Most rows of a record: 1 unless records are groups of rows."""
        return 1

    @abstractmethod
    def blocks(self, n_records: int, n_steps: int, rng: RandomSource) -> Iterator[Batches]:
        """Yield the batches of `n_steps` steps, some steps at a time."""

    @abstractmethod
    def event(self, step: "DpEvent", n_steps: int, first: int = 0) -> "DpEvent":
        """Cost of so many steps, each of which costs `step` when it sees every record.

        `first` is the number of steps before them: what begins within an epoch may see a record
        in two epochs.
        """

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


def refuse_large_batch(batch_size: int, n_records: int) -> None:
    """Refuse a batch of more records than there are."""
    if batch_size > n_records:
        raise ValueError(
            f"batch_size={batch_size} is larger than the number of records, {n_records}."
        )

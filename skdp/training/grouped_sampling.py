"""Whole groups of rows take part in a step, or sit out."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NoReturn, Self, final

import numpy as np

from skdp._random import RandomSource
from skdp._validation import positive_integer
from skdp.privacy.budget import Neighbours, Sensitivity
from skdp.training.batch_sampling import RoundRobinBlocks
from skdp.training.sampling import Batches, Rows, Sampler

if TYPE_CHECKING:
    from dp_accounting import DpEvent

__all__ = ["SampledGroups"]


@final
@dataclass(frozen=True)
class SampledGroups(Sampler):
    """Draws groups as another sampler draws records; a batch holds all rows of the groups drawn.

    Parameters
    ----------
    groups : Sampler
        Draws groups: its records, of which there is a public number.
    per_group : int
        m, the most rows that a group adds.
    members : pair of ndarray or None, default=None
        ``(rows, starts)``: group g adds the rows ``rows[starts[g]:starts[g + 1]]``. Private; None
        until the run begins.

    Notes
    -----
    *Guarantees.* A group is what `groups` takes for a record. Vectors of norm at most c of its rows
    add up to one of norm at most m c, which a neighbour lacks or replaces, so that every mechanism
    of a step has m times the sensitivity that one row has; sampling, composition and their
    theorems are those of `groups`. Sums are divided by the expected number of groups times m,
    never by the number of rows drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.training import FullBatch
    >>> sampler = SampledGroups(FullBatch(2), 3)
    >>> sampler.divisor, sampler.sensitivity(1.0).value, sampler.public_size
    (6, 3.0, 2)
    >>> rng = RandomSource.from_seed(0)
    >>> drawn = next(sampler.over(np.array([4, 0, 1]), np.array([0, 1, 3])).blocks(5, 1, rng))
    >>> drawn.rows, drawn.offsets
    (array([4, 0, 1]), array([0, 3]))
    """

    groups: Sampler
    per_group: int
    members: tuple[Rows, Rows] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        positive_integer(per_group=self.per_group)
        if self.groups.neighbours is Neighbours.ADD_OR_REMOVE_ONE:
            raise ValueError(
                "Groups that may come or go are protected by a declared number of groups: set "
                "n_groups above it and take a sampling of zero-out, where a group without rows "
                "counts as one that is not there."
            )
        if isinstance(self.groups, RoundRobinBlocks):
            raise ValueError("Blocks of rows take turns; a group may have rows in several blocks.")

    @property
    def neighbours(self) -> Neighbours:
        return self.groups.neighbours

    @property
    def divisor(self) -> float:
        return self.groups.divisor * self.per_group

    @property
    def steps_per_epoch(self) -> float:
        return self.groups.steps_per_epoch

    @property
    def public_size(self) -> int:
        return self.groups.public_size

    @property
    def rows_per_unit(self) -> int:
        return self.per_group

    @property
    def theorem(self) -> str:
        return f"{self.groups.theorem}, of whole groups of at most {self.per_group} rows"

    def sensitivity(self, norm_bound: float) -> Sensitivity:
        one = self.groups.sensitivity(norm_bound)
        return replace(one, value=self.per_group * one.value)

    def event(self, step: "DpEvent", n_steps: int, first: int = 0) -> "DpEvent":
        return self.groups.event(step, n_steps, first)

    def for_records(self, n_records: int) -> NoReturn:
        raise ValueError("Groups are sampled within one table: there are no chunks of them.")

    def over(self, rows: Rows, starts: Rows) -> Self:
        """Return the sampler of a run over groups with these rows."""
        if len(starts) != self.public_size + 1 or np.diff(starts).max(initial=0) > self.per_group:
            raise ValueError("These are other groups than the public facts say.")
        return replace(self, members=(rows, starts))

    def blocks(self, n_records: int, n_steps: int, rng: RandomSource) -> Iterator[Batches]:
        if self.members is None:
            raise ValueError("The rows of the groups are not known yet: call over().")
        rows, starts = self.members
        lengths = np.diff(starts)
        for drawn in self.groups.blocks(len(lengths), n_steps, rng):
            counts = lengths[drawn.rows]
            before = np.concatenate([[0], np.cumsum(counts)])
            places = np.arange(before[-1]) + np.repeat(starts[drawn.rows] - before[:-1], counts)
            yield Batches(rows[places], before[drawn.offsets])

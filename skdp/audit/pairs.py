"""Two data sets, one record apart, and what an attacker looks at."""

from dataclasses import dataclass, field
from typing import Any, final

__all__ = ["NeighbouringPair"]


@final
@dataclass(frozen=True)
class NeighbouringPair:
    """Two data sets, one record apart, and what to look at.

    Attributes
    ----------
    name : str
        What is done to the record.
    data, neighbour : tuple
        Arguments of `fit`.
    why : str
        Which fault the pair is good at finding.
    distance : int
        1 for neighbours under the relation of the estimator; 2 where a replaced row stands for
        one that is removed and one that is added.
    event : Event or str
        An event that is best in theory, or "auto".
    release : callable or str
        What the event is of, or "auto".
    far : tuple or None
        A data set that differs from `data` in all records, or many: a must-fail control. If an
        audit does not show more than is claimed of one record there, it has no power.
    """

    name: str
    data: tuple[Any, ...] = field(repr=False)
    neighbour: tuple[Any, ...] = field(repr=False)
    why: str
    distance: int = 1
    event: Any = "auto"
    release: Any = "auto"
    far: tuple[Any, ...] | None = field(default=None, repr=False)

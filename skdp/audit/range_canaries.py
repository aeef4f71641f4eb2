"""Numbers at an end of their range, for what learns of ranks, means or quantiles."""

from collections.abc import Iterator

import numpy as np

from skdp.audit.facts import Facts
from skdp.audit.pairs import NeighbouringPair
from skdp.privacy import Neighbours

__all__ = ["of_ranges"]


def of_ranges(facts: Facts) -> Iterator[NeighbouringPair]:
    """One number at an end of its range, the others such that it decides."""
    low, high = facts.bounds or (0.0, 1.0)
    n = facts.n_rows
    y = np.resize(np.array(facts.labels), n)
    removed = facts.relation is Neighbours.ADD_OR_REMOVE_ONE
    halves = np.where(np.arange(n) % 2 == 0, high, low)[:, None] * np.ones(1)
    middle = np.full((n, 1), (low + high) / 2)
    for name, rows in (("one value at the end", middle), ("value that decides", halves)):
        first, second = rows.copy(), rows.copy()
        first[0], second[0] = high, low
        far = np.full_like(rows, low)
        if removed:
            yield NeighbouringPair(
                f"{name}, removed",
                facts.data(first, y),
                facts.data(first[1:], y[1:]),
                "ranks that move further than is declared",
            )
        distance = 1 if facts.relation is Neighbours.REPLACE_ONE else 2
        yield NeighbouringPair(
            name,
            facts.data(first, y),
            facts.data(second, y),
            "ranks that move further than is declared",
            distance,
            far=facts.data(far, y),
        )

"""In how many documents each word occurs, where a document has a vote for so many words only."""

import math
from collections.abc import Iterable, Set
from dataclasses import dataclass
from typing import final

import numpy as np

from skdp.embedding.mixing import mixed
from skdp.embedding.word_domains import WordDomain
from skdp.mechanisms.statistics import SparseSum
from skdp.privacy import Neighbours, Sensitivity
from skdp.stability.erm import ROUND_UP

__all__ = ["DocumentCounts"]

#: Squared distance of the votes of neighbours, in votes of one document.
_VOTES = {
    Neighbours.ZERO_OUT: 1,
    Neighbours.ADD_OR_REMOVE_ONE: 1,
    Neighbours.REPLACE_ONE: 2,
}


@final
@dataclass(frozen=True)
class DocumentCounts:
    r"""Counts :math:`c_w = \sum_d [w \in V_d]`, with at most m words in each :math:`V_d`.

    V_d holds the distinct words of document d that are in the domain and no stop words; of more
    than m, those whose hash is smallest, by a key without data and by the set of all these words:
    a function of the document, so that one more or less changes no other's votes.

    Attributes
    ----------
    domain : WordDomain
    stop_words : set of str
        Public.
    most_words : int
        The m.

    Notes
    -----
    *Guarantees.* A document that is left out changes at most m counts by 1: the L2 distance is
    sqrt(m). One that is replaced lowers at most m counts and raises at most m others, by 1 each:
    sqrt(2 m).
    """

    domain: WordDomain
    stop_words: Set[str]
    most_words: int

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """How far one document moves the counts."""
        value = math.sqrt(_VOTES[neighbours] * self.most_words) * ROUND_UP
        return Sensitivity(value, "l2", neighbours)

    def of(self, documents: Iterable[list[str]], key: np.uint64) -> SparseSum:
        """Count, reading the documents once."""
        counts: dict[int, int] = {}
        for words in documents:
            for place in self._votes(words, key):
                counts[place] = counts.get(place, 0) + 1
        places = sorted(counts)
        indices = np.array(places, dtype=np.int64)
        values = np.array([counts[place] for place in places], dtype=np.float64)
        return SparseSum(indices, values, self.domain.size)

    def _votes(self, words: list[str], key: np.uint64) -> list[int]:
        found = {self.domain.place(word) for word in set(words) - self.stop_words} - {-1}
        places = np.array(sorted(found), dtype=np.uint64)
        if len(places) > self.most_words:
            own = mixed(key ^ np.bitwise_xor.reduce(mixed(places)))
            ranks = np.argsort(mixed(own ^ mixed(places)), kind="stable")
            places = places[ranks[: self.most_words]]
        chosen: list[int] = places.tolist()
        return chosen

"""The law of negative samples: words drawn by public or paid-for counts, never by raw ones."""

from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from skdp.embedding.mixing import below
from skdp.embedding.words import Vocabulary

__all__ = ["NegativeLaw"]

_LOWER_HALF = np.uint64(2**32 - 1)


class NegativeLaw(NamedTuple):
    """P(word) ~ count^exponent, as a table from which a draw costs the same for any vocabulary.

    Attributes
    ----------
    shares : ndarray of float64, shape (n_words,)
        Share of a cell that belongs to the word of its number.
    others : ndarray of int32, shape (n_words,)
        The word that the rest of it belongs to.

    References
    ----------
    Walker (1977), An efficient method for generating discrete random variables with general
    distributions; Mikolov et al. (2013), Distributed representations of words and phrases, for the
    exponent 3/4.

    Examples
    --------
    >>> from skdp.embedding import Vocabulary
    >>> law = NegativeLaw.of(Vocabulary.of({"rare": 1, "common": 16}), exponent=0.75)
    >>> law.probabilities
    array([0.111..., 0.888...])
    """

    shares: npt.NDArray[np.float64]
    others: npt.NDArray[np.int32]

    @classmethod
    def of(cls, vocabulary: Vocabulary, exponent: float) -> Self:
        """Return the law of a vocabulary; all words alike where it has no counts.

        A noisy count below 1 counts as 1.
        """
        counts = np.ones(len(vocabulary)) if vocabulary.counts is None else vocabulary.counts
        logs = exponent * np.log(np.maximum(counts, 1.0))
        weights = np.exp(logs - logs.max())
        return cls(*_cells(weights / weights.sum() * len(weights)))

    def draw(self, words: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
        """Turn random words of 64 bits into places of words of the vocabulary."""
        cells = below(words, np.uint64(len(self.shares))).astype(np.int64)
        within = (words & _LOWER_HALF) * 2.0**-32
        return np.where(within < self.shares[cells], cells, self.others[cells])

    @property
    def probabilities(self) -> npt.NDArray[np.float64]:
        """Probability of each word."""
        found = self.shares.copy()
        np.add.at(found, self.others, 1 - self.shares)
        return found / len(found)


def _cells(
    masses: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]:
    """Fill cells of mass 1 by what is left of words of less and of words of more."""
    left, shares = masses.copy(), np.ones(len(masses))
    others = np.arange(len(masses), dtype=np.int32)
    small, large = list(np.flatnonzero(left < 1)), list(np.flatnonzero(left >= 1))
    while small and large:
        needy, rich = small.pop(), large[-1]
        shares[needy], others[needy] = left[needy], rich
        left[rich] -= 1 - left[needy]
        if left[rich] < 1:
            small.append(large.pop())
    return shares, others

"""Which equal outputs of fits are no chance, whatever law an honest noise has.

A noisy label, or a mask of chosen columns, has few values, and honest fits repeat them. So nothing
is assumed of the law. Honest fits of one estimator on one data set are independent and alike, so
that no arrangement of their outputs is likelier than another one; and outputs that follow the data
exactly are what differential privacy excludes.
"""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any, Self, final

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from skdp.audit.claims import Claim
from skdp.audit.facts import reader
from skdp.audit.word_canaries import are_documents, known_words, stop_words, votes
from skdp.embedding.documents import token_lists

__all__ = ["CHANCE", "Variants", "chance_of_arrangement", "fits_to_exclude"]

#: What is called a fault would happen as rarely as that to an honest estimator.
CHANCE = 1e-6
_MOST_VARIANTS = 100


def chance_of_arrangement(tested: list[Any], reference: list[Any]) -> float:
    """P[H >= k], H hypergeometric: k of the K outputs that are not unique are among the tested.

    Of M tested ones among T exchangeable outputs, given which of them are equal.

    Examples
    --------
    >>> round(1 / chance_of_arrangement(["a"] * 4, list(range(16))))
    4845
    >>> round(chance_of_arrangement(["a", "b", "b"], ["a", "c", "d", "b"]), 3)
    0.286
    """
    counts = Counter([*tested, *reference])
    inside = sum(counts[output] > 1 for output in tested)
    everywhere = inside + sum(counts[output] > 1 for output in reference)
    m, total = len(tested), len(tested) + len(reference)
    logs = [
        _log_choose(everywhere, k) + _log_choose(total - everywhere, m - k) - _log_choose(total, m)
        for k in range(inside, min(m, everywhere) + 1)
        if m - k <= total - everywhere
    ]
    return min(1.0, math.fsum(map(math.exp, logs)))


def _log_choose(n: int, k: int) -> float:
    return float(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def fits_to_exclude(claim: Claim, distance: int = 2) -> int | None:
    """Return how many data sets with outputs of their own refute a claim; None for too many.

    K data sets, at most m = `distance` neighbours apart, on each of which two fits gave the same
    output, and no two of which gave the same. If an (e, d)-private mechanism takes its K outputs
    with probabilities p_1, ..., p_K, their sum is at most e^(m e) + K d', where
    d' = d (1 + e^e + ... + e^((m - 1) e)), since on one of the data sets these are different
    outputs; so that the product of the p_i, which bounds the chance of all that, is at most
    (e^(m e)/K + d')^K.
    """
    apart = Claim(1.0 if claim.epsilon is None else claim.epsilon, claim.delta).at_distance(
        distance
    )
    assert apart.epsilon is not None
    if apart.epsilon > math.log(_MOST_VARIANTS):
        return None
    for number in range(2, _MOST_VARIANTS + 1):
        likeliest = math.exp(apart.epsilon) / number + apart.delta
        if likeliest < 1 and number * math.log(likeliest) <= math.log(CHANCE):
            return number
    return None


@final
@dataclass(frozen=True)
class Variants:
    """Copies of arguments of `fit` whose first row, or document, is another one in each.

    Attributes
    ----------
    by_example : bool
        Whether a record is an example of a document. All documents are of two words then, and have
        two examples each: their number is public, and one more of them is no neighbour.
    words : tuple of str
        The only ones that are learnt of, as far as that is known; empty for any.
    stopped : frozenset of str
        Words that nothing is learnt of.
    smallest, largest : int
        How many words a document has: two make an example, and one has a vote, as so many have.
    """

    by_example: bool = False
    words: tuple[str, ...] = ()
    stopped: frozenset[str] = frozenset()
    smallest: int = 2
    largest: int = 2**30

    @classmethod
    def of(cls, estimator: Any) -> Self:
        """Read what a record is."""
        by_example = reader(estimator)("unit") == "example"
        sizes = (1, estimator.max_contributions) if votes(estimator) else (2,)
        if by_example:
            sizes = (2, 2)
        return cls(by_example, known_words(estimator), stop_words(estimator), *sizes)

    @property
    def distance(self) -> int:
        """How many neighbours apart two of them are at most: each record goes, and one comes."""
        return 4 if self.by_example else 2

    def made_of(self, data: Any, number: int) -> Iterator[Any]:
        """Yield so many of them.

        One number after another is in the row; or, of documents, one set of words of theirs after
        another.
        """
        X = data["X"] if isinstance(data, dict) else data[0]
        rows = self._documents(list(X), number) if are_documents(X) else _with_one_number(X, number)
        for given in rows:
            yield {**data, "X": given} if isinstance(data, dict) else (given, *data[1:])

    def _documents(self, X: list[Any], number: int) -> Iterator[list[Any]]:
        """The smallest sets of words that something is learnt of, of which no two are the same."""
        found = {word for document in token_lists(X) for word in document}
        words = sorted(word for word in found if self._counts(word, _is_text(X[0])))
        sizes = range(self.smallest, min(self.largest, len(words)) + 1)
        chosen = (some for size in sizes for some in combinations(words, size))
        documents = list(islice(chosen, number))
        if len(documents) < number:
            raise ValueError(f"{len(words)} words make {len(documents)} documents, not {number}")
        for document in documents:
            yield [" ".join(document) if _is_text(X[0]) else list(document), *X[1:]]

    def _counts(self, word: str, in_text: bool) -> bool:
        known = (not self.words or word in self.words) and word not in self.stopped
        return known and not (in_text and next(token_lists([word])) != [word])


def _with_one_number(X: Any, number: int) -> Iterator[Any]:
    rows = np.array(X.toarray() if sparse.issparse(X) else X, dtype=float)
    if rows.ndim != 2:
        raise ValueError("rows of numbers are needed")
    size = float(np.abs(rows).max(initial=0.0)) or 1.0
    for place in range(1, number + 1):
        changed = rows.copy()
        changed[0] = size * place / number / math.sqrt(rows.shape[1])
        yield type(X)(changed) if sparse.issparse(X) else changed


def _is_text(document: Any) -> bool:
    return isinstance(document, str)

"""What one record is, an example or a document, and which examples it has in a step."""

from itertools import pairwise
from typing import NamedTuple, final

import numpy as np
import numpy.typing as npt

from skdp.embedding.encoding import EncodedDocuments
from skdp.embedding.mixing import GOLDEN, below, mixed
from skdp.embedding.negatives import NegativeLaw

__all__ = ["CbowRecords", "Examples"]

Rows = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]


class Examples(NamedTuple):
    """Some examples: a target word, a word of its context, and negative samples.

    Attributes
    ----------
    targets, contexts : ndarray of int64, shape (n,)
    negatives : ndarray of int64, shape (n, n_negatives)
    """

    targets: Rows
    contexts: Rows
    negatives: Rows


@final
class CbowRecords:
    """Records of a corpus, numbered from 0.

    Examples of a document are its ordered pairs of words at a distance of at most `window`, by
    distance, then by place. With ``by_document`` a record is a document, and where that has more
    than `most_examples`, one of each of so many stretches of them is drawn. Otherwise a record is
    an example.

    Parameters
    ----------
    documents : EncodedDocuments
    window, n_negatives : int
    law : NegativeLaw
        Of the negatives, which are drawn without looking at the documents.
    by_document : bool
    most_examples : int
        Of a record; without effect where a record is an example.

    Attributes
    ----------
    n_records : int

    Notes
    -----
    *Guarantees.* What `examples` returns is a function of a key, of the record and, where that is
    an example, of its number. So no other record has an influence on it; and a document that is
    not there leaves the others as they are, whatever their numbers are then.

    Examples
    --------
    >>> from skdp.embedding.encoding import encoded
    >>> from skdp.embedding.negatives import NegativeLaw
    >>> from skdp.embedding.words import Vocabulary
    >>> documents = encoded([["a", "b", "c"], ["c"]], {"a": 0, "b": 1, "c": 2})
    >>> law = NegativeLaw.of(Vocabulary.of(["a", "b", "c"]), 0.75)
    >>> records = CbowRecords(documents, 1, 2, law, by_document=True, most_examples=9)
    >>> records.n_records, records.examples(0, np.uint64(0)).targets
    (2, array([0, 1, 1, 2]))
    """

    def __init__(
        self,
        documents: EncodedDocuments,
        window: int,
        n_negatives: int,
        law: NegativeLaw,
        *,
        by_document: bool,
        most_examples: int,
    ) -> None:
        self.documents, self.window, self.n_negatives, self.law = (
            documents,
            window,
            n_negatives,
            law,
        )
        self.firsts = documents.first_examples(window)
        self.by_document = by_document
        self.most_examples = most_examples if by_document else 1
        self.n_records = documents.n_documents if by_document else int(self.firsts[-1])
        self.salts = fingerprints(documents) if by_document else np.zeros(0, dtype=np.uint64)

    def examples(self, record: int, key: np.uint64) -> Examples:
        """Return the examples of a record in a step that has a key of its own."""
        salt = self.salts[record] if self.by_document else np.uint64(record)
        own = mixed(key ^ mixed(salt))
        document, chosen = self._chosen(record, own)
        start, stop = self.documents.starts[document : document + 2]
        targets, contexts = pairs(chosen, int(stop - start))
        places = np.asarray(self.documents.places[start:stop], dtype=np.int64)
        draws = np.arange(len(chosen) * self.n_negatives, dtype=np.uint64)
        shape = (len(chosen), self.n_negatives)
        negatives = self.law.draw(mixed(own ^ (draws + np.uint64(1)))).reshape(shape)
        return Examples(places[targets], places[contexts], negatives)

    def _chosen(self, record: int, own: Words) -> tuple[int, Rows]:
        """Return the document, and which of its examples."""
        if not self.by_document:
            document = int(np.searchsorted(self.firsts, record, side="right")) - 1
            return document, np.array([record - self.firsts[document]])
        n = int(self.firsts[record + 1] - self.firsts[record])
        if n <= self.most_examples:
            return record, np.arange(n)
        share, rest = divmod(n, self.most_examples)
        places = np.arange(self.most_examples + 1)
        # places * n // most_examples, where places * n may be too large for 64 bits.
        edges = places * share + places * rest // self.most_examples
        draws = mixed(~own ^ np.arange(1, self.most_examples + 1, dtype=np.uint64))
        return record, edges[:-1] + below(draws, np.diff(edges).astype(np.uint64)).astype(np.int64)


def fingerprints(documents: EncodedDocuments) -> Words:
    """Return a number for each document, made of its words in their order and of nothing else."""
    found = np.zeros(documents.n_documents, dtype=np.uint64)
    for document, (start, stop) in enumerate(pairwise(documents.starts.tolist())):
        words = mixed(np.asarray(documents.places[start:stop], dtype=np.uint64))
        places = np.arange(stop - start, dtype=np.uint64) * GOLDEN
        found[document] = np.bitwise_xor.reduce(mixed(words ^ places), initial=np.uint64(0))
    return found


def pairs(chosen: Rows, length: int) -> tuple[Rows, Rows]:
    """Return the places of targets and contexts of some examples of a document.

    Examples
    --------
    >>> pairs(np.arange(6), 3)  # distance 1 four times, distance 2 twice
    (array([0, 1, 1, 2, 0, 2]), array([1, 0, 2, 1, 2, 0]))
    """
    distances, left = np.ones(len(chosen), dtype=np.int64), np.array(chosen, dtype=np.int64)
    while (beyond := left >= 2 * (length - distances)).any():
        left[beyond] -= 2 * (length - distances[beyond])
        distances[beyond] += 1
    first, forward = left // 2, left % 2 == 0
    second = first + distances
    return np.where(forward, first, second), np.where(forward, second, first)

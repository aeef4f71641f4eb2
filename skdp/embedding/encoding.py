"""Documents as numbers of words, in memory or, where they are many, in a file."""

import tempfile
from array import array
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from typing import final

import numpy as np
import numpy.typing as npt

__all__ = ["EncodedDocuments", "encoded", "n_examples"]

Places = npt.NDArray[np.int32]
Rows = npt.NDArray[np.int64]

#: Words that are kept in memory; more of them go to a file.
LARGEST_IN_MEMORY = 2**26


@final
@dataclass(frozen=True, eq=False)
class EncodedDocuments:
    """The words of documents that are in a vocabulary, without the others.

    Attributes
    ----------
    places : ndarray of int32
        Places of words, of all documents one after the other; perhaps a memory map.
    starts : ndarray of int64, shape (n_documents + 1,)
        Where each document begins.
    """

    places: Places
    starts: Rows

    @property
    def n_documents(self) -> int:
        """Number of documents, also of those without a word."""
        return len(self.starts) - 1

    def each(self) -> Iterator[Places]:
        """Yield the places of the words of each document."""
        for start, stop in pairwise(self.starts.tolist()):
            yield self.places[start:stop]

    def first_examples(self, window: int) -> Rows:
        """Return the number of examples before each document, and of all, shape (n + 1,)."""
        return np.append(0, np.cumsum(n_examples(np.diff(self.starts), window)))


def n_examples(lengths: Rows, window: int) -> Rows:
    """Return how many ordered pairs of words lie within a window, in documents of these lengths.

    Examples
    --------
    >>> n_examples(np.array([0, 1, 2, 3, 10]), 2)
    array([ 0,  0,  2,  6, 34])
    """
    reach = np.minimum(window, np.maximum(lengths - 1, 0))
    return reach * (2 * lengths - reach - 1)


def encoded(documents: Iterable[list[str]], places: Mapping[str, int]) -> EncodedDocuments:
    """Read documents once, one at a time, and keep the places of words in a vocabulary.

    Examples
    --------
    >>> encoded([["a", "cat"], [], ["cat", "dog"]], {"cat": 0, "dog": 1}).places
    array([0, 0, 1], dtype=int32)
    """
    lengths: list[int] = []
    buffer = array("i")
    with ExitStack() as stack:
        overflow = None
        for words in documents:
            known = [places[word] for word in words if word in places]
            lengths.append(len(known))
            buffer.extend(known)
            if len(buffer) > LARGEST_IN_MEMORY:
                # Without a name: nobody else can open it, and it goes with its last use.
                overflow = overflow or stack.enter_context(tempfile.TemporaryFile())
                buffer.tofile(overflow)
                del buffer[:]
        starts = np.append(0, np.cumsum(np.array(lengths, dtype=np.int64)))
        if overflow is None:
            return EncodedDocuments(np.array(buffer, dtype=np.int32), starts)
        buffer.tofile(overflow)
        overflow.flush()
        return EncodedDocuments(np.memmap(overflow, dtype=np.int32, mode="r"), starts)

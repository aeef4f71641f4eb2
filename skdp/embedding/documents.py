"""Documents as lists of words: texts are split by a public rule, lists are taken as they are."""

import re
from collections.abc import Iterator, Mapping, Set
from typing import Any, final

__all__ = ["Counted", "token_lists"]

#: Words of a text: two or more letters, digits or underscores, in lower case.
_WORD = re.compile(r"\b\w\w+\b")
_ONE_TEXT = "is one text. Pass a list of documents, each a text or a list of words."
_NO_DOCUMENTS = "must be an iterable of documents, each a text or a list of words."
_NO_WORDS = "holds a document that is neither a text nor a list of words."
_BYTES = "holds bytes. Decode them first: document.decode('utf-8')."


def token_lists(documents: Any, name: str = "X") -> Iterator[list[str]]:
    """Yield the words of each document, one document at a time.

    Parameters
    ----------
    documents : iterable
        Each document a text, which is split into words of two or more letters or digits, in lower
        case; or an iterable of words, which are taken as they are.
    name : str
        What messages call them.

    Raises
    ------
    TypeError
        For anything else. No message quotes a document.

    Examples
    --------
    >>> list(token_lists(["A cat, a Dog", ["A", "cat"]]))
    [['cat', 'dog'], ['A', 'cat']]
    """
    if isinstance(documents, str):
        raise TypeError(f"{name} {_ONE_TEXT}")
    if isinstance(documents, bytes):
        raise TypeError(f"{name} {_BYTES}")
    if not _is_series(documents):
        raise TypeError(f"{name} {_NO_DOCUMENTS}")
    return (_words(document, name) for document in documents)


@final
class Counted:
    """Documents that are counted as they are read.

    Attributes
    ----------
    n_seen : int
        How many have been read.
    """

    def __init__(self, documents: Iterator[list[str]]) -> None:
        self._documents, self.n_seen = documents, 0

    def __iter__(self) -> Iterator[list[str]]:
        for document in self._documents:
            self.n_seen += 1
            yield document


def _is_series(value: Any) -> bool:
    """Whether this is one thing after the other; a mapping, a table or a single value is not."""
    several = hasattr(value, "__iter__") and getattr(value, "ndim", 1) > 0
    return several and not isinstance(value, Mapping) and not hasattr(value, "columns")


def _words(document: Any, name: str) -> list[str]:
    if isinstance(document, str):
        return _WORD.findall(document.lower())
    if isinstance(document, bytes):
        raise TypeError(f"{name} {_BYTES}")
    # Words of a set have no order, and windows would be laid over one that another process has not.
    if not _is_series(document) or isinstance(document, Set):
        raise TypeError(f"{name} {_NO_WORDS}")
    words = list(document)
    if not all(isinstance(word, str) for word in words):
        raise TypeError(f"{name} {_NO_WORDS}")
    return words

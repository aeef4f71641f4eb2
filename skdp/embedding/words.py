"""A vocabulary: words and, where they are known, how often they occur. All of it may be seen."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self, final

__all__ = ["Vocabulary"]

_NOT_FITTED = (
    "The PrivateVocabulary is not fitted; perhaps it is a clone, which forgets what was released. "
    "Fit it, and pass its vocabulary_, which clones keep."
)
_ONCE = "vocabulary is an iterator, which can be read once only: make a list of it."
_DECLARED = "The vocabulary is public: it was declared, not taken from these documents."


@final
@dataclass(frozen=True)
class Vocabulary:
    """Distinct words, and numbers that their frequency is judged by.

    Parameters
    ----------
    words : tuple of str
        At least two.
    counts : tuple of float or None, default=None
        Public or privately released, one for each word; finite.
    source : str
        Where both come from, as an assumption of whoever uses them.

    Raises
    ------
    TypeError, ValueError
        For words that are no text, that occur twice, or fewer than two; for counts that do not
        fit.

    Examples
    --------
    >>> from skdp.embedding import Vocabulary
    >>> len(Vocabulary.of(["cat", "dog"])), Vocabulary.of({"cat": 3, "dog": 9}).words
    (2, ('cat', 'dog'))
    """

    words: tuple[str, ...]
    counts: tuple[float, ...] | None = None
    source: str = field(default=_DECLARED)

    def __post_init__(self) -> None:
        if not all(isinstance(word, str) for word in self.words):
            raise TypeError("vocabulary must hold words, that is, strings.")
        if len(self.words) < 2:
            raise ValueError(f"vocabulary must have at least 2 words, got {len(self.words)}.")
        if len(set(self.words)) < len(self.words):
            raise ValueError("vocabulary has a word twice.")
        if self.counts is not None:
            if len(self.counts) != len(self.words):
                raise ValueError("counts must be one for each word of the vocabulary.")
            if not all(math.isfinite(count) for count in self.counts):
                raise ValueError("counts must be finite numbers.")

    @classmethod
    def of(cls, given: Any) -> Self:
        """Return what was given as a vocabulary.

        Parameters
        ----------
        given : Vocabulary, fitted PrivateVocabulary, mapping or iterable of str
            A mapping holds public counts. A set is sorted.
        """
        given = getattr(given, "vocabulary_", given)
        if isinstance(given, cls):
            return given
        if hasattr(given, "fit"):
            raise ValueError(_NOT_FITTED)
        if isinstance(given, Iterator):
            raise TypeError(_ONCE)
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise TypeError("vocabulary must be a list of words, or a mapping of words to counts.")
        if isinstance(given, Mapping):
            return cls(tuple(given), tuple(map(float, given.values())))
        words = sorted(given) if isinstance(given, set | frozenset) else given
        return cls(tuple(str(w) if isinstance(w, str) else w for w in words))

    @property
    def places(self) -> dict[str, int]:
        """The place of each word."""
        return {word: place for place, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

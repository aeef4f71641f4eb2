"""All words that a private vocabulary could have: public, and numbered."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, final

__all__ = ["ListedWords", "Spellings", "WordDomain"]

#: Numbers of words must fit into 64 bits with room to spare.
_LARGEST_DOMAIN = 2**62


class WordDomain(Protocol):
    """A public set of words."""

    @property
    def size(self) -> int:
        """How many there are."""

    def place(self, word: str) -> int:
        """The number of a word, -1 where it is not one of them."""

    def word(self, place: int) -> str:
        """The word of a number."""


@final
@dataclass(frozen=True)
class ListedWords:
    """A public list.

    Attributes
    ----------
    words : tuple of str
        Distinct.

    Examples
    --------
    >>> ListedWords(("cat", "dog")).place("dog")
    1
    """

    words: tuple[str, ...]

    @property
    def size(self) -> int:
        return len(self.words)

    def place(self, word: str) -> int:
        return self._places.get(word, -1)

    def word(self, place: int) -> str:
        return self.words[place]

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {word: place for place, word in enumerate(self.words)}


@final
@dataclass(frozen=True)
class Spellings:
    """All words of the letters of an alphabet, up to the length that 62 bits can number.

    Shorter words come first; words of one length in the order of the alphabet.

    Attributes
    ----------
    alphabet : str
        Distinct letters, at least two.

    Examples
    --------
    >>> english = Spellings("abcdefghijklmnopqrstuvwxyz")
    >>> english.longest, english.word(english.place("privacy"))
    (13, 'privacy')
    """

    alphabet: str

    def __post_init__(self) -> None:
        if len(set(self.alphabet)) < max(2, len(self.alphabet)):
            raise ValueError("alphabet must be at least two letters, no letter twice.")

    @cached_property
    def longest(self) -> int:
        """Length of the longest words."""
        length = 1
        while self._shorter_than(length + 2) <= _LARGEST_DOMAIN:
            length += 1
        return length

    @property
    def size(self) -> int:
        return self._shorter_than(self.longest + 1)

    def place(self, word: str) -> int:
        if not 1 <= len(word) <= self.longest:
            return -1
        number, base = 0, len(self.alphabet)
        for letter in word:
            digit = self._digits.get(letter)
            if digit is None:
                return -1
            number = number * base + digit
        return self._shorter_than(len(word)) + number

    def word(self, place: int) -> str:
        length = 1
        while self._shorter_than(length + 1) <= place:
            length += 1
        number, letters = int(place) - self._shorter_than(length), []
        for _ in range(length):
            number, digit = divmod(number, len(self.alphabet))
            letters.append(self.alphabet[digit])
        return "".join(reversed(letters))

    def _shorter_than(self, length: int) -> int:
        """Number of words of fewer letters."""
        return sum(len(self.alphabet) ** n for n in range(1, length))

    @cached_property
    def _digits(self) -> Mapping[str, int]:
        return {letter: digit for digit, letter in enumerate(self.alphabet)}

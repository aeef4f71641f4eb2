"""Random numbers at any place of a stream, as a function of a key and of the place alone.

What a record draws here is a function of the record and of a key that no data enters, so that
another record changes nothing of it. Good for choices that no guarantee rests on; it
is not cryptographic and no source of noise.

References: Steele, Lea and Flood (2014), Fast splittable pseudorandom number generators, section 4
(the finalizer and the golden increment).
"""

import numpy as np
import numpy.typing as npt

__all__ = ["FIRST_FACTOR", "GOLDEN", "SECOND_FACTOR", "below", "mixed"]

Words = npt.NDArray[np.uint64]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
SECOND_FACTOR = np.uint64(0x94D049BB133111EB)
_UPPER = np.uint64(32)


def mixed(words: "Words | np.uint64") -> Words:
    """Return words that look random for words that differ little.

    Examples
    --------
    >>> mixed(np.array([1, 2], dtype=np.uint64)) & np.uint64(255)
    array([193, 206], dtype=uint64)
    """
    with np.errstate(over="ignore"):
        z = np.asarray(words, dtype=np.uint64) + GOLDEN
        z = (z ^ (z >> np.uint64(30))) * FIRST_FACTOR
        z = (z ^ (z >> np.uint64(27))) * SECOND_FACTOR
        found: Words = z ^ (z >> np.uint64(31))
    return found


def below(words: Words, bounds: "Words | np.uint64") -> Words:
    """Map words to whole numbers below bounds of at most 2^32, evenly up to 2^-32.

    Examples
    --------
    >>> below(np.array([0, 2**63, 2**64 - 1], dtype=np.uint64), np.uint64(10))
    array([0, 5, 9], dtype=uint64)
    """
    found: Words = (words >> _UPPER) * np.asarray(bounds, dtype=np.uint64) >> _UPPER
    return found

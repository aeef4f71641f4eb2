"""Random sources for tests: one that counts, one that says what it is told."""

import numpy as np


class CountingSource:
    """Hands on the words of another source and counts them."""

    def __init__(self, source):
        self.source = source
        self.seeded = source.seeded
        self.drawn = 0

    def words(self, n):
        self.drawn += n
        return self.source.words(n)


class ScriptedSource:
    """Hands out the given words, and complains when they are used up."""

    seeded = True

    def __init__(self, *words):
        self.left = list(words)

    def words(self, n):
        given, self.left = self.left[:n], self.left[n:]
        assert len(given) == n
        return np.array(given, dtype=np.uint64)

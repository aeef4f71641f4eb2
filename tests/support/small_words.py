"""A source of words whose first ones have exponents of 0."""

import numpy as np

from skdp._random import RandomSource


class SmallFirst:
    """The exponents of what is drawn first are 0; what is drawn later is as from any source."""

    def __init__(self):
        self.n = 0

    def words(self, n):
        self.n += 1
        words = RandomSource.from_seed(self.n).words(n)
        return words & np.uint64(2**63 + 2**52 - 1) if self.n == 1 else words

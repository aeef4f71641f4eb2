"""Noise of some strata, drawn before it is known for which coordinates."""

import math
from typing import final

import numpy as np
import numpy.typing as npt

from skdp._random import RandomSource
from skdp.embedding.strata import StratifiedLaw
from skdp.mechanisms.continuous import uniforms

__all__ = ["Supply"]

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
#: Noises; how many of each row are used, and how many a step may use; bounds of rows.
Arrays = tuple[Array, Integers, Integers, Array]

#: Noises of a stratum at first, and for how many steps there are noises later.
_NOISES, _STEPS = 2**13, 8
_WIDTH = 64


@final
class Supply:
    """Noises of each stratum of a law, in a row each, and uniforms in the last row.

    What is left over waits for its turn: a noise that nobody has seen is as good later as now.

    Parameters
    ----------
    law : StratifiedLaw
    rng : RandomSource
        Where the bits come from.

    Examples
    --------
    >>> from skdp.embedding.strata import Laplaces
    >>> supply = Supply(Laplaces(1), RandomSource.from_seed(0))
    >>> pools, used, _, tops = supply.arrays
    >>> pools.shape, used.tolist()
    ((4, 8192), [0, 0, 0, 0])
    >>> bool((pools[:3].T <= tops).all())
    True
    >>> supply.planes(7, n_words=5, size=100).shape  # two bits for each of two times 64
    (7, 2, 10)
    """

    def __init__(self, law: StratifiedLaw, rng: RandomSource) -> None:
        self._law, self._rng = law, rng
        n_rows = len(law.strata) + 1
        self._pools = np.empty((n_rows, _NOISES))
        self._used, self._usual = np.full(n_rows, _NOISES), np.zeros(n_rows, dtype=np.int64)
        for row in range(n_rows):
            self._fill(row)

    @property
    def arrays(self) -> Arrays:
        """What compiled code reads, and how much it uses, which it changes in place."""
        return self._pools, self._used, self._usual, self._law.tops

    def planes(self, n_steps: int, n_words: int, size: int) -> Words:
        """Draw, of each coordinate, by which bits its noise differs from the first stratum's.

        Shape (n_steps, bits, groups of 64 coordinates by word); of each group a word for each bit,
        the sign first where it matters. The first that is 1 tells the stratum: see `strata`.
        """
        n_bits = self._law.strata[0].beginning.mask.bit_count()
        shape = n_steps, n_bits, n_words * -(-size // _WIDTH)
        return self._rng.words(math.prod(shape)).reshape(shape)

    def refill(self, row: int) -> None:
        """Draw what was used of a row, and more than there were if these were too few."""
        if self._used[row] == 0 or self._pools.shape[1] < _STEPS * self._usual.max():
            self._pools = np.concatenate([np.empty_like(self._pools), self._pools], axis=1)
            self._used += self._pools.shape[1] // 2
        low = self._pools.shape[1] - self._used < 2 * self._usual
        low[row] = True
        for some in np.flatnonzero(low):
            self._fill(int(some))

    def _fill(self, row: int) -> None:
        """Draw what was used of a row."""
        whole, used = self._pools[row], int(self._used[row])
        whole[: len(whole) - used] = whole[used:].copy()
        new = whole[len(whole) - used :]
        if row < len(self._law.strata):
            self._law.draw(row, new, self._rng)
        else:
            new[:] = uniforms(used, self._rng)
        self._used[row] = 0

"""Noise of some strata, drawn before it is known for which coordinates."""

import math
from typing import Any, final

import numpy as np
import numpy.typing as npt

from skdp._random import RandomSource
from skdp.embedding.strata import StratifiedLaw
from skdp.mechanisms.continuous import uniforms

__all__ = ["Supply"]

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

Words = npt.NDArray[np.uint64]
#: Noises; first bytes; how many of each row of noises, and of bytes, are used, and how many a step
#: may use; the row of each byte; bounds of rows; the first byte of noises of the first stratum, and
#: the places in it that planes tell.
Arrays = tuple[Array, Bytes, Integers, Integers, Bytes, Array, tuple[int, Integers]]

#: Noises of a stratum, and first bytes, at first; and for how many steps there are noises later.
_NOISES, _BYTES, _STEPS = 2**13, 2**18, 8
_WIDTH = 64


@final
class Supply:
    """Noises of each stratum of a law, in a row each, and uniforms in the last row.

    And first bytes of noises. What is left over waits for its turn: a noise that nobody has seen
    is as good later as now.

    Parameters
    ----------
    law : StratifiedLaw
    rng : RandomSource
        Where the bits come from.

    Examples
    --------
    >>> from skdp.embedding.strata import Laplaces
    >>> supply = Supply(Laplaces(1), RandomSource.from_seed(0))
    >>> pools, begun, used, _, of_byte, tops, _ = supply.arrays
    >>> pools.shape, begun.shape, used.tolist()
    ((4, 8192), (262144,), [0, 0, 0, 0, 0])
    >>> bool((pools[:3].T <= tops).all())
    True
    >>> supply.planes(2, n_words=5, size=100).shape  # two bits for each of two times 64
    (2, 5, 2, 2)
    """

    def __init__(self, law: StratifiedLaw, rng: RandomSource) -> None:
        self._law, self._rng = law, rng
        n_rows = len(law.strata) + 1
        self._pools, self._begun = np.empty((n_rows, _NOISES)), np.empty(_BYTES, dtype=np.uint8)
        self._used = np.append(np.full(n_rows, _NOISES), _BYTES)
        self._usual = np.zeros_like(self._used)
        for row in range(n_rows + 1):
            self._fill(row)

    @property
    def arrays(self) -> Arrays:
        """What compiled code reads, and how much it uses, which it changes in place."""
        law, beginning = self._law, self._law.strata[0].beginning
        first = beginning.first_byte, np.array(beginning.places, dtype=np.int64)
        return self._pools, self._begun, self._used, self._usual, law.of_byte, law.tops, first

    def planes(self, n_steps: int, n_words: int, size: int) -> Words:
        """Draw, of each coordinate, by which bits its noise differs from the first stratum's.

        Shape (n_steps, n_words, groups of 64 coordinates, bits); of each group a word for each bit.
        """
        n_bits = self._law.strata[0].beginning.mask.bit_count()
        shape = n_steps, n_words, -(-size // _WIDTH), n_bits
        return self._rng.words(math.prod(shape)).reshape(shape)

    def refill(self, row: int) -> None:
        """Draw what was used of a row, and more than there were if these were too few."""
        few = self._used[row] == 0
        if row == len(self._pools):
            if few:
                self._begun = _doubled(self._begun)
                self._used[row] = len(self._begun) // 2
        elif few or self._pools.shape[1] < _STEPS * self._usual[:-1].max():
            self._pools = _doubled(self._pools)
            self._used[:-1] += self._pools.shape[1] // 2
        for other in np.flatnonzero(self._left < 2 * self._usual):
            self._fill(int(other))
        self._fill(row)

    @property
    def _left(self) -> Integers:
        sizes = np.append(np.full(len(self._pools), self._pools.shape[1]), len(self._begun))
        left: Integers = sizes - self._used
        return left

    def _fill(self, row: int) -> None:
        """Draw what was used of a row."""
        of_bytes = row == len(self._pools)
        whole: Any = self._begun if of_bytes else self._pools[row]
        used = int(self._used[row])
        whole[: len(whole) - used] = whole[used:].copy()
        new = whole[len(whole) - used :]
        if of_bytes:
            new[:] = self._rng.words(-(-used // 8)).view(np.uint8)[:used]
        elif row < len(self._law.strata):
            self._law.draw(row, new, self._rng)
        else:
            new[:] = uniforms(used, self._rng)
        self._used[row] = 0


def _doubled(array: Any) -> Any:
    """Return twice as much, with what there is at the end."""
    return np.concatenate([np.empty_like(array), array], axis=-1)

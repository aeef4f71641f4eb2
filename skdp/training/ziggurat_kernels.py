"""Standard normals from random words, compiled. Imported lazily: it needs numba."""

import math
from typing import final

import numpy as np
import numpy.typing as npt

from skdp._random import RandomSource
from skdp.training.loss_kernels import compiled

__all__ = ["Ziggurat", "fill"]

Array = npt.NDArray[np.float64]
Words = npt.NDArray[np.int64]

_LAYERS = 256
_ONE, _TWO, _LOW_BITS = np.uint64(1), np.uint64(2), np.uint64(_LAYERS - 1)
#: Where the tail begins, for layers of equal area; Marsaglia and Tsang (2000) for 256 layers.
_TAIL = 3.6541528853610088


def _edges() -> Array:
    """Return the right edges of the layers, from the widest to 0.

    Each layer has the area of the lowest, r f(r) plus the tail, with f(x) = exp(-x^2 / 2). The
    lowest counts as a rectangle of height f(r).
    """
    height = math.exp(-(_TAIL**2) / 2)
    area = _TAIL * height + math.sqrt(math.pi / 2) * math.erfc(_TAIL / math.sqrt(2))
    edges = [area / height, _TAIL]
    while len(edges) < _LAYERS:
        height += area / edges[-1]
        edges.append(math.sqrt(-2 * math.log(height)))
    return np.array([*edges, 0.0])


_EDGES = _edges()
_HEIGHTS = np.exp(-(_EDGES**2) / 2)


@final
class Ziggurat:
    """Draws standard normals from the words of a source, about 0.98 a word.

    Called with an array, it writes normals to the front of it and returns how many.

    Parameters
    ----------
    rng : RandomSource
        Where words come from.

    References
    ----------
    Marsaglia and Tsang (2000), The ziggurat method for generating random variables.
    """

    def __init__(self, rng: RandomSource) -> None:
        self._rng = rng
        self._left = np.zeros(0, dtype=np.uint64)

    def __call__(self, normals: Array) -> int:
        words = self._rng.words(len(normals) - len(self._left))
        if len(self._left):
            words = np.concatenate([self._left, words])
        made, used = fill(normals, words)
        self._left = words[used:]
        return made


def fill(normals: Array, words: npt.NDArray[np.uint64]) -> tuple[int, int]:
    """Write normals made from words; return how many, and how many words they took.

    The words after these belong to the next normal, which needs more of them than there are.
    """
    signed = words.view(np.int64)
    # What cannot be written to is another type for the compiler: one is enough.
    signed.flags.writeable = False
    return _fill(normals, signed, _EDGES, _HEIGHTS)


@compiled
def _fill(normals: Array, words: Words, edges: Array, heights: Array) -> tuple[int, int]:
    made = np.uint64(0)
    used = np.uint64(0)
    n_words = np.uint64(words.size)
    while used < n_words:
        word = words[used]
        layer = np.uint64(word) & _LOW_BITS
        # Layer from 8 bits, sign and place from 53 others; midpoints, so that signs are even.
        x = ((word >> 11) + 0.5) * 2.0**-52 * edges[layer]
        needed = _ONE
        if abs(x) >= edges[layer + _ONE]:
            if layer == 0:
                x, needed = _tail(x, words, used)
            else:
                x, needed = _wedge(x, layer, words, used, edges, heights)
            if needed == 0:
                break
        normals[made] = x
        made += np.uint64(x == x)
        used += needed
    return int(made), int(used)


@compiled
def _wedge(
    x: float, layer: np.uint64, words: Words, used: np.uint64, edges: Array, heights: Array
) -> tuple[float, np.uint64]:
    """Accept x in the part of its layer that the curve crosses; 0 words if there are too few."""
    if used + _ONE >= np.uint64(words.size):
        return math.nan, np.uint64(0)
    share = _uniform(words[used + _ONE])
    height = heights[layer] + share * (heights[layer + _ONE] - heights[layer])
    return (x if height < math.exp(-x * x / 2) else math.nan), _TWO


@compiled
def _tail(x: float, words: Words, used: np.uint64) -> tuple[float, np.uint64]:
    """Draw from beyond the last edge, with the sign of x; 0 words if there are too few."""
    for last in range(used + _TWO, np.uint64(words.size), _TWO):
        beyond = -math.log(_uniform(words[last - _ONE])) / _TAIL
        if -2 * math.log(_uniform(words[last])) > beyond * beyond:
            return math.copysign(_TAIL + beyond, x), last + _ONE - used
    return math.nan, np.uint64(0)


@compiled
def _uniform(word: np.int64) -> float:
    """Return a number in (0, 1): a midpoint of 2^52 intervals."""
    return ((word >> 12) + 0.5) * 2.0**-52 + 0.5

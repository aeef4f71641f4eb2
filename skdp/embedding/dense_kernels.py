"""A step of Adam on all vectors, compiled. Imported lazily: it needs numba."""

from typing import Any

import numpy as np
import numpy.typing as npt

from skdp.embedding.fused_kernels import move
from skdp.training.compiled_kernels import compiled

__all__ = ["make_step"]

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@compiled
def make_step(state: Any, t: int, words: Integers, sums: Array, total: Array, grid: float) -> None:
    """Add the sums of some words to the noise of all, and make the t-th step with the total.

    Parameters
    ----------
    state : tuple
        Of `Adam.arrays`, vectors and moments with a row for each word.
    words, sums : ndarray of shape (n,), (n, size)
        Words and their exact sums, multiples of the grid.
    total : ndarray of shape (n_words, size)
        Noise in units of the grid, whole numbers; overwritten by what is released.
    """
    for place in range(words.size):
        row = total[words[place]]
        for i in range(row.size):
            row[i] += sums[place, i] / grid
    for word in range(total.shape[0]):
        row = total[word]
        for i in range(row.size):
            row[i] = row[i] * grid + 0.0
        move(state, word, row, t)

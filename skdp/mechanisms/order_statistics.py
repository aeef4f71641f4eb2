"""The largest of very many independent noises, and the coordinates that have them.

A selection needs of the coordinates that are zero only the largest noises, which are order
statistics, and identities, which are uniform: by exchangeability neither depends on the other.
"""

import numpy as np
import numpy.typing as npt

from skdp._random import RandomSource
from skdp.mechanisms.continuous import exponentials

__all__ = ["distinct_outside", "integers_below", "log_cdf_of_largest", "random_subset"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

#: Up to so many integers for each one that matters, a table of all of them is faster than searches.
_TABLE_SHARE = 16


def log_cdf_of_largest(n: int, m: int, rng: RandomSource) -> Floats:
    """Draw log F(X_(1)), ..., log F(X_(m)) of the `m` largest of `n` variables of continuous cdf F.

    Whatever F is, -log F(X) is a standard exponential, and the spacings between the smallest of
    `n` exponentials are independent: e_i / (n - i + 1), e_i standard exponentials.

    Parameters
    ----------
    n : int
        How many variables there are.
    m : int
        How many of the largest are drawn, at most `n`.
    rng : RandomSource
        Where the bits come from.

    Returns
    -------
    ndarray of float64 of shape (m,)
        Decreasing, below 0.

    References
    ----------
    Renyi (1953), On the theory of order statistics.

    Examples
    --------
    >>> from skdp._random import RandomSource
    >>> log_cdf_of_largest(10**9, 3, RandomSource.from_seed(0)).shape
    (3,)
    """
    return -np.cumsum(exponentials(m, rng) / (n - np.arange(m)))


def integers_below(bound: int, n: int, rng: RandomSource) -> Indices:
    """Draw `n` uniform integers from 0 to `bound` - 1, exactly: words of the last part reject."""
    whole = np.uint64(2**64 - 1 - 2**64 % bound)
    found = np.empty(0, dtype=np.uint64)
    while found.size < n:
        words = rng.words(n - found.size)
        found = np.concatenate([found, words[words <= whole]])
    return (found % np.uint64(bound)).astype(np.int64)


def random_subset(n: int, m: int, rng: RandomSource) -> Indices:
    """Draw `m` distinct integers below `n`, all ordered samples equally likely.

    The first `m` in the order of random keys; where two of all the keys are equal, all are drawn
    again.
    """
    while True:
        keys = rng.words(n)
        order = np.argsort(keys)
        ordered = keys[order]
        if not np.any(ordered[1:] == ordered[:-1]):
            return order[:m].astype(np.int64, copy=False)


def distinct_outside(support: Indices, size: int, m: int, rng: RandomSource) -> Indices:
    """Draw `m` distinct integers below `size` that are not in `support`, in random order.

    By rejection, in expected time O(s + m) while `support` and the result are at most half of
    all; otherwise from a list of all, which is then O(s + m) too.

    Parameters
    ----------
    support : ndarray of int64, shape (s,)
        Strictly increasing, from 0 to `size` - 1.
    size : int
        How many integers there are.
    m : int
        How many to draw, at most `size` - s.
    rng : RandomSource
        Where the bits come from.

    Returns
    -------
    ndarray of int64 of shape (m,)
        All ordered samples are equally likely.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp._random import RandomSource
    >>> support = np.array([0, 2, 3])
    >>> sorted(distinct_outside(support, 6, 3, RandomSource.from_seed(0)).tolist())
    [1, 4, 5]
    """
    if 2 * (support.size + m) > size:
        rest = np.delete(np.arange(size), support)
        return rest[random_subset(rest.size, m, rng)]
    if size < min(2**31, _TABLE_SHARE * (support.size + m)):
        return _outside_of_table(support, size, m, rng)
    found = np.empty(0, dtype=np.int64)
    while found.size < m:
        drawn = integers_below(size, 2 * (m - found.size) + 4, rng)
        found = _distinct(np.concatenate([found, drawn[~_is_among(drawn, support)]]))
    return found[:m]


def _outside_of_table(support: Indices, size: int, m: int, rng: RandomSource) -> Indices:
    """As by rejection, number by number, with a table of all integers in place of searches."""
    taken = np.zeros(size, dtype=np.bool_)
    taken[support] = True
    found = np.empty(0, dtype=np.int64)
    while found.size < m:
        drawn = integers_below(size, 2 * (m - found.size) + 4, rng)
        drawn = np.concatenate([found, drawn[~taken[drawn]]])
        places = np.arange(drawn.size, dtype=np.int32)
        first = np.full(size, drawn.size, dtype=np.int32)
        np.minimum.at(first, drawn, places)
        found = drawn[first[drawn] == places]
    return found[:m]


def _is_among(drawn: Indices, support: Indices) -> npt.NDArray[np.bool_]:
    if support.size == 0:
        return np.zeros(drawn.size, dtype=bool)
    places = np.searchsorted(support, drawn)
    return np.equal(support[np.minimum(places, support.size - 1)], drawn)


def _distinct(drawn: Indices) -> Indices:
    """Drop repetitions, keeping the order of first appearance."""
    _, first = np.unique(drawn, return_index=True)
    return drawn[np.sort(first)]

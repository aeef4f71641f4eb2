"""Long recursions x_t = a_t x_(t-1) + b_t with non-negative terms, without a loop over t.

Within a run of steps the solution is P_t (x_0 + sum_(s <= t) b_s / P_s) with P the running product
of the a's. Runs end where P could leave the range of float64. All terms are non-negative, so
nothing cancels: the relative error of every x_t is below 8 (number of steps) 2^-53.
"""

import math

import numpy as np
import numpy.typing as npt

__all__ = ["forward", "rounding_of", "weights_of_kicks"]

Array = npt.NDArray[np.float64]

_LONGEST = 4096
# Running products outside of this range end a run of steps.
_LOW, _HIGH = 1e-150, 1e150
# Smaller factors are taken for this: a larger factor only makes a bound larger.
_SMALLEST = 1e-100


def rounding_of(n_steps: int) -> float:
    """Factor above 1 that covers the roundings of a recursion of so many steps and its terms."""
    return 1 + (n_steps + 2.0**12) * 2.0**-48


def forward(factors: Array, terms: Array) -> Array:
    """Return x_1, ..., x_T with x_0 = 0.

    Examples
    --------
    >>> forward(np.array([0.5, 0.5, 2.0]), np.array([1.0, 1.0, 0.0]))
    array([1. , 1.5, 3. ])
    """
    out, last = np.empty(len(factors)), 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, len(factors), _LONGEST):
            run = slice(start, start + _LONGEST)
            last = _fill(out[run], factors[run], terms[run], last)
    return np.where(np.isnan(out), np.inf, out) if math.isnan(last) else out


def _fill(out: Array, factors: Array, terms: Array, last: float) -> float:
    """Write a run, cut into halves where its products leave the range; return its last value."""
    product = np.cumprod(np.maximum(factors, _SMALLEST))
    if len(out) > 1 and not (product.min() > _LOW and product.max() < _HIGH):
        half = len(out) // 2
        last = _fill(out[:half], factors[:half], terms[:half], last)
        return _fill(out[half:], factors[half:], terms[half:], last)
    np.multiply(product, last + np.cumsum(terms / product), out=out)
    return float(out[-1])


def weights_of_kicks(factors: Array, averaging: Array) -> Array:
    """Return by how much a kick of size 1 after step t moves ``sum_u averaging_u w_u``.

    A_t = averaging_t + a_(t+1) A_(t+1): the kick is there in w_t and shrinks with every step.

    Examples
    --------
    >>> weights_of_kicks(np.array([0.5, 0.5, 0.5]), np.array([0.0, 0.0, 1.0]))
    array([0.25, 0.5 , 1.  ])
    """
    later = np.append(factors[1:], 1.0)
    return forward(later[::-1], averaging[::-1])[::-1]

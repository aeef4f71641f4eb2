r"""How much of a clipping norm is left when sums of gradients are rounded.

A sum over the n records of a batch is computed in double precision, in any order, and then
rounded to the grid of the noise. Let L bound the norm of each record's vector :math:`v_i`, and let
k be the depth of the summation: terms of one block and number of blocks. A computed coordinate
differs from the exact one by at most :math:`\gamma_k \sum_i |v_{ij}|` with
:math:`\gamma_k = ku / (1 - ku)` (Higham, 2002, Accuracy and stability of numerical algorithms,
section 3.1), hence a computed sum by at most :math:`\gamma_k n L` in the Euclidean norm, and
rounding p coordinates to a grid g moves it by at most :math:`\sqrt p\, g / 2`. Both happen on
either side of a pair of neighbours. When one record is nulled and no other vector changes, sums
differ by

.. math:: L + 2 \gamma_k n L + \sqrt p\, g \le C \quad\text{for}\quad
          L = \frac{C - \sqrt p\, g}{1 + 2 \gamma_k n}

and when it is replaced by :math:`2L + 2 \gamma_k n L + \sqrt p\, g \le 2C`. For m records, m and
2m in place of 1 and 2 before L: at most m times as much.
"""

import math

__all__ = ["LARGEST_CORRECTION", "UNIT_ROUNDOFF", "record_norm", "refuse_coarse_sums"]

UNIT_ROUNDOFF = 2.0**-53
#: Share of the clipping norm that rounding may take before a run is refused.
LARGEST_CORRECTION = 0.1
#: For the few roundings of factors and for underflow.
_MARGIN = 2.0**-40


def record_norm(max_norm: float, grid: float, size: int, n_records: int, depth: int) -> float:
    """Return the L of this module: what each record's vector is clipped to, not above `max_norm`.

    Examples
    --------
    >>> 0.99 < record_norm(1.0, 2.0**-20, 10_000, n_records=8192, depth=8192) < 1.0
    True
    """
    gamma = depth * UNIT_ROUNDOFF / (1 - depth * UNIT_ROUNDOFF)
    rest = max_norm - math.sqrt(size) * grid
    return rest / (1 + 2 * gamma * n_records) * (1 - _MARGIN)


def refuse_coarse_sums(max_norm: float, grid: float, size: int, n_records: int, depth: int) -> None:
    """Refuse a run, from public facts, of whose clipping norm rounding would take too much."""
    left = record_norm(max_norm, grid, size, n_records, depth)
    if left < (1 - LARGEST_CORRECTION) * max_norm:
        raise ValueError(
            f"The noise is so large that rounding sums of {size} coordinates to its grid would "
            f"take {1 - left / max_norm:.0%} of max_grad_norm. Take fewer hidden units or a noise "
            "schedule that decays less, or raise epsilon."
        )

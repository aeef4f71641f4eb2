"""What the compiled and the NumPy route to the gradients of linear models agree on.

*Clipping.* A record with features x (constant column included) and slopes d = loss'(scores) has the
gradient d x^T, of norm ||d|| ||x||. ``norms`` holds an upper bound on ||x||, rounding errors
included (as for `skdp.records.clipping`), and ``limit`` is short of the clip norm by more than the
roundings of d, of the factor and of the product can add, 2^-40. Entries are then truncated towards
zero to multiples of the grid, which cannot make the norm larger; in units of the grid they are
integers, and their sum over records is exact.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from skdp.objectives.losses import Loss

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

#: ``norms`` are stored in this unit, since the norm of 1e308's may be above the largest float.
NORM_UNIT = 2.0**-20
#: Sums of squares above this are taken once more, of values multiplied by `SHRINK`.
LARGEST_SQUARE = 2.0**900
SHRINK = 2.0**-600
#: Slopes saturate here, so that their products with numbers between the above stay finite.
LARGEST_SLOPE = 2.0**300
UNIT_ROUNDOFF = 2.0**-53
MARGIN = 2.0**-40


#: ``(n_features, n_outputs, intercept)``, intercept 0 or 1. Parameters are flat,
#: ``w[feature * n_outputs + output]``; those of the intercept come last.
Layout = tuple[int, int, int]
#: ``(matrix, targets, norms, loss, layout)``: what a kernel reads. `matrix` is ``(X,)`` or
#: ``(data, indices, indptr)``, `loss` is `Kernels.loss_argument` of the loss. Plain
#: tuples: a compiled function looks at their types in half the time of named ones.
Records = tuple[Any, Array, Array, Any, Layout]


class Kernels(NamedTuple):
    """The functions of one route for one kind of storage.

    Sums are returned as ``(total,)`` for dense records, ``(indices, values)`` for sparse ones.
    ``limit`` is the clip norm less `MARGIN`. A route that makes whole steps of SGD has `run_steps`.
    """

    loss_argument: Callable[[Loss], Any]
    norms: Callable[[Any, int], Array]
    clipped_sum: Callable[[Records, Array, float, Integers, float, float], Any]
    contribution_map: Callable[[Records, Integers, float, float], Any]
    restricted_sum: Callable[[Records, Array, float, Integers, Integers, float, float], Array]
    run_steps: Callable[..., None] | None = None

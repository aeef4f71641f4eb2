"""Labels as numbers whose products with rows are summed: classes as points, others as they are."""

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

__all__ = ["LabelCodes"]

Array = npt.NDArray[np.float64]

#: Codes are rounded to multiples of 2^-20, which moves a product of two by less than that.
_ROUNDED_UP, _ROUNDED_DOWN = 1 + 2.0**-50, 2.0**-18


@final
@dataclass(frozen=True)
class LabelCodes:
    """One column of labels in [-1, 1], or K classes as ``e_k - 1/K``.

    Two of these are at ``-1/K`` to each other, and the square of each is ``1 - 1/K``.

    Attributes
    ----------
    n_outputs : int
        1 for labels in [-1, 1], two classes as -1 and 1 among them; otherwise the K.

    Examples
    --------
    >>> LabelCodes(1).of(np.array([-1.0, 1.0])).tolist()
    [[-1.0], [1.0]]
    >>> LabelCodes(4).of(np.array([2])).tolist()
    [[-0.25, -0.25, 0.75, -0.25]]
    >>> round(LabelCodes(4).norm ** 2, 6), round(LabelCodes(4).least_product, 4)
    (0.75, -0.25)
    """

    n_outputs: int

    @property
    def norm(self) -> float:
        """Bound on the Euclidean norm of a code."""
        return 1.0 if self.n_outputs == 1 else math.sqrt(1 - 1 / self.n_outputs) * _ROUNDED_UP

    @property
    def least_product(self) -> float:
        """Lower bound on the product of two codes."""
        return -1.0 if self.n_outputs == 1 else -1 / self.n_outputs - _ROUNDED_DOWN

    def of(self, targets: npt.NDArray[Any]) -> Array:
        """Return the codes, shape (n, n_outputs), of labels in [-1, 1] or of places of classes."""
        if self.n_outputs == 1:
            return np.asarray(targets, dtype=np.float64)[:, None]
        codes: Array = np.eye(self.n_outputs)[targets] - 1 / self.n_outputs
        return codes

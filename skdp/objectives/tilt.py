"""A linear term: what objective perturbation adds to an objective."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final, final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

__all__ = ["NO_TILT", "Tilt"]


@final
@dataclass(frozen=True, eq=False)
class Tilt:
    """``<slope, w>``, of gradient `slope` everywhere.

    Attributes
    ----------
    slope : ndarray of shape (n_outputs, n_columns)
        Its norm alone counts where what an objective may be is bounded.

    Examples
    --------
    >>> tilt = Tilt(np.array([[3.0, -4.0]]))
    >>> tilt.value(np.array([[1.0, 1.0]])), tilt.norm
    (-1.0, 5.0)
    """

    slope: Array

    @cached_property
    def norm(self) -> float:
        """Euclidean norm of the slope."""
        return float(np.linalg.norm(self.slope))

    def value(self, coef: Array) -> float:
        """``<slope, coef>``."""
        return float((self.slope * coef).sum())


NO_TILT: Final = Tilt(np.zeros((1, 1)))

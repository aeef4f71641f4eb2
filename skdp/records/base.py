"""Records: rows that can only be asked for sums over all of them."""

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class Records(Protocol):
    """n rows x_i with target y_i, weight s_i and, last, a constant column that no array holds.

    Arrays of coefficients have shape (n_outputs, n_columns). Quantities per record have shape
    (n_samples,) for one output and (n_samples, n_outputs) for several.
    """

    @property
    def n_samples(self) -> int:
        """Number of rows."""

    @property
    def n_features(self) -> int:
        """Number of columns, the constant one left out."""

    @property
    def n_columns(self) -> int:
        """Number of columns, the constant one included."""

    @property
    def targets(self) -> npt.NDArray[Any]:
        """y, shape (n_samples,)."""

    def scores(self, coef: Array) -> Array:
        """``x_i w`` for every record."""

    def total(self, values: Array) -> float:
        """``sum_i s_i values_i``."""

    def gradient_sum(self, residuals: Array) -> Array:
        """``sum_i s_i residuals_i x_i^T``, shape (n_outputs, n_columns)."""

    def column_squares(self, curvature: Array) -> Array:
        """``sum_i s_i curvature_i x_ij^2``, shape (n_outputs, n_columns)."""

    def weighted_gram(self, curvature: Array, columns: npt.NDArray[np.intp] | None = None) -> Array:
        """``sum_i s_i curvature_i x_i x_i^T`` over some columns, for curvature (n,) >= 0."""

    @property
    def gram_limit(self) -> int:
        """Number of columns up to which `weighted_gram` is worth its cost."""

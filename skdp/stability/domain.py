"""The public facts about a data set that a sensitivity may depend on."""

import math
from dataclasses import dataclass
from typing import final

from skdp._validation import positive, positive_integer
from skdp.privacy.budget import Neighbours


@final
@dataclass(frozen=True)
class Domain:
    """What everybody may know of the records before the fit.

    Parameters
    ----------
    n_samples : int
        Number of rows, public under replace-one and zero-out.
    n_features : int
        Number of columns.
    row_norm : float
        Bound on the Euclidean norm of a row, enforced by clipping.
    intercept_scaling : float or None
        The constant column that carries the penalised intercept; None without an intercept.
    max_weight : float
        Largest weight of a record, sample weight times class weight.
    rows_per_unit : int, default=1
        Most rows of one unit, which a neighbouring data set replaces, or nulls, together.
    neighbours : Neighbours, default=Neighbours.REPLACE_ONE
        What a sensitivity is asked for. Bounds that know of one relation only are for replace-one,
        and say so.
    """

    n_samples: int
    n_features: int
    row_norm: float
    intercept_scaling: float | None = None
    max_weight: float = 1.0
    rows_per_unit: int = 1
    neighbours: Neighbours = Neighbours.REPLACE_ONE

    def __post_init__(self) -> None:
        positive_integer(n_samples=self.n_samples, n_features=self.n_features)
        positive_integer(rows_per_unit=self.rows_per_unit)
        positive(row_norm=self.row_norm, max_weight=self.max_weight)
        if self.intercept_scaling is not None:
            positive(intercept_scaling=self.intercept_scaling)
        if self.neighbours is Neighbours.ADD_OR_REMOVE_ONE:
            raise ValueError("The number of rows is private under add-or-remove-one.")

    @property
    def has_intercept(self) -> bool:
        """Whether the constant column is there."""
        return self.intercept_scaling is not None

    @property
    def kappa(self) -> float:
        """Bound on the norm of an augmented row: sqrt(row_norm^2 + intercept_scaling^2)."""
        return math.hypot(self.row_norm, self.intercept_scaling or 0.0)

    @property
    def n_columns(self) -> int:
        """Columns of the augmented row, hence coefficients of one output."""
        return self.n_features + self.has_intercept

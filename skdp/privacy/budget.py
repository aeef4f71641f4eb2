"""What is promised: a budget, a neighbouring relation, a sensitivity."""

import math
from dataclasses import dataclass
from enum import Enum
from typing import Literal, final

from skdp._validation import is_real, positive

Norm = Literal["l1", "l2", "linf"]

#: A request of delta = 0 is met up to finite precision, which stays far below this.
FINITE_PRECISION = 1e-9


class Neighbours(Enum):
    """Which two data sets a guarantee compares. The relations are not interchangeable.

    Attributes
    ----------
    REPLACE_ONE
        Same public number of rows; one row takes any other admissible value.
    ZERO_OUT
        Same public number of rows; one whole row (constant column included) is replaced by a
        null that contributes nothing.
    ADD_OR_REMOVE_ONE
        One row more or less; the number of rows itself is private.
    """

    REPLACE_ONE = "replace-one"
    ZERO_OUT = "zero-out"
    ADD_OR_REMOVE_ONE = "add-or-remove-one"


@final
@dataclass(frozen=True)
class PrivacyBudget:
    """An (epsilon, delta) budget.

    Parameters
    ----------
    epsilon : float
        Bound on the privacy loss, above 0.
    delta : float, default=0.0
        Probability mass outside the bound, in [0, 1).
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon)
        if not is_real(self.delta) or math.isnan(self.delta) or not 0 <= self.delta < 1:
            raise ValueError(f"delta must be a number in [0, 1), got {self.delta!r}.")


@final
@dataclass(frozen=True)
class Sensitivity:
    """How far one record can move a statistic.

    Laplace noise needs an L1 bound, Gaussian noise an L2 bound, and both depend on the
    neighbouring relation; kept together, a mechanism can refuse the wrong one.

    Parameters
    ----------
    value : float
        The bound, above 0. A sensitivity of 0 would release a statistic without noise.
    norm : {"l1", "l2", "linf"}
        The norm in which the change is bounded.
    neighbours : Neighbours
        The relation between the two data sets.
    """

    value: float
    norm: Norm
    neighbours: Neighbours

    def __post_init__(self) -> None:
        positive(value=self.value)
        if self.norm not in ("l1", "l2", "linf"):
            raise ValueError(f"norm must be 'l1', 'l2' or 'linf', got {self.norm!r}.")
        if not isinstance(self.neighbours, Neighbours):
            raise TypeError(f"neighbours must be a Neighbours member, got {self.neighbours!r}.")

"""Penalties: what keeps the minimiser unique and, with an L1 part, sparse."""

from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from skdp._validation import is_real, positive

Array = npt.NDArray[np.float64]


@final
@dataclass(frozen=True)
class ElasticNet:
    """``l1 ||w_features||_1 + (l2 / 2) ||w||^2``, l1 = alpha l1_ratio, l2 = alpha (1 - l1_ratio).

    The L2 part covers every coefficient, the intercept too; the L1 part the features alone.
    Coefficients have shape (n_outputs, n_columns); columns from `n_features` on are the
    intercept. The penalty is l2-strongly convex, and this is all that the sensitivity of the
    minimiser rests on, hence l1_ratio < 1. Zou & Hastie (2005).

    Parameters
    ----------
    alpha : float
        Strength, above 0.
    l1_ratio : float, default=0.0
        Share of the L1 part, in [0, 1). 0 is the L2 penalty.

    Raises
    ------
    ValueError
        For parameters out of range; l1_ratio = 1 leaves no strong convexity.

    Examples
    --------
    >>> import numpy as np
    >>> ElasticNet(alpha=0.5, l1_ratio=0.5).value(np.array([[3.0, -4.0]]), n_features=2)
    4.875
    """

    alpha: float
    l1_ratio: float = 0.0

    def __post_init__(self) -> None:
        positive(alpha=self.alpha)
        if not is_real(self.l1_ratio) or not 0 <= self.l1_ratio <= 1:
            raise ValueError(f"l1_ratio must be in [0, 1), got {self.l1_ratio!r}.")
        if self.l1_ratio == 1:
            raise ValueError(
                "l1_ratio must be below 1: without an L2 part the minimiser has no finite "
                "sensitivity, one row can move it any distance."
            )

    @property
    def l1(self) -> float:
        """Weight of the L1 norm of the features' coefficients."""
        return self.alpha * self.l1_ratio

    @property
    def l2(self) -> float:
        """Weight of half the squared norm of all coefficients."""
        return self.alpha * (1 - self.l1_ratio)

    @property
    def strong_convexity(self) -> float:
        """Largest lam such that penalty - (lam/2) ||w||^2 is convex: l2."""
        return self.l2

    def levels(self, n_features: int, n_columns: int) -> Array:
        """Weight of each column's absolute value: l1 for features, 0 for the intercept."""
        levels = np.zeros(n_columns)
        levels[:n_features] = self.l1
        return levels

    def value(self, coef: Array, n_features: int) -> float:
        """Penalty of `coef`."""
        absolute = np.abs(coef[:, :n_features]).sum()
        return float(self.l1 * absolute + self.l2 / 2 * np.square(coef).sum())

    def prox(self, point: Array, step: float, n_features: int) -> Array:
        """``argmin_v penalty(v) + ||v - point||^2 / (2 step)``, one coefficient at a time."""
        levels = step * self.levels(n_features, point.shape[1])
        return soft_threshold(point, levels) / (1 + step * self.l2)

    def min_norm_subgradient(self, gradient: Array, coef: Array, n_features: int) -> Array:
        """Smallest vector of ``gradient + subdifferential of the L1 part at coef``.

        `gradient` is that of everything smooth, the L2 part included. The result is 0 exactly
        at the minimiser.
        """
        return steepest_subgradient(gradient, coef, self.levels(n_features, coef.shape[1]))


def soft_threshold(point: Array, levels: Array) -> Array:
    """Move each entry towards 0 by its level, and no further."""
    return point - np.minimum(np.maximum(point, -levels), levels)


def steepest_subgradient(gradient: Array, coef: Array, levels: Array) -> Array:
    """Smallest element of ``gradient + levels * d|coef|``, entry by entry."""
    return np.where(coef == 0, soft_threshold(gradient, levels), gradient + levels * np.sign(coef))

"""Objective = weighted mean loss + penalty."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
import numpy.typing as npt

from skdp.objectives.losses import Loss
from skdp.objectives.penalties import ElasticNet
from skdp.objectives.tilt import NO_TILT, Tilt

if TYPE_CHECKING:
    from skdp.records.base import Records

Array = npt.NDArray[np.float64]


@final
@dataclass(frozen=True)
class Objective:
    """``F(w) = (1/n) sum_i s_i loss(x_i w; y_i) + l1 ||w_features||_1 + (l2/2) ||w||^2``.

    The sum is divided by the number of records n, never by the sum of the weights s_i:
    that sum is private. Coefficients have shape (n_outputs, n_columns), the intercept last.
    What depends on public bounds takes them as arguments: kappa bounds the norm of a row
    (constant column included), max_weight the weight of a record.

    Parameters
    ----------
    loss : Loss
    penalty : ElasticNet
    tilt : Tilt, default=NO_TILT
        A linear term that is added to F.

    Examples
    --------
    >>> from skdp.objectives import ElasticNet, Logistic, Objective
    >>> objective = Objective(Logistic(), ElasticNet(alpha=0.1))
    >>> round(objective.gradient_diameter(kappa=1.0, max_weight=1.0), 4)
    1.6828
    """

    loss: Loss
    penalty: ElasticNet
    tilt: Tilt = NO_TILT

    @property
    def strong_convexity(self) -> float:
        """The lam in F(v) >= F(w) + <F'(w), v - w> + (lam/2) ||v - w||^2."""
        return self.penalty.strong_convexity

    def smoothness(self, kappa: float, max_weight: float) -> float:
        """Lipschitz constant of the smooth part's gradient, ``W curvature kappa^2 + l2``."""
        return max_weight * self.loss.smoothness * kappa * kappa + self.penalty.l2

    def minimiser_radius(self, kappa: float, max_weight: float) -> float:
        """Bound on the norm of the minimiser, whatever the data.

        With a tilt t, stationarity multiplied by w is lam norm(w)^2 <= norm(t) norm(w) + W pull:
        norm(w) is at most norm(t) / lam more than without one.
        """
        upright = self.loss.minimiser_radius(kappa, max_weight, self.strong_convexity)
        return upright + self.tilt.norm / self.strong_convexity

    def gradient_diameter(self, kappa: float, max_weight: float) -> float:
        """D: largest distance between two records' gradients at one minimiser.

        Replacing one of n records moves the minimiser by at most D / (n strong_convexity):
        0 is a subgradient at w; (g_new - g_old)/n is one at w of the changed objective, whose
        subdifferential is strongly monotone (Chaudhuri et al. 2011, Lemma 7).
        """
        return self.loss.gradient_diameter(kappa, max_weight, self.strong_convexity)

    def value(self, coef: Array, records: "Records") -> float:
        """F(coef)."""
        losses = self.loss.value(records.scores(coef), records.targets)
        mean = records.total(losses) / records.n_samples
        return mean + self.penalty.value(coef, records.n_features) + self.tilt.value(coef)

    def gradient(self, coef: Array, records: "Records", scores: Array | None = None) -> Array:
        """Gradient of the mean loss, the L2 part and the tilt, shape of `coef`."""
        scores = records.scores(coef) if scores is None else scores
        gradient = records.gradient_sum(self.loss.derivative(scores, records.targets))
        gradient /= records.n_samples
        gradient += self.penalty.l2 * coef
        if self.tilt.norm:
            gradient += self.tilt.slope
        return gradient

    def subgradient(self, coef: Array, records: "Records") -> Array:
        """Smallest subgradient of F at `coef`: norm / lam bounds the distance to the minimiser."""
        gradient = self.gradient(coef, records)
        return self.penalty.min_norm_subgradient(gradient, coef, records.n_features)

    def curvature_product(self, second: Array, direction: Array, records: "Records") -> Array:
        """Second derivative of the smooth part times `direction`, shape of `direction`.

        `second` is `loss.second_derivative` at the point in question.
        """
        image = self.loss.curvature_product(second, records.scores(direction))
        product = records.gradient_sum(image)
        product /= records.n_samples
        product += self.penalty.l2 * direction
        return product

"""Losses: convex functions of the margin or of the logits, with the constants that the proofs need.

How the constants come about, once for all losses. Let w minimise
F(w) = (1/n) sum_i s_i loss(x_i w; y_i) + l1 ||w_features||_1 + (lam/2) ||w||^2, 0 <= s_i <= W.

*Radius.* Stationarity, multiplied by w, gives
lam ||w||^2 + l1 ||w_features||_1 = -(1/n) sum_i s_i <loss'(m_i), m_i> with m_i = x_i w, hence with
``pull`` = sup_m -<loss'(m), m> and ``slope`` = ||loss'(0)||:

* lam ||w||^2 <= W pull, that is ||w|| <= sqrt(W pull / lam);
* -<loss'(m), m> <= -<loss'(0), m> <= slope kappa ||w|| because loss' is monotone, that is
  ||w|| <= W kappa slope / lam.

*Diameter.* The gradient of one record is s_i loss'(m_i) x_i^T, of norm at most W L kappa with
L = sup ||loss'|| over the ball ||w|| <= R, so two of them are at most D = 2 W L kappa apart.
Chaudhuri et al. (2011), Cor. 8 divide it by n lam; the weight bound W enters R as well as D.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, final

import numpy as np
import numpy.typing as npt
from scipy.special import expit, lambertw

from skdp._validation import positive

Array = npt.NDArray[np.float64]
CurvatureBlock = tuple[int, int, float, Array]

#: sup_z z sigmoid(-z) = W(1/e), rounded up (W is Lambert's function: z/(1+e^z) peaks at W(1/e)).
LOGISTIC_PULL = 0.278465


@dataclass(frozen=True)
class ConvexLoss(ABC):
    """What the bounds on a minimiser ask of a loss, smooth or not.

    A row x satisfies norm(x) <= kappa (constant column included), a record's weight lies in
    [0, max_weight], and the penalty is `strong_convexity`-strongly convex.
    """

    n_outputs: int = field(default=1, init=False, repr=False)

    @property
    @abstractmethod
    def pull(self) -> float:
        """Largest value of -<derivative, scores> over all scores and targets."""

    @property
    @abstractmethod
    def slope_at_zero(self) -> float:
        """Largest 2-norm of the derivative at score 0."""

    @abstractmethod
    def gradient_bound(self, kappa: float, radius: float) -> float:
        """Bound on the derivative with respect to the scores (2-norm), for norm(w) <= radius."""

    def minimiser_radius(self, kappa: float, max_weight: float, strong_convexity: float) -> float:
        """Bound on the norm of the minimiser of the penalised weighted mean loss."""
        by_pull = math.sqrt(max_weight * self.pull / strong_convexity)
        return min(by_pull, max_weight * kappa * self.slope_at_zero / strong_convexity)

    def gradient_diameter(self, kappa: float, max_weight: float, strong_convexity: float) -> float:
        """Largest distance between the gradients of two records at one minimiser."""
        radius = self.minimiser_radius(kappa, max_weight, strong_convexity)
        return 2 * max_weight * kappa * self.gradient_bound(kappa, radius)


@dataclass(frozen=True)
class Loss(ConvexLoss):
    """A smooth convex loss of the scores of one record.

    Scores have shape (n,) for `n_outputs` = 1 and (n, n_outputs) otherwise. Targets `y` are
    -1 or +1 for margin losses, class indices 0 .. n_outputs-1 for `Multinomial`, real numbers
    for regression.

    Values and derivatives neither overflow nor lose their meaning at scores of any size that
    a clipped row can reach.

    Attributes
    ----------
    twice_differentiable : bool
        Whether the second derivative is continuous.
    """

    twice_differentiable: ClassVar[bool] = False

    @property
    @abstractmethod
    def smoothness(self) -> float:
        """Largest eigenvalue of the second derivative with respect to the scores."""

    @property
    def branches(self) -> int:
        """Vertices, besides 0, of a polytope that holds all derivatives of a record, and 0.

        Two are enough for one output: the largest slope of either sign.
        """
        return 2

    def log_determinant(self, ratio: float) -> float:
        """Bound on log det(I + ratio H), H any second derivative with respect to the scores."""
        return math.log1p(ratio * self.smoothness)

    @abstractmethod
    def value(self, scores: Array, y: Array) -> Array:
        """Loss of each record, shape (n,)."""

    def value_change(self, after: Array, before: Array, y: Array) -> Array:
        """``value(after, y) - value(before, y)``, shape (n,)."""
        return self.value(after, y) - self.value(before, y)

    @abstractmethod
    def derivative(self, scores: Array, y: Array) -> Array:
        """Derivative with respect to the scores, shape of `scores`."""

    @abstractmethod
    def second_derivative(self, scores: Array, y: Array) -> Array:
        """All that `curvature_product` needs to know of the scores, shape of `scores`.

        The (generalised) second derivative itself where `n_outputs` = 1.
        """

    def curvature_product(self, second: Array, direction: Array) -> Array:
        """Second derivative times `direction`, shape of `direction`."""
        return second * direction

    def curvature_diagonal(self, second: Array) -> Array:
        """Diagonal of the second derivative, shape of `second`."""
        return second

    def curvature_blocks(self, second: Array) -> Iterator[CurvatureBlock]:
        """Upper triangle of the second derivative: (row, column, sign, absolute values (n,))."""
        yield 0, 0, 1.0, second

    def curvature(self, scores: Array, y: Array, direction: Array) -> Array:
        """(Generalised) second derivative times `direction` in score space, shape of `scores`."""
        return self.curvature_product(self.second_derivative(scores, y), direction)


@final
@dataclass(frozen=True)
class Logistic(Loss):
    """``log(1 + exp(-y m))``, y in {-1, +1}.

    The derivative is -y sigmoid(-y m), below sigmoid(R kappa) on the ball of radius R, so
    D = 2 W kappa sigmoid(R kappa) with R = min(sqrt(0.278465 W / lam), W kappa / (2 lam)).
    The curvature sigmoid (1 - sigmoid) is at most 1/4.
    """

    twice_differentiable = True
    smoothness = 0.25
    pull = LOGISTIC_PULL
    slope_at_zero = 0.5

    @property
    def branches(self) -> int:
        """One: the sign of the slope is that of -y."""
        return 1

    def gradient_bound(self, kappa: float, radius: float) -> float:
        return float(expit(kappa * radius))

    def value(self, scores: Array, y: Array) -> Array:
        margin = scores * y
        smooth: Array = np.log1p(np.exp(-np.abs(margin)))
        return smooth - np.minimum(margin, 0.0)

    def derivative(self, scores: Array, y: Array) -> Array:
        slope: Array = -y * expit(-y * scores)
        return slope

    def second_derivative(self, scores: Array, y: Array) -> Array:
        decay = np.exp(-np.abs(scores))
        second: Array = decay / np.square(1 + decay)
        return second


@final
@dataclass(frozen=True)
class Multinomial(Loss):
    """``logsumexp(m) - m_y``, y in {0, ..., n_outputs - 1}: the softmax loss of K logits.

    The derivative is p - e_y, of norm at most sqrt(2), so D = 2 sqrt(2) W kappa in the
    Frobenius norm, all classes together. The second derivative diag(p) - p p^T has row sums of
    absolute values 2 p_k (1 - p_k) <= 1/2. At score 0 the derivative has norm
    sqrt((K-1)/K); and -<p - e_y, m> = sum_k p_k (m_y - m_k) is largest, for a fixed sum of
    exponentials, when all other logits are equal (entropy): sup_a a / (1 + e^a / (K-1)), which
    is Lambert's W((K-1)/e).

    Parameters
    ----------
    n_outputs : int
        Number of classes, at least 2.
    """

    n_outputs: int = field()

    twice_differentiable = True
    smoothness = 0.5

    def __post_init__(self) -> None:
        if self.n_outputs < 2:
            raise ValueError(f"n_outputs must be at least 2, got {self.n_outputs!r}.")

    @property
    def pull(self) -> float:
        return float(lambertw((self.n_outputs - 1) / math.e).real) * (1 + 1e-12)

    @property
    def slope_at_zero(self) -> float:
        return math.sqrt((self.n_outputs - 1) / self.n_outputs)

    @property
    def branches(self) -> int:
        """e_k - e_y for the other classes k."""
        return self.n_outputs - 1

    def log_determinant(self, ratio: float) -> float:
        """(K - 1) log(1 + ratio / K): the rank is K - 1, the trace at most 1 - 1/K.

        A sum of K - 1 logarithms is largest for equal eigenvalues.
        """
        return (self.n_outputs - 1) * math.log1p(ratio / self.n_outputs)

    def gradient_bound(self, kappa: float, radius: float) -> float:
        return math.sqrt(2)

    def value(self, scores: Array, y: Array) -> Array:
        top = scores.max(axis=1)
        loss: Array = np.log(np.exp(scores - top[:, None]).sum(axis=1))
        loss += top - scores[np.arange(len(scores)), y.astype(np.intp, copy=False)]
        return loss

    def derivative(self, scores: Array, y: Array) -> Array:
        slope = self.second_derivative(scores, y)
        slope[np.arange(len(scores)), y.astype(np.intp, copy=False)] -= 1
        return slope

    def second_derivative(self, scores: Array, y: Array) -> Array:
        """Return the probabilities: diag(p) - p p^T is all there is to know."""
        weight: Array = np.exp(scores - scores.max(axis=1, keepdims=True))
        weight /= weight.sum(axis=1, keepdims=True)
        return weight

    def curvature_product(self, second: Array, direction: Array) -> Array:
        mean = np.einsum("nk,nk->n", second, direction)
        product: Array = second * (direction - mean[:, None])
        return product

    def curvature_diagonal(self, second: Array) -> Array:
        return second * (1 - second)

    def curvature_blocks(self, second: Array) -> Iterator[CurvatureBlock]:
        for k in range(self.n_outputs):
            yield k, k, 1.0, second[:, k] * (1 - second[:, k])
            for other in range(k + 1, self.n_outputs):
                yield k, other, -1.0, second[:, k] * second[:, other]


@final
@dataclass(frozen=True)
class HuberHinge(Loss):
    """The hinge ``max(0, 1 - y m)``, rounded off by a parabola for ``|1 - y m| <= h``.

    The slope in the margin is -t with t = clip((1 + h - y m) / (2 h), 0, 1): L = 1, curvature
    1/(2h), D = 2 W kappa. For z = y m > 0, z t(z) peaks at (1 - h) where the line ends, or at
    (1 + h)^2 / (8 h) inside the parabola (z = (1 + h)/2, reached when h >= 1/3).
    Chapelle (2007), Training a support vector machine in the primal.

    Parameters
    ----------
    half_width : float, default=0.5
        h, in (0, 1].
    """

    half_width: float = 0.5

    slope_at_zero = 1.0

    def __post_init__(self) -> None:
        positive(half_width=self.half_width)
        if self.half_width > 1:
            raise ValueError(f"half_width must be at most 1, got {self.half_width!r}.")

    @property
    def smoothness(self) -> float:
        return 1 / (2 * self.half_width)

    @property
    def pull(self) -> float:
        h = self.half_width
        return (1 + h) ** 2 / (8 * h) if h >= 1 / 3 else 1 - h

    def gradient_bound(self, kappa: float, radius: float) -> float:
        return 1.0

    def _steepness(self, scores: Array, y: Array) -> Array:
        h = self.half_width
        return np.clip((1 + h - y * scores) / (2 * h), 0.0, 1.0)

    def value(self, scores: Array, y: Array) -> Array:
        h = self.half_width
        linear: Array = np.maximum(1 - h - y * scores, 0.0)
        return linear + h * np.square(self._steepness(scores, y))

    def derivative(self, scores: Array, y: Array) -> Array:
        return -y * self._steepness(scores, y)

    def second_derivative(self, scores: Array, y: Array) -> Array:
        inside = np.abs(1 - y * scores) < self.half_width
        return np.where(inside, self.smoothness, 0.0)


@final
@dataclass(frozen=True)
class SquaredHinge(Loss):
    """``max(0, 1 - y m)^2``.

    On the ball of radius R the slope is at most L = 2 (1 + R kappa), so D = 2 W L kappa. For
    z = y m, 2 z max(0, 1 - z) peaks at 1/2 (z = 1/2) and the slope at 0 is 2, hence
    R = min(sqrt(W / (2 lam)), 2 W kappa / lam), half of what F(w) <= F(0) gives. Curvature 2.
    """

    smoothness = 2.0
    pull = 0.5
    slope_at_zero = 2.0

    def gradient_bound(self, kappa: float, radius: float) -> float:
        return 2 * (1 + kappa * radius)

    def value(self, scores: Array, y: Array) -> Array:
        return np.square(np.maximum(1 - y * scores, 0.0))

    def derivative(self, scores: Array, y: Array) -> Array:
        return -2 * y * np.maximum(1 - y * scores, 0.0)

    def second_derivative(self, scores: Array, y: Array) -> Array:
        return np.where(y * scores < 1, 2.0, 0.0)


@dataclass(frozen=True)
class ThresholdLoss(Loss):
    """A loss of the residual whose slope never exceeds `threshold`, of curvature 1 at most."""

    threshold: float = 1.0

    smoothness = 1.0
    pull = math.inf

    def __post_init__(self) -> None:
        positive(threshold=self.threshold)

    @property
    def slope_at_zero(self) -> float:
        return self.threshold

    def gradient_bound(self, kappa: float, radius: float) -> float:
        return self.threshold


@final
@dataclass(frozen=True)
class Huber(ThresholdLoss):
    """``(m - y)^2 / 2`` up to ``|m - y| = threshold = t``, ``t (|m - y| - t / 2)`` beyond.

    The slope is the clipped residual: L = threshold, curvature 1, D = 2 W kappa threshold
    whatever the targets. -m clip(m - y) grows with ``|y|`` without bound: only the slope at 0 gives
    a radius, W kappa threshold / lam.

    Parameters
    ----------
    threshold : float, default=1.0
        Where the loss turns linear, above 0.
    """

    def value(self, scores: Array, y: Array) -> Array:
        slope = self.derivative(scores, y)
        return slope * ((scores - y) - slope / 2)

    def value_change(self, after: Array, before: Array, y: Array) -> Array:
        """Return the change without cancellation: y may be 1e300 and the scores near 0."""
        new, old = self.derivative(after, y), self.derivative(before, y)
        return new * (after - before) + (new - old) * ((before - y) - (new + old) / 2)

    def derivative(self, scores: Array, y: Array) -> Array:
        return np.clip(scores - y, -self.threshold, self.threshold)

    def second_derivative(self, scores: Array, y: Array) -> Array:
        return np.where(np.abs(scores - y) < self.threshold, 1.0, 0.0)


@final
@dataclass(frozen=True)
class Squared(Loss):
    """``(m - y)^2 / 2`` for targets with ``|y| <= y_bound = Y``.

    -m (m - y) peaks at y^2 / 4 and the slope at 0 is at most Y, hence
    R = min(Y sqrt(W) / (2 sqrt(lam)), W kappa Y / lam); on that ball the slope is at most
    L = kappa R + Y, so D = 2 W kappa (kappa R + Y). Curvature 1.

    Parameters
    ----------
    y_bound : float
        Largest absolute target, above 0. Targets are clipped to it before the fit.
    """

    y_bound: float

    twice_differentiable = True
    smoothness = 1.0

    def __post_init__(self) -> None:
        positive(y_bound=self.y_bound)

    @property
    def pull(self) -> float:
        return self.y_bound * self.y_bound / 4

    @property
    def slope_at_zero(self) -> float:
        return self.y_bound

    def gradient_bound(self, kappa: float, radius: float) -> float:
        return kappa * radius + self.y_bound

    def value(self, scores: Array, y: Array) -> Array:
        return np.square(scores - y) / 2

    def value_change(self, after: Array, before: Array, y: Array) -> Array:
        return (after - before) * ((after + before) / 2 - y)

    def derivative(self, scores: Array, y: Array) -> Array:
        return scores - y

    def second_derivative(self, scores: Array, y: Array) -> Array:
        return np.ones_like(scores)

"""What else is chosen in stable SGD: penalty step, averaging, projection, participation."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import final

import numpy as np
import numpy.typing as npt

from skdp._random import RandomSource
from skdp._validation import is_real, positive

__all__ = [
    "Averaging",
    "Ball",
    "EveryPass",
    "ExampleDropout",
    "GradientUpdate",
    "LastIterate",
    "Participation",
    "Projection",
    "ProximalUpdate",
    "SomePasses",
    "SuffixAverage",
    "UniformAverage",
    "UpdateRule",
    "WholeSpace",
]

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class UpdateRule(ABC):
    """How a step treats the penalty, and what the step does to the distance of two iterates.

    With g the mean gradient of the batch, M-smooth data losses and an l2 penalty. Losses with a
    kink (M infinite) have another recursion for g; for them `contraction` is that of the penalty.
    """

    @abstractmethod
    def contraction(self, sizes: Array, smoothness: float, l2: float) -> Array:
        """Factor on the distance of two iterates that see the same batch."""

    @abstractmethod
    def entry(self, sizes: Array, l2: float) -> Array:
        """Factor on what a replaced record adds within its own step."""

    @abstractmethod
    def largest_step(self, smoothness: float, l2: float) -> float:
        """Largest step size for which the data loss stretches no distance."""


@final
@dataclass(frozen=True)
class ProximalUpdate(UpdateRule):
    """``w <- prox_(eta penalty)(w - eta g)``; the penalty is l1 norm_1 + (l2/2) norm_2^2.

    Contraction ``max(1, |1 - eta M|)/(1 + eta l2)``, which covers the step of the record itself,
    for the prox comes after it. A prox of a convex function stretches no distance, whatever l1 is.
    """

    def contraction(self, sizes: Array, smoothness: float, l2: float) -> Array:
        shrink = self.entry(sizes, l2)
        if math.isfinite(smoothness) and smoothness * sizes.max() > 2:
            shrink *= np.maximum(1.0, np.abs(1 - sizes * smoothness))
        return shrink

    def entry(self, sizes: Array, l2: float) -> Array:
        return 1 / (1 + sizes * l2)

    def largest_step(self, smoothness: float, l2: float) -> float:
        return 2 / smoothness if 0 < smoothness < math.inf else math.inf


@final
@dataclass(frozen=True)
class GradientUpdate(UpdateRule):
    """``w <- prox_(eta l1 norm_1)((1 - eta l2) w - eta g)``: the ridge in the gradient.

    Contraction ``max(|1 - eta l2|, |1 - eta (M + l2)|)``, which is ``1 - eta l2`` for
    ``eta <= 2/(M + 2 l2)``.
    """

    def contraction(self, sizes: Array, smoothness: float, l2: float) -> Array:
        if not math.isfinite(smoothness):
            return np.abs(1 - sizes * l2)
        return np.maximum(np.abs(1 - sizes * l2), np.abs(1 - sizes * (smoothness + l2)))

    def entry(self, sizes: Array, l2: float) -> Array:
        return np.ones_like(sizes)

    def largest_step(self, smoothness: float, l2: float) -> float:
        if not math.isfinite(smoothness):
            return 1 / l2 if l2 > 0 else math.inf
        return 2 / (smoothness + 2 * l2) if smoothness + l2 > 0 else math.inf


@dataclass(frozen=True)
class Averaging(ABC):
    """Which convex combination of the iterates w_1, ..., w_T is released."""

    @abstractmethod
    def weights(self, n_steps: int) -> Array:
        """Return the weights, shape (n_steps,), at least 0, of sum 1."""


@final
@dataclass(frozen=True)
class LastIterate(Averaging):
    """w_T."""

    def weights(self, n_steps: int) -> Array:
        weights = np.zeros(n_steps)
        weights[-1] = 1.0
        return weights


@final
@dataclass(frozen=True)
class SuffixAverage(Averaging):
    """The mean of the last ``ceil(share T)`` iterates.

    Rakhlin, Shamir and Sridharan (2012), Making gradient descent optimal for strongly convex
    stochastic optimization.

    Parameters
    ----------
    share : float, default=0.5
        In (0, 1].

    Examples
    --------
    >>> SuffixAverage(0.5).weights(3)
    array([0. , 0.5, 0.5])
    """

    share: float = 0.5

    def __post_init__(self) -> None:
        _share(share=self.share)

    def weights(self, n_steps: int) -> Array:
        kept = math.ceil(self.share * n_steps)
        weights = np.zeros(n_steps)
        weights[n_steps - kept :] = 1 / kept
        return weights


@final
@dataclass(frozen=True)
class UniformAverage(Averaging):
    """The mean of all iterates.

    Hardt, Recht and Singer (2016), Theorem 4.7. In k passes of constant steps without a penalty
    the sensitivity is (k + 1)/(2 k) that of the last iterate.
    """

    def weights(self, n_steps: int) -> Array:
        return np.full(n_steps, 1 / n_steps)


class Projection(ABC):
    """The convex set that holds every iterate.

    Attributes
    ----------
    radius : float
        Bound on the norm of all coefficients together, intercept included.
    """

    radius: float


@final
@dataclass(frozen=True)
class WholeSpace(Projection):
    """No projection."""

    radius: float = field(default=math.inf, init=False, repr=False)


@final
@dataclass(frozen=True)
class Ball(Projection):
    """``w <- w min(1, radius / norm(w))`` after every step, which stretches no distance.

    Parameters
    ----------
    radius : float
        Above 0.
    """

    radius: float

    def __post_init__(self) -> None:
        positive(radius=self.radius)


@dataclass(frozen=True)
class Participation(ABC):
    """In which passes a record's gradient counts; a record that sits out leaves its place empty.

    The number of steps, the step sizes and the divisor of a batch are the same whoever sits out.
    """

    @abstractmethod
    def most_passes(self, n_passes: int) -> int:
        """Most passes that count."""

    def chance(self, n_passes: int) -> float:
        """Probability that a record counts at all, over choices of its own that stay secret."""
        return 1.0

    def mask(self, n_records: int, n_passes: int, rng: RandomSource) -> Mask | None:
        """Return who counts, shape (n_passes, n_records); None for everybody."""
        return None


@final
@dataclass(frozen=True)
class EveryPass(Participation):
    """Every record, in every pass."""

    def most_passes(self, n_passes: int) -> int:
        return n_passes


@final
@dataclass(frozen=True)
class SomePasses(Participation):
    """Each record counts in exactly ``ceil(share k)`` of k passes, which are drawn at random.

    So the sensitivity holds the largest ceil(share k) passes instead of all: the sound form of
    "dropout multiplies the stability by its rate".

    Parameters
    ----------
    share : float
        In (0, 1].
    """

    share: float

    def __post_init__(self) -> None:
        _share(share=self.share)

    def most_passes(self, n_passes: int) -> int:
        return math.ceil(self.share * n_passes)

    def mask(self, n_records: int, n_passes: int, rng: RandomSource) -> Mask | None:
        # The bound holds whatever is drawn, so the draw need not be cryptographic.
        keys = rng.generator().random((n_passes, n_records))
        return keys.argsort(axis=0).argsort(axis=0) < self.most_passes(n_passes)


@final
@dataclass(frozen=True)
class ExampleDropout(Participation):
    """Each record counts in each pass with probability `share`, independently.

    The worst case is k passes, but with probability 1 - p, p = 1 - (1 - share)^k, a record has no
    influence: what is (epsilon, delta)-private for k passes becomes
    ``(log(1 + p (e^epsilon - 1)), p delta)``-private (Balle, Barthe and Gaboardi 2018, Theorem 2;
    given everything but the changed record's own draws). It pays for few passes and a small
    share; for 5 passes and a share of a half nothing is left of it.

    Parameters
    ----------
    share : float
        In (0, 1].
    """

    share: float

    def __post_init__(self) -> None:
        _share(share=self.share)

    def most_passes(self, n_passes: int) -> int:
        return n_passes

    def chance(self, n_passes: int) -> float:
        if self.share == 1:
            return 1.0
        missed = -math.expm1(n_passes * math.log1p(-self.share))
        return min(1.0, missed * (1 + 2.0**-40))

    def mask(self, n_records: int, n_passes: int, rng: RandomSource) -> Mask | None:
        if self.share == 1:
            return None
        limit = np.uint64(math.floor(self.share * 2.0**53))
        words = (rng.words(n_records) >> np.uint64(11) for _ in range(n_passes))
        return np.stack([drawn < limit for drawn in words])


def _share(**named: float) -> None:
    for name, value in named.items():
        if not is_real(value) or not 0 < value <= 1:
            raise ValueError(f"{name} must be in (0, 1], got {value!r}.")

"""Step sizes of stable SGD: functions of the number of the step and of public facts alone."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
import numpy.typing as npt

from skdp._validation import non_negative, positive

__all__ = [
    "ConstantStep",
    "InverseSquareRootStep",
    "InverseStep",
    "OptimalStep",
    "StepFacts",
    "StepSizes",
]

Array = npt.NDArray[np.float64]


@final
@dataclass(frozen=True)
class StepFacts:
    """What a schedule may know: constants of the objective, none of them computed from the data.

    Parameters
    ----------
    smoothness : float
        M, of the data loss: max_weight curvature kappa^2; infinite for losses with a kink.
    strong_convexity : float
        l2 of the penalty.
    alpha : float
        Strength of the penalty, l1 and l2 together.
    steepness : float
        Largest slope of the loss at a score as large as scikit-learn's "typical weight",
        alpha^(-1/4).
    """

    smoothness: float
    strong_convexity: float
    alpha: float
    steepness: float

    @property
    def safe_step(self) -> float:
        """1/M, half of the largest step that is no expansion; infinite for losses with a kink."""
        return 1 / self.smoothness if 0 < self.smoothness < math.inf else math.inf


@dataclass(frozen=True)
class StepSizes(ABC):
    """eta_1, ..., eta_T. The T steps may be those of many passes; nothing starts anew.

    Attributes
    ----------
    needs_penalty : bool
        Whether the sizes divide by the strength of the penalty.
    """

    needs_penalty: ClassVar[bool] = False

    @abstractmethod
    def sizes(self, n_steps: int, facts: StepFacts) -> Array:
        """Return the step sizes, shape (n_steps,)."""


def _steps(n_steps: int) -> Array:
    return np.arange(1.0, n_steps + 1)


def _capped(sizes: Array, cap: float | None, facts: StepFacts) -> Array:
    """Cut sizes at `cap`; None is 1/M, and nothing for losses with a kink."""
    return np.minimum(sizes, facts.safe_step if cap is None else cap)


def _require_penalty(name: str, value: float) -> None:
    if not value > 0:
        raise ValueError(
            f"{name} divides by the strength of the L2 penalty, which is 0. Set alpha above 0 and "
            "l1_ratio below 1, or take a constant step."
        )


@final
@dataclass(frozen=True)
class ConstantStep(StepSizes):
    """``eta_t = eta0``.

    Wu, Li, Kumar, Chaudhuri, Jha and Naughton (2017), Algorithm 1: sensitivity 2 k eta0 L / b for
    k passes over batches of b on a convex loss with slope L.

    Parameters
    ----------
    eta0 : float
        Above 0; at most 2/M for smooth losses.

    Examples
    --------
    >>> ConstantStep(0.5).sizes(3, StepFacts(1.0, 0.0, 0.0, 1.0))
    array([0.5, 0.5, 0.5])
    """

    eta0: float

    def __post_init__(self) -> None:
        positive(eta0=self.eta0)

    def sizes(self, n_steps: int, facts: StepFacts) -> Array:
        return np.full(n_steps, float(self.eta0))


@final
@dataclass(frozen=True)
class InverseStep(StepSizes):
    """``eta_t = min(cap, 1/(l2 t))``.

    Wu et al. (2017), Algorithm 2: sensitivity 2 L / (l2 n) for every number of passes and every
    batch size, as large as that of the exact minimiser.

    Parameters
    ----------
    cap : float or None, default=None
        Largest step; None is 1/M, and no cap for losses with a kink.

    Examples
    --------
    >>> InverseStep().sizes(4, StepFacts(1.0, 0.5, 0.5, 1.0))
    array([1.        , 1.        , 0.66666667, 0.5       ])
    """

    needs_penalty: ClassVar[bool] = True
    cap: float | None = None

    def __post_init__(self) -> None:
        positive(cap=1.0 if self.cap is None else self.cap)

    def sizes(self, n_steps: int, facts: StepFacts) -> Array:
        _require_penalty("InverseStep", facts.strong_convexity)
        return _capped(1 / (facts.strong_convexity * _steps(n_steps)), self.cap, facts)


@final
@dataclass(frozen=True)
class InverseSquareRootStep(StepSizes):
    """``eta_t = min(cap, eta0 / (sqrt(t) + offset))``.

    Parameters
    ----------
    eta0 : float
        Above 0.
    offset : float, default=0.0
        At least 0. Wu et al. (2017), Corollary 3, have eta0 = 2/M and offset m^c with m steps a
        pass.
    cap : float or None, default=None
        Largest step; None is 1/M, and no cap for losses with a kink.

    Examples
    --------
    >>> InverseSquareRootStep(2.0, offset=1.0).sizes(4, StepFacts(1.0, 0.0, 0.0, 1.0)).round(3)
    array([1.   , 0.828, 0.732, 0.667])
    """

    eta0: float
    offset: float = 0.0
    cap: float | None = None

    def __post_init__(self) -> None:
        positive(eta0=self.eta0, cap=1.0 if self.cap is None else self.cap)
        non_negative(offset=self.offset)

    def sizes(self, n_steps: int, facts: StepFacts) -> Array:
        sizes = self.eta0 / (np.sqrt(_steps(n_steps)) + self.offset)
        return _capped(sizes, self.cap, facts)


@final
@dataclass(frozen=True)
class OptimalStep(StepSizes):
    """scikit-learn's "optimal", ``1/(alpha (t0 + t - 1))``, with a cap.

    As in its SGDClassifier, Bottou's choice t0 = max(1, slope at -alpha^(-1/4)) / alpha^(3/4).
    Without the cap, which scikit-learn does not have, the first steps stretch distances: at its
    alpha = 1e-4 the first step on the logistic loss is 10, above 2/M = 8 for rows of norm 1, and
    the recursion gives a sensitivity of 1e22.

    Parameters
    ----------
    cap : float or None, default=None
        Largest step; None is 1/M, and no cap for losses with a kink.

    Examples
    --------
    >>> OptimalStep().sizes(3, StepFacts(0.25, 1.0, 1.0, 0.7))
    array([1.        , 0.5       , 0.33333333])
    """

    needs_penalty: ClassVar[bool] = True
    cap: float | None = None

    def __post_init__(self) -> None:
        positive(cap=1.0 if self.cap is None else self.cap)

    def sizes(self, n_steps: int, facts: StepFacts) -> Array:
        _require_penalty("OptimalStep", facts.alpha)
        start = max(1.0, facts.steepness) * facts.alpha**-0.75
        return _capped(1 / (facts.alpha * (start + _steps(n_steps) - 1)), self.cap, facts)

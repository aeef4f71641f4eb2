"""What hidden units do to their inputs, and the slope of it as a function of the output."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt
from scipy.special import expit

__all__ = ["ACTIVATIONS", "Activation"]

#: float32 or float64.
Floats = npt.NDArray[Any]


@dataclass(frozen=True)
class Activation(ABC):
    """A function of one number, applied to each element of an array."""

    #: Squared bound of Glorot and Bengio (2010) on initial weights, times the mean fan.
    spread = 3.0

    @abstractmethod
    def apply(self, values: Floats) -> None:
        """Replace the inputs of units by their outputs."""

    @abstractmethod
    def pull_back(self, errors: Floats, outputs: Floats) -> None:
        """Multiply errors at the outputs by the slopes there."""


@final
@dataclass(frozen=True)
class Identity(Activation):
    """``z``."""

    def apply(self, values: Floats) -> None:
        pass

    def pull_back(self, errors: Floats, outputs: Floats) -> None:
        pass


@final
@dataclass(frozen=True)
class Relu(Activation):
    """``max(z, 0)``, of slope 0 at 0."""

    def apply(self, values: Floats) -> None:
        np.maximum(values, 0, out=values)

    def pull_back(self, errors: Floats, outputs: Floats) -> None:
        errors *= outputs > 0


@final
@dataclass(frozen=True)
class Tanh(Activation):
    """``tanh(z)``, of slope 1 - tanh(z)^2."""

    def apply(self, values: Floats) -> None:
        np.tanh(values, out=values)

    def pull_back(self, errors: Floats, outputs: Floats) -> None:
        errors *= 1 - outputs * outputs


@final
@dataclass(frozen=True)
class LogisticUnit(Activation):
    """``s = 1 / (1 + exp(-z))``, of slope s (1 - s)."""

    spread = 1.0

    def apply(self, values: Floats) -> None:
        expit(values, out=values)

    def pull_back(self, errors: Floats, outputs: Floats) -> None:
        errors *= outputs * (1 - outputs)


ACTIVATIONS: dict[str, Activation] = {
    "identity": Identity(),
    "relu": Relu(),
    "tanh": Tanh(),
    "logistic": LogisticUnit(),
}
"""The activations by scikit-learn's names."""

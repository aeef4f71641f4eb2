"""Fully connected layers: shapes, the flat vector of their parameters, outputs and errors."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np
import numpy.typing as npt

from skdp._random import RandomSource
from skdp._validation import positive_integer
from skdp.mechanisms.continuous import uniforms
from skdp.training.gradients import Array
from skdp.training.mlp_activations import Activation

__all__ = ["Layer", "Network"]

Floats = npt.NDArray[Any]

#: Found by trying 1 to 6 on digits and MNIST; see `mlp_automatic`.
FIRST_SPREAD = 3.0


class Layer(NamedTuple):
    """The weights of shape (fan_in, fan_out) and the biases of shape (fan_out,) of a layer."""

    weights: Floats
    biases: Floats


@final
@dataclass(frozen=True)
class Network:
    """Layers ``a_{l+1} = act(a_l W_l + b_l)``, the last one without ``act``.

    Parameters are flat: all weights in C order, layer after layer, then all biases, which do not
    decay.

    Attributes
    ----------
    sizes : tuple of int
        Number of inputs, of units of each hidden layer, of outputs.
    activation : Activation
        Of the hidden units.

    Examples
    --------
    >>> from skdp.training.mlp_activations import ACTIVATIONS
    >>> Network((3, 4, 2), ACTIVATIONS["relu"]).n_parameters
    26
    """

    sizes: tuple[int, ...]
    activation: Activation

    def __post_init__(self) -> None:
        for size in self.sizes:
            positive_integer(size=size)

    @property
    def n_biases(self) -> int:
        """Number of biases, which end the flat vector."""
        return sum(self.sizes[1:])

    @property
    def n_parameters(self) -> int:
        """Length of the flat vector."""
        return self.n_biases + sum(fan_in * fan_out for fan_in, fan_out in self.shapes)

    @property
    def shapes(self) -> list[tuple[int, int]]:
        """Shape of the weights of each layer."""
        return list(zip(self.sizes[:-1], self.sizes[1:], strict=True))

    def layers(self, flat: Floats) -> list[Layer]:
        """Return views of the flat vector."""
        return [
            Layer(flat[weights].reshape(shape), flat[biases])
            for shape, weights, biases in self._places
        ]

    def initial(self, rng: RandomSource) -> Array:
        """Draw parameters that know no data: weights of Glorot and Bengio (2010), biases 0.

        Those that hidden units see the inputs with are `FIRST_SPREAD` times as large, so that
        the noise of private training does not drown what the units tell apart.
        """
        flat = np.zeros(self.n_parameters)
        for place, (weights, _) in enumerate(self.layers(flat)):
            bound = math.sqrt(2 * self.activation.spread / sum(weights.shape))
            if place == 0 and len(self.sizes) > 2:
                bound *= FIRST_SPREAD
            weights[:] = bound * (2 * uniforms(weights.size, rng).reshape(weights.shape) - 1)
        return flat

    def seen_from(self, flat: Array, centre: Array) -> Array:
        """Return the parameters with which inputs less `centre` give what `flat` gives."""
        moved = flat.copy()
        weights, biases = self.layers(moved)[0]
        with np.errstate(all="ignore"):
            biases += centre @ weights
        return moved

    def lengthened(self, flat: Array, factor: float) -> Array:
        """Return the parameters with which inputs times `factor` give what `flat` gives."""
        moved = flat.copy()
        weights, _ = self.layers(moved)[0]
        with np.errstate(all="ignore"):
            weights /= factor
        return moved

    def turned(self, flat: Array, matrix: Array) -> Array:
        """Return the parameters with which inputs z give what `flat` gives for ``z matrix``."""
        weights, _ = self.layers(flat)[0]
        with np.errstate(all="ignore"):
            first = matrix @ weights
        return np.concatenate([first.ravel(), flat[weights.size :]])

    def outputs(self, layers: list[Layer], inputs: Any) -> list[Any]:
        """Return what enters each layer, `inputs` first, and the scores.

        An element is a function of its row of `inputs`, bit for bit, for a given number of rows
        and a given place among them: no product sums over rows.
        """
        found, last = [inputs], len(layers) - 1
        for place, (weights, biases) in enumerate(layers):
            values = found[-1] @ weights
            values += biases
            if place < last:
                self.activation.apply(values)
            found.append(values)
        return found

    def errors(self, layers: list[Layer], outputs: list[Any], slopes: Floats) -> list[Floats]:
        """Return the derivative of the loss in what leaves each layer, before ``act``.

        `slopes` is that of the last one; rows are independent of each other as in `outputs`.
        """
        found = [slopes]
        for layer, values in zip(layers[:0:-1], outputs[-2:0:-1], strict=True):
            errors = found[-1] @ layer.weights.T
            self.activation.pull_back(errors, values)
            found.append(errors)
        return found[::-1]

    @cached_property
    def _places(self) -> list[tuple[tuple[int, int], slice, slice]]:
        found, at, bias_at = [], 0, self.n_parameters - self.n_biases
        for fan_in, fan_out in self.shapes:
            weights = slice(at, at + fan_in * fan_out)
            found.append(((fan_in, fan_out), weights, slice(bias_at, bias_at + fan_out)))
            at, bias_at = weights.stop, bias_at + fan_out
        return found

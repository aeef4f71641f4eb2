"""Two ways to run the sparse vector technique, simulated without visiting every coordinate.

The order in which coordinates are compared is that of independent uniform keys. A zero coordinate
is of interest only if its noise reaches the threshold, which has a small probability p. So each
has one uniform V: below p it reaches the threshold, and then V/p is its key. The smallest of the
V, in order, are all that is needed.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, final

import numpy as np

from skdp._random import RandomSource
from skdp.mechanisms.continuous import laplaces, uniforms
from skdp.mechanisms.integer_noise import LAPLACE_TOTAL_VARIATION, discrete_laplace
from skdp.mechanisms.noise_laws import laplace_survival
from skdp.mechanisms.order_statistics import distinct_outside, log_cdf_of_largest
from skdp.mechanisms.selection import chosen, scores_of
from skdp.mechanisms.statistics import Floats, Indices, Selection, SparseSum

__all__ = ["RULES", "NumericSparse", "OptimalThreshold", "ThresholdRule"]

_ROUNDED_DOWN = 1 - 2.0**-48
_LARGEST_INTEGER = 2.0**52
_FIRST_BLOCK = 256


@dataclass(frozen=True)
class ThresholdRule(ABC):
    """Noise scales, and how a selection runs with them.

    Attributes
    ----------
    sensitivity : float
        How far one record moves each score.
    n_selected : int
        After how many to stop.
    epsilon : float
        What the selection costs.
    threshold : float
        In the units of the vector.
    """

    sensitivity: float
    n_selected: int
    epsilon: float
    threshold: float

    theorem: ClassVar[str]

    @property
    def grid(self) -> float | None:
        """Spacing of the values that are released, where any are."""
        return None

    @property
    def total_variation(self) -> float:
        """Total variation of the noise on released values."""
        return 0.0

    @property
    @abstractmethod
    def threshold_scale(self) -> float:
        """Scale of the noise on the threshold."""

    @property
    @abstractmethod
    def query_scale(self) -> float:
        """Scale of the noise on each score that is compared."""

    @abstractmethod
    def select(self, value: SparseSum, rng: RandomSource) -> Selection:
        """Run."""

    def _missing(self, value: SparseSum) -> Floats:
        """By how much the scores miss the threshold before noise, in scales of their noise."""
        return (self.threshold - scores_of(value, self.sensitivity)) / self.query_scale


@final
@dataclass(frozen=True)
class OptimalThreshold(ThresholdRule):
    """Algorithm 7 of Lyu, Su and Li (2017), with the best split of epsilon."""

    theorem: ClassVar[str] = (
        "Lyu, Su and Li (2017), Algorithm 7, with epsilon split 1 : (2 c)^(2/3)"
    )

    @property
    def threshold_scale(self) -> float:
        return self.sensitivity * (1 + self._ratio) / self.epsilon

    @property
    def query_scale(self) -> float:
        share = self.epsilon * self._ratio / (1 + self._ratio)
        return 2 * self.n_selected * self.sensitivity / share

    @property
    def _ratio(self) -> float:
        return float((2 * self.n_selected) ** (2 / 3))

    def select(self, value: SparseSum, rng: RandomSource) -> Selection:
        listed = value.indices.size
        moved = laplaces(1, rng)[0] * (self.threshold_scale / self.query_scale)
        reached = np.flatnonzero(laplaces(listed, rng) >= self._missing(value) + moved)
        keys = np.concatenate([uniforms(reached.size, rng), self._keys_of_rest(value, moved, rng)])
        # A place beyond those listed stands for some coordinate of the rest.
        places = np.concatenate([reached, np.full(keys.size - reached.size, listed)])
        first = np.argsort(keys)[: self.n_selected]
        return chosen(value, places[first], rng)

    def _keys_of_rest(self, value: SparseSum, moved: float, rng: RandomSource) -> Floats:
        n_rest = value.size - value.indices.size
        probability = float(laplace_survival(self.threshold / self.query_scale + moved))
        marks = -np.expm1(log_cdf_of_largest(n_rest, min(n_rest, self.n_selected), rng))
        return marks[marks < probability] / probability


@final
@dataclass(frozen=True)
class NumericSparse(ThresholdRule):
    """Dwork and Roth (2014), Algorithm 3, with the constants for delta = 0."""

    theorem: ClassVar[str] = "Dwork and Roth (2014), Theorem 3.27 (NumericSparse), with delta = 0"

    @property
    def threshold_scale(self) -> float:
        return 2 * self.n_selected * self.sensitivity / (8 / 9 * self.epsilon)

    @property
    def query_scale(self) -> float:
        return 2 * self.threshold_scale

    @property
    def release_scale(self) -> float:
        """Scale of the noise on values that are released."""
        return 2 * self.n_selected * self.sensitivity / (2 / 9 * self.epsilon)

    @property
    def grid(self) -> float:
        return math.ldexp(1.0, math.frexp(self.release_scale)[1] - 21)

    @property
    def total_variation(self) -> float:
        return self.n_selected * LAPLACE_TOTAL_VARIATION

    def select(self, value: SparseSum, rng: RandomSource) -> Selection:
        bars = laplaces(self.n_selected, rng) * (self.threshold_scale / self.query_scale)
        keys = uniforms(value.indices.size, rng)
        excess = laplaces(keys.size, rng) - self._missing(value)
        rest = _Rest(value.size - keys.size, self.threshold / self.query_scale, float(bars.min()))
        while True:
            rest.extend(rng)
            all_keys = np.concatenate([keys, rest.keys])
            order = np.argsort(all_keys)
            order = order[: np.searchsorted(all_keys[order], rest.horizon, side="right")]
            reached = _first_above(np.concatenate([excess, rest.excess])[order], bars)
            if reached.size == bars.size or rest.horizon == 1:
                return self._released(value, order[reached], rng)

    def _released(self, value: SparseSum, places: Indices, rng: RandomSource) -> Selection:
        listed = places[places < value.indices.size]
        others = distinct_outside(value.indices, value.size, places.size - listed.size, rng)
        exact = np.append(np.nan_to_num(value.values[listed]), np.zeros(others.size))
        largest = _LARGEST_INTEGER * self.grid
        integers = np.rint(np.clip(exact, -largest, largest) / self.grid).astype(np.int64)
        rate = self.grid / self.release_scale * _ROUNDED_DOWN
        integers += discrete_laplace(places.size, rate, rng)
        released = integers.astype(np.float64) * self.grid
        return Selection.sorted(np.append(value.indices[listed], others), released)


class _Rest:
    """The zero coordinates whose noise may reach some bar, in the order of their keys.

    Attributes
    ----------
    keys, excess : ndarray of float64
        Keys drawn so far, and by how much the threshold is passed, before it is moved.
    horizon : float
        Up to which key all have been drawn.
    """

    def __init__(self, n: int, threshold: float, lowest_bar: float) -> None:
        self._n, self._threshold = n, threshold
        self._probability = float(laplace_survival(threshold + lowest_bar))
        self._log_cdf, self._drawn = 0.0, 0
        self.keys, self.excess, self.horizon = np.empty(0), np.empty(0), 0.0

    def extend(self, rng: RandomSource) -> None:
        """Draw as many again."""
        more = min(self._n - self._drawn, max(self._drawn, _FIRST_BLOCK))
        log_cdf = self._log_cdf + log_cdf_of_largest(self._n - self._drawn, more, rng)
        self._drawn += more
        self._log_cdf = log_cdf[-1] if more else self._log_cdf
        marks = -np.expm1(log_cdf)
        keys = marks[marks < self._probability] / self._probability
        tails = self._probability * uniforms(keys.size, rng)
        self.keys = np.append(self.keys, keys)
        self.excess = np.append(self.excess, _laplace_above(tails) - self._threshold)
        complete = keys.size < more or self._drawn == self._n
        self.horizon = 1.0 if complete else float(keys[-1])


def _laplace_above(tail: Floats) -> Floats:
    """The Laplace variable that is exceeded with this probability."""
    lower = np.log(2 * np.maximum(1 - tail, 0.5))
    return np.where(tail < 0.5, -np.log(2 * tail), lower)


def _first_above(excess: Floats, bars: Floats) -> Indices:
    """Places of the first that reaches the first bar, the next one that reaches the second, ..."""
    found, start = [], 0
    for bar in bars:
        reached = np.flatnonzero(excess[start:] >= bar)
        if reached.size == 0:
            break
        start += int(reached[0]) + 1
        found.append(start - 1)
    return np.array(found, dtype=np.int64)


RULES: Mapping[str, type[OptimalThreshold] | type[NumericSparse]] = MappingProxyType(
    {"optimal": OptimalThreshold, "paper": NumericSparse}
)

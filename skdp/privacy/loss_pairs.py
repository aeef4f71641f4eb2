"""Privacy losses on a grid: from curves by connecting dots, then composed by convolution."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft

from skdp.privacy.loss_curves import LatticeCurve, LossCurves, SymmetricCurve

__all__ = ["Losses", "composed_curve", "losses_on"]

Array = NDArray[np.float64]

# Distance of the points, in standard deviations of the loss of one run; the variance of the loss
# grows by its square over 6, so epsilon by some 1e-5 of itself.
_FINENESS = 0.01
# Cells of a composed loss: beyond the first, a convolution takes a second.
_MOST_CELLS, _LEAST_CELLS = 2**19, 2**15
# Probability that may be moved to an infinite loss.
_TAIL = 1e-16
# The greatest loss looked at; above it, every loss counts as infinite.
_SURVEY = np.geomspace(1e-14, 700.0, 480)
_SMALLEST_INTERVAL = 1e-13


@final
@dataclass(frozen=True, eq=False)
class Losses:
    """The privacy loss log(P/Q) under P, on a grid.

    Attributes
    ----------
    interval : float
        Distance h of the points.
    first : int
        The first point is at `first` h.
    masses : ndarray of shape (n_points,)
        Probabilities of the points.
    infinity : float
        Probability of an infinite loss.
    """

    interval: float
    first: int
    masses: Array
    infinity: float

    @property
    def points(self) -> NDArray[np.int64]:
        """In units of the interval."""
        return np.arange(self.first, self.first + self.masses.size)

    def log_moment(self, order: float) -> float:
        """Log E[e^(order loss); loss finite]."""
        exponents = order * self.interval * self.points
        peak = max(exponents[0], exponents[-1])
        # What underflows is less than what is added.
        return float(peak + np.log(self.masses @ np.exp(exponents - peak) + 1e-300))

    def log_spectrum(self, size: int) -> Array:
        """Logarithm of the Fourier transform of the masses, wound around a circle."""
        wound = np.bincount(self.points % size, weights=self.masses, minlength=size)
        with np.errstate(divide="ignore"):
            # As pairs of reals: the logarithm of 0 times a real number is no NaN then.
            logs: Array = np.log(rfft(wound)).view(np.float64)
        return logs


def composed_curve(parts: Sequence[tuple[LossCurves, int]], coarseness: int = 1) -> LatticeCurve:
    """Return the curve of a composition: greatest over both directions, rounded upwards.

    A pair on a grid whose curves are those of a given pair at the points of the grid, and their
    chords between, dominates it (Doroshenko et al., 2022); dominating pairs compose, adaptively
    too (Zhu, Dong and Wang, 2022).

    Parameters
    ----------
    parts : sequence of (LossCurves, int)
        Pairs, fixed before the first output, and how often each is run.
    coarseness : int, default=1
        Makes the distance of the points a multiple of what is needed for four digits or more.

    Returns
    -------
    LatticeCurve
        Its error is on the private side: what the Fourier transform may lose is added.
    """
    counts = [count for _, count in parts]
    surveys = [_Survey.of(curves, _TAIL / sum(counts)) for curves, _ in parts]
    reach = _guessed_reach(surveys, counts)
    interval = coarseness * _interval(surveys, counts, reach)
    while (deltas := _composed_on(surveys, counts, interval, reach)) is None:
        interval *= 2
    return LatticeCurve(interval, deltas)


def losses_on(curve: SymmetricCurve, interval: float) -> Losses:
    """Connect the dots of one curve on a grid; what is less probable than 1e-30 is infinite."""
    return _Survey.of(curve, 1e-30).connected(interval)[0]


@final
@dataclass(frozen=True)
class _Survey:
    """A pair and the rough size of its loss, from dots connected at geometric distances.

    Attributes
    ----------
    curves : LossCurves
        The pair.
    mean, variance : float
        Of the loss of a record that takes part.
    removed, added : float
        From there on the two curves are below a tail.
    """

    curves: LossCurves
    mean: float
    variance: float
    removed: float
    added: float

    @classmethod
    def of(cls, curves: LossCurves, tail: float) -> "_Survey":
        removed, added = curves.removed(_SURVEY), curves.added(_SURVEY)
        above, below = _survey_masses(removed), _survey_masses(added) * np.exp(-_SURVEY)
        mean = float(_SURVEY @ (above - below))
        variance = float(_SURVEY**2 @ (above + below)) - mean**2
        return cls(curves, mean, max(variance, 0.0), _end(removed, tail), _end(added, tail))

    @property
    def symmetric(self) -> bool:
        return isinstance(self.curves, SymmetricCurve)

    def connected(self, interval: float) -> tuple[Losses, ...]:
        """The pair on a grid, in each direction, or once where both are the same."""
        removed = self.curves.removed(_grid(self.removed, interval))
        above = _masses(removed, interval)
        if self.symmetric:
            return (_joined(removed, above, removed, above, interval),)
        added = self.curves.added(_grid(self.added, interval))
        below = _masses(added, interval)
        return (
            _joined(removed, above, added, below, interval),
            _joined(added, below, removed, above, interval),
        )


def _guessed_reach(surveys: Sequence[_Survey], counts: Sequence[int]) -> float:
    """Of the composed loss: nine deviations of the sum and one outlier, or all outliers."""
    spread = _total(surveys, counts, "mean") + 9 * math.sqrt(_total(surveys, counts, "variance"))
    furthest = max(survey.removed for survey in surveys)
    return min(_total(surveys, counts, "removed"), spread + furthest)


def _interval(surveys: Sequence[_Survey], counts: Sequence[int], reach: float) -> float:
    deviation = math.sqrt(_total(surveys, counts, "variance") / sum(counts))
    # Each part takes its time; of many, each may be a little coarser.
    fineness = _FINENESS * min(4.0, math.sqrt(len(counts)))
    finest = min(fineness * deviation, reach / _LEAST_CELLS)
    return max(finest, 2 * reach / _MOST_CELLS, _SMALLEST_INTERVAL)


def _total(surveys: Sequence[_Survey], counts: Sequence[int], field: str) -> float:
    return math.fsum(getattr(s, field) * count for s, count in zip(surveys, counts, strict=True))


def _composed_on(
    surveys: Sequence[_Survey], counts: Sequence[int], interval: float, reach: float
) -> Array | None:
    """Deltas at 0, h, 2 h, ...; None where the losses need too many cells."""
    pairs = [survey.connected(interval) for survey in surveys]
    directions = 1 if all(survey.symmetric for survey in surveys) else 2
    curves = []
    for direction in range(directions):
        losses = [pair[min(direction, len(pair) - 1)] for pair in pairs]
        deltas = _convolved(losses, counts, reach)
        if deltas is None:
            return None
        curves.append(deltas)
    size = max(deltas.size for deltas in curves)
    padded = [np.pad(deltas, (0, size - deltas.size), mode="edge") for deltas in curves]
    return reduce(np.maximum, padded)


def _survey_masses(deltas: Array) -> Array:
    """Probabilities of the points of the survey, from the slopes of a curve in e^epsilon."""
    odds = np.exp(_SURVEY)
    slopes = (deltas[:-1] - deltas[1:]) / np.diff(odds)
    beyond = np.append(deltas[:-1] + odds[:-1] * slopes, deltas[-1])
    return np.append(0.0, np.maximum(beyond[:-1] - beyond[1:], 0.0))


def _end(deltas: Array, tail: float) -> float:
    return float(_SURVEY[min(int(np.searchsorted(-deltas, -tail)), _SURVEY.size - 1)])


def _grid(end: float, interval: float) -> Array:
    return interval * np.arange(math.ceil(end / interval) + 2, dtype=np.float64)


def _masses(deltas: Array, interval: float) -> Array:
    """Probabilities of the points 1, 2, ... under P from the curve at 0, 1, 2, ..."""
    # What lies above each point, each loss weighted with e^(point - loss): the slope there.
    beyond = np.append((deltas[:-1] - deltas[1:]) / math.expm1(interval), 0.0)
    masses: Array = np.maximum(math.exp(interval) * beyond[:-1] - beyond[1:], 0.0)
    return masses


def _joined(
    curve: Array, above: Array, swapped_curve: Array, swapped: Array, interval: float
) -> Losses:
    """Losses above 0 from one curve; those below from the curve of the swapped pair."""
    slopes = (curve[0] - curve[1] + swapped_curve[0] - swapped_curve[1]) / math.expm1(interval)
    zero = max(1 - curve[0] - slopes, 0.0)
    # Under Q the loss -x is as probable as x is for the swapped pair; under P, e^-x times that.
    below = swapped * np.exp(-interval * np.arange(1, swapped.size + 1))
    masses = np.concatenate([below[::-1], [zero], above])
    return Losses(interval, -swapped.size, masses, float(curve[-1]))


def _convolved(losses: Sequence[Losses], counts: Sequence[int], guess: float) -> Array | None:
    parts = list(zip(losses, counts, strict=True))
    down, up = _reach(parts, -1, guess), _reach(parts, 1, guess)
    if down + up >= 2 * _MOST_CELLS:
        return None
    size = next_fast_len(down + up + 1, real=True)
    exponents = reduce(np.add, (part.log_spectrum(size) * count for part, count in parts))
    masses = irfft(np.exp(exponents.view(np.complex128)), size)[: up + 1]
    kept = (count * math.log1p(-min(part.infinity, 1 - _TAIL)) for part, count in parts)
    finite = math.fsum(kept)
    # Seen: 4e-17 a run (binomial laws). Each factor is rounded, and so is the transform.
    error = 1e-12 + sum(counts) * 2.0**-50
    deltas = _curve(masses, losses[0].interval) - math.expm1(finite) + 2 * _TAIL + error
    return np.minimum(deltas, 1.0)


def _reach(parts: Sequence[tuple[Losses, int]], sign: int, guess: float) -> int:
    """Points up (or down) from 0 to which the composed loss goes, but for the tail: Chernoff."""
    interval = parts[0][0].interval
    ends = (max(0, sign * int(part.points[-1 if sign > 0 else 0])) * c for part, c in parts)
    furthest = sum(ends)

    def bound(order: float) -> float:
        moments = math.fsum(count * part.log_moment(sign * order) for part, count in parts)
        return (moments - math.log(_TAIL)) / (order * interval)

    # Every order is a bound; the best is near where the tail is at the distance that is guessed.
    order = -math.log(_TAIL) / guess
    best = bound(order)
    for factor in (2.0, 0.5):
        while 0 < (better := bound(factor * order)) < best:
            best, order = better, factor * order
    return max(0, min(furthest, math.ceil(best)))


def _curve(masses: Array, interval: float) -> Array:
    """Sum of mass (1 - e^(point - loss)) over the losses above each point, by sums alone."""
    from scipy.signal import lfilter

    shrink = math.exp(-interval)
    beyond = lfilter([0.0, shrink], [1.0, -shrink], masses[::-1])
    return np.maximum.accumulate(np.cumsum(beyond) * math.expm1(interval)).clip(0.0)[::-1]

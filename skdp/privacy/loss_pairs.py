"""From curves to distributions of the privacy loss, composed and back.

A distribution on a grid is made of a curve, and `joint_convolution` adds them up. What is here is
how far to look and how fine a grid to take, so that an evaluation takes a fraction of a second at
any scale. dp_accounting's distributions say the same, more slowly where noise differs from epoch
to epoch.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from skdp.privacy.joint_convolution import Losses, sum_of
from skdp.privacy.loss_curves import LatticeCurve, LossCurves, SymmetricCurve

__all__ = ["composed_curve", "losses_on"]

Array = NDArray[np.float64]

# Distance of the points, in standard deviations of the loss of one run; the variance of the loss
# grows by its square over 6, so epsilon by some 1e-5 of itself.
_FINENESS = 0.01
# Cells of a composed loss: beyond the first, a convolution takes a second.
_MOST_CELLS, _LEAST_CELLS = 2**19, 2**15
# Where few, large losses matter, distributions of more points take seconds. A grid that is so much
# coarser costs less than 1e-3 of epsilon.
_CHEAP_POINTS, _MOST_COARSENING = 2**15, 8.0
# Probability that may be moved to an infinite loss.
_TAIL = 1e-16
# The greatest loss looked at; above it, every loss counts as infinite.
_SURVEY = np.geomspace(1e-14, 700.0, 480)
_SMALLEST_INTERVAL = 1e-13


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
    singles = [survey.distribution(interval) for survey in surveys]
    if any(removed.infinity == 1 for removed, _ in singles):  # nothing is left to be composed
        return LatticeCurve(interval, np.ones(2))
    sides = (
        [removed for removed, _ in singles],
        [added if added is not None else removed for removed, added in singles],
    )
    one_side = all(added is None for _, added in singles)
    sums = [
        sum_of(list(zip(side, counts, strict=True)), _TAIL)
        for side in (sides[:1] if one_side else sides)
    ]
    # Seen: 4e-17 a run (binomial laws). Each factor is rounded, and so is the transform.
    error = 1e-12 + sum(counts) * 2.0**-50
    return LatticeCurve(interval, _deltas(sums, interval, error))


def losses_on(curve: SymmetricCurve, interval: float) -> Losses:
    """Connect the dots of one curve on a grid; what is less probable than 1e-30 is infinite.

    Returns
    -------
    first : int
        The first point is at so many intervals.
    masses : ndarray
        Probabilities of the points under P.
    infinity : float
        Probability of an infinite loss.
    """
    survey = _Survey.of(curve, 1e-30)
    deltas = curve.at(_grid(survey.removed, interval))
    return _losses(deltas, deltas, interval)


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

    def distribution(self, interval: float) -> tuple[Losses, Losses | None]:
        """The losses of both directions on a grid; the second is None where they are equal."""
        removed = self.curves.removed(_grid(self.removed, interval))
        if isinstance(self.curves, SymmetricCurve):
            return _losses(removed, removed, interval), None
        added = self.curves.added(_grid(self.added, interval))
        return _losses(removed, added, interval), _losses(added, removed, interval)


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
    widest = max(survey.removed + survey.added for survey in surveys)
    cheaper = min(widest / _CHEAP_POINTS, _MOST_COARSENING * finest)
    return max(finest, cheaper, 2 * reach / _MOST_CELLS, _SMALLEST_INTERVAL)


def _total(surveys: Sequence[_Survey], counts: Sequence[int], field: str) -> float:
    return math.fsum(getattr(s, field) * count for s, count in zip(surveys, counts, strict=True))


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


def _losses(curve: Array, swapped: Array, interval: float) -> Losses:
    """Connect the dots of a curve at 0, 1, 2, ...; left of 0 it follows from the swapped pair's.

    Doroshenko et al. (2022), Connect the dots, Algorithm 1.
    """
    left = interval * np.arange(swapped.size - 1, 0, -1)
    deltas = np.concatenate([np.exp(-left) * swapped[:0:-1] - np.expm1(-left), curve])
    deltas = np.minimum.accumulate(np.clip(deltas, 0.0, 1.0))
    steps, growth = np.diff(deltas), math.expm1(interval)
    masses = np.empty(deltas.size)
    masses[0] = 1 - deltas[0] + steps[0] / growth
    masses[1:-1] = (steps[1:] - math.exp(interval) * steps[:-1]) / growth
    masses[-1] = steps[-1] / math.expm1(-interval)
    return Losses(1 - swapped.size, np.maximum(masses, 0.0), float(deltas[-1]))


def _deltas(sums: Sequence[Losses], interval: float, error: float) -> Array:
    """Deltas at 0, h, 2 h, ...: the greater of both directions."""
    curves = [_curve(losses, interval) for losses in sums]
    size = max(curve.size for curve in curves)
    padded = [np.pad(curve, (0, size - curve.size), mode="edge") for curve in curves]
    greater: Array = np.max(padded, axis=0)
    return np.minimum(greater + error, 1.0)


def _curve(losses: Losses, interval: float) -> Array:
    """Sum of mass (1 - e^(point - loss)) over the losses above each point, and infinity's.

    By sums alone; dp_accounting's own evaluation takes a loop of Python for each point.
    """
    from scipy.signal import lfilter

    masses = losses.masses[max(0, -losses.first) :]
    if losses.first > 0:
        masses = np.concatenate([np.zeros(losses.first), masses])
    shrink = math.exp(-interval)
    beyond = lfilter([0.0, shrink], [1.0, -shrink], masses[::-1])
    finite: Array = np.maximum.accumulate(np.cumsum(beyond) * math.expm1(interval)).clip(0.0)[::-1]
    # Two points at least; all losses may lie below 0.
    falling: Array = np.append(finite, 0.0) if finite.size else np.zeros(2)
    return falling + losses.infinity

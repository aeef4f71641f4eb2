"""What theory lets an attacker see: of a search, of many steps; and the events that see it."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from skdp.audit import Event, EventCounts
from skdp.privacy.trial_laws import TrialLaw

#: So many scales of Laplace noise beyond 0 and 1, and so many cells.
_TAIL, _CELLS = 12.0, 4000
_ERROR_RATE = 0.05


@dataclass(frozen=True)
class SearchLaw:
    """Which of two kinds of candidates wins a random search, and with which score.

    One candidate of `n_candidates` predicts a canary otherwise than all others; all other rows earn
    every candidate the same. So the score of a trial, less that, times the rows held out, is 0 or 1
    and Laplace noise. The canary earns a point for the odd candidate on D, and for the others on
    D', if it is held out; and the best of a random number of trials wins.

    Attributes
    ----------
    law : TrialLaw
        Of the number of trials.
    n_candidates : int
        How many there are.
    epsilon : float
        Of a score.
    held_out : float
        The share of rows that is held out.
    missed : float
        The point that all candidates earn on the row in the place of a canary that is not held out.
    """

    law: TrialLaw
    n_candidates: int
    epsilon: float
    held_out: float
    missed: float = 0.0

    def ratio(self, odd: Any, score: Any) -> Any:
        """Log-likelihood ratio of D and D', by who won and by the score, elementwise."""
        # Below the grid is the score of no trial at all.
        logs = [np.interp(score, self._cells, table, left=0.0) for table in self._ratios]
        return np.where(odd, logs[0], logs[1])

    @cached_property
    def largest(self) -> float:
        """What this pair could show of epsilon, with fits without end."""
        return max(float(np.abs(table).max()) for table in self._ratios)

    def event(self, n_fits: int, observed: Any) -> Event:
        """Return the event that promises most when it is counted in so many fits.

        `observed` maps outputs to who won and the score.
        """

        def shown(threshold: float) -> float:
            likely, unlikely = (share * n_fits for share in self.tails(threshold))
            return EventCounts(likely, n_fits, unlikely, n_fits, _ERROR_RATE).epsilon()

        threshold = max(np.linspace(-1, 1, 101) * self.largest, key=shown)
        return Event(_Ratio(self, observed), threshold, "likelihood ratio of who wins, and how")

    def tails(self, threshold: float) -> tuple[float, float]:
        """How likely a log-likelihood ratio of so much or more is, on D and on D'."""
        above = np.concatenate(self._ratios) >= threshold
        first, second = (float(np.concatenate(some)[above].sum()) for some in self._masses)
        return first, second

    @property
    def _edges(self) -> Any:
        beyond = _TAIL / self.epsilon
        return np.linspace(-beyond, 1 + beyond, _CELLS + 1)

    @property
    def _cells(self) -> Any:
        return (self._edges[1:] + self._edges[:-1]) / 2

    @cached_property
    def _ratios(self) -> list[Any]:
        first, second = self._masses
        return [np.log(one) - np.log(other) for one, other in zip(first, second, strict=True)]

    @cached_property
    def _masses(self) -> tuple[list[Any], list[Any]]:
        """Masses of the grid's cells, for the odd candidate and for the others, on D and on D'."""
        return self._wins(1.0, 0.0), self._wins(0.0, 1.0)

    def _wins(self, odd: float, others: float) -> list[Any]:
        alike = self._best(self.missed, self.missed)
        found = self._best(odd, others)
        h = self.held_out
        return [h * one + (1 - h) * two for one, two in zip(found, alike, strict=True)]

    def _best(self, odd: float, others: float) -> list[Any]:
        """Of trials with these points: P[one of a kind, in a cell] times what lets it win."""
        share = 1 / self.n_candidates
        odd_below, others_below = (self._below(points) for points in (odd, others))
        below = share * odd_below + (1 - share) * others_below
        won = np.diff(self._generating(below)) / np.diff(below)
        return [share * np.diff(odd_below) * won, (1 - share) * np.diff(others_below) * won]

    def _below(self, points: float) -> Any:
        away = self.epsilon * (self._edges - points)
        tail = np.exp(-np.abs(away)) / 2
        return np.where(away > 0, 1 - tail, tail)

    def _generating(self, at: Any) -> Any:
        """E[at^K]."""
        if self.law.is_poisson:
            return np.exp(self.law.mean * (at - 1))
        gamma = self.law.gamma
        if self.law.shape == 0:
            return np.log1p(-(1 - gamma) * at) / math.log(gamma)
        power = -self.law.shape
        return ((1 - (1 - gamma) * at) ** power - 1) / (gamma**power - 1)


@dataclass(frozen=True)
class _Ratio:
    law: SearchLaw
    observed: Any

    def __call__(self, outputs: Any) -> Any:
        return self.law.ratio(*self.observed(outputs))


def chosen_by_exponential(epsilon: float, n_candidates: int, held_out: float) -> float:
    """What is shown by how often the odd candidate is chosen."""
    likely, unlikely = exponential_tails(epsilon, n_candidates, held_out)
    return max(math.log(likely / unlikely), math.log((1 - unlikely) / (1 - likely)))


def exponential_tails(epsilon: float, n_candidates: int, held_out: float) -> tuple[float, float]:
    """How likely the odd candidate is chosen on D and on D', P(j) ~ exp(epsilon points_j / 2)."""
    e, k = math.exp(epsilon / 2), n_candidates
    likely, unlikely = (
        held_out * share + (1 - held_out) / k for share in (e / (e + k - 1), 1 / (1 + (k - 1) * e))
    )
    return likely, unlikely

"""What theory lets an attacker see of a step that selects rows, then releases them with noise."""

import math
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.special import ndtr, softmax

from skdp.audit.word_releases import VectorsMoved
from skdp.embedding.settings import cbow_run
from skdp.mechanisms.exponential_selection import ExponentialTopK
from skdp.mechanisms.gaussian_selection import GaussianThreshold, GaussianTopK

_TAIL, _CELLS = 9.0, 4000
#: Rows that were not released move by less, in units of the noise.
_ROUNDING = 1e-4
#: So much less than the longest row of a gradient is that of a word that is hardly ever drawn as a
#: negative one, with the gradient that is expected: records do not touch it.
_TOUCHED = 1e-3


@dataclass(frozen=True)
class RowsLaw:
    """Which rows were selected, and the sum that is released of them: a canary's, or noise alone.

    Attributes
    ----------
    sets : ndarray of bool, shape (n_outcomes, n_rows)
        Sets of rows that may be selected.
    likely, unlikely : ndarray of shape (n_outcomes,)
        How likely each is, on D and on D'.
    pulls : ndarray of shape (n_outcomes, n_rows, row_size)
        What the canary adds on these rows, in units of the noise.
    """

    sets: Any
    likely: Any
    unlikely: Any
    pulls: Any

    @classmethod
    def of(cls, step: Any, gradient: Any) -> "RowsLaw":
        """Return the law of a step in which nothing but the canary pulls.

        Rows are selected by the gradient as it is clipped; what is released of it is clipped then.

        Parameters
        ----------
        step : RowStep
        gradient : ndarray of shape (n_rows, row_size)
            Not clipped.
        """
        lengths, selection = np.linalg.norm(gradient, axis=1), step.by_row.selection
        if isinstance(selection, GaussianThreshold):
            sets = np.array(list(product([False, True], repeat=len(lengths))))
            touched = lengths > _TOUCHED * lengths.max()
            scores = touched / math.sqrt(touched.sum()) * step.by_row.map_norm
            pick = _surviving
        else:
            sets = np.eye(len(lengths), dtype=bool)
            (norm, _), _ = step.sums
            scores = lengths * min(1.0, norm / float(np.linalg.norm(lengths)))
            pick = _picked
        on_sets = sets[:, :, None] * gradient
        norms = np.maximum(np.linalg.norm(on_sets, axis=(1, 2)), 1e-300)
        clipped = on_sets * np.minimum(1.0, step.by_row.selected_norm / norms)[:, None, None]
        return cls(
            sets,
            pick(selection, scores, sets),
            pick(selection, 0 * scores, sets),
            clipped / step.by_row.noise.noise_std,
        )

    def ratio(self, released: Any) -> float:
        """Log-likelihood ratio of a noisy sum, shape (n_rows, row_size), 0 where not selected."""
        selected = np.linalg.norm(released, axis=1) > _ROUNDING
        (place,) = np.flatnonzero((self.sets == selected).all(axis=1))
        pull = self.pulls[place]
        told = (released * pull).sum() - np.square(pull).sum() / 2
        return float(told + math.log(self.likely[place] / self.unlikely[place]))

    def curve(self, epsilon: float) -> float:
        """Return the least delta at this epsilon, either way round: a sum over sets of rows."""
        logs = np.log(self.likely) - np.log(self.unlikely)
        forth = self._excess(self.likely, self.unlikely, epsilon - logs, epsilon)
        back = self._excess(self.unlikely, self.likely, epsilon + logs, epsilon)
        return max(forth, back)

    def _excess(self, likely: Any, unlikely: Any, least: Any, epsilon: float) -> float:
        """Where the number says at least so much more than the rows do."""
        mus = np.maximum(np.linalg.norm(self.pulls, axis=(1, 2)), 1e-9)
        shares = [ndtr(sign * mus / 2 - least / mus) for sign in (1, -1)]
        return float((likely * shares[0] - math.exp(epsilon) * unlikely * shares[1]).sum())


@dataclass(frozen=True)
class RowsSeen:
    """The likelihood ratio of what a fit of one step released, without its unknown constants.

    Attributes
    ----------
    canary : VectorsMoved
        What is known of the canary's two words.
    n_records, n_examples : int
        Documents, and how often the canary has each of its two examples.
    """

    canary: VectorsMoved
    n_records: int
    n_examples: int

    def law(self, step: Any, start: Any, model: Any) -> RowsLaw:
        """Return the law of a step from vectors that are known."""
        one_of_each = self.canary.examples(start, model, self.canary.words).sum(axis=0)
        return RowsLaw.of(step, self.n_examples * one_of_each)

    def __call__(self, model: Any) -> Any:
        """Return the log-likelihood ratio, shape (1,)."""
        plan = cbow_run(model, self.n_records, len(model.index_to_key_)).plan
        step, start = next(plan.steps()), self.canary.start(model)
        moved = (model.vectors_ - start) / model.learning_rate_
        released = moved * plan.sampler.divisor / step.by_row.noise.noise_std
        return np.array([self.law(step, start, model).ratio(released)])


def _surviving(selection: GaussianThreshold, counts: Any, sets: Any) -> Any:
    """How likely each set of rows is to survive."""
    shares = ndtr((counts - selection.threshold) / selection.noise_std)
    return np.where(sets, shares, 1 - shares).prod(axis=1)


def _picked(selection: Any, scores: Any, sets: Any) -> Any:
    """How likely each row is to be the only one selected, in the order of the sets."""
    if isinstance(selection, ExponentialTopK):
        return softmax(scores / selection.noise_scale)
    assert isinstance(selection, GaussianTopK)
    units = scores[:, None] / selection.noise_std
    sizes = np.linspace(0.0, units.max() + _TAIL, _CELLS)
    below = ndtr(sizes - units) - ndtr(-sizes - units)
    middle = (below[:, 1:] + below[:, :-1]) / 2
    others = np.array([np.delete(middle, row, axis=0).prod(axis=0) for row in range(len(scores))])
    return (np.diff(below, axis=1) * others).sum(axis=1)

"""What compiled code is told of a selection of coordinates: noise on scores, and what is kept."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from skdp._random import RandomSource
from skdp.embedding.strata import (
    MOST_ZEROS,
    Exponentials,
    Gaussians,
    Laplaces,
    StratifiedLaw,
    UpperGaussians,
)
from skdp.mechanisms.continuous import laplaces
from skdp.mechanisms.exponential_selection import ExponentialTopK
from skdp.mechanisms.gaussian_selection import GaussianThreshold, GaussianTopK
from skdp.mechanisms.sparse_vector import SparseVectorTechnique
from skdp.mechanisms.sparse_vector_rules import OptimalThreshold
from skdp.training.gradients import Array

__all__ = ["LARGEST", "RACE", "REACHING", "Rule", "rule_of"]

#: What is selected: the largest in absolute value, the winners of a race, what reaches a bar.
LARGEST, RACE, REACHING = 0, 1, 2


#: A bar that is moved down further, which one in 300 is, takes longer.
_SPREADS = 5.0


@final
@dataclass(frozen=True)
class Rule:
    """How coordinates are selected by scores plus noise.

    Attributes
    ----------
    law : StratifiedLaw
        Of the noise on each score.
    kind : int
        `LARGEST`: sums in units of the grid, in absolute value after noise. `RACE`: the smallest
        exponentials, each divided by the e^score of its coordinate. `REACHING`: noisy scores that
        are no less than a bar.
    shift, scale : float
        Scores are ``(abs(sum) - shift) / scale``, but for `LARGEST`.
    most : int
        How many are selected, or, of those that reach a bar, at most.
    bars : callable
        Bars of so many steps. For `LARGEST` and `RACE`, what noise alone passes often enough.
    by_touch : bool
        Whether scores are how many records touch a coordinate, in place of sums of gradients.
    """

    law: StratifiedLaw
    kind: int
    shift: float
    scale: float
    most: int
    bars: Callable[[int, RandomSource], Array]
    by_touch: bool = False


def rule_of(selection: object) -> Rule | None:
    """Return the rule of a mechanism that selects; None where there is none.

    Examples
    --------
    >>> from skdp.privacy.budget import Neighbours, Sensitivity
    >>> sensitivity = Sensitivity(1.0, "l2", Neighbours.ZERO_OUT)
    >>> rule = rule_of(GaussianTopK(sensitivity, 10**5, 5000, noise_std=1.0))
    >>> rule.law.zeros, rule.most  # a sixteenth of the noises is drawn in full
    (4, 5000)
    """
    make = _RULES.get(type(selection))
    return None if make is None else make(selection)


def _largest(selection: GaussianTopK) -> Rule:
    zeros = Gaussians.zeros_for(selection.size, _expected(selection.n_selected))
    law = Gaussians(zeros, selection.noise_std)
    return Rule(law, LARGEST, 0.0, 1.0, selection.n_selected, _constant(law.bar))


def _race(selection: ExponentialTopK) -> Rule:
    law = Exponentials(Exponentials.zeros_for(selection.size, _expected(selection.n_selected)))
    scale = selection.noise_scale
    return Rule(law, RACE, 0.0, scale, selection.n_selected, _constant(law.bar))


def _sparse_vector(selection: SparseVectorTechnique) -> Rule | None:
    if selection.constants != "optimal":
        return None
    k, threshold = selection.n_selected, selection.threshold
    how = OptimalThreshold(selection.sensitivity.value, k, selection.epsilon, threshold)

    spread = how.threshold_scale / how.query_scale

    def bars(n: int, rng: RandomSource) -> Array:
        moved: Array = laplaces(n, rng) * spread
        return moved

    law = _below(Laplaces, threshold / how.query_scale - _SPREADS * spread)
    return Rule(law, REACHING, threshold, how.query_scale, k, bars)


def _survivors(selection: GaussianThreshold) -> Rule:
    least = math.ceil(float(np.clip(selection.threshold / selection.grid, -(2.0**60), 2.0**60)))
    law = _below(lambda zeros: UpperGaussians(zeros, selection.noise_std), least)
    bars = _constant(float(least))
    return Rule(law, REACHING, 0.0, selection.grid, selection.size, bars, by_touch=True)


_RULES: dict[type, Callable[[Any], Rule | None]] = {
    GaussianTopK: _largest,
    ExponentialTopK: _race,
    SparseVectorTechnique: _sparse_vector,
    GaussianThreshold: _survivors,
}


def _expected(n_selected: int) -> float:
    """Return how many noises have to be expected so that there are enough, but for once in 10^9."""
    return n_selected + 6 * math.sqrt(n_selected) + 20


def _below(law: Callable[[int | None], StratifiedLaw], bar: float) -> StratifiedLaw:
    """Return the law with the smallest first stratum that holds all noises that reach a bar."""
    laws = map(law, range(MOST_ZEROS, -1, -1))
    return next((made for made in laws if made.bar <= bar), law(None))


def _constant(bar: float) -> Callable[[int, RandomSource], Array]:
    return lambda n, rng: np.full(n, bar)

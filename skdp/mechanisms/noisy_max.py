"""Selections by the largest noisy score, one coordinate a time."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from skdp._random import RandomSource
from skdp._validation import positive
from skdp.mechanisms.selection import (
    SelectionMechanism,
    TopMechanism,
    chosen,
    pure_event,
    scores_of,
)
from skdp.mechanisms.selection_noise import EXPONENTIAL, LAPLACE, NoiseLaw, score_error
from skdp.mechanisms.statistics import Floats, Selection, SparseSum

if TYPE_CHECKING:
    from dp_accounting import DpEvent

__all__ = ["NoisyMaxTopK", "PermuteAndFlip"]


@final
@dataclass(frozen=True)
class NoisyMaxTopK(TopMechanism):
    """The coordinate with the largest abs(v_j) plus Laplace noise, k times with fresh noise.

    A coordinate that has been picked is out; the others get noise of scale b = 2^(1/2) s / epsilon
    again. The time is O(listed coordinates times k).

    Guarantees
    ----------
    Each pick is epsilon-DP: report noisy max (Dwork and Roth, 2014, Claim 3.9). Whatever the noise
    of the others, coordinate j must pass the largest of them, and between neighbours the bar
    moves by no more than one score gains on another: 2^(1/2) s where the vector moves by s in L2
    norm (for scores of which each moves by s it would be 2 s). In double precision a noisy score
    is off by h = `score_error` scales at most, which changes the probability of each outcome by a
    factor of at most e^(2 h): the event says epsilon + 4 h, and in its delta what scores more than
    2^8 scales apart do.

    Parameters
    ----------
    sensitivity : Sensitivity
        L2 bound on how far one record moves the vector.
    size : int
        Number of coordinates.
    n_selected : int
        The k, from 1 to `size`.
    epsilon : float
        What one pick costs.

    Examples
    --------
    >>> from skdp._random import RandomSource
    >>> from skdp.mechanisms import NoisyMaxTopK, SparseSum
    >>> from skdp.privacy.budget import Neighbours, Sensitivity
    >>> sensitivity = Sensitivity(1.0, "l2", Neighbours.ZERO_OUT)
    >>> top = NoisyMaxTopK(sensitivity, 10**9, n_selected=2, epsilon=1.0)
    >>> gradient = SparseSum([3, 500, 10**8], [150.0, 0.0, -120.0], 10**9)
    >>> top.release(gradient, RandomSource.from_seed(0)).indices
    array([        3, 100000000])
    """

    epsilon: float

    def __post_init__(self) -> None:
        super().__post_init__()
        positive(epsilon=self.epsilon)

    @property
    def noise_scale(self) -> float:
        """Scale of the Laplace noise, in the units of the vector."""
        return math.sqrt(2) * self.sensitivity.value / self.epsilon

    @property
    def event(self) -> "DpEvent":
        return pure_event(self, self.n_selected, self.epsilon, 4 * score_error(1))

    @property
    def theorem(self) -> str:
        return "Dwork and Roth (2014), Claim 3.9, for each pick among the coordinates left"

    def _select(self, value: SparseSum, rng: RandomSource) -> Selection:
        return _peel(self, self.n_selected, value, LAPLACE, rng)


@final
@dataclass(frozen=True)
class PermuteAndFlip(SelectionMechanism):
    """The coordinate with the largest abs(v_j) plus exponential noise.

    The scale of the noise is b = 2^(1/2) s / epsilon. In law this is to go through the coordinates
    in random order and to stop at each with probability exp((abs(v_j) - max abs(v)) / b). For one
    coordinate only: its expected loss of score is never above the exponential mechanism's, but
    picks of it compose worse.

    Guarantees
    ----------
    epsilon-DP: McKenna and Sheldon (2020), Theorem 1, whose mechanism this is by Ding et al.
    (2021); that 2^(1/2) s does where a bound on each score alone needs 2 s, as for
    `NoisyMaxTopK`. In double precision a noisy score is off by h = `score_error` scales at
    most, which changes the probability of each outcome by a factor of at most e^(2 h): the event
    says epsilon + 4 h, and in its delta what scores more than 2^8 scales apart do.

    Parameters
    ----------
    sensitivity : Sensitivity
        L2 bound on how far one record moves the vector.
    size : int
        Number of coordinates.
    epsilon : float
        What the selection costs.

    Examples
    --------
    >>> from skdp._random import RandomSource
    >>> from skdp.mechanisms import PermuteAndFlip, SparseSum
    >>> from skdp.privacy.budget import Neighbours, Sensitivity
    >>> sensitivity = Sensitivity(1.0, "l2", Neighbours.ZERO_OUT)
    >>> one = PermuteAndFlip(sensitivity, 10**9, epsilon=1.0)
    >>> gradient = SparseSum([3, 500, 10**8], [150.0, 0.0, -50.0], 10**9)
    >>> one.release(gradient, RandomSource.from_seed(0)).indices
    array([3])
    """

    epsilon: float

    def __post_init__(self) -> None:
        super().__post_init__()
        positive(epsilon=self.epsilon)

    @property
    def noise_scale(self) -> float:
        """Scale of the exponential noise, in the units of the vector."""
        return math.sqrt(2) * self.sensitivity.value / self.epsilon

    @property
    def event(self) -> "DpEvent":
        return pure_event(self, 1, self.epsilon, 4 * score_error(1))

    @property
    def theorem(self) -> str:
        return "McKenna and Sheldon (2020), Theorem 1, as noisy max with exponential noise"

    def _select(self, value: SparseSum, rng: RandomSource) -> Selection:
        return _peel(self, 1, value, EXPONENTIAL, rng)


def _peel(
    mechanism: NoisyMaxTopK | PermuteAndFlip,
    n_picks: int,
    value: SparseSum,
    law: NoiseLaw,
    rng: RandomSource,
) -> Selection:
    """Pick the largest noisy score again and again. The last score stands for all of the rest."""
    listed = value.values.size
    n_rest = value.size - listed
    scores = np.append(scores_of(value, mechanism.sensitivity.value), 0.0)
    places = np.empty(n_picks, dtype=np.int64)
    for pick in range(n_picks):
        scores[-1] = 0.0 if n_rest else -np.inf
        places[pick] = place = _noisy_argmax(scores, n_rest, mechanism.noise_scale, law, rng)
        scores[place] = -np.inf
        n_rest -= place == listed
    return chosen(value, places, rng)


def _noisy_argmax(
    scores: Floats, n_rest: int, scale: float, law: NoiseLaw, rng: RandomSource
) -> int:
    noisy = (scores - scores.max()) / scale
    noisy[:-1] += law.draw(scores.size - 1, rng)
    if n_rest:
        noisy[-1] += law.largest(n_rest, 1, rng)[0]
    return int(noisy.argmax())

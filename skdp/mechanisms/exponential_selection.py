"""The exponential mechanism for several coordinates at once."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from skdp._random import RandomSource
from skdp._validation import positive
from skdp.mechanisms.selection import TopMechanism, bounded_range_event, chosen, scores_of
from skdp.mechanisms.selection_noise import GUMBEL, score_error
from skdp.mechanisms.statistics import Selection, SparseSum
from skdp.privacy.budget import Norm

if TYPE_CHECKING:
    from dp_accounting import DpEvent

__all__ = ["ExponentialTopK"]


@final
@dataclass(frozen=True)
class ExponentialTopK(TopMechanism):
    """The k coordinates that are largest after Gumbel noise on abs(v_j): k exponential mechanisms.

    Noise of scale beta, once on every coordinate, has the law of k picks one after the other, each
    with P(j) ~ exp(abs(v_j) / beta) among those that are left.

    Guarantees
    ----------
    One pick has a privacy loss within an interval of length eta = R/beta (Durfee and Rogers,
    2019, sections 4.1 and 4.2), R being the most by which the change of one score can exceed the
    change of another. For scores abs(v_j) and a vector that moves by at most s in L2 norm,
    R = 2^(1/2) s, since a + b <= (2 (a^2 + b^2))^(1/2); where each coordinate moves by at most s,
    R = 2 s. That is where beta comes from. Which relation s refers to does not matter: a replaced
    record moves the vector by up to twice its norm, and s says so.

    In double precision a noisy score is off by h = `score_error` scales at most. To find a set
    among the k largest is then as likely as with exact numbers, up to a factor of e^(2 k h), and
    an order drawn afterwards makes this k picks whose loss intervals are 16 k h longer: the event
    says eta + 16 k h. Scores that are more than 2^8 scales apart, where h is no bound, change
    places with a probability below size 2^-340, which is in its delta.

    Parameters
    ----------
    sensitivity : Sensitivity
        L2 bound on how far one record moves the vector, or Linf bound: on how far it moves each
        coordinate.
    size : int
        Number of coordinates.
    n_selected : int
        The k, from 1 to `size`.
    eta : float
        Length of the loss interval of one pick.

    Examples
    --------
    >>> from skdp._random import RandomSource
    >>> from skdp.mechanisms import ExponentialTopK, SparseSum
    >>> from skdp.privacy.budget import Neighbours, Sensitivity
    >>> sensitivity = Sensitivity(1.0, "l2", Neighbours.ZERO_OUT)
    >>> top = ExponentialTopK(sensitivity, 10**9, n_selected=2, eta=1.0)
    >>> gradient = SparseSum([3, 500, 10**8], [90.0, 0.0, -70.0], 10**9)
    >>> top.release(gradient, RandomSource.from_seed(0)).indices
    array([        3, 100000000])
    """

    eta: float

    def __post_init__(self) -> None:
        super().__post_init__()
        positive(eta=self.eta)

    @property
    def required_norm(self) -> Norm:  # type: ignore[override]
        """The norm of the bound that was given, L2 or Linf."""
        return "linf" if self.sensitivity.norm == "linf" else "l2"

    @property
    def noise_scale(self) -> float:
        """The beta, in the units of the vector."""
        apart = 2.0 if self.required_norm == "linf" else math.sqrt(2)
        return apart * self.sensitivity.value / self.eta

    @property
    def event(self) -> "DpEvent":
        longer = 16 * self.n_selected * score_error(self.n_selected)
        return bounded_range_event(self, self.n_selected, self.eta, longer)

    @property
    def theorem(self) -> str:
        bound = "a bound on each" if self.required_norm == "linf" else "an L2 bound"
        return f"Durfee and Rogers (2019), sections 4.1 and 4.2, for scores abs(v_j) and {bound}"

    def _select(self, value: SparseSum, rng: RandomSource) -> Selection:
        listed = scores_of(value, self.sensitivity.value)
        n_rest = self.size - listed.size
        n_largest = min(self.n_selected, n_rest)
        scores = np.concatenate([listed, np.zeros(n_largest)])
        border = scores.size - self.n_selected
        scores = (scores - np.partition(scores, border)[border]) / self.noise_scale
        scores[: listed.size] += GUMBEL.draw(listed.size, rng)
        scores[listed.size :] += GUMBEL.largest(n_rest, n_largest, rng)
        return chosen(value, np.argpartition(scores, border)[border:], rng)

"""Quantiles of many columns by the exponential mechanism over declared points."""

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np
import numpy.typing as npt

from skdp._random import RandomSource
from skdp._validation import positive
from skdp.mechanisms.additive import EPSILON_CAP
from skdp.mechanisms.base import Array, Mechanism
from skdp.mechanisms.exponential_selection import ExponentialTopK
from skdp.mechanisms.selection import bounded_range_event
from skdp.mechanisms.selection_noise import GUMBEL, score_error
from skdp.mechanisms.statistics import SparseSum
from skdp.privacy.budget import Neighbours, Norm, PrivacyBudget, Sensitivity

if TYPE_CHECKING:
    from dp_accounting import DpEvent

#: A bound that also holds for G in double precision, for up to 2^32 records: see QuantileMechanism.
_ROUNDED = 1 + 2.0**-17

__all__ = ["QuantileMechanism", "quantile_sensitivity", "rank_excesses"]


def quantile_sensitivity(levels: Array, neighbours: Neighbours) -> Sensitivity:
    r"""Bound on how far one record moves each G(t) = sum_i (1[x_i <= t] - q).

    A record's term is -q or 1 - q: a record that is added, removed or replaced by a null row moves
    G(t) by max(q, 1 - q) at most. Where one record is replaced, G(t) moves by 1 at most. The term
    of a record whose value is missing is 0, which is between the two.

    Examples
    --------
    >>> round(quantile_sensitivity(np.array([0.25, 0.5]), Neighbours.ZERO_OUT).value, 4)
    0.75
    """
    moved = 1.0 if neighbours is Neighbours.REPLACE_ONE else max(*levels, *(1 - levels))
    return Sensitivity(float(moved) * _ROUNDED, "linf", neighbours)


def rank_excesses(X: Array, points: Array, levels: Array) -> Array:
    """Return G_jq(t) = sum_i (1[x_ij <= t] - q) at the points of each column.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    points : ndarray of shape (n_points, n_features)
        Increasing along the first axis.
    levels : ndarray of shape (n_levels,)
        In (0, 1).

    Returns
    -------
    ndarray of shape (n_features, n_levels, n_points)
        NaN counts nowhere: its record's term is 0.
    """
    counted = [np.sort(column[~np.isnan(column)]) for column in X.T]
    below = [np.searchsorted(c, p, side="right") for c, p in zip(counted, points.T, strict=True)]
    totals = np.array([c.size for c in counted], dtype=float)
    return np.stack(below)[:, None, :] - (totals[:, None] * levels)[:, :, None]


@final
@dataclass(frozen=True)
class QuantileMechanism(Mechanism[Array]):
    r"""Index of one point for each row of G, with P(t) ~ exp(-abs(G(t)) / beta).

    Guarantees
    ----------
    Where a record moves each G(t) by at most s, abs(G(t)) moves by at most s too, so the range of
    the change is at most 2 s and a pick of scale beta = 2 s / eta is eta-bounded-range (Durfee and
    Rogers 2019). All `n_picks` picks compose as those of :class:`ExponentialTopK` do. A pick is
    the largest of -abs(G(t)) / beta after Gumbel noise, and min abs(G) may be subtracted first.

    Two things are rounded. For n <= 2^32 records, n q, its difference from a count and that of two
    excesses are below 2^32, so each is off by 2^-22 at most: a score by 3 2^-22, the change of one
    by 3 2^-21, the difference of two changes by 3 2^-20. `quantile_sensitivity` allows for it:
    2 s 2^-17 >= 2^-17, since s >= 1/2. And a noisy score is off by h = `score_error` scales, so
    that a point wins wherever it would win exactly with 2 h more, and only there: its probability
    is off by a factor of e^(2 h), its loss by 4 h, and the interval is at most 8 h longer. The
    event says 32 h, and has in its delta that scores over 2^8 scales apart change places.

    Parameters
    ----------
    sensitivity : Sensitivity
        Linf bound on the change of G, from `quantile_sensitivity`.
    size : int
        n_picks times n_points.
    n_picks : int
        How many quantiles, of all columns together.
    eta : float
        Length of the loss interval of one pick.

    Examples
    --------
    >>> bound = quantile_sensitivity(np.array([0.5]), Neighbours.ZERO_OUT)
    >>> G = np.array([[-50.0, 0.0, 50.0]])
    >>> QuantileMechanism(bound, 3, n_picks=1, eta=2.0).release(G, RandomSource.from_seed(0))
    array([1.])
    """

    required_norm: ClassVar[Norm] = "linf"
    n_picks: int
    eta: float

    def __post_init__(self) -> None:
        super().__post_init__()
        positive(eta=self.eta)
        if self.size % self.n_picks:
            raise ValueError("size must be a multiple of n_picks.")

    @classmethod
    def calibrated(
        cls, sensitivity: Sensitivity, budget: PrivacyBudget, *, n_picks: int, n_points: int
    ) -> "QuantileMechanism":
        """Return the mechanism of least noise that keeps the budget."""
        capped = PrivacyBudget(min(budget.epsilon, EPSILON_CAP), budget.delta)
        return cls(sensitivity, n_picks * n_points, n_picks, _eta(n_picks, n_points, capped))

    @property
    def noise_scale(self) -> float:
        """The beta, in records."""
        return 2 * self.sensitivity.value / self.eta

    @property
    def event(self) -> "DpEvent":
        return _event(self._pick(self.size), self.n_picks, self.eta)

    @property
    def theorem(self) -> str:
        return (
            "Exponential mechanism on ranks (Smith 2011), each pick of bounded range (Durfee and "
            "Rogers 2019), composed as such (Dong, Durfee and Rogers 2020)"
        )

    def _pick(self, n_points: int) -> ExponentialTopK:
        return ExponentialTopK(self.sensitivity, n_points, 1, eta=self.eta)

    def _release(self, value: "npt.ArrayLike | SparseSum", rng: RandomSource) -> Array:
        if isinstance(value, SparseSum):
            raise TypeError("QuantileMechanism needs a dense array.")
        excesses = np.abs(np.asarray(value, dtype=np.float64))
        self._require_size(excesses.size)
        rows = excesses.reshape(self.n_picks, -1)
        behind = (rows - rows.min(axis=1, keepdims=True)) / self.noise_scale
        noise = GUMBEL.draw(self.size, rng).reshape(rows.shape)
        picked: Array = np.argmax(noise - behind, axis=1).astype(np.float64)
        return picked


def _event(pick: ExponentialTopK, n_picks: int, eta: float) -> "DpEvent":
    return bounded_range_event(pick, n_picks, eta, 32 * score_error(1))


@functools.lru_cache(maxsize=256)  # public facts in, public facts out
def _eta(n_picks: int, n_points: int, budget: PrivacyBudget) -> float:
    from dp_accounting import DpEvent

    from skdp.privacy.calibration import calibrate

    unit = Sensitivity(1.0, "linf", Neighbours.REPLACE_ONE)

    def event(noise: float) -> DpEvent:
        pick = ExponentialTopK(unit, n_picks * n_points, 1, eta=1 / noise)
        return _event(pick, n_picks, 1 / noise)

    pure = budget.epsilon / n_picks
    if budget.delta > 0:
        return 1 / calibrate(event, budget, bracket=(0.1 / pure, 1 / pure))
    eta = pure - 2 * (float(event(1 / pure).epsilon) - pure)
    if eta <= 0:
        raise ValueError("epsilon is too small for so many quantiles. Raise it.")
    return eta

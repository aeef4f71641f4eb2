"""What several releases made from one sample cost together.

The curve of a step is built from its last release back to its first: given the greatest curve
that the later releases can have, whatever came before, each kind of release says what the greatest
curve is with it put in front.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Protocol, final

import numpy as np
from numpy.typing import NDArray

from skdp.privacy.bounded_range import bounded_range_renyi
from skdp.privacy.loss_curves import GaussianCurve, LatticeCurve, ResponseCurve, SymmetricCurve
from skdp.privacy.loss_pairs import losses_on
from skdp.privacy.pure_curve import pure_renyi, pure_rho

__all__ = ["BoundedRangePicks", "GaussianNoise", "JointStep", "PurePicks", "Release"]

Array = NDArray[np.float64]

# Points of the lattice to a standard deviation of the loss of the step.
_FINENESS = 512
# Rounding of all operations on a lattice, and far more.
_ROUNDED_UP = 1 + 2.0**-40
# Picks beyond which a curve takes seconds, and losses beyond the grid of `loss_pairs`.
_MOST_WORK, _MOST_RHO = 1024, 700.0


class Release(Protocol):
    """A release, or several of one kind in a row."""

    @property
    def rho(self) -> float:
        """The Renyi divergence of order a is at most rho a."""

    @property
    def guarantee(self) -> float:
        """The release is so much DP with delta = 0; infinite where it is not."""

    @property
    def work(self) -> int:
        """What `before` takes, one pick being the unit."""

    @property
    def length(self) -> float:
        """What should be a multiple of the distance of lattice points; infinite if nothing."""

    def renyi(self, orders: Array) -> Array:
        """Divergence at each order, in both directions."""

    def before(self, later: LatticeCurve) -> LatticeCurve:
        """Greatest curve of this release followed by what has the curve `later`."""

    def joined(self, other: "Release") -> "Release | None":
        """Both as one, if they are of one kind and the other follows."""

    def times(self, count: int) -> "Release":
        """As many of it in a row."""


@final
@dataclass(frozen=True)
class GaussianNoise:
    """N(0, 1) added to a statistic that moves by at most mu."""

    mu: float
    work = 16
    guarantee = math.inf
    length = math.inf

    @property
    def rho(self) -> float:
        return self.mu**2 / 2

    def renyi(self, orders: Array) -> Array:
        return orders * self.rho

    def before(self, later: LatticeCurve) -> LatticeCurve:
        """E[later(x - L)], L the loss of the noise, on the same lattice."""
        first, masses, infinity = losses_on(GaussianCurve(self.mu), later.interval)
        last = later.deltas.size - 1
        around = later.beside(-(first + masses.size - 1), last - first)
        deltas = np.convolve(around, masses, mode="valid") + infinity
        return LatticeCurve(later.interval, np.minimum(deltas, 1.0))

    def joined(self, other: Release) -> Release | None:
        if not isinstance(other, GaussianNoise):
            return None
        return GaussianNoise(math.hypot(self.mu, other.mu) * (1 + 2.0**-50))

    def times(self, count: int) -> "GaussianNoise":
        return GaussianNoise(self.mu * math.sqrt(count) * (1 + 2.0**-50))


@final
@dataclass(frozen=True)
class PurePicks:
    """Picks of which only epsilon-DP is known: losses +epsilon with odds e^epsilon, else -epsilon.

    (Kairouz, Oh and Viswanath, 2015.)
    """

    epsilon: float
    picks: int = 1

    @property
    def work(self) -> int:
        return self.picks

    @property
    def rho(self) -> float:
        return self.picks * pure_rho(self.epsilon)

    @property
    def guarantee(self) -> float:
        return self.picks * self.epsilon

    @property
    def length(self) -> float:
        return self.epsilon

    def renyi(self, orders: Array) -> Array:
        return self.picks * pure_renyi(self.epsilon, orders)

    def before(self, later: LatticeCurve) -> LatticeCurve:
        return reduce(lambda curve, _: self._one_before(curve), range(self.picks), later)

    def joined(self, other: Release) -> Release | None:
        if not isinstance(other, PurePicks) or other.epsilon != self.epsilon:
            return None
        return PurePicks(self.epsilon, self.picks + other.picks)

    def times(self, count: int) -> "PurePicks":
        return PurePicks(self.epsilon, self.picks * count)

    def _one_before(self, later: LatticeCurve) -> LatticeCurve:
        shift, last = _cells(self.epsilon, later.interval), later.deltas.size - 1
        won = 1 / (1 + math.exp(-shift * later.interval))
        below, above = later.beside(-shift, last - shift), later.beside(shift, last + shift)
        return LatticeCurve(later.interval, won * below + (1 - won) * above)


@final
@dataclass(frozen=True)
class BoundedRangePicks:
    """Picks whose losses lie in intervals of length eta that may depend on earlier outputs.

    The greatest curve of one pick followed by what has the curve d is
    sup over t in [0, eta] of P_t d(x - t) + (1 - P_t) d(x - t + eta), where P_t = (1 - e^(t-eta)) /
    (1 - e^-eta): d(x - loss) is convex in z = e^-loss, which lies in [e^-t, e^(eta-t)] and has
    mean 1 under P, so that the law on the two ends is extremal. As a supremum of curves that are
    convex in e^x, which the exchange of P and Q maps onto itself, it is the curve of a symmetric
    pair (Dong, Durfee and Rogers, 2020, for picks alone).
    """

    eta: float
    picks: int = 1

    @property
    def work(self) -> int:
        return self.picks

    @property
    def rho(self) -> float:
        return self.picks * self.eta**2 / 8

    @property
    def guarantee(self) -> float:
        return self.picks * self.eta

    @property
    def length(self) -> float:
        return self.eta

    def renyi(self, orders: Array) -> Array:
        return self.picks * bounded_range_renyi(self.eta, orders)

    def before(self, later: LatticeCurve) -> LatticeCurve:
        return reduce(lambda curve, _: self._one_before(curve), range(self.picks), later)

    def joined(self, other: Release) -> Release | None:
        if not isinstance(other, BoundedRangePicks) or other.eta != self.eta:
            return None
        return BoundedRangePicks(self.eta, self.picks + other.picks)

    def times(self, count: int) -> "BoundedRangePicks":
        return BoundedRangePicks(self.eta, self.picks * count)

    def _one_before(self, later: LatticeCurve) -> LatticeCurve:
        """The supremum at each point of the lattice, exactly for a curve with linear cells.

        Where x - t lies in cell c and x - t + eta in cell c + width, the value is concave in e^t
        and stationary at 2 t = eta + x - log(P[I] / Q[I]), I being the losses from cell c to cell
        c + width. That ratio grows with c, so that no maximum lies at the border of two cells:
        it is enough to try each c with the x for which t is in range, and t = 0.
        """
        h, width = later.interval, _cells(self.eta, later.interval)
        eta, last = width * h, later.deltas.size - 1
        values = later.beside(-width, last + width + 1)
        # Q[loss > cell] e^(start of the cell), from the slopes; and P[loss > cell].
        rare = (values[:-1] - values[1:]) / math.expm1(h)
        beyond = values[:-1] + rare
        low, high = slice(0, last + width + 1), slice(width, last + 2 * width + 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = (beyond[low] - beyond[high]) / (rare[low] - math.exp(-eta) * rare[high])
            place = np.nan_to_num(eta + h - np.log(ratio), nan=eta, posinf=eta, neginf=0.0)
        best = later.deltas.copy()
        first = np.floor(place / h).astype(np.int64)
        for offset in (-2, -1, 0, 1):
            cell = np.clip(first + offset, 0, width - 1)
            inside = np.clip((place - cell * h) / 2, 0.0, h)
            part = np.expm1(h - inside)
            won = np.expm1(cell * h + inside - eta) / math.expm1(-eta)
            value = won * (values[low] - rare[low] * part)
            value += (1 - won) * (values[high] - rare[high] * part)
            point = np.arange(-width + 1, last + 2) + cell
            on = (point >= 0) & (point <= last)
            np.maximum.at(best, point[on], value[on])
        return LatticeCurve(h, best)


@final
@dataclass(frozen=True)
class JointStep:
    """Releases made from one sample, in the order in which they are made.

    The order matters: noise that a later pick can look at before it chooses its interval costs
    more than noise added after it.

    Attributes
    ----------
    releases : tuple of Release
        No two neighbours can be joined; `of` sees to it.
    """

    releases: tuple[Release, ...]

    @classmethod
    def of(cls, releases: Iterable[Release]) -> "JointStep":
        joined: list[Release] = []
        for release in releases:
            both = joined[-1].joined(release) if joined else None
            joined = [*joined[:-1], both] if both else [*joined, release]
        return cls(tuple(joined))

    @property
    def rho(self) -> float:
        return math.fsum(release.rho for release in self.releases)

    @property
    def guarantee(self) -> float:
        return math.fsum(release.guarantee for release in self.releases) * (1 + 2.0**-50)

    @property
    def private(self) -> bool:
        """Whether all of it is."""
        return self.rho < math.inf

    @property
    def only_noise(self) -> float | None:
        """The mu of Gaussian noise, if there is nothing else."""
        match self.releases:
            case (GaussianNoise(mu=mu),):
                return mu
        return None

    def renyi(self, orders: Array) -> Array:
        return reduce(np.add, (release.renyi(orders) for release in self.releases))

    def curve(self, coarseness: int = 1) -> SymmetricCurve | None:
        """The greatest privacy curve of the step; None where it would take too long."""
        match self.releases:
            case (GaussianNoise(mu=mu),):
                return GaussianCurve(mu)
            case (PurePicks(epsilon=epsilon, picks=1),):
                return ResponseCurve(epsilon)
        work = sum(release.work for release in self.releases)
        if work > _MOST_WORK or self.rho > _MOST_RHO:
            return None
        return self._on_lattice(coarseness)

    def _on_lattice(self, coarseness: int) -> LatticeCurve:
        interval = self._interval(coarseness)
        points: Array = interval * np.arange(math.ceil(self._top / interval) + 2, dtype=np.float64)
        match self.releases[-1]:
            case GaussianNoise(mu=mu):
                last, earlier = GaussianCurve(mu).at(points), self.releases[:-1]
            case _:
                last, earlier = np.zeros(points.size), self.releases
        end = LatticeCurve(interval, last)
        whole = reduce(lambda later, release: release.before(later), reversed(earlier), end)
        return LatticeCurve(interval, np.minimum(whole.deltas * _ROUNDED_UP, 1.0))

    def _interval(self, coarseness: int) -> float:
        """Divides the length of the picks that cost most, and is small beside the loss."""
        length = max(self.releases, key=lambda r: (r.length < math.inf, r.rho)).length
        wanted = math.sqrt(2 * self.rho) / _FINENESS * math.sqrt(coarseness)
        return length / max(2, math.ceil(length / wanted))

    @property
    def _top(self) -> float:
        """Losses above it have a probability of at most 1e-24: (t - rho)^2 = 4 rho log(1e24)."""
        return min(self.rho + 15 * math.sqrt(self.rho), self.guarantee)


def _cells(length: float, interval: float) -> int:
    """Cells of a lattice in a length, rounded upwards: a longer range covers a shorter one."""
    return max(1, math.ceil(length / interval * (1 - 2.0**-48)))

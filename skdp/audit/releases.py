"""Attacks on the one release of an estimator of skdp: from which data set was it made.

Two fits through the recorder give the mechanism and the exact values a and b that it was handed on
D and D'. Record and replay shows that a fit's only output that depends on the data is
``mechanism.release`` of that value, so sampling releases alone audits the whole fit, a thousand
times faster.

An event is a threshold on a statistic, by default the log-likelihood ratio of the noise that the
mechanism claims. The threshold comes from a simulation of that noise in floating point, before
anything is sampled from the mechanism. For a tilted objective it comes from releases that are not
counted.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from skdp._random import NumpyGenerator, RandomSource
from skdp.audit.claims import Claim
from skdp.audit.counts import EventCounts
from skdp.audit.events import Event
from skdp.audit.fits import fresh
from skdp.audit.lower_bound import EpsilonAudit
from skdp.audit.replay import Trace, frozen_releases
from skdp.audit.tilted_releases import TILTS, TiltRatio
from skdp.mechanisms import GaussianMechanism, L2LaplaceMechanism, LaplaceMechanism
from skdp.stability.objective_perturbation import RecordsToTilt

__all__ = ["ReleaseAttack", "audit_release", "l2_ratio", "likelihood_attack", "values_of"]

Array = NDArray[np.float64]
Statistic = Callable[[Array, Any, Any], Array]
#: For planning, where nothing can be shown at the error rate asked for.
_LAX = 0.2
_PILOT = 10_000
_PILOT_SEED = 0
#: Of releases that take a solver; their seed is nobody's choice for the ones that are counted.
_TILTS_PILOT = 500
_TILTS_SEED = 0x9E3779B97F4A7C15


def l1_ratio(outputs: Array, first: Array, second: Array) -> Any:
    """Log-likelihood ratio of coordinate Laplace noise, times its scale."""
    return np.abs(outputs - second).sum(axis=1) - np.abs(outputs - first).sum(axis=1)


def l2_ratio(outputs: Array, first: Array, second: Array) -> Any:
    """Log-likelihood ratio of spherical Laplace noise, times its scale."""
    far, near = (np.linalg.norm(outputs - value, axis=1) for value in (second, first))
    return far - near


def inner_product(outputs: Array, first: Array, second: Array) -> Array:
    """Log-likelihood ratio of Gaussian noise, times its variance."""
    return (outputs - (first + second) / 2) @ (first - second)


def _laplace(rng: NumpyGenerator, scale: float, shape: tuple[int, int]) -> Array:
    return rng.laplace(scale=scale, size=shape)


def _spherical_laplace(rng: NumpyGenerator, scale: float, shape: tuple[int, int]) -> Any:
    direction = rng.normal(size=shape)
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    return direction * rng.gamma(shape[1], scale, size=(shape[0], 1))


def _gaussian(rng: NumpyGenerator, scale: float, shape: tuple[int, int]) -> Array:
    return rng.normal(scale=scale, size=shape)


#: The best statistic for a mechanism, and its noise in floating point.
_LAWS: dict[type, tuple[Statistic, Callable[[NumpyGenerator, float, tuple[int, int]], Array]]] = {
    LaplaceMechanism: (l1_ratio, _laplace),
    L2LaplaceMechanism: (l2_ratio, _spherical_laplace),
    GaussianMechanism: (inner_product, _gaussian),
}


@final
@dataclass(frozen=True)
class ReleaseAttack:
    """The event ``statistic(output, a, b) >= threshold``, likelier on D than on D'.

    Attributes
    ----------
    mechanism : Mechanism
        Of either fit.
    first, second : ndarray of shape (size,), or RecordsToTilt
        The exact values a and b.
    statistic : callable
        Maps outputs of shape (draws, size), a and b to shape (draws,).
    threshold : float
        Where the event begins.
    error_rate : float
        Of what the counts say.
    """

    mechanism: Any
    first: Any
    second: Any
    statistic: Statistic
    threshold: float
    error_rate: float

    def counts(self, outputs: Array, outputs_other: Array) -> EventCounts:
        """Count the event in outputs of either data set, each of shape (trials, size)."""
        hits, hits_other = (
            int((self.statistic(o, self.first, self.second) >= self.threshold).sum())
            for o in (outputs, outputs_other)
        )
        return EventCounts(hits, len(outputs), hits_other, len(outputs_other), self.error_rate)

    def sample(self, draws: int, seed: int | None = None) -> tuple[Array, Array]:
        """Return `draws` releases of either value, shape (draws, size) each."""
        rng = RandomSource.for_state(seed)
        first, second = (
            np.array([self.mechanism.release(value, rng) for _ in range(draws)])
            for value in (self.first, self.second)
        )
        return first, second

    def audit(self, draws: int, seed: int | None = None) -> EventCounts:
        """Sample as many releases of either value and count."""
        return self.counts(*self.sample(draws, seed))


def values_of(
    estimator: Any, data: tuple[Any, ...], neighbour: tuple[Any, ...]
) -> tuple[Any, Any, Any]:
    """Return the mechanism and the exact values of fits on two data sets.

    Flattened vectors, or objectives that are tilted.
    """
    (mechanism, first), (other, second) = (_released(estimator, d) for d in (data, neighbour))
    if other != mechanism:
        raise ValueError(f"The two data sets are released by {mechanism} and by {other}.")
    if isinstance(first, RecordsToTilt):
        return mechanism, first, second
    if not isinstance(first, np.ndarray):
        raise ValueError(f"{type(mechanism).__name__} does not release a vector of fixed length.")
    return mechanism, first.ravel(), second.ravel()


def _released(estimator: Any, data: tuple[Any, ...]) -> tuple[Any, Any]:
    trace = Trace()
    with frozen_releases(trace):
        estimator.fit(*data)
    if len(trace.inputs) != 1:
        raise ValueError(f"a fit makes {len(trace.inputs)} releases by mechanisms of skdp")
    (mechanism,), (value,), (whole,) = trace.mechanisms, trace.inputs, trace.values
    return mechanism, whole if isinstance(whole, RecordsToTilt) else value


@final
@dataclass(frozen=True)
class _Pilot:
    """Scores of simulated releases, from which an event is chosen."""

    mechanism: Any
    first: Any
    second: Any
    statistic: Statistic
    scores: Array
    scores_other: Array
    slack: Any

    @classmethod
    def of(cls, estimator: Any, pair: Any, noise_share: float = 1.0) -> "_Pilot":
        """Fit on either data set, and simulate."""
        mechanism, first, second = values_of(estimator, *pair)
        if type(mechanism) in TILTS:
            return cls.tilted(mechanism, first, second)
        statistic, simulation = _LAWS[type(mechanism)]
        rng = RandomSource.from_seed(_PILOT_SEED).generator()
        noise = simulation(rng, noise_share * mechanism.noise_scale, (_PILOT, mechanism.size))
        scores, scores_other = (
            statistic(value + noise, first, second) for value in (first, second)
        )
        # Laplace scores have an atom at either end, which rounding must not push across.
        slack = 1e-6 * np.abs(statistic(first[None], first, second)[0])
        return cls(mechanism, first, second, statistic, scores, scores_other, slack)

    @classmethod
    def tilted(cls, mechanism: Any, first: Any, second: Any) -> "_Pilot":
        """There is no law of a minimiser to draw from: draw releases, which are not counted."""
        statistic = TiltRatio(mechanism)
        attack = ReleaseAttack(mechanism, first, second, statistic, 0.0, 0.5)
        outputs = attack.sample(_TILTS_PILOT, _TILTS_SEED)
        scores, scores_other = (statistic(some, first, second) for some in outputs)
        return cls(mechanism, first, second, statistic, scores, scores_other, 0.0)

    def attack(
        self, draws: int, gain: Callable[[EventCounts], float], error_rate: float
    ) -> ReleaseAttack:
        """Choose the threshold for which `gain` is largest."""
        candidates = np.quantile(self.scores, np.linspace(0.01, 0.99, 50)) - self.slack

        def simulated(threshold: float) -> list[float]:
            shares = [
                float((s >= threshold).mean()) * draws for s in (self.scores, self.scores_other)
            ]
            return [
                gain(EventCounts(shares[0], draws, shares[1], draws, rate))
                for rate in (error_rate, _LAX)
            ]

        threshold = float(max(candidates, key=simulated))
        fields = (self.mechanism, self.first, self.second, self.statistic)
        return ReleaseAttack(*fields, threshold, error_rate)


def likelihood_attack(
    estimator: Any,
    pair: tuple[tuple[Any, ...], tuple[Any, ...]],
    *,
    draws: int,
    gain: Callable[[EventCounts], float],
    error_rate: float,
    noise_share: float = 1.0,
) -> ReleaseAttack:
    """Plan the likelihood-ratio event for which `gain` is largest, as simulated.

    Parameters
    ----------
    gain : callable
        Maps `EventCounts` to what is to be shown, such as ``lambda counts: counts.epsilon()``.
    noise_share : float
        Plan for this share of the mechanism's noise; of tilts, for all of it.
    """
    return _Pilot.of(estimator, pair, noise_share).attack(draws, gain, error_rate)


def audit_release(
    estimator: Any,
    data: tuple[Any, ...],
    neighbour: tuple[Any, ...],
    *,
    n_draws: int = 10_000,
    epsilon: float | None = None,
    delta: float | None = None,
    distance: int = 1,
    confidence: float = 0.95,
    random_state: int | None = None,
) -> EpsilonAudit:
    """Bound epsilon by sampling the one release of an estimator of skdp, by its best event.

    Two fits in place of thousands, and an event from the likelihood ratio of the noise claimed.

    Parameters
    ----------
    estimator : estimator of skdp
        Which releases once: by a Laplace, L2-Laplace or Gaussian mechanism, or as the minimiser of
        a tilted objective, where a release is a fit of the solver.
    data, neighbour : tuple
        Arguments of `fit` for neighbouring data sets.
    n_draws : int, default=10000
        Releases of either value.
    epsilon, delta : float, default=None
        What is claimed; None reads the parameters of the estimator.
    distance : int, default=1
        How many neighbours apart the data sets are; what is shown is of one record.
    confidence : float, default=0.95
        In (0, 1).
    random_state : int, default=None
        Makes the audit reproducible.

    Returns
    -------
    EpsilonAudit
        As of `audit_epsilon`; a fit is a release here.

    Raises
    ------
    ValueError
        If the estimator releases several times, or by another mechanism.

    Examples
    --------
    >>> from skdp.audit import audit_release
    >>> from skdp.decomposition import PrivatePCA
    >>> first, second = [[1.0, 0.0], [0.5, 0.5]], [[0.0, 0.0], [0.5, 0.5]]
    >>> model = PrivatePCA(epsilon=3.0, delta=1e-5)
    >>> audit = audit_release(model, (first,), (second,), n_draws=4000, random_state=0)
    >>> 2.4 < audit.gaussian_epsilon < 3.0
    True
    """
    claim = Claim.of(estimator, epsilon, delta)
    claim.at_distance(distance)  # which refuses what is no distance
    try:
        pilot = _Pilot.of(fresh(estimator), (data, neighbour))
    except KeyError as error:
        raise ValueError(f"No statistic is known for {error.args[0].__name__}.") from error
    except ValueError as error:
        raise ValueError(f"{type(estimator).__name__} has not one release: {error}") from error
    gains: list[Callable[[EventCounts], float]] = [
        lambda counts: counts.epsilon(claim.delta, distance)
    ]
    if claim.delta > 0 and not isinstance(pilot.first, RecordsToTilt):
        gains.append(lambda counts: counts.mu())
    plans = [pilot.attack(n_draws, gain, 1 - confidence) for gain in gains]
    outputs = plans[0].sample(n_draws, random_state)
    counts, *gaussian = (plan.counts(*outputs) for plan in plans)
    score = _Score(plans[0])
    event = Event(score, plans[0].threshold, "likelihood ratio of the noise claimed")
    scores, scores_other = (score(some) for some in outputs)
    return EpsilonAudit(
        claim,
        counts,
        event,
        gaussian[0] if gaussian else None,
        n_draws,
        confidence,
        scores,
        scores_other,
        distance,
    )


@final
@dataclass(frozen=True)
class _Score:
    attack: ReleaseAttack

    def __call__(self, outputs: Array) -> Array:
        return self.attack.statistic(outputs, self.attack.first, self.attack.second)

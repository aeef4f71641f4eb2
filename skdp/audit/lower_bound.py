"""How much epsilon an attacker can show, by fitting on D and on a neighbour D' many times."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from skdp.audit.claims import Claim
from skdp.audit.counts import EventCounts
from skdp.audit.events import Event, choose_event, epsilon_gain, mu_gain
from skdp.audit.fits import FitMany
from skdp.audit.observation import observer, stacked
from skdp.audit.pictures import draw_scores
from skdp.privacy.gaussian_curve import gaussian_epsilon

__all__ = ["EpsilonAudit", "audit_epsilon", "audit_outputs"]

_HELD_OUT = 1 / 3


@final
@dataclass(frozen=True)
class EpsilonAudit:
    """What an attacker showed of one pair of data sets.

    Attributes
    ----------
    claim : Claim
        What was claimed of one record.
    counts : EventCounts
        How often the event happened in the fits that were counted.
    event : Event
        What was counted.
    gaussian_counts : EventCounts or None
        As `counts`, of the event that was best for a Gaussian trade-off curve; None for delta 0.
    n_fits : int
        Fits on either data set, those on which the event was chosen included.
    confidence : float
        Of `epsilon`, and of `gaussian_epsilon`, each by itself.
    scores, scores_other : ndarray of shape (n_counted,)
        What the event thresholds, on D and on D'.
    distance : int
        How many neighbours apart the data sets are. All bounds are of one record: by what group
        privacy makes of it.
    """

    claim: Claim
    counts: EventCounts
    event: Event
    gaussian_counts: EventCounts | None
    n_fits: int
    confidence: float
    scores: NDArray[np.float64] = field(repr=False)
    scores_other: NDArray[np.float64] = field(repr=False)
    distance: int = 1

    @property
    def epsilon(self) -> float:
        """With probability `confidence`, no smaller epsilon is true at the claimed delta."""
        return self.counts.epsilon(self.claim.delta, self.distance)

    @property
    def limit(self) -> float:
        """What `epsilon` would be if the event happened always on D and never on D'."""
        n, m = self.counts.trials, self.counts.trials_other
        return EventCounts(n, n, 0, m, self.counts.error_rate).epsilon(
            self.claim.delta, self.distance
        )

    @property
    def gaussian_epsilon(self) -> float | None:
        """The same for a mechanism whose trade-off curve is a Gaussian one, which is assumed.

        Sharper than `epsilon`, which needs an event of a probability near delta to come close.
        For subsampled steps it is an approximation; None for delta = 0.
        """
        if self.gaussian_counts is None:
            return None
        mu = self.gaussian_counts.mu(self.distance)
        return 0.0 if mu == 0 else gaussian_epsilon(mu, self.claim.delta)

    @property
    def accuses(self) -> bool:
        """Whether more was shown than is claimed, with nothing assumed of the mechanism.

        Epsilon at the claimed delta, or delta at the claimed epsilon.
        """
        if self.claim.epsilon is None:
            return False
        excess = self.counts.delta(self.claim.epsilon, self.distance) > self.claim.delta
        return self.epsilon > self.claim.epsilon or excess

    @property
    def share(self) -> float | None:
        """The greater of the bounds over the claimed epsilon."""
        if self.claim.epsilon is None:
            return None
        return max(self.epsilon, self.gaussian_epsilon or 0.0) / self.claim.epsilon

    def sentence(self) -> str:
        """Say in one sentence what was found."""
        found = (
            f"With confidence {self.confidence:g}, epsilon is at least {self.epsilon:.3g} at delta "
            f"= {self.claim.delta:g} ({self.n_fits} fits on either data set{self._apart()})"
        )
        if self.gaussian_epsilon is not None:
            found += f", and at least {self.gaussian_epsilon:.3g} if the noise is Gaussian"
        if self.claim.epsilon is None:
            return f"{found}; nothing was claimed."
        if self.accuses:
            return f"{found}: the claim of {self.claim} is FALSE."
        found += f": no contradiction to the claim of {self.claim}, which is no proof of it."
        if self.limit > self.claim.epsilon:
            return found
        return f"{found} No more than {self.limit:.3g} can be shown by so few fits."

    def _apart(self) -> str:
        return "" if self.distance == 1 else f", which are {self.distance} records apart"

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers."""
        return {
            "claimed_epsilon": self.claim.epsilon,
            "delta": self.claim.delta,
            "epsilon": self.epsilon,
            "gaussian_epsilon": self.gaussian_epsilon,
            "accuses": self.accuses,
            "confidence": self.confidence,
            "n_fits": self.n_fits,
            "distance": self.distance,
            "event": self.event.name,
            "hits": [self.counts.hits, self.counts.trials],
            "hits_other": [self.counts.hits_other, self.counts.trials_other],
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw the scores on D and on D' and the threshold; return the matplotlib axes."""
        return draw_scores(self.scores, self.scores_other, self.event, ax, self.sentence())

    def __str__(self) -> str:
        return self.sentence()


def audit_epsilon(
    estimator: Any,
    data: Any,
    neighbour: Any,
    *,
    n_fits: int = 1000,
    event: Any = "auto",
    release: Any = "auto",
    epsilon: float | None = None,
    delta: float | None = None,
    distance: int = 1,
    confidence: float = 0.95,
    n_jobs: int | None = None,
    random_state: int | None = None,
    progress: bool = False,
) -> EpsilonAudit:
    """Bound the epsilon of any estimator from below: log((p - delta)/q) for an event.

    Fits on `data` and on `neighbour`, many times each, chooses an event on a third of the fits,
    and counts it in the others. Of the estimator, only `fit` is assumed, and attributes or
    outputs to look at. Nothing is charged to a ledger: run it on made-up data, never on private
    ones, whose models it would otherwise give away.

    Parameters
    ----------
    estimator : estimator
        Copied for each fit; a `random_state` of its own is not used.
    data, neighbour : tuple or dict
        Arguments of `fit`, in order or by name, of two neighbouring data sets.
    n_fits : int, default=1000
        Fits on either data set; at least 20.
    event : {"auto"}, callable or Event, default="auto"
        A callable is a score of outputs, shape (n_fits, n_numbers) to (n_fits,), whose threshold
        is chosen; an `Event` is counted in all fits. The first two numbers of an output say
        whether the fit raised and how many numbers follow.
    release : {"auto"} or callable, default="auto"
        What is seen of a fitted model, as a vector; "auto" takes all numbers among the fitted
        attributes and the outputs at the rows that differ. To be pickled if `n_jobs` is not 1.
    epsilon, delta : float, default=None
        What is claimed; None reads the parameters of the estimator.
    distance : int, default=1
        How many neighbours apart the data sets are; what is shown is of one record.
    confidence : float, default=0.95
        In (0, 1).
    n_jobs : int, default=None
        Processes of joblib.
    random_state : int, default=None
        Makes the audit reproducible, if the estimator has a `random_state`.
    progress : bool, default=False
        Whether to show a bar.

    Returns
    -------
    EpsilonAudit
        The bound, with its sentence and plot.

    Raises
    ------
    RuntimeError
        If no fit succeeded; from what the first one raised. That some fits raise is an outcome like
        any other, which an event may be about.

    References
    ----------
    Jagielski, Ullman and Oprea (2020), Auditing differentially private machine learning; Nasr et
    al. (2023), Tight auditing of differentially private machine learning, for Gaussian noise.

    Examples
    --------
    >>> from skdp.audit import audit_epsilon
    >>> from skdp.linear_model import PrivateElasticNetClassifier
    >>> X, flipped = [[1.0]] + [[0.0]] * 9, [1] + [0, 1] * 4 + [0]
    >>> model = PrivateElasticNetClassifier(alpha=8.0, classes=[0, 1], fit_intercept=False)
    >>> audit = audit_epsilon(model, (X, [0] + flipped[1:]), (X, flipped), n_fits=60)
    >>> audit.accuses
    False
    """
    if n_fits < 20:
        raise ValueError(f"n_fits must be at least 20, got {n_fits!r}.")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be in (0, 1), got {confidence!r}.")
    claim = Claim.of(estimator, epsilon, delta)
    claim.at_distance(distance)  # which refuses what is no distance, before anything is fitted
    observe = observer(release, data, neighbour)
    fits = FitMany(estimator, observe, n_jobs, random_state, progress)
    first, second = stacked(*fits.on((data, n_fits), (neighbour, n_fits)))
    return audit_outputs(
        first, second, claim, event=event, confidence=confidence, distance=distance
    )


def audit_outputs(
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    claim: Claim,
    *,
    event: Any = "auto",
    confidence: float = 0.95,
    distance: int = 1,
) -> EpsilonAudit:
    """Bound epsilon by outputs that were drawn already: independent rows on D and on D'.

    Parameters
    ----------
    first, second : ndarray of shape (n_fits, n_numbers)
        Outputs on D and on D'.
    claim : Claim
        What is claimed of one record.
    event : {"auto"}, callable or Event, default="auto"
        See `audit_epsilon`.
    confidence : float, default=0.95
        In (0, 1).
    distance : int, default=1
        How many neighbours apart the data sets are.
    """
    held_out = 0 if isinstance(event, Event) else max(6, math.ceil(len(first) * _HELD_OUT))
    error_rate = 1 - confidence

    def chosen(gain: Any) -> Event:
        if isinstance(event, Event):
            return event
        score: Callable[[Any], Any] | None = None if event == "auto" else event
        return choose_event(
            first[:held_out],
            second[:held_out],
            trials=len(first) - held_out,
            error_rate=error_rate,
            gain=gain,
            score=score,
        )

    def counted(best: Event) -> EventCounts:
        hits, others = (best.happened(some[held_out:]) for some in (first, second))
        return EventCounts(int(hits.sum()), len(hits), int(others.sum()), len(others), error_rate)

    best = chosen(epsilon_gain(claim.at_distance(distance).delta))
    gaussian = counted(chosen(mu_gain)) if claim.delta > 0 else None
    scores, scores_other = (np.asarray(best.score(some[held_out:])) for some in (first, second))
    return EpsilonAudit(
        claim, counted(best), best, gaussian, len(first), confidence, scores, scores_other, distance
    )

"""What each of a random number of trials may cost."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from skdp.exceptions import PrivacyError, UnsupportedEventError
from skdp.model_selection.plan import Offer
from skdp.privacy import PrivacyBudget
from skdp.privacy.trial_laws import TrialLaw

__all__ = ["LARGEST_EPSILON", "fitted_offer", "pure_budget", "pure_offer"]

#: A larger epsilon is planned as this one.
LARGEST_EPSILON = 15.0
#: Room for the rounding of the probabilities of the number of trials, and of Gumbel noise.
ROOM = 1 - 1e-6
#: Far above what finite precision adds to the delta of one score.
_PRECISION = 2.0**-100
#: Shares of epsilon that fits alone may take, and of delta that finite precision may.
_FITS, _FOR_PRECISION = 0.99, 0.01
_NEAR, _MOST_REHEARSALS = 0.985, 7


def pure_budget(law, budget):
    """Return the (epsilon, delta) of a trial of which nothing else is known.

    Trials that fail with probability d each, and are pure otherwise, add no more than d E[K] to
    delta; see docs/private_search.md.
    """
    epsilon = min(budget.epsilon, LARGEST_EPSILON)
    delta = budget.delta * ROOM / (2 * law.mean)
    if 0 < delta < _PRECISION:
        raise ValueError(
            f"delta={budget.delta!r} is less than finite precision costs. Set delta=0, or 1e-25 or "
            "more."
        )
    return PrivacyBudget(_pure_epsilon(law, epsilon, budget.delta / 2), delta)


def pure_offer(law, budget, candidates, stand_in):
    """Plan fits by their (epsilon, delta) alone.

    A pure search has the event of its trials, and so has one with delta of which divergences are
    known. Any other is known as (epsilon, delta)-DP and no more: the trials' deltas weigh the more
    the larger the epsilon of a whole composition.
    """
    from skdp.privacy.events import PureReleaseDpEvent, precision_delta_of
    from skdp.privacy.search_events import RandomSearchDpEvent

    trial = pure_budget(law, budget)
    tried = candidates.tried(trial, stand_in)
    if not all(one.keeps(trial) for one in tried):
        raise PrivacyError("A candidate's fit spends more than its share.")
    neighbours = tried[0].statements[0].neighbours
    if budget.delta > 0:
        epsilon = min(budget.epsilon, LARGEST_EPSILON)
        event, score = _event(law, [one.event for one in tried], epsilon, budget)
        if event is None:
            score = trial.epsilon
            event = PureReleaseDpEvent(epsilon, budget.delta, 1.0, "linf", neighbours, 2 / epsilon)
        return Offer(trial, score, event, tried)
    lost = _lost(law, (precision_delta_of(one.event) for one in tried))
    event = RandomSearchDpEvent(trial.epsilon, law.mean, _shape(law), neighbours, lost)
    return Offer(trial, trial.epsilon, event, tried)


def fitted_offer(law, budget, candidates, stand_in):
    """Price fits by the Renyi divergences of what they are; None where none are known.

    The budget that fits are given is only a number that decides how much noise they add. It is
    raised until the search costs its epsilon; then scores take what is left.
    """
    epsilon = min(budget.epsilon, LARGEST_EPSILON)
    delta = budget.delta * (1 - _FOR_PRECISION)
    found = _largest_fits(law, epsilon, delta, budget, candidates, stand_in)
    if found is None:
        return None
    tried = candidates.tried(found, stand_in)
    event, score = _event(law, [one.event for one in tried], epsilon, budget)
    return None if event is None else Offer(found, score, event, tried)


def _largest_fits(law, epsilon, delta, budget, candidates, stand_in):
    """Return the largest budget of a fit that was found to keep the whole, by secants."""
    trial, last, best = pure_budget(law, budget).epsilon, None, None
    slope = 1.0
    for _ in range(_MOST_REHEARSALS):
        share = PrivacyBudget(trial, budget.delta / 2)
        cost = _Cost.of(law, candidates.rehearsed(share, stand_in))
        if cost is None:
            return None
        price = cost.epsilon(None, delta) / (_FITS * epsilon)
        if price <= 1 and (best is None or trial > best.epsilon):
            best = share
        if _NEAR <= price <= 1:
            break
        here = math.log(trial), math.log(max(price, 1e-300))
        if last is not None and here[0] != last[0]:
            slope = min(max((here[1] - last[1]) / (here[0] - last[0]), 0.3), 3.0)
        last = here
        aim = math.log((_NEAR + 1) / 2) - here[1]
        trial = min(math.exp(here[0] + min(max(aim / slope, -3.0), 3.0)), 4 * LARGEST_EPSILON)
    return best


def _event(law, fits, epsilon, budget):
    from skdp.privacy.accounting import epsilon_of
    from skdp.privacy.events import precision_delta_of, relation_of
    from skdp.privacy.search_events import RandomSearchDpEvent

    lost = _lost(law, map(precision_delta_of, fits))
    cost = _Cost.of(law, fits)
    if cost is None or lost > _FOR_PRECISION * budget.delta:
        return None, 0.0
    score = cost.largest_score(epsilon * ROOM, budget.delta * (1 - _FOR_PRECISION))
    if score is None:
        return None, 0.0
    distinct = tuple({repr(fit): fit for fit in fits}.values())
    event = RandomSearchDpEvent(
        score, law.mean, _shape(law), relation_of(fits[0]), lost, fits=distinct
    )
    return (event, score) if epsilon_of(event, budget.delta) <= epsilon else (None, 0.0)


@final
@dataclass(frozen=True, eq=False)
class _Cost:
    """What searches among these fits cost, by the cost of a score.

    Attributes
    ----------
    law : TrialLaw
    events : list of DpEvent
        Fits.
    divergences : ndarray
        The greatest of theirs at each order.
    """

    law: TrialLaw
    events: list[Any]
    divergences: Any

    @classmethod
    def of(cls, law, events):
        """Return the cost, or None where a fit has no known divergence."""
        from skdp.privacy.composition import Parts

        try:
            known = [Parts.of(event).renyi() for event in events]
        except UnsupportedEventError:
            return None
        if any(divergences is None for divergences in known):
            return None
        return cls(law, events, np.maximum.reduce(known))

    def epsilon(self, score, delta):
        """Return the epsilon of the whole, with scores that cost nothing or so much."""
        from skdp.privacy.pure_curve import pure_delta, pure_renyi
        from skdp.privacy.renyi import ORDERS, RenyiCurve

        trial = self.divergences
        if score is not None:
            trial = np.maximum(trial, pure_renyi(score, ORDERS))

        def delta_at(epsilon):
            alone = self._deltas[epsilon] if self.law.is_poisson else 0.0
            return alone if score is None else max(alone, pure_delta(score, epsilon))

        return RenyiCurve(self.law.renyi(trial, delta_at)).epsilon_at(delta)

    def largest_score(self, epsilon, delta):
        """Return the most that a score may cost; None where fits alone cost too much."""
        low, high = math.log(1e-6), math.log(LARGEST_EPSILON)
        if self.epsilon(math.exp(low), delta) > epsilon:
            return None
        for _ in range(40):
            middle = (low + high) / 2
            keeps = self.epsilon(math.exp(middle), delta) <= epsilon
            low, high = (middle, high) if keeps else (low, middle)
        return math.exp(low)

    @cached_property
    def _deltas(self):
        from skdp.privacy.accounting import EventCurve
        from skdp.privacy.renyi import ORDERS

        curves = [EventCurve(event) for event in self.events]
        points = [math.log1p(1 / (order - 1)) for order in ORDERS]
        return {at: max(curve.delta_at(at) for curve in curves) for at in points}


def _lost(law, precisions):
    """What the precision of all trials adds to delta, at any epsilon up to the largest planned."""
    return (1 + math.exp(LARGEST_EPSILON)) * law.mean * (max(precisions) + _PRECISION)


def _pure_epsilon(law, epsilon, delta):
    if delta == 0:
        if law.is_poisson:
            raise ValueError(
                "A Poisson number of trials has no pure guarantee. Set delta above 0, or "
                "trials='logarithmic' or 'geometric'."
            )
        return epsilon * ROOM / (2 + law.shape)
    low, high = math.log(epsilon) - 12, math.log(epsilon)
    for _ in range(40):
        middle = (low + high) / 2
        keeps = _pure_cost(law, math.exp(middle), delta) <= epsilon * ROOM
        low, high = (middle, high) if keeps else (low, middle)
    return math.exp(low)


def _pure_cost(law, trial, delta):
    from skdp.privacy.renyi import RenyiCurve

    pure = math.inf if law.is_poisson else law.guarantee(trial)
    return min(pure, RenyiCurve(law.renyi_of_pure(trial)).epsilon_at(delta))


def _shape(law):
    return "poisson" if law.is_poisson else law.shape

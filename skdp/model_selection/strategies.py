"""How a search is priced and run."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from skdp.exceptions import PrivacyError
from skdp.mechanisms import ExponentialTopK, LaplaceMechanism, SparseSum
from skdp.mechanisms.continuous import uniforms
from skdp.model_selection.candidates import quiet
from skdp.model_selection.plan import Offer
from skdp.model_selection.pricing import LARGEST_EPSILON, ROOM, fitted_offer, pure_offer
from skdp.privacy import PrivacyBudget, Sensitivity
from skdp.privacy.trial_laws import TrialLaw

__all__ = ["ExponentialChoice", "RandomTrials", "Winner"]


@final
@dataclass(frozen=True)
class Winner:
    """What leaves a search: nothing else does."""

    place: int
    model: object
    score: float


@final
@dataclass(frozen=True)
class RandomTrials:
    """The best of K candidates that are drawn with replacement; Papernot and Steinke (2022).

    A trial draws a candidate uniformly, fits it on the training units and releases its score on
    the held-out units with Laplace noise. A unit is in one of the two parts, so that a trial costs
    the greater of the two prices. Trials share the split, which is drawn without looking at rows.
    """

    law: TrialLaw
    theorem = (
        "Papernot and Steinke (2022), Theorems 2 and 6 and Corollary 3: the best of a random "
        "number of trials"
    )

    def offer(self, budget, candidates, stand_in):
        """Return what a trial may cost: by what its fits are, where that is less, or by budgets."""
        by_budget = pure_offer(self.law, budget, candidates, stand_in)
        if budget.delta == 0:
            return by_budget
        by_fits = fitted_offer(self.law, budget, candidates, stand_in)
        if by_fits is None or _noisier(by_fits, by_budget, budget.delta):
            candidates.with_budget(by_budget.fit_budget)
            return by_budget
        return by_fits

    def n_training(self, n_units, n_held_out, n_candidates):
        """Return the number of units of each fit."""
        return n_units - n_held_out

    def n_parts(self, n_candidates):
        """Return the number of parts that fits are divided among."""
        return 1

    def run(self, plan, rows, rng):
        """Return the winner; without any trial, the first candidate fitted on no data."""
        n_trials = int((self.law.survivals() > uniforms(1, rng)[0]).sum())
        draws = (uniforms(n_trials, rng) * len(plan.models)).astype(int) if n_trials else []
        trials = [(place, *_sources(rng)) for place in draws]
        n_held_out = len(plan.parts.held_out)
        noise = LaplaceMechanism.calibrated(
            Sensitivity(1 / n_held_out, "l1", plan.neighbours),
            PrivacyBudget(plan.offer.score * ROOM),
            size=1,
        )

        def one(place, fit_seed, score_rng):
            model = plan.fitted(place, 0, rows, fit_seed)
            exact = plan.score(model, rows) / n_held_out
            released = float(noise.release([exact], score_rng)[0])
            return Winner(int(place), plan.winner(place, model), released)

        # verbose=0 whatever was asked for: a progress bar would show the number of trials.
        with quiet():
            done = Parallel(n_jobs=plan.n_jobs, verbose=0, require="sharedmem")(
                delayed(one)(*trial) for trial in trials
            )
        nothing = Winner(0, plan.winner(0, None), 0.0)
        return max(done, key=lambda winner: winner.score) if done else nothing


@final
@dataclass(frozen=True)
class ExponentialChoice:
    """Each candidate is fitted on units of its own; the exponential mechanism picks one.

    Chaudhuri, Monteleoni and Sarwate (2011), section 6. A unit is in one fit, or held out, so
    that the whole costs what one fit costs. The number of points that a model earns on the held-out
    units moves by at most 1, and one is picked with P(j) ~ exp(epsilon points_j / 2).
    """

    theorem = (
        "Chaudhuri, Monteleoni and Sarwate (2011), section 6: candidates fitted on disjoint parts, "
        "one of them picked by the exponential mechanism on held-out rows"
    )

    def offer(self, budget, candidates, stand_in):
        """Return the budget of one fit: all of it."""
        from skdp.privacy.events import PureReleaseDpEvent

        share = PrivacyBudget(min(budget.epsilon, LARGEST_EPSILON) * ROOM, budget.delta)
        tried = candidates.tried(share, stand_in)
        if not all(one.keeps(share) for one in tried):
            raise PrivacyError("A candidate's fit spends more than its share.")
        # Where delta is above 0, each fit's statement has counted its precision in it.
        lost = (1 + math.exp(share.epsilon)) * max(one.precision for one in tried)
        event = PureReleaseDpEvent(
            share.epsilon,
            budget.delta or lost,
            1.0,
            "linf",
            tried[0].statements[0].neighbours,
            2 / share.epsilon,
        )
        return Offer(share, share.epsilon, event, tried)

    def n_training(self, n_units, n_held_out, n_candidates):
        """Return the number of units of each fit."""
        return (n_units - n_held_out) // n_candidates

    def n_parts(self, n_candidates):
        """Return the number of parts that fits are divided among."""
        return n_candidates

    def run(self, plan, rows, rng):
        """Return the winner, without a score: none is released."""
        n = len(plan.models)
        seeds = [_sources(rng)[0] for _ in range(n)]

        def one(place):
            model = plan.fitted(place, place, rows, seeds[place])
            return plan.winner(place, model), plan.score(model, rows)

        with quiet():
            done = Parallel(n_jobs=plan.n_jobs, verbose=0, require="sharedmem")(
                delayed(one)(place) for place in range(n)
            )
        points = np.array([points for _, points in done], dtype=float)
        pick = ExponentialTopK(
            Sensitivity(1.0, "linf", plan.neighbours),
            n,
            n_selected=1,
            eta=plan.offer.score * ROOM,
        )
        place = int(pick.release(SparseSum(np.arange(n), points, n), rng).indices[0])
        return Winner(place, done[place][0], math.nan)


def _noisier(by_fits, by_budget, delta):
    """Whether fits that are priced by what they are get the less for it."""
    from skdp.privacy.accounting import epsilon_of

    worth = [
        max(epsilon_of(one.event, delta) for one in offer.tried) for offer in (by_fits, by_budget)
    ]
    return worth[0] < worth[1]


def _sources(rng):
    """Return a seed for a fit, None without a seed here, and a source for its score."""
    return int(rng.words(1)[0] >> np.uint64(33)) if rng.seeded else None, rng.spawn()

"""How a search is priced and run."""

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed

from skdp.mechanisms import ExponentialTopK, LaplaceMechanism, SparseSum
from skdp.mechanisms.continuous import uniforms
from skdp.model_selection.candidates import quiet
from skdp.privacy import PrivacyBudget, Sensitivity
from skdp.privacy.trial_laws import TrialLaw

__all__ = ["ExponentialChoice", "RandomTrials", "Winner"]

#: A larger epsilon is planned as this one.
LARGEST_EPSILON = 15.0
#: Far above what finite precision adds to the delta of one fit that asked for 0.
FIT_PRECISION = 1e-20
#: Room for the rounding of the probabilities of the number of trials, and of Gumbel noise.
_ROOM = 1 - 1e-6


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

    A trial draws a candidate uniformly, fits it on the training rows and releases its score on the
    held-out rows with Laplace noise. A record is in one of the two parts, so that a trial costs
    the greater of the two prices. Trials share the split, which is drawn without looking at rows.
    """

    law: TrialLaw
    theorem = (
        "Papernot and Steinke (2022), Theorems 2 and 6 and Corollary 3: the best of a random "
        "number of trials"
    )

    def fit_budget(self, budget, n_candidates):
        """Return the (epsilon, delta) of one trial, from public facts."""
        epsilon = min(budget.epsilon, LARGEST_EPSILON)
        delta = budget.delta / (2 * self.law.mean * (1 + math.exp(epsilon)))
        return PrivacyBudget(self._trial_epsilon(epsilon, budget.delta / 2), delta)

    def _trial_epsilon(self, epsilon, delta):
        if delta == 0:
            if self.law.is_poisson:
                raise ValueError(
                    "A Poisson number of trials has no pure guarantee. Set delta above 0, or "
                    "trials='logarithmic' or 'geometric'."
                )
            return epsilon * _ROOM / (2 + self.law.shape)
        low, high = math.log(epsilon) - 12, math.log(epsilon)
        for _ in range(40):
            middle = (low + high) / 2
            keeps = self._cost(math.exp(middle), delta) <= epsilon * _ROOM
            low, high = (middle, high) if keeps else (low, middle)
        return math.exp(low)

    def _cost(self, trial, delta):
        from skdp.privacy.renyi import RenyiCurve

        pure = math.inf if self.law.is_poisson else self.law.guarantee(trial)
        return min(pure, RenyiCurve(self.law.renyi_of_pure(trial)).epsilon_at(delta))

    def event(self, budget, trial, neighbours):
        """Return what is run, for a ledger."""
        from skdp.privacy.search_events import RandomSearchDpEvent

        epsilon = min(budget.epsilon, LARGEST_EPSILON)
        lost = (1 + math.exp(epsilon)) * self.law.mean * (FIT_PRECISION + 2.0**-100)
        shape = "poisson" if self.law.is_poisson else self.law.shape
        return RandomSearchDpEvent(
            trial.epsilon, self.law.mean, shape, neighbours, max(budget.delta / 2, lost)
        )

    def n_training(self, n_rows, n_held_out, n_candidates):
        """Return the number of rows of each fit."""
        return n_rows - n_held_out

    def run(self, plan, data, rng):
        """Return the winner; without any trial, the first candidate fitted on no data."""
        n_trials = int((self.law.survivals() > uniforms(1, rng)[0]).sum())
        draws = (uniforms(n_trials, rng) * len(plan.models)).astype(int) if n_trials else []
        held_out, train = plan.parts(rng, 1)
        trials = [(place, *_sources(rng)) for place in draws]
        noise = LaplaceMechanism.calibrated(
            Sensitivity(1 / len(held_out), "l1", plan.neighbours),
            PrivacyBudget(plan.fit_budget.epsilon),
            size=1,
        )

        def one(place, fit_seed, score_rng):
            model = plan.fitted(place, data, train[0], fit_seed)
            exact = plan.points(model, data, held_out).sum() / len(held_out)
            return Winner(int(place), model, float(noise.release([exact], score_rng)[0]))

        # verbose=0 whatever was asked for: a progress bar would show the number of trials.
        with quiet():
            done = Parallel(n_jobs=plan.n_jobs, verbose=0, require="sharedmem")(
                delayed(one)(*trial) for trial in trials
            )
        nothing = Winner(0, plan.stand_ins[0], 0.0)
        return max(done, key=lambda winner: winner.score) if done else nothing


@final
@dataclass(frozen=True)
class ExponentialChoice:
    """Each candidate is fitted on rows of its own; the exponential mechanism picks one.

    Chaudhuri, Monteleoni and Sarwate (2011), section 6. A record is in one fit, or held out, so
    that the whole costs what one fit costs. The number of points that a model earns on the held-out
    rows moves by at most 1, and one is picked with P(j) ~ exp(epsilon points_j / 2).
    """

    theorem = (
        "Chaudhuri, Monteleoni and Sarwate (2011), section 6: candidates fitted on disjoint parts, "
        "one of them picked by the exponential mechanism on held-out rows"
    )

    def fit_budget(self, budget, n_candidates):
        """Return the (epsilon, delta) of one fit: all of it."""
        return PrivacyBudget(min(budget.epsilon, LARGEST_EPSILON) * _ROOM, budget.delta)

    def event(self, budget, trial, neighbours):
        """Return what is run, for a ledger."""
        from skdp.privacy.events import PureReleaseDpEvent

        delta = max(budget.delta, (1 + math.exp(trial.epsilon)) * FIT_PRECISION)
        return PureReleaseDpEvent(trial.epsilon, delta, 1.0, "linf", neighbours, 2 / trial.epsilon)

    def n_training(self, n_rows, n_held_out, n_candidates):
        """Return the number of rows of each fit."""
        return (n_rows - n_held_out) // n_candidates

    def run(self, plan, data, rng):
        """Return the winner, without a score: none is released."""
        n = len(plan.models)
        held_out, train = plan.parts(rng, n)
        seeds = [_sources(rng)[0] for _ in range(n)]

        def one(place):
            model = plan.fitted(place, data, train[place], seeds[place])
            return model, plan.points(model, data, held_out).sum()

        with quiet():
            done = Parallel(n_jobs=plan.n_jobs, verbose=0, require="sharedmem")(
                delayed(one)(place) for place in range(n)
            )
        points = np.array([points for _, points in done], dtype=float)
        pick = ExponentialTopK(
            Sensitivity(1.0, "linf", plan.neighbours),
            n,
            n_selected=1,
            eta=plan.fit_budget.epsilon * _ROOM,
        )
        place = int(pick.release(SparseSum(np.arange(n), points, n), rng).indices[0])
        return Winner(place, done[place][0], math.nan)


def _sources(rng):
    """Return a seed for a fit, None without a seed here, and a source for its score."""
    return int(rng.words(1)[0] >> np.uint64(33)) if rng.seeded else None, rng.spawn()


@final
@dataclass(frozen=True, eq=False)
class Plan:
    """What was fixed before the rows were looked at."""

    models: list[Any]
    stand_ins: list[Any]
    fit_budget: PrivacyBudget
    neighbours: object
    n_rows: int
    n_held_out: int
    n_training: int
    points_of: object
    n_jobs: int | None

    def parts(self, rng, n_parts):
        """Return held-out rows and the rows of each fit, in an order that no row decides."""
        order = rng.generator().permutation(self.n_rows)
        held_out, rest = order[: self.n_held_out], order[self.n_held_out :]
        return held_out, [
            rest[i * self.n_training : (i + 1) * self.n_training] for i in range(n_parts)
        ]

    def fitted(self, place, data, rows, seed):
        """Return a candidate, fitted on some rows."""
        from skdp.model_selection.candidates import private_steps

        model = clone(self.models[place])
        for i, step in enumerate(private_steps(model)):
            step.set_params(random_state=None if seed is None else seed + i)
        X, y = data
        return model.fit(_safe_indexing(X, rows), y[rows])

    def points(self, model, data, rows):
        """Return what each of some rows earns the model, in [0, 1]."""
        X, y = data
        with np.errstate(all="ignore"):
            earned = self.points_of(model.predict(_safe_indexing(X, rows)), y[rows])
        return np.clip(np.nan_to_num(np.asarray(earned, dtype=float)), 0.0, 1.0)

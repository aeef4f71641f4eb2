"""Cases of `benchmarks/audits.py`: searches in which a row that is held out decides who wins."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from benchmarks.audit_cases import Case
from benchmarks.audit_powerful import first_number, with_control
from benchmarks.audit_theory import SearchLaw, chosen_by_exponential
from skdp.audit import Event, NeighbouringPair
from skdp.privacy.trial_laws import TrialLaw

#: So many times the epsilon is spent in the control of a search.
_LOUDER = 6.0
CONTROL_FITS = 150
_CANDIDATES, _ROWS = 6, 600
#: Values that tell the odd candidate.
_SCALE, _STRENGTH = 3.0, 1e6


@dataclass(frozen=True)
class Winner:
    """Whether the odd candidate won, and its score: points beyond those that all earn.

    Attributes
    ----------
    parameter : str
        Whose value tells the odd candidate.
    value : float
        That of the odd candidate.
    shared : int
        Points that every candidate earns on the other rows.
    held_out : int
        Rows that are held out.
    """

    parameter: str
    value: float
    shared: int
    held_out: int

    def __call__(self, model: Any) -> Any:
        """Return both, shape (2,); a score that is not released is 0."""
        score = np.nan_to_num(model.best_score_ * self.held_out - self.shared)
        return np.array([float(model.best_params_[self.parameter] == self.value), score])


def odd_and_score(outputs: Any) -> Any:
    """Who won, and the score; of all fits, behind their two columns."""
    return outputs[:, 2] == 1.0, outputs[:, 3]


def searches(n_fits: int) -> Iterator[Case]:
    """Searches in which a row that is held out decides who wins.

    All other rows are alike, and so are their points. The scale of the intercept decides what is
    predicted for the canary, on the other side of 0, where the score is the intercept less the
    coefficient: one candidate has a large one. Of numbers, one candidate predicts 0, the others 1,
    which earns the canary a point if it is there.
    """
    from skdp.linear_model import PrivateElasticNet, PrivateElasticNetClassifier
    from skdp.model_selection import PrivateGridSearchCV, PrivateRandomizedSearchCV

    of_classes = PrivateElasticNetClassifier(alpha=10.0, l1_ratio=0.0, classes=[0, 1])
    scales = [
        {"intercept_scaling": [_SCALE], "alpha": [10.0]},
        {"intercept_scaling": [0.3], "alpha": [10.0, 10.5, 11.0, 11.5, 12.0]},
    ]
    strengths = [{"alpha": [_STRENGTH]}, {"alpha": [2.0, 2.01, 2.02, 2.03, 2.04]}]
    given = {"epsilon": 2.0, "held_out": 0.98}
    many, all_of_them = {**given, "n_trials": 5.0}, {"n_iter": _CANDIDATES}
    grid = PrivateGridSearchCV(of_classes, scales, **many)
    yield _best_of_some(grid, _of_classes(grid, _ROWS), n_fits)
    drawn = PrivateRandomizedSearchCV(
        of_classes, scales, trials="poisson", delta=1e-6, n_trials=2.0, **all_of_them, **given
    )
    yield _best_of_some(drawn, _of_classes(drawn, _ROWS), n_fits // 3)
    of_numbers = PrivateElasticNet(alpha=2.0, l1_ratio=0.0)
    numbers = PrivateRandomizedSearchCV(
        of_numbers, strengths, error_bound=0.5, **all_of_them, **many
    )
    yield _best_of_some(numbers, _of_numbers(numbers, 5 * _ROWS), n_fits)
    picked = PrivateGridSearchCV(of_classes, scales, strategy="exponential", **given)
    yield _one_of_all(picked, _of_classes(picked, 6 * _ROWS), 2 * n_fits // 3)


def law_of(search: Any, pair: NeighbouringPair) -> SearchLaw:
    """Return which candidate wins, and how, on a pair of these."""
    trials = TrialLaw(search.n_trials, math.inf if search.trials == "poisson" else 0.0)
    epsilon = float(clone(search).fit(*pair.data).privacy_.curve.event.epsilon)
    # Of classes, the row in the place of a canary that is not held out earns a point as all others.
    missed = float(pair.release.shared > 0)
    return SearchLaw(trials, _CANDIDATES, epsilon, search.held_out, missed)


def _best_of_some(search: Any, pair: NeighbouringPair, n_fits: int) -> Case:
    """The best of a random number of trials."""
    control = clone(search).set_params(epsilon=_LOUDER * search.epsilon)
    law, loud = law_of(search, pair), law_of(control, pair)
    honest = replace(pair, event=law.event(n_fits, odd_and_score))
    seen, share = loud.event(CONTROL_FITS, odd_and_score), law.epsilon / loud.epsilon
    return _case(search, honest, n_fits, law.largest, seen, share)


def _one_of_all(search: Any, pair: NeighbouringPair, n_fits: int) -> Case:
    """One that is picked by the exponential mechanism, whose score is not released."""
    theory = chosen_by_exponential(search.epsilon, _CANDIDATES, search.held_out)
    won = Event(first_number, 0.5, "the odd candidate wins")
    return _case(search, replace(pair, event=won), n_fits, theory, won, 1 / _LOUDER)


def _case(
    search: Any, pair: NeighbouringPair, n_fits: int, theory: float, event: Event, share: float
) -> Case:
    loud = _LOUDER * search.epsilon
    case = with_control(search, pair, n_fits, theory, loud, share, CONTROL_FITS)
    return replace(case, control_event=event)


def _of_classes(search: Any, n: int) -> NeighbouringPair:
    X = np.full((n, 1), -1.0)
    X[0] = 1.0
    first, second = np.ones(n, dtype=int), np.ones(n, dtype=int)
    second[0] = 0
    n_held_out = round(search.held_out * n)
    release = Winner("intercept_scaling", _SCALE, n_held_out - 1, n_held_out)
    return _pair((X, first), (X, second), release)


def _of_numbers(search: Any, n: int) -> NeighbouringPair:
    X, first = np.full((n, 1), -1.0), np.full(n, 5.0)
    second = first.copy()
    first[0], second[0] = 0.0, 1.0
    return _pair((X, first), (X, second), Winner("alpha", _STRENGTH, 0, round(search.held_out * n)))


def _pair(data: Any, neighbour: Any, release: Winner) -> NeighbouringPair:
    why = "scores that are not noisy"
    return NeighbouringPair("row that decides", data, neighbour, why, release=release)

"""Events that tell the releases on D from those on D', chosen on fits that are not counted.

A bad choice costs power, never validity: the event is counted on fresh fits.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from skdp.audit.counts import at_least, at_most, epsilon_shown, mu_shown

__all__ = ["Event", "Gain", "choose_event", "epsilon_gain", "mu_gain"]

Outputs = NDArray[np.float64]
Gain = Callable[[Any, Any], Any]

#: How often a bound used for choosing may be wrong.
_LAX = 0.02
_N_THRESHOLDS = 80
_N_NUMBERS = 6
_LEAST_TO_LEARN = 40


@final
@dataclass(frozen=True)
class Event:
    """``score(output) >= threshold``, likelier on D than on D'.

    Attributes
    ----------
    score : callable
        Maps outputs of shape (n_fits, n_numbers) to shape (n_fits,).
    threshold : float
        Where the event begins.
    name : str
        What the score is, in words.
    """

    score: Callable[[Outputs], Outputs]
    threshold: float
    name: str = "given"

    def happened(self, outputs: Outputs) -> NDArray[np.bool_]:
        """Return in which of the fits it happened."""
        return np.asarray(self.score(outputs)) >= self.threshold


def epsilon_gain(delta: float) -> Gain:
    """Gain of an event whose bounds show an epsilon."""
    return lambda likely, unlikely: epsilon_shown(likely, unlikely, delta)


def mu_gain(likely: Any, unlikely: Any) -> Any:
    """Gain of an event whose bounds show the mu of a Gaussian trade-off curve."""
    return mu_shown(likely, unlikely)


def choose_event(
    first: Outputs,
    second: Outputs,
    *,
    trials: int,
    error_rate: float,
    gain: Gain,
    score: Callable[[Outputs], Outputs] | None = None,
) -> Event:
    """Return the event that promises to show most when it is counted in fresh fits.

    Parameters
    ----------
    first, second : ndarray of shape (n_fits, n_numbers)
        Held-out outputs on D and D'. Scores that are learned are learned on one half of them.
    trials : int
        How many fresh fits there will be on either.
    error_rate : float
        Of the confidence bounds then.
    gain : callable
        What is to be shown, by the bounds on the two probabilities.
    score : callable, default=None
        The only score to choose a threshold for.
    """
    scores = _scores(first, second) if score is None else [("given", score, 0.0)]
    best, found = (-np.inf, -np.inf), None
    for name, rule, share in scores:
        fresh = [some[round(share * len(some)) :] for some in (first, second)]
        for sign in (1.0, -1.0):
            signed = _signed(rule, sign)
            threshold, value = _best_threshold(
                signed(fresh[0]), signed(fresh[1]), trials, error_rate, gain
            )
            if value > best:
                best, found = value, Event(signed, threshold, name)
    assert found is not None
    return found


def _signed(rule: Callable[[Outputs], Outputs], sign: float) -> Callable[[Outputs], Outputs]:
    return rule if sign > 0 else lambda outputs: -rule(outputs)


def _best_threshold(
    scores: Outputs, others: Outputs, trials: int, error_rate: float, gain: Gain
) -> tuple[float, tuple[float, float]]:
    both = np.concatenate([scores, others])
    # Ties are cut between, so that rounding does not move an output across.
    values = np.unique(np.quantile(both, np.linspace(0.002, 0.998, _N_THRESHOLDS)))
    distinct = np.unique(both)
    if len(distinct) <= _N_THRESHOLDS:
        values = distinct
    slack = 1e-9 * max(1e-300, float(np.abs(values).max()))
    thresholds = values - slack
    hits, hits_other = (
        (len(some) - np.searchsorted(np.sort(some), thresholds)).astype(float)
        for some in (scores, others)
    )
    # Shares that are plausible rather than those seen: a rare event seen never is not impossible.
    likely = at_least(hits, len(scores), _LAX)
    unlikely = at_most(hits_other, len(others), _LAX)
    counted = gain(
        at_least(likely * trials, trials, error_rate / 2),
        at_most(unlikely * trials, trials, error_rate / 2),
    )
    plain = gain(likely, unlikely)
    place = max(range(len(thresholds)), key=lambda i: (counted[i], plain[i]))
    return float(thresholds[place]), (float(counted[place]), float(plain[place]))


# ------------------------------------------------------------------------------------------ scores


@final
@dataclass(frozen=True)
class _Standardised:
    """Numbers that vary or differ, centred between the data sets, in units of their spread."""

    columns: NDArray[np.intp]
    middle: Outputs
    spread: Outputs
    means: tuple[Outputs, Outputs]

    @classmethod
    def of(cls, first: Outputs, second: Outputs) -> "_Standardised":
        both = np.concatenate([first, second])
        columns = np.flatnonzero((both != both[0]).any(axis=0))
        first, second = first[:, columns], second[:, columns]
        medians = np.median(first, axis=0), np.median(second, axis=0)
        middle = (medians[0] + medians[1]) / 2
        spread = sum(
            np.median(np.abs(some - median), axis=0)
            for some, median in zip((first, second), medians, strict=True)
        )
        apart = np.abs(medians[0] - medians[1])
        largest = np.abs(both[:, columns]).max(axis=0)
        spread = np.where(spread > 0, spread, np.where(apart > 0, apart, np.maximum(largest, 1.0)))
        return cls(columns, middle, spread, tuple((median - middle) / spread for median in medians))

    def __call__(self, outputs: Outputs) -> Outputs:
        scaled = (outputs[:, self.columns] - self.middle) / self.spread
        return np.clip(scaled, -1e6, 1e6)


_Scored = tuple[str, Callable[[Outputs], Outputs], float]


def _scores(first: Outputs, second: Outputs) -> Iterator[_Scored]:
    """Yield names, scores, and the share of the outputs that a score was learned on."""
    numbers = _Standardised.of(first, second)
    if not len(numbers.columns):
        yield "nothing varies", lambda outputs: np.zeros(len(outputs)), 0.0
        return
    one, other = numbers(first), numbers(second)
    for place in _most_telling(one, other):
        yield f"number {numbers.columns[place]}", _One(numbers, place), 0.0
    for place in _most_telling(np.abs(one), np.abs(other)):
        yield f"size of number {numbers.columns[place]}", _One(numbers, place, size=True), 0.0
    yield "along the difference of medians", _Along(numbers), 0.0
    yield "nearer in the L2 norm", _Nearer(numbers, 2), 0.0
    yield "nearer in the L1 norm", _Nearer(numbers, 1), 0.0
    if len(first) >= _LEAST_TO_LEARN:
        half, rest = len(one) // 2, len(other) // 2
        yield from _learned(numbers, one[:half], other[:rest])


def _most_telling(one: Outputs, other: Outputs) -> list[int]:
    """Columns by the area under their ROC curve, the most telling first."""
    from scipy.stats import rankdata

    n, m = len(one), len(other)
    ranks = rankdata(np.concatenate([one, other]), axis=0)[:n].sum(axis=0)
    area = (ranks - n * (n + 1) / 2) / (n * m)
    return [int(i) for i in np.argsort(-np.abs(area - 0.5))[:_N_NUMBERS]]


@final
@dataclass(frozen=True)
class _One:
    numbers: _Standardised
    place: int
    size: bool = False

    def __call__(self, outputs: Outputs) -> Outputs:
        column = self.numbers(outputs)[:, self.place]
        return np.abs(column) if self.size else column


@final
@dataclass(frozen=True)
class _Along:
    numbers: _Standardised

    def __call__(self, outputs: Outputs) -> Outputs:
        means = self.numbers.means
        return self.numbers(outputs) @ (means[0] - means[1])


@final
@dataclass(frozen=True)
class _Nearer:
    numbers: _Standardised
    order: int

    def __call__(self, outputs: Outputs) -> Any:
        scaled, means = self.numbers(outputs), self.numbers.means
        far = [np.linalg.norm(scaled - mean, ord=self.order, axis=1) for mean in means]
        return far[1] - far[0]


def _learned(numbers: _Standardised, one: Outputs, other: Outputs) -> Iterator[_Scored]:
    from sklearn.linear_model import LogisticRegression
    from sklearn.tree import DecisionTreeClassifier

    both = np.concatenate([one, other])
    is_first = np.repeat([1, 0], [len(one), len(other)])
    kept = np.array(_most_telling(one, other) + _most_telling(np.abs(one), np.abs(other)))
    kept = np.unique(kept)
    for name, model, features in (
        ("logistic regression", LogisticRegression(C=1.0, max_iter=300), _with_sizes),
        ("a decision tree", DecisionTreeClassifier(max_leaf_nodes=12, random_state=0), _unchanged),
    ):
        model.fit(features(both[:, kept]), is_first)
        yield name, _Learned(numbers, kept, features, model), 0.5


def _with_sizes(scaled: Outputs) -> Outputs:
    bounded = np.clip(scaled, -30, 30) / 3
    return np.hstack([bounded, np.abs(bounded)])


def _unchanged(scaled: Outputs) -> Outputs:
    return scaled


@final
@dataclass(frozen=True)
class _Learned:
    numbers: _Standardised
    kept: NDArray[np.intp]
    features: Callable[[Outputs], Outputs]
    model: Any

    def __call__(self, outputs: Outputs) -> Any:
        inputs = self.features(self.numbers(outputs)[:, self.kept])
        return self.model.predict_proba(inputs)[:, 1]

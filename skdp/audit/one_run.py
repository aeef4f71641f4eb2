"""A lower bound on epsilon from a single fit: many canaries, each in or out by its own coin."""

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import bdtrc, expit, gammaln

from skdp._random import RandomSource
from skdp.audit.claims import Claim
from skdp.audit.facts import Facts
from skdp.audit.fits import call_fit, fresh
from skdp.audit.pictures import axes_for
from skdp.privacy import Neighbours

__all__ = ["OneRunAudit", "audit_one_run", "epsilon_of_guesses", "guessing_p_value"]

_LARGEST_EPSILON = 50.0
#: Shares of the canaries that are guessed, the others left open; each at its part of the error.
_SHARES = (0.1, 0.3, 1.0)


def guessing_p_value(
    n_canaries: int, n_guesses: int, n_right: int, epsilon: float, delta: float = 0.0
) -> float:
    """P(B >= v) + 2 m delta max over i of P(v - i <= B < v)/i, B ~ Bin(r, e^eps/(1 + e^eps)).

    How likely an attacker on an (epsilon, delta)-private run is, at most, to guess so many coins.

    Parameters
    ----------
    n_canaries : int
        m, coins that were flipped.
    n_guesses : int
        r, coins that were guessed.
    n_right : int
        v, guesses that were right.
    epsilon, delta : float
        The hypothesis.

    Returns
    -------
    float
        In [0, 1].

    References
    ----------
    Steinke, Nasr and Jagielski (2023), Privacy auditing with one (1) training run, Theorem 5.2.

    Examples
    --------
    >>> round(guessing_p_value(100, 100, 80, 1.0), 3)
    0.072
    """
    chance = float(expit(epsilon))
    tail = float(bdtrc(n_right - 1, n_guesses, chance)) if n_right > 0 else 1.0
    if delta == 0 or n_right == 0:
        return min(1.0, tail)
    below = np.arange(n_right - 1, -1, -1.0)
    logs = gammaln(n_guesses + 1) - gammaln(below + 1) - gammaln(n_guesses - below + 1)
    # 1 - chance by its own formula: it is tiny where epsilon is large.
    logs = logs + below * math.log(chance) + (n_guesses - below) * math.log(float(expit(-epsilon)))
    largest = float((np.cumsum(np.exp(logs)) / np.arange(1, n_right + 1)).max())
    return min(1.0, tail + 2 * n_canaries * delta * largest)


def epsilon_of_guesses(
    n_canaries: int, n_guesses: int, n_right: int, *, delta: float = 0.0, error_rate: float = 0.05
) -> float:
    """Return the largest epsilon whose p-value is at most `error_rate`, at least 0.

    Examples
    --------
    >>> round(epsilon_of_guesses(1000, 100, 100), 2)
    3.49
    """

    def excess(epsilon: float) -> float:
        value = guessing_p_value(n_canaries, n_guesses, n_right, epsilon, delta)
        return value - error_rate

    if n_guesses == 0 or excess(0.0) > 0:
        return 0.0
    if excess(_LARGEST_EPSILON) <= 0:
        return _LARGEST_EPSILON
    # Bisection keeps the side on which the p-value is small enough.
    low, high = 0.0, _LARGEST_EPSILON
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) <= 0 else (low, middle)
    return low


@final
@dataclass(frozen=True)
class OneRunAudit:
    """What one fit showed.

    Attributes
    ----------
    claim : Claim
        What was claimed.
    epsilon : float
        With probability `confidence`, no smaller epsilon is true at the claimed delta.
    n_canaries, n_guesses, n_right : int
        Of the number of guesses that showed most.
    confidence : float
        Of `epsilon`, the choice of the number of guesses included.
    scores : ndarray of shape (n_canaries,)
        How much the fit looks as if a canary's coin was heads.
    coins : ndarray of bool, shape (n_canaries,)
        Which canaries were in, or had their first label.
    """

    claim: Claim
    epsilon: float
    n_canaries: int
    n_guesses: int
    n_right: int
    confidence: float
    scores: NDArray[np.float64]
    coins: NDArray[np.bool_]

    @property
    def accuses(self) -> bool:
        """Whether more was shown than is claimed."""
        return self.claim.epsilon is not None and self.epsilon > self.claim.epsilon

    def sentence(self) -> str:
        """Say in one sentence what was found."""
        found = (
            f"{self.n_right} of {self.n_guesses} guesses were right, for {self.n_canaries} "
            f"canaries in one fit: with confidence {self.confidence:g}, epsilon is at least "
            f"{self.epsilon:.3g} at delta = {self.claim.delta:g}"
        )
        if self.accuses:
            return f"{found}; the claim of {self.claim} is FALSE."
        return f"{found}; the claim was {self.claim}."

    def plot(self, ax: Any = None) -> Any:
        """Draw the scores of canaries by their coins; return the matplotlib axes."""
        ax = axes_for(ax, self.sentence())
        edges = np.histogram_bin_edges(self.scores, 30)
        for coin, label, colour in ((True, "in", "#0072B2"), (False, "out", "#D55E00")):
            ax.hist(
                self.scores[self.coins == coin], edges, histtype="step", label=label, color=colour
            )
        ax.set_xlabel("score of a canary")
        ax.set_ylabel("canaries")
        ax.legend(frameon=False)
        return ax

    def __str__(self) -> str:
        return self.sentence()


def audit_one_run(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    n_canaries: int = 200,
    coins: str = "auto",
    epsilon: float | None = None,
    delta: float | None = None,
    confidence: float = 0.95,
    random_state: int | None = None,
) -> OneRunAudit:
    """Bound epsilon from below by one fit, in which canaries are in or out by coins.

    Each canary has a feature of its own, a new column in which nobody else has a number: the
    record that a linear model remembers best. The attacker sees what the model answers to a
    canary, and guesses the coins of which that makes it surest.

    Parameters
    ----------
    estimator : estimator
        Copied and fitted once, on `X` with `n_canaries` columns more. Its own random state is
        not used.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Ordinary rows.
    y : array-like of shape (n_samples,)
        Two classes, or numbers.
    n_canaries : int, default=200
        More canaries show more, and disturb each other more.
    coins : {"auto", "membership", "label"}, default="auto"
        Whether a coin decides that a canary is there, or which of two labels it has. The second
        one leaves the number of rows as it is: right for replace-one. For zero-out estimators it
        counts as two records, whose claim is extended; "auto" follows the relation.
    epsilon, delta : float, default=None
        What is claimed; None reads the parameters of the estimator.
    confidence : float, default=0.95
        In (0, 1).
    random_state : int, default=None
        Determines coins and noise.

    Returns
    -------
    OneRunAudit
        The bound, with its sentence and plot.

    References
    ----------
    Steinke, Nasr and Jagielski (2023), Privacy auditing with one (1) training run.

    Examples
    --------
    >>> from skdp.audit import audit_one_run
    >>> from skdp.linear_model import PrivateElasticNetClassifier
    >>> X, y = [[1.0], [-1.0]] * 20, [1, 0] * 20
    >>> audit = audit_one_run(PrivateElasticNetClassifier(epsilon=4.0), X, y, n_canaries=20)
    >>> audit.accuses
    False
    """
    if n_canaries < 1:
        raise ValueError(f"n_canaries must be at least 1, got {n_canaries!r}.")
    if coins not in ("auto", "membership", "label"):
        raise ValueError(f'coins must be "auto", "membership" or "label", got {coins!r}.')
    claim, facts = Claim.of(estimator, epsilon, delta), Facts.of(estimator)
    by_label = coins == "label" or (
        coins == "auto" and facts.relation is not Neighbours.ADD_OR_REMOVE_ONE
    )
    if by_label and facts.relation is not Neighbours.REPLACE_ONE:
        claim = claim.at_distance(2)
    source = RandomSource.for_state(random_state)
    heads = source.generator().random(n_canaries) < 0.5
    rows, canaries = _with_new_columns(X, n_canaries, facts.row_norm)
    found = np.unique(np.asarray(y))[[-1, 0]] if facts.kind == "classifier" else facts.labels[::-1]
    high, low = found
    kept = np.ones(n_canaries, dtype=bool) if by_label else heads
    labels = np.where(heads, high, low) if by_label else np.full(n_canaries, high)
    data = _stack(rows, canaries[kept]), np.concatenate([np.asarray(y), labels[kept]])
    model = call_fit(fresh(estimator, random_state), data)
    answers = _answers(model, canaries, high)
    return _guessed(claim, np.asarray(answers), heads, confidence)


def _guessed(
    claim: Claim, scores: NDArray[np.float64], heads: NDArray[np.bool_], confidence: float
) -> OneRunAudit:
    """Guess heads for the highest scores and tails for the lowest ones, in three numbers."""
    m, error_rate = len(heads), (1 - confidence) / len(_SHARES)
    order, best = np.argsort(scores, kind="stable"), (-1.0, 0, 0)
    for share in _SHARES:
        each = max(1, int(share * m / 2)) if m > 1 else 0
        right = int(heads[order[m - each :]].sum() + (~heads[order[:each]]).sum())
        shown = epsilon_of_guesses(m, 2 * each, right, delta=claim.delta, error_rate=error_rate)
        best = max(best, (shown, 2 * each, right))
    return OneRunAudit(claim, best[0], m, best[1], best[2], confidence, scores, heads)


def _with_new_columns(X: Any, n: int, norm: float) -> tuple[Any, Any]:
    """Return the rows with n empty columns, and one row for each of the columns."""
    if sparse.issparse(X):
        rows = sparse.hstack([X, sparse.csr_array((X.shape[0], n))], format="csr")
        own = sparse.csr_array(sparse.eye_array(n, format="csr") * norm)
        return rows, sparse.hstack([sparse.csr_array((n, X.shape[1])), own], format="csr")
    X = np.asarray(X, dtype=float)
    rows = np.hstack([X, np.zeros((len(X), n))])
    return rows, np.hstack([np.zeros((n, X.shape[1])), norm * np.eye(n)])


def _stack(rows: Any, canaries: Any) -> Any:
    if sparse.issparse(rows):
        return sparse.vstack([rows, canaries], format="csr")
    return np.vstack([rows, canaries])


def _answers(model: Any, rows: Any, label: Any) -> Any:
    """How much the model is for `label`, for each of the rows."""
    if hasattr(model, "decision_function"):
        found = np.asarray(model.decision_function(rows), dtype=float)
        return found if found.ndim == 1 else found[:, list(model.classes_).index(label)]
    if hasattr(model, "predict_proba"):
        return model.predict_proba(rows)[:, list(model.classes_).index(label)]
    return np.asarray(model.predict(rows), dtype=float)

"""A lower bound on epsilon from a single fit: many canaries, each in or out by its own coin."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skdp._random import RandomSource
from skdp.audit.claims import Claim
from skdp.audit.facts import Facts, has_no_constant
from skdp.audit.fits import call_fit, fresh
from skdp.audit.guesses import epsilon_of_guesses
from skdp.audit.pictures import axes_for
from skdp.privacy import Neighbours

__all__ = ["OneRunAudit", "audit_one_run"]

#: Shares of the canaries that are guessed, the others left open; each at its part of the error.
_SHARES = (0.1, 0.3, 1.0)
_COINS = ("membership", "null", "label")
_SEEDS = 2**31


@final
@dataclass(frozen=True)
class OneRunAudit:
    """What one fit showed.

    Attributes
    ----------
    claim : Claim
        What was claimed of one record.
    epsilon : float
        With probability `confidence`, no smaller epsilon is true of one record at the claimed
        delta.
    n_canaries, n_guesses, n_right : int
        Of the number of guesses that showed most.
    confidence : float
        Of `epsilon`, the choice of the number of guesses included.
    scores : ndarray of shape (n_canaries,)
        How much the fit looks as if a canary's coin was heads.
    coins : ndarray of bool, shape (n_canaries,)
        Which canaries were in, or had their first label.
    kind : {"membership", "null", "label"}
        What the coins decided.
    distance : int
        How many records a coin changed.
    """

    claim: Claim
    epsilon: float
    n_canaries: int
    n_guesses: int
    n_right: int
    confidence: float
    scores: NDArray[np.float64]
    coins: NDArray[np.bool_]
    kind: str = "label"
    distance: int = 1

    @property
    def accuses(self) -> bool:
        """Whether more was shown than is claimed."""
        return self.claim.epsilon is not None and self.epsilon > self.claim.epsilon

    def sentence(self) -> str:
        """Say in one sentence what was found."""
        found = (
            f"{self.n_right} of {self.n_guesses} guesses were right, for {self.n_canaries} "
            f"canaries in one fit{self._apart()}: with confidence {self.confidence:g}, epsilon is "
            f"at least {self.epsilon:.3g} at delta = {self.claim.delta:g}"
        )
        if self.claim.epsilon is None:
            return f"{found}; nothing was claimed."
        if self.accuses:
            return f"{found}; the claim of {self.claim} is FALSE."
        return f"{found}: no contradiction to the claim of {self.claim}, which is no proof of it."

    def _apart(self) -> str:
        return "" if self.distance == 1 else f", whose coins change {self.distance} records each"

    def plot(self, ax: Any = None) -> Any:
        """Draw the scores of canaries by their coins; return the matplotlib axes."""
        ax = axes_for(ax, self.sentence())
        edges = np.histogram_bin_edges(self.scores, 30)
        names = ("first label", "second label") if self.kind == "label" else ("in", "out")
        for coin, label, colour in zip((True, False), names, ("#0072B2", "#D55E00"), strict=True):
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
    relation: Any = None,
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
    coins : {"auto", "membership", "null", "label"}, default="auto"
        What a coin decides. "membership": whether a canary is there, which is what
        add-or-remove-one is about, and no other relation. "null": whether it is there or a row of
        zeros in its place; to a linear model without a constant column such a row is the null
        record of zero-out. "label": which of two labels it has. Where a coin comes to a record
        taken out and another one put in, it counts as two. "auto" takes the first of the three
        that is one record under the relation, "label" where none is.
    relation : Neighbours or str, default=None
        What neighbours are; None reads it, and takes replace-one where nothing is said.
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
    if coins not in ("auto", *_COINS):
        raise ValueError(f'coins must be "auto" or one of {_COINS}, got {coins!r}.')
    claim, facts = Claim.of(estimator, epsilon, delta), Facts.of(estimator, relation)
    if facts.kind == "transformer":
        raise ValueError("An audit of one run needs a classifier or a regressor.")
    kind, distance = _coins(coins, facts.relation, no_constant=has_no_constant(estimator))
    source = RandomSource.for_state(random_state)
    # The theorem wants coins that are independent of the noise, also of seeded noise.
    heads = source.spawn().generator().random(n_canaries) < 0.5
    seed = None if random_state is None else int(source.words(1)[0] % _SEEDS)
    rows, canaries = _with_new_columns(X, n_canaries, facts.row_norm)
    y = np.asarray(y)
    high, low = _labels(y, facts)
    labels = np.where(heads | (kind != "label"), high, low)
    kept = heads | (kind != "membership")
    # Heads or not, a row is there; of tails it is one of zeros.
    given = _scaled(canaries, heads) if kind == "null" else canaries
    data = _stack(rows, given[kept]), np.concatenate([y, labels[kept]])
    model = call_fit(fresh(estimator, seed), data)
    scores = np.asarray(_answers(model, canaries, high), dtype=float)
    return _guessed(claim, scores, heads, confidence, kind, distance)


def _coins(coins: str, relation: Neighbours, *, no_constant: bool) -> tuple[str, int]:
    """Return what a coin decides, and how many records of the relation its change amounts to."""
    if coins == "membership" and relation is not Neighbours.ADD_OR_REMOVE_ONE:
        raise ValueError(
            f'coins="membership" changes the number of rows, of which {relation.value} says '
            'nothing. Use coins="null" or "label", or say relation="add-or-remove-one" if that is '
            "what is claimed."
        )
    one = {
        Neighbours.ADD_OR_REMOVE_ONE: ["membership"],
        Neighbours.REPLACE_ONE: ["label", "null"],
        Neighbours.ZERO_OUT: ["null"] if no_constant else [],
    }[relation]
    kind = coins if coins != "auto" else (one or ["label"])[0]
    return kind, 1 if kind in one else 2


def _labels(y: NDArray[Any], facts: Facts) -> tuple[Any, Any]:
    """Return the two labels of canaries, in whose direction a model answers, and the other one."""
    if facts.kind == "regressor":
        return facts.labels[-1], facts.labels[0]
    found = np.unique(y)
    if len(found) < 2:
        raise ValueError("y must have two classes at least.")
    return found[-1], found[0]


def _guessed(
    claim: Claim,
    scores: NDArray[np.float64],
    heads: NDArray[np.bool_],
    confidence: float,
    kind: str,
    distance: int,
) -> OneRunAudit:
    """Guess heads for the highest scores and tails for the lowest ones, in three numbers."""
    m, error_rate = len(heads), (1 - confidence) / len(_SHARES)
    order, best = np.argsort(scores, kind="stable"), (-1.0, 0, 0)
    for share in _SHARES:
        each = max(1, int(share * m / 2)) if m > 1 else 0
        right = int(heads[order[m - each :]].sum() + (~heads[order[:each]]).sum())
        shown = epsilon_of_guesses(
            m, 2 * each, right, delta=claim.delta, error_rate=error_rate, distance=distance
        )
        best = max(best, (shown, 2 * each, right))
    return OneRunAudit(
        claim, best[0], m, best[1], best[2], confidence, scores, heads, kind, distance
    )


def _with_new_columns(X: Any, n: int, norm: float) -> tuple[Any, Any]:
    """Return the rows with n empty columns, and one row for each of the columns."""
    if sparse.issparse(X):
        rows = sparse.hstack([X, sparse.csr_array((X.shape[0], n))], format="csr")
        own = sparse.csr_array(sparse.eye_array(n, format="csr") * norm)
        return rows, sparse.hstack([sparse.csr_array((n, X.shape[1])), own], format="csr")
    X = np.asarray(X, dtype=float)
    rows = np.hstack([X, np.zeros((len(X), n))])
    return rows, np.hstack([np.zeros((n, X.shape[1])), norm * np.eye(n)])


def _scaled(rows: Any, factors: NDArray[np.bool_]) -> Any:
    """Return rows, those of factor 0 as zeros."""
    if sparse.issparse(rows):
        return sparse.csr_array(sparse.diags_array(factors.astype(float)) @ rows)
    return rows * factors[:, None]


def _stack(rows: Any, canaries: Any) -> Any:
    if sparse.issparse(rows):
        return sparse.vstack([rows, canaries], format="csr")
    return np.vstack([rows, canaries])


def _answers(model: Any, rows: Any, label: Any) -> Any:
    """How much the model is for `label`, for each of the rows."""
    if hasattr(model, "decision_function"):
        found = np.asarray(model.decision_function(rows), dtype=float)
        if found.ndim > 1:
            return found[:, list(model.classes_).index(label)]
        return found if list(getattr(model, "classes_", [label]))[-1] == label else -found
    if hasattr(model, "predict_proba"):
        return model.predict_proba(rows)[:, list(model.classes_).index(label)]
    return np.asarray(model.predict(rows), dtype=float)

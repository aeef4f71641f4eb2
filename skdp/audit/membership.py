"""Membership inference: who was in the training data, guessed from a fitted model's answers."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skdp._random import RandomSource
from skdp.audit.claims import Claim
from skdp.audit.counts import at_least, at_most
from skdp.audit.fits import FitMany
from skdp.audit.pictures import draw_rates
from skdp.privacy import PrivacyBudget
from skdp.privacy.trade_off import BudgetCurve, PrivacyCurve, attack_power

__all__ = ["LossOf", "MembershipAudit", "membership_inference"]

_SMALLEST = 1e-12
_LARGEST = 700.0
_LEAST_SPREAD = 1e-3


@final
@dataclass(frozen=True)
class MembershipAudit:
    """How well members are told from others.

    Attributes
    ----------
    member_scores, other_scores : ndarray
        Higher where the attack believes in membership.
    claim : Claim
        What was claimed.
    attack : str
        Which attack was run.
    confidence : float
        Of the bounds of a rate.
    curve : PrivacyCurve or None
        What is proved of the model, the source of the ceiling; None without a claim.
    """

    member_scores: NDArray[np.float64] = field(repr=False)
    other_scores: NDArray[np.float64] = field(repr=False)
    claim: Claim
    attack: str
    confidence: float = 0.95
    curve: PrivacyCurve | None = field(default=None, repr=False)

    @property
    def auc(self) -> float:
        """Area under the ROC curve: 0.5 for guessing."""
        from scipy.stats import rankdata

        n, m = len(self.member_scores), len(self.other_scores)
        ranks = rankdata(np.concatenate([self.member_scores, self.other_scores]))[:n].sum()
        return float((ranks - n * (n + 1) / 2) / (n * m))

    def true_positive_rate(self, false_positive_rate: float) -> float:
        """Share of the members found when at most so many others are accused."""
        return self._found(false_positive_rate) / len(self.member_scores)

    def bounds(self, false_positive_rate: float) -> tuple[float, float]:
        """Clopper-Pearson interval of the true positive rate of that threshold."""
        n, rest = len(self.member_scores), (1 - self.confidence) / 2
        found = self._found(false_positive_rate)
        return float(at_least(found, n, rest)), float(at_most(found, n, rest))

    def ceiling(self, false_positive_rate: float) -> float:
        """Greatest true positive rate that the claim allows any attack; 1 without a claim.

        On average over models and over who is a member. One model, or one threshold chosen by
        its scores, may be above by chance.
        """
        return 1.0 if self.curve is None else attack_power(self.curve, false_positive_rate)

    def roc(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return false and true positive rates of all thresholds, from 0 to 1."""
        thresholds = np.unique(np.concatenate([self.member_scores, self.other_scores]))[::-1]
        rates = [
            np.concatenate(
                [[0.0], 1 - np.searchsorted(np.sort(some), thresholds, side="left") / len(some)]
            )
            for some in (self.other_scores, self.member_scores)
        ]
        return rates[0], rates[1]

    def sentence(self) -> str:
        """Say in one sentence what was found."""
        words = [
            f"{self.true_positive_rate(rate):.2%} of the members are found at a false positive "
            f"rate of {rate:.1%}{self._allowed(rate)}"
            for rate in (0.001, 0.01)
        ]
        nothing = "; nothing was claimed" if self.curve is None else ""
        return f"{self.attack}: {' and '.join(words)}; AUC {self.auc:.3f}{nothing}."

    def _allowed(self, rate: float) -> str:
        return "" if self.curve is None else f" (allowed on average: {self.ceiling(rate):.2%})"

    def plot(self, ax: Any = None) -> Any:
        """Draw the ROC curve on logarithmic scales beside the ceiling; return the axes."""
        limit: Callable[[float], float] | None = None if self.curve is None else self.ceiling
        return draw_rates(*self.roc(), limit, ax, self.sentence())

    def _found(self, false_positive_rate: float) -> int:
        """Members above the lowest threshold at which no more others are above."""
        if not 0 <= false_positive_rate <= 1:
            raise ValueError(f"false_positive_rate must be in [0, 1], got {false_positive_rate!r}.")
        allowed = int(false_positive_rate * len(self.other_scores))
        if allowed == len(self.other_scores):
            return len(self.member_scores)
        return int((self.member_scores > np.sort(self.other_scores)[::-1][allowed]).sum())

    def __str__(self) -> str:
        return self.sentence()


@final
@dataclass(frozen=True)
class LossOf:
    """Maps a model to the loss of each of some rows.

    Log loss where there are probabilities, the loss of the margin for a decision, the squared error
    of a number, and 0 or 1 for a label that is none; without labels, the loss of the model's own
    answer. Infinite where the answer is not a number.

    Attributes
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,) or None
        Labels.
    """

    X: Any
    y: Any = None

    def __call__(self, model: Any) -> NDArray[np.float64]:
        """Return the losses, shape (n_samples,)."""
        losses = np.asarray(self._losses(model), dtype=float)
        return np.where(np.isnan(losses), np.inf, losses)

    def _losses(self, model: Any) -> Any:
        if hasattr(model, "predict_proba"):
            probabilities = np.asarray(model.predict_proba(self.X), dtype=float)
            own = self._own(model, probabilities)
            return -np.log(np.maximum(own, _SMALLEST))
        if hasattr(model, "decision_function"):
            decisions = np.asarray(model.decision_function(self.X), dtype=float)
            if decisions.ndim == 1:
                decisions = np.column_stack([-decisions, decisions])
            return np.logaddexp(0.0, -self._own(model, decisions))
        if self.y is None:
            raise ValueError("y is needed for a model without classes.")
        found, y = np.asarray(model.predict(self.X)), np.asarray(self.y)
        if "O" in (found.dtype.kind, y.dtype.kind) or found.dtype.kind in "US":
            return found != y
        return (found.astype(float) - y.astype(float)) ** 2

    def _own(self, model: Any, values: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.y is None:
            return values.max(axis=1)  # type: ignore[no-any-return]
        places = {label: place for place, label in enumerate(np.asarray(model.classes_).tolist())}
        labels = [places.get(label, -1) for label in np.asarray(self.y).tolist()]
        shown = values[np.arange(len(values)), labels]
        return np.where(np.array(labels) < 0, values.min(axis=1), shown)


def membership_inference(
    model: Any,
    X_in: Any,
    X_out: Any,
    y_in: Any = None,
    y_out: Any = None,
    *,
    attack: str = "loss",
    estimator: Any = None,
    n_shadows: int = 32,
    epsilon: float | None = None,
    delta: float | None = None,
    confidence: float = 0.95,
    n_jobs: int | None = None,
    random_state: int | None = None,
    progress: bool = False,
) -> MembershipAudit:
    """Attack a fitted model: find out which of these rows it was fitted on.

    Parameters
    ----------
    model : fitted estimator
        With `predict_proba`, `decision_function` or `predict`.
    X_in, X_out : array-like of shape (n_samples, n_features)
        Rows that the model was fitted on, and others from the same source.
    y_in, y_out : array-like of shape (n_samples,), default=None
        Their labels. Without, the attack knows how sure the model is and no more.
    attack : {"loss", "likelihood-ratio"}, default="loss"
        A threshold on the loss (Yeom et al. 2018), or the ratio of two Gaussians fitted to the
        losses of each row by models that had it and models that had not (Carlini et al. 2022),
        where `n_shadows` copies of `estimator` are fitted on random halves of all rows.
    estimator : estimator, default=None
        Unfitted; None takes a copy of `model`.
    n_shadows : int, default=32
        At least 4.
    epsilon, delta : float, default=None
        What is claimed; None takes what the model states in `privacy_`, or its parameters.
    confidence : float, default=0.95
        In (0, 1).
    n_jobs, random_state, progress
        As for `audit_epsilon`.

    Returns
    -------
    MembershipAudit
        Rates, beside those that the claim allows.

    References
    ----------
    Yeom et al. (2018), Privacy risk in machine learning; Carlini et al. (2022), Membership
    inference attacks from first principles.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skdp.audit import membership_inference
    >>> X, y = np.arange(200.0)[:, None], np.arange(200) * 7919 % 2
    >>> tree = DecisionTreeClassifier(max_leaf_nodes=3).fit(X[:100], y[:100])
    >>> membership_inference(tree, X[:100], X[100:], y[:100], y[100:]).attack
    'loss'
    """
    if attack not in ("loss", "likelihood-ratio"):
        raise ValueError(f'attack must be "loss" or "likelihood-ratio", got {attack!r}.')
    losses_in, losses_out = LossOf(X_in, y_in)(model), LossOf(X_out, y_out)(model)
    scores_in, scores_out = -losses_in, -losses_out
    if attack == "likelihood-ratio":
        if y_in is None or y_out is None or n_shadows < 4:
            raise ValueError("The likelihood ratio needs y_in, y_out and at least 4 n_shadows.")
        X, y = _stack(X_in, X_out), np.concatenate([np.asarray(y_in), np.asarray(y_out)])
        shadows = _Shadows(X, y, FitMany(
            model if estimator is None else estimator, LossOf(X, y), n_jobs, random_state, progress
        ))  # fmt: skip
        scores = shadows.scores(np.concatenate([losses_in, losses_out]), n_shadows)
        scores_in, scores_out = scores[: len(losses_in)], scores[len(losses_in) :]
    claim, curve = _claimed(model, epsilon, delta)
    return MembershipAudit(scores_in, scores_out, claim, attack, confidence, curve)


def _claimed(
    model: Any, epsilon: float | None, delta: float | None
) -> tuple[Claim, PrivacyCurve | None]:
    claim, stated = Claim.of(model, epsilon, delta), getattr(model, "privacy_", None)
    if stated is not None and epsilon is None and delta is None:
        return claim, stated
    if claim.epsilon is None:
        return claim, None
    return claim, BudgetCurve(PrivacyBudget(claim.epsilon, claim.delta))


def _stack(first: Any, second: Any) -> Any:
    if sparse.issparse(first):
        return sparse.vstack([first, second], format="csr")
    return np.concatenate([np.asarray(first), np.asarray(second)])


@final
@dataclass(frozen=True)
class _Shadows:
    """Models fitted on random halves of the rows."""

    X: Any
    y: NDArray[Any]
    fits: FitMany

    def scores(self, losses: NDArray[np.float64], n_shadows: int) -> NDArray[np.float64]:
        """Log ratio of the Gaussians of a row's logit with and without it, at the model's logit."""
        rng = RandomSource.for_state(self.fits.random_state).generator()
        n = len(self.y)
        # Shadows come in pairs of complements, so that each row is in one half of them.
        orders = [rng.permutation(n) for _ in range((n_shadows + 1) // 2)]
        halves = [half for order in orders for half in (order[: n // 2], order[n // 2 :])]
        found = self.fits.on(*[((self.X[half], self.y[half]), 1) for half in halves])
        for (outcome,) in found:
            if isinstance(outcome, Exception):
                raise outcome
        logits = np.array([_logit(outcome) for (outcome,) in found])
        has = np.zeros((len(halves), n), dtype=bool)
        for place, half in enumerate(halves):
            has[place, half] = True
        seen = _logit(losses)
        return _log_density(seen, logits, has) - _log_density(seen, logits, ~has)


def _logit(losses: NDArray[np.float64]) -> NDArray[np.float64]:
    """log(p/(1 - p)) of p = e^-loss, in which losses are more nearly Gaussian."""
    bounded = np.clip(losses, _SMALLEST, _LARGEST)
    return -bounded - np.log(-np.expm1(-bounded))


def _log_density(
    seen: NDArray[np.float64], logits: NDArray[np.float64], use: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Of a Gaussian for each row; few shadows, so its spread is shared (Carlini et al. 2022)."""
    chosen = np.ma.masked_array(logits, ~use)
    means = chosen.mean(axis=0).filled(0.0)
    spread = max(float((chosen - means).std()), _LEAST_SPREAD)
    return -(((seen - means) / spread) ** 2) / 2 - np.log(spread)  # type: ignore[no-any-return]

"""What privacy costs in accuracy: scores of private models beside those without privacy."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

Metric = Callable[["Scores"], float]


@final
@dataclass(frozen=True)
class Scores:
    """How well a binary classifier does on test rows; each number in [0, 1].

    Parameters
    ----------
    accuracy : float
        Share of rows that are classified rightly.
    balanced_accuracy : float
        Mean over the two classes of the share of rows that are classified rightly.
    auc : float
        Probability that a positive row gets a higher score than a negative one.
    """

    accuracy: float
    balanced_accuracy: float
    auc: float

    @classmethod
    def of(cls, is_positive: Any, decision: Any) -> "Scores":
        """Score decision values, positive for the positive class.

        Parameters
        ----------
        is_positive : ndarray of shape (n_samples,) of bool
            The truth.
        decision : ndarray of shape (n_samples,)
            Values of `decision_function`.
        """
        from sklearn.metrics import accuracy_score, balanced_accuracy_score, roc_auc_score

        predicted = np.asarray(decision) > 0
        return cls(
            accuracy=float(accuracy_score(is_positive, predicted)),
            balanced_accuracy=float(balanced_accuracy_score(is_positive, predicted)),
            auc=float(roc_auc_score(is_positive, decision)),
        )

    @classmethod
    def of_majority(cls, is_positive: Any) -> "Scores":
        """Score the answer that is always the more frequent class of these rows."""
        return cls.of(is_positive, np.full(len(is_positive), np.mean(is_positive) - 0.5))


@final
@dataclass(frozen=True)
class Spread:
    """Mean and extremes of a number over draws of the noise."""

    mean: float
    low: float
    high: float


@final
@dataclass(frozen=True)
class PrivacyCost:
    """Scores at several epsilons, several draws of noise each, beside two references.

    Parameters
    ----------
    private : dict of float to tuple of Scores
        For each epsilon the scores of every draw.
    non_private : Scores
        The same model without noise.
    majority : Scores
        Always the more frequent class.
    """

    private: dict[float, tuple[Scores, ...]]
    non_private: Scores
    majority: Scores

    def spreads(self, metric: Metric) -> dict[float, Spread]:
        """Return the spread of a metric over the draws, for each epsilon in rising order."""
        values = {e: [metric(s) for s in self.private[e]] for e in sorted(self.private)}
        return {e: Spread(float(np.mean(v)), min(v), max(v)) for e, v in values.items()}

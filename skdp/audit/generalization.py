"""The generalisation gap, and what it says of privacy."""

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from skdp.audit.claims import Claim
from skdp.audit.membership import LossOf
from skdp.audit.pictures import axes_for

__all__ = ["GeneralizationGap", "generalization_gap"]


@final
@dataclass(frozen=True)
class GeneralizationGap:
    """How much better a model does on its training data.

    Attributes
    ----------
    training_loss, other_loss : float
        Mean losses, clipped to [0, `loss_bound`].
    standard_error : float
        Of their difference.
    loss_bound : float
        Where losses were clipped.
    claim : Claim
        What was claimed.
    """

    training_loss: float
    other_loss: float
    standard_error: float
    loss_bound: float
    claim: Claim

    @property
    def gap(self) -> float:
        """Loss on other data minus loss on training data."""
        return self.other_loss - self.training_loss

    @property
    def advantage(self) -> float:
        """Gap over the bound of the loss: what an attacker gains who believes low losses.

        True minus false positive rate of guessing membership with probability
        1 - loss/bound (Yeom et al. 2018, Theorem 2).
        """
        return self.gap / self.loss_bound

    @property
    def ceiling(self) -> float | None:
        """Greatest gap over the bound that the claim allows in expectation; None without one.

        Total variation of neighbours: (e^epsilon - 1 + 2 delta)/(e^epsilon + 1).
        """
        if self.claim.epsilon is None:
            return None
        epsilon = min(self.claim.epsilon, 700.0)
        return math.tanh(epsilon / 2) + 2 * self.claim.delta / (math.exp(epsilon) + 1)

    def sentence(self) -> str:
        """Say in one sentence what was found."""
        found = (
            f"Mean loss {self.training_loss:.4f} on the training data and {self.other_loss:.4f} on "
            f"other data: a gap of {self.gap:.4f} (standard error {self.standard_error:.4f}), so "
            f"membership is guessed with an advantage of {self.advantage:.2%}"
        )
        if self.ceiling is None:
            return f"{found}."
        return f"{found}; {self.claim} allows {self.ceiling:.2%} on average."

    def plot(self, ax: Any = None) -> Any:
        """Draw the two losses; return the matplotlib axes."""
        ax = axes_for(ax, self.sentence())
        heights = [self.training_loss, self.other_loss]
        ax.bar(["training data", "other data"], heights, color=["#0072B2", "#D55E00"])
        ax.set_ylabel("mean loss")
        return ax

    def __str__(self) -> str:
        return self.sentence()


def generalization_gap(
    model: Any,
    X_in: Any,
    X_out: Any,
    y_in: Any,
    y_out: Any,
    *,
    loss_bound: float = 1.0,
    epsilon: float | None = None,
    delta: float | None = None,
) -> GeneralizationGap:
    """Compare a model's losses on its training data and on others, and read the gap as privacy.

    A private model cannot do much better on rows that it saw: with a loss in [0, B] the expected
    gap is at most B times the total variation that (epsilon, delta) allows between neighbours,
    whatever the data. The other way round a gap is an attack; a gap of 0 proves nothing.

    Parameters
    ----------
    model : fitted estimator
        As for `membership_inference`.
    X_in, X_out : array-like of shape (n_samples, n_features)
        Rows that the model was fitted on, and others from the same source.
    y_in, y_out : array-like of shape (n_samples,)
        Their labels.
    loss_bound : float, default=1.0
        Losses are clipped here.
    epsilon, delta : float, default=None
        What is claimed; None reads the parameters of the model.

    References
    ----------
    Dwork et al. (2015), Preserving statistical validity in adaptive data analysis; Yeom et al.
    (2018), Privacy risk in machine learning: analyzing the connection to overfitting.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skdp.audit import generalization_gap
    >>> X, y = np.arange(200.0)[:, None], np.arange(200) * 7919 // 3 % 2
    >>> tree = DecisionTreeClassifier().fit(X[::2], y[::2])
    >>> generalization_gap(tree, X[::2], X[1::2], y[::2], y[1::2]).training_loss
    0.0
    """
    if not 0 < loss_bound < math.inf:
        raise ValueError(f"loss_bound must be a finite number above 0, got {loss_bound!r}.")
    inside, outside = (
        np.minimum(LossOf(X, y)(model), loss_bound) for X, y in ((X_in, y_in), (X_out, y_out))
    )
    error = math.sqrt(_variance_of_mean(inside) + _variance_of_mean(outside))
    claim = Claim.of(model, epsilon, delta)
    means = float(inside.mean()), float(outside.mean())
    return GeneralizationGap(*means, error, float(loss_bound), claim)


def _variance_of_mean(losses: NDArray[np.float64]) -> float:
    return float(losses.var(ddof=1) / len(losses)) if len(losses) > 1 else math.inf

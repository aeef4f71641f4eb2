"""What an estimator claims, read from its parameters."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from skdp.audit.counts import geometric_sum
from skdp.audit.facts import reader

__all__ = ["Claim"]


@final
@dataclass(frozen=True)
class Claim:
    """An (epsilon, delta) that an audit is held against.

    Attributes
    ----------
    epsilon : float or None
        None where nothing is claimed: then a bound is found, and nobody is accused.
    delta : float
        In [0, 1).
    """

    epsilon: float | None
    delta: float

    @classmethod
    def of(cls, estimator: Any, epsilon: float | None, delta: float | None) -> "Claim":
        """Return what is given, or else what the parameters of the estimator say."""
        if epsilon is None:
            epsilon = _claimed_epsilon(estimator)
        if delta is None:
            delta = _number(reader(estimator)("delta")) or 0.0
        if epsilon is not None and not epsilon > 0:
            raise ValueError(f"epsilon must be above 0, got {epsilon!r}.")
        if not 0 <= delta < 1:
            raise ValueError(f"delta must be in [0, 1), got {delta!r}.")
        return cls(None if epsilon is None else float(epsilon), float(delta))

    def at_distance(self, distance: int) -> "Claim":
        """Return the claim for data sets so many neighbours apart.

        (k epsilon, delta (1 + e^epsilon + ... + e^((k - 1) epsilon))). Of no claim, none: an
        epsilon that was shown there is brought back to one record by `EventCounts.epsilon`.

        References
        ----------
        Vadhan (2017), The complexity of differential privacy, Lemma 2.2.
        """
        if distance < 1:
            raise ValueError(f"distance must be at least 1, got {distance!r}.")
        if distance == 1 or self.epsilon is None:
            return self
        delta = min(1.0, self.delta * geometric_sum(self.epsilon, distance))
        return Claim(distance * self.epsilon, delta)

    def __str__(self) -> str:
        if self.epsilon is None:
            return "nothing"
        return f"epsilon = {self.epsilon:g}" + (f", delta = {self.delta:g}" if self.delta else "")


def _claimed_epsilon(estimator: Any) -> float | None:
    """Return the epsilon of an estimator, or of the only one that a wrapper holds.

    That of scikit-learn's own estimators (SVR, HuberRegressor) is the width of a loss.
    """
    params = estimator.get_params(deep=True) if hasattr(estimator, "get_params") else {}
    if "epsilon" in params:
        return None if _is_plain(estimator) else _number(params["epsilon"])
    owners = [name.removesuffix("__epsilon") for name in params if name.endswith("__epsilon")]
    private = [owner for owner in owners if not _is_plain(params[owner])]
    # Of one step of several, nothing is said of the whole.
    if len(private) != 1 or _SEVERAL & set(params):
        return None
    return _number(params[f"{private[0]}__epsilon"])


_SEVERAL = {"steps", "transformers", "transformer_list"}


def _is_plain(estimator: Any) -> bool:
    return type(estimator).__module__.startswith("sklearn.")


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float | np.number) else None

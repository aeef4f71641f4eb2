"""What a search has fixed before its rows are looked at, and what it does with them then."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from skdp.model_selection.metadata import Metadata, Units
from skdp.model_selection.searchable import private_steps
from skdp.privacy import PrivacyBudget

__all__ = ["Offer", "Parts", "Plan", "Rows"]

#: Points are whole multiples of this, so that their sums are exact.
_POINT = 2.0**-20


@final
@dataclass(frozen=True, eq=False)
class Offer:
    """What each fit and each score may cost, and what the search costs then.

    Attributes
    ----------
    fit_budget : PrivacyBudget
        Of one fit.
    score : float
        Each score is so much DP.
    event : DpEvent
        The whole search.
    tried : list of Tried
        The candidates with this budget, fitted on stand-in rows.
    """

    fit_budget: PrivacyBudget
    score: float
    event: Any
    tried: list[Any]


@final
@dataclass(frozen=True, eq=False)
class Rows:
    """Private rows, and what goes with them."""

    X: Any
    y: Any
    metadata: Metadata
    units: Units


@final
@dataclass(frozen=True, eq=False)
class Parts:
    """Units that are held out, and those of each fit; no value of a row decided."""

    held_out: Any
    training: list[Any]

    @classmethod
    def drawn(cls, n_units, n_held_out, n_training, n_parts, rng):
        """Draw them in an order that does not depend on the rows."""
        order = rng.generator().permutation(n_units)
        held_out, rest = order[:n_held_out], order[n_held_out:]
        return cls(held_out, [rest[i * n_training : (i + 1) * n_training] for i in range(n_parts)])


@final
@dataclass(frozen=True, eq=False)
class Plan:
    """Everything that was fixed beforehand, from public facts and noise."""

    models: list[Any]
    offer: Offer
    neighbours: Any
    parts: Parts
    points_of: Any
    n_jobs: int | None

    def fitted(self, place, part, rows, seed):
        """Return a candidate fitted on a part, or, if its fit fails, the one of stand-in rows.

        That some fit failed would tell of the rows, and how often of the number of trials.
        """
        model = clone(self.models[place])
        for i, step in enumerate(private_steps(model)):
            step.set_params(random_state=None if seed is None else seed + i)
        among = rows.units.rows(self.parts.training[part])
        try:
            return model.fit(
                _safe_indexing(rows.X, among), rows.y[among], **rows.metadata.of(among)
            )
        except Exception:
            return None

    def score(self, model, rows):
        """Return the sum of what each held-out unit earns the model, in [0, 1] each."""
        counted, per_unit = rows.units.counted(self.parts.held_out)
        if model is None or not len(counted):
            return 0.0
        earned = self._earned(model, rows, counted)
        if earned is None:  # a row that fails may cost no other row its points
            each = (self._earned(model, rows, counted[i : i + 1]) for i in range(len(counted)))
            earned = np.array([0.0 if one is None else one[0] for one in each])
        earned = np.clip(np.nan_to_num(earned), 0.0, 1.0)
        return float((np.floor(earned / _POINT) * _POINT).sum()) / per_unit

    def _earned(self, model, rows, places):
        """Return what rows earn, not yet bounded; None if they cannot be predicted for."""
        try:
            with np.errstate(all="ignore"):
                predicted = model.predict(_safe_indexing(rows.X, places))
                return np.asarray(self.points_of(predicted, rows.y[places]), dtype=float)
        except Exception:
            return None

    def winner(self, place, model):
        """Return a model that may leave the search."""
        return self.offer.tried[place].model if model is None else model

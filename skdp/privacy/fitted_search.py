"""What the best of a random number of trials costs, by what its fits are."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from dp_accounting import DpEvent
from numpy.typing import NDArray

from skdp.privacy.pure_curve import pure_delta, pure_renyi
from skdp.privacy.renyi import ORDERS
from skdp.privacy.trial_laws import TrialLaw

__all__ = ["FittedSearchPart"]

Array = NDArray[np.float64]


@final
@dataclass(frozen=True)
class FittedSearchPart:
    """The best of a random number of trials: a fit, and a score of other records.

    A record is in the fit of a trial or in its score, and which candidate a trial draws is no
    secret: its divergence is the greatest of theirs, order by order.

    Attributes
    ----------
    score : float
        A score is so much DP.
    law : TrialLaw
        Of the number of trials.
    fits : tuple of DpEvent
        What the candidates' fits are.
    """

    score: float
    law: TrialLaw
    fits: tuple[DpEvent, ...]
    rho = math.inf

    def __hash__(self) -> int:
        # Some events hold lists.
        return hash((self.score, self.law, repr(self.fits)))

    @property
    def guarantee(self) -> float:
        from skdp.privacy.composition import Parts

        if self.law.is_poisson:
            return math.inf
        fits = (Parts.of(fit).guarantee for fit in self.fits)
        return self.law.guarantee(max(self.score, *fits))

    def curves(self, coarseness: int) -> None:
        return None

    def renyi(self) -> Array | None:
        from skdp.privacy.composition import Parts

        known = [Parts.of(fit).renyi() for fit in self.fits]
        fits = [divergences for divergences in known if divergences is not None]
        if len(fits) < len(known):
            return None
        trial = np.maximum.reduce([pure_renyi(self.score, ORDERS), *fits])
        return self.law.renyi(trial, self._delta_of_trial)

    def plain(self) -> None:
        return None

    def _delta_of_trial(self, epsilon: float) -> float:
        from skdp.privacy.accounting import delta_of

        return max(pure_delta(self.score, epsilon), *(delta_of(fit, epsilon) for fit in self.fits))

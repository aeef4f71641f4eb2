"""How one budget is split over the private steps of a pipeline: from public facts alone."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from skdp._validation import is_real
from skdp.privacy import PrivacyBudget, PrivacyStatement
from skdp.privacy.gaussian_curve import gaussian_epsilon, gaussian_mu
from skdp.privacy.statement import StatedCurve

__all__ = ["SPLITS", "Gaussian", "Split", "Sums", "shares_of", "together"]

#: What the last private step, the model, gets for each part that a step before it gets.
_MODEL_WEIGHT = 3.0
#: Shares of mu that are left out: noise of subsampled steps is not quite that of one Gaussian, and
#: that of picks and thresholds less so.
_MARGINS = (0.01, 0.03, 0.06, 0.1, 0.2, 0.4)


def shares_of(steps: Sequence[str], weights: Mapping[str, float] | None) -> tuple[Fraction, ...]:
    """Return the share of each private step, in their order.

    Examples
    --------
    >>> shares_of(["scale", "select", "model"], None)
    (Fraction(1, 5), Fraction(1, 5), Fraction(3, 5))
    >>> shares_of(["scale", "model"], {"scale": 1, "model": 9})
    (Fraction(1, 10), Fraction(9, 10))
    """
    if weights is None:
        weights = dict.fromkeys(steps, 1.0) | {steps[-1]: _MODEL_WEIGHT}
    if set(weights) != set(steps):
        raise ValueError(
            f"shares must name each private step and no other; they name {sorted(weights)}, the "
            f"private steps are {sorted(steps)}."
        )
    if not all(is_real(w) and 0 < w < math.inf for w in weights.values()):
        raise ValueError(f"shares must be positive numbers, got {dict(weights)!r}.")
    exact = [Fraction(repr(float(weights[name]))) for name in steps]
    return tuple(weight / sum(exact) for weight in exact)


class Split(ABC):
    """A rule that splits a budget, and says whether what was run keeps it."""

    @abstractmethod
    def budgets(
        self, whole: PrivacyBudget, shares: Sequence[Fraction]
    ) -> tuple[PrivacyBudget, ...]:
        """Return the budget of each step."""

    @property
    def rules(self) -> "tuple[Split, ...]":
        """Rules to try in turn, until what the steps will promise keeps the budget."""
        return (self,)

    @abstractmethod
    def keeps(self, whole: PrivacyBudget, spent: Sequence[PrivacyStatement]) -> bool:
        """Whether releases that were fixed beforehand together keep the whole budget."""


@final
@dataclass(frozen=True)
class Sums(Split):
    """epsilon_i = share_i epsilon, delta_i = share_i delta: basic composition.

    Examples
    --------
    >>> Sums().budgets(PrivacyBudget(1.0, 1e-6), shares_of(["scale", "model"], None))
    (PrivacyBudget(epsilon=0.25, delta=2.5e-07), PrivacyBudget(epsilon=0.75, delta=7.5e-07))
    """

    def budgets(
        self, whole: PrivacyBudget, shares: Sequence[Fraction]
    ) -> tuple[PrivacyBudget, ...]:
        epsilons = _parts(whole.epsilon, shares)
        deltas = _parts(whole.delta, shares)
        return tuple(map(PrivacyBudget, epsilons, deltas))

    def keeps(self, whole: PrivacyBudget, spent: Sequence[PrivacyStatement]) -> bool:
        epsilon = sum(Fraction(repr(part.budget.epsilon)) for part in spent)
        delta = sum(Fraction(repr(part.budget.delta)) for part in spent)
        return epsilon <= Fraction(repr(whole.epsilon)) and delta <= Fraction(repr(whole.delta))


@final
@dataclass(frozen=True)
class Gaussian(Split):
    r"""mu_i = sqrt(share_i) mu, with mu that of the Gaussian release of the whole budget.

    Gaussian releases compose to one whose squared mu is the sum of theirs (Dong, Roth and Su 2022,
    Corollary 3.3). Each step is told delta_i = share_i delta and the epsilon that a Gaussian of
    (1 - margin) mu_i has there; the margin is for steps that are only nearly Gaussian, such as
    subsampled ones. What the steps really are is composed before each of them runs.

    Attributes
    ----------
    margin : float
        In [0, 1).

    Examples
    --------
    >>> shares = shares_of(["scale", "model"], None)
    >>> [round(part.epsilon, 3) for part in Gaussian().budgets(PrivacyBudget(1.0, 1e-6), shares)]
    [0.506, 0.86]
    """

    margin: float = _MARGINS[0]

    @property
    def rules(self) -> tuple[Split, ...]:
        return tuple(map(Gaussian, _MARGINS))

    def budgets(
        self, whole: PrivacyBudget, shares: Sequence[Fraction]
    ) -> tuple[PrivacyBudget, ...]:
        if whole.delta == 0:
            raise ValueError("split='gaussian' needs a delta above 0; split='sums' does not.")
        mu = (1 - self.margin) * gaussian_mu(whole.epsilon, whole.delta)
        deltas = _parts(whole.delta, shares)
        return tuple(
            PrivacyBudget(gaussian_epsilon(mu * math.sqrt(share), delta), delta)
            for share, delta in zip(shares, deltas, strict=True)
        )

    def keeps(self, whole: PrivacyBudget, spent: Sequence[PrivacyStatement]) -> bool:
        return together(spent).delta_at(whole.epsilon) <= whole.delta


def together(spent: Sequence[PrivacyStatement]) -> StatedCurve:
    """Return the curve of releases that were fixed beforehand."""
    from dp_accounting import dp_event

    from skdp.privacy.accounting import EventCurve

    return EventCurve(dp_event.ComposedDpEvent([part.event for part in spent]))


#: From the parameter `split` to the rule.
SPLITS: Mapping[str, Split] = {"sums": Sums(), "gaussian": Gaussian()}


def _parts(whole: float, shares: Sequence[Fraction]) -> list[float]:
    """Split a decimal number into decimal numbers whose exact sum is at most it."""
    exact = Fraction(repr(float(whole)))
    parts = [_rounded_down(exact * share) for share in shares[:-1]]
    rest = exact - sum((Fraction(repr(part)) for part in parts), Fraction(0))
    return [*parts, _rounded_down(rest)]


def _rounded_down(number: Fraction) -> float:
    nearest = float(f"{float(number):.12g}")
    while Fraction(repr(nearest)) > number:
        nearest = float(f"{nearest * (1 - 1e-11):.12g}") if nearest > 0 else 0.0
    return nearest

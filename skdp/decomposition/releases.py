"""What PrivatePCA releases: a second moment around a centre that is known, or released first."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, Self, final

import numpy as np
import numpy.typing as npt

from skdp._random import RandomSource
from skdp.decomposition.second_moment import SecondMoment
from skdp.mechanisms import GaussianMechanism, GridGaussianMechanism
from skdp.mechanisms.additive import EPSILON_CAP
from skdp.mechanisms.row_sum import RowSum
from skdp.privacy import PrivacyBudget, Sensitivity
from skdp.privacy.gaussian_curve import gaussian_mu
from skdp.privacy.statement import StatedCurve

Array = npt.NDArray[np.float64]
#: Rows less a centre (None for the origin), clipped to a norm.
Blocks = Callable[[Array | None, float], Iterator[Array]]

#: Part of mu^2 that a centre takes. The noise on the second moment grows by 2.6 %.
CENTRE_SHARE = 0.05
#: For finite precision, which takes far less.
_DELTA_LEFT = 1 - 2.0**-20
_MOMENT_THEOREM = (
    "Gaussian noise on the second moment of rows of bounded norm (Dwork, Talwar, Thakurta and "
    "Zhang 2014, Algorithm 1), the triangle scaled to the Frobenius norm"
)


class Releases(Protocol):
    """A plan, made of public facts alone."""

    @property
    def curve(self) -> StatedCurve:
        """What all of it costs."""

    @property
    def theorem(self) -> str:
        """What the cost rests on."""

    @property
    def sensitivity(self) -> Sensitivity:
        """Of the second moment, rounding included."""

    @property
    def noise_scale(self) -> float:
        """Standard deviation of the noise on the second moment's vector."""

    def release(self, blocks: Blocks, rng: RandomSource) -> tuple[Array, Array]:
        """Return the centre and the noisy second moment around it."""


@final
@dataclass(frozen=True, eq=False)
class AroundKnownCentre:
    """One release; a `centre` of None is the origin."""

    moment: SecondMoment
    mechanism: GaussianMechanism
    centre: Array | None

    @classmethod
    def planned(cls, moment: SecondMoment, budget: PrivacyBudget, centre: Array | None) -> Self:
        """Return the plan with the least noise that keeps the budget."""
        noise = GaussianMechanism.calibrated(moment.sensitivity, budget, size=moment.size)
        return cls(moment, noise, centre)

    @property
    def curve(self) -> StatedCurve:
        return self.mechanism

    @property
    def theorem(self) -> str:
        return f"{_MOMENT_THEOREM}. {self.mechanism.theorem}"

    @property
    def sensitivity(self) -> Sensitivity:
        return self.mechanism.total_sensitivity

    @property
    def noise_scale(self) -> float:
        return self.mechanism.noise_scale

    def release(self, blocks: Blocks, rng: RandomSource) -> tuple[Array, Array]:
        exact = self.moment.vector(blocks(self.centre, self.moment.row_norm))
        centre = np.zeros(self.moment.n_features) if self.centre is None else self.centre
        return centre, self.moment.matrix(self.mechanism.release(exact, rng))


@final
@dataclass(frozen=True, eq=False)
class AroundReleasedCentre:
    """Two releases: the mean of clipped rows, and the second moment around it.

    Guarantees
    ----------
    The second release may depend on the outcome of the first, and its noise does not. Gaussians of
    mu_1 and mu_2 compose to one of (mu_1^2 + mu_2^2)^(1/2), exactly (Dong, Roth and Su 2022); the
    budget's mu^2 is divided by `CENTRE_SHARE`.
    """

    total: RowSum
    moment: SecondMoment
    total_mechanism: GridGaussianMechanism
    mechanism: GridGaussianMechanism

    @classmethod
    def planned(cls, total: RowSum, moment: SecondMoment, budget: PrivacyBudget) -> Self:
        """Return the plan with the least noise, so divided, that keeps the budget."""
        mu = gaussian_mu(min(budget.epsilon, EPSILON_CAP), budget.delta * _DELTA_LEFT)
        return cls(
            total,
            moment,
            GridGaussianMechanism.of_mu(
                total.sensitivity, total.n_features, mu * math.sqrt(CENTRE_SHARE)
            ),
            GridGaussianMechanism.of_mu(
                moment.sensitivity, moment.size, mu * math.sqrt(1 - CENTRE_SHARE)
            ),
        )

    @cached_property
    def curve(self) -> StatedCurve:
        from dp_accounting import dp_event

        from skdp.privacy.accounting import EventCurve

        parts = [self.total_mechanism.event, self.mechanism.event]
        return EventCurve(dp_event.ComposedDpEvent(parts))

    @property
    def theorem(self) -> str:
        return (
            f"{_MOMENT_THEOREM}, and on their sum before; together one Gaussian (Dong, Roth and Su "
            f"2022). {self.mechanism.theorem}"
        )

    @property
    def sensitivity(self) -> Sensitivity:
        return self.mechanism.sensitivity

    @property
    def noise_scale(self) -> float:
        return self.mechanism.noise_scale

    def release(self, blocks: Blocks, rng: RandomSource) -> tuple[Array, Array]:
        total = self.total.vector(blocks(None, self.total.row_norm))
        centre = self.total_mechanism.release(total, rng) / self.total.n_samples
        exact = self.moment.vector(blocks(centre, self.moment.row_norm))
        return centre, self.moment.matrix(self.mechanism.release(exact, rng))

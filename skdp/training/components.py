"""Private principal components of the rows, released once before training, to train within.

Noise on a first layer's weights adds up over the columns. Where a few directions hold most of what
rows differ by, a layer that sees those alone has as many times fewer weights, and less noise.

Found on training rows of MNIST that were held out, at epsilon 0.5 to 8 with 50,000 rows and at 8
with 8,000: 30 to 60 components of 784 columns are equally good, 20 and 100 half a point worse at
epsilon 8; dividing directions by their spread loses what is gained. Tables of categories lose a
point or more within a fifth of their directions, and nearly none once that of a ridge regression is
among them. `benchmarks/utility/components.py` measures what the estimators do now.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np

from skdp._random import RandomSource
from skdp.mechanisms.additive import EPSILON_CAP
from skdp.mechanisms.label_codes import LabelCodes
from skdp.privacy import Neighbours, PrivacyBudget
from skdp.privacy.gaussian_curve import gaussian_mu
from skdp.training.frame import Frame
from skdp.training.gradients import Array
from skdp.training.standardise import Preparation, unit_rows

if TYPE_CHECKING:
    from dp_accounting import DpEvent

__all__ = ["Components"]

#: Parts of mu^2: of the sums of rows and squared norms, and of the second moment.
_STATISTICS_SHARE, _MOMENT_SHARE = 0.05, 0.15
#: Ridge regression raises eigenvalues to so many times the noise's radius.
_FLOOR = 2.0
#: A variance of fewer times that is not told from noise.
_TELLING = 5.0


@final
@dataclass(frozen=True)
class Components:
    """A planned release of the mean of rows and of principal components around it.

    Attributes
    ----------
    preparation : Preparation
        The two releases: sums of rows and squared norms; the second moment of rows around the
        first's mean, clipped to its root mean square.
    n_components : int
        How many directions are kept.
    least_share : float
        The least share of the variance that has to lie along them, by what was released; otherwise
        rows keep all directions. 0 for any.

    Notes
    -----
    *Guarantees.* `event` composes both releases; the second may depend on the first and its noise
    does not. All else is a function of what they release, and so is whether directions are left
    out. `event` is composed with the training run in turn.
    """

    preparation: Preparation
    n_components: int
    least_share: float

    @classmethod
    def planned(
        cls,
        n_records: int,
        n_features: int,
        row_norm: float,
        neighbours: Neighbours,
        budget: PrivacyBudget,
        codes: LabelCodes,
        n_components: int,
        least_share: float,
    ) -> Self:
        """Return the plan whose noise takes its shares of the budget."""
        mu = gaussian_mu(min(budget.epsilon, EPSILON_CAP), budget.delta)
        preparation = Preparation.planned(
            n_records,
            n_features,
            row_norm,
            neighbours,
            label_moments=0,
            is_sparse=False,
            statistics_mu=mu * math.sqrt(_STATISTICS_SHARE),
            moment_mu=mu * math.sqrt(_MOMENT_SHARE),
            codes=codes,
        )
        return cls(preparation, n_components, least_share)

    @property
    def event(self) -> "DpEvent":
        """What both releases cost."""
        return self.preparation.event

    @property
    def theorem(self) -> str:
        """What the cost rests on."""
        return self.preparation.theorem

    @property
    def row_norm(self) -> float:
        """Declared norm to which rows are clipped for the centre."""
        return self.preparation.row_norm

    @property
    def noise_share(self) -> float:
        """Spectral norm of the second moment's noise, in units of the trace of what it is added to.

        A direction with less of the variance than that is not told from noise.
        """
        return self.preparation.moment_radius / self.preparation.n_records

    def release(self, X: Array, targets: Array, rng: RandomSource) -> Frame:
        """Return the frame of these rows and labels; `targets` as their codes want them."""
        norm = self.row_norm
        standard, moments = self.preparation.release_moments(_UnitRows(X, norm), targets, rng)
        assert standard.centre is not None
        values, vectors = np.linalg.eigh(moments.second)
        n_codes = moments.cross.shape[1]  # codes of K classes add up to 0
        n_supervised = min(max(n_codes - 1, 1), self.n_components // 2)
        first = len(values) - (self.n_components - n_supervised)
        whole = max(float(values.sum()), _TELLING * self.preparation.moment_radius)
        if self._without_noise(values[first:]).sum() < self.least_share * whole:
            return Frame(standard.centre * norm, None)
        divisors = np.maximum(values, _FLOOR * self.preparation.moment_radius)
        ridge = vectors @ ((vectors.T @ moments.cross) / divisors[:, None])
        supervised = np.linalg.svd(ridge, full_matrices=False)[0][:, :n_supervised]
        directions = np.linalg.qr(np.hstack([vectors[:, first:][:, ::-1], supervised]))[0]
        return Frame(standard.centre * norm, np.ascontiguousarray(directions.T))

    def _without_noise(self, values: Array) -> Array:
        """Return eigenvalues less what noise adds to them; 0 for those within it.

        A symmetric matrix of rank one, of eigenvalue t, plus noise of spectral norm r has the
        largest eigenvalue ``t + r^2 / (4 t)`` where t > r / 2, and r otherwise (Benaych-Georges and
        Nadakuditi 2011, section 3.1).
        """
        radius = self.preparation.moment_radius
        above = np.maximum(values, radius)
        return np.where(values > radius, (above + np.sqrt(above**2 - radius**2)) / 2, 0.0)


@final
@dataclass(frozen=True, eq=False)
class _UnitRows:
    """Rows that are clipped and put into units of a norm when a slice of them is read."""

    rows: Array
    norm: float

    @property
    def shape(self) -> tuple[int, ...]:
        return self.rows.shape

    def __getitem__(self, part: slice) -> Any:
        return unit_rows(self.rows[part], self.norm)

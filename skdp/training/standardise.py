"""Rows around a private centre, in the units of their spread, whitened where that can be afforded.

What is released first of a linear model's rows: their sum and the sum of their squared norms, then,
where noise is small enough, the second moment of what remains. All else here is a function of that.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, final

import numpy as np
import numpy.typing as npt
from scipy import sparse

from skdp._random import RandomSource
from skdp.mechanisms import GridGaussianMechanism
from skdp.mechanisms.label_codes import LabelCodes
from skdp.mechanisms.label_moments import LabelMoments, NoisyMoments
from skdp.mechanisms.row_statistics import (
    LABELS_WEIGHT,
    NORMS_WEIGHT,
    SQUARES_WEIGHT,
    NoisyStatistics,
    RowStatistics,
)
from skdp.privacy import Neighbours
from skdp.records import clip_rows
from skdp.records.row_blocks import BLOCK_ROWS
from skdp.training.row_products import row_products

if TYPE_CHECKING:
    from dp_accounting import DpEvent

__all__ = ["Label", "Preparation", "Standard"]

Array = npt.NDArray[np.float64]

#: Rows have this root mean square beside the constant column of ones: as large as the mean
#: gradient of the intercept is, it is learnt as fast as the rest.
SPREAD = 2.0
#: Eigenvalues are raised to so many times the noise's radius before rows are divided by them.
_FLOOR = 2.0
_SMALLEST_VARIANCE = 1e-6
_SMALLEST_LABEL_VARIANCE = 1e-3


@final
@dataclass(frozen=True)
class Label:
    """Labels of a regression as ``middle + unit * t``."""

    middle: float
    unit: float


@final
@dataclass(frozen=True, eq=False)
class Standard:
    """Released numbers that turn rows x into ``((x - centre) / scale) matrix``.

    Attributes
    ----------
    centre : ndarray of shape (n_features,) or None
        None for sparse rows, which stay as they are.
    scale : float
        Above 0.
    matrix : ndarray of shape (n_features, n_features) or None
        None for the identity.
    """

    centre: Array | None
    scale: float
    matrix: Array | None

    def rows(self, X: Any) -> Any:
        """Return the rows, dense or of the CSR type of X; each is a function of that row alone."""
        moved = X if self.centre is None else X - self.centre
        scaled = moved * (1 / self.scale)
        return scaled if self.matrix is None else row_products(scaled, self.matrix)

    def folded(self, weights: Array, intercepts: Array) -> tuple[Array, Array]:
        """Return coefficients (n_features, n_outputs) and intercepts for rows as they came."""
        turned = weights if self.matrix is None else self.matrix @ weights
        coef = turned / self.scale
        return coef, intercepts if self.centre is None else intercepts - self.centre @ coef


@final
@dataclass(frozen=True)
class Preparation:
    """What is released before a descent, planned from public facts.

    Attributes
    ----------
    statistics, statistics_noise
        Sums of rows and squared norms (and of labels), and their noise.
    moment, moment_noise
        Second moment of standardised rows, and its noise; None for none.
    n_records : int
        Number of records as far as it is public.
    row_norm : float
        Declared bound on the norm of rows.
    codes : LabelCodes or None, default=None
        How labels are coded whose products with rows are part of the second release.

    Notes
    -----
    *Guarantees.* Each release costs what its mechanism says; the second may depend on the first
    and its noise does not (adaptive composition of a fixed pair). Rows clipped to `row_norm` are in
    units of it, and standardised ones are clipped to norm 1 for the second moment.
    """

    statistics: RowStatistics
    statistics_noise: GridGaussianMechanism
    moment: LabelMoments | None
    moment_noise: GridGaussianMechanism | None
    n_records: int
    row_norm: float
    codes: LabelCodes | None = None

    @classmethod
    def planned(
        cls,
        n_records: int,
        n_features: int,
        row_norm: float,
        neighbours: Neighbours,
        *,
        label_moments: Literal[0, 1, 2],
        is_sparse: bool,
        statistics_mu: float,
        moment_mu: float,
        codes: LabelCodes | None = None,
    ) -> Self:
        """Return the plan with these mu; a `moment_mu` of 0 leaves the second release out."""
        statistics = RowStatistics(0 if is_sparse else n_features, label_moments, neighbours)
        noise = GridGaussianMechanism.of_mu(statistics.sensitivity, statistics.size, statistics_mu)
        if not moment_mu:
            return cls(statistics, noise, None, None, n_records, row_norm)
        moment = (
            LabelMoments(n_features, 0, None, 1.0, -1.0, False, neighbours)
            if codes is None
            else LabelMoments.of_codes(n_features, codes, None, neighbours)
        )
        moment_noise = GridGaussianMechanism.of_mu(moment.sensitivity, moment.size, moment_mu)
        return cls(statistics, noise, moment, moment_noise, n_records, row_norm, codes)

    @property
    def event(self) -> "DpEvent":
        """What both releases cost."""
        from dp_accounting import dp_event

        if self.moment_noise is None:
            return self.statistics_noise.event
        return dp_event.ComposedDpEvent((self.statistics_noise.event, self.moment_noise.event))

    @property
    def theorem(self) -> str:
        """What the cost rests on."""
        told = ("", " and of labels", ", of labels and of their squares")
        labels = told[self.statistics.label_moments]
        rows = "clipped rows and of their" if self.statistics.n_features else "clipped rows'"
        first = f"Gaussian noise on the sums of {rows} squared norms{labels}"
        if self.moment is None:
            return first
        products = "" if self.codes is None else ", and on their products with coded labels"
        return (
            f"{first}; then, around the mean and clipped to the root mean square that this says, "
            f"on their second moment{products} (Dwork, Talwar, Thakurta and Zhang 2014, Algorithm "
            "1, on a triangle scaled to the Frobenius norm)"
        )

    def release(
        self, X: Any, labels: Array | None, rng: RandomSource
    ) -> tuple[Standard, Label | None]:
        """Return what standardises clipped rows, and labels within [-1, 1] where there are any.

        Parameters
        ----------
        X : ndarray of float64 or CSR matrix of shape (n, n_features)
            Rows in units of `row_norm`, of norm at most 1.
        labels : ndarray of shape (n,) or None
            In [-1, 1].
        rng : RandomSource
        """
        standard, found = self._standard(X, labels, rng)
        label = self._label(found) if labels is not None else None
        if self.moment is None:
            return standard, label
        return self._whitening(standard, self._noisy_moments(X, None, standard, rng).second), label

    def release_moments(
        self, X: Any, targets: Array, rng: RandomSource
    ) -> tuple[Standard, NoisyMoments]:
        """Return what standardises clipped rows, and the noisy moments of those and of `codes`.

        Parameters
        ----------
        X : ndarray of float64 of shape (n, n_features)
            Rows in units of `row_norm`, of norm at most 1, or what yields them slice by slice.
        targets : ndarray of shape (n,)
            Labels, as `codes` takes them.
        rng : RandomSource

        Returns
        -------
        standard : Standard
            A centre and a scale.
        moments : NoisyMoments
            Sums over rows, in units of their root mean square and clipped to it.
        """
        standard, _ = self._standard(X, None, rng)
        return standard, self._noisy_moments(X, targets, standard, rng)

    def _standard(
        self, X: Any, labels: Array | None, rng: RandomSource
    ) -> tuple[Standard, NoisyStatistics]:
        exact = self.statistics.vector(_chunks(X, labels))
        found = self.statistics.read(self.statistics_noise.release(exact, rng))
        return self._centred(found), found

    def _noisy_moments(
        self, X: Any, targets: Array | None, standard: Standard, rng: RandomSource
    ) -> NoisyMoments:
        assert self.moment is not None
        assert self.moment_noise is not None
        released = self.moment_noise.release(self._moments(X, targets, standard), rng)
        return self.moment.read(released)

    @property
    def moment_radius(self) -> float:
        """About the spectral norm of the noise on the second moment: sigma (2 d)^(1/2)."""
        assert self.moment is not None
        assert self.moment_noise is not None
        return self.moment_noise.noise_scale * math.sqrt(2 * self.moment.n_features)

    @property
    def _std(self) -> float:
        """Of the noise on the mean of rows, a coordinate."""
        return self.statistics_noise.noise_scale / self.n_records

    def _centred(self, found: NoisyStatistics) -> Standard:
        """Shrink the mean by what of its length is noise (James and Stein 1961, positive part)."""
        mean_square = found.squared_norms / self.n_records
        least = max(_SMALLEST_VARIANCE, self._std / NORMS_WEIGHT)
        if not len(found.rows):
            return Standard(None, math.sqrt(min(max(mean_square, least), 1.0)) / SPREAD, None)
        mean = found.rows / self.n_records
        length2 = max(float(mean @ mean), 1e-300)
        kept = max(0.0, 1 - len(mean) * self._std**2 / length2)
        variance = min(max(mean_square - kept**2 * length2, least), 1.0)
        return Standard(kept * mean, math.sqrt(variance) / SPREAD, None)

    def _label(self, found: NoisyStatistics) -> Label:
        mean = float(found.labels[0]) / self.n_records
        std = self._std / LABELS_WEIGHT
        kept = max(0.0, 1 - std**2 / max(mean**2, 1e-300))
        if not len(found.squared_labels):
            return Label(kept * mean, 1.0)
        variance = float(found.squared_labels[0]) / self.n_records - kept**2 * mean**2
        least = max(_SMALLEST_LABEL_VARIANCE, self._std / SQUARES_WEIGHT)
        return Label(kept * mean, math.sqrt(min(max(variance, least), 1.0)))

    def _moments(self, X: Array, targets: Array | None, standard: Standard) -> Array:
        assert self.moment is not None
        unit = Standard(standard.centre, standard.scale * SPREAD, None)

        def coded(part: slice, size: int) -> Array:
            if self.codes is None or targets is None:
                return np.zeros((size, 0))
            return self.codes.of(targets[part])

        parts = (slice(start, start + BLOCK_ROWS) for start in range(0, X.shape[0], BLOCK_ROWS))
        blocks = ((clip_rows(unit.rows(X[part]), 1.0), part) for part in parts)
        return self.moment.vector((rows, coded(part, len(rows))) for rows, part in blocks)

    def _whitening(self, standard: Standard, second: Array) -> Standard:
        values, vectors = np.linalg.eigh(second)
        divisors = np.maximum(values, _FLOOR * self.moment_radius)
        spread2 = max(1.0, float((np.maximum(values, 0.0) / divisors).sum()))
        matrix = vectors * np.sqrt(self.n_records / (divisors * spread2))
        return Standard(standard.centre, standard.scale, matrix)


def unit_rows(X: Any, row_norm: float) -> Any:
    """Return rows clipped to `row_norm` in units of it, as float64, dense or CSR."""
    clipped = clip_rows(X, row_norm)
    if sparse.issparse(clipped):
        return clipped.astype(np.float64) * (1 / row_norm)
    return np.asarray(clipped, dtype=np.float64) / row_norm


def _chunks(X: Any, labels: Array | None) -> Iterator[tuple[Any, Array | None]]:
    for start in range(0, X.shape[0], BLOCK_ROWS):
        rows = X[start : start + BLOCK_ROWS]
        yield rows, None if labels is None else labels[start : start + BLOCK_ROWS]

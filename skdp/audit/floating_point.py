"""Attacks on the low-order bits of what is released.

Floating-point noise x + b log(u) can take some doubles and not others, depending on x (Mironov
2012); the spacing of the doubles that a sum can take tells x as well, even with perfect noise
(Haney et al. 2022). Both are seen as lattices: which share of the outputs are multiples of a power
of two.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from skdp.audit.fits import FitMany

__all__ = [
    "FloatingPointAudit",
    "audit_floating_point",
    "differences_between_lattices",
    "share_on",
]

Array = NDArray[np.float64]
#: P(|Z| > 6.1) = 1.1e-9 for each comparison.
_STANDARD_DEVIATIONS = 6.1
#: Spacings above 2^-8 of the outputs' size show the law of the noise, which may differ.
_EXPONENTS = range(-60, -7)
#: So many equal outputs are no chance on a grid of so many points for each pair of fits.
_CHANCE = 1e-6


def share_on(spacing: float, outputs: Array) -> float:
    """Share of `outputs` that are whole multiples of `spacing`, a power of two."""
    multiples = outputs / spacing
    return float((multiples == np.rint(multiples)).mean())


def differences_between_lattices(
    spacings: Iterable[float], first: Array, second: Array
) -> list[float]:
    """Spacings whose lattice is hit by two samples with shares that differ beyond chance."""
    found = []
    for spacing in spacings:
        shares = [share_on(spacing, outputs) for outputs in (first, second)]
        pooled = np.average(shares, weights=[len(first), len(second)])
        variance = pooled * (1 - pooled) * (1 / len(first) + 1 / len(second))
        if abs(shares[0] - shares[1]) > _STANDARD_DEVIATIONS * math.sqrt(variance):
            found.append(spacing)
    return found


@final
@dataclass(frozen=True)
class FloatingPointAudit:
    """What the bits of the released numbers show.

    Attributes
    ----------
    n_fits : int
        Fits on either data set.
    n_infinite : int
        Released numbers that are infinite or not numbers.
    n_repeated : int
        Fits whose released numbers, all of them, were those of an earlier fit. Where noise has few
        values, as counts have, such are no fault and count as 0.
    grids : tuple of float or None
        For each number that varies, the coarsest power of two that all outputs are multiples
        of; None where there is none, so that it is a plain double.
    differing : dict of int to tuple of float
        By number, the spacings that tell the two data sets apart.
    """

    n_fits: int
    n_infinite: int
    n_repeated: int
    grids: tuple[float | None, ...]
    differing: dict[int, tuple[float, ...]]

    @property
    def accuses(self) -> bool:
        """Whether infinite numbers, repeated outputs or telling lattices were seen."""
        return bool(self.n_infinite or self.n_repeated or self.differing)

    def sentence(self) -> str:
        """Say in one sentence what was found."""
        plain = sum(grid is None for grid in self.grids)
        found = (
            f"In {self.n_fits} fits on either data set: {self.n_infinite} numbers were infinite, "
            f"{self.n_repeated} outputs were repeated, {len(self.differing)} of "
            f"{len(self.grids)} numbers have bits that tell the data sets apart"
        )
        if plain:
            return f"{found}; {plain} are plain doubles, whose bits no sample can clear."
        return f"{found}; all lie on a public grid."

    def __str__(self) -> str:
        return self.sentence()


def audit_floating_point(
    estimator: Any,
    data: Any,
    neighbour: Any,
    *,
    release: Any = None,
    n_fits: int = 300,
    n_jobs: int | None = None,
    random_state: int | None = None,
    progress: bool = False,
) -> FloatingPointAudit:
    """Look for released numbers whose bits show the data, are repeated, or are infinite.

    Parameters
    ----------
    estimator : estimator
        Whose `coef_` and `intercept_` are released, unless `release` says otherwise.
    data, neighbour : tuple or dict
        Arguments of `fit`. The attack of Mironov wants an exact 0 in one of the two, and a value
        with all its bits in the other.
    release : callable, default=None
        Maps a fitted model to the noisy numbers.
    n_fits, n_jobs, random_state, progress
        As for `audit_epsilon`.

    Raises
    ------
    ValueError
        If there is no `coef_`, and no `release` either; whatever a fit raises is raised, too.

    References
    ----------
    Mironov (2012), On significance of the least significant bits for differential privacy; Haney
    et al. (2022), Precision-based attacks and interval refining.

    Examples
    --------
    >>> from skdp.audit import audit_floating_point
    >>> from skdp.linear_model import PrivateElasticNetClassifier
    >>> X, y = [[0.0]] * 6, [0, 1] * 3
    >>> model = PrivateElasticNetClassifier()
    >>> audit_floating_point(model, (X, y), ([[0.7]] + X[1:], y), n_fits=20).accuses
    False
    """
    fits = FitMany(estimator, release or _released, n_jobs, random_state, progress)
    outcomes = fits.on((data, n_fits), (neighbour, n_fits))
    for some in outcomes:
        for outcome in some:
            if isinstance(outcome, Exception):
                raise outcome
    first, second = (np.array([np.ravel(v) for v in some], dtype=float) for some in outcomes)
    both = np.concatenate([first, second])
    infinite = int((~np.isfinite(both)).sum())
    columns = np.flatnonzero((both != both[0]).any(axis=0) & np.isfinite(both).all(axis=0))
    # Noise that is missing repeats itself as well: that all columns are constant is no excuse.
    grids = tuple(_grid(both[:, place]) for place in columns)
    repeated = sum(len(some) - len(np.unique(some, axis=0)) for some in (first, second))
    if len(columns) and _few_values(both[:, columns], grids):
        repeated = 0
    differing = {
        int(place): spacings
        for place in columns
        if (spacings := _telling(first[:, place], second[:, place]))
    }
    return FloatingPointAudit(n_fits, infinite, repeated, grids, differing)


def _few_values(outputs: Array, grids: tuple[float | None, ...]) -> bool:
    """Whether as many draws from as many points as the outputs reach would repeat themselves.

    Of plain doubles, whether most are repetitions: one of a few numbers was chosen then.
    """
    if None in grids:
        return 2 * len(np.unique(outputs, axis=0)) <= len(outputs)
    reach = np.ptp(outputs, axis=0)
    log_points = float(np.log1p(reach / np.array(grids, dtype=float)).sum())
    return 2 * math.log(len(outputs)) - log_points > math.log(_CHANCE)


def _released(model: Any) -> Array:
    if not hasattr(model, "coef_"):
        raise ValueError(f"{type(model).__name__} has no coef_. Say by release what is noisy.")
    return np.concatenate(
        [np.ravel(np.asarray(model.coef_, dtype=float)), np.ravel(getattr(model, "intercept_", []))]
    )


def _telling(first: Array, second: Array) -> tuple[float, ...]:
    """Compare outputs of equal size: how many bits a double has depends on its size."""
    reach = float(np.median(np.abs(np.concatenate([first, second]))))
    near = [some[np.abs(some) <= reach] for some in (first, second)]
    if min(map(len, near)) == 0:
        return ()
    spacings = [2.0**exponent * _power(reach) for exponent in _EXPONENTS]
    return tuple(differences_between_lattices(spacings, *near))


def _power(reach: float) -> float:
    """Return the power of two at a size, 1 for 0."""
    return 2.0 ** math.frexp(reach)[1] if reach > 0 else 1.0


def _grid(outputs: Array) -> float | None:
    """Coarsest power of two of which all are multiples, if finer doubles were possible."""
    largest = _power(float(np.abs(outputs).max()))
    for exponent in range(2, -54, -1):
        spacing = largest * 2.0**exponent
        if share_on(spacing, outputs) == 1:
            # The finest bits that doubles of this size have are no grid of anybody's making.
            return spacing if exponent > -50 else None
    return None

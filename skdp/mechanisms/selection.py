"""What all selections share: a sparse vector goes in, the coordinates selected come out."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from skdp._random import RandomSource
from skdp._validation import positive_integer
from skdp.mechanisms.base import Mechanism
from skdp.mechanisms.order_statistics import distinct_outside
from skdp.mechanisms.statistics import Floats, Indices, Selection, SparseSum
from skdp.privacy.budget import Norm

if TYPE_CHECKING:
    from dp_accounting import DpEvent

__all__ = [
    "SelectionMechanism",
    "TopMechanism",
    "bounded_range_event",
    "chosen",
    "pure_event",
    "scores_of",
]

_MOST_SENSITIVITIES = 2.0**60
_FAR_APART = 2.0**-340
_ROUNDED_UP = 1 + 2.0**-48


@dataclass(frozen=True)
class SelectionMechanism(Mechanism[Selection]):
    """Selects coordinates of a vector of which few are not zero, in time O(s + k).

    The sensitivity is the L2 distance of the vectors of two neighbouring data sets. It bounds how
    far each coordinate's absolute value, which is its score, moves, and all of them together.

    The time depends on the number s of coordinates that are listed, not on `size`. Whoever can
    time a selection learns about s.
    """

    required_norm: ClassVar[Norm] = "l2"

    def _release(self, value: npt.ArrayLike | SparseSum, rng: RandomSource) -> Selection:
        sparse = value if isinstance(value, SparseSum) else SparseSum.from_dense(value)
        self._require_size(sparse.size)
        return self._select(sparse, rng)

    @abstractmethod
    def _select(self, value: SparseSum, rng: RandomSource) -> Selection:
        """Select. Values may be infinite or NaN."""


@dataclass(frozen=True)
class TopMechanism(SelectionMechanism):
    """Selects a fixed number of coordinates.

    Attributes
    ----------
    n_selected : int
        How many, from 1 to `size`.
    """

    n_selected: int

    def __post_init__(self) -> None:
        super().__post_init__()
        positive_integer(n_selected=self.n_selected)
        object.__setattr__(self, "n_selected", int(self.n_selected))
        if self.n_selected > self.size:
            raise ValueError(
                f"n_selected must be at most the {self.size} coordinates, got {self.n_selected}."
            )


def scores_of(value: SparseSum, sensitivity: float) -> Floats:
    """Absolute values of the listed coordinates, at most 2^60 sensitivities; 0 for NaN.

    To raise, or to warn of an overflow, would tell. A minimum moves no two scores further apart.
    """
    return np.minimum(np.abs(np.nan_to_num(value.values)), _MOST_SENSITIVITIES * sensitivity)


def chosen(value: SparseSum, places: Indices, rng: RandomSource) -> Selection:
    """Select the listed coordinates at `places`; each place beyond stands for one of the rest."""
    listed = places[places < value.indices.size]
    others = distinct_outside(value.indices, value.size, places.size - listed.size, rng)
    return Selection.sorted(np.concatenate([value.indices[listed], others]))


def bounded_range_event(
    mechanism: SelectionMechanism, picks: int, eta: float, longer: float
) -> "DpEvent":
    """Describe `picks` picks whose losses lie in intervals of length `eta` + `longer`.

    What scores too far apart for double precision do is a total variation t of all picks together.
    It adds (1 + e^a) t to delta at an epsilon of a, and nowhere more than at any a to which
    delta itself is added; that is 0 from picks eta on, and at most exp(-(a - rho)^2 / (4 rho)),
    rho = picks eta^2 / 8, before (Cesar and Rogers, 2021; Bun and Steinke, 2016).
    """
    total, rho = picks * eta, picks * eta**2 / 8

    def excess(at: float) -> float:
        tail = math.exp(-((at - rho) ** 2) / (4 * rho)) if rho < at < total else float(at < total)
        return tail + (1 + math.exp(at)) * mechanism.size * _FAR_APART

    delta = min(excess(at) for at in (min(total, 150.0), 50.0, 100.0))
    return _event(mechanism, picks, "bounded-range", eta + longer, delta)


def pure_event(
    mechanism: SelectionMechanism,
    picks: int,
    epsilon: float,
    more: float,
    total_variation: float = 0.0,
) -> "DpEvent":
    """Describe `picks` picks of (`epsilon` + `more`)-DP each, each up to a total variation."""
    total_variation += mechanism.size * _FAR_APART
    delta = picks * (1 + math.exp(min(epsilon, 700.0))) * total_variation
    return _event(mechanism, picks, "pure", epsilon + more, delta)


def _event(
    mechanism: SelectionMechanism, picks: int, kind: str, epsilon: float, delta: float
) -> "DpEvent":
    from dp_accounting import NonPrivateDpEvent

    from skdp.privacy.step_events import SelectionDpEvent

    if delta >= 1:
        return NonPrivateDpEvent()
    return SelectionDpEvent(
        picks=picks,
        kind=kind,
        epsilon=epsilon * _ROUNDED_UP,
        neighbours=mechanism.sensitivity.neighbours.value,
        delta=delta,
    )

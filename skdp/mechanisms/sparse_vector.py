"""Selections by a threshold that is noisy itself, stopped after so many coordinates."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, final

from skdp._random import RandomSource
from skdp._validation import non_negative, positive
from skdp.mechanisms.selection import TopMechanism, pure_event
from skdp.mechanisms.selection_noise import score_error
from skdp.mechanisms.sparse_vector_rules import RULES, ThresholdRule
from skdp.mechanisms.statistics import Selection, SparseSum

if TYPE_CHECKING:
    from dp_accounting import DpEvent

__all__ = ["SparseVectorTechnique"]


@final
@dataclass(frozen=True)
class SparseVectorTechnique(TopMechanism):
    """The first c coordinates, in random order, whose noisy abs(v_j) reaches a noisy threshold.

    With the optimal constants: a threshold noise Lap(s/e1), once; for each coordinate in turn
    noise Lap(2 c s/e2), and it is selected if abs(v_j) plus this is at least the threshold plus its
    noise; stop after c. e1 + e2 = epsilon and e1 : e2 = 1 : (2 c)^(2/3). Fewer than c may be
    selected. The order is uniform and does not depend on the data, so the c are a random choice
    of all that reach the threshold; the compared values are not released.

    With the paper's constants: NumericSparse. e1 = 8/9 epsilon, e2 = 2/9 epsilon, b(e) = 2 c s/e;
    threshold noise Lap(b(e1)), drawn anew after each coordinate selected; noise Lap(2 b(e1)) on
    abs(v_j); and the selected v_j are released with fresh noise Lap(b(e2)) on `grid`, of which
    `value` must consist of multiples. For comparison; it selects and releases worse.

    Guarantees
    ----------
    epsilon-DP for scores that each move by at most s: Lyu, Su and Li (2017), Algorithm 7,
    for the optimal constants; Dwork and Roth (2014), Theorem 3.27 (a release costs half of its
    e2), for the paper's. The event adds to epsilon what double precision
    may change, 16 (c + 1) h with h = `score_error`, and says in its delta what the discrete
    noise of released values and scores more than 2^8 scales apart do.

    Parameters
    ----------
    sensitivity : Sensitivity
        L2 bound on how far one record moves the vector, and so each score.
    size : int
        Number of coordinates.
    n_selected : int
        The c, from 1 to `size`.
    epsilon : float
        What all of the selection costs.
    threshold : float
        At least 0, in the units of the vector.
    constants : {"optimal", "paper"}, default="optimal"
        Those of Lyu, Su and Li, or of NumericSparse.

    Examples
    --------
    >>> from skdp._random import RandomSource
    >>> from skdp.mechanisms import SparseSum, SparseVectorTechnique
    >>> from skdp.privacy.budget import Neighbours, Sensitivity
    >>> sensitivity = Sensitivity(1.0, "l2", Neighbours.ZERO_OUT)
    >>> svt = SparseVectorTechnique(
    ...     sensitivity, 10**9, n_selected=2, epsilon=1.0, threshold=300.0
    ... )
    >>> gradient = SparseSum([3, 500, 10**8], [600.0, 0.0, -600.0], 10**9)
    >>> svt.release(gradient, RandomSource.from_seed(0)).indices
    array([        3, 100000000])
    """

    epsilon: float
    threshold: float
    constants: Literal["optimal", "paper"] = "optimal"

    def __post_init__(self) -> None:
        super().__post_init__()
        positive(epsilon=self.epsilon)
        non_negative(threshold=self.threshold)
        if self.constants not in RULES:
            raise ValueError(f"constants must be one of {list(RULES)}, got {self.constants!r}.")

    @property
    def grid(self) -> float | None:
        """Spacing of the values released, a power of two; None where none are released."""
        return self._rule.grid

    @property
    def event(self) -> "DpEvent":
        more = 16 * (self.n_selected + 1) * score_error(self.n_selected)
        return pure_event(self, 1, self.epsilon, more, self._rule.total_variation)

    @property
    def theorem(self) -> str:
        return self._rule.theorem

    @cached_property
    def _rule(self) -> ThresholdRule:
        return RULES[self.constants](
            sensitivity=self.sensitivity.value,
            n_selected=self.n_selected,
            epsilon=self.epsilon,
            threshold=self.threshold,
        )

    def _select(self, value: SparseSum, rng: RandomSource) -> Selection:
        return self._rule.select(value, rng)

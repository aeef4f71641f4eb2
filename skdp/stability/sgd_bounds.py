r"""How far one record moves the outcome of permutation SGD: one calculator for every schedule.

Two runs on data sets that differ in one record use the same order, steps and divisor. With
delta_t the distance of their iterates after step t,

    delta_t <= a_t delta_(t-1) + [record in batch t] e_t eta_t D_t / b + 2 r_t,

- a_t the contraction of the step on a common batch (`UpdateRule`): a gradient step of a convex
  M-smooth loss stretches no distance for eta <= 2/M, a prox and a projection never do;
- D_t = 2 W kappa L(R_t) the diameter of one record's gradients on the ball that holds the iterates,
  e_t the factor of the penalty on them; the penalty itself cancels;
- r_t the rounding of one step in float64, see `_rounding`.

Unrolled, with A_t the weight of a kick after step t in the released average, and the worst place of
the record in each pass (Wu, Li, Kumar, Chaudhuri, Jha and Naughton 2017, Theorem 3 and its
corollaries, extended to any schedule, batches, proximal steps and averages):

    Delta <= sum_passes max_(t in pass) A_t e_t eta_t D_t / b + 2 sum_t A_t r_t.

*The ball* R_t. A step maps 0 to a point of norm at most eta W kappa slope(0), so
R_t = a_t R_(t-1) + e_t eta_t W kappa slope(0) + r_t; no iterate is far out even where the loss has
no Lipschitz constant.

*Losses with a kink.* A common batch may push two iterates apart by eta rho W kappa, rho the range
of slopes, at right angles to their difference: sqrt((s + B)^2 + c^2) <= sqrt(s^2 + c^2) + B keeps
the two apart (Bassily, Feldman, Guzman and Talwar 2020, Theorem 3.1, with better constants),

    s_t <= c_t^2 (s_(t-1) + (eta_t rho W kappa)^2),   Delta <= sqrt(s) + (the sum above).

*Units of m rows.* Replacing them one after the other passes through m - 1 further data sets of the
same size, so that the outcome moves by at most m times as much.
"""

import math
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from skdp.objectives.nonsmooth import NonSmoothLoss
from skdp.privacy.budget import Neighbours, Sensitivity
from skdp.stability.scans import forward, rounding_of, weights_of_kicks
from skdp.stability.sgd_run import StableRun

__all__ = ["THEOREM", "iterate_radii", "sgd_sensitivity"]

Array = npt.NDArray[np.float64]

THEOREM = (
    "Permutation SGD moves by at most sum_passes max_(t in pass) A_t eta_t D_t/b when one record "
    "is replaced, A_t the weight that later steps leave to a kick (Wu, Li, Kumar, Chaudhuri, Jha "
    "and Naughton 2017, Theorem 3; Hardt, Recht and Singer 2016, Lemma 2.5)"
)
KINK_THEOREM = (
    "; a loss with a kink adds the root of the sum of squared steps (Bassily, Feldman, Guzman and "
    "Talwar 2020, Theorem 3.1)"
)
# Twice the unit roundoff: the second half covers all products of roundings.
_UNIT = 2.0**-52
# Public weights of an average are computed from sums on a scale of up to 2^10.
_AVERAGE_SLACK = 2.0**-42
_PIECES = 256
# Beyond, squares of scores could leave the range of float64.
_LARGEST_SCORE = 1e100


def theorem_of(run: StableRun) -> str:
    """Return what `sgd_sensitivity` rests on, with its sources."""
    return THEOREM + KINK_THEOREM if run.has_kink else THEOREM


def sgd_sensitivity(run: StableRun) -> Sensitivity:
    """Return the L2 sensitivity of the outcome of a run, replace-one, rounding included.

    Where the domain says that a unit has several rows, all of them are replaced.

    Parameters
    ----------
    run : StableRun
        Any schedule. Steps above ``run.largest_step`` enter with the factor by which they stretch
        distances, which makes the bound grow exponentially with their number.

    Returns
    -------
    Sensitivity

    Raises
    ------
    ValueError
        If the bound is not finite, or none is proved: a loss with a kink and ridge steps above
        1/l2.

    Examples
    --------
    >>> from skdp.objectives import HuberHinge
    >>> from skdp.stability import Domain
    >>> from skdp.stability.sgd_steps import InverseStep
    >>> domain = Domain(n_samples=1000, n_features=5, row_norm=1.0)
    >>> run = StableRun(HuberHinge(), domain, InverseStep(), n_passes=10, batch_size=20, l2=0.1)
    >>> round(sgd_sensitivity(run).value, 5)            # 2 L kappa / (n l2)
    0.01996
    """
    if run.has_kink and run.sizes.max() > run.largest_step * (1 + 2.0**-40):
        raise ValueError(
            f"A loss with a kink has no bound for ridge steps above 1/l2 = {run.largest_step:.3g}. "
            "Set a smaller step or a cap, or take proximal steps."
        )
    with np.errstate(all="ignore"):
        moved, radius = _moved(run)
    # Two points of a ball are no further apart than its diameter.
    moved = min(moved, 2 * radius) * rounding_of(run.n_steps) * run.domain.rows_per_unit
    if not (moved < math.inf and radius * run.domain.kappa < _LARGEST_SCORE):
        raise ValueError(
            f"This schedule has no finite sensitivity: steps above {run.largest_step:.3g} stretch "
            "distances. Set a smaller step or a cap."
        )
    return Sensitivity(moved, "l2", Neighbours.REPLACE_ONE)


def iterate_radii(run: StableRun) -> Array:
    """Return bounds on the norms of w_0, ..., w_T, roundings included."""
    return _radii(run, _Steps.of(run))


def _moved(run: StableRun) -> tuple[float, float]:
    """Return the sum of the module's docstring, and the largest norm of an iterate."""
    steps, averaging = _Steps.of(run), run.averaging.weights(run.n_steps)
    kick = weights_of_kicks(steps.contraction, averaging + _slack(averaging))
    radii = _radii(run, steps)
    moved = _of_hits(run, steps, kick, radii) + _of_rounding(run, steps, kick, radii)
    if isinstance(run.loss, NonSmoothLoss):
        moved += _of_kinks(run, run.loss, steps, averaging, radii)
    return moved, float(radii.max())


class _Steps(NamedTuple):
    """Each step in numbers; `pull` is e_t eta_t, and a step rounds by growth norm(w) + start."""

    contraction: Array
    pull: Array
    growth: Array
    start: Array

    @classmethod
    def of(cls, run: StableRun) -> Self:
        sizes, l2 = run.sizes, run.l2
        contraction = run.update.contraction(sizes, run.smoothness, l2)
        return cls(contraction, run.update.entry(sizes, l2) * sizes, *_rounding(run))


def _radii(run: StableRun, steps: _Steps) -> Array:
    push = run.domain.max_weight * run.domain.kappa * _reach(run)
    radii = forward(steps.contraction + steps.growth, steps.pull * push + steps.start)
    inside = run.projection.radius * (1 + (run.domain.n_columns + 16) * 2.0**-51)
    bounded: Array = np.minimum(np.append(0.0, radii), inside) * rounding_of(run.n_steps)
    return bounded


def _reach(run: StableRun) -> float:
    """Slope of the loss at score 0, for losses with a kink anywhere."""
    if run.has_kink:
        return run.loss.gradient_bound(run.domain.kappa, math.inf)
    return run.loss.slope_at_zero


def _slack(averaging: Array) -> float:
    """What floating-point averaging can add to each weight; nothing for the last iterate."""
    return 0.0 if averaging[-1] == 1 else _AVERAGE_SLACK


def _of_hits(run: StableRun, steps: _Steps, kick: Array, radii: Array) -> float:
    """Sum over passes of the most that the replaced record can do there."""
    moves = kick * steps.pull * (_diameters(run, radii[:-1]) / run.batch_size)
    by_pass = moves.reshape(run.n_passes, run.steps_per_pass)
    hits = run.participation.most_passes(run.n_passes)
    if run.reshuffle:
        return float(np.sort(by_pass.max(axis=1))[-hits:].sum())
    return float(np.sort(by_pass, axis=0)[-hits:].sum(axis=0).max())


def _diameters(run: StableRun, radii: Array) -> Array:
    """D_t; steps share the largest one of their stretch, short stretches first."""
    edges = np.unique(np.geomspace(1, len(radii), _PIECES).astype(np.intp))
    starts = np.concatenate([[0], edges[:-1]])
    lengths = np.diff(np.append(starts, len(radii)))
    kappa, weight = run.domain.kappa, run.domain.max_weight
    largest = np.maximum.reduceat(radii, starts)
    slopes = np.array([run.loss.gradient_bound(kappa, float(radius)) for radius in largest])
    return np.repeat(2 * weight * kappa * slopes, lengths)


def _of_kinks(
    run: StableRun, loss: NonSmoothLoss, steps: _Steps, averaging: Array, radii: Array
) -> float:
    """Average of sqrt(s_t), for a record that is seen in the first step of all."""
    kappa, weight = run.domain.kappa, run.domain.max_weight
    apart = np.square(steps.pull * loss.slope_range * weight * kappa)
    score_error = _UNIT * (run.domain.n_columns + 16) * kappa * radii[:-1]
    apart += 4 * steps.pull * weight * loss.slope_range * score_error
    apart[0] = 0.0
    squares = forward(np.square(steps.contraction), apart)
    return float(averaging @ np.sqrt(squares))


def _of_rounding(run: StableRun, steps: _Steps, kick: Array, radii: Array) -> float:
    """What the roundings of both runs can add to their distance."""
    in_steps = 2 * float(kick @ (steps.growth * radii[:-1] + steps.start))
    return in_steps + 2 * _UNIT * (2 * run.n_steps + 4) * float(radii.max())


def _rounding(run: StableRun) -> tuple[Array, Array]:
    r"""Return (g_t, h_t): the rounding error of step t has norm at most g_t norm(w) + h_t.

    In units of the roundoff, with d columns, K outputs, batches of b, p = eta W kappa the length of
    a gradient of slope 1 and c the curvature of the loss:

    - a score ``x w`` is a sum of d products, in any order: (d + 16) kappa norm(w), which moves a
      slope by c times that; formulas of slopes work on numbers of size 1: 16 c more; their results
      are rounded: (K + 16) L(R) with L(R) <= slope(0) + c kappa norm(w);
    - b gradients are added to w one by one, or first to each other:
      (b + 8)(norm(w) + p L(R)); shrinking, thresholds, changes of scale: 8 norm(w) in all;
    - a norm is a sum of d squares: (d + 16) norm(w) where there is a projection.

    Step sizes, thresholds and scales have roundings too, the same in both runs. Errors of underflow
    are below 2^-1000.
    """
    columns, outputs, batch = run.domain.n_columns, run.loss.n_outputs, run.batch_size
    kappa = run.domain.kappa
    length = run.sizes * run.domain.max_weight * kappa
    curvature = 0.0 if run.has_kink else run.loss.smoothness
    per_slope = batch + outputs + 24
    projected = columns + 16 if math.isfinite(run.projection.radius) else 0
    growth = batch + 16 + projected + length * curvature * kappa * (columns + 16 + per_slope)
    start = length * (per_slope * _reach(run) + 16 * curvature) + 2.0**-900
    return _UNIT * growth, _UNIT * start

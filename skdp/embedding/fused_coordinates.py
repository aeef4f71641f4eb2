"""Steps on single coordinates in compiled code, many in one call, where that is the same."""

from typing import Any, cast, final

import numpy as np

from skdp._random import RandomSource
from skdp.embedding.coordinate_rules import Rule, rule_of
from skdp.embedding.fused import Noise, portions
from skdp.embedding.fused_dense import by_word
from skdp.embedding.gradients import CbowGradients
from skdp.embedding.supply import Supply
from skdp.training.gradients import Array
from skdp.training.optimizers import Adam
from skdp.training.plan import TrainingPlan
from skdp.training.private_loop import Progress
from skdp.training.sampling import Batches
from skdp.training.steps import RefinedStep, Step, SurvivorsStep, TopKStep

__all__ = ["can_fuse_coordinates", "fused_coordinates_dpsgd"]

Selecting = TopKStep | RefinedStep | SurvivorsStep

#: With more coordinates, a few bits of each cost more than the noise of those that matter. Bits
#: are drawn of whole words, of 64 coordinates each.
MOST_COORDINATES, _WIDTH = 2**21, 64
#: Numbers that the gradients of a batch may take.
_MOST_NUMBERS = 2**22
#: Coordinates for each number of `fused.portions`, of the bits that are drawn of each.
_BITS = 64
#: Noise on values that is drawn at a time, if more than one step's.
_VALUES_AT_A_TIME = 2**16


def can_fuse_coordinates(plan: TrainingPlan, gradients: CbowGradients) -> bool:
    """Whether `fused_coordinates_dpsgd` makes these steps: a rule, few coordinates, a compiler."""
    step = plan.step_at(next(plan.multipliers()))
    size = gradients.shape[1]
    numbers = 4 * plan.sampler.divisor * gradients.most_rows * size
    return (
        isinstance(step, Selecting)
        and rule_of(step.selection) is not None
        and hasattr(gradients.route, "work")
        and _padded(gradients) <= MOST_COORDINATES
        and numbers <= _MOST_NUMBERS
    )


def _padded(gradients: CbowGradients) -> int:
    """Number of coordinates that bits are drawn of."""
    n_words, size = gradients.shape
    return n_words * -(-size // _WIDTH) * _WIDTH


def fused_coordinates_dpsgd(
    plan: TrainingPlan,
    gradients: CbowGradients,
    optimizer: Adam,
    rng: RandomSource,
    progress: Progress | None = None,
    begin: Progress | None = None,
    every: int = 1,
) -> Array:
    """Run a plan of steps on coordinates, as `dpsgd` does; same parameters, no average of iterates.

    `begin` is told before each step that is a multiple of `every`.

    Notes
    -----
    *Guarantees.* Those of `dpsgd`: scores and sums are the same exact numbers, and each score gets
    noise of its own, of the law that the mechanism draws of those that records touch; of the
    others the mechanism draws what is the same in law. The bits of a noise are drawn one part
    after the other, and the later ones only where the first leave it open whether the coordinate
    is selected, which changes nothing that is released. Noisy scores are rounded as often as
    `selection_noise.score_error` counts. Of two equal ones at the border the first coordinate is
    taken, which is post-processing of noisy scores; and of more that reach the bar of the sparse
    vector technique than may be selected, those whose independent uniform keys are largest: keys
    are an order that no data enters.
    """
    batches, run = rng.spawn(), _Coordinates(gradients, optimizer, rng.spawn(), rng.spawn())
    steps, made, bits = plan.steps(), 0, _padded(gradients) // _BITS + 1
    for block in plan.sampler.blocks(gradients.n_records, plan.n_steps, batches):
        for step, part in portions(steps, block, bits, made, every):
            if begin is not None and made % every == 0:
                begin(made)
            run.make(step, part, made)
            made += len(part.offsets) - 1
        if progress is not None:
            progress(made)
    return optimizer.result()


@final
class _Coordinates:
    """What steps have in common: noise that waits for its turn, and room."""

    def __init__(
        self, gradients: CbowGradients, optimizer: Adam, scores: RandomSource, values: RandomSource
    ) -> None:
        self._gradients, self._optimizer = gradients, optimizer
        self._scores, self._values = scores, Noise(values)
        self._latest: tuple[object, Rule, Supply] | None = None
        self._room = _Room(gradients)

    def make(self, step: Step, part: Batches, made: int) -> None:
        """Make some equal steps."""
        from skdp.embedding.coordinate_kernels import NO_VALUES, run_steps

        if not isinstance(step, Selecting):
            raise TypeError(f"{type(step).__name__} does not select coordinates.")
        rule, supply = self._selecting(step.selection)
        n_steps, route = len(part.offsets) - 1, cast(Any, self._gradients.route)
        how, state = _how(step, rule, self._gradients), self._state(n_steps)
        work = self._room.of(route, int(np.diff(part.offsets).max()))
        keys = self._gradients.keys(made, n_steps)
        planes = supply.planes(n_steps, *self._gradients.shape)
        bars, first = rule.bars(n_steps, self._scores), 0
        while first < n_steps:
            first, used, lacking = run_steps(
                route.records,
                work,
                state,
                how,
                supply.arrays,
                *part,
                keys,
                first,
                planes,
                bars,
                self._noise(step, n_steps - first),
            )
            self._values.drop(used)
            if first < n_steps and lacking != NO_VALUES:
                supply.refill(lacking)
        self._optimizer.made(n_steps)

    def _selecting(self, selection: object) -> tuple[Rule, Supply]:
        if self._latest is None or self._latest[0] != selection:
            rule = rule_of(selection)
            if rule is None:
                raise TypeError(f"{type(selection).__name__} has no rule for compiled code.")
            self._latest = selection, rule, Supply(rule.law, self._scores)
        return self._latest[1:]

    def _state(self, n_steps: int) -> Any:
        return by_word(self._optimizer, self._gradients.shape, n_steps)

    def _noise(self, step: Selecting, n_steps: int) -> Array:
        """Noise on values, enough for a step."""
        if isinstance(step, TopKStep):
            return np.zeros(0)
        most = step.noise.size
        wanted = min(max(_VALUES_AT_A_TIME, most), n_steps * most)
        return self._values.of_values(step.noise.noise_std, wanted)


@final
class _Room:
    """Arrays that compiled code writes to."""

    def __init__(self, gradients: CbowGradients) -> None:
        from skdp.embedding.selection_kernels import TOGETHER

        # So many places are written to although they are not needed.
        n, self._most_rows = gradients.size + TOGETHER, gradients.most_rows
        n_words, size = gradients.shape
        self._sums = np.empty(gradients.shape)
        marks = np.empty(n_words * -(-size // _WIDTH), dtype=np.uint64)
        starts = np.empty(n_words + 1, dtype=np.int64)
        self._lists = np.empty(n, dtype=np.int64), np.empty(n), np.empty(n), marks, starts
        self._words = np.empty(0, dtype=np.int64)
        self._parts = np.empty((0, gradients.shape[1]))

    def of(self, route: Any, n_records: int) -> Any:
        """Return them, for gradients of so many records at most."""
        n_rows = n_records * self._most_rows
        if n_rows > len(self._words):
            self._words = np.empty(n_rows, dtype=np.int64)
            self._parts = np.empty((n_rows, self._parts.shape[1]))
        return (*route.work, self._sums, self._words, self._parts, self._lists)


def _how(step: Selecting, rule: Rule, gradients: CbowGradients) -> Any:
    """Return what is selected by which scores, and the limit and grid of what is released."""
    max_norm, grid = step.sums[0]
    limit = gradients.limit(max_norm, grid)
    selection = (rule.kind, rule.by_touch, limit, grid, rule.scale, rule.shift, rule.most)
    if isinstance(step, TopKStep):
        return selection, (True, limit, grid)
    selected_norm, noise_grid = step.sums[1]
    return selection, (False, gradients.limit(selected_norm, noise_grid), noise_grid)

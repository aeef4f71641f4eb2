"""Steps on selected rows in compiled code, many in one call, where that is the same."""

import math
from collections.abc import Iterator
from itertools import groupby, islice
from typing import Any, final

import numpy as np

from skdp._random import RandomSource
from skdp.embedding.fused_dense import by_word
from skdp.embedding.gradients import CbowGradients
from skdp.embedding.row_selection import RowStep
from skdp.mechanisms.gaussian_selection import GaussianThreshold, GaussianTopK
from skdp.training.gradients import Array
from skdp.training.optimizers import Adam
from skdp.training.plan import TrainingPlan
from skdp.training.private_loop import Progress
from skdp.training.rounded_noise import rounded_normals
from skdp.training.sampling import Batches
from skdp.training.steps import Step

__all__ = ["Noise", "can_fuse", "fused_dpsgd", "portions"]

#: With more words, the noise of all of them would cost more than that of those that matter.
MOST_WORDS = 2**15
#: Numbers that the gradients of a batch may take.
_MOST_NUMBERS = 2**22
#: Numbers of noise that are drawn at a time, if more than one step's.
_NOISE_AT_A_TIME = 2**17


def can_fuse(plan: TrainingPlan, gradients: CbowGradients) -> bool:
    """Whether `fused_dpsgd` makes these steps: Gaussian noise on rows, few words."""
    step = plan.step_at(next(plan.multipliers()))
    n_words, size = gradients.shape
    numbers = 4 * plan.sampler.divisor * gradients.most_rows * size
    return (
        isinstance(step, RowStep)
        and isinstance(step.by_row.selection, GaussianTopK | GaussianThreshold)
        and hasattr(gradients.route, "work")
        and n_words <= MOST_WORDS
        and numbers <= _MOST_NUMBERS
    )


def fused_dpsgd(
    plan: TrainingPlan,
    gradients: CbowGradients,
    optimizer: Adam,
    rng: RandomSource,
    progress: Progress | None = None,
    begin: Progress | None = None,
    every: int = 1,
) -> Array:
    """Run a plan of steps on rows, as `dpsgd` does; same parameters, and no average of iterates.

    `begin` is told before each step that is a multiple of `every`.

    Notes
    -----
    *Guarantees.* Those of `dpsgd`: scores and sums are the same exact numbers, to which whole
    numbers of the same law are added. Noise of scores is drawn for every word, where
    `GaussianTopK` and `GaussianThreshold` draw the largest of those that no record touches, which
    is the same in law. Of two equal noisy scores at the border the first word is taken, which is
    post-processing of noisy scores, as any rule is.
    """
    batches, noise = rng.spawn(), Noise(rng.spawn())
    steps, made = plan.steps(), 0
    for block in plan.sampler.blocks(gradients.n_records, plan.n_steps, batches):
        for step, part in portions(steps, block, gradients.shape[0], made, every):
            if begin is not None and made % every == 0:
                begin(made)
            _run(step, gradients, optimizer, part, made, noise)
            made += len(part.offsets) - 1
        if progress is not None:
            progress(made)
    return optimizer.result()


def portions(
    steps: Iterator[Step], block: Batches, of_a_step: int, made: int, every: int
) -> Iterator[tuple[Step, Batches]]:
    """Cut a block where noise changes or would be large, and before multiples of `every`."""
    most, at = max(1, _NOISE_AT_A_TIME // of_a_step), 0
    for step, equal in groupby(islice(steps, len(block.offsets) - 1)):
        count = sum(1 for _ in equal)
        stop = at + count
        while at < stop:
            until = min(at + most, stop, at + every - (made + at) % every)
            yield step, Batches(block.rows, block.offsets[at : until + 1])
            at = until


def _run(
    step: Step,
    gradients: CbowGradients,
    optimizer: Adam,
    part: Batches,
    made: int,
    noise: "Noise",
) -> None:
    from skdp.embedding.fused_kernels import run_steps

    if not isinstance(step, RowStep):
        raise TypeError(f"{type(step).__name__} does not select rows.")
    n_steps = len(part.offsets) - 1
    n_words = gradients.shape[0]
    selection: Any = step.by_row.selection
    route: Any = gradients.route
    scores_noise = noise.of_scores(selection.noise_std, n_steps * n_words)
    state = by_word(optimizer, gradients.shape, n_steps)
    first, most = 0, step.noise.size  # of one step
    while first < n_steps:
        wanted = min(max(_NOISE_AT_A_TIME, most), (n_steps - first) * most)
        first, used = run_steps(
            route.records,
            route.work,
            state,
            _how(step, gradients),
            *part,
            gradients.keys(made, n_steps),
            first,
            scores_noise.reshape(n_steps, n_words),
            noise.of_values(step.noise.noise_std, wanted),
        )
        noise.drop(used)
    optimizer.made(n_steps)


@final
class Noise:
    """Whole numbers of normal laws; of those for values, what is left over waits for its turn."""

    def __init__(self, rng: RandomSource) -> None:
        self._rng, self._noise_std = rng, 0.0
        self._room = self._left = np.zeros(0)

    def of_scores(self, noise_std: float, n: int) -> Array:
        """Draw `n` numbers."""
        drawn = np.empty(n)
        rounded_normals(noise_std, drawn, self._rng)
        return drawn

    def of_values(self, noise_std: float, n: int) -> Array:
        """Return `n` numbers or more, which stay until they are dropped."""
        if noise_std != self._noise_std:
            self._left, self._noise_std = np.zeros(0), noise_std
        kept = len(self._left)
        if kept < n:
            room = self._room if n <= len(self._room) else np.empty(n)
            room[:kept] = self._left
            rounded_normals(noise_std, room[kept:n], self._rng)
            self._room, self._left = room, room[:n]
        return self._left

    def drop(self, n: int) -> None:
        """Use up the first `n`."""
        self._left = self._left[n:]


def _how(step: RowStep, gradients: CbowGradients) -> Any:
    """Return limits and grids of selection and release, and what is selected."""
    (max_norm, grid), (selected_norm, noise_grid) = step.sums
    selection = step.by_row.selection
    release = (gradients.limit(selected_norm, noise_grid), noise_grid)
    if isinstance(selection, GaussianThreshold):
        least = math.ceil(float(np.clip(selection.threshold / grid, -(2.0**60), 2.0**60)))
        return (True, gradients.limit(max_norm, grid), grid, 0, float(least)), release
    if not isinstance(selection, GaussianTopK):
        raise TypeError(f"{type(selection).__name__} does not add Gaussian noise.")
    limit = gradients.row_limit(max_norm, grid)
    return (False, limit, grid, selection.n_selected, 0.0), release

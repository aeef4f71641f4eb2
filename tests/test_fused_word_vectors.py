"""Steps that compiled code makes, many in one call on rows, beside the loop: the same bits."""

from dataclasses import replace

import numpy as np
import pytest

from skdp._random import RandomSource
from skdp.embedding import WholeRows
from skdp.embedding import fused as module
from skdp.embedding import fused_dense as dense_module
from skdp.embedding.fused import can_fuse, fused_dpsgd
from skdp.embedding.fused_dense import can_fuse_dense, fused_dense_dpsgd
from skdp.embedding.run import CbowRun
from skdp.mechanisms.gaussian_selection import GaussianThreshold
from skdp.mechanisms.rounded_gaussian import RoundedGaussian
from skdp.mechanisms.statistics import Selection
from skdp.privacy import PrivacyBudget
from skdp.training import (
    Adam,
    AllCoordinates,
    ConstantNoise,
    Descent,
    ExponentialDecay,
    ExponentialSelector,
    GaussianSelector,
    PoissonSampler,
    SurvivorSelector,
    TrainingPlan,
    dpsgd,
)
from tests.support.word_vectors import SIZE, WORDS, corpus, gradients_of, records_of

STEPS = 23
SELECTORS = {
    "gaussian": GaussianSelector(3, share=0.4),
    "gaussian, clipped again": GaussianSelector(4, share=0.3, selected_norm=0.2),
    "all rows": GaussianSelector(12, share=0.4),
    "adafest": SurvivorSelector(3, share=0.4),
    "adafest, clipped again": SurvivorSelector(1, selected_norm=0.2),
}


class Noises:
    """Hands out the noise of the fused steps, and remembers it."""

    def __init__(self):
        self.drawn = {}

    def __call__(self, noise_std, out, rng):
        out[:] = RoundedGaussian(noise_std).integers(len(out), rng)
        self.drawn.setdefault(noise_std, []).append(out.copy())

    def of(self, noise_std):
        return np.concatenate(self.drawn[noise_std])


def planned(selector, n_records, noise=None, rate=0.4):
    sampler = PoissonSampler(rate, rate * n_records)
    noise = ConstantNoise() if noise is None else noise
    size = len(WORDS) * SIZE
    selector = WholeRows(selector, SIZE) if selector.selects else selector
    plan = TrainingPlan(sampler, selector, noise, 1.0, n_steps=STEPS, size=size)
    return plan.calibrated(PrivacyBudget(8.0, 1e-3))


def adam_of(plan):
    rates = np.full(plan.n_steps, 0.05)
    descent = Descent(rates, plan.sampler.divisor, 0.0, 0, average_from=plan.n_steps - 1)
    return Adam(descent, np.random.default_rng(1).normal(size=plan.size))


def chosen_rows(step, scores, noise):
    """The rule of either mechanism, on noisy scores in units of the grid."""
    noisy = scores + noise
    selection = step.by_row.selection
    if isinstance(selection, GaussianThreshold):
        return np.flatnonzero(noisy >= np.ceil(selection.threshold / selection.grid))
    order = np.argsort(-np.abs(noisy), kind="stable")[: selection.n_selected]
    return np.sort(order)


def by_loop(plan, gradients, optimizer, noises, batches):
    """Make each step by the parts that the loop uses, with noise that is given."""
    used = {}
    for t, (step, rows) in enumerate(zip(plan.steps(), batches, strict=True)):
        gradients.begin(t)
        (norm, grid), (selected_norm, noise_grid) = step.sums
        where = {"max_norm": norm, "grid": grid}
        if isinstance(step.by_row.selection, GaussianThreshold):
            scores = gradients.row_map(rows, **where)
        else:
            scores = gradients.row_scores(optimizer.values, 1.0, rows, **where)
        std = step.by_row.selection.noise_std
        at = used.get(std, 0)
        own = noises.of(std)[at : at + len(WORDS)]
        used[std] = at + len(WORDS)
        words = chosen_rows(step, scores.toarray() / grid, own)
        where = (words[:, None] * SIZE + np.arange(SIZE)).ravel()
        total = gradients.restricted_sum(
            optimizer.values, 1.0, rows, where, max_norm=selected_norm, grid=noise_grid
        )
        std = step.noise.noise_std
        at = used.get(std, 0)
        noise = noises.of(std)[at : at + len(where)]
        used[std] = at + len(where)
        optimizer.apply(Selection(where, (total / noise_grid + noise) * noise_grid))
    return optimizer.result()


@pytest.mark.parametrize("by_document", [True, False])
@pytest.mark.parametrize("selector", SELECTORS.values(), ids=SELECTORS)
def test_given_the_same_noise_vectors_are_the_same_bit_for_bit(selector, by_document, monkeypatch):
    noises = Noises()
    monkeypatch.setattr(module, "rounded_normals", noises)
    monkeypatch.setattr(module, "_NOISE_AT_A_TIME", 70)  # many calls, and leftovers
    records = records_of(corpus((6, 0, 9, 30, 3, 5)), by_document=by_document)
    gradients = gradients_of(records)
    plan = planned(selector, records.n_records)
    seen = []
    fused = fused_dpsgd(plan, gradients, adam_of(plan), RandomSource.from_seed(3), seen.append)
    batches, rng = [], RandomSource.from_seed(3).spawn()
    for block in plan.sampler.blocks(records.n_records, STEPS, rng):
        batches += block.each()
    loop = by_loop(plan, gradients_of(records), adam_of(plan), noises, batches)
    assert np.array_equal(fused, loop)
    assert not np.array_equal(fused, adam_of(plan).values)
    assert seen[-1] == STEPS


def test_noise_that_changes_is_that_of_each_step(monkeypatch):
    noises = Noises()
    monkeypatch.setattr(module, "rounded_normals", noises)
    records = records_of(corpus((6, 4, 9, 30)))
    plan = planned(GaussianSelector(3, share=0.4), 4, ExponentialDecay(0.3))
    assert len({step.noise.noise_std for step in plan.steps()}) > 3
    fused = fused_dpsgd(plan, gradients_of(records), adam_of(plan), RandomSource.from_seed(3))
    batches, rng = [], RandomSource.from_seed(3).spawn()
    for block in plan.sampler.blocks(4, STEPS, rng):
        batches += block.each()
    loop = by_loop(plan, gradients_of(records), adam_of(plan), noises, batches)
    assert np.array_equal(fused, loop)


def test_only_steps_that_are_the_same_are_fused(monkeypatch):
    records = records_of(corpus((6, 4, 9, 30)))
    plan, gradients = planned(GaussianSelector(3, share=0.4), 4), gradients_of(records)
    assert can_fuse(plan, gradients)
    assert not can_fuse(planned(ExponentialSelector(3), 4), gradients)
    assert not can_fuse(replace(plan, selector=AllCoordinates()), gradients)
    assert not can_fuse(plan, gradients_of(records, route="numpy"))
    monkeypatch.setattr(module, "MOST_WORDS", 5)
    assert not can_fuse(plan, gradients)


@pytest.mark.parametrize("by_document", [True, False])
def test_with_noise_everywhere_too(by_document, monkeypatch):
    noises = Noises()
    monkeypatch.setattr(dense_module, "rounded_normals", noises)
    records = records_of(corpus((6, 0, 9, 30, 3, 5)), by_document=by_document)
    plan = planned(AllCoordinates(), records.n_records, ExponentialDecay(0.3))
    gradients, seen = gradients_of(records), []
    assert can_fuse_dense(plan, gradients)

    def begin(made):
        seen.append(made)
        gradients.begin(made)

    rng = RandomSource.from_seed(3)
    fused = fused_dense_dpsgd(plan, gradients, adam_of(plan), rng, seen.append, begin)
    assert seen == [*range(STEPS), STEPS]
    drawn = iter(np.concatenate(list(noises.drawn.values())))

    def given(self, n, rng):
        return next(drawn)

    monkeypatch.setattr(RoundedGaussian, "integers", given)
    again = gradients_of(records)
    loop = dpsgd(plan, again, adam_of(plan), RandomSource.from_seed(3), begin=again.begin)
    assert len({step.noise.noise_std for step in plan.steps()}) > 3
    assert np.array_equal(fused, loop)
    assert not np.array_equal(fused, adam_of(plan).values)


@pytest.mark.parametrize("selector", [SELECTORS["gaussian"], AllCoordinates()], ids=["rows", "all"])
def test_whoever_watches_is_told_before_each_step_that_was_asked_for(selector):
    records = records_of(corpus((6, 4, 9, 30)))
    run = CbowRun(planned(selector, 4), Adam, 0.05, 0.0, False, 0, SIZE, 0.1)
    tables = {}

    def watch(made, table):
        tables[made] = table

    run.train(records, RandomSource.from_seed(1), watch=watch, every=7)
    assert list(tables) == [0, 7, 14, 21]
    assert len({table.tobytes() for table in tables.values()}) == 4


def test_only_noise_everywhere_is_fused_as_such():
    records = records_of(corpus((6, 4, 9, 30)))
    plan = planned(AllCoordinates(), 4)
    assert not can_fuse_dense(plan, gradients_of(records, route="numpy"))
    assert not can_fuse_dense(planned(SELECTORS["gaussian"], 4), gradients_of(records))

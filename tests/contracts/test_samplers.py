"""Samplers: what they draw, and that their event claims no amplification that the draws lack."""

import numpy as np
import pytest
from dp_accounting import dp_event
from scipy import stats

import skdp.training
from skdp._random import RandomSource
from skdp.privacy import Neighbours
from skdp.privacy.events import GaussianReleaseDpEvent
from skdp.training import (
    FixedSizeWithoutReplacement,
    FullBatch,
    PoissonSampler,
    RoundRobinBlocks,
    Sampler,
    ShuffledBatches,
)

FALSE_ALARM = 1e-7
N = 60
#: One entry for each public sampler and each way in which it draws.
SAMPLERS = {
    "poisson by gaps": PoissonSampler.of_batch_size(6, N),
    "poisson by coins": PoissonSampler.of_batch_size(24, N),
    "poisson, everybody": PoissonSampler.of_batch_size(N, N),
    "poisson, n private": PoissonSampler(0.1, 5.0, Neighbours.ADD_OR_REMOVE_ONE),
    "poisson, replace-one": PoissonSampler(0.1, 6.0, Neighbours.REPLACE_ONE),
    "shuffled": ShuffledBatches(8, N),
    "shuffled, replace-one": ShuffledBatches(7, N, Neighbours.REPLACE_ONE),
    "fixed size": FixedSizeWithoutReplacement(9, N),
    "fixed size, everybody": FixedSizeWithoutReplacement(N, N),
    "full": FullBatch(N),
    "blocks": RoundRobinBlocks(np.arange(N) % 4, 4),
}


def batches_of(sampler, n_steps, seed=0, n_records=N):
    rng = RandomSource.from_seed(seed)
    return [rows for b in sampler.blocks(n_records, n_steps, rng) for rows in b.each()]


def step_event(sampler, multiplier=1.0):
    sensitivity = sampler.sensitivity(1.0)
    return GaussianReleaseDpEvent(sensitivity.value, "l2", sensitivity.neighbours, multiplier, 0.0)


def test_every_public_sampler_is_on_the_list():
    public = {getattr(skdp.training, name) for name in skdp.training.__all__}
    concrete = {
        c for c in public if isinstance(c, type) and issubclass(c, Sampler) and c is not Sampler
    }
    assert concrete == {type(s) for s in SAMPLERS.values()}


@pytest.mark.parametrize("sampler", SAMPLERS.values(), ids=SAMPLERS)
def test_a_batch_holds_a_record_at_most_once_and_only_records(sampler):
    drawn = batches_of(sampler, 50)
    assert len(drawn) == 50
    for rows in drawn:
        assert len(np.unique(rows)) == len(rows)
        assert ((rows >= 0) & (rows < N)).all()


@pytest.mark.parametrize("sampler", SAMPLERS.values(), ids=SAMPLERS)
def test_records_are_drawn_as_often_as_the_epoch_says(sampler):
    steps = 40 * int(np.ceil(sampler.steps_per_epoch))
    taken = np.bincount(np.concatenate(batches_of(sampler, steps)), minlength=N)
    rate = 1 / sampler.steps_per_epoch
    low, high = stats.binom.ppf([FALSE_ALARM / N, 1 - FALSE_ALARM / N], steps, min(1.0, rate))
    assert (taken >= low).all()
    assert (taken <= high).all()


@pytest.mark.parametrize("q", [0.003, 0.1, 0.19, 0.21, 0.7])
def test_poisson_draws_are_independent_coins(q):
    """Sizes of batches are binomial, and two records meet as often as chance has it."""
    steps = 4000
    sampler = PoissonSampler(q, q * N)
    drawn = batches_of(sampler, steps, seed=3)
    member = np.zeros((steps, N), dtype=bool)
    for i, rows in enumerate(drawn):
        member[i, rows] = True
    sizes = np.bincount(member.sum(axis=1), minlength=N + 1)[: N + 1]
    expected = stats.binom.pmf(np.arange(N + 1), N, q) * steps
    keep = expected > 5
    observed = np.append(sizes[keep], sizes[~keep].sum())
    wanted = np.append(expected[keep], max(expected[~keep].sum(), 1e-9))
    assert stats.chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue > FALSE_ALARM
    for i, j in ((0, 1), (5, 59)):
        together = int((member[:, i] & member[:, j]).sum())
        assert stats.binomtest(together, steps, q * q).pvalue > FALSE_ALARM
    after = int((member[:-1, 7] & member[1:, 7]).sum())  # the same record in the next step
    assert stats.binomtest(after, steps - 1, q * q).pvalue > FALSE_ALARM


def test_fixed_size_draws_every_subset_equally_often():
    sampler = FixedSizeWithoutReplacement(2, 5)
    drawn = batches_of(sampler, 5000, seed=1, n_records=5)
    pairs = np.array([rows[0] * 5 + rows[1] for rows in map(np.sort, drawn)])
    counts = np.unique(pairs, return_counts=True)[1]
    assert len(counts) == 10
    assert stats.chisquare(counts).pvalue > FALSE_ALARM


def test_shuffled_batches_are_a_partition_of_each_epoch_and_another_one_in_the_next():
    sampler = ShuffledBatches(8, N)
    drawn = batches_of(sampler, 2 * sampler.steps_per_epoch)
    first, second = drawn[: sampler.steps_per_epoch], drawn[sampler.steps_per_epoch :]
    for epoch in (first, second):
        np.testing.assert_array_equal(np.sort(np.concatenate(epoch)), np.arange(N))
    assert not np.array_equal(np.concatenate(first), np.concatenate(second))


def test_blocks_take_turns():
    sampler = RoundRobinBlocks(np.arange(N) % 4, 4)
    for step, rows in enumerate(batches_of(sampler, 9)):
        np.testing.assert_array_equal(np.unique(rows % 4), [step % 4])


def participations(sampler, n_steps, seed=0):
    """Greatest number of batches that one record was in."""
    return np.bincount(np.concatenate(batches_of(sampler, n_steps, seed)), minlength=N).max()


@pytest.mark.parametrize("name", ["shuffled", "shuffled, replace-one", "full", "blocks"])
@pytest.mark.parametrize("n_steps", [1, 5, 8, 9, 30])
def test_without_amplification_a_record_pays_for_each_batch_it_is_in(name, n_steps):
    sampler = SAMPLERS[name]
    event = sampler.event(step_event(sampler), n_steps)
    assert isinstance(event, dp_event.SelfComposedDpEvent)
    assert isinstance(event.event, GaussianReleaseDpEvent)
    assert event.count >= max(participations(sampler, n_steps, seed) for seed in range(5))


@pytest.mark.parametrize("name", ["shuffled", "blocks"])
@pytest.mark.parametrize(("first", "n_steps"), [(0, 3), (2, 4), (5, 6), (7, 2), (3, 20)])
def test_steps_that_begin_within_an_epoch_pay_for_both(name, first, n_steps):
    """A phase of a noise schedule may hold the end of one epoch and the start of the next."""
    sampler = SAMPLERS[name]
    taken = 0
    for seed in range(20):
        rows = batches_of(sampler, first + n_steps, seed)[first:]
        taken = max(taken, np.bincount(np.concatenate(rows), minlength=N).max())
    charged = sampler.event(step_event(sampler), n_steps, first).count
    assert taken <= charged <= n_steps


def test_shuffling_claims_nothing_for_chance():
    """A planted bug: shuffled batches accounted as Poisson would claim a tenth of this epsilon."""
    from skdp.privacy.accounting import epsilon_of

    shuffled, poisson = ShuffledBatches(1, N), PoissonSampler.of_batch_size(1, N)
    honest = epsilon_of(shuffled.event(step_event(shuffled, 2.0), N), 1e-5)
    wrong = epsilon_of(poisson.event(step_event(poisson, 2.0), N), 1e-5)
    # dpsgd.md, 5.2: one Gaussian of multiplier 2, exactly.
    assert honest == pytest.approx(1.993, abs=1e-3)
    assert wrong < honest / 5


@pytest.mark.parametrize("sampler", SAMPLERS.values(), ids=SAMPLERS)
def test_a_replaced_record_moves_a_sum_twice_as_far(sampler):
    sensitivity = sampler.sensitivity(3.0)
    replaced = sampler.neighbours is Neighbours.REPLACE_ONE
    assert sensitivity.value == (6.0 if replaced else 3.0)
    assert sensitivity.neighbours is sampler.neighbours


@pytest.mark.parametrize("sampler", SAMPLERS.values(), ids=SAMPLERS)
def test_another_number_of_records_than_the_public_one_is_refused(sampler):
    if sampler.neighbours is Neighbours.ADD_OR_REMOVE_ONE:
        assert len(batches_of(sampler, 3, n_records=N + 1)) == 3
        assert sampler.for_records(N + 9) is sampler
        return
    with pytest.raises(ValueError, match=f"for {N} records, got {N + 1}"):
        batches_of(sampler, 3, n_records=N + 1)


@pytest.mark.parametrize("name", ["poisson by gaps", "poisson by coins", "shuffled", "full"])
def test_the_same_cost_for_a_chunk_of_another_size(name):
    sampler = SAMPLERS[name]
    other = sampler.for_records(2 * N)
    epochs = 3
    events = [s.event(step_event(s), round(epochs * s.steps_per_epoch)) for s in (sampler, other)]
    assert events[0] == events[1]
    other.admit(2 * N)


def test_settings_without_a_theorem_are_refused():
    with pytest.raises(ValueError, match="larger than the number of records"):
        PoissonSampler.of_batch_size(11, 10)
    with pytest.raises(ValueError, match="larger than the number of records"):
        FixedSizeWithoutReplacement(11, 10)
    with pytest.raises(ValueError, match="at most 1"):
        PoissonSampler(1.5, 10)
    for make in (
        lambda: ShuffledBatches(2, 10, Neighbours.ADD_OR_REMOVE_ONE),
        lambda: FullBatch(10, Neighbours.ADD_OR_REMOVE_ONE),
        lambda: RoundRobinBlocks(np.zeros(4, dtype=int), 1, Neighbours.ADD_OR_REMOVE_ONE),
    ):
        with pytest.raises(ValueError, match=r"add-or-remove|Blocks are public"):
            make()
    with pytest.raises(ValueError, match="give chunks of 10 rows"):
        FixedSizeWithoutReplacement(2, 10).for_records(11)

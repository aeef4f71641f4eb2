"""Steps that compiled code makes many at a time are the steps of the loop, bit for bit."""

import itertools
from dataclasses import dataclass
from typing import final

import numpy as np
import pytest
from scipy import stats

pytest.importorskip("numba", exc_type=ImportError)

from skdp._random import RandomSource
from skdp.mechanisms.grid_gaussian import GridGaussianMechanism
from skdp.objectives import Huber, HuberHinge, Logistic, Multinomial, SquaredHinge
from skdp.training import (
    AllCoordinates,
    ConstantNoise,
    GaussianSelector,
    NoiseSchedule,
    PoissonSampler,
    ShuffledBatches,
    TrainingPlan,
)
from skdp.training import fused_dpsgd as module
from skdp.training.fused_dpsgd import fused_dpsgd
from skdp.training.glm import GlmGradients
from skdp.training.optimizers import SGD, Descent
from skdp.training.private_loop import dpsgd

N, D, STEPS = 60, 7, 45
FALSE_ALARM = 1e-7


@final
@dataclass(frozen=True)
class Halving(NoiseSchedule):
    """The level for 20 steps, then half of it."""

    def phases(self, n_steps, steps_per_epoch):
        return [(self.level, 20), (self.level / 2, n_steps - 20)]


def plan_of(size, *, noise=ConstantNoise(3.0), sampler=None, n_steps=STEPS):  # noqa: B008
    sampler = sampler or PoissonSampler(0.2, 12.0)
    return TrainingPlan(sampler, AllCoordinates(), noise, 1.0, n_steps=n_steps, size=size)


def records_of(loss, *, dtype=np.float64, fit_intercept=True):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, D)).astype(dtype)
    X[5], X[6] = 0.0, 1e200 if dtype is np.float64 else 1e30
    X[7, 0] = np.finfo(dtype).max
    targets = rng.integers(3, size=N) if loss.n_outputs > 1 else rng.choice([-1.0, 1.0], size=N)
    return GlmGradients(X, targets, loss, fit_intercept=fit_intercept)


def descent_of(*, n_free=1, decay=0.0, rates=None, average_from=STEPS // 2):
    rates = np.full(STEPS, 0.7) if rates is None else rates
    return Descent(rates, divisor=12.0, decay=decay, n_free=n_free, average_from=average_from)


@pytest.fixture
def same_noise(monkeypatch):
    """Let both ways of running take their noise from the same table, one row a release."""
    rng, used = np.random.default_rng(8), {"rows": 0}
    table = np.rint(2.0**20 * rng.normal(size=(STEPS, 100)))

    def rows(mechanism, n_releases):
        used["rows"] += n_releases
        return table[used["rows"] - n_releases : used["rows"], : mechanism.size].copy()

    def released(self, value, rng):
        return (np.asarray(value) / self.grid + rows(self, 1)[0]) * self.grid + 0.0

    monkeypatch.setattr(GridGaussianMechanism, "integers", lambda self, n, rng: rows(self, n))
    monkeypatch.setattr(GridGaussianMechanism, "_release", released)
    return used


def both(used, plan, gradients, descent, start=None):
    found = []
    for run in (dpsgd, fused_dpsgd):
        used["rows"] = 0
        begin = np.zeros(gradients.size) if start is None else start
        optimizer = SGD(descent, begin)
        found.append((run(plan, gradients, optimizer, RandomSource.from_seed(1)), optimizer))
        assert used["rows"] == plan.n_steps
    return found


@pytest.mark.parametrize("at_a_time", [1, 30, 2**18])
@pytest.mark.parametrize(
    ("loss", "records", "descent", "plan"),
    [
        (Logistic(), {}, {}, {}),
        (Logistic(), {"fit_intercept": False}, {"n_free": 0}, {}),
        (Logistic(), {"dtype": np.float32}, {"average_from": STEPS - 1}, {}),
        (HuberHinge(0.5), {}, {"decay": 0.1}, {}),
        (SquaredHinge(), {}, {"decay": 0.9}, {}),
        (Huber(1.0), {}, {"rates": 1 / np.arange(1, STEPS + 1)}, {"noise": Halving(level=4.0)}),
        (Multinomial(3), {}, {"n_free": 3, "decay": 0.8, "average_from": 0}, {}),
        (Logistic(), {}, {}, {"sampler": ShuffledBatches(12, N), "noise": Halving(level=2.0)}),
    ],
)
def test_the_same_noise_gives_the_same_bits(
    loss, records, descent, plan, at_a_time, same_noise, monkeypatch
):
    monkeypatch.setattr(module, "_NOISE_AT_A_TIME", at_a_time)
    gradients = records_of(loss, **records)
    start = np.random.default_rng(2).normal(size=gradients.size)
    (one, first), (other, second) = both(
        same_noise, plan_of(gradients.size, **plan), gradients, descent_of(**descent), start
    )
    assert np.array_equal(one, other)
    assert np.array_equal(first.values, second.values)
    assert first.scale == second.scale
    assert not np.array_equal(one, start)


def test_noise_is_drawn_anew_for_every_step_and_has_its_law():
    """Records without a gradient: what one step of them moves is its noise alone."""
    n_steps, size, sigma = 400, 25, 3.0
    gradients = GlmGradients(np.zeros((N, size)), np.ones(N), Logistic(), fit_intercept=False)
    plan = plan_of(size, n_steps=n_steps, noise=ConstantNoise(sigma))
    ends = []
    for seed, step in itertools.product(range(20), (0, 1)):
        rates = np.zeros(n_steps)
        rates[step] = 1.0
        descent = Descent(rates, 12.0, 0.0, 0, average_from=n_steps - 1)
        optimizer = SGD(descent, np.zeros(size))
        ends.append(fused_dpsgd(plan, gradients, optimizer, RandomSource.from_seed(seed)))
    drawn = 12.0 * np.array(ends) / sigma
    assert stats.kstest(drawn.ravel(), "norm").pvalue > FALSE_ALARM
    first, second = drawn[0::2].ravel(), drawn[1::2].ravel()
    assert abs(np.corrcoef(first, second)[0, 1]) * np.sqrt(len(first)) < 6


def test_a_step_that_selects_is_refused():
    gradients = records_of(Logistic())
    plan = TrainingPlan(
        PoissonSampler(0.2, 12.0),
        GaussianSelector(2),
        ConstantNoise(3.0),
        1.0,
        STEPS,
        gradients.size,
    )
    optimizer = SGD(descent_of(), np.zeros(gradients.size))
    with pytest.raises(TypeError, match="selects"):
        fused_dpsgd(plan, gradients, optimizer, RandomSource.from_seed(0))


def test_progress_counts_every_step():
    gradients, told = records_of(Logistic()), []
    optimizer = SGD(descent_of(), np.zeros(gradients.size))
    fused_dpsgd(
        plan_of(gradients.size), gradients, optimizer, RandomSource.from_seed(0), told.append
    )
    assert told[-1] == STEPS

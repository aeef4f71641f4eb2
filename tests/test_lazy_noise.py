"""Noise drawn lazily has the law of the textbook loop, costs what is touched and shows nothing."""

import math
import sys
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from scipy.sparse import csr_matrix, identity, kron

from skdp._random import RandomSource
from skdp.objectives.losses import (
    Huber,
    HuberHinge,
    Logistic,
    Loss,
    Multinomial,
    Squared,
    SquaredHinge,
)
from skdp.training import lazy_noise
from skdp.training.lazy_dpsgd import engine_for, lazy_dpsgd, records_of, run
from skdp.training.lazy_noise import Schedule
from skdp.training.lazy_numpy import NumpyEngine
from skdp.training.lazy_state import LazyState

FALSE_ALARM = 1e-6
NO_CLIPPING = 1e100


def compiled_engine():
    pytest.importorskip("numba")
    from skdp.training.lazy_kernels import CompiledEngine

    return CompiledEngine()


def ziggurat():
    pytest.importorskip("numba")
    from skdp.training import ziggurat_kernels

    return ziggurat_kernels


@pytest.fixture(params=["compiled", "numpy"])
def engine(request):
    return compiled_engine() if request.param == "compiled" else NumpyEngine()


class GivenNormals:
    """Hands out given numbers as if they were drawn."""

    def __init__(self, values):
        self.values, self.used = np.asarray(values, dtype=np.float64), 0

    def at_least(self, n):
        assert len(self.values) - self.used >= n
        return self.values[self.used :]

    def drop(self, n):
        self.used += n


class CountingSource:
    """A source of words that counts them."""

    def __init__(self, seed):
        self.source, self.drawn = RandomSource.from_seed(seed), 0

    def words(self, n):
        self.drawn += n
        return self.source.words(n)


class Problem:
    """A small model with known batches; the textbook loop beside the lazy one."""

    def __init__(self, schedule, batches, X, targets, loss, *, max_norm, intercept, start=None):
        self.schedule, self.batches = schedule, batches
        self.X, self.targets, self.loss = csr_matrix(X), np.asarray(targets, float), loss
        self.max_norm, self.intercept = max_norm, int(intercept)
        self.K = loss.n_outputs
        self.size = (X.shape[1] + intercept) * self.K
        self.start = np.zeros(self.size) if start is None else np.asarray(start)

    def lazy(self, engine, normals, steps_a_block=4):
        state = LazyState(self.schedule, self.X.shape[1], self.K, bool(self.intercept))
        state.start_at(self.start)
        records = records_of(self.X, self.targets, self.loss, self.max_norm)
        return run(engine, records, state, self.blocks(steps_a_block), normals)

    def blocks(self, steps_a_block):
        for first in range(0, len(self.batches), steps_a_block):
            part = self.batches[first : first + steps_a_block]
            yield np.concatenate(part), np.cumsum([0, *map(len, part)])

    def textbook(self, noise):
        """Return the result for noise of shape (n_steps, size, n_runs): all runs at once."""
        s = self.schedule
        dense = np.hstack([self.X.toarray(), np.ones((self.X.shape[0], self.intercept))])
        w = np.repeat(self.start[:, None], noise.shape[2], axis=1)
        decays = np.arange(self.size)[:, None] < self.X.shape[1] * self.K
        total = np.zeros_like(w)
        for t, rows in enumerate(self.batches):
            gradient = sum(
                (self._clipped_gradients(dense[i], i, w) for i in rows), np.zeros(w.shape)
            )
            rate = s.learning_rates[t]
            w = np.where(decays, 1 - rate * s.decay, 1.0) * w
            w = w - rate / s.divisor * (gradient + s.noise_stds[t] * noise[t])
            total += s.averaging[t] * w
        return total

    def _clipped_gradients(self, x, i, w):
        with np.errstate(all="ignore"):
            scores = np.einsum("j,jkr->rk", x, w.reshape(len(x), self.K, -1))
            y = np.full(len(scores), self.targets[i])
            slopes = self.loss.derivative(scores[:, 0] if self.K == 1 else scores, y)
            slopes = slopes.reshape(-1, self.K)
            gradient = np.einsum("j,rk->jkr", x, slopes).reshape(self.size, -1)
            norm = np.linalg.norm(gradient, axis=0)
            return np.where(np.isfinite(norm), gradient * np.minimum(1, self.max_norm / norm), 0.0)


def schedules():
    rng = np.random.default_rng(5)
    T = 12
    flat, rates = np.full(T, 0.3), rng.uniform(0.05, 0.5, T)
    stds, mean, suffix = rng.uniform(0.2, 2.0, T), np.full(T, 1 / T), np.zeros(T)
    suffix[7:] = 0.2
    last = np.eye(T)[-1]
    return {
        "constant, last iterate": Schedule(flat, np.ones(T), last, 2.0),
        "constant, mean of all": Schedule(flat, np.ones(T), mean, 2.0),
        "constant, mean of a suffix": Schedule(flat, np.ones(T), suffix, 2.0),
        "decay, last iterate": Schedule(flat, np.ones(T), last, 2.0, 0.4),
        "decay, mean of a suffix": Schedule(flat, np.ones(T), suffix, 2.0, 0.4),
        "all vary": Schedule(rates, stds, rng.uniform(0, 1, T), 3.0, 0.7),
        "all vary, last iterate": Schedule(rates, stds, last, 3.0, 0.7),
        "steps without noise or rate": Schedule(
            rates * (np.arange(T) % 3 > 0), stds * (np.arange(T) % 4 > 0), mean, 3.0, 0.7
        ),
        "steps that die out": Schedule(0.5 ** np.arange(0, 3 * T, 3), stds, mean, 1.0),
    }


SCHEDULES = schedules()


def linear_problem(schedule, intercept, seed=0):
    """Squared loss without clipping: the result is an affine function of the noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(6, 4)) * (rng.random((6, 4)) < 0.4)
    X[:, 3] = 0.0  # a feature that nobody has
    batches = [np.flatnonzero(rng.random(6) < 0.3) for _ in range(schedule.n_steps)]
    batches[4] = batches[5] = np.zeros(0, dtype=np.int64)
    targets, start = rng.normal(size=6), rng.normal(size=4 + intercept)
    loss = Squared(10.0)
    return Problem(
        schedule, batches, X, targets, loss, max_norm=NO_CLIPPING, intercept=intercept, start=start
    )


def lazy_moments(problem, engine):
    """Mean and covariance of the lazy result, from what each single normal does to it."""
    counter = GivenNormals(np.zeros(1000))
    mean = problem.lazy(engine, counter)
    large = 2.0**40  # the result is rounded: a large normal makes that invisible
    columns = [
        problem.lazy(engine, GivenNormals(np.append(large * unit, np.zeros(100)))) / large
        for unit in np.eye(counter.used)
    ]
    matrix = np.array(columns).T - (mean / large)[:, None]
    return mean, matrix @ matrix.T


def textbook_moments(problem):
    size, n_steps = problem.size, problem.schedule.n_steps
    zero = problem.textbook(np.zeros((n_steps, size, 1)))[:, 0]
    units = np.eye(n_steps * size).reshape(n_steps, size, n_steps * size)
    matrix = problem.textbook(units) - zero[:, None]
    return zero, matrix @ matrix.T


def assert_same_moments(problem, engine):
    (mean, covariance), (true_mean, true) = lazy_moments(problem, engine), textbook_moments(problem)
    grid = max(problem.schedule.grid, problem.schedule.intercept_grid)
    np.testing.assert_allclose(mean, true_mean, rtol=0, atol=0.51 * grid)
    np.testing.assert_allclose(covariance, true, rtol=1e-9, atol=1e-10 * true.max())


@pytest.mark.parametrize("name", SCHEDULES)
def test_mean_and_covariance_are_those_of_the_textbook_loop(name, engine):
    assert_same_moments(linear_problem(SCHEDULES[name], True), engine)


@pytest.mark.parametrize("name", SCHEDULES)
def test_cutting_the_run_into_windows_leaves_the_law_unchanged(name, engine, monkeypatch):
    monkeypatch.setattr(lazy_noise, "_SMALLEST_SCALE", 0.75)
    monkeypatch.setattr(lazy_noise, "_SMALLEST_VARIANCE", 0.2)
    if name not in ("constant, last iterate", "constant, mean of all"):
        assert len(list(SCHEDULES[name].windows())) > 1 or SCHEDULES[name].decay == 0
    assert_same_moments(linear_problem(SCHEDULES[name], False, seed=1), engine)


def test_the_joint_law_of_weight_and_average_matches_the_known_values(engine):
    # Errata A3: variances of w and of the mean, and their covariance, for a = .97, T = 40.
    T, eta, decay = 40, 0.1, 0.3
    X = np.array([[1.0, 0.0], [0.0, 0.0]])
    batches = [np.array([0])] * 3 + [np.array([1])] * (T - 3)
    values = {}
    for last, mean in [(1, 0), (0, 1), (1, 1)]:
        weights = last * np.eye(T)[-1] + mean / T
        schedule = Schedule(np.full(T, eta), np.ones(T), weights, 1.0, decay)
        problem = Problem(
            schedule, batches, X, np.zeros(2), Squared(1.0), max_norm=1e-100, intercept=False
        )
        # Touched thrice without effect, and never touched.
        _, covariance = lazy_moments(problem, engine)
        assert abs(covariance[0, 1]) < 1e-12
        values[last, mean] = np.diag(covariance)
        assert schedule.result_std**2 == pytest.approx(covariance[1, 1], rel=1e-9)
    joint = [values[1, 0], values[0, 1], (values[1, 1] - values[1, 0] - values[0, 1]) / 2]
    for law, known in zip(joint, [0.15441, 0.06239, 0.07082], strict=True):
        np.testing.assert_allclose(law, known, atol=6e-6)


@pytest.mark.parametrize("decay", [0.0, 0.02, 0.3])
def test_gaps_have_the_law_that_exact_sums_give(decay):
    T = 1500
    rates = 0.5 / np.sqrt(1 + np.arange(T))
    schedule = Schedule(rates, np.ones(T), np.full(T, 1 / T), 1.0, decay)
    window = max(schedule.windows(), key=lambda window: window.n_steps)
    n = window.n_steps
    scale, share = [Fraction(x) for x in window.scale], [Fraction(x) for x in window.share]
    v = [(Fraction(x) / d) ** 2 for x, d in zip(window.spread, scale, strict=True)]
    gamma = [share[0]]
    for c, d in zip(share[1:], scale[1:], strict=True):
        gamma.append(gamma[-1] + c * d)
    rest = [float(v[s] * (gamma[-1] - gamma[s - 1]) ** 2) for s in range(1, n + 1)]
    pairs = [(0, n), (0, 1), (n - 1, n), (5, 9), (n // 2, n // 2 + 1), (n - 10, n - 1), (3, n - 7)]
    for start, stop in pairs:
        gap = window.gap(np.array([start]), stop)
        steps = range(start + 1, stop + 1)
        V = sum(v[s] for s in steps)
        S1, S2 = (sum(v[s] * gamma[s - 1] ** k for s in steps) for k in (1, 2))
        assert gap.std[0] == pytest.approx(math.sqrt(V), rel=1e-11)
        assert gap.slope[0] == pytest.approx(float(S1 / V), rel=1e-11, abs=1e-13)
        assert abs(gap.pending[0] - float(S2 - S1**2 / V)) < 1e-12 * sum(rest)
        assert window.rest[start] == pytest.approx(sum(rest[start:]), rel=1e-12)


LOSSES = {
    "logistic": Logistic(),
    "huber hinge": HuberHinge(0.3),
    "squared hinge": SquaredHinge(),
    "huber": Huber(0.7),
    "squared": Squared(5.0),
    "multinomial": Multinomial(3),
}


def clipped_problem(loss, data_type=np.float64, index_type=np.int32, seed=2):
    rng = np.random.default_rng(seed)
    X = csr_matrix(rng.normal(size=(20, 6)) * (rng.random((20, 6)) < 0.5)).astype(data_type)
    X.indices, X.indptr = X.indices.astype(index_type), X.indptr.astype(index_type)
    y = rng.integers(0, loss.n_outputs, 20) if loss.n_outputs > 1 else rng.choice([-1, 1], 20)
    schedule = SCHEDULES["all vary"]
    batches = [np.flatnonzero(rng.random(20) < 0.3) for _ in range(schedule.n_steps)]
    start = rng.normal(size=7 * loss.n_outputs)
    return Problem(schedule, batches, X, y, loss, max_norm=0.5, intercept=True, start=start)


@pytest.mark.parametrize("loss", LOSSES)
def test_gradients_are_those_of_the_loss_clipped_as_a_whole(loss, engine):
    problem = clipped_problem(LOSSES[loss])
    found = problem.lazy(engine, GivenNormals(np.zeros(1000)))
    truth = problem.textbook(np.zeros((problem.schedule.n_steps, problem.size, 1)))[:, 0]
    np.testing.assert_allclose(found, truth, rtol=0, atol=problem.schedule.grid)


def test_other_number_types_give_the_same(engine):
    problem = clipped_problem(Logistic(), np.float32, np.int64)
    assert problem.X.data.dtype == np.float32
    assert problem.X.indices.dtype == np.int64
    found = problem.lazy(engine, GivenNormals(np.zeros(1000)))
    truth = problem.textbook(np.zeros((problem.schedule.n_steps, problem.size, 1)))[:, 0]
    np.testing.assert_allclose(found, truth, rtol=0, atol=problem.schedule.grid)


@pytest.mark.parametrize("loss", [Squared(1.0), Multinomial(3)])
def test_a_record_without_a_finite_gradient_counts_as_zero(loss, engine):
    problem = clipped_problem(loss)
    problem.X.data[:6] = [math.nan, math.inf, -math.inf, -math.inf, math.inf, math.nan]
    found = problem.lazy(engine, GivenNormals(np.zeros(1000)))
    finite = clipped_problem(loss)
    bad = np.flatnonzero(~np.isfinite(problem.X.sum(axis=1)))
    finite.batches = [np.setdiff1d(rows, bad) for rows in finite.batches]
    assert sum(map(len, finite.batches)) < sum(map(len, problem.batches))
    truth = finite.textbook(np.zeros((12, finite.size, 1)))[:, 0]
    np.testing.assert_allclose(found, truth, rtol=0, atol=problem.schedule.grid)


@pytest.mark.parametrize("size", [1e-200, 1e-160, 1.0, 1e150, 1e160, 1e300])
def test_no_record_exceeds_the_norm_whatever_its_scale(size, engine):
    # Squares of small entries underflow, and the target makes the slope huge.
    schedule = Schedule(np.ones(1), np.full(1, 1e-30), np.ones(1), 1.0)
    X = size * np.array([[3.0, 4.0]])
    problem = Problem(
        schedule, [np.array([0])], X, [1e300], Squared(1e300), max_norm=0.1, intercept=False
    )
    moved = problem.lazy(engine, GivenNormals(np.zeros(10)))
    assert np.linalg.norm(moved) <= 0.1 * (1 - 2.0**-41)
    if size == 1.0:
        assert np.linalg.norm(moved) > 0.0999


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("size", [1e-30, 0.1, 1.7, 1e30])
def test_rows_of_float32_are_squared_in_double_precision(size, n_outputs, engine):
    """In float32 a norm would be off by 1e-8, and squares of 1e-30 would be 0."""
    loss = Squared(1e300) if n_outputs == 1 else Multinomial(n_outputs)
    norm = 0.1 if n_outputs == 1 else 1e-32
    schedule = Schedule(np.ones(1), np.full(1, 1e-29 * norm), np.ones(1), 1.0)
    X = np.full((1, 1000), size, dtype=np.float32)
    target = [1e200] if n_outputs == 1 else [1]
    problem = Problem(schedule, [np.array([0])], X, target, loss, max_norm=norm, intercept=False)
    moved = problem.lazy(engine, GivenNormals(np.zeros(9000)))
    assert norm * (1 - 1e-9) < np.linalg.norm(moved) <= norm * (1 - 2.0**-41)


def test_the_noise_of_each_class_is_independent_and_of_the_same_law(engine):
    schedule = SCHEDULES["decay, mean of a suffix"]
    problem = linear_problem(schedule, True)
    loss, targets = Multinomial(3), np.array([0, 1, 2, 0, 1, 2])
    several = Problem(
        schedule, problem.batches, problem.X, targets, loss, max_norm=1e-100, intercept=True
    )
    assert_same_moments(several, engine)


@pytest.mark.parametrize("name", ["all vary", "decay, mean of a suffix"])
def test_coefficients_have_the_distribution_of_the_textbook_loop(name, engine):
    # Many independent copies of one model, side by side in one run. Two-sample
    # Kolmogorov-Smirnov tests, one each coordinate and one on a sum.
    schedule, copies = SCHEDULES[name], 1500
    rng = np.random.default_rng(3)
    X = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.0], [2.0, 0.0, 0.0], [0.3, 0.0, 1.0]])
    y = np.array([1.0, -1.0, 1.0, -1.0])
    batches = [np.flatnonzero(rng.random(4) < 0.4) for _ in range(schedule.n_steps)]
    one = Problem(schedule, batches, X, y, Logistic(), max_norm=0.8, intercept=False)
    every = 4 * np.arange(copies)[:, None]
    many = Problem(
        schedule,
        [(every + rows).ravel() for rows in batches],
        csr_matrix(kron(identity(copies), X)),
        np.tile(y, copies),
        Logistic(),
        max_norm=0.8,
        intercept=False,
    )
    lazy = many.lazy(engine, engine.normals(RandomSource.from_seed(11))).reshape(copies, 3)
    dense = one.textbook(rng.normal(size=(schedule.n_steps, 3, 20 * copies))).T
    for direction in np.vstack([np.eye(3), np.ones(3), [1, -1, 0.5]]):
        test = stats.ks_2samp(lazy @ direction, dense @ direction, method="asymp")
        assert test.pvalue > FALSE_ALARM / 5
    # The test would see noise that is too large by some.
    assert stats.ks_2samp(1.4 * lazy[:, 2], dense[:, 2], method="asymp").pvalue < FALSE_ALARM


def test_blocks_of_any_length_give_the_same_result_bit_for_bit(engine, monkeypatch):
    monkeypatch.setattr(lazy_noise, "_SMALLEST_SCALE", 0.5)
    problem = clipped_problem(Logistic())
    results = [
        problem.lazy(engine, engine.normals(RandomSource.from_seed(1)), steps)
        for steps in (1, 5, 12)
    ]
    assert all((result == results[0]).all() for result in results)


def test_results_are_multiples_of_the_public_grid(engine):
    problem = clipped_problem(Logistic())
    result = problem.lazy(engine, engine.normals(RandomSource.from_seed(4)))
    schedule = problem.schedule
    assert (result[:-1] % schedule.grid == 0).all()
    assert result[-1] % schedule.intercept_grid == 0
    assert 2.0**-20 <= schedule.grid / schedule.result_std < 2.0**-19
    assert math.frexp(schedule.grid)[0] == 0.5


# -- normals ------------------------------------------------------------------------------------


def test_normals_are_standard_normal(engine):
    n = 2**20
    sample = engine.normals(RandomSource.from_seed(8)).at_least(n)[:n]
    assert stats.kstest(sample, "norm").pvalue > FALSE_ALARM
    for power, moment in [(1, 0), (2, 1), (3, 0), (4, 3), (6, 15)]:
        spread = math.sqrt((special_moment(2 * power) - moment**2) / n)
        assert abs((sample**power).mean() - moment) < 6 * spread
    edges = stats.norm.isf(np.concatenate([[0.5], 2.0 ** -np.arange(2, 16)]))
    edges = np.concatenate([-edges[:0:-1], edges])
    counts = np.histogram(sample, np.concatenate([[-math.inf], edges, [math.inf]]))[0]
    expected = n * np.diff(stats.norm.cdf(np.concatenate([[-math.inf], edges, [math.inf]])))
    assert stats.chisquare(counts, expected).pvalue > FALSE_ALARM
    lagged = np.corrcoef(sample[:-1], sample[1:])[0, 1]
    assert abs(lagged) < 6 / math.sqrt(n)


def special_moment(k):
    return float(math.prod(range(k - 1, 0, -2)))


def test_tails_beyond_the_last_layer_are_normal():
    # Words that all begin in the tail's layer, at its far end.
    fill = ziggurat().fill
    rng = np.random.default_rng(9)
    words = rng.integers(0, 2**64, size=2**18, dtype=np.uint64)
    sign = rng.integers(0, 2, size=2**18, dtype=np.uint64)
    first = np.where(sign == 1, np.uint64(2**63), np.uint64(2**63 - 256))
    words[0::3] = first[0::3]
    normals = np.empty(len(words))
    made = 0
    for i in range(0, 3 * 10000, 3):
        n, used = fill(normals[made:], words[i : i + 3])
        made += n if used == 3 else 0
    beyond = np.abs(normals[:made])
    assert beyond.min() > 3.654
    assert made > 7500
    tail = stats.norm.sf(3.6541528853610088)
    assert stats.kstest(stats.norm.sf(beyond) / tail, "uniform").pvalue > FALSE_ALARM
    assert abs((normals[:made] > 0).mean() - 0.5) < 6 * 0.5 / math.sqrt(made)


def test_the_ziggurat_reaches_beyond_eight_standard_deviations():
    to_tail, small, accept = np.uint64(2**63 - 256), np.uint64(2**63 + 2**22), np.uint64(2**63)
    normals = np.empty(3)
    words = np.array([to_tail, small, accept], dtype=np.uint64)
    assert ziggurat().fill(normals, words) == (1, 3)
    assert 8 < normals[0] < 13


def test_a_normal_whose_words_are_cut_in_two_is_the_same():
    words = RandomSource.from_seed(2).words(4000)
    whole = np.empty(4000)
    n, _ = ziggurat().fill(whole, words)

    class Words:
        place = 0

        def words(self, size):
            self.place += size
            return words[self.place - size : self.place]

    draw, found = ziggurat().Ziggurat(Words()), []
    while len(found) < n - 40:
        out = np.empty(9)
        found.extend(out[: draw(out)])
    np.testing.assert_array_equal(found, whole[: len(found)])


# -- what the result shows, and what it costs ---------------------------------------------------

STEPS = 40


def touched_and_untouched(averaging, engine):
    """Coefficients of features touched once, or 10 times, without effect, and never touched."""
    n = 4096
    X = csr_matrix(
        (np.zeros(2 * n), np.arange(2 * n), [0, n, 2 * n]), shape=(2, 3 * n)
    )  # explicit zeros: present in the record, with no net gradient
    batches = [np.zeros(0, dtype=np.int64) for _ in range(STEPS)]
    batches[STEPS // 2] = np.array([0, 1])
    for t in range(0, STEPS, 5):
        batches[t] = np.array([1])
    schedule = Schedule(np.full(STEPS, 0.1), np.ones(STEPS), averaging, 1.0)
    problem = Problem(schedule, batches, X, np.ones(2), Logistic(), max_norm=1.0, intercept=False)
    result = problem.lazy(engine, engine.normals(RandomSource.from_seed(21)))
    return (result / schedule.grid).reshape(3, n)


def divisible(values, unit):
    ratio = values / unit
    return np.abs(ratio - np.rint(ratio)) < 1e-6


def lattice_attack(groups):
    """Smallest p-value over many ways to read touched or not from divisibility and low bits."""
    integers = [np.rint(group).astype(np.int64) for group in groups]
    found = []
    for modulus in [2, 3, 4, 5, 7, 8, 16, 32, 40, 64, 256]:
        table = [np.bincount(np.mod(group, modulus), minlength=modulus) for group in integers]
        found.append(stats.chi2_contingency(np.array(table)[:, np.any(table, axis=0)]).pvalue)
    for unit in [math.sqrt(STEPS), math.sqrt(STEPS / 2), math.sqrt(2), math.pi]:
        hits = [int(divisible(group, unit).sum()) for group in groups]
        rest = [len(group) - hit for group, hit in zip(groups, hits, strict=True)]
        if sum(hits):
            found.append(stats.chi2_contingency([hits, rest]).pvalue)
    bits = [np.char.count(group.astype("U24"), "7") for group in integers]
    found.append(stats.ks_2samp(bits[0], bits[-1]).pvalue)
    return min(found) * len(found)


@pytest.mark.parametrize("averaged", [False, True])
def test_no_lattice_shows_whether_a_coordinate_was_touched(averaged, engine):
    averaging = np.full(STEPS, 1 / STEPS) if averaged else np.eye(STEPS)[-1]
    groups = touched_and_untouched(averaging, engine)
    assert (groups == np.rint(groups)).all()
    assert lattice_attack(groups) > FALSE_ALARM


def test_the_lattice_attack_finds_the_obvious_implementation_on_a_grid():
    # Integer noise on a grid for each draw, a gap of n steps drawn at once with sqrt(n) the scale.
    rng = np.random.default_rng(0)

    def fused(steps):
        return math.sqrt(steps) * np.rint(rng.normal(size=4096) * 2.0**20)

    untouched, touched = fused(STEPS), fused(STEPS // 2) + fused(STEPS // 2 - 1)
    assert divisible(untouched, math.sqrt(STEPS)).all()
    assert not divisible(touched, math.sqrt(STEPS)).any()
    assert lattice_attack([touched, untouched]) < 1e-100


def test_rounding_each_gap_alone_would_show_too():
    # A planted bug that is milder: one coarse grid, but each draw rounded to a multiple of 4.
    rng = np.random.default_rng(0)
    draws = 4 * np.rint(rng.normal(size=(2, 4096)) * 2.0**18)
    assert lattice_attack([draws[0], draws[1] + rng.integers(0, 2, 4096)]) < FALSE_ALARM


def sparse_problem(n_features, n_steps, per_row=5, batch=8):
    rng = np.random.default_rng(0)
    n = 200
    columns = np.sort(rng.choice(n_features // per_row, (n, per_row)), axis=1)
    columns += np.arange(per_row) * (n_features // per_row)
    X = csr_matrix(
        (np.ones(n * per_row), columns.ravel(), np.arange(0, n * per_row + 1, per_row)),
        shape=(n, n_features),
    )
    averaging = np.full(n_steps, 1 / n_steps)
    schedule = Schedule(np.full(n_steps, 0.1), np.ones(n_steps), averaging, 8.0)
    batches = [rng.choice(n, batch, replace=False) for _ in range(n_steps)]
    y = rng.choice([-1.0, 1.0], n)
    return Problem(schedule, batches, X, y, Logistic(), max_norm=1.0, intercept=True)


def test_words_drawn_are_as_many_as_entries_and_coordinates(engine):
    problem = sparse_problem(50_000, 300)
    source = CountingSource(0)
    problem.lazy(engine, engine.normals(source))
    touches = 300 * 8 * 5
    assert 50_000 < source.drawn < 1.05 * (touches + 50_000 + 300) + 2 * 2**14


def test_memory_stays_below_five_vectors(engine):
    p = 400_000
    problem = sparse_problem(p, 20)
    problem.start = np.zeros(0)
    args = (problem.X, problem.targets, problem.loss)
    options = {
        "fit_intercept": True,
        "start": None,
        "learning_rates": problem.schedule.learning_rates,
        "noise_stds": problem.schedule.noise_stds,
        "averaging": problem.schedule.averaging,
        "divisor": 8.0,
        "max_norm": 1.0,
        "decay": 0.0,
        "rng": RandomSource.from_seed(0),
    }
    lazy_dpsgd(*args, batches=problem.blocks(5), **options)
    tracemalloc.start()
    result = lazy_dpsgd(*args, batches=problem.blocks(5), **options)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.shape == (p + 1,)
    assert peak < 5 * 8 * p + 2_500_000


class OtherLoss(Loss):
    value = derivative = second_derivative = gradient_bound = None
    smoothness = pull = slope_at_zero = None


def test_without_numba_or_for_another_loss_the_numpy_route_is_taken(monkeypatch):
    assert isinstance(engine_for(OtherLoss()), NumpyEngine)
    monkeypatch.setitem(sys.modules, "skdp.training.lazy_kernels", None)
    assert isinstance(engine_for(Logistic()), NumpyEngine)


# -- refusals -----------------------------------------------------------------------------------


def call(**changes):
    arguments = {
        "X": csr_matrix(np.eye(3)),
        "targets": np.ones(3),
        "loss": Logistic(),
        "fit_intercept": True,
        "start": None,
        "batches": [(np.arange(3), np.array([0, 1, 3]))],
        "learning_rates": np.ones(2),
        "noise_stds": np.ones(2),
        "divisor": 1.0,
        "max_norm": 1.0,
        "decay": 0.0,
        "averaging": np.full(2, 0.5),
        "rng": RandomSource.from_seed(0),
    }
    return lazy_dpsgd(**{**arguments, **changes})


def test_the_call_that_the_refusals_vary_is_accepted():
    assert call().shape == (4,)


def out_of_range():
    X = csr_matrix(np.eye(3))
    X.indices[0] = 7
    return X


def duplicates():
    return csr_matrix((np.ones(4), [0, 0, 1, 2], [0, 2, 3, 4]), shape=(3, 3))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batches": [(np.arange(3), np.array([0, 3]))]}, "fewer batches"),
        ({"batches": [(np.arange(3), np.array([0, 1, 2, 3]))]}, "more batches"),
        ({"batches": [(np.array([0, 3]), np.array([0, 1, 2]))]}, "not among the records"),
        ({"batches": [(np.array([-1, 0]), np.array([0, 1, 2]))]}, "not among the records"),
        ({"batches": [(np.arange(3), np.array([0, 2, 1]))]}, "offsets"),
        ({"batches": [(np.arange(3), np.array([0, 1, 9]))]}, "offsets"),
        ({"targets": np.ones(2)}, "shape"),
        ({"start": np.zeros(3)}, "start"),
        ({"X": duplicates()}, "duplicates"),
        ({"X": out_of_range()}, "indices"),
        ({"decay": 1.0}, "below 1"),
        ({"decay": -1.0}, "decay"),
        ({"noise_stds": np.zeros(2)}, "variance"),
        ({"noise_stds": np.array([1.0, math.nan])}, "at least 0"),
        ({"averaging": np.zeros(2)}, "variance"),
        ({"averaging": np.ones(3)}, "shape"),
        ({"averaging": np.array([-0.5, 1.5])}, "at least 0"),
        ({"divisor": 0.0}, "divisor"),
        ({"max_norm": math.inf}, "max_norm"),
    ],
)
def test_what_does_not_fit_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        call(**changes)

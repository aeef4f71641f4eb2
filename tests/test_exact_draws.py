"""Numbers of a continuous law, counts and identities, each against its law.

Statistical tests have fixed seeds and p > 1e-6.
"""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtri

from skdp._random import RandomSource
from skdp.mechanisms import binomial as binomial_module
from skdp.mechanisms import order_statistics, rounded_gaussian
from skdp.mechanisms.binomial import binomial
from skdp.mechanisms.continuous import (
    coins,
    exponentials,
    laplaces,
    normals,
    refined,
    signed_uniforms,
    uniforms,
)
from skdp.mechanisms.exceedances import descending_tails, level_below, level_with
from skdp.mechanisms.order_statistics import (
    distinct_outside,
    integers_below,
    log_cdf_of_largest,
    random_subset,
)
from skdp.mechanisms.rounded_gaussian import RoundedGaussian
from skdp.mechanisms.selection_noise import EXPONENTIAL, GUMBEL, LAPLACE
from tests.support.sources import CountingSource, ScriptedSource

FALSE_ALARM = 1e-6
ONES = 2**64 - 1


def source(seed=0):
    return RandomSource.from_seed(seed)


def equally_likely(outcomes, cells):
    """Whether a chi-square test finds the outcomes uniform over so many cells."""
    _, counts = np.unique(np.asarray(outcomes), axis=0, return_counts=True)
    counts = np.append(counts, np.zeros(cells - counts.size))
    return cells == 1 or stats.chisquare(counts).pvalue > FALSE_ALARM


# --- uniforms


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ([ONES], 1 - 2.0**-53),
        ([1 << 63], 0.5),
        ([1 << 62], 0.25),
        ([(1 << 52) + 3], 2.0**-12 * (1 + 3 * 2.0**-52)),
        ([5, 1 << 63], 2.0**-13),
        ([0, 0, 0, ONES], 2.0**-36 * (1 - 2.0**-53)),
    ],
)
def test_a_word_becomes_its_first_53_significant_bits(words, value):
    rng = ScriptedSource(*words)
    assert uniforms(1, rng).tolist() == [value]
    assert rng.left == []


def test_a_sign_takes_one_bit_and_the_uniform_the_others():
    negative, uniform = signed_uniforms(3, ScriptedSource(ONES, ONES >> 1, 1 << 62))
    assert negative.tolist() == [True, False, False]
    assert uniform.tolist() == [1 - 2.0**-53, 1 - 2.0**-53, 0.5]


@pytest.mark.parametrize("level", [0, 3, 11, 14])
def test_small_uniforms_are_scaled_down_ones_to_the_last_bit(level):
    u = uniforms(2**20, source(1))
    small = u[u < 2.0**-level] * 2.0**level
    assert stats.kstest(small, "uniform").pvalue > FALSE_ALARM
    mantissa = np.ldexp(np.frexp(small)[0], 53).astype(np.int64)
    assert np.all(mantissa >= 2**52)
    assert stats.chisquare(np.bincount(mantissa % 8, minlength=8)).pvalue > FALSE_ALARM


def test_refining_adds_bits_below_the_last_one():
    for u in uniforms(100, source(2)):
        more = refined(float(u), source(3))
        ulp = Fraction(math.ulp(u))
        assert Fraction(float(u)) < more < Fraction(float(u)) + ulp
    low, high = (refined(0.75, ScriptedSource(w, w, w)) for w in (0, ONES))
    assert low - Fraction(3, 4) == Fraction(1, 2**246)
    assert Fraction(3, 4) + Fraction(1, 2**53) - high == Fraction(1, 2**246)


# --- continuous laws


LAWS = {
    exponentials: stats.expon,
    laplaces: stats.laplace,
    normals: stats.norm,
    EXPONENTIAL.draw: stats.expon,
    LAPLACE.draw: stats.laplace,
    GUMBEL.draw: stats.gumbel_r,
}


@pytest.mark.parametrize("draw", LAWS, ids=lambda draw: draw.__name__)
def test_draws_have_their_law(draw):
    x = draw(20_000, source(4))
    assert stats.kstest(x, LAWS[draw].cdf).pvalue > FALSE_ALARM
    assert abs(np.corrcoef(x[1:], x[:-1])[0, 1]) < 0.04


@pytest.mark.parametrize(("sign", "law"), [(0, mpmath.log), (1 << 63, lambda t: mpmath.log1p(-t))])
def test_exponentials_are_relatively_precise_at_both_ends(sign, law):
    """2^-24 from either end, where minus the logarithm of a 53-bit uniform has 29 bits left."""
    found = exponentials(1, ScriptedSource(sign + 12345, (1 << 52) + 678))[0]
    with mpmath.workdps(50):
        tail = mpmath.ldexp(1 + mpmath.mpf(678) / 2**52, -24)
        assert found == pytest.approx(float(-law(tail)), rel=2**-50)


def test_coins_are_fair_and_laplace_signs_too():
    assert abs(coins(10_000, source(5)).mean() - 0.5) < 5 * 0.005
    assert abs((laplaces(10_000, source(6)) > 0).mean() - 0.5) < 5 * 0.005


# --- the largest of many


@pytest.mark.parametrize("place", range(5))
def test_the_largest_in_order_are_beta_variables(place):
    """F(X_(i)), i-th largest of n, is Beta(n - i + 1, i)."""
    rng = source(7 + place)
    cdf = np.exp([log_cdf_of_largest(9, 5, rng)[place] for _ in range(3000)])
    assert stats.kstest(cdf, stats.beta(9 - place, place + 1).cdf).pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    ("law", "reference"),
    [(GUMBEL, stats.gumbel_r), (LAPLACE, stats.laplace), (EXPONENTIAL, stats.expon)],
)
def test_quantiles_invert_the_cdf_in_both_tails(law, reference):
    survival = np.array([1e-300, 1e-30, 1e-9, 0.1, 0.49, 0.51, 0.9, 1 - 1e-9])
    found = law.quantile(np.log1p(-survival)[1:-1])
    np.testing.assert_allclose(found, reference.isf(survival[1:-1]), rtol=1e-12)
    deep = law.quantile(np.array([-1e-300]))
    assert deep[0] == pytest.approx(reference.isf(1e-300), rel=1e-12)
    lower = law.quantile(np.array([-40.0]))
    assert lower[0] == pytest.approx(reference.ppf(math.exp(-40)), rel=1e-12, abs=1e-16)


def test_the_largest_of_a_thousand_laplace_variables_is_distributed_as_by_drawing_all():
    rng = source(13)
    lazy = np.array([LAPLACE.largest(1000, 2, rng) for _ in range(2000)])
    dense = np.array([np.sort(laplaces(1000, rng))[:-3:-1] for _ in range(2000)])
    for place in range(2):
        assert stats.ks_2samp(lazy[:, place], dense[:, place]).pvalue > FALSE_ALARM


# --- identities


@pytest.mark.parametrize("bound", [1, 2, 3, 6, 1000])
def test_integers_below_a_bound_are_uniform(bound):
    assert equally_likely(integers_below(bound, 20_000, source(14)), bound)


def test_words_of_the_last_incomplete_part_are_rejected():
    bound = 2**63 + 1  # of two parts the second is incomplete
    assert integers_below(3, 2, ScriptedSource(ONES, 7, 8)).tolist() == [1, 2]
    with pytest.raises(AssertionError):
        integers_below(bound, 1, ScriptedSource(bound))


@pytest.mark.parametrize(("n", "m"), [(1, 1), (4, 2), (3, 3), (5, 0)])
def test_ordered_samples_are_equally_likely(n, m):
    rng = source(15)
    samples = [random_subset(n, m, rng) for _ in range(6000)]
    assert equally_likely(samples, math.perm(n, m))


def test_equal_keys_are_drawn_again():
    assert random_subset(3, 1, ScriptedSource(5, 5, 1, 9, 2, 4)).tolist() == [1]


@pytest.mark.parametrize(
    ("size", "share"), [(6, 16), (16, 16), (16, 0)], ids=["a list of all", "a table", "searches"]
)
def test_identities_outside_a_support_are_a_uniform_ordered_sample(size, share, monkeypatch):
    monkeypatch.setattr(order_statistics, "_TABLE_SHARE", share)
    support, rng = np.array([0, 2, 3]), source(16)
    samples = [distinct_outside(support, size, 2, rng) for _ in range(8000)]
    assert not np.isin(samples, support).any()
    assert equally_likely(samples, math.perm(size - 3, 2))


def test_a_table_and_searches_find_the_same_identities(monkeypatch):
    support = np.flatnonzero(np.random.default_rng(0).random(3000) < 0.2)
    for m in (0, 1, 30, 800):
        found = []
        for share in (0, 16):
            monkeypatch.setattr(order_statistics, "_TABLE_SHARE", share)
            found.append(distinct_outside(support, 3000, m, source(20)))
        assert np.array_equal(*found)
        assert np.unique(found[1]).size == m


@pytest.mark.parametrize("size", [10**3, 10**9])
def test_identities_take_a_few_words_whatever_the_size(size):
    rng = CountingSource(source(17))
    support = np.arange(0, size, size // 100)
    found = distinct_outside(support, size, 100, rng)
    assert np.unique(found).size == 100
    assert not np.isin(found, support).any()
    assert rng.drawn < 500


def test_all_others_can_be_asked_for():
    found = distinct_outside(np.array([1, 4]), 6, 4, source(18))
    assert sorted(found.tolist()) == [0, 2, 3, 5]
    assert distinct_outside(np.empty(0, dtype=np.int64), 3, 0, source(19)).size == 0


# --- counts


@pytest.mark.parametrize(
    ("n", "m"), [(1, 2), (5, 2), (40, 3), (1000, 4), (10**9, 10**8), (30, 1000), (2**40, 2**35)]
)
def test_counts_are_binomial(n, m):
    rng = source(20)
    found = np.array([binomial(n, m, rng) for _ in range(2000)])
    law = stats.binom(n, 1 / m)
    edges = np.unique(law.ppf(np.linspace(0.02, 0.98, 15)))
    cells = np.searchsorted(edges, found)
    expected = np.diff(np.concatenate([[0.0], law.cdf(edges), [1.0]])) * found.size
    counts = np.bincount(cells, minlength=expected.size)
    kept = expected > 5
    assert counts[~kept].sum() < 40
    expected = expected[kept] * counts[kept].sum() / expected[kept].sum()
    assert kept.sum() == 1 or stats.chisquare(counts[kept], expected).pvalue > FALSE_ALARM


@pytest.mark.parametrize(("n", "m"), [(7, 2), (10**7, 2**15), (10**9, 2**20)])
def test_the_weights_are_as_precise_as_the_margin_takes_them_to_be(n, m):
    outcomes, weights = binomial_module._window(n, m)
    exact = binomial_module._integer_weights(n, m, outcomes)
    ratios = np.array([float(Fraction(e, 2**512)) for e in exact]) / weights
    assert np.abs(ratios - 1).max() < 4 * outcomes.size * 2.0**-53
    law = stats.binom(n, 1 / m)
    np.testing.assert_allclose(weights / weights.sum(), law.pmf(outcomes), rtol=1e-5, atol=1e-40)
    assert law.cdf(outcomes[0] - 1) < 2.0**-150
    assert law.sf(outcomes[-1]) < 2.0**-150


def test_a_count_that_double_precision_cannot_settle_is_decided_exactly():
    """P(0) = 1/4 and P(2) = 1/4 < P(1) = 1/2: the cumulative 1/4 and 1/2 are met by a uniform."""
    outcomes = [binomial(2, 2, ScriptedSource(1 << 62, *more)) for more in ([0] * 3, [ONES] * 3)]
    assert outcomes[0] == outcomes[1] == 2  # U from 1/4 on is beyond the first outcome
    below = (1 << 62) - 1  # the largest double below 1/4, whose missing bits do not reach it
    assert binomial(2, 2, ScriptedSource(below, ONES, ONES, ONES)) == 0


def test_exact_decisions_agree_with_those_of_double_precision():
    outcomes, weights = binomial_module._window(50, 7)
    order = np.argsort(weights)
    for seed in range(100):
        rng = source(seed)
        uniform = float(uniforms(1, rng)[0])
        place = binomial_module._decide(uniform, 50, 7, outcomes, order, rng)
        assert outcomes[place] == binomial(50, 7, source(seed))


# --- extremes


@pytest.mark.parametrize("level", [0, 1, 2, 7])
def test_tails_from_the_bottom_up_are_independent_uniforms(level):
    rng = source(21)
    counts, pooled = [], []
    for _ in range(600):
        batches = list(descending_tails(6, level, rng))
        assert len(batches) == level + 1
        assert [bound for _, bound in batches] == [2.0**-j for j in range(level, -1, -1)]
        lower = 0.0
        for tails, bound in batches:
            assert np.all((tails >= lower) & (tails < bound))
            lower = bound
        drawn = np.concatenate([tails for tails, _ in batches])
        assert drawn.size == 6
        pooled.append(drawn)
        counts.append(np.sum(drawn < 0.3))
    assert stats.kstest(np.ravel(pooled), "uniform").pvalue > FALSE_ALARM
    expected = stats.binom(6, 0.3).pmf(range(7)) * len(counts)
    observed = np.bincount(counts, minlength=7)
    assert (
        stats.chisquare(observed[:5], expected[:5] * observed[:5].sum() / expected[:5].sum())[1]
        > FALSE_ALARM
    )


def test_the_smallest_of_a_billion_come_first_and_alone():
    rng = CountingSource(source(22))
    tails, bound = next(descending_tails(10**9, 22, rng))
    assert bound == 2.0**-22
    assert abs(tails.size - 10**9 / 2**22) < 5 * math.sqrt(10**9 / 2**22)
    assert stats.kstest(tails / bound, "uniform").pvalue > FALSE_ALARM
    assert rng.drawn < tails.size + 10


def test_levels_hold_what_they_are_asked_to_hold():
    for n, expected in ((10**9, 100.0), (1000, 30.0), (100, 60.0), (5, 60.0), (0, 60.0)):
        level = level_with(n, expected)
        assert level == 0 or expected <= n * 2.0**-level < 2 * expected
    for probability in (1.0, 0.6, 0.5, 0.3, 1e-9):
        assert probability <= 2.0 ** -level_below(probability) < 2 * probability + 1e-300
    assert level_below(0.0) == 62


# --- the rounded normal


@pytest.mark.parametrize("noise_std", [2.0**-990, 1e-9, 0.7, 1.0, 3.0, 1e9, 2.0**990])
def test_width_times_grid_is_the_standard_deviation(noise_std):
    noise = RoundedGaussian(noise_std)
    assert noise.width * noise.grid == noise_std
    assert 2**20 <= noise.width < 2**21
    assert math.frexp(noise.grid)[0] == 0.5


@pytest.mark.parametrize("noise_std", [0.0, -1.0, math.inf, math.nan, 1e-300, 1e300])
def test_a_standard_deviation_out_of_range_is_refused(noise_std):
    with pytest.raises(ValueError, match="noise_std"):
        RoundedGaussian(noise_std)


def test_integers_are_a_rounded_normal():
    noise = RoundedGaussian(3.0)
    z = noise.integers(40_000, source(23))
    assert np.array_equal(z, np.rint(z))
    assert stats.kstest(z / noise.width, "norm").pvalue > FALSE_ALARM
    assert stats.chisquare(np.bincount(z.astype(int) % 8)).pvalue > FALSE_ALARM


def test_a_tail_becomes_the_nearest_integer_to_its_quantile():
    """Against mpmath, and within a twentieth of the margin that is allowed for ndtri."""
    rng = np.random.default_rng(0)
    noise = RoundedGaussian(1.7)
    tails = np.concatenate(
        [rng.random(100), 2.0 ** -rng.uniform(0, 150, 100), 1 - 2.0 ** -rng.uniform(1, 53, 50)]
    )
    found = noise.magnitudes(tails, source(24))
    with mpmath.workdps(120):
        for tail, magnitude in zip(tails, found, strict=True):
            exact = noise.width * mpmath.sqrt(2) * mpmath.erfinv(1 - mpmath.mpf(float(tail)))
            assert abs(magnitude - exact) <= mpmath.mpf(1) / 2 + mpmath.mpf(2) ** -26
            computed = -noise.width * float(ndtri(0.5 * tail))
            margin = 2.0**-44 * computed + 2.0**-48 * noise.width
            assert abs(computed - exact) < margin / 20


@pytest.mark.parametrize("below", [0, 1, 777_777, 9_000_000])
def test_a_tail_next_to_a_half_integer_is_decided_by_its_further_bits(below):
    """The double that contains the boundary goes up with the share of its cell below it."""
    noise = RoundedGaussian(1.0)
    boundary = rounded_gaussian._two_sided_tail(below + 0.5, noise.width)
    with mpmath.workdps(120):
        exact = mpmath.erfc((below + mpmath.mpf("0.5")) / (noise.width * mpmath.sqrt(2)))
        assert float(boundary) == pytest.approx(float(exact), rel=1e-15)
    tail = float(boundary)
    if Fraction(tail) > boundary:
        tail = math.nextafter(tail, 0.0)
    share = float((boundary - Fraction(tail)) / Fraction(math.ulp(tail)))
    assert 0 <= share <= 1
    rng = source(25)
    found = noise.magnitudes(np.full(400, tail), rng)
    assert set(found) <= {below, below + 1.0}
    ups = int(np.sum(found == below + 1))
    assert stats.binomtest(ups, 400, share).pvalue > FALSE_ALARM
    for ulps, expected in ((-3, below + 1), (3, below)):
        near = tail + ulps * math.ulp(tail)
        assert noise.magnitudes(np.array([near]), rng)[0] == expected


def test_bounds_on_magnitudes_and_tails_hold():
    noise = RoundedGaussian(1.3)
    tails = np.sort(uniforms(5000, source(26)))
    magnitudes = noise.magnitudes(tails, source(27))
    for at in (0, 100, 2500, 4999):
        assert noise.largest_magnitude(tails[at]) >= magnitudes[at:].max()
        assert noise.tail_at(magnitudes[at]) >= 2 * stats.norm.sf(
            (magnitudes[at] - 0.5) / noise.width
        )
    assert noise.tail_at(-5.0) == 1.0


def test_values_go_onto_the_grid_and_back_unchanged_and_clamped():
    noise = RoundedGaussian(5.0)
    values = np.array([-3.0, 0.0, 7.0, 2.0**31]) * noise.grid
    assert noise.off_grid(noise.on_grid(values)).tolist() == values.tolist()
    with np.errstate(all="raise"):
        extreme = noise.on_grid(np.array([math.inf, -math.inf, math.nan, 1e308, 5e-324]))
    assert extreme.tolist() == [2.0**52, -(2.0**52), 0.0, 2.0**52, 0.0]


def test_no_negative_zero_tells_that_a_sign_was_drawn():
    off = RoundedGaussian(1.0).off_grid(np.array([-0.0, 0.0]))
    assert not np.signbit(off).any()

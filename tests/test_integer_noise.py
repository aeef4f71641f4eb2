"""Integer noise: exact coins, and laws compared with their formulas.

Chi-square and Kolmogorov-Smirnov tests run on fixed seeds and fail below p = 1e-6.
"""

import bisect
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from skdp._random import RandomSource
from skdp.mechanisms import gaussian_table, integer_noise, lazy_bernoulli
from skdp.mechanisms.gaussian_table import (
    BASE_TOTAL_VARIATION,
    BASE_WIDTH,
    LARGEST_STEP,
    SMALLEST_STEP,
    base_gaussian,
    step_for,
    table_gaussian,
    width_of,
)
from skdp.mechanisms.integer_noise import discrete_gaussian, discrete_laplace
from skdp.mechanisms.lazy_bernoulli import RELATIVE_ERROR, bernoulli, exact_arithmetic
from skdp.mechanisms.spherical_noise import (
    mixing_variance,
    smallest_rate,
    spherical_laplace,
    spherical_total_variation,
)

FALSE_ALARM = 1e-6
WORD = 2**64


class Scripted:
    """Answers with the words it was given, and then has no more."""

    def __init__(self, *words):
        self.left = list(words)

    def words(self, n):
        assert n <= len(self.left), "more random bits were drawn than the comparison needs"
        drawn, self.left = self.left[:n], self.left[n:]
        return np.array(drawn, dtype=np.uint64)


class ExtraBitsAside:
    """A seeded source whose requests for the three words of a doubtful coin go elsewhere."""

    def __init__(self, seed):
        self.main, self.aside = RandomSource.from_seed(seed), RandomSource.from_seed(seed + 1)

    def words(self, n):
        return self.aside.words(n) if n == 3 else self.main.words(n)


def words_of(number, count=4):
    """The first `count` words of a number in [0, 1)."""
    scaled = number * WORD**count
    whole = scaled.numerator // scaled.denominator
    return [whole >> 64 * place & WORD - 1 for place in reversed(range(count))]


def coin(probability, rounded, words):
    def exact(_):
        return exact_arithmetic().mpf(probability.numerator) / probability.denominator

    return bool(bernoulli(np.array([rounded]), (1,), Scripted(*words), exact)[0])


def assert_same_law(values, support, mass):
    """Chi-square test of integers against a probability mass function; rare cells are pooled."""
    expected = len(values) * np.append(mass, max(0.0, 1 - np.sum(mass)))
    observed = np.array([np.sum(values == z) for z in support])
    observed = np.append(observed, len(values) - observed.sum())
    rare = expected < 10
    observed = np.append(observed[~rare], observed[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    used = expected > 1e-9
    assert observed[~used].sum() == 0
    assert stats.chisquare(observed[used], expected[used]).pvalue > FALSE_ALARM


def laplace_mass(rate, support):
    return math.tanh(rate / 2) * np.exp(-rate * np.abs(support))


def gaussian_mass(variance, support):
    weight = np.exp(-(support.astype(float) ** 2) / (2 * float(variance)))
    return weight / weight.sum()


def lattice_norms(size, radius):
    axes = np.meshgrid(*[np.arange(-radius, radius + 1)] * size, sparse=True)
    return np.sqrt(sum(axis.astype(float) ** 2 for axis in axes)).ravel()


# --- coins


def test_a_coin_is_decided_by_bits_beyond_the_first_word():
    third = Fraction(1, 3)
    below, above = words_of(third), words_of(third)
    above[-1] += 1
    assert coin(third, 1 / 3, below)
    assert not coin(third, 1 / 3, above)


def test_a_clear_coin_neither_draws_more_bits_nor_asks_for_the_exact_probability():
    def never(_):
        raise AssertionError("asked")

    half, distance = WORD // 2, 2**22
    clear = Scripted(half - distance, half + distance, 0, WORD - 1)
    coins = bernoulli(np.array([0.5]), (4,), clear, never)
    np.testing.assert_array_equal(coins, [True, False, True, False])


@settings(max_examples=150, deadline=None)
@given(
    probability=st.fractions(min_value=0, max_value=1, max_denominator=10**12),
    error=st.sampled_from([-RELATIVE_ERROR, 0.0, RELATIVE_ERROR]),
    distance=st.one_of(st.integers(-3, 3), st.integers(-(2**23), 2**23)),
    rest=st.lists(st.integers(0, WORD - 1), min_size=3, max_size=3),
)
def test_a_coin_is_right_for_every_word_near_the_boundary(probability, error, distance, rest):
    first = min(max(words_of(probability, 1)[0] + distance, 0), WORD - 1)
    uniform = sum(Fraction(word, WORD ** (i + 1)) for i, word in enumerate([first, *rest]))
    rounded = min(float(probability) * (1 + error / 1.01), 1.0)
    assert coin(probability, rounded, [first, *rest]) == (uniform < probability)


def test_a_probability_below_one_word_is_still_decided_exactly():
    tiny = Fraction(5, 2**70)
    below, above = words_of(tiny), words_of(tiny)
    below[1] -= 1
    assert coin(tiny, float(tiny), below)
    assert not coin(tiny, float(tiny), above)
    assert not coin(tiny, 0.0, above)


def test_coins_have_their_probability():
    p = np.array([0.0, 1e-3, 0.3, 0.5, 1.0])
    coins = bernoulli(
        p, (20000, 5), RandomSource.from_seed(0), lambda i: exact_arithmetic().mpf(p[i % 5])
    )
    counts = coins.sum(axis=0)
    assert counts[0] == 0
    assert counts[4] == 20000
    for count, probability in zip(counts[1:4], p[1:4], strict=True):
        assert stats.binomtest(int(count), 20000, probability).pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    "sampler",
    [
        lambda rng: discrete_laplace(150, 0.3, rng),
        lambda rng: discrete_laplace(40, 2.0**-40, rng),
        lambda rng: discrete_gaussian(60, Fraction(500, 7), rng),
        lambda rng: discrete_gaussian(30, Fraction(3) ** 50, rng),
    ],
    ids=["laplace", "wide laplace", "gaussian", "wide gaussian"],
)
def test_the_exact_resolvers_agree_with_the_first_word(monkeypatch, sampler):
    """With a huge margin every coin that could come out true goes through the resolver."""
    expected = sampler(ExtraBitsAside(3))
    asked = []
    decide = lazy_bernoulli._decide
    monkeypatch.setattr(lazy_bernoulli, "_decide", lambda *args: asked.append(1) or decide(*args))
    monkeypatch.setattr(lazy_bernoulli, "RELATIVE_ERROR", 1.0)
    np.testing.assert_array_equal(sampler(ExtraBitsAside(3)), expected)
    assert len(asked) > 100


@pytest.mark.parametrize("sigma", [0.3, 3.7, 2.0**20 / 3, 2.0**36 / 3, 2.0**56 / 3])
def test_probabilities_handed_to_coins_are_as_accurate_as_coins_need(monkeypatch, sigma):
    """Double precision against 300 bits: relative 2^-44, or absolute 2^-64."""
    errors = []

    def compared(probability, shape, rng, exact):
        wide = np.broadcast_to(probability, shape).ravel()
        for index in range(0, wide.size, 23):
            truth = exact(index)
            errors.append(abs(wide[index] - truth) / max(truth * RELATIVE_ERROR, 2.0**-64))
        return bernoulli(probability, shape, rng, exact)

    monkeypatch.setattr(integer_noise, "bernoulli", compared)
    discrete_gaussian(400, Fraction(sigma) ** 2 * Fraction(3, 7), RandomSource.from_seed(12))
    assert len(errors) > 100
    assert max(errors) < 1


def test_the_exact_digits_of_a_geometric_are_those_of_its_formula(monkeypatch):
    rate, resolvers = 0.37, []

    def all_tails(probability, shape, rng, exact):
        resolvers.append(exact)
        return np.zeros(shape, dtype=bool)

    monkeypatch.setattr(integer_noise, "bernoulli", all_tails)
    assert discrete_laplace(1, rate, RandomSource.from_seed(13)) == [0]
    with mpmath.workprec(300):
        for digit in range(8):
            expected = 1 / (1 + mpmath.exp(mpmath.mpf(rate) * 2**digit))
            assert abs(resolvers[0](digit) / expected - 1) < mpmath.mpf(2) ** -290


# --- discrete Laplace and discrete Gaussian


@pytest.mark.parametrize("rate", [0.02, 0.5, 1.0, 3.0, 6.0])
def test_the_discrete_laplace_has_its_mass_function(rate):
    values = discrete_laplace(40_000, rate, RandomSource.from_seed(1))
    support = np.arange(-400, 401)
    assert values.dtype == np.int64
    assert_same_law(values, support, laplace_mass(rate, support))


@pytest.mark.parametrize("rate", [2.0**-20, 2.0**-50, 2.0**-56])
def test_the_discrete_laplace_of_small_rate_is_a_laplace(rate):
    values = discrete_laplace(4000, rate, RandomSource.from_seed(2))
    assert stats.kstest(values * rate, "laplace").pvalue > FALSE_ALARM
    low_bits = np.bincount(values % 8, minlength=8)
    assert stats.chisquare(low_bits).pvalue > FALSE_ALARM


@pytest.mark.parametrize("rate", [0.0, -1.0, 2.0**-57, math.inf, math.nan])
def test_a_rate_out_of_range_is_refused(rate):
    with pytest.raises(ValueError, match="rate must be"):
        discrete_laplace(1, rate, RandomSource.from_system())


@pytest.mark.parametrize(
    "variance",
    [Fraction(n, d) for n, d in ((1, 30), (1, 3), (7, 3), (1600, 1), (40001, 7))],
)
def test_the_discrete_gaussian_has_its_mass_function(variance):
    values = discrete_gaussian(40_000, variance, RandomSource.from_seed(3))
    support = np.arange(-1200, 1201)
    assert values.dtype == np.int64
    assert_same_law(values, support, gaussian_mass(variance, support))


@pytest.mark.parametrize("sigma", [2.0**30, 2.0**56])
def test_a_wide_discrete_gaussian_is_normal(sigma):
    values = discrete_gaussian(4000, Fraction(sigma) ** 2, RandomSource.from_seed(4))
    assert stats.kstest(values / sigma, "norm").pvalue > FALSE_ALARM
    assert stats.chisquare(np.bincount(values % 8, minlength=8)).pvalue > FALSE_ALARM


@settings(max_examples=50, deadline=None)
@given(st.fractions(min_value=Fraction(1, 2**180), max_value=2**112))
def test_any_rational_variance_is_drawn_within_its_reach(variance):
    if variance:
        values = discrete_gaussian(3, variance, RandomSource.from_seed(5))
        assert values.shape == (3,)
        assert np.all(np.abs(values.astype(float)) <= 40 * math.sqrt(variance))


# --- the table


@pytest.fixture(scope="module")
def cumulative():
    """2^128 P(Z < z) of the table, from below its support to above."""
    table = gaussian_table._table()
    inner = [int(h) << 64 | int(low) for h, low in zip(table.high, table.low, strict=True)]
    return [0, *inner, 2**128]


def test_the_table_is_as_near_to_the_discrete_gaussian_as_is_claimed(cumulative):
    reach = (len(cumulative) - 2) // 2
    with mpmath.workprec(260):
        weight = [mpmath.exp(-mpmath.mpf(k * k) / (2 * BASE_WIDTH**2)) for k in range(15 * 1024)]
        total = weight[0] + 2 * mpmath.fsum(weight[1:])
        differences = (
            abs(
                mpmath.ldexp(cumulative[i + 1] - cumulative[i], -128)
                - weight[abs(i - reach)] / total
            )
            for i in range(2 * reach + 1)
        )
        outside = 2 * mpmath.fsum(weight[reach + 1 :]) / total
        distance = (mpmath.fsum(differences) + outside) / 2
    assert BASE_TOTAL_VARIATION / 2 < distance < BASE_TOTAL_VARIATION


def test_a_tie_in_the_high_word_is_decided_by_the_low_word(cumulative):
    inner, reach = cumulative[1:-1], (len(cumulative) - 2) // 2
    for place in (0, 1, 20, 2000, reach, reach + 5, 2 * reach - 2000, 2 * reach - 1):
        for uniform in (inner[place] - 1, inner[place], inner[place] + 1):
            if 0 <= uniform < 2**128 and uniform >> 64 == inner[place] >> 64:
                (drawn,) = base_gaussian(1, Scripted(*divmod(uniform, WORD)))
                assert drawn == bisect.bisect_right(inner, uniform) - reach


def test_the_base_draw_has_its_mass_function():
    values = base_gaussian(60_000, RandomSource.from_seed(6))
    support = np.arange(-6000, 6001)
    grouped = gaussian_mass(BASE_WIDTH**2, support)[: -(len(support) % 100)]
    assert_same_law((values + 6000) // 100, np.arange(120), grouped.reshape(120, 100).sum(axis=1))


@pytest.mark.parametrize("step", [SMALLEST_STEP, 12345, LARGEST_STEP])
def test_the_table_gaussian_is_normal_on_every_residue(step):
    values = table_gaussian(20_000, step, RandomSource.from_seed(7))
    assert stats.kstest(values / width_of(step), "norm").pvalue > FALSE_ALARM
    for modulus in (8, 128, 61):
        counts = np.bincount(values % modulus, minlength=modulus)
        assert stats.chisquare(counts).pvalue > FALSE_ALARM


def test_the_table_gaussian_adds_three_draws_at_their_steps(monkeypatch):
    monkeypatch.setattr(gaussian_table, "base_gaussian", lambda n, rng: np.arange(n))
    added = table_gaussian(2, 10_000, RandomSource.from_system())
    np.testing.assert_array_equal(added, [128 * 2 + 10_000 * 4, 1 + 128 * 3 + 10_000 * 5])


@pytest.mark.parametrize(("width", "step"), [(16, 2), (4, 2)])
def test_convolution_is_wrong_by_the_stated_factor_only(width, step):
    """An analogue small enough for the exact sum: |log ratio| <= 4 exp(-2 pi^2 w^2)."""
    with mpmath.workprec(2400):
        reach, joint = 50 * width, width**2 * (1 + step**2)
        weight = [mpmath.exp(-mpmath.mpf(k * k) / (2 * width**2)) for k in range(3 * reach)]
        ratios = []
        for z in (*range(0, 12, 3), 5 * width + 1):
            terms = (weight[abs(z - step * y)] * weight[abs(y)] for y in range(-reach, reach + 1))
            ratios.append(mpmath.fsum(terms) / mpmath.exp(-mpmath.mpf(z * z) / (2 * joint)))
        spread = max(ratios) / min(ratios) - 1
        stated = 4 * mpmath.exp(-2 * mpmath.pi**2 * mpmath.mpf(width**4) / joint)
    assert stated / 100 < spread < stated


def test_every_convolution_is_as_smooth_as_is_claimed():
    after_first = BASE_WIDTH * math.hypot(1, 128)
    assert BASE_WIDTH / 128 == 8
    assert after_first / LARGEST_STEP > 8
    for so_far, step in ((BASE_WIDTH, 128), (after_first, LARGEST_STEP)):
        assert so_far * BASE_WIDTH / math.hypot(so_far, step * BASE_WIDTH) > 7.9


@given(st.floats(width_of(SMALLEST_STEP), width_of(LARGEST_STEP)))
def test_a_step_gives_at_least_the_width_asked_and_little_more(width):
    step = step_for(width)
    assert width <= width_of(step) <= width * (1 + 2.0**-13)
    assert SMALLEST_STEP <= step <= LARGEST_STEP + 1


def test_two_grids_leave_no_gap_between_the_widths():
    assert 2 * width_of(SMALLEST_STEP) <= width_of(LARGEST_STEP) * (1 + 2.0**-13)


# --- spherical Laplace


@pytest.mark.parametrize(("size", "rate", "radius"), [(2, 0.1, 300), (3, 0.25, 70)])
def test_the_spherical_laplace_has_its_mass_function(size, rate, radius):
    rng = RandomSource.from_seed(8)
    draws = np.array([spherical_laplace(size, rate, rng) for _ in range(1500)])
    norms = lattice_norms(size, radius)
    weight = np.exp(-rate * norms)
    edges = np.array([0, 0.9, 1.6, 2.6, 4, 6, 9, 12, 16, 20, 26, 32, 40, 50, 60, 1e9])
    mass = np.histogram(norms, edges, weights=weight / weight.sum())[0]
    shells = np.digitize(np.linalg.norm(draws, axis=1), edges) - 1
    assert_same_law(shells, np.arange(len(mass)), mass)
    signs = (draws[np.all(draws != 0, axis=1)] > 0) @ (2 ** np.arange(size))
    assert stats.chisquare(np.bincount(signs, minlength=2**size)).pvalue > FALSE_ALARM


@pytest.mark.parametrize(("size", "count"), [(1, 1000), (2, 800), (5, 800), (400, 200)])
def test_the_radius_is_gamma_distributed(size, count):
    rng, rate = RandomSource.from_seed(9), 2.0**-31
    radii = [np.linalg.norm(rate * spherical_laplace(size, rate, rng)) for _ in range(count)]
    assert stats.kstest(radii, stats.gamma(size).cdf).pvalue > FALSE_ALARM


@pytest.mark.parametrize("size", [2, 3, 4, 41])
def test_the_mixing_variance_is_gamma_distributed(size):
    rng, rate = RandomSource.from_seed(10), 2.0**-20
    drawn = [float(mixing_variance(size, rate, rng)) for _ in range(1000)]
    law = stats.gamma((size + 1) / 2, scale=2 / rate**2)
    assert stats.kstest(drawn, law.cdf).pvalue > FALSE_ALARM


def test_exponentials_agree_with_the_sum_of_logarithms():
    from skdp.mechanisms.spherical_noise import _exponentials, _uniforms

    uniforms = _uniforms(50, RandomSource.from_seed(11))
    with mpmath.workprec(600):
        expected = -mpmath.fsum(mpmath.log(mpmath.ldexp(u, -385)) for u in uniforms)
        assert abs(_exponentials(uniforms) / expected - 1) < mpmath.mpf(2) ** -270


@pytest.mark.parametrize(("size", "rate", "radius"), [(2, 1.0, 60), (2, 0.5, 100), (3, 1.0, 40)])
def test_the_theta_factor_is_bounded(size, rate, radius):
    """Lattice sum over integral is the mean of theta^size, computed here by brute force."""
    lattice = np.exp(-rate * lattice_norms(size, radius)).sum()
    integral = {2: 2 * math.pi / rate**2, 3: 8 * math.pi / rate**3}[size]
    excess = lattice / integral - 1
    assert 0 < excess < spherical_total_variation(size, rate) < 20 * excess


def test_the_total_variation_of_the_mixture_is_bounded():
    """The law that is drawn, by quadrature over the variance, against exp(-a ||z||)."""
    rate, radius = 1.0, 40
    grid = np.arange(-radius, radius + 1)
    square = (grid[:, None] ** 2 + grid**2).astype(float)
    log_v = np.linspace(-9, 5, 400)
    v = np.exp(log_v)
    density = stats.gamma(1.5, scale=2 / rate**2).pdf(v) * v
    drawn = np.zeros_like(square)
    for variance, weight in zip(v, density / density.sum(), strict=True):
        drawn += weight * np.outer(*[gaussian_mass(variance, grid)] * 2)
    ideal = np.exp(-rate * np.sqrt(square))
    distance = np.abs(drawn - ideal / ideal.sum()).sum() / 2
    assert 1e-3 < distance < spherical_total_variation(2, rate)


def test_coarse_lattices_are_charged_and_fine_ones_cost_next_to_nothing():
    assert spherical_total_variation(2, 10.0) == 1.0
    assert spherical_total_variation(2, 2.0**-36) < 2.0**-111
    assert spherical_total_variation(3, 2.0**-30) < 2.0**-123
    assert spherical_total_variation(10**6, 2.0**-30) < 2.0**-150


@pytest.mark.parametrize("rate", [2.0**-51, 2.0**11, math.nan])
def test_a_spherical_rate_out_of_range_is_refused(rate):
    with pytest.raises(ValueError, match="rate must be"):
        spherical_laplace(2, rate, RandomSource.from_system())


@pytest.mark.parametrize("size", [2, 10, 700, 10**5, 10**7])
def test_the_smallest_rate_keeps_every_coordinate_in_58_bits(size):
    """Chernoff's bound, minimised over y, on the probability that a coordinate exceeds 2^58."""
    y = np.linspace(1e-4, 0.999, 5000)
    exponent = -smallest_rate(size) * 2.0**58 * y - (size + 1) / 2 * np.log1p(-(y**2))
    assert exponent.min() + math.log(2 * size) < -128 * math.log(2)

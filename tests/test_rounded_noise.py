"""Compiled normal noise makes of the same words the very numbers that exact code makes."""

import mpmath
import numpy as np
import pytest
from scipy.special import ndtri

from skdp._random import RandomSource
from skdp.mechanisms.continuous import signed_uniforms_of
from skdp.mechanisms.rounded_gaussian import RoundedGaussian
from skdp.training import rounded_kernels, rounded_noise
from skdp.training.rounded_noise import Beginning, rounded_normals
from tests.support.small_words import SmallFirst

#: Widths at both ends and between; the narrowest is 2^20, the widest just below 2^21.
STDS = (1.0, np.nextafter(2.0, 1.0), 3.0, 0.3018718224668168)
N = 50_000


def words_of(n, seed=0):
    """Words of the numbers that are drawn, without those that are there for zeros."""
    rng, block, spare = RandomSource.from_seed(seed), rounded_noise._BLOCK, rounded_noise._SPARE
    sizes = [min(block, n - start) for start in range(0, n, block)]
    return np.concatenate([rng.words(size + spare)[:size] for size in sizes])


def drawn(noise_std, n=N, seed=0):
    found = np.empty(n)
    rounded_normals(noise_std, found, RandomSource.from_seed(seed))
    return found


def exactly(noise_std, words):
    negative, tails = signed_uniforms_of(words, RandomSource.from_seed(9))
    magnitudes = RoundedGaussian(noise_std).magnitudes(tails, RandomSource.from_seed(9))
    return np.where(negative, -magnitudes, magnitudes)


@pytest.mark.parametrize("noise_std", STDS)
def test_of_the_same_words_the_same_numbers(noise_std):
    """But for those whose first bits are zero: they take other words."""
    words = words_of(N)
    whole = (words >> np.uint64(52)) % np.uint64(2**11) != 0
    found = drawn(noise_std)
    assert np.array_equal(found[whole], exactly(noise_std, words)[whole])
    assert (abs(found[~whole]) > 3 * RoundedGaussian(noise_std).width).all()  # U < 2^-11
    assert (~whole).sum() > 9


@pytest.mark.parametrize("margin", [0.3, 0.5])
def test_what_is_left_to_exact_code_is_decided_there(margin, monkeypatch):
    monkeypatch.setattr(rounded_kernels, "_MARGIN", margin)
    for name in ("_fill", "_find_places", "_evaluate", "_round", "_exponent", "_is_decided"):
        monkeypatch.setattr(rounded_kernels, name, getattr(rounded_kernels, name).py_func)
    few = drawn(3.0, 3000)
    monkeypatch.undo()
    words = words_of(3000)
    whole = (words >> np.uint64(52)) % np.uint64(2**11) != 0
    assert np.array_equal(few[whole], drawn(3.0, 3000)[whole])


@pytest.mark.parametrize("zeros", [1, 4, 7])
def test_tails_are_what_exact_code_makes_of_smaller_uniforms(zeros):
    found = np.empty(N)
    rounded_normals(3.0, found, RandomSource.from_seed(0), zeros=zeros)
    words = words_of(N)
    whole = (words >> np.uint64(52)) % np.uint64(2**11) != 0
    negative, tails = signed_uniforms_of(words, RandomSource.from_seed(9))
    exact = RoundedGaussian(3.0).magnitudes(0.5**zeros * tails, RandomSource.from_seed(9))
    assert np.array_equal(found[whole], np.where(negative, -exact, exact)[whole])
    least = RoundedGaussian(3.0).width * -ndtri(0.5**zeros / 2)
    assert (abs(found) >= least - 1).all()


def test_words_begin_as_they_are_told_to():
    beginning = Beginning(0b1011 << 60, 0b0010 << 60)
    words = beginning.words(1000, RandomSource.from_seed(0))
    top = words >> np.uint64(60)
    assert set(top.tolist()) == {0b0010, 0b0110}
    rest = np.uint64(2**60 - 1)
    assert np.array_equal(words & rest, RandomSource.from_seed(0).words(1000) & rest)
    found = np.empty(1000)
    rounded_normals(3.0, found, RandomSource.from_seed(0), beginning)
    assert np.array_equal(found, exactly(3.0, words))


def test_without_a_compiler_the_numbers_are_those_of_the_law(monkeypatch):
    monkeypatch.setattr(rounded_noise, "compiled_kernels", lambda: None)
    expected = RoundedGaussian(3.0).integers(1000, RandomSource.from_seed(4))
    assert np.array_equal(drawn(3.0, 1000, seed=4), expected)


def test_few_numbers_and_none():
    assert drawn(3.0, 0).size == 0
    assert np.array_equal(drawn(3.0, 5), drawn(3.0, 5))


def test_polynomials_are_as_good_as_is_claimed():
    """At both ends of each and at a random place between, beside 40 digits."""
    rng = np.random.default_rng(0)
    rows, cells = rounded_kernels._POLYNOMIALS, int(rounded_kernels._CELLS)
    for row, coefficients in enumerate(rows):
        z, cell = divmod(row, cells)
        for x in (-1.0, 1.0, rng.uniform(-1, 1)):
            found = float(np.polynomial.polynomial.polyval(x, coefficients))
            with mpmath.workdps(40):
                u = mpmath.mpf(2) ** -(z + 1) * (1 + (cell + (mpmath.mpf(x) + 1) / 2) / cells)
                # -ndtri(u / 2) is found where it is iff the tail beyond differs by so little.
                tail = mpmath.erfc(mpmath.mpf(found) / mpmath.sqrt(2))
                density = mpmath.sqrt(2 / mpmath.pi) * mpmath.exp(-(mpmath.mpf(found) ** 2) / 2)
                assert abs(tail - u) / density < 2.0**-45


def test_the_margin_is_larger_than_all_errors_together():
    widest = 2.0**21
    largest = -ndtri(2.0 ** -(len(rounded_kernels._POLYNOMIALS) // 32 + 1))
    rounding = 2 * (widest * largest) * 2.0**-53 * 8  # of at most eight operations
    assert widest * 2.0**-45 + rounding < rounded_kernels._MARGIN / 3
    # The law itself leaves undecided what exact code decides by its own, smaller margin.
    assert widest * (largest * 2.0**-44 + 2.0**-48) < rounded_kernels._MARGIN


@pytest.mark.parametrize("zeros", [0, 7])
@pytest.mark.parametrize("sign", [0, 1])
def test_a_word_whose_exponent_is_zero_takes_the_next_spare_one(zeros, sign):
    """Its magnitude is that of 2^-11 times the uniform of the other; what is left says so."""
    law, mantissa = RoundedGaussian(3.0), 0x8_1234_5678_9ABC
    small = np.uint64((sign << 63) | 77)
    spare = [(5 << 52) | mantissa, mantissa, (2047 << 52) | (1 << 63) | 99]
    words = np.array([small, small, (1 << 62) | 5, small, small, *spare], dtype=np.uint64)
    found = np.zeros(5)
    places, sources = rounded_kernels.fill(found, words, law.width, zeros)
    # Another zero, and none left.
    assert (places.tolist(), sources.tolist()) == ([1, 4], [6, 4])
    _, tails = signed_uniforms_of(words[[5, 7]], RandomSource.from_seed(0))
    magnitudes = law.magnitudes(0.5 ** (zeros + 11) * tails, RandomSource.from_seed(0))
    assert found[[0, 3]].tolist() == (magnitudes * (-1) ** sign).tolist()


def test_where_no_spare_word_is_left_exact_code_takes_over(monkeypatch):
    """All exponents are 0, and then those of what is drawn instead are not."""

    found = np.empty(300)
    rounded_normals(3.0, found, SmallFirst(), zeros=3)
    words = SmallFirst().words(300)
    tails = 0.5 ** np.where(np.arange(300) < 16, 25, 14)
    assert (np.sign(found) == np.where(words >> np.uint64(63), -1, 1)).all()
    assert (abs(found) > -ndtri(tails / 2) * RoundedGaussian(3.0).width - 1).all()

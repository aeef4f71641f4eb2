"""Compiled exponential and Laplace noise beside 40 digits, and which words are used."""

import mpmath
import numpy as np
import pytest
from scipy import stats

from skdp._random import RandomSource
from skdp.embedding import strata
from skdp.embedding.strata import Exponentials, Laplaces
from tests.support.small_words import SmallFirst

pytest.importorskip("numba", exc_type=ImportError)

from skdp.embedding.exponential_kernels import fill

EXPONENTS, ONES = 2**11 - 1, 2**52 - 1


def number(word, zeros, ended, race):
    """-log U, or -log(1 - U / 2), and how many zeros U begins with at least, to 40 digits."""
    exponent = 0 if ended else 11 - (int(word) >> 52 & EXPONENTS).bit_length()
    with mpmath.workdps(40):
        uniform = mpmath.mpf(2) ** -(zeros + exponent + 1) * (
            1 + mpmath.mpf(int(word) & ONES) / 2**52
        )
        return -mpmath.log(1 - uniform / 2) if race else -mpmath.log(uniform)


def off(found, expected):
    with mpmath.workdps(40):
        return max(
            abs(one / other - 1) for one, other in zip(found.tolist(), expected, strict=True)
        )


@pytest.mark.parametrize("race", [True, False], ids=["race", "laplace"])
@pytest.mark.parametrize("ended", [True, False])
@pytest.mark.parametrize("zeros", range(1, 8))
def test_numbers_are_off_by_less_than_is_claimed(race, ended, zeros):
    words = RandomSource.from_seed(zeros).words(400).copy()
    top = 2047 << 52
    words[:4] = [top, top | ONES, 1 << 52, (1 << 52) | ONES]  # the ends of the range
    words = words[(words >> np.uint64(52)) & np.uint64(EXPONENTS) != 0]
    found = np.empty(len(words))
    assert fill(found, words, zeros, ended, race)[0].size == 0
    assert off(found, [number(word, zeros, ended, race) for word in words]) < 2.0**-49


@pytest.mark.parametrize("race", [True, False], ids=["race", "laplace"])
def test_an_exponent_of_zero_takes_the_next_spare_word(race):
    small, spare = 77, [(5 << 52) | 123, 9, (2047 << 52) | (1 << 63) | 99, 1 << 51]
    words = np.array([small, (1 << 62) | 5, small, small, small, *spare], dtype=np.uint64)
    found = np.empty(5)
    places, known = fill(found, words, 3, False, race)
    assert (places.tolist(), known.tolist()) == ([3, 4], [3 + 22, 3 + 11])
    expected = [number(spare[0], 14, False, race), number(words[1], 3, False, race),
                number(spare[2], 25, False, race)]  # fmt: skip
    assert off(found[:3], expected) < 2.0**-49


@pytest.mark.parametrize("law", [Exponentials(4), Laplaces(4)])
def test_where_no_spare_word_is_left_uniforms_take_over(law):
    found = np.empty(300)
    law.draw(0, found, SmallFirst())
    uniforms = -2 * np.expm1(-found) if isinstance(law, Exponentials) else np.exp(-found)
    assert 0 < uniforms[0] < 2.0 ** -(4 + 16 * 11 + 11)  # It took all spare words.
    assert 2.0**-50 < uniforms[1:].min() < uniforms[1:].max() < 2.0 ** -(4 + 11)


@pytest.mark.parametrize("law", [Exponentials(3), Laplaces(3)])
def test_without_a_compiler_the_numbers_are_of_the_same_law(law, monkeypatch):
    """False alarms: 1e-7 each."""
    compiled, plain = np.empty(20_000), np.empty(20_000)
    law.draw(0, compiled, RandomSource.from_system())
    monkeypatch.setattr(strata, "_compiled_kernels", lambda: None)
    law.draw(0, plain, RandomSource.from_system())
    assert stats.ks_2samp(compiled, plain).pvalue > 1e-7

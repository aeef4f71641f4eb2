"""Integer noise with a stated total variation to its ideal law.

Every sampler here draws whole numbers with as many exact coins as it takes. What is left of the
ideal law is a number: the *total variation* that finite precision costs. A mechanism that uses a
sampler whose ideal law is epsilon-DP is then (epsilon, (1 + e^epsilon) total variation)-DP.
Loops that reject depend on the noise alone, never on a statistic.
"""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from skdp._random import RandomSource
from skdp.mechanisms.lazy_bernoulli import bernoulli, exact_arithmetic

__all__ = [
    "GAUSSIAN_TOTAL_VARIATION",
    "LAPLACE_SMALLEST_RATE",
    "LAPLACE_TOTAL_VARIATION",
    "discrete_gaussian",
    "discrete_laplace",
    "in_blocks",
]

Integers = npt.NDArray[np.int64]

LAPLACE_TOTAL_VARIATION = 2.0**-126
"""Total variation of one `discrete_laplace` draw."""

LAPLACE_SMALLEST_RATE = 2.0**-56
"""Smallest rate of `discrete_laplace`: below, the numbers would not fit into 63 bits."""

GAUSSIAN_TOTAL_VARIATION = 2.0**-240
"""Total variation of one `discrete_gaussian` draw."""

_HALF = np.uint64(2**63)
_NEGLIGIBLE_EXPONENT = 128 * math.log(2)
_WORDS_AT_ONCE = 2**17
_GAUSSIAN_ACCEPTANCE = 0.75


def discrete_laplace(n: int, rate: float, rng: RandomSource) -> Integers:
    """Draw `n` integers with P(z) = tanh(a/2) exp(-a |z|), a the rate.

    The magnitude is geometric, and the binary digits of a geometric are independent: digit i is
    1 with odds exp(-a 2^i). Each is a lazily exact coin. The sign is a fair coin; minus zero is
    rejected, so that zero is not counted twice.

    Parameters
    ----------
    n : int
        How many.
    rate : float
        The a of the formula, at least 2^-56. Its double is taken as an exact number.
    rng : RandomSource
        Where the bits come from.

    Returns
    -------
    ndarray of int64 of shape (n,)

    Raises
    ------
    ValueError
        If the rate is below 2^-56 or not finite.

    Notes
    -----
    Digits from the first i with a 2^i >= 128 log 2 on are left out. The result is the ideal law
    given |z| < 2^i, so this costs 2 exp(-a 2^i) / (1 + e^-a) <= 2^-127; the coins cost 2^-240.
    The probability of a digit is 1 / (1 + exp(x)) with x = a 2^i exact in double precision, so
    its relative error is a few units of 2^-53, well below what the coins allow.

    References
    ----------
    Canonne, Kamath and Steinke (2020), The discrete Gaussian for differential privacy, Alg. 2,
    whose geometric is drawn here digit by digit.

    Examples
    --------
    >>> from skdp._random import RandomSource
    >>> discrete_laplace(4, 2.0**-20, RandomSource.from_system()).dtype
    dtype('int64')
    """
    if not LAPLACE_SMALLEST_RATE <= rate < math.inf:
        raise ValueError(f"rate must be finite and at least 2^-56, got {rate!r}.")
    digits = _digits(rate)
    acceptance = (1 + math.exp(-rate)) / 2

    def kept(m: int) -> Integers:
        magnitude = _geometric(m, rate, digits, rng)
        negative = rng.words(m) >= _HALF
        signed = np.where(negative, -magnitude, magnitude)
        return np.extract(~negative | (magnitude > 0), signed)

    block = max(1, _WORDS_AT_ONCE // (digits + 1))
    return in_blocks(n, block, lambda m: _accepted(m, acceptance, kept))


def discrete_gaussian(n: int, variance: Fraction, rng: RandomSource) -> Integers:
    """Draw `n` integers with P(z) proportional to exp(-z^2 / (2 variance)).

    Rejection from the discrete Laplace of rate a: a proposal y is kept with probability
    exp(-(|y| - a variance)^2 / (2 variance)), about three times in four.

    Parameters
    ----------
    n : int
        How many.
    variance : Fraction
        Any rational with a square root between 2^-100 and 2^56.
    rng : RandomSource
        Where the bits come from.

    Returns
    -------
    ndarray of int64 of shape (n,)

    Notes
    -----
    Canonne, Kamath and Steinke take a = 1 / (floor(sigma) + 1) for the sake of their exact coins.
    Ours take any exponent, so a is the double nearest to 1 / sigma.
    Exponents above 45 meet the absolute allowance of the coins. Below, | |y| - a variance | is
    at most 9.5 sigma and known to within 22 sigma 2^-53 (rounding of y, of a variance and of
    their difference), so the exponent is known to within (9.5 * 22 + 3 * 45) 2^-53 < 2^-44.5.
    The total variation of a draw is the coins' alone: 2^-240 covers all digits of all proposals
    (what the proposals leave out lies 88 standard deviations away).

    References
    ----------
    Canonne, Kamath and Steinke (2020), The discrete Gaussian for differential privacy, Alg. 3.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from skdp._random import RandomSource
    >>> z = discrete_gaussian(2000, Fraction(25, 4), RandomSource.from_seed(0))
    >>> 2.2 < z.std() < 2.8
    np.True_
    """
    rate = 1 / math.sqrt(variance)
    shift = Fraction(rate) * variance
    centre, curvature = float(shift), float(1 / (2 * variance))

    def kept(m: int) -> Integers:
        proposal = discrete_laplace(m, rate, rng)

        def exact(index: int) -> object:
            exponent = (abs(int(proposal[index])) - shift) ** 2 / (2 * variance)
            real = exact_arithmetic()
            return real.exp(-real.mpf(exponent.numerator) / exponent.denominator)

        gap = np.abs(proposal) - centre
        return proposal[bernoulli(np.exp(-gap * gap * curvature), (m,), rng, exact)]

    block = max(1, _WORDS_AT_ONCE // (_digits(rate) + 1))
    return in_blocks(n, block, lambda m: _accepted(m, _GAUSSIAN_ACCEPTANCE, kept))


def in_blocks(n: int, block: int, sampler: Callable[[int], Integers]) -> Integers:
    """Concatenate `sampler(m)` over blocks of at most `block`, so that buffers stay in cache."""
    if n <= block:
        return sampler(n)
    return np.concatenate([sampler(min(block, n - start)) for start in range(0, n, block)])


def _accepted(n: int, acceptance: float, sampler: Callable[[int], Integers]) -> Integers:
    """The first `n` of independent draws of which `sampler` keeps that fraction."""
    found = sampler(_attempts(n, acceptance))
    while found.size < n:
        found = np.concatenate([found, sampler(_attempts(n - found.size, acceptance))])
    return found[:n]


def _attempts(n: int, acceptance: float) -> int:
    """Enough attempts to succeed nearly always at the first round."""
    expected = n / acceptance
    return math.ceil(expected + 4 * math.sqrt(expected * (1 - acceptance))) + 1


def _digits(rate: float) -> int:
    """Number of binary digits of a geometric that are not negligible."""
    return max(0, math.ceil(math.log2(_NEGLIGIBLE_EXPONENT) - math.log2(rate) + 1e-9))


def _geometric(n: int, rate: float, digits: int, rng: RandomSource) -> Integers:
    odds_exponent = np.ldexp(rate, np.arange(digits))

    def exact(index: int) -> object:
        real = exact_arithmetic()
        return 1 / (1 + real.exp(real.mpf(odds_exponent[index % digits])))

    bits = bernoulli(expit(-odds_exponent), (n, digits), rng, exact)
    octets = np.zeros((n, 8), dtype=np.uint8)
    octets[:, : -(-digits // 8)] = np.packbits(bits, axis=1, bitorder="little")
    return octets.view("<i8")[:, 0].astype(np.int64, copy=False)

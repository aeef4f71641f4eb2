"""The Gaussian and the pure curve, against arithmetic of many digits."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import exp as mp_exp
from mpmath import mp, mpf
from mpmath import ncdf as mp_normal

from skdp.privacy.gaussian_curve import gaussian_delta, gaussian_epsilon, gaussian_mu
from skdp.privacy.pure_curve import pure_delta, pure_epsilon

MUS = st.floats(-6, 2.5).map(lambda x: 10.0**x)
EPSILONS = st.floats(-9, 3).map(lambda x: 10.0**x)
DELTAS = st.floats(-290, -0.001).map(lambda x: 10.0**x)


def reference(mu, epsilon):
    with mp.workdps(60):
        m, e = mpf(mu), mpf(epsilon)
        return mp_normal(m / 2 - e / m) - mp_exp(e) * mp_normal(-m / 2 - e / m)


@settings(deadline=None, max_examples=300)
@given(MUS, st.floats(0, 30), st.booleans())
def test_gaussian_delta_is_the_formula_rounded_upwards(mu, position, relative):
    epsilon = mu * position if relative else position
    exact = reference(mu, epsilon)
    value = gaussian_delta(mu, epsilon)
    assert value >= exact
    if exact > 1e-150:
        assert value <= exact * (1 + mpf(1e-7))


def test_gaussian_delta_at_negative_epsilon_is_the_formula():
    for epsilon in (-0.01, -0.5, -3.0):
        assert gaussian_delta(0.7, epsilon) == pytest.approx(float(reference(0.7, epsilon)))


@settings(deadline=None, max_examples=200)
@given(MUS, DELTAS)
def test_epsilon_is_the_least_that_keeps_delta(mu, delta):
    epsilon = gaussian_epsilon(mu, delta)
    assert gaussian_delta(mu, epsilon) <= delta
    if epsilon > 0:
        assert gaussian_delta(mu, epsilon * (1 - 1e-6)) > delta


@settings(deadline=None, max_examples=200)
@given(EPSILONS, DELTAS)
def test_mu_is_the_greatest_that_keeps_delta(epsilon, delta):
    mu = gaussian_mu(epsilon, delta)
    assert gaussian_delta(mu, epsilon) <= delta
    assert gaussian_delta(mu * (1 + 1e-5), epsilon) > delta


@pytest.mark.parametrize("mu", [1e-300, 1e-10, 1.0, 1e10, 1e149, 1e200])
@pytest.mark.parametrize("delta", [5e-324, 1e-300, 0.5, 1 - 1e-16])
def test_extreme_arguments_give_a_sound_epsilon(mu, delta):
    epsilon = gaussian_epsilon(mu, delta)
    assert epsilon == math.inf or gaussian_delta(mu, epsilon) <= delta


def test_no_epsilon_is_proved_at_delta_zero():
    assert gaussian_epsilon(1.0, 0.0) == math.inf
    assert gaussian_delta(1.0, math.inf) < 1e-300


def test_the_multiplier_of_epsilon_one_is_the_published_one():
    assert 1 / gaussian_mu(1.0, 1e-6) == pytest.approx(4.2247, abs=5e-5)
    assert gaussian_epsilon(1 / 4.2247, 1e-6) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("arguments", [(-1.0, 0.1), (1.0, 0.0), (1.0, 1.0), (math.inf, 0.1)])
def test_gaussian_mu_refuses_what_has_no_answer(arguments):
    with pytest.raises(ValueError, match=r"epsilon|delta"):
        gaussian_mu(*arguments)


@pytest.mark.parametrize("mu", [0.0, -1.0, math.nan, math.inf])
def test_a_multiplier_that_is_no_positive_number_is_refused(mu):
    with pytest.raises(ValueError, match="mu"):
        gaussian_delta(mu, 1.0)


def test_a_delta_outside_the_unit_interval_is_refused():
    for delta in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match="delta"):
            gaussian_epsilon(1.0, delta)


@settings(deadline=None)
@given(st.floats(1e-9, 45), st.floats(0, 1.2))
def test_pure_delta_is_the_hockey_stick_of_randomised_response(guarantee, fraction):
    epsilon = guarantee * fraction
    with mp.workdps(50):
        e0, e = mp_exp(mpf(guarantee)), mp_exp(mpf(epsilon))
        p, q = e0 / (1 + e0), 1 / (1 + e0)
        exact = max(p - e * q, mpf(0)) + max(q - e * p, mpf(0))
    value = pure_delta(guarantee, epsilon)
    assert value >= exact * (1 - mpf(1e-15)) - mpf(1e-40)  # digits of the reference
    assert value <= exact * (1 + mpf(1e-7)) + mpf(1e-15)


@settings(deadline=None)
@given(st.floats(1e-6, 45), st.floats(0, 1))
def test_pure_epsilon_inverts_pure_delta(guarantee, delta):
    epsilon = pure_epsilon(guarantee, delta)
    assert 0 <= epsilon <= guarantee
    assert pure_delta(guarantee, epsilon) <= delta * (1 + 1e-12) + 1e-300
    if epsilon > 0:
        assert pure_delta(guarantee, max(epsilon - 1e-9 * (1 + guarantee), 0)) >= delta * (1 - 1e-9)


def test_a_pure_guarantee_stays_what_it_is_without_delta():
    for guarantee in np.geomspace(1e-3, 40, 7):
        assert pure_epsilon(guarantee, 0.0) == guarantee
        assert pure_delta(guarantee, guarantee) == 0.0

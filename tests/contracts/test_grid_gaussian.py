"""Gaussian noise of a given size on values that lie on the grid.

Statistical tests run on fixed seeds and allow p = 1e-6 or five standard errors.
"""

import math
import pickle
import time

import dp_accounting
import numpy as np
import pytest
from scipy import stats

from skdp._random import RandomSource
from skdp.mechanisms import GridGaussianMechanism
from skdp.privacy.budget import Neighbours, Sensitivity
from skdp.privacy.gaussian_curve import gaussian_delta
from tests.support.gaussian_events import proved_delta

FALSE_ALARM = 1e-6
UNIT = Sensitivity(1.0, "l2", Neighbours.ZERO_OUT)


def make(size=3, noise_std=2.0):
    return GridGaussianMechanism(UNIT, size, noise_std=noise_std)


def test_an_instance_is_a_public_frozen_value():
    mechanism = make()
    assert make() == mechanism
    assert hash(make()) == hash(mechanism)
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism
    assert "Guarantees\n    ----------" in type(mechanism).__doc__
    assert "(2018)" in mechanism.theorem


@pytest.mark.parametrize("noise_std", [0.0, -1.0, math.nan, math.inf])
def test_noise_of_no_size_is_refused(noise_std):
    with pytest.raises(ValueError, match="noise_std"):
        make(noise_std=noise_std)


def test_a_sensitivity_in_another_norm_and_a_wrong_size_are_refused():
    with pytest.raises(ValueError, match="l2 norm"):
        GridGaussianMechanism(Sensitivity(1.0, "l1", Neighbours.ZERO_OUT), 3, noise_std=1.0)
    with pytest.raises(ValueError, match="3 elements"):
        make().release(np.zeros(4), RandomSource.from_seed(0))


@pytest.mark.parametrize("noise_std", [1e-200, 0.3, 1.0, 7.7, 1e200])
def test_released_values_lie_on_a_grid_finer_than_the_noise(noise_std):
    mechanism = make(1000, noise_std)
    assert math.frexp(mechanism.grid)[0] == 0.5
    assert noise_std * 2.0**-21 <= mechanism.grid <= noise_std * 2.0**-20
    value = np.arange(1000.0).reshape(10, 100) * mechanism.grid
    released = mechanism.release(value, RandomSource.from_seed(1))
    integers = released / mechanism.grid
    assert released.shape == (10, 100)
    assert np.array_equal(integers, np.rint(integers))
    noise = mechanism.release(np.zeros(1000), RandomSource.from_seed(1))
    assert np.array_equal(released.ravel() - noise, value.ravel())


def test_the_noise_is_normal_with_the_standard_deviation_asked_for():
    mechanism = make(40_000, 3.0)
    noise = mechanism.release(np.zeros(40_000), RandomSource.from_seed(2))
    assert stats.kstest(noise / 3.0, "norm").pvalue > FALSE_ALARM
    assert abs(noise.std() / 3.0 - 1) < 5 / math.sqrt(2 * noise.size)
    assert abs(np.corrcoef(noise[1:], noise[:-1])[0, 1]) < 5 / math.sqrt(noise.size)
    assert (mechanism.noise_scale, mechanism.standard_deviation) == (3.0, 3.0)
    # The mean norm is sigma sqrt(d) (1 - 1/(4 d)) and on, d = 40,000.
    assert mechanism.expected_norm == pytest.approx(3.0 * 200, rel=1e-4)


def test_extreme_values_neither_warn_nor_raise():
    value = np.array([math.inf, -math.inf, math.nan, 1e300, 5e-324])
    with np.errstate(all="raise"):
        released = make(5).release(value, RandomSource.from_seed(3))
    assert np.all(np.isfinite(released))
    assert np.sign(released[[0, 1, 3]]).tolist() == [1, -1, 1]
    assert abs(released[2]) < 30


@pytest.mark.parametrize(("size", "noise_std"), [(1, 1.0), (10**8, 0.3), (10**8, 50.0)])
def test_the_event_is_a_gaussian_of_just_this_size(size, noise_std):
    event = make(size, noise_std).event
    assert (event.sensitivity, event.noise_std) == (1.0, noise_std)
    assert event.norm.value == "l2"
    assert event.neighbours is Neighbours.ZERO_OUT
    assert event.delta < 1e-20
    for at in (0.0, 1.0, 20.0):
        run = proved_delta(1 / noise_std, size * 2.0**-180, at)
        assert run <= (gaussian_delta(1 / noise_std, at) + event.delta) * (1 + 1e-3)


def test_noise_too_small_for_a_gaussian_event_is_called_not_private():
    assert isinstance(make(noise_std=1e-3).event, dp_accounting.NonPrivateDpEvent)


def test_a_hundred_coordinates_take_less_than_a_fifth_of_a_millisecond():
    mechanism, rng, value = make(100), RandomSource.from_system(), np.zeros(100)

    def seconds():
        start = time.perf_counter()
        mechanism.release(value, rng)
        return time.perf_counter() - start

    assert min(seconds() for _ in range(100)) < 2e-4

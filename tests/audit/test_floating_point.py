"""Attacks on the low-order bits of released weights.

Floating-point noise x + b log(u) can take some doubles and not others, depending on x (Mironov
2012); the spacing of the doubles that a sum can take tells x as well, even with perfect noise
(Haney et al. 2022). Both are seen as lattices: which share of the outputs are multiples of a power
of two.
"""

import math
from unittest import mock

import numpy as np
import pytest

from skdp.audit.floating_point import differences_between_lattices, share_on
from skdp.mechanisms import Mechanism
from tests.support.attack import Attack, values_of
from tests.support.neighbours import CASES, recorded
from tests.support.worst_pairs import ALPHA

NOISES = [("laplace", 0.0), ("l2_laplace", 0.0), ("gaussian", 1e-6)]
DRAWS = 1200


def empty_or_one_record():
    """On D the minimiser is 0; on D' it is about a third of a sensitivity, with all its bits."""
    X, y = np.zeros((10, 1)), np.array([0, 1] * 5)
    X_other = X.copy()
    X_other[0] = 0.7
    return (X, y), (X_other, y)


def sampled(noise, delta):
    """Return the mechanism, the exact value on D', and outputs near 0 on D and D'."""
    case = CASES["huber_hinge"]
    given = {"alpha": ALPHA, "l1_ratio": 0.0, "fit_intercept": False, "epsilon": 3.0}
    mechanism, first, second = values_of(
        case.make(noise=noise, delta=delta, **given), *empty_or_one_record()
    )
    assert first == 0
    assert second != 0
    pair = Attack(mechanism, first, second, None, 0.0).sample(DRAWS)
    near = [outputs[np.abs(outputs) <= abs(second[0]) / 2] for outputs in pair]
    return mechanism, second[0], near


def telling_spacings(mechanism, value, near):
    """Spacings whose lattice tells outputs near 0 of D from those of D'."""
    spacings = [*(mechanism.grid * 2.0**k for k in range(4)), np.spacing(abs(value))]
    return differences_between_lattices(spacings, *near)


@pytest.mark.parametrize(("noise", "delta"), NOISES)
@pytest.mark.parametrize("name", CASES)
def test_released_weights_lie_on_the_grid_of_their_mechanism(name, noise, delta):
    rng, case = np.random.default_rng(0), CASES[name]
    data = rng.normal(size=(12, 3)), np.resize(case.labels, 12)
    for _ in range(3):
        model = case.make(noise=noise, delta=delta)
        mechanism, _ = recorded(model, data)
        weights = np.append(np.ravel(model.coef_), model.intercept_)
        assert math.frexp(mechanism.grid)[0] == 0.5  # a power of two
        assert share_on(mechanism.grid, weights) == 1
        assert np.abs(weights).max() < 2.0**53 * mechanism.grid  # so no bit was rounded away


@pytest.mark.parametrize(("noise", "delta"), NOISES)
def test_the_lattices_of_outputs_near_zero_do_not_tell_the_data_sets_apart(noise, delta):
    mechanism, value, near = sampled(noise, delta)
    assert min(len(outputs) for outputs in near) > 40
    assert [share_on(mechanism.grid, outputs) for outputs in near] == [1, 1]
    assert telling_spacings(mechanism, value, near) == []


def floating_point_noise(self, value, rng):
    """The textbook: a double of Laplace noise added to a double."""
    noise = rng.generator().laplace(scale=self.noise_scale, size=np.shape(value))
    return np.asarray(value) + noise


def noise_on_a_grid_around_an_unrounded_value(self, value, rng):
    return np.asarray(value) + RELEASE(self, np.zeros_like(value), rng)


RELEASE = Mechanism.release


@pytest.mark.parametrize(
    "release", [floating_point_noise, noise_on_a_grid_around_an_unrounded_value]
)
def test_planted_floating_point_noise_is_caught(release):
    with mock.patch.object(Mechanism, "release", release):
        mechanism, value, near = sampled("laplace", 0.0)
    assert min(share_on(mechanism.grid, outputs) for outputs in near) < 1
    assert telling_spacings(mechanism, value, near) != []

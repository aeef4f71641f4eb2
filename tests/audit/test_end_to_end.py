"""Audits of `fit` itself: what a user holds after fitting on D or on D', many times over."""

import numpy as np
import pytest

from tests.support.attack import NOISES, accuses, gain_for, likelihood_attack
from tests.support.neighbours import CASES
from tests.support.replay import fit_trace
from tests.support.worst_pairs import ALPHA, flipped_record

FITS = 5000


def released(model):
    """Return the fitted weights in the order in which the mechanism has them."""
    intercept = np.reshape(model.intercept_, (-1, 1))
    return np.hstack([np.atleast_2d(model.coef_), intercept]).ravel()


def estimator_for(name, noise, delta, **parameters):
    given = {"alpha": ALPHA, "l1_ratio": 0.0, "noise": noise, "delta": delta, **parameters}
    return CASES[name].make(**given)


@pytest.mark.parametrize(("noise", "delta"), NOISES)
@pytest.mark.parametrize("name", CASES)
def test_the_fitted_weights_are_the_one_release(name, noise, delta):
    """Which lets the other audits sample the release instead of the fit."""
    model, (data, _) = estimator_for(name, noise, delta), flipped_record(CASES[name])
    trace = fit_trace(model, data)
    (output,) = trace.outputs
    model.coef_, model.intercept_ = trace.attributes["coef_"], trace.attributes["intercept_"]
    assert np.array_equal(released(model), output.ravel())


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "delta"), NOISES)
@pytest.mark.parametrize("name", ["log_loss", "softmax", "huber"])
def test_fitting_thousands_of_times_shows_no_more_than_is_claimed(name, noise, delta):
    """With the intercept, at epsilon 1. One audit in 200 million fails by chance."""
    model, pair = estimator_for(name, noise, delta), flipped_record(CASES[name])
    attack = likelihood_attack(model, pair, draws=FITS, gain=gain_for(1.0, delta))
    outputs = [np.array([released(model.fit(*data)) for _ in range(FITS)]) for data in pair]
    assert not accuses(attack.counts(*outputs), 1.0, delta)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_fitting_thousands_of_times_comes_near_the_claim(epsilon):
    """One coefficient that moves by all of its sensitivity; six standard deviations of room."""
    model = estimator_for("huber_hinge", "l2_laplace", 0.0, fit_intercept=False, epsilon=epsilon)
    pair = flipped_record(CASES["huber_hinge"])
    attack = likelihood_attack(model, pair, draws=FITS, gain=lambda counts: counts.epsilon())
    outputs = [np.array([model.fit(*data).coef_.ravel() for _ in range(FITS)]) for data in pair]
    assert 0.3 * epsilon <= attack.counts(*outputs).epsilon() <= epsilon

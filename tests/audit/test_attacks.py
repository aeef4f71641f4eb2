"""Audits: what an attacker can show of epsilon and delta stays below what is claimed.

One audit of honest noise in 200 million fails by chance (`ERROR_RATE`). Lower limits on what is
shown, where theory says how near an attack comes, hold for a fixed seed.
"""

import pytest

from tests.support.attack import (
    NOISES,
    accuses,
    class_difference_attack,
    gain_for,
    likelihood_attack,
)
from tests.support.neighbours import CASES
from tests.support.worst_pairs import ALPHA, flipped_record


def planned(name, noise, epsilon, delta, *, draws, noise_share=1.0, direction=(1.0,), **parameters):
    case = CASES[name]
    given = {
        "alpha": ALPHA, "l1_ratio": 0.0, "noise": noise, "epsilon": epsilon, "delta": delta,
        "fit_intercept": False, **parameters,
    }  # fmt: skip
    return likelihood_attack(
        case.make(**given),
        flipped_record(case, direction),
        draws=draws,
        gain=gain_for(epsilon, delta),
        noise_share=noise_share,
    )


@pytest.mark.parametrize(("noise", "delta"), NOISES)
@pytest.mark.parametrize("name", CASES)
def test_no_attack_shows_more_than_is_claimed_unless_noise_is_missing(name, noise, delta):
    draws = 500
    share = 1 / 8 if name == "softmax" else 1 / 4  # whose bound is reached by 0.58 only
    attack = planned(name, noise, 1.0, delta, draws=draws)
    outputs, outputs_other = attack.sample(draws)
    assert not accuses(attack.counts(outputs, outputs_other), 1.0, delta)

    sharper = planned(name, noise, 1.0, delta, draws=draws, noise_share=share)
    less_noise = [
        value + share * (released - value)
        for value, released in ((attack.first, outputs), (attack.second, outputs_other))
    ]
    assert accuses(sharper.counts(*less_noise), 1.0, delta)


@pytest.mark.slow
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize(("noise", "delta"), NOISES)
@pytest.mark.parametrize("name", CASES)
def test_no_attack_with_many_draws_shows_more_than_is_claimed(
    name, noise, delta, epsilon, fit_intercept
):
    attack = planned(name, noise, epsilon, delta, draws=10_000, fit_intercept=fit_intercept)
    assert not accuses(attack.audit(10_000), epsilon, delta)


@pytest.mark.parametrize("noise", [pytest.param("laplace", marks=pytest.mark.slow), "l2_laplace"])
def test_an_attack_on_one_coefficient_comes_within_a_quarter_of_epsilon(noise):
    """One coordinate: the ratio is e^epsilon on half of the mass, so half the releases show it."""
    counts = planned("huber_hinge", noise, 1.0, 0.0, draws=10_000).audit(10_000, seed=0)
    assert 0.75 <= counts.epsilon() <= 1.0


def test_an_attack_on_gaussian_noise_comes_near_the_delta_claimed():
    """The best half-space attains the curve of Balle and Wang (2018)."""
    counts = planned("huber", "gaussian", 1.0, 0.3, draws=8000).audit(8000, seed=0)
    assert 0.65 * 0.3 <= counts.delta(1.0) <= 0.3


@pytest.mark.parametrize("noise", ["laplace", "l2_laplace"])
def test_a_budget_with_delta_buys_pure_noise_no_leave(noise):
    counts = planned("huber_hinge", noise, 1.0, 1e-6, draws=500).audit(500)
    assert counts.epsilon() <= 1.0


@pytest.mark.parametrize(("noise", "delta"), NOISES)
def test_differences_between_classes_are_noisy_too(noise, delta):
    case = CASES["softmax"]
    given = {"alpha": ALPHA, "l1_ratio": 0.0, "noise": noise, "delta": delta}
    attack = class_difference_attack(case.make(**given), flipped_record(case))
    assert not accuses(attack.audit(300), 1.0, delta)


@pytest.mark.parametrize(("noise", "delta"), NOISES)
def test_all_columns_and_the_intercept_together_show_no_more(noise, delta):
    """Sixteen columns, each moved alike: the worst case of an L1 sensitivity."""
    attack = planned(
        "huber_hinge", noise, 1.0, delta, draws=500,
        direction=[15**-0.5] * 15, intercept_scaling=15**-0.5, fit_intercept=True,
    )  # fmt: skip
    assert not accuses(attack.audit(500), 1.0, delta)

"""A release that sometimes does not see the record: against mixtures written out."""

import itertools
import math

import numpy as np
import pytest

from skdp.mechanisms import GaussianMechanism, L2LaplaceMechanism, LaplaceMechanism
from skdp.privacy.accounting import EventCurve
from skdp.privacy.budget import Neighbours, PrivacyBudget, Sensitivity
from skdp.stability.amplified import AmplifiedRelease, budget_within

MOVED = Sensitivity(1.0, "l2", Neighbours.REPLACE_ONE)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_no_mixture_over_dropped_passes_loses_more_than_the_formula(k, share):
    """Each pass that counts moves the output by up to eta G; Laplace noise for k of them."""
    rng, epsilon = np.random.default_rng(0), 1.3
    scale = 2 * k / epsilon
    grid = np.linspace(-10 * scale, 10 * scale, 20001)

    def density(moves):
        total = 0.0
        for mask in itertools.product((0, 1), repeat=k):
            chance = np.prod(np.where(mask, share, 1 - share))
            total = total + chance * np.exp(-np.abs(grid - np.dot(mask, moves)) / scale)
        return total

    p = 1 - (1 - share) ** k
    claimed = math.log1p(p * math.expm1(epsilon))
    largest = 0.0
    for trial in range(30):
        moves = rng.uniform(-1, 1, size=(2, k)) if trial else np.array([[1.0] * k, [-1.0] * k])
        first, second = (density(row) for row in moves)
        largest = max(largest, np.abs(np.log(first / second)).max())
    assert 0.2 * claimed < largest <= claimed


@pytest.mark.parametrize("chance", [0.1, 0.7])
def test_the_curve_is_that_of_advanced_joint_convexity(chance):
    gaussian = GaussianMechanism.calibrated(MOVED, PrivacyBudget(1.0, 1e-5), size=3)
    curve = AmplifiedRelease(gaussian, chance)
    for epsilon in (0.1, 0.5, 2.0):
        within = math.log1p(chance * math.expm1(epsilon))
        assert curve.delta_at(within) == pytest.approx(chance * gaussian.delta_at(epsilon))
        delta = curve.delta_at(within)
        assert curve.epsilon_at(delta * (1 + 1e-9)) == pytest.approx(within, rel=1e-5)
    assert curve.epsilon_at(1.0) == 0.0


@pytest.mark.parametrize(
    ("kind", "budget"),
    [
        (L2LaplaceMechanism, PrivacyBudget(1.0)),
        (L2LaplaceMechanism, PrivacyBudget(700.0)),
        (GaussianMechanism, PrivacyBudget(0.3, 1e-6)),
        (GaussianMechanism, PrivacyBudget(3.0, 1e-6)),
    ],
)
@pytest.mark.parametrize("chance", [0.05, 0.9])
def test_what_is_calibrated_within_keeps_the_budget_without(kind, budget, chance):
    mechanism = kind.calibrated(MOVED, budget_within(budget, chance), size=4)
    curve = AmplifiedRelease(mechanism, chance)
    assert curve.delta_at(budget.epsilon) <= (budget.delta or 1e-12)
    direct = kind.calibrated(MOVED, budget, size=4)
    assert mechanism.noise_scale <= direct.noise_scale * (1 + 1e-9)


def test_the_event_lies_above_the_curve():
    mechanism = GaussianMechanism.calibrated(MOVED, PrivacyBudget(2.0, 1e-4), size=2)
    curve = AmplifiedRelease(mechanism, 0.3)
    event = EventCurve(curve.event)
    for epsilon in (0.0, 0.2, 0.5, 1.0):
        assert event.delta_at(epsilon) >= curve.delta_at(epsilon)
    assert event.delta_at(math.log1p(0.3 * math.expm1(2.0)) * (1 + 1e-9)) < 4e-5


def test_a_record_that_always_counts_gains_nothing():
    budget = PrivacyBudget(1.0, 1e-6)
    assert budget_within(budget, 1.0) is budget
    moved = Sensitivity(1.0, "l1", Neighbours.REPLACE_ONE)
    laplace = LaplaceMechanism.calibrated(moved, PrivacyBudget(1.0), size=1)
    assert AmplifiedRelease(laplace, 1.0).epsilon_at(1e-9) == pytest.approx(1.0)

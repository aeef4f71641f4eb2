"""One list of events, many properties of every accountant, against independent truth."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting import NeighboringRelation, dp_event
from dp_accounting.dp_event import (
    ComposedDpEvent,
    GaussianDpEvent,
    NonPrivateDpEvent,
    NoOpDpEvent,
    PoissonSampledDpEvent,
    SelfComposedDpEvent,
    ZCDpEvent,
)
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import gammaln
from scipy.stats import norm

from skdp.exceptions import UnsupportedEventError
from skdp.privacy.accounting import EventCurve, delta_of, epsilon_of, rho_of
from skdp.privacy.budget import PrivacyBudget
from skdp.privacy.calibration import calibrate
from skdp.privacy.events import GaussianReleaseDpEvent, PureReleaseDpEvent, accountant_event
from skdp.privacy.pure_curve import pure_rho


def gaussian(multiplier, *, sensitivity=0.3, neighbours="replace-one"):
    return GaussianReleaseDpEvent(sensitivity, "l2", neighbours, multiplier * sensitivity)


def pure(epsilon, *, precision=0.0, neighbours="replace-one"):
    return PureReleaseDpEvent(epsilon, precision, 1.0, "l2", neighbours, 1 / epsilon)


def hockey_stick(multiplier, epsilon):
    """Quadrature of (p - e^epsilon q)+ for p = N(1, s^2), q = N(0, s^2)."""
    crossing = multiplier**2 * epsilon + 0.5

    def integrand(x):
        return norm.pdf(x, 1, multiplier) - math.exp(epsilon) * norm.pdf(x, 0, multiplier)

    return quad(integrand, crossing, crossing + 60 * multiplier, epsabs=1e-13, limit=400)[0]


def gaussian_and_pures(multiplier, epsilons, epsilon):
    """The pures take 2^k values of the loss; given each, quadrature of the Gaussian."""
    total = 0.0
    for signs in np.ndindex(*[2] * len(epsilons)):
        losses = np.where(np.array(signs, dtype=bool), 1, -1) * epsilons
        chance = np.prod(1 / (1 + np.exp(-losses)))
        total += chance * signed_hockey_stick(multiplier, epsilon - losses.sum())
    return total


def signed_hockey_stick(multiplier, epsilon):
    if epsilon >= 0:
        return hockey_stick(multiplier, epsilon)
    return 1 - math.exp(epsilon) * (1 - hockey_stick(multiplier, -epsilon))


def responses(guarantee, count, epsilon):
    """The exact sum over the binomial number of favourable answers."""
    wins = np.arange(count + 1)
    losses = (2 * wins - count) * guarantee
    logs = gammaln(count + 1) - gammaln(wins + 1) - gammaln(count - wins + 1)
    logs -= wins * np.log1p(np.exp(-guarantee)) + (count - wins) * np.log1p(np.exp(guarantee))
    over = losses > epsilon
    return math.fsum(np.exp(logs[over]) * -np.expm1(epsilon - losses[over]))


def poisson(multiplier, rate, epsilon):
    """Quadrature of the two directions of one subsampled Gaussian step."""
    grid = np.linspace(-12 * multiplier, 12 * multiplier + 1, 200_001)
    plain = norm.pdf(grid, 0, multiplier)
    mixed = (1 - rate) * plain + rate * norm.pdf(grid, 1, multiplier)
    sides = ((mixed, plain), (plain, mixed))
    return max(np.trapezoid(np.maximum(p - math.exp(epsilon) * q, 0), grid) for p, q in sides)


# event, exact delta(epsilon), epsilon at which to compare
PRICED = {
    "gaussian": (gaussian(2.0), lambda e: hockey_stick(2.0, e), 0.7),
    "raw gaussian": (GaussianDpEvent(2.0), lambda e: hockey_stick(2.0, e), 0.7),
    "gaussians": (
        ComposedDpEvent([gaussian(3.0), SelfComposedDpEvent(gaussian(4.0, sensitivity=7.0), 2)]),
        lambda e: hockey_stick((1 / 9 + 2 / 16) ** -0.5, e),
        1.1,
    ),
    "pure": (pure(0.8), lambda e: responses(0.8, 1, e), 0.3),
    "pures": (SelfComposedDpEvent(pure(0.5), 20), lambda e: responses(0.5, 20, e), 8.1),
    "gaussian and pures": (
        ComposedDpEvent([pure(0.3), gaussian(1.5), pure(0.7)]),
        lambda e: gaussian_and_pures(1.5, np.array([0.3, 0.7]), e),
        1.4,
    ),
    "subsampled": (
        PoissonSampledDpEvent(0.2, gaussian(3.0, neighbours="zero-out")),
        lambda e: poisson(3.0, 0.2, e),
        0.1,
    ),
}


@pytest.mark.parametrize("name", PRICED)
def test_delta_is_at_least_quadrature_and_close_to_it(name):
    event, exact, epsilon = PRICED[name]
    curve = EventCurve(event)
    for point in (0.0, epsilon / 2, epsilon):
        truth = exact(point)
        assert truth > 1e-9
        assert truth - 1e-10 <= curve.delta_at(point) <= truth * (1 + 1e-4) + 1e-8


@pytest.mark.parametrize("name", PRICED)
def test_epsilon_at_the_exact_delta_is_the_epsilon(name):
    event, exact, epsilon = PRICED[name]
    found = epsilon_of(event, exact(epsilon))
    assert epsilon - 1e-9 <= found <= epsilon + 1e-3


@pytest.mark.parametrize("name", PRICED)
def test_a_curve_falls_and_each_inverse_keeps_what_it_was_asked(name):
    curve = EventCurve(PRICED[name][0])
    deltas = [curve.delta_at(epsilon) for epsilon in np.linspace(0, 3, 13)]
    assert all(np.diff(deltas) <= 0)
    for delta in (0.1, 1e-3, 1e-6):
        assert curve.delta_at(curve.epsilon_at(delta)) <= delta * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("name", PRICED)
def test_the_accountants_of_dp_accounting_agree_on_the_translated_event(name):
    event, _, epsilon = PRICED[name]
    accountant = PLDAccountant().compose(accountant_event(event))
    assert delta_of(event, epsilon) == pytest.approx(accountant.get_delta(epsilon), rel=1e-3)


@pytest.mark.parametrize("neighbours", ["replace-one", "zero-out", "add-or-remove-one"])
def test_multiplier_4_2247_is_epsilon_one_at_1e_6_under_every_accountant(neighbours):
    fit = gaussian(4.2247, neighbours=neighbours)
    translated = accountant_event(fit)
    assert epsilon_of(fit, 1e-6) == pytest.approx(1.0, abs=5e-4)
    convolved = PLDAccountant().compose(translated).get_epsilon(1e-6)
    assert convolved == pytest.approx(1.0, abs=5e-4)
    assert 1.0 <= RdpAccountant().compose(translated).get_epsilon(1e-6) <= 1.1


def test_the_relation_of_dp_accounting_would_charge_a_replace_one_fit_twice():
    relation = NeighboringRelation.REPLACE_ONE
    doubled = PLDAccountant(relation).compose(GaussianDpEvent(4.2247)).get_epsilon(1e-6)
    assert doubled == pytest.approx(2.123, abs=1e-3)


def test_a_pure_release_costs_what_randomised_response_costs_and_not_laplace():
    assert delta_of(pure(1.0), 0.0) == pytest.approx(math.tanh(0.5), rel=1e-12)
    laplace = PLDAccountant().compose(dp_event.LaplaceDpEvent(1.0)).get_delta(0.0)
    assert delta_of(pure(1.0), 0.0) - laplace > 0.06


def test_twenty_pure_releases_of_one_half_cost_9_987():
    assert epsilon_of(SelfComposedDpEvent(pure(0.5), 20), 1e-6) == pytest.approx(9.987, abs=1e-3)


def test_dp_sgd_costs_what_an_independent_accountant_found():
    step = PoissonSampledDpEvent(0.01, gaussian(1.0, neighbours="zero-out"))
    curve = EventCurve(SelfComposedDpEvent(step, 1000))
    # prv-accountant 0.2.0: 1.8182 <= epsilon <= 1.8382; riskcal 1.5.1: advantage 0.161.
    assert curve.epsilon_at(1e-5) == pytest.approx(1.8282, abs=2e-4)
    assert curve.delta_at(0.0) == pytest.approx(0.161, abs=5e-4)


def test_the_order_of_composition_is_irrelevant():
    parts = [gaussian(2.0), pure(0.4), gaussian(5.0), pure(0.1), SelfComposedDpEvent(pure(0.4), 2)]
    costs = {epsilon_of(ComposedDpEvent(order), 1e-6) for order in (parts, parts[::-1])}
    assert len(costs) == 1


def test_repeating_is_composing_with_itself():
    for part in (gaussian(3.0), pure(0.2)):
        repeated = SelfComposedDpEvent(part, 4)
        written_out = ComposedDpEvent([part] * 4)
        assert delta_of(repeated, 0.3) == delta_of(written_out, 0.3)


@pytest.mark.parametrize(
    "nothing", [NoOpDpEvent(), ComposedDpEvent([]), SelfComposedDpEvent(NoOpDpEvent(), 9)], ids=str
)
def test_nothing_costs_nothing(nothing):
    assert epsilon_of(nothing, 0.0) == 0.0
    assert delta_of(nothing, 0.0) == 0.0
    assert rho_of(nothing) == 0.0


def test_what_is_not_private_has_no_finite_cost():
    event = ComposedDpEvent([gaussian(2.0), NonPrivateDpEvent()])
    assert epsilon_of(event, 0.5) == math.inf
    assert delta_of(event, 100.0) == 1.0
    assert epsilon_of(GaussianDpEvent(0.0), 0.5) == math.inf


@pytest.mark.parametrize(
    "event",
    [
        dp_event.UnsupportedDpEvent(),
        ComposedDpEvent([gaussian(1.0), gaussian(1.0, neighbours="zero-out")]),
        PoissonSampledDpEvent(0.1, ZCDpEvent(0.1)),
        SelfComposedDpEvent(gaussian(1.0), -1),
        SelfComposedDpEvent(gaussian(1.0), 1.5),
    ],
    ids=str,
)
def test_an_unknown_event_is_an_error(event):
    with pytest.raises(UnsupportedEventError):
        epsilon_of(event, 1e-6)


def test_events_that_only_the_renyi_accountant_knows_are_priced_by_it():
    zcdp = ComposedDpEvent([ZCDpEvent(0.1), GaussianDpEvent(5.0)])
    expected = RdpAccountant().compose(zcdp).get_epsilon(1e-6)
    assert epsilon_of(zcdp, 1e-6) == pytest.approx(expected, rel=1e-6)
    exact = epsilon_of(ComposedDpEvent([GaussianDpEvent(0.2**-0.5), GaussianDpEvent(5.0)]), 1e-6)
    assert exact <= expected


@pytest.mark.parametrize(
    "event",
    [
        dp_event.LaplaceDpEvent(2.0),
        dp_event.DiscreteLaplaceDpEvent(0.3, 3),
        PoissonSampledDpEvent(0.2, dp_event.LaplaceDpEvent(1.0)),
    ],
    ids=str,
)
def test_events_of_dp_accounting_cost_what_its_accountant_says(event):
    run = ComposedDpEvent([SelfComposedDpEvent(event, 5), GaussianDpEvent(3.0)])
    expected = PLDAccountant().compose(run).get_epsilon(1e-5)
    # Either grid errs by some 1e-4.
    assert epsilon_of(run, 1e-5) == pytest.approx(expected, rel=1e-3)


def test_a_mixture_of_two_gaussians_costs_what_a_sampled_one_costs():
    mixture = dp_event.MixtureOfGaussiansDpEvent(1.5, [0.0, 1.0], [0.9, 0.1])
    sampled = PoissonSampledDpEvent(0.1, GaussianDpEvent(1.5))
    costs = [epsilon_of(SelfComposedDpEvent(event, 20), 1e-5) for event in (mixture, sampled)]
    # Two ways through two grids, each good to some 1e-4.
    assert costs[0] == pytest.approx(costs[1], rel=1e-3)


@pytest.mark.parametrize(
    "event",
    [
        dp_event.LaplaceDpEvent(0.0),
        dp_event.DiscreteLaplaceDpEvent(0.0, 1),
        dp_event.MixtureOfGaussiansDpEvent(0.0, [1.0], [1.0]),
        PoissonSampledDpEvent(0.2, GaussianDpEvent(0.0)),
        PoissonSampledDpEvent(0.2, NonPrivateDpEvent()),
    ],
    ids=str,
)
def test_a_release_without_noise_is_not_private(event):
    assert epsilon_of(event, 0.5) == math.inf


def test_finite_precision_is_taken_off_delta_first():
    event = SelfComposedDpEvent(pure(1.0, precision=1e-8), 3)
    assert epsilon_of(event, 2.9e-8) == math.inf
    assert epsilon_of(event, 3.0001e-8) == pytest.approx(3.0)
    assert delta_of(event, 3.0) == pytest.approx(3e-8)
    clean = SelfComposedDpEvent(pure(1.0), 3)
    assert delta_of(event, 1.5) == pytest.approx(delta_of(clean, 1.5) + 3e-8, rel=1e-12)


def test_a_delta_below_what_convolution_resolves_is_priced_by_addition():
    mixed = ComposedDpEvent([gaussian(4.0), pure(0.5)])
    assert epsilon_of(mixed, 1e-30) == pytest.approx(0.5 + epsilon_of(gaussian(4.0), 1e-30))
    assert epsilon_of(SelfComposedDpEvent(pure(0.5), 20), 0.0) == 10.0


@pytest.mark.parametrize("epsilons", [(0.7, 20.0, 0.1, 20.0, 3.0), (0.1, 3.0, 3.0), (0.1,) * 10])
def test_the_sum_of_pure_epsilons_is_rounded_upwards(epsilons):
    event = ComposedDpEvent([pure(epsilon) for epsilon in epsilons])
    exact = sum(map(Fraction, epsilons))
    spent = epsilon_of(event, 0.0)
    assert Fraction(spent) >= exact
    assert spent <= float(exact) * (1 + 2.0**-51)
    below = math.nextafter(spent, 0.0)
    assert Fraction(below) >= exact or delta_of(event, below) > 0


def test_the_error_of_convolution_is_on_the_private_side():
    event = SelfComposedDpEvent(pure(0.01), 10_000)
    exact = responses(0.01, 10_000, 20.0)
    # The accountant itself is below the truth here, and even below zero.
    raw = PLDAccountant().compose(accountant_event(event)).get_delta(20.0)
    assert raw < exact < delta_of(event, 20.0)


@settings(deadline=None, max_examples=50)
@given(st.floats(0.3, 30), st.floats(1e-9, 0.3), st.floats(1.01, 3))
def test_more_noise_never_costs_more(multiplier, delta, factor):
    more = epsilon_of(gaussian(multiplier * factor), delta)
    assert more <= epsilon_of(gaussian(multiplier), delta)
    assert epsilon_of(pure(1 / multiplier), delta) >= epsilon_of(
        pure(1 / multiplier / factor), delta
    )


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 5.0, 20.0])
def test_the_rho_of_a_pure_release_is_the_greatest_divergence_over_the_order(epsilon):
    orders = 1 + np.geomspace(1e-4, 1e4, 2001)
    p, q = -np.log1p(math.exp(-epsilon)), -np.log1p(math.exp(epsilon))
    moments = np.logaddexp(orders * p + (1 - orders) * q, orders * q + (1 - orders) * p)
    ratios = moments / (orders - 1) / orders
    assert ratios.max() <= pure_rho(epsilon) * (1 + 1e-9)
    assert ratios.max() >= pure_rho(epsilon) * (1 - 1e-3)
    assert pure_rho(epsilon) <= epsilon**2 / 2


def test_rho_adds_up():
    event = ComposedDpEvent([gaussian(2.0), SelfComposedDpEvent(pure(1.0), 3)])
    assert rho_of(event) == pytest.approx(1 / 8 + 3 * pure_rho(1.0))
    assert rho_of(ComposedDpEvent([ZCDpEvent(0.1), GaussianDpEvent(1.0)])) == pytest.approx(0.6)


def test_rho_of_what_has_none_is_an_error():
    with pytest.raises(UnsupportedEventError, match="ZCDp"):
        rho_of(dp_event.ZCDpEvent(0.1, 0.1))


def test_a_curve_is_pickled_without_its_convolution():
    curve = EventCurve(ComposedDpEvent([gaussian(4.0), pure(0.5)]))
    before = len(pickle.dumps(curve))
    expected = curve.delta_at(0.5)
    assert len(pickle.dumps(curve)) == before
    assert pickle.loads(pickle.dumps(curve)).delta_at(0.5) == expected


@pytest.mark.parametrize("bad", [-0.1, math.nan])
def test_arguments_outside_their_range_are_refused(bad):
    with pytest.raises(ValueError, match="epsilon"):
        delta_of(gaussian(1.0), bad)
    with pytest.raises(ValueError, match="delta"):
        epsilon_of(gaussian(1.0), bad)


FAMILIES = {
    "gaussian": gaussian,
    "two gaussians": lambda noise: ComposedDpEvent([gaussian(noise), gaussian(2 * noise)]),
    "pure": lambda noise: pure(1 / noise),
    "subsampled": lambda noise: SelfComposedDpEvent(
        PoissonSampledDpEvent(0.1, gaussian(2 * noise, neighbours="zero-out")), 30
    ),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_calibration_keeps_the_budget_and_wastes_nothing(family):
    make, budget = FAMILIES[family], PrivacyBudget(0.7, 1e-6)
    noise = calibrate(make, budget)
    assert epsilon_of(make(noise), budget.delta) <= budget.epsilon
    assert epsilon_of(make(noise * (1 - 1e-4)), budget.delta) > budget.epsilon


def test_calibration_never_overspends_by_a_rounding():
    for epsilon in np.geomspace(0.03, 30, 150):
        noise = calibrate(gaussian, PrivacyBudget(epsilon, 1e-6))
        assert epsilon_of(gaussian(noise), 1e-6) <= epsilon


@pytest.mark.parametrize(
    "make", [gaussian, lambda noise: NoOpDpEvent()], ids=["gaussian", "nothing"]
)
def test_calibration_says_so_when_there_is_no_answer(make):
    with pytest.raises(ValueError, match="No noise"):
        calibrate(make, PrivacyBudget(1.0))


@pytest.mark.parametrize("bracket", [(0.1, 0.2), (1.0, 100.0), (50.0, 51.0)])
def test_calibration_finds_the_same_noise_from_every_bracket(bracket):
    noise = calibrate(gaussian, PrivacyBudget(1.0, 1e-6), bracket)
    assert noise == pytest.approx(4.22468, rel=1e-5)


def test_calibration_refuses_a_bracket_that_is_none():
    with pytest.raises(ValueError, match="bracket"):
        calibrate(gaussian, PrivacyBudget(1.0, 1e-6), (2.0, 1.0))

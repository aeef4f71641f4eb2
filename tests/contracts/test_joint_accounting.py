"""Steps that select and add noise on one sample, against truth from elsewhere."""

import math
from itertools import product

import numpy as np
import pytest
from dp_accounting import NeighboringRelation
from dp_accounting.dp_event import (
    ComposedDpEvent,
    GaussianDpEvent,
    NoOpDpEvent,
    PoissonSampledDpEvent,
    SampledWithoutReplacementDpEvent,
    SelfComposedDpEvent,
    ZCDpEvent,
)
from dp_accounting.pld import PLDAccountant, pld_pmf
from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import logsumexp
from scipy.stats import binom, norm

from skdp.exceptions import UnsupportedEventError
from skdp.privacy import accounting, calibration, composition
from skdp.privacy.accounting import EventCurve, delta_of, epsilon_of, rho_of
from skdp.privacy.bounded_range import bounded_range_delta, bounded_range_renyi, score_range
from skdp.privacy.budget import PrivacyBudget
from skdp.privacy.calibration import calibrate
from skdp.privacy.composition import Parts
from skdp.privacy.events import GaussianReleaseDpEvent, PureReleaseDpEvent
from skdp.privacy.gaussian_curve import gaussian_delta
from skdp.privacy.joint_steps import BoundedRangePicks, GaussianNoise, JointStep, PurePicks
from skdp.privacy.loss_curves import (
    GaussianCurve,
    LatticeCurve,
    PoissonCurves,
    ReplacedGaussianCurve,
    SymmetricCurve,
)
from skdp.privacy.loss_pairs import composed_curve
from skdp.privacy.pure_curve import pure_renyi, pure_rho
from skdp.privacy.renyi import ORDERS, RenyiCurve
from skdp.privacy.step_events import SelectionDpEvent

DELTA = 1e-5


def noise(std, *, neighbours="zero-out", sensitivity=1.0):
    return GaussianReleaseDpEvent(sensitivity, "l2", neighbours, std)


def picks(count, epsilon, kind="bounded-range", neighbours="zero-out"):
    return SelectionDpEvent(count, kind, epsilon, neighbours)


def steps(rate, count, *releases):
    return SelfComposedDpEvent(PoissonSampledDpEvent(rate, ComposedDpEvent(list(releases))), count)


def bound(event, kind):
    """One of the bounds that are computed for an event."""
    return next(found for found in Parts.of(event).bounds() if isinstance(found, kind))


def responses_and_noise(guarantee, count, std):
    """The curve of independent randomised responses and noise, by the binomial law of the loss."""
    wins = np.arange(count + 1)
    chances = binom.pmf(wins, count, 1 / (1 + math.exp(-guarantee)))
    losses = (2 * wins - count) * guarantee

    def curve(epsilons):
        shifted = np.asarray(epsilons)[..., None] - losses
        a, b = 0.5 / std - shifted * std, -0.5 / std - shifted * std
        return (norm.cdf(a) - np.exp(shifted) * norm.cdf(b)) @ chances

    return curve


def library_epsilon(curve, rate, count, delta, interval=1e-3, top=9.0):
    """Poisson sampling of a symmetric curve, discretised and composed by dp_accounting."""

    def removed(x):
        inside = 1 + np.expm1(x) / rate
        sampled = rate * curve(np.log(np.maximum(inside, 1e-300)))
        return np.where(inside > 0, sampled, -np.expm1(x))

    def added(x):
        weight = 1 - np.exp(x) * (1 - rate)
        inside = np.log(rate) + x - np.log(np.maximum(weight, 1e-300))
        return np.where(weight > 0, weight * curve(np.minimum(inside, 50)), 0.0)

    edge = math.ceil(-math.log1p(-rate) / interval)
    end = math.ceil(top / interval)
    pmfs = []
    for side, low, high in ((removed, -edge, end), (added, -end, edge)):
        deltas = np.clip(side(np.arange(low, high + 1) * interval), 0, 1)
        pmfs.append(
            pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(
                interval, low, high, np.minimum.accumulate(deltas)
            ).to_dense_pmf()
        )
    return PrivacyLossDistribution(*pmfs).self_compose(count).get_epsilon_for_delta(delta)


# picks, eta, std, rate, steps: adaptive-optimal curve, Renyi, both directions of RR(eta/2).
TABLE = {
    (8, 0.25, 1.0, 0.01, 2000): (2.915, 3.252, 2.912),
    (16, 0.5, 1.0, 0.01, 1000): (4.431, 5.235, 4.312),
    (16, 0.5, 0.8, 0.004, 3000): (4.391, 5.676, 4.286),
    (64, 0.0625, 1.0, 0.01, 2000): (2.747, 3.079, 2.747),
}


@pytest.mark.parametrize("case", TABLE, ids=str)
def test_exponential_steps_cost_what_the_table_says(case):
    count, eta, std, rate, repeats = case
    curve, renyi, _ = TABLE[case]
    event = steps(rate, repeats, picks(count, eta), noise(std))
    # The table gives three decimals.
    assert bound(event, LatticeCurve).epsilon_at(DELTA) == pytest.approx(curve, abs=1e-3)
    assert bound(event, RenyiCurve).epsilon_at(DELTA) == pytest.approx(renyi, abs=1e-3)
    assert epsilon_of(event, DELTA) == bound(event, LatticeCurve).epsilon_at(DELTA)


@pytest.mark.parametrize("case", TABLE, ids=str)
def test_exponential_steps_cost_at_least_what_one_such_mechanism_costs(case):
    count, eta, std, rate, repeats = case
    # Losses +-eta/2 are of range eta; the library composes the exact curve of k of them.
    exact = library_epsilon(responses_and_noise(eta / 2, count, std), rate, repeats, DELTA)
    assert exact == pytest.approx(TABLE[case][2], abs=0.005)
    assert epsilon_of(steps(rate, repeats, picks(count, eta), noise(std)), DELTA) > exact - 1e-3
    pure = epsilon_of(steps(rate, repeats, picks(count, eta / 2, "pure"), noise(std)), DELTA)
    assert pure == pytest.approx(exact, abs=2e-3)


@pytest.mark.parametrize(
    ("count", "eta", "std", "repeats", "truth", "composed", "added"),
    [(16, 0.5, 1.0, 1000, 4.31, 2.54, 3.74), (1, 8.0, 0.5, 100, 19.9, 7.21, 11.01)],
)
def test_amplifying_selection_and_noise_one_by_one_claims_too_little(
    count, eta, std, repeats, truth, composed, added
):
    selection, released = picks(count, eta / 2, "pure"), noise(std)
    joint = epsilon_of(steps(0.01, repeats, selection, released), DELTA)
    # Wrong: each with a sample of its own, composed, or added with half of delta each.
    apart = [steps(0.01, repeats, selection), steps(0.01, repeats, released)]
    together = epsilon_of(ComposedDpEvent(apart), DELTA)
    halves = sum(epsilon_of(event, DELTA / 2) for event in apart)
    assert joint == pytest.approx(truth, abs=0.01)
    assert together == pytest.approx(composed, abs=0.01)
    assert halves == pytest.approx(added, abs=0.01)
    assert max(together, halves) < 0.9 * joint
    bounded = steps(0.01, repeats, picks(count, eta), released)
    assert epsilon_of(bounded, DELTA) >= joint


@pytest.mark.parametrize(
    ("std", "rate", "repeats", "interval"),
    [
        (1.0, 0.01, 1000, 1e-4),
        (3.0, 0.2, 300, 1e-4),
        (1.0, 1e-4, 10_000, 2e-5),
    ],
)
def test_steps_without_a_selection_cost_what_dp_accounting_says(std, rate, repeats, interval):
    event = steps(rate, repeats, noise(std))
    step = PoissonSampledDpEvent(rate, GaussianDpEvent(std))
    exact = PLDAccountant(value_discretization_interval=interval).compose(step, repeats)
    epsilon = epsilon_of(event, DELTA)
    assert epsilon == pytest.approx(exact.get_epsilon(DELTA), abs=1e-4)
    assert delta_of(event, epsilon / 2) == pytest.approx(exact.get_delta(epsilon / 2), rel=1e-2)
    expected = RdpAccountant(list(ORDERS)).compose(step, repeats).get_epsilon(DELTA)
    assert bound(event, RenyiCurve).epsilon_at(DELTA) == pytest.approx(expected, rel=1e-6)


def test_picks_in_a_row_are_one_selection():
    apart = steps(0.02, 100, picks(3, 0.3), NoOpDpEvent(), picks(5, 0.3), noise(1.0))
    assert epsilon_of(apart, DELTA) == epsilon_of(
        steps(0.02, 100, picks(8, 0.3), noise(1.0)), DELTA
    )
    apart = ComposedDpEvent([picks(3, 0.3, "pure"), picks(5, 0.3, "pure"), picks(1, 0.3)])
    whole = ComposedDpEvent([picks(8, 0.3, "pure"), picks(1, 0.3)])
    assert epsilon_of(apart, DELTA) == epsilon_of(whole, DELTA)


def test_all_noise_of_one_step_is_joined_before_it_is_subsampled():
    two = steps(0.02, 100, noise(3.0), noise(8.0, sensitivity=2.0))
    assert epsilon_of(two, DELTA) == pytest.approx(epsilon_of(steps(0.02, 100, noise(2.4)), DELTA))
    nested = PoissonSampledDpEvent(0.02, SelfComposedDpEvent(noise(4.8), 4))
    assert delta_of(nested, 0.1) == pytest.approx(delta_of(steps(0.02, 1, noise(2.4)), 0.1))


@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.2, 0.6])
@pytest.mark.parametrize("rate", [0.02, 0.4])
def test_a_subsampled_step_has_the_delta_that_quadrature_finds(rate, epsilon):
    std, guarantee = 1.5, 0.8
    chance = 1 / (1 + math.exp(-guarantee))
    grid = np.linspace(-15, 16, 200_001)
    with_record = np.outer([chance, 1 - chance], norm.pdf(grid, 1, std))
    without = np.outer([1 - chance, chance], norm.pdf(grid, 0, std))
    mixed = (1 - rate) * without + rate * with_record
    exact = max(
        np.trapezoid(np.maximum(p - math.exp(epsilon) * q, 0).sum(axis=0), grid)
        for p, q in ((mixed, without), (without, mixed))
    )
    event = steps(rate, 1, picks(1, guarantee, "pure"), noise(std))
    assert exact - 1e-9 <= delta_of(event, epsilon) <= exact * (1 + 1e-4) + 1e-10


class FourPoints(SymmetricCurve):
    """P = (.4, .3, .2, .1) and Q = P backwards: exchanging them changes nothing."""

    p = np.array([0.4, 0.3, 0.2, 0.1])
    q = p[::-1]

    def at(self, epsilons):
        return hockey_stick(self.p, self.q, epsilons)


def hockey_stick(p, q, epsilons):
    return np.maximum(p - np.exp(np.asarray(epsilons))[:, None] * q, 0).sum(axis=1)


@pytest.mark.parametrize("rate", [1e-4, 0.05, 0.5, 0.97])
def test_poisson_sampling_in_both_directions_is_that_of_a_pair_of_four_points(rate):
    pair, epsilons = FourPoints(), np.linspace(0, 2, 401)
    mixed = (1 - rate) * pair.q + rate * pair.p
    curves = PoissonCurves(rate, pair)
    removed, added = hockey_stick(mixed, pair.q, epsilons), hockey_stick(pair.q, mixed, epsilons)
    np.testing.assert_allclose(curves.removed(epsilons), removed, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(curves.added(epsilons), added, rtol=1e-9, atol=1e-15)
    assert rate < 0.01 or not np.allclose(removed, added, rtol=1e-3, atol=0)


class Exchanged:
    """The same pair with its directions exchanged."""

    def __init__(self, curves):
        self.removed, self.added = curves.added, curves.removed


@pytest.mark.parametrize("exchange", [lambda curves: curves, Exchanged])
def test_composition_keeps_the_directions_apart_and_takes_the_greater(exchange):
    pair, rate, count = FourPoints(), 0.3, 6
    mixed = (1 - rate) * pair.q + rate * pair.p
    curve = composed_curve([(exchange(PoissonCurves(rate, pair)), count)])
    for epsilon in (0.0, 0.2, 0.5):
        both = []
        for first, second in ((mixed, pair.q), (pair.q, mixed)):
            p = np.prod(list(product(first, repeat=count)), axis=1)
            q = np.prod(list(product(second, repeat=count)), axis=1)
            both.append(np.maximum(p - math.exp(epsilon) * q, 0).sum())
        assert max(both) <= curve.delta_at(epsilon) <= max(both) * (1 + 1e-4)


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 2**32 - 1), st.floats(0.01, 8), st.integers(2, 30))
def test_exponential_mechanisms_stay_below_the_bounded_range_curves(seed, eta, size):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=size) * rng.exponential(3)
    low = rng.uniform(-eta, 0)
    shifts = rng.choice([low, low + eta], size=size)
    p = np.exp(scores - logsumexp(scores))
    q = np.exp(scores + shifts - logsumexp(scores + shifts))
    for epsilon in np.linspace(0, eta, 7):
        exact = np.maximum(p - math.exp(epsilon) * q, 0).sum()
        assert exact <= bounded_range_delta(eta, epsilon) + 1e-15
    orders = np.array([1.5, 2.0, 3.0, 8.0, 40.0])
    losses = np.log(p / q)
    exact = logsumexp(np.multiply.outer(orders - 1, losses), b=p, axis=1) / (orders - 1)
    assert np.all(exact <= bounded_range_renyi(eta, orders) * (1 + 1e-9))
    assert np.all(bounded_range_renyi(eta, orders) <= orders * eta**2 / 8 * (1 + 1e-12))


@pytest.mark.parametrize("eta", [1e-6, 0.3, 2.0, 30.0])
def test_the_bounded_range_curves_are_reached(eta):
    epsilons = np.linspace(0, 0.99 * eta, 8)
    places = np.linspace(0, eta, 200_001)[1:]
    chance = np.expm1(places - eta) / math.expm1(-eta)
    for epsilon in epsilons:
        exact = (chance * np.maximum(-np.expm1(epsilon - places), 0)).max()
        assert bounded_range_delta(eta, epsilon) == pytest.approx(exact, rel=1e-5)
    for order in (1.5, 2.0, 10.0, 300.0):
        moments = logsumexp(
            [(order - 1) * places, (order - 1) * (places - eta)],
            b=[chance, 1 - chance],
            axis=0,
        )
        found = bounded_range_renyi(eta, np.array([order]))[0]
        assert found == pytest.approx(moments.max() / (order - 1), rel=2e-3)


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 2**32 - 1), st.floats(0.01, 10))
def test_the_range_of_scores_bounds_what_one_record_does_to_them(seed, change):
    rng = np.random.default_rng(seed)
    total = rng.normal(size=6) * rng.exponential(2)
    for norm_name, order in (("l1", 1), ("l2", 2), ("linf", np.inf)):
        moved = rng.choice([-1, 1], size=6) * rng.exponential(size=6) ** 4
        moved *= change / np.linalg.norm(moved, order)
        shifts = np.abs(total + moved) - np.abs(total)
        assert np.ptp(shifts) <= score_range(change, norm_name) * (1 + 1e-12)
    assert np.ptp(np.array([change, -change]) / math.sqrt(2)) == pytest.approx(
        score_range(change, "l2")
    )


def adaptive_delta(rng, eta, depth, mu, epsilon):
    """Delta of random bounded-range picks, each chosen anew after each outcome, then noise."""
    if not depth:
        if epsilon >= 0:
            return gaussian_delta(mu, epsilon)
        return 1 - math.exp(epsilon) * (1 - gaussian_delta(mu, -epsilon))
    scores = rng.normal(size=3) * rng.exponential(2)
    low = rng.uniform(-eta, 0)
    shifts = rng.choice([low, low + eta], size=3)
    p = np.exp(scores - logsumexp(scores))
    losses = logsumexp(scores + shifts) - logsumexp(scores) - shifts
    return sum(
        chance * adaptive_delta(rng, eta, depth - 1, mu, epsilon - loss)
        for chance, loss in zip(p, losses, strict=True)
    )


@pytest.mark.parametrize(("eta", "mu"), [(0.3, 0.5), (1.5, 1.0), (4.0, 0.3)])
def test_random_adaptive_picks_never_exceed_the_curve_of_a_step(eta, mu):
    rng = np.random.default_rng(0)
    curve = JointStep.of([BoundedRangePicks(eta, 3), GaussianNoise(mu)]).curve()
    for epsilon in (0.0, 0.5, 2.0):
        limit = curve.delta_at(epsilon)
        worst = max(adaptive_delta(rng, eta, 3, mu, epsilon) for _ in range(12))
        assert 0 < worst <= limit


def best_two_picks(eta, mu, epsilon, points=241):
    """Both intervals chosen from a grid, the second after the first outcome."""
    places = np.linspace(0, eta, points)
    chance = np.expm1(places - eta) / math.expm1(-eta)

    def after_noise(x):
        return norm.cdf(mu / 2 - x / mu) - np.exp(x) * norm.cdf(-mu / 2 - x / mu)

    def after_one(x):
        low, high = x[:, None] - places, x[:, None] - places + eta
        return (chance * after_noise(low) + (1 - chance) * after_noise(high)).max(axis=1)

    low, high = after_one(epsilon - places), after_one(epsilon - places + eta)
    return (chance * low + (1 - chance) * high).max()


@pytest.mark.parametrize("eta", [0.2, 1.0, 5.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.7, 2.0])
def test_the_curve_of_a_step_is_reached_by_the_best_adaptive_picks(eta, epsilon):
    curve = JointStep.of([BoundedRangePicks(eta, 2), GaussianNoise(0.8)]).curve()
    best = best_two_picks(eta, 0.8, epsilon)
    assert best <= curve.delta_at(epsilon) <= best * (1 + 3e-4)


def test_the_supremum_on_a_lattice_is_that_of_a_scan():
    rng = np.random.default_rng(1)
    interval, width, size = 0.05, 12, 80
    for _ in range(20):
        # Any symmetric pair: atoms at lattice points, some heavy, most of them none.
        weights = rng.exponential(size=size) ** 3 * (rng.random(size) < 0.4)
        points = np.arange(size) * interval
        total = weights @ (1 + np.exp(-points)) + 1e-9
        tail = (weights / total) * (1 - np.exp(np.minimum(points[:, None] - points, 0)))
        later = LatticeCurve(interval, tail.sum(axis=1))
        found = BoundedRangePicks(width * interval, 1).before(later).deltas
        places = np.linspace(0, width * interval, 40 * width + 1)
        chance = np.expm1(places - width * interval) / math.expm1(-width * interval)

        def at(x, curve=later):
            mirrored = np.exp(np.minimum(x, 0)) * curve.at(np.abs(x)) - np.expm1(np.minimum(x, 0))
            return np.where(x < 0, mirrored, curve.at(np.abs(x)))

        left = points[:, None] - places
        scanned = (chance * at(left) + (1 - chance) * at(left + width * interval)).max(axis=1)
        assert np.all(found >= scanned - 1e-14)
        np.testing.assert_allclose(found, scanned, rtol=1e-3, atol=1e-12)


def test_noise_that_a_pick_can_look_at_costs_more_than_noise_added_after_it():
    eta, mu = 1.0, 1.0
    before = JointStep.of([GaussianNoise(mu), BoundedRangePicks(eta)]).curve()
    after = JointStep.of([BoundedRangePicks(eta), GaussianNoise(mu)]).curve()
    for epsilon in (0.5, 2.0, 3.0):
        # Having seen the loss l of the noise, the pick takes the interval that is worst for x - l.
        def integrand(loss, epsilon=epsilon):
            left = epsilon - loss
            if left >= 0:
                rest = bounded_range_delta(eta, left)
            else:
                rest = 1 - math.exp(left) * (1 - bounded_range_delta(eta, -left))
            return norm.pdf(loss, mu**2 / 2, mu) * rest

        exact = quad(integrand, -10, 11, points=[epsilon, epsilon - eta, epsilon + eta])[0]
        assert before.delta_at(epsilon) == pytest.approx(exact, rel=1e-4)
        assert after.delta_at(epsilon) < 0.97 * exact


def test_epochs_without_sampling_are_not_all_picks_followed_by_all_noise():
    epoch = ComposedDpEvent([picks(4, 1.0), noise(1.0)])
    epochs = epsilon_of(SelfComposedDpEvent(epoch, 4), DELTA)
    alternating = JointStep.of([BoundedRangePicks(1.0, 4), GaussianNoise(1.0)] * 4).curve()
    written_out = ComposedDpEvent([picks(4, 1.0), noise(1.0)] * 4)
    assert epsilon_of(written_out, DELTA) == epochs
    looked_at = ComposedDpEvent([noise(1.0), picks(4, 1.0)])
    assert delta_of(looked_at, 3.0) > 1.05 * delta_of(epoch, 3.0)
    picks_first = JointStep.of([BoundedRangePicks(1.0, 16), GaussianNoise(2.0)]).curve()
    assert picks_first.epsilon_at(DELTA) < alternating.epsilon_at(DELTA) < epochs
    assert epochs == pytest.approx(alternating.epsilon_at(DELTA), rel=5e-3)
    # The Renyi divergence does not see the order.
    order = 24 * (bounded_range_renyi(1.0, ORDERS) / 1.5 + ORDERS / 12)
    assert epochs <= RenyiCurve(order).epsilon_at(DELTA)


def test_sampling_everybody_is_no_sampling():
    step = ComposedDpEvent([picks(3, 0.4), noise(2.0)])
    sampled = SelfComposedDpEvent(PoissonSampledDpEvent(1.0, step), 5)
    assert epsilon_of(sampled, DELTA) == epsilon_of(SelfComposedDpEvent(step, 5), DELTA)
    assert epsilon_of(PoissonSampledDpEvent(0.0, step), 0.0) == 0.0
    assert epsilon_of(PoissonSampledDpEvent(0.3, NoOpDpEvent()), 0.0) == 0.0


def test_sampling_nearly_everybody_is_nearly_no_sampling():
    step = ComposedDpEvent([picks(3, 0.4), noise(2.0)])
    nearly = PoissonSampledDpEvent(1 - 1e-9, step)
    assert epsilon_of(nearly, DELTA) == pytest.approx(epsilon_of(step, DELTA), rel=1e-4)


def test_picks_alone_are_priced_by_their_curve_and_their_guarantee():
    event = picks(20, 0.1)
    renyi = RenyiCurve(20 * bounded_range_renyi(0.1, ORDERS)).epsilon_at(DELTA)
    assert epsilon_of(event, DELTA) < renyi < 20 * 0.1
    assert epsilon_of(event, 0.0) == pytest.approx(2.0, rel=1e-12)
    assert delta_of(picks(1, 0.7), 0.2) == pytest.approx(bounded_range_delta(0.7, 0.2), rel=1e-4)
    sampled = steps(0.1, 3, event)
    expected = 3 * math.log1p(0.1 * math.expm1(2.0))
    assert epsilon_of(sampled, 0.0) == pytest.approx(expected, rel=1e-12)


def test_pure_picks_and_pure_releases_are_one_and_the_same():
    several = ComposedDpEvent([picks(2, 0.3, "pure"), noise(4.0)])
    release = PureReleaseDpEvent(0.3, 0.0, 1.0, "l2", "zero-out", 1.0)
    one_by_one = ComposedDpEvent([SelfComposedDpEvent(release, 2), noise(4.0)])
    assert epsilon_of(several, DELTA) == epsilon_of(one_by_one, DELTA)
    sampled = [PoissonSampledDpEvent(0.2, event) for event in (several, one_by_one)]
    assert epsilon_of(sampled[0], DELTA) == epsilon_of(sampled[1], DELTA)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 12.0])
def test_the_divergence_of_pure_picks_is_that_of_randomised_response(epsilon):
    orders = np.array([1.5, 2.0, 7.0, 100.0])
    p = np.array([1.0, math.exp(-epsilon)]) / (1 + math.exp(-epsilon))
    exact = logsumexp(np.multiply.outer(orders - 1, np.log(p / p[::-1])), b=p, axis=1)
    np.testing.assert_allclose(pure_renyi(epsilon, orders), exact / (orders - 1), rtol=1e-7)


def test_finite_precision_of_all_steps_is_taken_off_delta_first():
    step = [SelectionDpEvent(4, "bounded-range", 0.2, "zero-out", 1e-9), noise(2.0)]
    event, clean = steps(0.05, 100, *step), steps(0.05, 100, picks(4, 0.2), noise(2.0))
    assert epsilon_of(event, 0.9e-7) == math.inf
    assert epsilon_of(event, DELTA) == pytest.approx(epsilon_of(clean, DELTA - 1e-7), rel=1e-9)


def hand_mu(event):
    """The mu of a single unsampled Gaussian, from its epsilon at 1e-5."""
    return brentq(lambda mu: gaussian_delta(mu, epsilon_of(event, DELTA)) - DELTA, 1e-3, 30)


@pytest.mark.parametrize("neighbours", ["zero-out", "add-or-remove-one", "replace-one"])
def test_noise_is_measured_against_the_sensitivity_of_its_own_relation(neighbours):
    event = noise(3.0, neighbours=neighbours, sensitivity=2.0)
    assert hand_mu(event) == pytest.approx(2 / 3, rel=1e-9)
    assert hand_mu(PoissonSampledDpEvent(1.0, event)) == pytest.approx(2 / 3, rel=1e-9)
    everybody = SampledWithoutReplacementDpEvent(50, 50, event)
    if neighbours == "replace-one":
        assert hand_mu(everybody) == pytest.approx(2 / 3, rel=1e-9)
        relation, multiplier = NeighboringRelation.REPLACE_ONE, 3.0
    else:
        relation, multiplier = NeighboringRelation.ADD_OR_REMOVE_ONE, 1.5
    # The library's PLD accountant wants noise over the norm of one record: half of 2 if replaced.
    accountant = PLDAccountant(relation).compose(GaussianDpEvent(multiplier))
    assert epsilon_of(event, DELTA) == pytest.approx(accountant.get_epsilon(DELTA), abs=1e-3)
    sampled = PoissonSampledDpEvent(0.1, GaussianDpEvent(multiplier))
    accountant = PLDAccountant(relation).compose(sampled, 20)
    found = epsilon_of(steps(0.1, 20, event), DELTA)
    assert found == pytest.approx(accountant.get_epsilon(DELTA), rel=1e-3)


def test_replaced_records_in_a_poisson_sample_have_a_pair_of_their_own():
    replaced = steps(0.01, 1000, noise(2.0, neighbours="replace-one", sensitivity=2.0))
    nulled = steps(0.01, 1000, noise(2.0))
    assert epsilon_of(replaced, DELTA) == pytest.approx(1.205, abs=1e-3)
    assert epsilon_of(nulled, DELTA) == pytest.approx(0.622, abs=1e-3)


@pytest.mark.parametrize(("rate", "std"), [(0.01, 0.5), (0.3, 2.0), (0.9, 40.0)])
def test_the_curve_of_replaced_records_is_that_of_quadrature(rate, std):
    grid = np.linspace(-14 * std - 1, 14 * std + 1, 400_001)
    rest = (1 - rate) * norm.pdf(grid, 0, std)
    p, q = rest + rate * norm.pdf(grid, 1, std), rest + rate * norm.pdf(grid, -1, std)
    epsilons = np.linspace(0, 3 / std, 7)
    exact = [np.trapezoid(np.maximum(p - math.exp(e) * q, 0), grid) for e in epsilons]
    np.testing.assert_allclose(
        ReplacedGaussianCurve(rate, std).at(epsilons), exact, rtol=1e-6, atol=1e-12
    )


def test_subsets_of_fixed_size_cost_what_the_renyi_accountant_says():
    step = noise(2.0, neighbours="replace-one", sensitivity=2.0)
    event = SelfComposedDpEvent(SampledWithoutReplacementDpEvent(10_000, 100, step), 200)
    by_hand = RdpAccountant(neighboring_relation=NeighboringRelation.REPLACE_ONE)
    subset = SampledWithoutReplacementDpEvent(10_000, 100, GaussianDpEvent(1.0))
    expected = by_hand.compose(subset, 200).get_epsilon(DELTA)
    assert expected <= epsilon_of(event, DELTA) <= expected * (1 + 1e-3)
    # Two Gaussians of one step are one, and selections from everybody add their rho.
    halves = ComposedDpEvent([noise(2**1.5, neighbours="replace-one", sensitivity=2.0)] * 2)
    joined = SelfComposedDpEvent(SampledWithoutReplacementDpEvent(10_000, 100, halves), 200)
    assert epsilon_of(joined, DELTA) == pytest.approx(epsilon_of(event, DELTA))
    more = ComposedDpEvent([event, picks(2, 0.5, neighbours="replace-one")])
    by_hand.compose(ZCDpEvent(2 * 0.5**2 / 8))
    assert epsilon_of(more, DELTA) == pytest.approx(by_hand.get_epsilon(DELTA), rel=1e-3)


REPLACED = noise(2.0, neighbours="replace-one", sensitivity=2.0)
REPLACED_PICKS = picks(2, 0.5, neighbours="replace-one")


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (steps(0.1, 5, REPLACED_PICKS, REPLACED), "replace-one"),
        (steps(0.1, 5, REPLACED, REPLACED), "replace-one"),
        (steps(0.1, 5, REPLACED_PICKS), "replace-one"),
        (steps(0.1, 5, SelfComposedDpEvent(REPLACED, 2)), "replace-one"),
        (SampledWithoutReplacementDpEvent(100, 10, picks(1, 0.1)), "fixed size"),
        (SampledWithoutReplacementDpEvent(100, 10, REPLACED_PICKS), "fixed size"),
        (SampledWithoutReplacementDpEvent(100, 10, noise(1.0)), "fixed size"),
        (SampledWithoutReplacementDpEvent(100, 101, REPLACED), "No subset"),
        (steps(0.1, 5, steps(0.1, 5, noise(1.0))), "in a sample"),
        (steps(0.1, 5, ZCDpEvent(0.1)), "in a sample"),
        (steps(0.1, 5, picks(1, 0.1), REPLACED), "mixes"),
        (steps(1.5, 5, noise(1.0)), "probability"),
        (
            ComposedDpEvent(
                [SampledWithoutReplacementDpEvent(100, 10, REPLACED), steps(0.1, 5, REPLACED)]
            ),
            "together",
        ),
    ],
    ids=str,
)
def test_what_has_no_theorem_is_refused(event, reason):
    for price in (lambda: epsilon_of(event, DELTA), lambda: delta_of(event, 1.0)):
        with pytest.raises(UnsupportedEventError, match=reason):
            price()


def test_a_selection_in_a_sample_is_never_passed_off_as_noise():
    selection = picks(1, 8.0, neighbours="add-or-remove-one")
    event = steps(0.01, 100, selection, noise(0.5, neighbours="add-or-remove-one"))
    assert [part.plain() for part, _ in Parts.of(event).others] == [None]
    # With an event that has no curve, only whole orders of the Renyi divergence remain. The
    # Gaussian of the same rho would be worth 71 at fractional orders.
    both = ComposedDpEvent([event, ZCDpEvent(1e-9)])
    alike = PoissonSampledDpEvent(0.01, GaussianDpEvent((8.0**2 / 4 + 4) ** -0.5))
    assert RdpAccountant().compose(alike, 100).get_epsilon(DELTA) == pytest.approx(71, abs=1)
    assert epsilon_of(both, DELTA) == pytest.approx(
        bound(event, RenyiCurve).epsilon_at(DELTA), rel=1e-6
    )
    assert epsilon_of(both, DELTA) > 75


def test_parts_of_all_kinds_compose():
    parts = [
        steps(0.01, 50, picks(4, 0.3), noise(1.2)),
        steps(0.02, 30, picks(2, 0.2, "pure"), noise(1.5)),
        steps(0.05, 20, noise(2.0)),
        ComposedDpEvent([picks(2, 0.1), noise(20.0)]),
        picks(1, 0.05, "pure"),
    ]
    whole = epsilon_of(ComposedDpEvent(parts), DELTA)
    assert whole == epsilon_of(ComposedDpEvent(parts[::-1]), DELTA)
    assert max(epsilon_of(part, DELTA) for part in parts) < whole
    assert whole < sum(epsilon_of(part, DELTA / len(parts)) for part in parts)
    twice = SelfComposedDpEvent(ComposedDpEvent(parts), 2)
    assert whole < epsilon_of(twice, DELTA) < 2 * epsilon_of(ComposedDpEvent(parts), DELTA / 2)


def test_a_sample_keeps_the_rho_of_what_is_done_to_it():
    step = [picks(3, 0.4), picks(2, 0.1, "pure"), noise(2.0)]
    expected = 3 * 0.4**2 / 8 + 2 * pure_rho(0.1) + 1 / 8
    assert rho_of(steps(0.1, 1, *step)) == pytest.approx(expected)
    assert rho_of(ComposedDpEvent(step)) == pytest.approx(expected)


def test_the_transform_errs_on_the_private_side_at_a_hundred_thousand_steps():
    guarantee, count = 1e-3, 100_000
    wins = np.arange(count + 1)
    losses = (2 * wins - count) * guarantee
    chances = binom.pmf(wins, count, 1 / (1 + math.exp(-guarantee)))
    curve = EventCurve(picks(count, guarantee, "pure"))
    for epsilon in (0.5, 1.0, 1.6, 2.1):
        over = losses > epsilon
        exact = chances[over] @ -np.expm1(epsilon - losses[over])
        assert exact <= curve.delta_at(epsilon) <= exact * (1 + 1e-3) + 1e-8


@pytest.mark.parametrize(
    ("std", "rate", "count"),
    [(0.3, 0.5, 10_000), (0.3, 1e-5, 100_000), (1000.0, 0.5, 10), (1000.0, 1e-5, 100_000)],
)
def test_extreme_plans_are_priced_with_bounded_work(std, rate, count):
    event = steps(rate, count, picks(8, 0.5 / std), noise(std))
    grid = bound(event, LatticeCurve)
    assert grid.deltas.size <= 2**20
    spent = epsilon_of(event, DELTA)
    assert math.isfinite(spent)
    assert spent <= bound(event, RenyiCurve).epsilon_at(DELTA)
    assert spent >= epsilon_of(steps(rate, count, noise(std)), DELTA) - 1e-12
    assert grid.delta_at(spent) <= DELTA * (1 + 1e-9) or spent < grid.epsilon_at(DELTA)


@pytest.mark.parametrize(
    "event",
    [
        ComposedDpEvent([noise(1e-3), picks(1, 0.5, "pure")]),
        ComposedDpEvent([picks(1, 0.5), noise(1e-3)]),
        ComposedDpEvent([picks(1, 0.5), noise(0.02)]),
        steps(0.1, 10, noise(1e-9)),
        steps(0.1, 10, picks(4, 500.0)),
        steps(0.1, 10, noise(1e-2, neighbours="replace-one")),
    ],
    ids=str,
)
def test_what_hardly_protects_costs_a_lot(event):
    assert epsilon_of(event, 1e-3) > 500
    assert delta_of(event, 1.0) > 0.09


def test_what_hardly_tells_costs_next_to_nothing():
    for event in (steps(1e-15, 10, noise(1.0)), steps(0.1, 10, picks(4, 1e-9), noise(1e9))):
        assert delta_of(event, 0.0) < 1e-8
    assert epsilon_of(picks(4, 1e-12), 0.0) == pytest.approx(4e-12)


def test_more_picks_than_a_curve_is_made_for_are_priced_by_their_divergence():
    event = steps(0.01, 10, picks(5000, 0.01), noise(1.0))
    assert all(not isinstance(found, LatticeCurve) for found in Parts.of(event).bounds())
    fewer = steps(0.01, 10, picks(500, 0.01), noise(1.0))
    assert epsilon_of(fewer, DELTA) < epsilon_of(event, DELTA) < math.inf


def exponential_steps(count, share=0.5):
    def make(level):
        selection = picks(count, 2 / level * math.sqrt(share / count))
        return steps(0.01, 1000, selection, noise(level / math.sqrt(1 - share)))

    return make


def pure_steps(count, share=0.5):
    def make(level):
        target = share / (2 * level**2)
        epsilon = brentq(lambda e: count * pure_rho(e) - target, 0, 10 + 2 * target)
        return steps(0.01, 1000, picks(count, epsilon, "pure"), noise(level / math.sqrt(1 - share)))

    return make


PLANS = {
    "noise": lambda level: steps(0.01, 1000, noise(level)),
    "one exponential pick": exponential_steps(1),
    "64 exponential picks": exponential_steps(64),
    "8 pure picks": pure_steps(8),
    "replaced records": lambda level: steps(
        0.01, 200, noise(level, neighbours="replace-one", sensitivity=2.0)
    ),
    "epochs": lambda level: SelfComposedDpEvent(
        ComposedDpEvent([picks(4, 1 / level), noise(level)]), 20
    ),
}


@pytest.mark.parametrize(
    ("plan", "epsilon"), [*((plan, 1.0) for plan in PLANS), ("noise", 0.05), ("noise", 20.0)]
)
def test_plans_are_calibrated_within_budget_and_tightly_in_few_steps(plan, epsilon, monkeypatch):
    make, budget = PLANS[plan], PrivacyBudget(epsilon, DELTA)
    priced = []

    def counted(event, delta):
        priced.append(event)
        return accounting.epsilon_of(event, delta)

    monkeypatch.setattr(calibration, "epsilon_of", counted)
    level = calibrate(make, budget, (0.8, 1.6))
    assert make(level) in priced
    assert len(priced) <= 6
    assert (1 - 1e-5) * epsilon <= epsilon_of(make(level), DELTA) <= epsilon
    assert delta_of(make(level), epsilon) <= DELTA


def test_an_event_that_was_priced_is_not_convolved_again():
    event = PLANS["64 exponential picks"](1.234)
    spent = epsilon_of(event, DELTA)
    before = composition._grid.cache_info()
    curve = EventCurve(PLANS["64 exponential picks"](1.234))
    assert curve.epsilon_at(DELTA) == spent
    assert curve.delta_at(spent) <= DELTA * (1 + 1e-9)
    assert composition._grid.cache_info().misses == before.misses


def test_a_single_pure_pick_has_the_curve_of_randomised_response():
    points = np.array([0.0, 0.3, 0.9])
    expected = (math.e - np.exp(points)) / (1 + math.e)
    np.testing.assert_allclose(JointStep.of([PurePicks(1.0)]).curve().at(points), expected)
    exact = np.array([gaussian_delta(0.7, e) for e in points])
    np.testing.assert_allclose(GaussianCurve(0.7).at(points), exact, rtol=1e-9)

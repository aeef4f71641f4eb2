"""One list of calibrated mechanisms, many properties.

Statistical tests run on fixed seeds and allow five standard errors, or p = 1e-6.
"""

import dataclasses
import functools
import importlib
import inspect
import itertools
import math
import pickle
import pkgutil
import time
from fractions import Fraction

import dp_accounting
import mpmath
import numpy as np
import pytest
from dp_accounting import get_epsilon_gaussian, get_sigma_gaussian
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

import skdp.mechanisms
from skdp._random import RandomSource
from skdp.mechanisms import (
    AdditiveMechanism,
    GaussianMechanism,
    L2LaplaceMechanism,
    LaplaceMechanism,
)
from skdp.mechanisms.additive import EPSILON_CAP, PureMechanism
from skdp.mechanisms.gaussian_selection import GaussianTopK
from skdp.mechanisms.gaussian_table import width_of
from skdp.privacy.budget import Neighbours, PrivacyBudget, Sensitivity
from skdp.privacy.gaussian_curve import gaussian_delta

FALSE_ALARM = 1e-6
PURE, APPROXIMATE = PrivacyBudget(1.0), PrivacyBudget(1.0, 1e-6)
KINDS = {LaplaceMechanism: PURE, L2LaplaceMechanism: PURE, GaussianMechanism: APPROXIMATE}


def sensitivity_for(kind, value=0.7, neighbours=Neighbours.REPLACE_ONE):
    return Sensitivity(value, kind.required_norm, neighbours)


def make(kind, size=3, value=0.7, budget=None):
    return kind.calibrated(sensitivity_for(kind, value), budget or KINDS[kind], size=size)


INSTANCES = [
    *(make(kind, size) for kind in KINDS for size in (1, 2, 3, 18, 1000)),
    *(make(kind, 5, budget=PrivacyBudget(0.01, budget.delta)) for kind, budget in KINDS.items()),
    *(make(kind, 5, budget=PrivacyBudget(12.0, budget.delta)) for kind, budget in KINDS.items()),
    *(make(kind, 4, value) for kind in KINDS for value in (1e-12, 1e9)),
    make(LaplaceMechanism, 4, budget=APPROXIMATE),
    make(L2LaplaceMechanism, 4, budget=APPROXIMATE),
    make(GaussianMechanism, 4, budget=PrivacyBudget(0.1, 0.3)),
]


def name_of(mechanism):
    kind = type(mechanism).__name__.removesuffix("Mechanism")
    budget = mechanism.budget
    return (
        f"{kind}-{mechanism.size}-{mechanism.sensitivity.value:g}-{budget.epsilon}-{budget.delta}"
    )


every_mechanism = pytest.mark.parametrize("mechanism", INSTANCES, ids=name_of)
every_kind = pytest.mark.parametrize("kind", KINDS)


def noise_of(mechanism, count, seed=0):
    rng = RandomSource.from_seed(seed)
    return np.array([mechanism.release(np.zeros(mechanism.size), rng) for _ in range(count)])


def all_subclasses(cls):
    return {cls}.union(*map(all_subclasses, cls.__subclasses__()))


def test_no_public_calibrated_mechanism_is_missing_from_the_list():
    for module in pkgutil.walk_packages(skdp.mechanisms.__path__, "skdp.mechanisms."):
        importlib.import_module(module.name)
    concrete = {
        cls
        for cls in all_subclasses(AdditiveMechanism)
        if not inspect.isabstract(cls)
        and not cls.__name__.startswith("_")
        and cls.__module__.startswith("skdp.")
    }
    assert concrete == {type(mechanism) for mechanism in INSTANCES}


# --- what a mechanism is


@every_mechanism
def test_an_instance_is_a_public_frozen_value(mechanism):
    cls = type(mechanism)
    again = cls.calibrated(mechanism.sensitivity, mechanism.budget, size=mechanism.size)
    assert again == mechanism
    assert hash(again) == hash(mechanism)
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism
    with pytest.raises(dataclasses.FrozenInstanceError):
        mechanism.size = 1


@every_kind
def test_the_guarantee_is_documented_and_its_theorem_has_a_source(kind):
    assert "Guarantees\n    ----------" in kind.__doc__
    assert any(year in make(kind).theorem for year in ("(2006)", "(2011)", "(2018)"))


@every_kind
@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_a_sensitivity_in_another_norm_is_refused(kind, norm):
    sensitivity = Sensitivity(1.0, norm, Neighbours.REPLACE_ONE)
    if norm == kind.required_norm:
        assert kind.calibrated(sensitivity, KINDS[kind], size=2).sensitivity is sensitivity
    else:
        with pytest.raises(ValueError, match=f"needs a sensitivity in the {kind.required_norm}"):
            kind.calibrated(sensitivity, KINDS[kind], size=2)


@every_kind
@pytest.mark.parametrize("size", [0, -1, 1.5])
def test_a_size_that_is_no_count_is_refused(kind, size):
    with pytest.raises(ValueError, match="size"):
        make(kind, size)


# --- what is released


@every_mechanism
def test_released_values_lie_on_a_power_of_two_grid(mechanism):
    assert math.frexp(mechanism.grid)[0] == 0.5
    value = np.linspace(-1, 1, mechanism.size) / 3
    released = mechanism.release(value, RandomSource.from_seed(1))
    integers = released / mechanism.grid
    assert released.dtype == np.float64
    np.testing.assert_array_equal(integers, np.rint(integers))
    assert np.abs(integers).max() > 100


@every_kind
def test_the_shape_is_kept_and_a_wrong_size_refused(kind):
    mechanism, rng = make(kind, 6), RandomSource.from_system()
    assert mechanism.release(np.zeros((2, 3)), rng).shape == (2, 3)
    assert mechanism.release([[0.0]] * 6, rng).shape == (6, 1)
    with pytest.raises(ValueError, match="6 elements"):
        mechanism.release(np.zeros(5), rng)


@every_kind
def test_noise_is_fresh_and_a_seed_repeats_it(kind):
    mechanism = make(kind, 4)
    first, second = noise_of(mechanism, 2)
    assert not np.any(first == second)
    np.testing.assert_array_equal(noise_of(mechanism, 1)[0], first)
    system = [mechanism.release(np.zeros(4), RandomSource.from_system()) for _ in range(2)]
    assert not np.any(system[0] == system[1])


@every_mechanism
def test_the_release_is_the_rounded_value_plus_the_noise(mechanism):
    value = np.linspace(-5, 5, mechanism.size) * mechanism.sensitivity.value / 7
    released = mechanism.release(value, RandomSource.from_seed(2))
    noise = mechanism.release(np.zeros(mechanism.size), RandomSource.from_seed(2))
    np.testing.assert_allclose(released - noise, value, atol=0.51 * mechanism.grid, rtol=1e-9)


@every_mechanism
@pytest.mark.parametrize("extreme", [1e300, -1e300, 5e-324, math.inf, -math.inf, math.nan])
def test_extreme_values_neither_warn_nor_raise_nor_leave_the_grid(mechanism, extreme):
    value = np.full(mechanism.size, extreme)
    with np.errstate(all="raise"):
        released = mechanism.release(value, RandomSource.from_seed(3))
    assert np.all(np.isfinite(released))
    assert np.all(np.abs(released) <= 2.0**62 * mechanism.grid)
    if abs(extreme) > 1:
        assert np.all(np.sign(released) == np.sign(extreme))


@every_kind
def test_what_was_released_does_not_show_in_the_low_bits(kind):
    """Mironov (2012): floating-point noise added to 0 and to 1 has different last bits."""
    mechanism = make(kind, 1000, value=1.0)
    for value in (0.0, 1.0, 1 / 3):
        released = mechanism.release(np.full(1000, value), RandomSource.from_seed(4))
        integers = np.rint(released / mechanism.grid).astype(np.int64)
        assert stats.chisquare(np.bincount(integers % 8, minlength=8)).pvalue > FALSE_ALARM
        near = np.abs(released - value) < mechanism.noise_scale
        for level in (2, 4):
            multiples = int(np.sum(integers[near] % level == 0))
            chance = stats.binomtest(multiples, int(near.sum()), 1 / level).pvalue
            assert chance > FALSE_ALARM


# --- what it costs


@every_mechanism
def test_rounding_is_counted_in_the_sensitivity(mechanism):
    declared, total = mechanism.sensitivity, mechanism.total_sensitivity
    power = {"l1": 1.0, "l2": 0.5}[declared.norm]
    assert total.norm == declared.norm
    assert total.neighbours is declared.neighbours
    assert total.value >= declared.value + mechanism.grid * mechanism.size**power
    assert total.value <= declared.value * 1.001


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(list(KINDS)),
    st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3),
    st.lists(st.floats(-1, 1), min_size=3, max_size=3),
)
def test_two_vectors_within_the_sensitivity_stay_within_the_total_on_the_grid(kind, start, move):
    mechanism = make(kind)
    order = {"l1": 1, "l2": 2}[kind.required_norm]
    length = np.linalg.norm(move, order)
    if length > 1e-3:
        first = np.array(start)
        second = first + np.array(move) * (0.7 * (1 - 1e-12) / length)
        change = mechanism._on_grid(first) - mechanism._on_grid(second)
        within = mechanism.total_sensitivity.value / mechanism.grid
        assert np.linalg.norm(change.astype(float), order) <= within


@every_mechanism
def test_the_budget_is_kept(mechanism):
    budget = mechanism.budget
    assert mechanism.precision_delta < 1e-25
    assert mechanism.delta_at(budget.epsilon) <= max(budget.delta, mechanism.precision_delta)
    assert mechanism.epsilon_at(max(budget.delta, mechanism.precision_delta)) <= budget.epsilon


@every_mechanism
def test_the_two_curves_are_inverse_and_monotone(mechanism):
    least = mechanism.delta_at(math.inf)
    assert mechanism.epsilon_at(0.0) == math.inf
    assert mechanism.epsilon_at(least / 2) == math.inf
    assert mechanism.epsilon_at(1.0) == 0.0
    deltas = [2 * least, 1e-20, 1e-12, 1e-6, 1e-3, 0.1, 0.3]
    epsilons = [mechanism.epsilon_at(delta) for delta in deltas]
    for delta, epsilon in zip(deltas, epsilons, strict=True):
        assert mechanism.delta_at(epsilon) <= delta
        if epsilon > 1e-6:
            assert mechanism.delta_at(epsilon * (1 - 1e-6)) > delta or delta < 1e-19
    assert all(a >= b for a, b in itertools.pairwise(epsilons))
    curve = [mechanism.delta_at(epsilon) for epsilon in np.linspace(0, 60, 121)]
    assert all(a >= b for a, b in itertools.pairwise(curve))


@every_kind
@pytest.mark.parametrize("wrong", [-1e-9, 1.1, math.nan])
def test_a_question_out_of_range_is_refused(kind, wrong):
    with pytest.raises(ValueError, match="delta must be in"):
        make(kind).epsilon_at(wrong)
    with pytest.raises(ValueError, match="epsilon must be at least 0"):
        make(kind).delta_at(-abs(wrong))


@pytest.mark.parametrize(
    "mechanism", [m for m in INSTANCES if isinstance(m, PureMechanism)], ids=name_of
)
def test_pure_noise_falls_by_no_more_than_epsilon_over_the_total_sensitivity(mechanism):
    """In exact arithmetic, on the rate that is drawn; the triangle inequality does the rest."""
    root = Fraction(math.isqrt(mechanism.size << 120) + 1, 2**60)
    rounding = {"l1": Fraction(mechanism.size), "l2": root}[mechanism.required_norm]
    reach = Fraction(mechanism.sensitivity.value) / Fraction(mechanism.grid) + rounding
    loss = Fraction(mechanism.rate) * reach
    assert mechanism.epsilon * (1 - 1e-12) < loss <= Fraction(mechanism.epsilon)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 2.5])
def test_the_pure_curve_is_randomised_response(epsilon):
    """Its pair by hand: P = (e, 1)/(1 + e), Q = (1, e)/(1 + e)."""
    mechanism = make(L2LaplaceMechanism, 5, budget=PrivacyBudget(1.0))
    p, q = math.e / (1 + math.e), 1 / (1 + math.e)
    by_hand = max(0.0, p - math.exp(epsilon) * q) + max(0.0, q - math.exp(epsilon) * p)
    assert mechanism.delta_at(epsilon) == pytest.approx(by_hand, rel=1e-12, abs=1e-15)
    assert make(L2LaplaceMechanism).delta_at(0.0) == pytest.approx(math.tanh(0.5))


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 1.7])
def test_the_curve_of_the_discrete_gaussian_itself_is_below_the_bound(epsilon):
    """One coordinate: sum over z of (P(z) - e^epsilon P(z - shift))_+, to forty digits.

    The summand changes sign once, so it is a difference of two tails, each of them an integral
    plus one Euler-Maclaurin term (the next is of relative order width^-4).
    """
    mechanism = make(GaussianMechanism, 1, value=0.75)
    step = mechanism._design[1]
    assert mechanism.noise_scale == width_of(step) * mechanism.grid
    with mpmath.workdps(60):
        w = mpmath.sqrt(mpmath.mpf(1024) ** 2 * (1 + 128**2 + step**2))
        shift = math.floor(mechanism.total_sensitivity.value / mechanism.grid)
        start = mpmath.ceil(w**2 * epsilon / shift + mpmath.mpf(shift) / 2)

        def tail(first):
            at = (first - mpmath.mpf(1) / 2) / w
            density = mpmath.exp(-(at**2) / 2) / mpmath.sqrt(2 * mpmath.pi)
            return mpmath.erfc(at / mpmath.sqrt(2)) / 2 - at * density / (24 * w**2)

        # P is centred at `shift` and Q at 0; from `start` on, P is more than e^epsilon Q.
        exact = tail(start - shift) - mpmath.exp(epsilon) * tail(start)
        bound = mechanism.delta_at(epsilon)
        assert exact < bound < exact * (1 + 1e-7)


def test_the_counted_slack_is_that_of_the_discrete_gaussian():
    """log of discrete over rounded Gaussian is at most (t^2 + 1)/(24 w^2) within t widths."""
    with mpmath.workdps(60):
        w = mpmath.mpf(64)
        for t in (0, 1, 5, 14):
            z = t * w
            tails = [mpmath.erfc((z + side) / (w * mpmath.sqrt(2))) / 2 for side in (-0.5, 0.5)]
            discrete = mpmath.exp(-(z**2) / (2 * w**2)) / (w * mpmath.sqrt(2 * mpmath.pi))
            ratio = abs(mpmath.log(discrete / (tails[0] - tails[1])))
            assert ratio <= (t**2 + 1) / (24 * w**2)
            assert ratio >= (t**2 - 1) / (24 * w**2) * 0.99
        outside = mpmath.erfc(mpmath.mpf(14 - 1e-6) / mpmath.sqrt(2))
    mechanism = make(GaussianMechanism, 1)
    assert mechanism._discreteness >= (14**2 + 1) / (24 * width_of(2**13) ** 2)
    assert mechanism.total_variation >= 3 * 2.0**-115.8 + outside


# --- Gaussian calibration


def test_gaussian_noise_at_epsilon_one_is_4_22_sensitivities():
    for size in (1, 100):
        ratio = make(GaussianMechanism, size, value=1.0).noise_scale
        assert 4.2246 < ratio < 4.2247 * (1 + 2.0**-12)


@settings(max_examples=60, deadline=None)
@given(st.floats(0.01, 20), st.floats(-12, -1), st.integers(1, 10**4))
def test_gaussian_noise_is_never_below_the_analytic_and_hardly_above(epsilon, log_delta, size):
    delta = 10.0**log_delta
    budget = PrivacyBudget(epsilon, delta)
    mechanism = make(GaussianMechanism, size, budget=budget)
    ratio = mechanism.noise_scale / mechanism.total_sensitivity.value
    least = get_sigma_gaussian(epsilon, delta)
    assert ratio >= least * (1 - 1e-9)
    assert ratio <= least * (1 + 2.0**-12)
    assert mechanism.epsilon_at(delta) >= get_epsilon_gaussian(ratio, delta) * (1 - 1e-9)
    assert mechanism.epsilon_at(delta) <= epsilon


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(list(KINDS)),
    st.floats(0.01, 20),
    st.floats(1.0, 2.0),
    st.integers(1, 1000),
)
def test_less_privacy_and_less_sensitivity_need_less_noise(kind, epsilon, factor, size):
    delta = KINDS[kind].delta
    mechanism = make(kind, size, 1.0, PrivacyBudget(epsilon, delta))
    looser = make(kind, size, 1.0, PrivacyBudget(epsilon * factor, delta))
    wider = make(kind, size, factor, PrivacyBudget(epsilon, delta))
    assert looser.noise_scale <= mechanism.noise_scale * (1 + 2.0**-12)
    assert wider.noise_scale >= mechanism.noise_scale * (1 - 2.0**-12)
    if isinstance(mechanism, GaussianMechanism):
        laxer = make(kind, size, 1.0, PrivacyBudget(epsilon, delta * factor))
        assert laxer.noise_scale <= mechanism.noise_scale * (1 + 2.0**-12)


def test_gaussian_noise_without_delta_is_refused():
    with pytest.raises(ValueError, match="needs delta > 0"):
        make(GaussianMechanism, budget=PURE)


# --- the ends of the range


@every_kind
def test_a_larger_epsilon_than_the_cap_is_calibrated_as_the_cap(kind):
    scales = {
        make(kind, budget=PrivacyBudget(epsilon, 1e-6 * (kind is GaussianMechanism))).noise_scale
        for epsilon in (EPSILON_CAP, 100.0, 1e6)
    }
    assert EPSILON_CAP == 40
    assert len(scales) == 1


@pytest.mark.parametrize(
    ("kind", "budget", "size"),
    [
        (LaplaceMechanism, PrivacyBudget(1e-15), 1000),
        (L2LaplaceMechanism, PrivacyBudget(1e-14), 1000),
        (GaussianMechanism, PrivacyBudget(1.0, 1e-32), 1000),
        (GaussianMechanism, PrivacyBudget(1e-10, 1e-6), 1000),
    ],
    ids=["laplace", "l2-laplace", "gaussian delta", "gaussian epsilon"],
)
def test_a_budget_that_finite_precision_uses_up_is_refused(kind, budget, size):
    with pytest.raises(ValueError, match="too small"):
        make(kind, size, budget=budget)


@every_kind
@pytest.mark.parametrize("epsilon", [1e-4, 40.0])
@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_extreme_budgets_still_release_with_the_declared_scale(kind, epsilon, size):
    mechanism = make(kind, size, budget=PrivacyBudget(epsilon, KINDS[kind].delta))
    assert mechanism.total_sensitivity.value < 1.05 * mechanism.sensitivity.value
    noise = noise_of(mechanism, max(3, 60 // size))
    assert 0.1 < np.sqrt(np.mean(noise**2)) / mechanism.standard_deviation < 3


@every_kind
def test_a_sensitivity_beyond_the_grid_is_refused_and_one_near_it_served(kind):
    for value in (5e-324, 1e-310, 1e300):
        with pytest.raises(ValueError, match="range of the grid"):
            make(kind, value=value)
    for value in (1e-250, 1e250):
        mechanism = make(kind, value=value)
        assert mechanism.noise_scale > value
        assert np.all(np.isfinite(mechanism.release(np.full(3, value), RandomSource.from_system())))


# --- the law of the noise


@functools.cache
def sample(kind, size):
    return noise_of(make(kind, size), {1000: 60}.get(size, 1000), seed=size)


@every_kind
@pytest.mark.parametrize("size", [1, 2, 18, 1000])
def test_moments_are_as_declared(kind, size):
    mechanism, noise = make(kind, size), sample(kind, size)
    norms, squares = np.linalg.norm(noise, axis=1), np.mean(noise**2, axis=1)
    for found, declared in (
        (norms, mechanism.expected_norm),
        (squares, mechanism.standard_deviation**2),
        (noise.ravel(), 0.0),
    ):
        assert abs(found.mean() - declared) < 5 * found.std() / math.sqrt(found.size)


@every_kind
@pytest.mark.parametrize("size", [1, 2, 18])
def test_coordinates_have_the_declared_survival(kind, size):
    survival = make(kind, size).survival
    last = sample(kind, size)[:, -1]
    assert stats.kstest(last, lambda t: 1 - survival(t)).pvalue > FALSE_ALARM


@every_mechanism
def test_survival_is_a_symmetric_tail_of_any_shape(mechanism):
    t = np.array([[0.0, 0.1, 1.0], [3.0, 8.0, 1e3]]) * mechanism.noise_scale
    tail = mechanism.survival(t)
    assert tail.shape == t.shape
    assert np.shape(mechanism.survival(0.0)) == ()
    assert tail[0, 0] == pytest.approx(0.5)
    assert np.all(np.diff(tail.ravel()) <= 0)
    np.testing.assert_allclose(mechanism.survival(-t), 1 - tail, rtol=1e-12)


@pytest.mark.parametrize("size", [2, 3, 18, 400])
@pytest.mark.parametrize("t", [0.2, 2.0, 9.0, 30.0])
def test_the_spherical_tail_is_the_radial_integral(size, t):
    """E over r ~ Gamma(d) of (1/2) I_{1 - t^2/r^2}((d-1)/2, 1/2) on r > t."""

    def integrand(r):
        return special.betainc((size - 1) / 2, 0.5, 1 - (t / r) ** 2) / 2 * stats.gamma.pdf(r, size)

    lower = max(t, stats.gamma.ppf(1e-20, size))
    upper = max(stats.gamma.isf(1e-25, size), t + 60)
    expected = integrate.quad(integrand, lower, upper, limit=500, epsrel=1e-10)[0]
    mechanism = make(L2LaplaceMechanism, size)
    found = float(mechanism.survival(t * mechanism.noise_scale))
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("t", [-3.0, -0.5, 0.0, 0.5, 3.0])
def test_tails_with_closed_forms_agree_with_scipy(t):
    pairs = [
        (make(LaplaceMechanism, 7), stats.laplace),
        (make(L2LaplaceMechanism, 1), stats.laplace),
        (make(GaussianMechanism, 7), stats.norm),
    ]
    for mechanism, law in pairs:
        assert float(mechanism.survival(t * mechanism.noise_scale)) == pytest.approx(law.sf(t))


def test_the_mean_norm_of_coordinate_laplace_noise_is_its_integral():
    def length(y, x):
        return np.hypot(x, y) * np.exp(-x - y)

    plane = integrate.dblquad(length, 0, 50, 0, 50, epsabs=1e-9)[0]
    for size, expected in ((1, 1.0), (2, plane)):
        mechanism = make(LaplaceMechanism, size)
        assert mechanism.expected_norm == pytest.approx(expected * mechanism.noise_scale, rel=1e-8)


def test_l2_laplace_has_the_smaller_mean_norm_up_to_seventeen_dimensions():
    def better(size):
        spherical = make(L2LaplaceMechanism, size, budget=PURE)
        gaussian = make(GaussianMechanism, size, budget=APPROXIMATE)
        return spherical.expected_norm < gaussian.expected_norm

    assert [better(size) for size in (1, 10, 17, 18, 100)] == [True, True, True, False, False]


def test_l2_laplace_in_one_dimension_is_the_laplace_mechanism():
    coordinate, spherical = make(LaplaceMechanism, 1), make(L2LaplaceMechanism, 1)
    assert coordinate.noise_scale == spherical.noise_scale
    np.testing.assert_array_equal(noise_of(coordinate, 5), noise_of(spherical, 5))


# --- what an accountant is told


@every_mechanism
def test_the_event_says_what_was_run(mechanism):
    event, total = mechanism.event, mechanism.total_sensitivity
    assert event.sensitivity == total.value
    assert event.norm.value == total.norm
    assert event.neighbours is Neighbours.REPLACE_ONE
    assert event.delta >= mechanism.precision_delta
    assert event.delta < 1e-20
    if isinstance(mechanism, PureMechanism):
        assert event.epsilon == mechanism.epsilon
        assert event.noise_scale == mechanism.noise_scale
    else:
        assert event.noise_std == pytest.approx(mechanism.noise_scale, rel=1e-6)


@pytest.mark.parametrize("size", [1, 1000, 10**8])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 15.0])
def test_the_gaussian_event_is_never_below_the_mechanism_s_own_curve(size, epsilon):
    mechanism = make(GaussianMechanism, size, budget=PrivacyBudget(epsilon, 1e-6))
    event = mechanism.event
    mu = event.sensitivity / event.noise_std
    for at in (0.0, 0.01, epsilon / 2, epsilon, 2 * epsilon, 10 * epsilon, 60.0):
        assert gaussian_delta(mu, at) + event.delta >= mechanism.delta_at(at) * (1 - 1e-12)


@pytest.mark.parametrize("budget", [(40.0, 0.5), (5.0, 1 - 1e-9), (1e-6, 1 - 2.0**-53)])
def test_noise_too_small_for_a_gaussian_event_is_called_not_private(budget):
    mechanism = make(GaussianMechanism, 2, budget=PrivacyBudget(*budget))
    assert isinstance(mechanism.event, dp_accounting.NonPrivateDpEvent)


# --- speed


@every_kind
def test_calibration_and_release_take_less_than_a_millisecond(kind):
    rng, value = RandomSource.from_system(), np.zeros(10)

    def seconds():
        start = time.perf_counter()
        make(kind, 10).release(value, rng)
        return time.perf_counter() - start

    assert min(seconds() for _ in range(200)) < 1e-3


@pytest.mark.parametrize("size", [96, np.uint8(96), np.int16(96), np.int64(96)])
def test_noise_of_sizes_of_any_type_is_the_same(size):
    sensitivity, budget = Sensitivity(1.0, "l2", Neighbours.ZERO_OUT), PrivacyBudget(1.0, 1e-6)
    for kind in (L2LaplaceMechanism, GaussianMechanism):
        plain, given = (kind.calibrated(sensitivity, budget, size=n) for n in (96, size))
        assert type(given.size) is int
        one, other = (m.release(np.zeros(96), RandomSource.from_seed(0)) for m in (plain, given))
        assert np.array_equal(one, other)
    top = GaussianTopK(sensitivity, size, np.uint8(9), noise_std=1.0)
    assert (type(top.size), type(top.n_selected)) == (int, int)

"""The choice of alpha from public facts: monotone in the budget, and a minimum of what it says."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from skdp._random import RandomSource
from skdp.linear_model import PrivateElasticNetClassifier
from skdp.mechanisms import GaussianMechanism, L2LaplaceMechanism
from skdp.objectives import Huber, HuberHinge, Logistic, Multinomial, Squared, SquaredHinge
from skdp.privacy.budget import Neighbours, PrivacyBudget, Sensitivity
from skdp.stability import Domain, GradientDiameterBound, PublishedBound
from skdp.stability.noise import NOISE_RULES
from skdp.stability.output_perturbation import planned_penalty
from skdp.stability.tradeoff import TYPICAL_ENERGY, PlannedFit
from tests.support.neighbours import CASES, recorded

LOSSES = (Logistic(), Multinomial(4), HuberHinge(), SquaredHinge(), Huber(2.0), Squared(3.0))
UNIT = Sensitivity(1.0, "l2", Neighbours.REPLACE_ONE)


def chosen_alpha(loss, domain, epsilon, delta, *, noise="auto", l1_ratio=0.15, bound=None):
    penalty = planned_penalty(
        loss,
        l1_ratio,
        domain,
        PrivacyBudget(epsilon, delta),
        tol=1e-8,
        bound=bound or GradientDiameterBound(),
        noise=NOISE_RULES[noise],
    )
    return penalty.alpha


domains = st.builds(
    Domain,
    n_samples=st.integers(2, 100_000),
    n_features=st.integers(1, 200),
    row_norm=st.floats(0.1, 10),
    intercept_scaling=st.none() | st.floats(0.1, 3),
    max_weight=st.floats(0.2, 20),
)
noises = st.sampled_from(
    [(noise, delta) for noise in NOISE_RULES for delta in (0.0, 1e-6, 0.01)
     if noise != "gaussian" or delta > 0]
)  # fmt: skip


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    loss=st.sampled_from(LOSSES),
    domain=domains,
    log_epsilons=st.tuples(st.floats(-4, 4), st.floats(0, 1)),
    noise=noises,
    l1_ratio=st.sampled_from([0.0, 0.5]),
    bound=st.sampled_from([GradientDiameterBound(), PublishedBound()]),
)
def test_more_epsilon_never_asks_for_more_penalty(
    loss, domain, log_epsilons, noise, l1_ratio, bound
):
    start, more = log_epsilons
    rules = {"noise": noise[0], "l1_ratio": l1_ratio, "bound": bound}
    before, after = (
        chosen_alpha(loss, domain, math.exp(at), noise[1], **rules) for at in (start, start + more)
    )
    assert after <= before


@pytest.mark.parametrize(("size", "delta"), [(2, 0.1), (3, 0.05), (5, 0.01), (18, 1e-6)])
def test_nor_where_the_automatic_noise_changes_its_kind(size, delta):
    """Gaussian for a small epsilon, L2-Laplace for a large one."""

    def kind(epsilon):
        return type(NOISE_RULES["auto"](UNIT, PrivacyBudget(epsilon, delta), size))

    low, high = 0.5, 10.0
    assert (kind(low), kind(high)) == (GaussianMechanism, L2LaplaceMechanism)
    while high - low > 1e-4 * low:
        middle = (low + high) / 2
        low, high = (middle, high) if kind(middle) is GaussianMechanism else (low, middle)
    for n in np.unique(np.geomspace(50, 2000, 25).astype(int)):
        domain = Domain(int(n), size - 1, 1.0, 1.0)
        before, after = (chosen_alpha(Logistic(), domain, e, delta) for e in (low, high))
        assert after <= before


@settings(max_examples=20, deadline=None, derandomize=True)
@given(loss=st.sampled_from(LOSSES), domain=domains, more=st.integers(1, 1000))
def test_more_rows_never_ask_for_more_penalty(loss, domain, more):
    assume(domain.n_samples + more > domain.n_samples)
    larger = Domain(
        domain.n_samples + more, domain.n_features, domain.row_norm,
        domain.intercept_scaling, domain.max_weight,
    )  # fmt: skip
    assert chosen_alpha(loss, larger, 1.0, 0.0) <= chosen_alpha(loss, domain, 1.0, 0.0)


def planned(loss, domain, epsilon=1.0):
    def noise_std(strong_convexity):
        distance = loss.gradient_diameter(domain.kappa, domain.max_weight, strong_convexity)
        return distance / (domain.n_samples * strong_convexity * epsilon)

    return PlannedFit(loss, domain, noise_std)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_the_choice_minimises_bias_plus_noise(loss):
    """The bias once more by adaptive quadrature; the grid has steps of 21 %."""
    fit = planned(loss, Domain(3000, 8, 1.0, 1.0))
    best = fit.best_strong_convexity()

    def rise(start, stop):
        bias = quad(lambda s: TYPICAL_ENERGY * fit.energy(math.exp(s)) / 2, start, stop)[0]
        return bias + fit.privacy_loss(math.exp(stop)) - fit.privacy_loss(math.exp(start))

    assert 1e-5 < best < 10
    for factor in (0.3, 0.6, 1.7, 3.0):
        assert rise(math.log(best), math.log(best * factor)) > 0


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("huber", "log_cosh")])
def test_the_energy_bounds_that_of_minimisers(name):
    """lam norm(w)^2 of exact minimisers: random data, and rows that all say the same.

    Not the Huber loss, whose minimisers grow with the labels: its energy is a convention.
    """
    case, rng = CASES[name], np.random.default_rng(0)
    fit = planned(case.loss, Domain(20, 2, 1.0))
    for strong_convexity in np.geomspace(0.003, 30, 12):
        model = case.make(alpha=strong_convexity, l1_ratio=0.0, fit_intercept=False)
        alike = np.tile([1.0, 0.0], (20, 1)), np.full(20, case.labels[-1])
        random = rng.normal(size=(20, 2)), case.draw_labels(rng, 20)
        for data in (alike, random):
            _, minimiser = recorded(model, data)
            assert strong_convexity * np.sum(minimiser**2) <= fit.energy(strong_convexity) * 1.001


def test_the_privacy_loss_is_the_rise_of_a_quadratic_loss():
    """Squared loss on rows of norm kappa: exact, here within 6 standard deviations."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30, 4))
    rows *= 1.5 / np.linalg.norm(rows, axis=1, keepdims=True)
    mechanism = L2LaplaceMechanism.calibrated(UNIT, PrivacyBudget(1.0), size=4)
    fit = PlannedFit(Squared(1.0), Domain(30, 4, 1.5), lambda _: mechanism.standard_deviation)
    source = RandomSource.from_system()
    noise = np.array([mechanism.release(np.zeros(4), source) for _ in range(500)])
    rises = np.mean((noise @ rows.T) ** 2, axis=1) / 2
    deviation = rises.std() / math.sqrt(len(rises))
    assert abs(rises.mean() - fit.privacy_loss(1.0)) <= 6 * deviation


@pytest.mark.parametrize("row_norm", [1e-3, 1.0, 1e3])
def test_the_automatic_alpha_scales_with_the_square_of_the_rows(row_norm):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)), np.arange(50) % 2

    def alpha(size):
        model = PrivateElasticNetClassifier(row_norm=size, intercept_scaling=size, tol=1e-8 * size)
        return model.fit(size * X, y).alpha_

    assert alpha(row_norm) == pytest.approx(alpha(1.0) * row_norm**2, rel=1e-6)

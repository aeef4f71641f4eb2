"""The curve of tilted minimisers against quadrature of the worst case that its proof allows.

Two records, one on either side, with rows at any angle: the attacker picks q_1 and q_2 after b is
drawn. The greatest expectation of g(log-likelihood ratio) is an integral over two or more normal
variables.
"""

import math

import attr
import numpy as np
import pytest
from dp_accounting import dp_event
from scipy.integrate import quad
from scipy.stats import norm

from skdp.exceptions import UnsupportedEventError
from skdp.privacy import PrivacyLedger
from skdp.privacy.accounting import EventCurve, delta_of, epsilon_of, rho_of
from skdp.privacy.event_dicts import event_from_dict, event_to_dict
from skdp.privacy.events import GaussianReleaseDpEvent, accountant_event, relation_of
from skdp.privacy.gaussian_curve import gaussian_delta
from skdp.privacy.objective_curve import ObjectiveCurve, gaussian_overshoot
from skdp.privacy.objective_events import ObjectivePerturbationDpEvent
from skdp.privacy.renyi import ORDERS

MUS = (0.1, 0.5, 2.0)
ANGLES = np.linspace(0.0, math.pi, 7)
# Nodes and weights of the standard normal, for each of several coordinates.
NODES = np.linspace(-8, 8, 321)
WEIGHTS = norm.pdf(NODES) * (NODES[1] - NODES[0])


@pytest.mark.parametrize("mu", MUS)
@pytest.mark.parametrize("epsilon", [-0.5, 0.0, 0.3, 4.0])
def test_overshoot_is_the_integral(mu, epsilon):
    def integrand(t):
        return (t - epsilon) * norm.pdf(t, mu * mu / 2, mu)

    upper = max(epsilon, 0) + mu * mu / 2 + 40 * mu
    middle = min(max(mu * mu / 2, epsilon), upper)
    pieces = [quad(integrand, *ends, epsabs=0)[0] for ends in ((epsilon, middle), (middle, upper))]
    found = gaussian_overshoot(mu, np.array([epsilon]))[0]
    assert found == pytest.approx(sum(pieces), rel=1e-8, abs=1e-290)


def plane():
    first, second = np.meshgrid(NODES, NODES)
    return first.ravel(), second.ravel(), np.outer(WEIGHTS, WEIGHTS).ravel()


def greatest_ratio(mu, angle, slopes):
    """M on the nodes of a plane: rows of length mu / 2 at `angle`, derivatives among `slopes`."""
    along, across, weight = plane()
    rows = (mu / 2 * np.array([1.0, 0.0]), mu / 2 * np.array([math.cos(angle), math.sin(angle)]))
    best = np.zeros_like(along)
    for first in (0.0, *slopes):
        for second in (0.0, *slopes):
            v = first * rows[0] - second * rows[1]
            np.maximum(best, v[0] * along + v[1] * across + v @ v / 2, out=best)
    return best, weight


SLOPES = {1: (-1.0,), 2: (-1.0, 1.0)}
each_branch = pytest.mark.parametrize("branches", [1, 2])
each_mu = pytest.mark.parametrize("mu", MUS)


@each_branch
@each_mu
def test_no_angle_of_two_rows_beats_the_curve(mu, branches):
    curve = ObjectiveCurve(mu, branches, 0.0)
    epsilons = np.array([0.0, 0.1, 0.5, 1.0, 2.0, 4.0])
    claimed, largest = curve.at(epsilons), np.zeros(epsilons.size)
    for angle in ANGLES:
        ratio, weight = greatest_ratio(mu, angle, SLOPES[branches])
        deltas = [weight @ np.maximum(-np.expm1(np.minimum(e - ratio, 0)), 0) for e in epsilons]
        assert (np.array(deltas) <= claimed * (1 + 1e-4) + 1e-12).all()
        largest = np.maximum(largest, deltas)
    # It is attained up to the step from 1 - e^-t to t.
    seen = largest > 1e-9
    assert (largest[seen] >= claimed[seen] / (1 + 1.2 * mu)).all()


@each_branch
@each_mu
def test_no_angle_of_two_rows_beats_the_renyi_divergences(mu, branches):
    curve = ObjectiveCurve(mu, branches, 0.0)
    orders = np.array([2.0, 3.0, 5.0]) if mu > 1 else np.array([2.0, 5.0, 12.0])
    claimed, rho = curve.renyi(orders), curve.rho
    largest = np.zeros(orders.size)
    for angle in ANGLES:
        ratio, weight = greatest_ratio(mu, angle, SLOPES[branches])
        found = np.array([np.log(weight @ np.exp((a - 1) * ratio)) / (a - 1) for a in orders])
        assert (found <= claimed + 1e-7).all()
        assert (found <= rho * orders + 1e-7).all()
        largest = np.maximum(largest, found)
    assert (largest >= 0.8 * claimed - 0.35 * (branches - 1)).all()


def test_three_rows_rise_together_in_the_worst_case():
    """A unit of several rows: any directions, against the curve for the sum of their lengths."""
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(200_000, 3))
    curve, epsilons = ObjectiveCurve(0.9, 1, 0.0), np.array([0.1, 0.5, 1.0])
    for _ in range(10):
        rows = rng.normal(size=(3, 3))
        rows *= 0.3 / np.linalg.norm(rows, axis=1, keepdims=True)
        best = np.zeros(len(draws))
        for chosen in np.ndindex(2, 2, 2):
            v = np.array(chosen) @ rows
            np.maximum(best, draws @ v + v @ v / 2, out=best)
        for epsilon, claimed in zip(epsilons, curve.at(epsilons), strict=True):
            values = np.maximum(-np.expm1(np.minimum(epsilon - best, 0)), 0)
            # Six standard errors are a false alarm at one in a billion.
            assert values.mean() - 6 * values.std() / len(draws) ** 0.5 <= claimed


@pytest.mark.parametrize("n_classes", [3, 6])
def test_softmax_branches_stay_below_the_curve(n_classes):
    """Opposite rows, the same label: derivatives e_k - e_y on either side, scores independent."""
    mu = 0.6
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(100_000, n_classes))
    length = mu / (2 * math.sqrt(2))
    pulls = np.maximum((scores[:, 1:] - scores[:, :1]).max(axis=1), -np.inf)
    ratio = np.maximum(0, 2 * length * pulls + mu * mu / 2)
    curve = ObjectiveCurve(mu, n_classes - 1, 0.0)
    for epsilon in (0.2, 0.6, 1.2):
        values = np.maximum(-np.expm1(np.minimum(epsilon - ratio, 0)), 0)
        slack = 6 * values.std() / len(values) ** 0.5
        assert values.mean() - slack <= curve.delta_at(epsilon)
        assert values.mean() + slack >= 0.4 * curve.delta_at(epsilon)


def test_noise_added_afterwards_is_a_part_of_it():
    """M and an independent N(m^2 / 2, m^2), for opposite rows."""
    mu, second = 0.8, 0.3
    along, across, weight = plane()
    ratio = np.maximum(mu * along + mu * mu / 2, 0) + second * across + second**2 / 2
    curve = ObjectiveCurve(mu, 1, 0.0, second)
    for epsilon in (0.2, 1.0, 2.0):
        exact = weight @ np.maximum(-np.expm1(np.minimum(epsilon - ratio, 0)), 0)
        assert exact <= curve.delta_at(epsilon) <= 3 * exact
    for order in (2.0, 5.0):
        exact = np.log(weight @ np.exp((order - 1) * ratio)) / (order - 1)
        assert exact <= curve.renyi(np.array([order]))[0] <= 1.3 * exact


@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.01])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_calibration_spends_the_budget_and_is_near_plain_gaussian_noise(epsilon, delta):
    found = ObjectiveCurve.calibrated(
        epsilon, delta, branches=1, log_determinant=0.0, second_share=0.01
    )
    assert 0.999 * delta <= found.delta_at(epsilon) <= delta
    free = ObjectiveCurve.calibrated(epsilon, delta, branches=1, log_determinant=0.0)
    assert gaussian_delta(free.mu, epsilon) <= delta
    assert gaussian_delta((1.015 if delta < 1e-3 else 1.06) * free.mu, epsilon) > delta


def test_the_curve_falls_is_convex_and_agrees_with_its_inverse():
    for curve in (ObjectiveCurve(0.3, 1, 0.2), ObjectiveCurve(3.0, 9, 0.1, 0.5)):
        odds = np.linspace(1.0, math.exp(2.0), 400)
        deltas = curve.at(np.log(odds))
        assert deltas[0] <= 1
        assert (np.diff(deltas) <= 1e-13).all()
        assert (np.diff(deltas, 2) >= -1e-9).all()
        for delta in (1e-12, 1e-3, 0.1):
            epsilon = curve.epsilon_at(delta)
            assert curve.delta_at(epsilon) <= delta
            assert curve.delta_at(0.999 * epsilon) > delta
    assert math.isinf(ObjectiveCurve(0.3, 1, 0.2).epsilon_at(0.0))


EVENT = ObjectivePerturbationDpEvent(2.0, "replace-one", 8.0, 1, 0.1, 0.01, 1e-20)


def test_the_event_is_priced_composed_and_written():
    curve = EventCurve(EVENT)
    assert curve.delta_at(1.0) == pytest.approx(EVENT.curve.delta_at(1.0), abs=1e-19)
    assert relation_of(EVENT).value == "replace-one"
    assert event_from_dict(event_to_dict(EVENT)) == EVENT
    assert rho_of(EVENT) == EVENT.curve.rho
    accountant_event(EVENT)
    twice = dp_event.SelfComposedDpEvent(EVENT, 2)
    once = epsilon_of(EVENT, 1e-6)
    noise = GaussianReleaseDpEvent(2.0, "l2", "replace-one", 8.0)
    assert once < epsilon_of(twice, 1e-6) < 2 * epsilon_of(EVENT, 5e-7)
    assert epsilon_of(dp_event.SelfComposedDpEvent(noise, 2), 1e-6) < epsilon_of(twice, 1e-6)
    assert delta_of(dp_event.ComposedDpEvent([EVENT, noise]), 2.0) > delta_of(EVENT, 2.0)


def test_the_composition_of_two_is_no_less_than_the_worst_pair_of_opposite_rows():
    """Both releases from the antipodal pair, c spent on either: their losses add up."""
    mu = EVENT.sensitivity / EVENT.noise_std
    along, across, weight = plane()
    losses = sum(
        np.maximum(mu * z + mu * mu / 2, 0) + EVENT.log_determinant for z in (along, across)
    )
    twice = dp_event.SelfComposedDpEvent(EVENT, 2)
    for epsilon in (0.3, 0.8, 1.5):
        exact = weight @ np.maximum(-np.expm1(np.minimum(epsilon - losses, 0)), 0)
        assert exact <= delta_of(twice, epsilon) <= 1.4 * exact + 1e-9


def test_renyi_divergences_are_finite_at_every_order_and_rise():
    divergences = EVENT.curve.renyi(ORDERS)
    assert np.isfinite(divergences).all()
    assert (np.diff(divergences) > 0).all()


def test_releases_of_a_null_add_up_with_others_of_that_relation_only():
    event = attr.evolve(EVENT, neighbours="zero-out")
    noise = GaussianReleaseDpEvent(2.0, "l2", "zero-out", 8.0)
    both = dp_event.ComposedDpEvent([event, noise])
    assert relation_of(both).value == "zero-out"
    assert delta_of(both, 2.0) > delta_of(event, 2.0) == delta_of(EVENT, 2.0)
    with pytest.raises(UnsupportedEventError, match="mixes the neighbouring relations"):
        delta_of(dp_event.ComposedDpEvent([EVENT, noise]), 2.0)
    with pytest.raises(UnsupportedEventError):
        delta_of(dp_event.PoissonSampledDpEvent(0.1, event), 1.0)


@pytest.mark.parametrize("neighbours", ["replace-one", "zero-out"])
def test_a_ledger_counts_it(tmp_path, neighbours):
    from skdp.linear_model import PrivateElasticNetClassifier

    ledger = PrivacyLedger.create(
        tmp_path / "ledger", epsilon=3.0, delta=1e-5, neighbours=neighbours, filter="renyi"
    )
    model = PrivateElasticNetClassifier(
        epsilon=1.0, delta=1e-6, perturbation="objective", classes=(0, 1), ledger=ledger,
        neighbours=neighbours,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(2, size=60)
    model.fit(X, y)
    assert len(ledger.history()) == 1

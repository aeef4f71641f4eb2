"""What an attacker can do: bounds against closed forms, words against bounds."""

import math
import re
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from skdp.privacy import Neighbours, PrivacyBudget
from skdp.privacy.accounting import EventCurve
from skdp.privacy.events import PureReleaseDpEvent
from skdp.privacy.gaussian_curve import gaussian_delta, gaussian_epsilon
from skdp.privacy.meaning import explain_budget, meaning_in_words
from skdp.privacy.trade_off import BudgetCurve, attack_power, belief_range, privacy_loss_bound

RATES = [0.0, 1e-9, 1e-3, 0.01, 0.1, 0.4, 0.7, 0.999, 1.0]


@dataclass(frozen=True)
class GaussianCurve:
    mu: float

    def delta_at(self, epsilon):
        return gaussian_delta(self.mu, epsilon)

    def epsilon_at(self, delta):
        return gaussian_epsilon(self.mu, delta)


def exact_power(epsilon, delta, rate):
    """1 - f(a) of Wasserman and Zhou (2010) for one pair."""
    steep = 1 - delta - math.exp(epsilon) * rate
    flat = math.exp(-epsilon) * (1 - delta - rate)
    return 1 - max(0.0, steep, flat)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("mu", [0.01, 0.2367, 1.0, 4.0, 20.0])
def test_the_power_against_gaussian_noise_is_that_of_the_likelihood_ratio_test(mu, rate):
    best = norm.cdf(mu + norm.ppf(rate))
    assert attack_power(GaussianCurve(mu), rate) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize(("epsilon", "delta"), [(1, 0), (1, 1e-6), (0.1, 0.01), (5, 1e-3), (40, 0)])
def test_the_power_under_a_bare_pair_is_its_trade_off_function(epsilon, delta, rate):
    found = attack_power(BudgetCurve(PrivacyBudget(epsilon, delta)), rate)
    assert found == pytest.approx(exact_power(epsilon, delta, rate), abs=1e-7)


@settings(deadline=None, max_examples=100)
@given(st.floats(0.02, 6), st.floats(0, 1), st.floats(0.01, 0.99))
def test_no_test_on_gaussian_noise_beats_the_bound(mu, rate, split):
    # A test with two thresholds, which no one would choose, but which the bound must cover.
    upper = norm.isf(rate * split)
    lower = norm.ppf(rate * (1 - split))
    power = norm.sf(upper - mu) + norm.cdf(lower - mu)
    assert power <= attack_power(GaussianCurve(mu), rate) + 1e-9


@settings(deadline=None, max_examples=60)
@given(st.floats(0.02, 6), st.floats(0.001, 0.999))
def test_power_grows_with_the_rate_and_with_mu(mu, rate):
    power = attack_power(GaussianCurve(mu), rate)
    assert power >= rate
    assert attack_power(GaussianCurve(mu), rate * 0.9) <= power + 1e-9
    assert attack_power(GaussianCurve(mu * 0.9), rate) <= power + 1e-9


def test_a_whole_curve_says_more_than_one_of_its_pairs():
    mu = 1 / 4.2247
    pair = BudgetCurve(PrivacyBudget(1.0, 1e-6))
    assert attack_power(GaussianCurve(mu), 0.1) < attack_power(pair, 0.1) - 0.1


def test_the_curve_of_a_pair_is_that_of_randomised_response_with_a_leak():
    curve = BudgetCurve(PrivacyBudget(0.7, 0.02))
    response = EventCurve(PureReleaseDpEvent(0.7, 0.0, 1.0, "l2", "replace-one", 1.0))
    for epsilon in (0.0, 0.3, 0.7, 2.0):
        expected = 0.02 + 0.98 * response.delta_at(epsilon)
        assert curve.delta_at(epsilon) == pytest.approx(expected, rel=1e-12)
        if epsilon < 0.7:
            assert curve.epsilon_at(expected) == pytest.approx(epsilon, abs=1e-12)
    assert curve.epsilon_at(0.0199) == math.inf


@pytest.mark.parametrize("mu", [0.2367, 1.0, 3.0])
@pytest.mark.parametrize("chance", [0.1, 1e-3, 1e-6, 1e-9])
def test_the_privacy_loss_stays_within_its_bound_but_for_the_chance(mu, chance):
    bound = privacy_loss_bound(GaussianCurve(mu), chance)
    # The loss of N(mu, 1) against N(0, 1) is N(mu^2/2, mu^2).
    actual = norm.sf(bound / mu - mu / 2) + norm.cdf(-bound / mu - mu / 2)
    assert chance / 5 < actual <= chance


def test_the_loss_of_a_pure_release_is_bounded_by_its_epsilon():
    assert privacy_loss_bound(BudgetCurve(PrivacyBudget(1.3)), 0.0) == 1.3
    precise = EventCurve(PureReleaseDpEvent(1.3, 1e-35, 1.0, "l2", "replace-one", 1.0))
    assert privacy_loss_bound(precise, 1e-12) == pytest.approx(1.3, abs=1e-6)
    assert privacy_loss_bound(precise, 1e-36) == math.inf


def test_a_bare_pair_bounds_the_loss_by_markov_and_not_by_epsilon():
    # A mechanism with loss l > epsilon of probability p has delta = p (1 - e^(epsilon - l)).
    bound = privacy_loss_bound(BudgetCurve(PrivacyBudget(1.0, 1e-6)), 1e-5)
    chance = 1e-5 / (1 + math.exp(-1))
    assert bound == pytest.approx(1 - math.log1p(-1e-6 / chance), rel=1e-6)


@given(st.floats(0, 50), st.floats(0.01, 0.99))
def test_beliefs_move_by_the_odds(loss, prior):
    low, high = belief_range(loss, prior)
    odds = prior / (1 - prior)
    assert high == pytest.approx(odds * math.exp(loss) / (1 + odds * math.exp(loss)))
    assert low == pytest.approx(odds / math.exp(loss) / (1 + odds / math.exp(loss)))


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan])
def test_rates_and_chances_outside_their_range_are_refused(bad):
    with pytest.raises(ValueError, match="false_positive_rate"):
        attack_power(GaussianCurve(1.0), bad)
    with pytest.raises(ValueError, match="chance"):
        privacy_loss_bound(GaussianCurve(1.0), bad)


def found_in(text):
    """The table of rates and powers, and the two ends of the belief, read back from the words."""
    table = re.findall(r"([\d.]+) % false alarms:\s+([\d.]+) % found", text)
    ends = re.search(r"between ([\d.]+) % and\s+([\d.]+) %", text)
    numbers = {float(rate): float(power) for rate, power in table}
    return numbers, tuple(map(float, ends.groups())) if ends else None


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_the_words_for_a_pure_pair_carry_the_closed_forms(epsilon):
    table, ends = found_in(explain_budget(epsilon))
    for percent in (0.1, 1.0, 10.0):
        exact = 100 * exact_power(epsilon, 0.0, percent / 100)
        assert exact - 1e-6 <= table[percent] <= exact + 0.0101
    share = 100 / (1 + math.exp(-epsilon))
    assert share - 1e-6 <= ends[1] <= share + 0.0101
    assert 100 - share - 0.0101 <= ends[0] <= 100 - share + 1e-6


def test_the_words_for_gaussian_noise_carry_the_closed_forms():
    curve = GaussianCurve(1.0)
    text = meaning_in_words(curve, 1e-6, neighbours=Neighbours.REPLACE_ONE, unit="row")
    table, ends = found_in(text)
    for percent in (0.1, 1.0, 10.0):
        exact = 100 * norm.cdf(1.0 + norm.ppf(percent / 100))
        assert exact - 1e-6 <= table[percent] <= exact + 0.0101
    within = math.log(ends[1] / (100 - ends[1]))
    beyond = norm.sf(within - 0.5) + norm.cdf(-within - 0.5)
    assert beyond <= 1e-5
    assert "at most 1e-05" in text


def test_words_never_promise_a_limit_that_does_not_exist():
    text = explain_budget(1.0, 0.2)
    assert "no limit" in text
    assert found_in(text)[1] is None


@pytest.mark.parametrize("neighbours", Neighbours)
def test_the_words_name_relation_unit_and_what_is_not_promised(neighbours):
    text = explain_budget(0.5, 1e-6, neighbours=neighbours, unit="patient")
    assert text.startswith(f"epsilon = 0.5, delta = 1e-06, for each patient ({neighbours.value})")
    flat = " ".join(text.split())
    for caveat in (
        "What this does not promise",
        "Several patients of one person",
        "three times the epsilon (1.5)",
        "Related people",
        "Facts true of everybody",
        "Choices made on the data before the fit",
    ):
        assert caveat in flat
    assert max(map(len, text.splitlines())) <= 88
    assert "row" not in flat.replace("grows", "").replace("number of rows", "")


def test_an_impossible_pair_is_refused():
    with pytest.raises(ValueError, match="epsilon"):
        explain_budget(0.0)
    with pytest.raises(ValueError, match="delta"):
        explain_budget(1.0, 1.0)


def test_the_power_of_attacks_on_dp_sgd_is_what_an_independent_library_finds():
    from dp_accounting.dp_event import GaussianDpEvent, PoissonSampledDpEvent, SelfComposedDpEvent

    steps = SelfComposedDpEvent(PoissonSampledDpEvent(0.01, GaussianDpEvent(1.0)), 1000)
    # riskcal 1.5.1 gives a false negative rate of 0.971 at a false positive rate of 0.01.
    assert attack_power(EventCurve(steps), 0.01) == pytest.approx(1 - 0.971, abs=6e-4)
    assert np.isclose(attack_power(EventCurve(steps), 1.0), 1.0)

"""What the filters of a ledger admit, what they say when they refuse, and what is fixed in them."""

import math
import pickle
import re
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import mpmath
import numpy as np
import pytest
from dp_accounting import dp_event
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from skdp.cli import main
from skdp.exceptions import BudgetExceededError, PrivacyError, UnsupportedEventError
from skdp.privacy import Neighbours, PrivacyBudget, PrivacyLedger, PrivacyStatement
from skdp.privacy.accounting import EventCurve, epsilon_of, rho_of
from skdp.privacy.composition import Parts
from skdp.privacy.events import GaussianReleaseDpEvent, PureReleaseDpEvent
from skdp.privacy.laplace_curve import laplace_renyi, laplace_rho
from skdp.privacy.pure_curve import pure_rho
from skdp.privacy.renyi import ORDERS
from skdp.privacy.step_events import SelectionDpEvent
from skdp.privacy.zcdp import zcdp_delta, zcdp_epsilon, zcdp_rho

RELATION = "add-or-remove-one"
CAP = PrivacyBudget(3.0, 1e-6)


def gaussian(mu, delta=0.0, neighbours=RELATION):
    return GaussianReleaseDpEvent(mu, "l2", neighbours, 1.0, delta=delta)


def pure(epsilon, delta=0.0, neighbours=RELATION):
    return PureReleaseDpEvent(epsilon, delta, 1.0, "l2", neighbours, 1.0)


def picks(epsilon, count):
    return SelectionDpEvent(count, "bounded-range", epsilon, RELATION)


def plan(steps, noise=2.0, rate=0.01):
    step = dp_event.PoissonSampledDpEvent(rate, gaussian(1 / noise))
    return dp_event.SelfComposedDpEvent(step, steps)


def promise(event, delta):
    budget = PrivacyBudget(epsilon_of(event, delta), delta)
    relation = Neighbours.ADD_OR_REMOVE_ONE
    return PrivacyStatement(EventCurve(event), budget, relation, "theorem", (), "noise")


PLANS = [promise(plan(steps), 1e-8) for steps in (20, 200)]


def made(path, name="zcdp", **fields):
    fields = {"epsilon": CAP.epsilon, "delta": CAP.delta, "neighbours": RELATION, **fields}
    return PrivacyLedger.create(path, filter=name, **fields)


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "ledger.db")


def spend(ledger, release):
    if isinstance(release, PrivacyStatement):
        ledger.spend(release, purpose="x")
    elif isinstance(release, PrivacyBudget):
        ledger.spend_budget(release, purpose="x", neighbours=RELATION)
    else:
        ledger.spend_event(release, purpose="x")


def event_in(release):
    """The worst that a release can be."""
    if isinstance(release, PrivacyBudget):
        return pure(release.epsilon, release.delta)
    return getattr(release, "event", release)


SIZES = st.floats(0.02, 0.6)
RELEASES = st.one_of(
    st.builds(gaussian, SIZES, st.sampled_from([0.0, 1e-8])),
    st.builds(pure, SIZES),
    st.builds(PrivacyBudget, SIZES, st.sampled_from([0.0, 1e-8, 3e-8])),
    st.builds(picks, SIZES, st.integers(1, 4)),
    st.builds(dp_event.LaplaceDpEvent, st.floats(2.0, 30.0)),
    st.builds(dp_event.ZCDpEvent, st.floats(0.001, 0.1)),
    st.sampled_from(PLANS),
    st.just(dp_event.NoOpDpEvent()),
)


class TestZcdp:
    @settings(max_examples=8, deadline=None)
    @given(st.lists(RELEASES, min_size=8, max_size=25))
    def test_whatever_it_admits_keeps_the_cap_and_the_curve_when_composed(self, releases):
        with tempfile.TemporaryDirectory() as folder:
            ledger = made(Path(folder) / "l.db")
            admitted = [r for r in releases if ledger.can_afford(r) and spend(ledger, r) is None]
            assert ledger.verify() == len(admitted)
            whole = dp_event.ComposedDpEvent([event_in(release) for release in admitted])
            rho, slack = ledger.description["rho"], ledger.description["slack"]
        curve = EventCurve(whole)
        # Where a part has no loss distribution, the accountant looks at whole orders only.
        assert curve.epsilon_at(CAP.delta) <= 1.001 * CAP.epsilon
        assert curve.epsilon_at(1e-3) <= 1.005 * zcdp_epsilon(rho, 1e-3 - slack) < 2.1

    def test_it_admits_gaussians_and_responses_up_to_rho_and_no_more(self, path):
        rho = zcdp_rho(3.0, 0.9e-6)
        for number, (release, each) in enumerate(
            [(gaussian(0.2), 0.02), (pure(0.5), 0.5 * math.tanh(0.25)), (picks(0.3, 2), 0.09 / 4)]
        ):
            ledger = made(f"{path}{number}")
            count = 0
            while ledger.can_afford(release):
                spend(ledger, release)
                count += 1
            assert count == math.floor(rho * (1 - 2e-9) / each)
            with pytest.raises(BudgetExceededError, match=r"costs .* rho"):
                spend(ledger, release)

    def test_what_it_promises_is_cheaper_than_its_rho_for_a_sample_and_dearer_for_noise(self, path):
        ledger = made(path)
        counting = ledger._terms.filter
        sampled, noise = PLANS[0], promise(gaussian(0.2), 1e-8)
        price = counting.of_event(sampled.event, sampled.budget)
        assert price == counting.of_budget(sampled.budget)
        assert float(price.cost) < rho_of(sampled.event) / 10
        price = counting.of_event(noise.event, noise.budget)
        assert price == counting.of_event(noise.event, None)
        assert float(price.cost) == pytest.approx(0.02)

    def test_the_delta_of_finite_precision_is_charged_with_a_promise_of_none(self, path):
        counting = made(path)._terms.filter
        event = plan(20)
        noisy = dp_event.ComposedDpEvent([event, gaussian(1e-3, delta=1e-12)])
        assert float(counting.of_event(noisy, PrivacyBudget(0.1)).delta) == 1e-12

    def test_a_sample_without_a_promise_is_refused_with_the_ways_out(self, path):
        ledger = made(path)
        with pytest.raises(UnsupportedEventError) as refused:
            ledger.spend_event(plan(20), purpose="network")
        for words in ("sampling saves nothing", "spend_budget(", "reserve([event], delta=...)"):
            assert words in str(refused.value)
        ledger.spend(PLANS[0], purpose="network")
        ledger.spend_budget(PLANS[0].budget, purpose="network", neighbours=RELATION)
        ledger.reserve([plan(20)], delta=1e-8)
        assert ledger.verify() == 3
        (one, two, three) = np.diff(ledger.history()["share"], prepend=0)
        assert one == pytest.approx(two) == pytest.approx(three, rel=1e-6)

    def test_what_no_noise_protects_has_no_price_whatever_it_promises(self, path):
        counting = made(path)._terms.filter
        with pytest.raises(UnsupportedEventError, match="bounds"):
            counting.of_event(dp_event.NonPrivateDpEvent(), PrivacyBudget(0.1))

    @pytest.mark.parametrize("rho", [0.3, "9"])
    def test_its_rho_is_recorded_and_cannot_be_raised(self, path, rho):
        ledger = made(path)
        assert ledger.description["rho"] == pytest.approx(zcdp_rho(3.0, 0.9e-6), rel=1e-8)
        assert zcdp_delta(ledger.description["rho"], 3.0) <= 0.9e-6
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(
                "UPDATE header SET body = replace(body, ?, ?)",
                (f'"rho":{ledger.description["rho"]!r}', f'"rho":{rho}'),
            )
            connection.commit()
        with pytest.raises(PrivacyError):
            ledger.remaining()
        with pytest.raises((PrivacyError, ValueError)):
            PrivacyLedger.open(path)

    def test_pickles_the_command_line_and_the_page_take_it(self, path, tmp_path, capsys):
        ledger = made(path)
        spend(pickle.loads(pickle.dumps(ledger)), pure(0.5))
        assert ledger.remaining().epsilon == pytest.approx(0.3515, abs=1e-3)
        for action in ("show", "history", "verify"):
            assert main(["ledger", action, path]) == 0
        assert "Why: zCDP filter" in capsys.readouterr().out
        ledger.write_html(tmp_path / "page.html")
        assert "zCDP filter" in (tmp_path / "page.html").read_text()
        assert ledger.spent().epsilon_if_fixed == pytest.approx(0.5, rel=1e-5)
        assert '"rho"' in ledger.export_json()

    @pytest.mark.parametrize("epsilon", [1e-4, 0.1, 1.0, 3.0, 50.0])
    @pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.01])
    def test_its_rho_is_the_greatest_that_implies_the_cap(self, epsilon, delta):
        rho = zcdp_rho(epsilon, delta)
        assert zcdp_epsilon(rho, delta) <= epsilon * (1 + 1e-9)
        assert zcdp_epsilon(rho * 1.0001, delta) > epsilon
        # delta = e^((a-1)(a rho - epsilon)) (1 - 1/a)^a / (a - 1), to fifty digits.
        with mpmath.workdps(50):
            a = 1 + mpmath.e ** mpmath.mpf(
                max(np.linspace(-8, 20, 5000), key=lambda z: _bound(z, epsilon, delta))
            )
            exponent = (a - 1) * (a * mpmath.mpf(rho) - epsilon)
            assert mpmath.e**exponent * (1 - 1 / a) ** a / (a - 1) <= delta * 1.01


def _bound(log_rest, epsilon, delta):
    rest = math.exp(log_rest)
    order = 1 + rest
    return (epsilon - math.log1p(-1 / order) + math.log(delta * order) / rest) / order


class TestOrder:
    @pytest.mark.parametrize("order", [None, 8, 17, np.int64(40), 1024])
    def test_it_is_recorded_and_stays(self, path, order):
        ledger = made(path, "renyi", order=order)
        recorded = ledger.description["order"]
        assert recorded == (9 if order is None else order)
        spend(ledger, gaussian(0.02))
        for handle in (PrivacyLedger.open(path), pickle.loads(pickle.dumps(ledger))):
            assert handle._terms.filter.order == recorded
            spend(handle, gaussian(0.02))
        assert ledger.verify() == 3
        with closing(sqlite3.connect(path)) as connection:
            other = 9 if recorded != 9 else 10
            connection.execute(
                "UPDATE header SET body = replace(body, ?, ?)",
                (f'"order":{recorded}', f'"order":{other}'),
            )
            connection.commit()
        with pytest.raises(PrivacyError):
            spend(ledger, gaussian(0.02))

    @pytest.mark.parametrize("order", [1, 65, 2.5, 8.0, "8", True, -3, math.inf, math.nan])
    def test_another_one_than_is_computed_is_refused(self, path, order):
        with pytest.raises(ValueError, match="order must be a whole number from 2 to 64 or one of"):
            made(path, "renyi", order=order)
        assert not Path(path).exists()

    @pytest.mark.parametrize("name", ["zcdp", "gaussian", "basic"])
    def test_other_filters_have_none(self, path, name):
        with pytest.raises(ValueError, match="order is that of filter='renyi'"):
            made(path, name, order=8)

    def test_one_at_which_nothing_is_left_says_so(self, path):
        with pytest.raises(ValueError, match="take a greater order"):
            made(path, "renyi", order=2)

    def test_what_it_admits_keeps_the_cap(self, path):
        ledger = made(path, "renyi", order=8)
        admitted = []
        while ledger.can_afford(pure(0.3)):
            spend(ledger, pure(0.3))
            admitted.append(pure(0.3))
        assert len(admitted) > 5
        assert epsilon_of(dp_event.ComposedDpEvent(admitted), 1e-6) <= 3.0


@pytest.mark.parametrize("name", ["renyi", "zcdp"])
class TestDeltas:
    def test_a_delta_beyond_the_slack_is_told_apart_from_an_epsilon_beyond_the_cap(
        self, path, name
    ):
        ledger = made(path, name)
        spend(ledger, PrivacyBudget(0.1, 4e-8))
        with pytest.raises(BudgetExceededError) as refused:
            spend(ledger, PrivacyBudget(0.1, 5e-7))
        found = re.search(r"slack = 1e-07.*create\(\.\.\., slack=([0-9.e-]+)\)", str(refused.value))
        assert found, refused.value
        slack = float(found[1])
        assert 5.4e-7 <= slack < 5.5e-7
        other = made(f"{path}2", name, slack=slack)
        spend(other, PrivacyBudget(0.1, 4e-8))
        spend(other, PrivacyBudget(0.1, 5e-7))

    def test_one_that_no_slack_could_hold_is_to_be_smaller(self, path, name):
        with pytest.raises(BudgetExceededError, match="Ask for a delta far below 1e-06"):
            spend(made(path, name), PrivacyBudget(0.1, 5e-6))

    def test_where_epsilon_is_lacking_too_slack_is_not_blamed(self, path, name):
        with pytest.raises(BudgetExceededError) as refused:
            spend(made(path, name), PrivacyBudget(9.0, 5e-7))
        assert "slack" not in str(refused.value)

    def test_a_bundle_says_so_too(self, path, name):
        with pytest.raises(BudgetExceededError, match="slack = 1e-07"):
            made(path, name).reserve([pure(0.1)], delta=5e-7)


class TestLaplace:
    @pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 0.1, 1.0, 4.0])
    def test_its_divergence_is_that_of_its_densities(self, epsilon):
        assert (laplace_renyi(epsilon, ORDERS) >= 0).all()
        for order in (1.0001, 1.5, 2.0, 7.0, 40.0):
            with mpmath.workdps(40):
                a, e = mpmath.mpf(order), mpmath.mpf(epsilon)
                # The integral of p^a q^(1-a) left of 0, between 0 and 1, and right of 1.
                tails = (mpmath.e ** ((a - 1) * e) + mpmath.e ** (-a * e)) / 2
                slope = (2 * a - 1) * e
                between = e / 2 * mpmath.e ** ((a - 1) * e) * (1 - mpmath.e**-slope) / slope
                exact = mpmath.log(tails + between) / (a - 1)
            found = laplace_renyi(epsilon, np.array([order]))[0]
            assert float(exact) <= found <= float(exact) * (1 + 1e-6)
            assert float(exact) <= order * laplace_rho(epsilon)
            if epsilon > 0.05 and order > 1.4:
                byhand = quad(_tilted, -60 / epsilon, 60 / epsilon, (epsilon, order),
                              points=[0, 1], limit=400)[0]  # fmt: skip
                assert found == pytest.approx(math.log(byhand) / (order - 1), rel=1e-6)

    def test_its_rho_is_less_than_that_of_a_response_and_attained_near_order_one(self):
        for epsilon in np.geomspace(1e-4, 30, 40):
            near = laplace_renyi(epsilon, np.array([1 + 1e-6]))[0]
            assert near == pytest.approx(laplace_rho(epsilon), rel=2e-5)
            assert laplace_rho(epsilon) <= pure_rho(epsilon)

    @settings(max_examples=40, deadline=None)
    @given(st.floats(0.001, 30.0), st.floats(1.0001, 2000.0))
    def test_no_order_costs_more_than_its_rho(self, epsilon, order):
        with mpmath.workdps(60):
            a, e = mpmath.mpf(order), mpmath.mpf(epsilon)
            sum_ = a * mpmath.e ** ((a - 1) * e) + (a - 1) * mpmath.e ** (-a * e)
            exact = mpmath.log(sum_ / (2 * a - 1)) / (a - 1)
            assert exact <= a * laplace_rho(epsilon)

    def test_it_has_a_price_sampled_or_not(self):
        whole, sampled = dp_event.LaplaceDpEvent(2.0), dp_event.LaplaceDpEvent(2.0)
        sampled = dp_event.PoissonSampledDpEvent(0.1, sampled)
        assert Parts.of(whole).renyi() == pytest.approx(laplace_renyi(0.5, ORDERS))
        assert (Parts.of(sampled).renyi() < Parts.of(whole).renyi() / 5).any()
        assert epsilon_of(whole, 0) == 0.5
        assert epsilon_of(sampled, 0) == pytest.approx(math.log1p(0.1 * math.expm1(0.5)))
        assert epsilon_of(dp_event.LaplaceDpEvent(10.0), 0) == 0.1
        assert rho_of(sampled) < rho_of(whole) == pytest.approx(laplace_rho(0.5))
        third = dp_event.LaplaceDpEvent(3.0)
        assert 3 * epsilon_of(third, 0) >= 1


def _tilted(x, epsilon, order):
    exponent = -epsilon * (order * abs(x) + (1 - order) * abs(x - 1))
    return epsilon / 2 * math.exp(exponent)


class TestEventsOfOthers:
    @pytest.mark.parametrize("name", ["renyi", "zcdp", "basic"])
    def test_laplace_noise_and_nothing_at_all_have_a_price(self, path, name):
        ledger = made(path, name)
        nothing = [dp_event.NoOpDpEvent(), dp_event.ComposedDpEvent([]),
                   dp_event.SelfComposedDpEvent(dp_event.NoOpDpEvent(), 7)]  # fmt: skip
        for event in nothing:
            spend(ledger, event)
        assert ledger.share == 0
        spend(ledger, dp_event.LaplaceDpEvent(10.0))
        spend(ledger, dp_event.SelfComposedDpEvent(dp_event.LaplaceDpEvent(10.0), 2))
        spend(ledger, dp_event.DiscreteLaplaceDpEvent(0.1, 2))
        assert 0 < ledger.share < 0.2
        assert ledger.verify() == 6

    def test_on_a_basic_ledger_noise_without_a_delta_is_told_what_to_give(self, path):
        ledger = made(path, "basic")
        noise = dp_event.GaussianDpEvent(10.0)
        with pytest.raises(UnsupportedEventError) as refused:
            ledger.spend_event(noise, purpose="mean")
        for words in ("delta of remaining().delta", "reserve([event], delta=...)"):
            assert words in str(refused.value)
        ledger.reserve([noise], delta=ledger.remaining().delta / 2)
        assert ledger.verify() == 1

    def test_negative_costs_are_refused_again_where_they_are_charged(self):
        from skdp.privacy.ledger_filters import charged

        for cost in (-1e-9, math.nan, math.inf):
            with pytest.raises(UnsupportedEventError):
                charged(cost, dp_event.NoOpDpEvent())


def test_the_table_of_the_guide_is_what_was_measured():
    root = Path(__file__).parents[1]
    table = (root / "benchmarks" / "results" / "ledger_filters.txt").read_text().split("\n\n")[0]
    assert table in (root / "docs" / "ledger.md").read_text()


@pytest.mark.slow
def test_the_table_is_measured_anew(capsys):
    from benchmarks import ledger_filters

    ledger_filters.main()
    written = Path(ledger_filters.__file__).parent / "results" / "ledger_filters.txt"
    assert capsys.readouterr().out == written.read_text()

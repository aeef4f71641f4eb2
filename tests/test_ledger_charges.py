"""A ledger charges all that it proves: deltas of slices, the unit of a bundle, its own header."""

import json
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from dp_accounting import dp_event

from skdp.exceptions import (
    BudgetExceededError,
    LedgerTamperedError,
    PrivacyError,
    UnsupportedEventError,
)
from skdp.linear_model import PrivateElasticNetClassifier
from skdp.privacy import Neighbours, PrivacyBudget, PrivacyLedger, PrivacyStatement
from skdp.privacy.accounting import EventCurve, epsilon_of
from skdp.privacy.events import GaussianReleaseDpEvent, PureReleaseDpEvent
from skdp.privacy.filter_events import RenyiBoundDpEvent
from skdp.privacy.ledger_store import _chained, _sealed, _text
from tests.support.pure_statement import pure_statement

FILTERS = ["basic", "renyi", "zcdp"]


def pure(epsilon=0.01, delta=1e-6):
    return PureReleaseDpEvent(epsilon, delta, 1.0, "linf", "replace-one", 1 / epsilon)


def statement(event, epsilon, delta=0.0, unit="row"):
    budget, relation = PrivacyBudget(epsilon, delta), Neighbours.REPLACE_ONE
    return PrivacyStatement(EventCurve(event), budget, relation, "theorem", (), "noise", unit)


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "ledger.db")


def made(path, name="basic", epsilon=3.0, delta=1e-6, **fields):
    return PrivacyLedger.create(path, epsilon, delta, filter=name, **fields)


def total(ledger):
    return ledger._total()


@pytest.mark.parametrize("name", FILTERS)
class TestDeltasOfSlices:
    @pytest.mark.parametrize("stated", [False, True], ids=["event", "statement"])
    def test_a_delta_of_0_is_for_pure_releases(self, path, name, stated):
        ledger = made(path, name)
        release = statement(pure(), 0.01, 1e-6) if stated else pure()
        with pytest.raises(ValueError, match=r"at least that: delta=2e-05"):
            ledger.reserve([release] * 20, delta=0.0)
        assert ledger.verify() == 0
        assert total(ledger) == (0, 0)

    def test_one_below_what_the_releases_have_is_charged_as_what_they_have(self, path, name):
        ledger = made(path, name, delta=1e-4)
        ledger.reserve([pure()] * 5, delta=1e-9)
        assert float(total(ledger).delta) == 5e-6
        assert ledger.verify() == 1
        with pytest.raises(BudgetExceededError):
            ledger.reserve([pure()] * 200, delta=1e-9)

    def test_so_is_the_finite_precision_of_events(self, path, name):
        ledger = made(path, name)
        ledger.reserve([pure(delta=1e-11)] * 3, delta=0.0)
        assert float(total(ledger).delta) == pytest.approx(3e-11)
        assert ledger.verify() == 1

    def test_of_pure_statements_it_is_beside_a_basic_ledger_as_without_a_bundle(self, path, name):
        ledger = made(path, name)
        ledger.reserve([statement(pure(0.01, 1e-11), 0.01)] * 3, delta=0.0)
        assert float(total(ledger).delta) == pytest.approx(0 if name == "basic" else 3e-11)
        assert ledger.verify() == 1

    @pytest.mark.parametrize("delta", [-1e-9, 1.0, np.nan])
    def test_what_is_no_delta_is_refused(self, path, name, delta):
        ledger = made(path, name)
        with pytest.raises(ValueError, match="delta must be in"):
            ledger.reserve([pure()], delta=delta)
        assert ledger.verify() == 0

    @pytest.mark.parametrize(
        "change", [{"epsilon": 0.001}, {"delta": 0.0}, {"slice_delta": 0.0, "delta": 0.0}], ids=str
    )
    def test_a_slice_that_charges_too_little_is_noticed(self, path, name, change):
        ledger = made(path, name, delta=1e-4)
        ledger.reserve([pure()] * 2, delta=1e-6)
        rewrite(path, change, ledger._terms)
        with pytest.raises(LedgerTamperedError, match=r"less than what is proved|is no slice"):
            PrivacyLedger(path).verify()

    def test_noise_that_has_no_epsilon_at_0_is_told_to_give_more(self, path, name):
        noise = GaussianReleaseDpEvent(0.01, "l2", "replace-one", 1.0)
        with pytest.raises(UnsupportedEventError, match="greater delta"):
            made(path, name).reserve([noise], delta=0.0)


def rewrite(path, change, terms):
    """Change the only entry, and all that is computed of it."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        header = connection.execute("SELECT body FROM header").fetchone()[0]
        body = json.loads(connection.execute("SELECT body FROM entries").fetchone()[0])
        body |= change
        price = terms.price(None, PrivacyBudget(body["epsilon"], body["delta"]), body["unit"])
        body |= {"cost": str(price.cost), "charged_delta": str(price.delta)}
        state = _text({"cost": str(price.cost), "delta": str(price.delta)})
        last = _chained(_chained("", header), _text(body))
        connection.execute("UPDATE entries SET body = ?, hash = ?", (_text(body), last))
        end = (last, state, _sealed(last, 1, state))
        connection.execute("UPDATE head SET hash = ?, state = ?, seal = ?", end)


def test_a_pure_ledger_takes_no_search_with_a_delta(path):
    ledger = made(path, epsilon=1.0, delta=0.0)
    search = statement(GaussianReleaseDpEvent(0.01, "l2", "replace-one", 1.0, 1e-4), 0.1, 1e-3)
    with pytest.raises(ValueError, match="finite precision"):
        ledger.reserve([search] * 9, delta=0.0)
    with pytest.raises(BudgetExceededError):
        ledger.reserve([search] * 9)


class TestUnitsOfBundles:
    def fits(self):
        X, y = np.eye(40, 3), np.arange(40) % 2
        model = PrivateElasticNetClassifier(epsilon=0.5, delta=0.0, classes=[0, 1])
        row = model.fit(X, y).privacy_
        model.set_params(max_rows_per_group=1, n_groups=40)
        group = model.fit(X, y, groups=np.arange(40)).privacy_
        assert (row.unit, group.unit, row.event == group.event) == ("row", "group", True)
        return row, group

    def test_what_is_reserved_for_groups_pays_for_no_fit_that_protects_rows(self, path):
        ledger = made(path, epsilon=1.0, unit="group", rows_per_unit=10)
        row, group = self.fits()
        with ledger.bundle([group]):
            for release in (row, row.event):
                assert not ledger.can_afford(release)
            with pytest.raises(PrivacyError, match="not among"):
                ledger.spend(row, purpose="fit")
            with pytest.raises(PrivacyError, match="not among"):
                ledger.spend_event(row.event, purpose="fit")
            assert ledger.can_afford(group)
            ledger.spend(group, purpose="fit")
        assert ledger.verify() == 2

    def test_an_entry_that_says_so_is_noticed(self, path, monkeypatch):
        ledger = made(path, epsilon=1.0, unit="group", rows_per_unit=10)
        row, group = self.fits()
        with ledger.bundle([group]), monkeypatch.context() as patched:
            patched.setattr("skdp.privacy.ledger_bundles._protects_alike", lambda *_: True)
            ledger.spend(row, purpose="fit")
        with pytest.raises(LedgerTamperedError, match="not reserved by its bundle"):
            ledger.verify()

    def test_a_unit_is_found_again_however_it_is_written(self, path):
        ledger = made(path, unit="ward\n")
        with ledger.bundle([statement(pure(delta=0.0), 0.01, unit="ward\n")]):
            ledger.spend(statement(pure(delta=0.0), 0.01, unit="ward\n"), purpose="count")
        assert len(ledger.history()) == 2

    def test_rows_are_reserved_at_the_price_of_their_unit(self, path):
        ledger = made(path, epsilon=10.0, unit="group", rows_per_unit=10)
        row, _ = self.fits()
        with ledger.bundle([row], delta=0.0):
            ledger.spend(row, purpose="fit")
        assert ledger.remaining().epsilon == pytest.approx(5.0)
        assert ledger.verify() == 2

    @pytest.mark.parametrize("rows", [1, 5])
    def test_rows_of_a_unit_that_is_the_row_are_refused(self, path, rows):
        with pytest.raises(ValueError, match="unit='patient'"):
            made(path, rows_per_unit=rows)


@pytest.mark.parametrize("entries", [0, 1, 3])
def test_a_changed_header_is_noticed_by_whoever_opens_the_ledger_later(path, entries):
    ledger = made(path, epsilon=1.0)
    for _ in range(entries):
        ledger.spend(pure_statement(0.25), purpose="count")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("""UPDATE header SET body = replace(body, '"epsilon":1.0',
                              '"epsilon":30.0')""")
        connection.commit()
    with pytest.raises(LedgerTamperedError):
        PrivacyLedger(path)
    for look in (ledger.remaining, lambda: ledger.spend(pure_statement(0.25), purpose="count")):
        with pytest.raises(LedgerTamperedError):
            look()


class TestPromisesOfRenyi:
    def test_what_costs_much_at_a_high_order_is_charged_for_what_it_promises(self, path):
        ledger = made(path, "renyi", delta=1e-5, order=1024)
        noise = GaussianReleaseDpEvent(0.05, "l2", "replace-one", 1.0)
        promised = statement(noise, epsilon_of(noise, 1e-8), 1e-8)
        counting = ledger._terms.filter
        price = counting.of_event(noise, promised.budget)
        prices = [counting.of_event(noise, None), counting.of_budget(promised.budget)]
        assert counting.share(price) == min(map(counting.share, prices))
        assert price == prices[1]
        ledger.spend(promised, purpose="mean")
        assert ledger.verify() == 1

    def test_a_bound_of_a_lower_order_is_charged_for_what_it_promises(self, path):
        ledger = made(path, "renyi", delta=1e-5, order=64)
        bound = RenyiBoundDpEvent(32, 0.1, "replace-one")
        budget = PrivacyBudget(epsilon_of(bound, 1e-7), 1e-7)
        price = ledger._terms.filter.of_event(bound, budget)
        assert price == ledger._terms.filter.of_budget(budget)
        with pytest.raises(UnsupportedEventError, match="of order 64"):
            ledger.spend_event(bound, purpose="run")

    def test_noise_of_a_moderate_order_is_charged_for_itself(self, path):
        counting = made(path, "renyi")._terms.filter
        noise = GaussianReleaseDpEvent(0.05, "l2", "replace-one", 1.0)
        budget = PrivacyBudget(epsilon_of(noise, 1e-8), 1e-8)
        assert counting.of_event(noise, budget) == counting.of_event(noise, None)

    def test_the_promise_of_what_no_noise_protects_counts_for_nothing(self, path):
        counting = made(path, "renyi", neighbours="add-or-remove-one")._terms.filter
        with pytest.raises(UnsupportedEventError, match="bounds"):
            counting.of_event(dp_event.NonPrivateDpEvent(), PrivacyBudget(0.1))

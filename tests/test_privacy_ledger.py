"""A ledger on disk admits what its filter affords, reaches everybody, and notices changes."""

import copy
import math
import pickle
import sqlite3
import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from dp_accounting import dp_event
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import GridSearchCV

from skdp.cli import main
from skdp.exceptions import (
    BudgetExceededError,
    LedgerTamperedError,
    PrivacyError,
    UnsupportedEventError,
)
from skdp.linear_model import PrivateElasticNetClassifier
from skdp.privacy import Ledger, Neighbours, PrivacyBudget, PrivacyLedger, PrivacyStatement
from skdp.privacy.accounting import EventCurve, epsilon_of
from skdp.privacy.events import GaussianReleaseDpEvent, PureReleaseDpEvent
from skdp.privacy.gaussian_curve import gaussian_delta

X, Y = np.eye(60, 3), np.arange(60) % 2


def gaussian(mu, neighbours="replace-one", delta=0.0):
    return GaussianReleaseDpEvent(mu, "l2", neighbours, 1.0, delta=delta)


def pure(epsilon, neighbours="replace-one"):
    return PureReleaseDpEvent(epsilon, 0.0, 1.0, "l2", neighbours, 1 / epsilon)


def statement(event, epsilon, delta=0.0, neighbours=Neighbours.REPLACE_ONE, unit="row"):
    budget = PrivacyBudget(epsilon, delta)
    return PrivacyStatement(EventCurve(event), budget, neighbours, "theorem", (), "noise", unit)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


def basic(path, epsilon=1.0, delta=1e-5, **fields):
    return PrivacyLedger.create(path, epsilon, delta, filter="basic", **fields)


def model(ledger, **parameters):
    return PrivateElasticNetClassifier(classes=[0, 1], ledger=ledger, **parameters)


def test_it_is_a_ledger_and_ten_tenths_are_one(path):
    ledger = basic(path)
    assert isinstance(ledger, Ledger)
    for _ in range(10):
        ledger.spend(statement(pure(0.1), 0.1), purpose="count")
    assert ledger.remaining() == (0.0, 1e-5)
    with pytest.raises(BudgetExceededError, match=r"(?s)asks for epsilon = 0\.1.*Left are 0 of 1"):
        ledger.spend(statement(pure(0.1), 0.1), purpose="count")
    assert ledger.verify() == 10
    assert len(ledger.history()) == 10


@pytest.mark.parametrize("name", ["renyi", "gaussian"])
def test_gaussians_are_admitted_up_to_the_cap_and_stay_within_it(path, name):
    ledger = PrivacyLedger.create(path, 2.0, 1e-6, filter=name)
    count = 0
    while ledger.can_afford(gaussian(0.05)):
        ledger.spend_event(gaussian(0.05), purpose="mean")
        count += 1
    mu = 0.05 * math.sqrt(count)
    assert gaussian_delta(mu, 2.0) <= 1e-6
    assert count >= {"gaussian": 0.95, "renyi": 0.7}[name] * (0.4533 / 0.05) ** 2 / 1.2
    assert ledger.spent().epsilon_if_fixed <= 2.0 == ledger.spent().guarantee.epsilon


def test_a_gaussian_ledger_refuses_everything_else(path):
    ledger = PrivacyLedger.create(path, 2.0, 1e-6, filter="gaussian")
    with pytest.raises(UnsupportedEventError, match="Gaussian"):
        ledger.spend(statement(pure(0.1), 0.1), purpose="count")
    with pytest.raises(UnsupportedEventError, match="pair"):
        ledger.spend_budget(PrivacyBudget(0.1), purpose="x", neighbours="replace-one")
    assert ledger.verify() == 0


def test_the_filter_is_fixed_at_creation(path):
    ledger = basic(path)
    with pytest.raises(FileExistsError):
        PrivacyLedger.create(path, 1.0, 1e-5)
    with pytest.raises(TypeError):
        PrivacyLedger.open(path, filter="renyi")
    with pytest.raises(AttributeError):
        ledger._terms.filter.name = "renyi"
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE header SET body = replace(body, 'basic', 'renyi')")
    connection.close()
    with pytest.raises((PrivacyError, TypeError, ValueError)):
        PrivacyLedger.open(path)


def test_tiny_deltas_are_taken_from_the_slack(path):
    ledger = PrivacyLedger.create(path, 2.0, 1e-6)
    assert ledger.remaining().delta == 1e-7
    ledger.spend_event(gaussian(0.01, delta=6e-8), purpose="mean")
    with pytest.raises(BudgetExceededError):
        ledger.spend_event(gaussian(0.01, delta=6e-8), purpose="mean")
    ledger.spend_budget(PrivacyBudget(0.1, 1e-9), purpose="x", neighbours="replace-one")
    assert ledger.verify() == 2


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.floats(0.01, 0.7), st.sampled_from([0.0, 1e-7, 4e-6])), max_size=9))
def test_sums_never_exceed_the_cap(asked):
    with tempfile.TemporaryDirectory() as folder:
        ledger = basic(Path(folder) / "l.db")
        sums = [Fraction(0), Fraction(0)]
        for epsilon, delta in asked:
            more = [sums[0] + Fraction(repr(epsilon)), sums[1] + Fraction(repr(delta))]
            fits = more[0] <= 1 and more[1] <= Fraction("1e-5")
            budget = PrivacyBudget(epsilon, delta)
            assert ledger.can_afford(budget) == fits
            if fits:
                ledger.spend_budget(budget, purpose="x", neighbours="replace-one")
                sums = more
            else:
                with pytest.raises(BudgetExceededError):
                    ledger.spend_budget(budget, purpose="x", neighbours="replace-one")
        assert ledger.remaining().epsilon == float(1 - sums[0])


@settings(max_examples=10, deadline=None)
@given(st.lists(st.floats(0.02, 0.6), min_size=1, max_size=8), st.booleans())
def test_what_a_renyi_ledger_admits_keeps_the_cap_when_composed(sizes, noisy):
    with tempfile.TemporaryDirectory() as folder:
        ledger = PrivacyLedger.create(Path(folder) / "l.db", 1.0, 1e-6)
        admitted = []
        for size in sizes:
            event = gaussian(size) if noisy else pure(size)
            if ledger.can_afford(event):
                ledger.spend_event(event, purpose="x")
                admitted.append(event)
        if admitted:
            assert epsilon_of(dp_event.ComposedDpEvent(admitted), 1e-6) <= 1.0


def test_a_bundle_is_one_slice_that_only_its_releases_can_use(path):
    ledger = basic(path, 5.0, 1e-5)
    fits = [statement(pure(0.1), 0.1) for _ in range(100)]
    with ledger.bundle(fits, delta=1e-6, purpose="search"):
        for fit in fits:
            ledger.spend(fit, purpose="fit")
        with pytest.raises(PrivacyError, match="not among"):
            ledger.spend(fits[0], purpose="fit")
        with pytest.raises(PrivacyError, match="not among"):
            ledger.spend(statement(pure(0.2), 0.2), purpose="fit")
    slice_ = 5.0 - ledger.remaining().epsilon
    assert slice_ == pytest.approx(epsilon_of(dp_event.SelfComposedDpEvent(pure(0.1), 100), 1e-6))
    assert ledger.verify() == 101


def test_what_a_bundle_does_not_use_stays_spent(path):
    ledger = basic(path)
    with pytest.raises(RuntimeError), ledger.bundle([statement(pure(0.5), 0.5)]):
        raise RuntimeError
    assert ledger.remaining().epsilon == pytest.approx(0.5)
    assert ledger.history()["status"].tolist() == ["reserved"]


def test_other_relations_and_units_are_refused(path, tmp_path):
    patients = basic(path, unit="patient")
    with pytest.raises(ValueError, match="rows_per_unit"):
        patients.spend(statement(pure(0.1), 0.1), purpose="count")
    with pytest.raises(ValueError, match="do not add up"):
        patients.spend(
            statement(pure(0.1, "zero-out"), 0.1, neighbours=Neighbours.ZERO_OUT), purpose="count"
        )
    stated = basic(tmp_path / "stated.db", unit="patient", rows_per_unit=3)
    stated.spend(statement(gaussian(0.01), 0.1, 1e-7), purpose="count")
    assert stated.remaining().epsilon == pytest.approx(0.7)
    group = 1e-7 * (1 + math.exp(0.1) + math.exp(0.2))
    assert stated.remaining().delta == pytest.approx(1e-5 - group, rel=1e-9)
    assert stated.verify() == 1


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM entries WHERE id = 2",
        "DELETE FROM entries WHERE id = 4",
        "UPDATE entries SET body = replace(body, 'count 1', 'count 9') WHERE id = 2",
        "UPDATE entries SET id = CASE id WHEN 2 THEN -3 WHEN 3 THEN -2 ELSE id END;"
        "UPDATE entries SET id = -id WHERE id < 0",
        'UPDATE head SET state = \'{"cost":"0","delta":"0"}\'',
        "UPDATE header SET body = replace(body, 'dataset', 'datasef')",
    ],
)
def test_changes_are_noticed(path, change):
    ledger = basic(path)
    for number in range(4):
        ledger.spend(statement(pure(0.1), 0.1), purpose=f"count {number}")
    assert ledger.verify(seal=ledger.seal) == 4
    connection = sqlite3.connect(path)
    connection.executescript(change)
    connection.close()
    with pytest.raises(LedgerTamperedError):
        ledger.verify()


def test_clones_copies_and_pickles_spend_from_the_same_file(path):
    ledger = basic(path)
    for handle in (clone(ledger), copy.deepcopy(ledger), pickle.loads(pickle.dumps(ledger))):
        handle.spend(statement(pure(0.1), 0.1), purpose="count")
    assert ledger.remaining().epsilon == 0.7


@pytest.mark.parametrize("kind", [str, Path])
def test_estimators_take_a_path(path, kind):
    ledger = basic(path)
    estimator = clone(model(kind(path), epsilon=0.4, delta=0.0))
    assert estimator.get_params()["ledger"] == kind(path)
    estimator.fit(X, Y)
    pickle.loads(pickle.dumps(estimator)).fit(X, Y)
    assert ledger.remaining().epsilon == 0.2
    with pytest.raises(BudgetExceededError):
        estimator.fit(X, Y)
    assert "missing.db" in repr(model("missing.db"))
    with pytest.raises(FileNotFoundError):
        model("missing.db").fit(X, Y)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_grid_search_pays_for_all_fits(path, n_jobs):
    ledger = basic(path, 100.0)
    grid = {"epsilon": [0.5, 1.5], "alpha": [0.1, 1.0]}
    search = GridSearchCV(model(ledger, delta=0.0), grid, cv=3, n_jobs=n_jobs, error_score="raise")
    with ledger.experiment("search"):
        search.fit(X, Y)
    total = 3 * 2 * (0.5 + 1.5) + search.best_params_["epsilon"]
    assert 100 - ledger.remaining().epsilon == total
    assert len(ledger.history()) == 13
    assert set(ledger.history()["experiment"]) == {"search"}
    assert ledger.verify() == 13


@pytest.mark.filterwarnings("ignore:One or more of the test scores:UserWarning")
def test_a_refusal_in_a_search_is_nan_or_raises(path):
    ledger = basic(path, 3.5)
    grid = {"alpha": [0.1, 1.0, 2.0]}
    estimator = model(ledger, epsilon=1.0, delta=0.0)
    with pytest.warns(FitFailedWarning):  # noqa: PT031
        search = GridSearchCV(estimator, grid, cv=2, refit=False, error_score=np.nan)
        try:
            search.fit(X, Y)
        finally:
            assert ledger.remaining().epsilon == 0.5
    assert np.isnan(search.cv_results_["mean_test_score"]).sum() == 2
    with pytest.raises(BudgetExceededError):
        GridSearchCV(estimator, grid, cv=2, error_score="raise").fit(X, Y)


def test_the_command_line_shows_lists_and_verifies(path, tmp_path, capsys):
    ledger = basic(path, dataset="a <table>")
    ledger.spend(statement(pure(0.1), 0.1), purpose="count")
    assert main(["ledger", "show", str(path)]) == 0
    assert "this is no guarantee" in capsys.readouterr().out
    assert main(["ledger", "history", str(path)]) == 0
    assert "count" in capsys.readouterr().out
    page = tmp_path / "page.html"
    assert main(["ledger", "history", str(path), "--html", str(page)]) == 0
    assert "a &lt;table&gt;" in page.read_text()
    assert "<polyline" in ledger._repr_html_()
    assert main(["ledger", "verify", str(path)]) == 0
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM entries")
    connection.close()
    assert main(["ledger", "verify", str(path)]) == 1


def test_a_file_that_was_replaced_is_noticed(path):
    ledger = basic(path)
    for part in path.parent.glob("ledger.db*"):
        part.unlink()
    basic(path)
    with pytest.raises(PrivacyError, match="Another ledger"):
        ledger.spend(statement(pure(0.1), 0.1), purpose="count")

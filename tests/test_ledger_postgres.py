"""A ledger on a real PostgreSQL server does what one in a file does."""

import math
import multiprocessing
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from skdp.cli import main
from skdp.exceptions import BudgetExceededError, LedgerTamperedError, PrivacyError
from skdp.linear_model import PrivateElasticNetClassifier
from skdp.privacy import PrivacyLedger
from tests.support.ledger_race import refute_overspending
from tests.support.postgres_server import running_server
from tests.support.pure_statement import pure_statement

X, Y = np.eye(60, 3), np.arange(60) % 2


@pytest.fixture(scope="module")
def server():
    with running_server() as url:
        yield url


@pytest.fixture
def address(server, request):
    """A ledger of this test's own."""
    name = "".join(c for c in request.node.name if c.isalnum())[-30:].lower()
    return f"{server}&ledger=t{name}"


def basic(address, epsilon=1.0, delta=1e-5):
    return PrivacyLedger.create(address, epsilon, delta, filter="basic")


def spend(ledger, epsilon=0.1, purpose="count"):
    ledger.spend(pure_statement(epsilon), purpose=purpose)


def sql(server, *statements, name=None):
    import psycopg

    with psycopg.connect(server, autocommit=True) as connection:
        if name:
            connection.execute(f"SET search_path TO skdp_{name}")
        for text in statements:
            connection.execute(text)


def test_it_spends_until_the_cap_and_survives_reopening(address):
    ledger = basic(address)
    for _ in range(10):
        spend(ledger)
    with pytest.raises(BudgetExceededError, match="Left are 0 of 1"):
        spend(ledger)
    assert pickle.loads(pickle.dumps(ledger)).remaining().epsilon == 0
    assert PrivacyLedger.open(address) is ledger
    assert ledger.verify() == len(ledger.history()) == 10


def test_one_ledger_for_a_name_and_none_by_accident(address, server):
    basic(address)
    with pytest.raises(FileExistsError):
        basic(address)
    with pytest.raises(FileNotFoundError):
        PrivacyLedger.open(f"{server}&ledger=nobody")
    with pytest.raises(PrivacyError, match="cannot be reached"):
        PrivacyLedger.open("postgresql://skdp@/postgres?host=/nowhere")


def test_the_command_line_takes_an_address(address, capsys):
    spend(basic(address))
    assert main(["ledger", "show", address]) == 0
    assert "Entries: 1; spent or reserved: 10 %" in capsys.readouterr().out
    assert main(["ledger", "verify", address]) == 0


def test_two_ledgers_of_one_database_are_apart(address):
    one, other = basic(address), basic(f"{address}2")
    spend(one)
    assert (one.remaining().epsilon, other.remaining().epsilon) == (0.9, 1.0)


def test_sixteen_processes_of_which_some_are_killed_never_overspend(address):
    refute_overspending(address, 0.5)


def test_threads_and_a_fork_share_it(address):
    ledger = basic(address)

    def some():
        for _ in range(3):
            spend(ledger, 0.01)

    threads = [threading.Thread(target=some) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    forked = multiprocessing.get_context("fork").Process(target=some)
    forked.start()
    forked.join(60)
    assert ledger.verify() == 12
    assert ledger.remaining().epsilon == pytest.approx(0.88)


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_grid_search_pays_for_all_fits(address, n_jobs):
    ledger = basic(address, 100.0)
    model = PrivateElasticNetClassifier(classes=[0, 1], delta=0.0, ledger=address)
    search = GridSearchCV(model, {"epsilon": [0.5, 1.5]}, cv=3, n_jobs=n_jobs, error_score="raise")
    search.fit(X, Y)
    assert 100 - ledger.remaining().epsilon == 3 * 2 + search.best_params_["epsilon"]
    assert ledger.verify() == 7


def test_a_bundle_pays_once_and_each_of_its_releases_is_made_once(address):
    ledger = basic(address, 5.0)
    fits = [pure_statement(0.1) for _ in range(30)]
    with ledger.bundle(fits, delta=1e-6):
        for fit in fits:
            ledger.spend(fit, purpose="fit")
        with pytest.raises(PrivacyError, match="not among"):
            ledger.spend(fits[0], purpose="fit")
    assert 0 < 5 - ledger.remaining().epsilon < 3
    assert ledger.verify() == 31


def test_a_zcdp_ledger_and_its_bundles_are_kept_there_too(address):
    ledger = PrivacyLedger.create(address, 5.0, 1e-5, filter="zcdp")
    with ledger.bundle([pure_statement(0.1)] * 2) as reserved:
        spend(ledger)
        with ThreadPoolExecutor(1) as pool:
            pool.submit(spend, ledger).result()  # pays on its own
            pool.submit(spend, reserved).result()
        assert not ledger.can_afford(pure_statement(0.1))
    assert ledger.history()["status"].tolist() == ["reserved", "spent", "spent", "spent"]
    assert PrivacyLedger.open(address).description["rho"] == ledger.description["rho"]
    share = 3 * 0.1 * math.tanh(0.05) / ledger.description["rho"]
    assert ledger.share == pytest.approx(share)
    assert ledger.verify() == 4


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM entries WHERE id = 2",
        "DELETE FROM entries WHERE id = 4",
        "UPDATE entries SET body = replace(body, 'count', 'cuont') WHERE id = 2",
        'UPDATE head SET state = \'{"cost":"0","delta":"0"}\'',
        "UPDATE header SET body = replace(body, 'dataset', 'datasef')",
    ],
)
def test_changes_are_noticed(address, server, change):
    ledger = basic(address)
    for _ in range(4):
        spend(ledger)
    sql(server, change, name=address.rpartition("=")[2])
    with pytest.raises(LedgerTamperedError):
        ledger.verify()


def test_a_connection_that_breaks_before_the_commit_spends_nothing(address, server):
    import psycopg

    ledger = basic(address)
    append = ledger._store.append

    def broken(header, seen, change):
        def cut(session, state):
            found = change(session, state)
            pid = session.execute("SELECT pg_backend_pid()").fetchone()[0]
            with psycopg.connect(server, autocommit=True) as other:
                other.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))
            return found

        return append(header, seen, cut)

    fields = {"append": staticmethod(broken), "place": ledger._store.place}
    object.__setattr__(ledger, "_store", type("Store", (), fields))
    with pytest.raises(PrivacyError, match="cannot be used"):
        spend(ledger)
    assert pickle.loads(pickle.dumps(PrivacyLedger(address))).verify() == 0


def test_the_server_can_keep_a_team_from_changing_what_is_written(address, server):
    ledger, name = basic(address), address.rpartition("=")[2]
    sql(
        server,
        "CREATE ROLE member LOGIN",
        f"GRANT USAGE ON SCHEMA skdp_{name} TO member",
        "GRANT SELECT ON header TO member",
        "GRANT SELECT, INSERT ON entries TO member",
        "GRANT SELECT, UPDATE ON head TO member",
        name=name,
    )
    member = address.replace("skdp@", "member@")
    spend(PrivacyLedger.open(member))
    assert ledger.verify() == 1
    import psycopg

    for change in ("DELETE FROM entries", "UPDATE entries SET body = ''", "DROP TABLE head"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            sql(server.replace("skdp@", "member@"), change, name=name)


def test_strange_words_come_back_as_they_were(address):
    ledger = basic(address)
    words = "'); DROP TABLE entries; -- % %s ? é 漢 <b>"
    with ledger.experiment(words):
        spend(ledger, purpose=f"{words}\x00\ud800")
    assert ledger.verify() == 1
    assert ledger.history()["purpose"].tolist() == [f"{words}\\x00\\ud800"]
    assert ledger.history()["experiment"].tolist() == [words]


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql://me:secret@host/db", "leave the password out"),
        ("postgresql://me@host/db?password=secret", "leave the password out"),
        ("postgresql://me@host/db?ledger=a;b", "lower-case letters"),
        ("mysql://me@host/db", "not mysql"),
    ],
)
def test_addresses_that_would_tell_or_mean_too_much_are_refused(url, words):
    for make in (PrivacyLedger.open, lambda url: PrivacyLedger.create(url, 1.0, 1e-6)):
        with pytest.raises(ValueError, match=words) as error:
            make(url)
        assert "secret" not in str(error.value)

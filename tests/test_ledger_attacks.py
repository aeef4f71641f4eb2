"""What accidents, strangers and careless colleagues may do to a ledger on disk."""

import json
import multiprocessing
import os
import pickle
import resource
import shutil
import signal
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from skdp.cli import main
from skdp.exceptions import LedgerTamperedError, PrivacyError
from skdp.linear_model import PrivateElasticNetClassifier
from skdp.privacy import PrivacyBudget, PrivacyLedger
from skdp.privacy import ledger_connections as connections
from skdp.privacy import ledger_entries as entries
from skdp.privacy.ledger_store import _chained, _sealed, _text
from tests.support.pure_statement import pure_statement

X, Y = np.eye(60, 3), np.arange(60) % 2
BUDGET = PrivacyBudget(0.125)


def spend(ledger, purpose="count"):
    ledger.spend_budget(BUDGET, purpose=purpose, neighbours="replace-one")


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "ledger.db")


@pytest.fixture
def ledger(path):
    return PrivacyLedger.create(path, 1.0, 1e-5, filter="basic")


def sql(path, script):
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)


def in_a_child(action):
    """Run in a fork and return its exit code."""
    child = multiprocessing.get_context("fork").Process(target=action)
    child.start()
    child.join(60)
    return child.exitcode


class TestOlderCopies:
    def test_a_copy_that_is_put_back_is_noticed_by_whoever_saw_more(self, ledger, path):
        spend(ledger)
        shutil.copy(path, f"{path}.backup")
        spend(ledger)
        worker = pickle.dumps(ledger)
        seal = ledger.seal
        shutil.copy(f"{path}.backup", path)
        for handle in (ledger, pickle.loads(worker)):
            for look in (handle.remaining, handle.verify, lambda h=handle: spend(h)):
                with pytest.raises(LedgerTamperedError, match="older copy"):
                    look()
        with pytest.raises(LedgerTamperedError):
            PrivacyLedger.open(path)
        with pytest.raises(LedgerTamperedError, match="not a continuation"):
            PrivacyLedger(path).verify(seal=seal)

    def test_another_history_of_the_same_length_is_noticed_too(self, ledger, path):
        shutil.copy(path, f"{path}.backup")
        spend(ledger, "one")
        shutil.copy(path, f"{path}.mine")
        shutil.copy(f"{path}.backup", path)
        spend(PrivacyLedger(path), "another")
        with pytest.raises(LedgerTamperedError):
            spend(ledger)


class TestChangedTables:
    @pytest.mark.parametrize(
        "script",
        [
            "DELETE FROM head",
            "INSERT INTO head SELECT * FROM head",
            "INSERT INTO header SELECT * FROM header",
            "UPDATE head SET number = number - 1",
            "UPDATE head SET state = 'nonsense'",
            "DELETE FROM entries WHERE id = (SELECT max(id) FROM entries)",
            "INSERT INTO entries SELECT id + 1, body, hash, bundle FROM entries WHERE id = 3",
            """UPDATE header SET body = replace(body, '"epsilon":1.0', '"epsilon":9.0')""",
        ],
    )
    def test_no_spend_goes_through(self, ledger, path, script):
        for _ in range(3):
            spend(ledger)
        sql(path, script)
        with pytest.raises(LedgerTamperedError):
            spend(ledger)
        with pytest.raises(PrivacyError):
            PrivacyLedger.open(path)

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"cost": "0"}, "another price"),
            ({"cost": "-1/8"}, "another price"),
            ({"charged_delta": "1/100000"}, "another price"),
            ({"epsilon": 1e-9, "cost": "1/1000000000"}, "totals"),
            ({"status": "covered"}, "another price"),
            ({"bundle": "x", "cost": "0"}, "moved to another bundle"),
        ],
        ids=str,
    )
    def test_an_entry_changed_with_all_hashes_made_anew_is_noticed_by_its_price(
        self, ledger, path, change, words
    ):
        for _ in range(3):
            spend(ledger)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            header = connection.execute("SELECT body FROM header").fetchone()[0]
            rows = connection.execute("SELECT id, body FROM entries ORDER BY id").fetchall()
            before = _chained("", header)
            for number, body in rows:
                text = _text({**json.loads(body), **change}) if number == 3 else body
                before = _chained(before, text)
                new = (text, before, number)
                connection.execute("UPDATE entries SET body = ?, hash = ? WHERE id = ?", new)
            state = connection.execute("SELECT state FROM head").fetchone()[0]
            connection.execute(
                "UPDATE head SET hash = ?, seal = ?", (before, _sealed(before, 3, state))
            )
        with pytest.raises(LedgerTamperedError, match=words):
            PrivacyLedger(path).verify()

    def test_a_release_that_is_taken_out_of_its_bundle_is_noticed(self, ledger, path):
        with ledger.bundle([pure_statement(0.125), pure_statement(0.125)]):
            ledger.spend(pure_statement(0.125), purpose="fit")
        sql(path, "UPDATE entries SET bundle = NULL WHERE id = 2")
        with pytest.raises(LedgerTamperedError, match="bundle"):
            ledger.verify()


class TestProcesses:
    def test_killed_between_writing_and_committing_it_spent_nothing(self, ledger):
        append = type(ledger._store).append

        def die(store, header, seen, change):
            def halfway(session, state):
                found = change(session, state)
                session.execute("INSERT INTO entries VALUES (?, ?, ?, ?)", (1, "x", "y", None))
                os.kill(os.getpid(), signal.SIGKILL)
                return found

            return append(store, header, seen, halfway)

        def action():
            type(ledger._store).append = die
            spend(ledger)

        assert in_a_child(action) == -signal.SIGKILL
        assert ledger.verify() == 0
        spend(ledger)
        assert ledger.verify() == 1

    def test_a_fork_within_a_bundle_takes_from_it_once(self, ledger):
        with ledger.bundle([pure_statement(0.125)]):
            assert in_a_child(lambda: ledger.spend(pure_statement(0.125), purpose="fit")) == 0
            with pytest.raises(PrivacyError, match="not among"):
                ledger.spend(pure_statement(0.125), purpose="fit")
        assert ledger.verify() == 2
        assert ledger.remaining().epsilon == 0.875

    def test_whoever_may_only_read_spends_nothing_and_fits_nothing(self):
        folder = Path(tempfile.mkdtemp())  # pytest's own folders are closed to other users
        path = folder / "ledger.db"
        ledger = PrivacyLedger.create(path, 1.0, filter="basic")
        model = PrivateElasticNetClassifier(classes=[0, 1], delta=0.0, epsilon=0.5, ledger=ledger)
        clone(model).fit(X, Y)  # imports what another user may not be allowed to read
        os.chmod(path, 0o444)
        os.chmod(folder, 0o555)

        def action():
            if os.getuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            with pytest.raises(PrivacyError, match="cannot be used"):
                model.fit(X, Y)
            assert not hasattr(model, "coef_")

        try:
            assert in_a_child(action) == 0
        finally:
            os.chmod(folder, 0o755)
            os.chmod(path, 0o600)
        assert ledger.verify() == 1
        shutil.rmtree(folder)

    def test_a_full_disk_spends_nothing(self, ledger):
        def action():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
            with pytest.raises(PrivacyError, match="cannot be used"):
                spend(ledger)

        assert in_a_child(action) == 0
        assert ledger.verify() == 0

    def test_whoever_keeps_the_file_to_himself_makes_others_fail_not_spend(
        self, ledger, path, monkeypatch
    ):
        monkeypatch.setattr(connections, "PATIENCE", 0.05)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(PrivacyError, match="locked"):
                spend(ledger)
        spend(ledger)
        assert ledger.verify() == 1


class TestFiles:
    def test_a_second_name_of_the_file_is_refused(self, ledger, path):
        os.link(path, f"{path}.again")
        for name in (path, f"{path}.again"):
            with pytest.raises(PrivacyError, match="hard links"):
                PrivacyLedger.open(name)
        os.unlink(f"{path}.again")
        os.symlink(path, f"{path}.link")
        assert PrivacyLedger.open(f"{path}.link") is ledger

    @pytest.mark.parametrize("kind", ["text", "empty", "other", "folder"])
    def test_what_is_no_ledger_is_refused_and_left_as_it_was(self, tmp_path, kind):
        path = tmp_path / "x.db"
        if kind == "folder":
            path.mkdir()
        elif kind == "other":
            sql(path, "CREATE TABLE header (body TEXT); INSERT INTO header VALUES ('{}')")
        else:
            path.write_text("a,b\n1,2\n" * 500 if kind == "text" else "")
        before = path.read_bytes() if path.is_file() else None
        with pytest.raises((PrivacyError, FileNotFoundError)):
            PrivacyLedger.open(path)
        assert before is None or path.read_bytes() == before

    def test_a_clock_that_goes_back_changes_nothing_but_the_times(self, ledger, monkeypatch):
        for time in ("2030-01-01T00:00:00", "1999-01-01T00:00:00"):
            monkeypatch.setattr("skdp.privacy.ledger_writer.now", lambda time=time: time)
            spend(ledger, time)
        assert ledger.history()["purpose"].str[:4].tolist() == ["2030", "1999"]
        assert ledger.verify() == 2


class TestWords:
    def test_words_reach_neither_the_database_nor_the_page_nor_the_terminal(
        self, path, tmp_path, capsys
    ):
        words = "</td><script>alert(1)</script>'); DROP TABLE entries;-- \x1b[2J\u202e\ud800 é漢\n"
        ledger = PrivacyLedger.create(path, 1.0, filter="basic", dataset=words, unit="row")
        with ledger.experiment(words):
            ledger.spend(pure_statement(0.125), purpose=words, parameters={words: words})
        assert ledger.verify() == 1
        ledger.write_html(tmp_path / "page.html")
        for page in ((tmp_path / "page.html").read_text(), ledger._repr_html_()):
            assert "<script" not in page
            assert "é漢" in page
        for action in ("show", "history"):
            assert main(["ledger", action, path]) == 0
            out = capsys.readouterr().out
            assert "\x1b" not in out
            assert "\u202e" not in out
        assert json.loads(ledger.export_json())["entries"][0]["purpose"].endswith("é漢\\n")

    def test_a_unit_with_markup_is_escaped(self, path):
        ledger = PrivacyLedger.create(path, 1.0, filter="basic", unit="<b>patient</b>")
        assert "<b>patient" not in ledger._repr_html_()

    def test_parameters_are_written_down_but_never_rows_seeds_or_ledgers(self, ledger):
        secret = 123456789.25
        rows = np.full((50, 3), secret)
        ledger.spend(
            pure_statement(0.125),
            purpose="Thing.fit",
            parameters={
                "rows": rows, "several": [rows, rows], "many": [secret] * 9, "seed": 7,
                "random_state": 7, "ledger": ledger, "rule": rows.tolist, "alpha": np.float32(0.5),
                "n": np.int64(3), "huge": 10**4000, "on": np.True_, "nan": np.nan, "model": Path,
                "weights": {0: 1.0, 1: 2.0}, "table": dict.fromkeys(range(99), secret),
            },
        )  # fmt: skip
        (written,) = ledger.history()["parameters"]
        found = json.loads(written)
        assert str(secret) not in written
        assert not {"seed", "random_state", "ledger"} & set(found)
        assert (found["alpha"], found["n"], found["on"], found["nan"]) == (0.5, 3, True, "nan")
        assert found["rows"] == "ndarray of shape (50, 3)"
        assert found["many"] == "list of 9"
        assert found["weights"] == {"0": 1.0, "1": 2.0}
        assert ledger.verify() == 1

    def test_an_estimator_tells_its_declared_parameters(self, ledger):
        model = PrivateElasticNetClassifier(
            classes=[0, 1], delta=0.0, epsilon=0.5, random_state=7, ledger=ledger
        )
        model.fit(X, Y)
        (entry,) = ledger.history().to_dict("records")
        found = json.loads(entry["parameters"])
        assert entry["estimator"] == "PrivateElasticNetClassifier"
        assert (found["classes"], found["epsilon"], found["alpha"]) == ([0, 1], 0.5, model.alpha)
        assert not {"random_state", "ledger"} & set(found)


def test_asking_counts_the_rows_of_a_unit_as_spending_does(path):
    ledger = PrivacyLedger.create(path, 1.0, filter="basic", unit="patient", rows_per_unit=5)
    for release in (PrivacyBudget(0.25), pure_statement(0.25)):
        assert not ledger.can_afford(release)
    assert ledger.can_afford(PrivacyBudget(0.2))
    assert ledger.can_afford(PrivacyBudget(0.25), unit="patient")
    with pytest.raises(ValueError, match="protects each patient"):
        ledger.can_afford(PrivacyBudget(0.25), unit="group")


def test_times_are_those_of_the_world():
    assert entries.now().endswith("+00:00")

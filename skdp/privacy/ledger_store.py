"""Entries of a ledger in an SQLite file: appended, chained by hashes."""

import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, final

from skdp.exceptions import LedgerTamperedError, PrivacyError
from skdp.privacy.ledger_connections import connected

__all__ = ["Head", "LedgerStore", "Record"]

_TABLES = """
CREATE TABLE header (body TEXT NOT NULL);
CREATE TABLE entries (id INTEGER PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL);
CREATE TABLE head (number INTEGER NOT NULL, hash TEXT NOT NULL, state TEXT NOT NULL,
                   seal TEXT NOT NULL);
"""
_BUNDLE = "json_extract(body, '$.bundle')"
_INDEX = f"CREATE INDEX bundles ON entries ({_BUNDLE}) WHERE {_BUNDLE} IS NOT NULL;"

Json = dict[str, Any]
Change = Callable[[Json], tuple[Json, Json]]


@final
@dataclass(frozen=True)
class Record:
    """A row: its number from 1 on, what was written, its hash."""

    number: int
    body: Json
    hash: str


@final
@dataclass(frozen=True)
class Head:
    """Where the chain ends: number of rows, last hash, and what the rows add up to."""

    number: int
    hash: str
    state: Json


def _text(value: Json) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _chained(before: str, text: str) -> str:
    return hashlib.sha256(f"{before}\n{text}".encode()).hexdigest()


@final
@dataclass(frozen=True)
class LedgerStore:
    """One SQLite file in WAL mode; each change is a transaction that starts with BEGIN IMMEDIATE.

    A connection is made for each operation, so that forks, threads and copies share the file and
    nothing else. Another process that is killed in the middle leaves its
    transaction undone.

    Attributes
    ----------
    path : str
        Absolute path of the file.
    """

    path: str

    def create(self, header: Json, state: Json) -> None:
        """Make the file; FileExistsError where there is one."""
        os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with self._connected() as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            text, first = _text(header), _chained("", _text(header))
            seal = _chained(first, _text({"number": 0, "state": state}))
            connection.executescript(f"BEGIN IMMEDIATE;{_TABLES}{_INDEX}COMMIT;")
            with connection:
                connection.execute("INSERT INTO header VALUES (?)", (text,))
                row = (0, first, _text(state), seal)
                connection.execute("INSERT INTO head VALUES (?, ?, ?, ?)", row)

    def header(self) -> Json:
        """Return what was fixed at creation."""
        with self._connected() as connection:
            return self._header(connection)

    def head(self) -> Head:
        """Return the end of the chain, after the checks that take no longer on a long ledger."""
        with self._connected() as connection, _reading(connection):
            return self._head(connection)

    def append(self, change: Change) -> None:
        """Append one row, alone: `change` maps the state to the row's body and the new state.

        What `change` raises leaves everything as it was.
        """
        with self._connected() as connection:
            try:
                connection.execute("BEGIN IMMEDIATE")
                self._append(connection, change)
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def records(self) -> list[Record]:
        """Return all rows, oldest first."""
        with self._connected() as connection:
            rows = connection.execute("SELECT id, body, hash FROM entries ORDER BY id")
            return [Record(number, json.loads(body), found) for number, body, found in rows]

    def bodies_of_bundle(self, identity: str) -> list[Json]:
        """Return what was written for one bundle."""
        with self._connected() as connection:
            rows = connection.execute(
                f"SELECT body FROM entries WHERE {_BUNDLE} = ? ORDER BY id", (identity,)
            )
            return [json.loads(body) for (body,) in rows]

    def check_chain(self) -> Head:
        """Recompute the hashes of all rows.

        Raises
        ------
        LedgerTamperedError
            If a row was changed, removed, added or moved.
        """
        with self._connected() as connection, _reading(connection):
            head = self._head(connection)
            before, number = _chained("", _text(self._header(connection))), 0
            rows = connection.execute("SELECT id, body, hash FROM entries ORDER BY id")
            for number, (identity, body, found) in enumerate(rows, start=1):
                before = _chained(before, body)
                if identity != number or found != before:
                    raise LedgerTamperedError(f"Entry {number} of {self.path} does not fit.")
            if (number, before) != (head.number, head.hash):
                raise LedgerTamperedError(f"{self.path} has lost or gained entries at its end.")
            return head

    def _append(self, connection: sqlite3.Connection, change: Change) -> None:
        head = self._head(connection)
        body, state = change(head.state)
        number, text = head.number + 1, _text(body)
        found = _chained(head.hash, text)
        seal = _chained(found, _text({"number": number, "state": state}))
        connection.execute("INSERT INTO entries VALUES (?, ?, ?)", (number, text, found))
        row = (number, found, _text(state), seal)
        connection.execute("UPDATE head SET number=?, hash=?, state=?, seal=?", row)

    def _header(self, connection: sqlite3.Connection) -> Json:
        try:
            row = connection.execute("SELECT body FROM header").fetchone()
            found: Json = json.loads(row[0])
        except (sqlite3.DatabaseError, TypeError, ValueError) as error:
            raise PrivacyError(f"{self.path} is not a privacy ledger: {error}.") from None
        return found

    def _head(self, connection: sqlite3.Connection) -> Head:
        row = connection.execute("SELECT number, hash, state, seal FROM head").fetchone()
        last = connection.execute(
            "SELECT id, hash FROM entries ORDER BY id DESC LIMIT 1"
        ).fetchone()
        first = (0, _chained("", _text(self._header(connection))))
        if row is None or tuple(last or first) != row[:2]:
            raise LedgerTamperedError(f"{self.path} has lost or gained entries at its end.")
        head = Head(row[0], row[1], json.loads(row[2]))
        if row[3] != _chained(head.hash, _text({"number": head.number, "state": head.state})):
            raise LedgerTamperedError(f"The totals of {self.path} were changed.")
        return head

    def _connected(self) -> AbstractContextManager[sqlite3.Connection]:
        return connected(self.path)


@contextmanager
def _reading(connection: sqlite3.Connection) -> Iterator[None]:
    """See one state of the file in all that is read."""
    try:
        connection.execute("BEGIN")
        yield
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")

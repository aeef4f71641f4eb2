"""Entries of a ledger: appended, chained by hashes."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

from skdp.exceptions import LedgerTamperedError
from skdp.privacy.ledger_connections import Place, Session

__all__ = ["Head", "LedgerStore", "Mark", "Record"]

_TABLES = (
    "CREATE TABLE header (body TEXT NOT NULL)",
    "CREATE TABLE entries (id INTEGER PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL, "
    "bundle TEXT)",
    "CREATE TABLE head (number INTEGER NOT NULL, hash TEXT NOT NULL, state TEXT NOT NULL, "
    "seal TEXT NOT NULL)",
    "CREATE INDEX bundles ON entries (bundle) WHERE bundle IS NOT NULL",
)

Json = dict[str, Any]
Change = Callable[[Session, Json], tuple[Json, str | None, Json]]


@final
@dataclass(frozen=True)
class Record:
    """A row: its number from 1 on, what was written, its hash, by what a bundle finds it."""

    number: int
    body: Json
    hash: str
    bundle: str | None


@final
@dataclass(frozen=True)
class Mark:
    """An entry that was seen: the ledger still holds it, or is another one by now."""

    number: int
    hash: str


@final
@dataclass(frozen=True)
class Head:
    """Where the chain ends: number of rows, last hash, and what the rows add up to."""

    number: int
    hash: str
    state: Json

    @property
    def mark(self) -> Mark:
        """What is to be found again."""
        return Mark(self.number, self.hash)


def _text(value: Json) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _chained(before: str, text: str) -> str:
    return hashlib.sha256(f"{before}\n{text}".encode()).hexdigest()


@final
@dataclass(frozen=True)
class LedgerStore:
    """A header, rows and the end of their chain; each change is one transaction.

    Attributes
    ----------
    place : Place
        Where the tables are.
    """

    place: Place

    def create(self, header: Json, state: Json) -> None:
        """Make the tables; FileExistsError where there are some."""
        first = _chained("", _text(header))
        with self.place.creating() as session:
            for table in _TABLES:
                session.execute(table)
            session.execute("INSERT INTO header VALUES (?)", (_text(header),))
            row = (0, first, _text(state), _sealed(first, 0, _text(state)))
            session.execute("INSERT INTO head VALUES (?, ?, ?, ?)", row)

    def opened(self) -> tuple[Json, Head]:
        """Return what was fixed at creation, and the end of the chain."""
        with self.place.reading() as session:
            text = self._header(session)
            return json.loads(text), self._head(session, text)

    def head(self, header: Json, seen: Mark) -> Head:
        """Return the end of the chain, after the checks that take no longer on a long ledger.

        Raises
        ------
        LedgerTamperedError
            If header or end were changed, or what was seen before is not there any more.
        """
        with self.place.reading() as session:
            return self._continued(session, header, seen)

    def asked(self, header: Json, seen: Mark, question: Callable[[Session], Any]) -> Any:
        """Return the answer to a question, after the same checks."""
        with self.place.reading() as session:
            self._continued(session, header, seen)
            return question(session)

    def append(self, header: Json, seen: Mark, change: Change) -> Mark:
        """Append one row, alone, and return its mark.

        `change` maps the state to the row's body, what its bundle finds it by, and the new state.
        What it raises leaves everything as it was.
        """
        with self.place.writing() as session:
            head = self._continued(session, header, seen)
            body, bundle, state = change(session, head.state)
            number, text = head.number + 1, _text(body)
            found = _chained(head.hash, text)
            row = (number, text, found, bundle)
            session.execute("INSERT INTO entries VALUES (?, ?, ?, ?)", row)
            end = (number, found, _text(state), _sealed(found, number, _text(state)))
            session.execute("UPDATE head SET number = ?, hash = ?, state = ?, seal = ?", end)
        return Mark(number, found)

    def records(self, header: Json, seen: Mark) -> tuple[Head, list[Record]]:
        """Return the end and all rows, oldest first, after recomputing all hashes.

        Raises
        ------
        LedgerTamperedError
            If a row was changed, removed, added or moved.
        """
        with self.place.reading() as session:
            head = self._continued(session, header, seen)
            before, rows = _chained("", _text(header)), []
            found = session.execute("SELECT id, body, hash, bundle FROM entries ORDER BY id")
            for number, (identity, body, mark, bundle) in enumerate(found, start=1):
                before = _chained(before, body)
                if identity != number or mark != before:
                    raise LedgerTamperedError(f"Entry {number} of {self._address} does not fit.")
                rows.append(Record(number, json.loads(body), mark, bundle))
            if (len(rows), before) != (head.number, head.hash):
                raise self._cut_or_grown()
            return head, rows

    def _continued(self, session: Session, header: Json, seen: Mark) -> Head:
        text = self._header(session)
        if text != _text(header):
            raise LedgerTamperedError(
                f"Another ledger is at {self._address} now, or what was fixed at creation was "
                "changed."
            )
        head = self._head(session, text)
        if seen.number > 0:
            row = session.execute("SELECT hash FROM entries WHERE id = ?", (seen.number,))
            if row.fetchone() != (seen.hash,):
                raise LedgerTamperedError(
                    f"Entry {seen.number} of {self._address} is gone or another: it was replaced, "
                    "for instance by an older copy. Nothing was spent."
                )
        return head

    def _header(self, session: Session) -> str:
        rows = session.execute("SELECT body FROM header").fetchall()
        if len(rows) != 1:
            raise LedgerTamperedError(f"{self._address} has {len(rows)} headers instead of one.")
        return str(rows[0][0])

    def _head(self, session: Session, header: str) -> Head:
        ends = session.execute("SELECT number, hash, state, seal FROM head").fetchall()
        last = session.execute("SELECT id, hash FROM entries ORDER BY id DESC LIMIT 1").fetchone()
        if len(ends) != 1 or (last or (0, _chained("", header))) != ends[0][:2]:
            raise self._cut_or_grown()
        self._refuse_other_headers(session, header)
        number, found, text, seal = ends[0]
        if seal != _sealed(found, number, text):
            raise LedgerTamperedError(f"The totals of {self._address} were changed.")
        return Head(number, found, json.loads(text))

    def _refuse_other_headers(self, session: Session, header: str) -> None:
        """Refuse a header that the first entry was not chained to, on a long ledger too."""
        first = session.execute("SELECT body, hash FROM entries WHERE id = 1").fetchone()
        if first is not None and first[1] != _chained(_chained("", header), first[0]):
            raise LedgerTamperedError(
                f"What was fixed at the creation of {self._address} was changed, or its first "
                "entry was."
            )

    def _cut_or_grown(self) -> LedgerTamperedError:
        return LedgerTamperedError(f"{self._address} has lost or gained entries at its end.")

    @property
    def _address(self) -> str:
        return self.place.address


def _sealed(last: str, number: int, state: str) -> str:
    return _chained(last, f"{number}\n{state}")

"""Where a ledger's tables are: an SQLite file, or a schema of a PostgreSQL server.

Each gives a connection to one operation, so that none crosses a fork; both understand the same SQL.
"""

import os
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, final

from skdp.exceptions import PrivacyError

__all__ = ["Place", "Session", "SqliteFile", "place_of"]

#: How long a process waits for its turn, in seconds.
PATIENCE = 120.0


class Session(Protocol):
    """A transaction that is under way; parameters stand as question marks."""

    def execute(self, sql: str, parameters: Sequence[Any] = ..., /) -> Any:
        """Run one statement and return a cursor."""


class Place(ABC):
    """Tables and the three kinds of transaction that a ledger needs.

    What is raised within a transaction undoes it. What the database refuses is a `PrivacyError`,
    so that a fit ends there; a missing ledger is a FileNotFoundError.
    """

    @property
    @abstractmethod
    def address(self) -> str:
        """What leads another process to the same tables; holds no password."""

    @abstractmethod
    def creating(self) -> AbstractContextManager[Session]:
        """Make the place, for tables to be made in it; FileExistsError where there is one."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Session]:
        """See one state of all tables."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[Session]:
        """Be the only one who writes; what is committed survives a loss of power."""


def place_of(path: str | os.PathLike[str]) -> Place:
    """Return the place that a path, or the URL of a server, stands for."""
    if "://" not in str(path):
        return SqliteFile(str(Path(path).expanduser().resolve()))
    from skdp.privacy.ledger_postgres import PostgresSchema

    return PostgresSchema.at(str(path))


@final
@dataclass(frozen=True)
class SqliteFile(Place):
    """One file in WAL mode; a writing transaction starts with BEGIN IMMEDIATE.

    Attributes
    ----------
    path : str
        Absolute, links resolved.
    """

    path: str

    @property
    def address(self) -> str:
        return self.path

    @contextmanager
    def creating(self) -> Iterator[Session]:
        os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with self._connected() as connection:
            connection.execute("PRAGMA journal_mode=WAL")
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    def reading(self) -> AbstractContextManager[Session]:
        return self._transaction("BEGIN")

    def writing(self) -> AbstractContextManager[Session]:
        return self._transaction("BEGIN IMMEDIATE")

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        with self._connected() as connection:
            connection.execute(begin)
            yield connection
            connection.execute("COMMIT")

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        self._refuse_second_names()
        # By URI, so that a missing file is an error and never a new, empty ledger.
        uri = f"{Path(self.path).as_uri()}?mode=rw"
        try:
            # Closing undoes what was not committed.
            with closing(
                sqlite3.connect(uri, uri=True, timeout=PATIENCE, isolation_level=None)
            ) as connection:
                # With NORMAL, a machine that loses power forgets what was committed since the last
                # checkpoint: a release would be out, and its spending undone.
                connection.execute("PRAGMA synchronous=FULL")
                yield connection
        except sqlite3.Error as error:
            raise PrivacyError(
                f"{self.path} is not a privacy ledger, or cannot be used: {error}."
            ) from error

    def _refuse_second_names(self) -> None:
        try:
            names = os.stat(self.path).st_nlink
        except OSError as error:
            raise FileNotFoundError(f"No ledger is at {self.path}: {error}.") from None
        # SQLite finds what was written last by the file's name: under a second one it is missed.
        if names > 1:
            raise PrivacyError(
                f"{self.path} has {names} names (hard links); spending under one would not be seen "
                "under the other. Remove all but one."
            )

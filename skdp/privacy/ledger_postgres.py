"""A ledger on a PostgreSQL server, for people who do not share a disk."""

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from skdp.exceptions import PrivacyError
from skdp.privacy.ledger_connections import PATIENCE, Place, Session

if TYPE_CHECKING:
    import psycopg

__all__ = ["PostgresSchema"]

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


@final
@dataclass(frozen=True)
class PostgresSchema(Place):
    """The tables of one ledger, in the schema skdp_NAME of a database.

    Attributes
    ----------
    url : str
        What libpq is given: postgresql://user@host/database, without a password.
    name : str
        The ledger's name, from `?ledger=NAME`.
    """

    url: str
    name: str

    @classmethod
    def at(cls, url: str) -> Self:
        """Return the place of postgresql://user@host/database?ledger=NAME."""
        parts = urlsplit(url)
        if parts.scheme not in ("postgresql", "postgres"):
            raise ValueError(
                f"A ledger is a file or at postgresql://user@host/database, not {parts.scheme}://."
            )
        options = parse_qsl(parts.query, keep_blank_values=True)
        if parts.password is not None or any("password" in key.lower() for key, _ in options):
            raise ValueError(
                "The address of a ledger is written into models and logs: leave the password out. "
                "Put it into ~/.pgpass or PGPASSWORD."
            )
        name = dict(options).get("ledger", "ledger")
        if not _NAME.fullmatch(name):
            raise ValueError(
                "A ledger's name has 1 to 40 lower-case letters, digits and underscores and starts "
                f"with a letter, got {name!r}."
            )
        query = urlencode([(key, value) for key, value in options if key != "ledger"])
        return cls(urlunsplit(parts._replace(scheme="postgresql", query=query)), name)

    @property
    def address(self) -> str:
        return f"{self.url}{'&' if urlsplit(self.url).query else '?'}ledger={self.name}"

    @contextmanager
    def creating(self) -> Iterator[Session]:
        from psycopg import errors

        try:
            with self._transaction("BEGIN", f'CREATE SCHEMA "{self._schema}"') as session:
                yield session
        except PrivacyError as error:
            if isinstance(error.__cause__, errors.DuplicateSchema | errors.UniqueViolation):
                raise FileExistsError(f"There is a ledger at {self.address}.") from None
            raise

    def reading(self) -> AbstractContextManager[Session]:
        return self._transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def writing(self) -> AbstractContextManager[Session]:
        # Statements after the lock see what the one who had it before committed.
        return self._transaction(
            "BEGIN ISOLATION LEVEL READ COMMITTED", "LOCK TABLE head IN EXCLUSIVE MODE"
        )

    @property
    def _schema(self) -> str:
        return f"skdp_{self.name}"

    @contextmanager
    def _transaction(self, *begin: str) -> Iterator[Session]:
        import psycopg

        first = (
            f'SET search_path TO "{self._schema}"',
            "SET synchronous_commit TO on",
            f"SET lock_timeout TO '{PATIENCE:.0f}s'",
            *begin,
        )
        with closing(self._connection()) as connection:
            try:
                connection.execute("; ".join(first))
                yield _Numbered(connection)
                if connection.execute("COMMIT").statusmessage != "COMMIT":
                    raise PrivacyError(f"{self.address} did not keep what was written.")
            except psycopg.errors.UndefinedTable as error:
                raise FileNotFoundError(f"No ledger is at {self.address}: {error}") from None
            except psycopg.Error as error:
                raise PrivacyError(f"{self.address} cannot be used: {error}") from error

    def _connection(self) -> "psycopg.Connection[tuple[Any, ...]]":
        try:
            import psycopg
        except ImportError:
            raise ImportError(
                "A ledger on a PostgreSQL server needs psycopg: pip install 'skdp[postgres]'."
            ) from None
        try:
            return psycopg.connect(self.url, autocommit=True, prepare_threshold=None)
        except psycopg.Error as error:
            raise PrivacyError(f"{self.address} cannot be reached: {error}") from None


@final
@dataclass(frozen=True)
class _Numbered:
    """Statements whose question marks stand for parameters, as in SQLite."""

    connection: "psycopg.Connection[tuple[Any, ...]]"

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> Any:
        return self.connection.execute(sql.replace("?", "%s").encode(), parameters)

"""Open SQLite files: a connection for each operation, so that none crosses a fork."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["connected"]

#: How long a process waits for its turn, in seconds.
_PATIENCE = 120.0


@contextmanager
def connected(path: str) -> Iterator[sqlite3.Connection]:
    """Yield a connection, closed afterwards.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    """
    # By URI, so that a missing file is an error and never a new, empty ledger.
    uri = f"{Path(path).as_uri()}?mode=rw"
    try:
        connection = sqlite3.connect(uri, uri=True, timeout=_PATIENCE, isolation_level=None)
    except sqlite3.OperationalError as error:
        raise FileNotFoundError(f"No ledger can be opened at {path}: {error}.") from None
    try:
        # With NORMAL, a machine that loses power forgets what was committed since the last
        # checkpoint: a release would be out, and its spending undone.
        connection.execute("PRAGMA synchronous=FULL")
        yield connection
    finally:
        connection.close()

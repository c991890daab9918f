"""Check a file that no daemon has open: a backup, a copy, or a database whose daemon is not running."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from tempfile import TemporaryDirectory
from typing import TypeAlias

from reel.base.errors import Storage
from reeld.store.connection import uri_of
from reeld.store.opening import open_regular, opening
from reeld.store.schema import MIGRATIONS, VERSION, migrate, require_ours
from reeld.verify.logs import LogChecker
from reeld.verify.rows import Report
from reeld.verify.sqlite import check_file

# Called with how many events have been checked, and with their total.
Tell: TypeAlias = Callable[[int, int], None]


def check(path: str, tell: Tell = lambda _done, _total: None) -> Report:
    """Check all data in a file without changing it.

    A file of an older version is migrated and checked as a copy in the directory for temporary files.

    Args:
        tell: called repeatedly with the progress.

    Raises:
        Storage: it is not a database, belongs to another program, or is from a newer version; the message says what to
            do.
    """
    report = Report()
    with opening(path), closing(open_unchanged(path)) as connection:
        version = require_ours(connection, path)
        if not version:
            raise Storage(f"{path} has no tables yet; name a file that a daemon has used")
        if version < VERSION:
            with _migrated(connection) as migrated:
                _check(migrated, path, report, tell)
        else:
            _check(connection, path, report, tell)
    return report


def open_unchanged(path: str) -> sqlite3.Connection:
    """Open a file read-only, without creating files beside it.

    SQLite creates files beside a database in WAL mode, even to read it. Without a WAL, the file is opened as immutable
    instead. If there is a WAL, a daemon has the file open or was killed, and these files exist already.

    Raises:
        OSError: it cannot be opened.
    """
    os.close(open_regular(path, os.O_RDONLY))  # SQLite would not give the reason
    return sqlite3.connect(unchanging_uri(path), uri=True, isolation_level=None)


def unchanging_uri(path: str) -> str:
    """Return the URI with which SQLite opens a file read-only; see :func:`open_unchanged`."""
    has_wal = os.path.exists(f"{path}-wal")
    return f"{uri_of(path, 'ro')}{'' if has_wal else '&immutable=1'}"


def _check(connection: sqlite3.Connection, path: str, report: Report, tell: Tell) -> None:
    # Text that is not UTF-8 must be found, too.
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    check_file(connection, path, report, lambda: False)
    total, checker = _events(connection), LogChecker(report)
    while checker.work(connection):
        tell(report.events, total)


def _events(connection: sqlite3.Connection) -> int:
    """Return the number of events; 0 if it is unreadable, which the check will report."""
    try:
        (total,) = connection.execute("SELECT count(*) FROM events").fetchone()
    except sqlite3.DatabaseError:
        return 0
    return int(total)


@contextmanager
def _migrated(older: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    with (
        TemporaryDirectory(prefix="reel-verify-") as place,
        closing(sqlite3.connect(f"{place}/copy.db", isolation_level=None)) as copy,
    ):
        older.backup(copy)
        migrate(copy, MIGRATIONS)
        yield copy

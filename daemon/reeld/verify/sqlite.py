"""Check the file with SQLite's own checks.

SQLite's check cannot be split into slices: it reads one snapshot of the file, and meanwhile the WAL grows with every
write. So the check is aborted if the WAL grows too much.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from reeld.store.schema import MIGRATIONS, migrate
from reeld.verify.rows import LISTED, Problem, Report

# Bytes by which the WAL may grow during the check.
GROWTH = 256 << 20
# Steps of SQLite's virtual machine between two checks whether to continue.
_STEPS = 20_000

# The events whose agent, or parent, does not exist: events have no foreign keys, which would slow down every commit.
EVENT_REFERENCES = {
    "agents": "SELECT id FROM events WHERE agent NOT IN (SELECT id FROM agents)",
    "events": "SELECT id FROM events e WHERE parent IS NOT NULL AND NOT EXISTS"
    " (SELECT 1 FROM events p WHERE p.id = e.parent)",
}


def check_file(connection: sqlite3.Connection, path: str, report: Report, cancelled: Callable[[], bool]) -> None:
    """Let SQLite check the file, and compare its tables with the expected ones.

    Args:
        cancelled: polled; the check ends once it returns true.
    """
    limit = _wal(path) + GROWTH
    connection.set_progress_handler(lambda: cancelled() or _wal(path) > limit, _STEPS)
    try:
        report.note(_check_schema(connection))
        report.note(_check_pages(connection))
        report.note(_check_references(connection))
    except sqlite3.DatabaseError as error:
        if _wal(path) > limit:
            reason = f"{GROWTH >> 20} MB were written during SQLite's own check, and it was broken off"
            report.note([Problem("unchecked", reason)])
        else:
            report.note([Problem("sqlite", str(error))])
    finally:
        connection.set_progress_handler(None, 0)


def _wal(path: str) -> int:
    try:
        return Path(f"{path}-wal").stat().st_size
    except FileNotFoundError:  # a backup has none
        return 0


def _check_schema(connection: sqlite3.Connection) -> Iterator[Problem]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
        migrate(fresh, MIGRATIONS)
        expected = _schema(fresh)
    found = _schema(connection)
    for thing in sorted(expected.keys() | found.keys()):
        if thing not in found:
            yield Problem("schema", f"{thing} is missing")
        elif thing not in expected:
            yield Problem("schema", f"{thing} is not ours")
        elif expected[thing] != found[thing]:
            yield Problem("schema", f"{thing} is not as we made it")


def _schema(connection: sqlite3.Connection) -> dict[str, str]:
    rows = connection.execute("SELECT type || ' ' || name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'")
    return dict(rows.fetchall())


def _check_pages(connection: sqlite3.Connection) -> Iterator[Problem]:
    for (text,) in connection.execute(f"PRAGMA integrity_check({LISTED})"):
        if text != "ok":
            yield Problem("sqlite", text)


def _check_references(connection: sqlite3.Connection) -> Iterator[Problem]:
    for table, _, parent, _ in connection.execute("PRAGMA foreign_key_check"):
        yield Problem("reference", f"a row of {table} refers to {parent}, which does not exist")
    for table, query in EVENT_REFERENCES.items():
        for (event,) in connection.execute(query):
            yield Problem("reference", f"a row of events refers to {table}, which does not exist", event_id=event)

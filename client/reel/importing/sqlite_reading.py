"""Reading a database of another tool, which may be writing to it."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from reel.importing.files import MAX_LINE, open_regular
from reel.importing.values import parse_record
from reel.strict_json import Json

# A database that is open.
Connection = sqlite3.Connection
# What reading rows raises if pages are damaged; the second, if the name of a column is.
Damaged = (sqlite3.Error, UnicodeDecodeError)
# What the name of a log ends in. Where a database says in its header whether it has one, and what it says then.
_LOG = "-wal"
_HEAD, _VERSIONS, _WITH_LOG = 20, slice(18, 20), b"\2\2"


@contextmanager
def reading(path: str) -> Iterator[Connection]:
    """Open a database to read it, with what is in the log beside it.

    If it may have a log but nobody uses it, it is opened as immutable: otherwise SQLite would make an empty log beside
    it, and leave it there. In use, that would leave out the log, and read pages while they are written.

    Raises:
        OSError: it is not a regular file, cannot be read, or is damaged; or somebody began to write to it meanwhile.
    """
    with open_regular(path) as file:
        unused = file.read(_HEAD)[_VERSIONS] == _WITH_LOG and not Path(path + _LOG).exists()
        before = os.fstat(file.fileno())
    options = "mode=ro&immutable=1" if unused else "mode=ro"
    try:
        with closing(sqlite3.connect(f"file:{quote(path)}?{options}", uri=True)) as database:
            database.row_factory = sqlite3.Row
            database.text_factory = lambda data: data.decode("utf-8", "replace")
            database.execute("PRAGMA trusted_schema = OFF")
            yield database
    except Damaged as error:
        raise OSError(0, f"cannot be read as a database: {error}", path) from None
    if unused and (Path(path + _LOG).exists() or Path(path).stat().st_mtime_ns != before.st_mtime_ns):
        raise OSError(0, "was written to while it was read; import it again", path)


def rows_of(database: Connection, query: str, *values: object) -> Iterator[Json]:
    """Yield the rows that a query finds, by the names of their columns."""
    for row in database.execute(query, values):
        yield dict(row)


def tables_in(database: Connection) -> set[str]:
    """Return the names of the tables."""
    return {row["name"] for row in rows_of(database, "SELECT name FROM sqlite_master WHERE type = 'table'")}


def record_in(value: object) -> Json:
    """Return a column with a JSON object.

    Raises:
        ValueError: it has something else; the error says what.
    """
    data = value.encode("utf-8", "replace") if isinstance(value, str) else value
    if not isinstance(data, bytes):
        raise ValueError("not JSON: it is not a text")  # noqa: TRY004 - what a database has, not what a caller gives
    if len(data) > MAX_LINE:
        raise ValueError(f"a record of {len(data):,} bytes; the limit is {MAX_LINE:,}")
    try:
        found = parse_record(data)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from None
    if found is None:
        raise ValueError("not a JSON object")
    return found

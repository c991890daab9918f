"""Reads SQLite databases of other tools, which may be writing to them."""

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from reel.base.strict_json import Json
from reel.base.values import clean_deep
from reel.importing.sources.files import MAX_LINE, files_below, open_regular
from reel.importing.sources.long_lines import parse_shortened
from reel.importing.steps import Found, Problem, Source
from reel.importing.values import parse_record

# The suffix of a log's name.
WAL = "-wal"
# How a database begins.
_MAGIC = b"SQLite format 3\0"
# An open database.
Connection = sqlite3.Connection
# The exceptions of reading rows if pages are damaged; the second one if the name of a column is.
Damaged = (sqlite3.Error, UnicodeDecodeError)
# The place in a database's header that tells whether it has a log beside it, and the value if it has.
_HEAD, _VERSIONS, _WITH_LOG = 20, slice(18, 20), b"\2\2"


@contextmanager
def reading(path: str) -> Iterator[Connection]:
    """Open a database for reading, including the log beside it.

    If it may have a log but nobody uses it, it is opened as immutable: otherwise SQLite would create an empty log and
    leave it there. If it is in use, immutable mode would ignore the log, and read pages while they are written.

    Raises:
        OSError: it is not a regular file, is unreadable or damaged; or another program began to write to it.
    """
    with open_regular(path) as file:
        unused = file.read(_HEAD)[_VERSIONS] == _WITH_LOG and not Path(path + WAL).exists()
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
    if unused and (Path(path + WAL).exists() or Path(path).stat().st_mtime_ns != before.st_mtime_ns):
        raise OSError(0, "was written to while it was read; import it again", path)


def is_database(file: BinaryIO) -> bool:
    """Return whether a file begins as a database does."""
    file.seek(0)
    return file.read(len(_MAGIC)) == _MAGIC


def copy(path: str, target: str) -> None:
    """Write a consistent copy of a database, including the log beside it, into a new file that only its owner can read.

    Raises:
        OSError: it cannot be read, or the copy cannot be written.
    """
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    with reading(path) as source, closing(sqlite3.connect(target)) as copied:
        source.backup(copied)
        copied.execute("PRAGMA journal_mode = DELETE")  # so that it is one file


def rows_of(database: Connection, query: str, *values: object) -> Iterator[Json]:
    """Yield the rows that a query finds, keyed by column names."""
    for row in database.execute(query, values):
        yield dict(row)


def tables_in(database: Connection) -> set[str]:
    """Return the names of the tables."""
    return {row["name"] for row in rows_of(database, "SELECT name FROM sqlite_master WHERE type = 'table'")}


def record_in(value: object, report: Callable[[str], None] = lambda _what: None) -> Json:
    """Parse a column that holds a JSON object; one that is too long is read without its largest media.

    Args:
        value: the value of the column.
        report: is told what was left out.

    Raises:
        ValueError: it holds something else; the error says what.
    """
    data = value.encode("utf-8", "replace") if isinstance(value, str) else value
    if not isinstance(data, bytes):
        raise ValueError("not JSON: it is not a text")  # noqa: TRY004 - data of a database, not an argument
    try:
        found = parse_record(data) if len(data) <= MAX_LINE else _shortened(data, report)
    except _TooLong as error:
        raise ValueError(str(error)) from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from None
    if found is None:
        raise ValueError("not a JSON object")
    return found


class _TooLong(Exception):
    """A record is too long, also without its media."""


def _shortened(data: bytes, report: Callable[[str], None]) -> Json:
    what = f"a record of {len(data):,} bytes; the limit is {MAX_LINE:,}"
    found = parse_shortened(data, MAX_LINE)
    if found is None:
        raise _TooLong(what)
    record, left_out = found
    report(f"{what}: {left_out}")
    return record


class Database:
    """A database that is being read.

    Related rows are looked up once, because the tables have no indexes for that. Memory holds the numbers of all rows,
    and the rows of one conversation.

    Args:
        connection: the connection.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.tables = tables_in(connection)
        self._groups: dict[tuple[str, str], dict[str, list[int]]] = {}

    def groups(self, table: str, column: str) -> dict[str, list[int]]:
        """Return the numbers of a table's rows by the values of a column; none if there is no such table."""
        key = (table, column)
        if key not in self._groups:
            found = self._groups[key] = {}
            if table in self.tables:
                query = f'select rowid as number, "{column}" as value from "{table}" order by rowid'  # noqa: S608 - ours
                for row in self._connection.execute(query):
                    value = "" if row["value"] is None else clean_deep(str(row["value"]))[0]
                    found.setdefault(value, []).append(row["number"])
        return self._groups[key]

    def count(self, columns: Mapping[str, str]) -> int:
        """Return the total number of distinct values in a column of each of these tables."""
        union = " union ".join(f'select "{column}" as value from "{table}"' for table, column in columns.items())  # noqa: S608
        try:
            distinct = f"select count(*) as found from (select distinct value from ({union}))"  # noqa: S608 - ours
            return int(self._connection.execute(distinct).fetchone()["found"])
        except Damaged:
            return 1  # damage is reported when it is read

    def row(self, table: str, number: int) -> Json:
        """Return a row; empty if it is gone."""
        if table not in self.tables:
            return {}
        found = self._connection.execute(f'select * from "{table}" where rowid = ?', [number]).fetchone()  # noqa: S608
        return clean_deep(dict(found))[0] if found is not None else {}

    def rows(self, table: str, column: str, value: str) -> list[Json]:
        """Return the rows with a value in a column, in their order."""
        found = [self.row(table, number) for number in self.groups(table, column).get(value, ())]
        return sorted(found, key=lambda row: row["order"] if type(row.get("order")) is int else 0)


@contextmanager
def open_database(path: str) -> Iterator[Database]:
    """Open a database for reading, including its write-ahead log, without blocking a writer.

    Raises:
        OSError: it is not a database, or is damaged.
    """
    with reading(path) as connection:
        yield Database(connection)


def databases_below(root: Path, tool: str, suffixes: tuple[str, ...], tables: Mapping[str, str]) -> Found:
    """Return the databases at a path that have one of these tables.

    Args:
        root: a file, or a directory.
        tool: the name of the tool, the prefix of the conversations' names.
        suffixes: the suffixes of the file names.
        tables: the tables, each with the column that identifies the conversation of a row.
    """
    problems: list[Problem] = []
    sources = []
    for entry in files_below(root, suffixes, problems):
        path = str(entry.path)
        try:
            conversations = _conversations_in(path, tables)
        except OSError as error:
            # In a directory there may be databases of other programs.
            if root.is_file():
                problems.append(Problem(path, 0, error.strerror or str(error)))
            continue
        log = Path(path + WAL)
        size, modified = (log.stat().st_size, log.stat().st_mtime_ns) if log.exists() else (0, 0)
        modified = max(entry.modified, modified)
        sources.append(Source(path, tool, entry.size + size, modified, conversations=conversations))
    return Found(sources, problems)


def _conversations_in(path: str, tables: Mapping[str, str]) -> int:
    """Return how many conversations a database has.

    Raises:
        OSError: it is not a database with one of these tables.
    """
    with open_regular(path) as file:
        if not is_database(file):
            raise OSError(0, "is not an SQLite database", path)
    with open_database(path) as database:
        found = {table: column for table, column in tables.items() if table in database.tables}
        if not found:
            raise OSError(0, f"has none of the tables {', '.join(tables)}", path)
        return database.count(found)

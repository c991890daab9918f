"""Reading SQLite databases of other tools, which may be in use."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from reel.importing.files import files_below, open_regular
from reel.importing.sqlite_reading import Connection, Damaged, reading, tables_in
from reel.importing.steps import Found, Problem, Source
from reel.strict_json import Json
from reel.values import clean_deep

_WAL = "-wal"
_MAGIC = b"SQLite format 3\0"


class Database:
    """A database that is being read.

    Which rows belong to what is looked up once, because the tables have no indexes for that. In memory are the numbers
    of all rows, and the rows of one conversation.

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
        """Return how many values there are in a column of each of these tables, together."""
        union = " union ".join(f'select "{column}" as value from "{table}"' for table, column in columns.items())  # noqa: S608
        try:
            return int(self._connection.execute(f"select count(*) as found from ({union})").fetchone()["found"])  # noqa: S608
        except Damaged:
            return 1  # what is damaged is reported when it is read

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
    """Open a database to read it. What is in its write-ahead log is read as well, and a writer is not kept waiting.

    Raises:
        OSError: it is not a database, or is damaged.
    """
    with reading(path) as connection:
        yield Database(connection)


def databases_below(root: Path, tool: str, suffixes: tuple[str, ...], tables: Mapping[str, str]) -> Found:
    """Return the databases at a path that have one of these tables.

    Args:
        root: a file, or a directory.
        tool: the name of the tool, which the names of the conversations begin with.
        suffixes: the ends of the names.
        tables: the tables, each with the column that says which conversation a row belongs to.
    """
    problems: list[Problem] = []
    sources = []
    for entry in files_below(root, suffixes, problems):
        path = str(entry.path)
        try:
            conversations = _conversations_in(path, tables)
        except OSError as error:
            # In a directory there may be databases of others.
            if root.is_file():
                problems.append(Problem(path, 0, error.strerror or str(error)))
            continue
        log = Path(path + _WAL)
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
        if file.read(len(_MAGIC)) != _MAGIC:
            raise OSError(0, "is not an SQLite database", path)
    with open_database(path) as database:
        found = {table: column for table, column in tables.items() if table in database.tables}
        if not found:
            raise OSError(0, f"has none of the tables {', '.join(tables)}", path)
        return database.count(found)

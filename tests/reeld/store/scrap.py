"""A database of three tables that is changed at random, and the words that it has."""

import random
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

WORD = re.compile(rb"SECRET[0-9a-f]{16}")
_QUERIES = (
    "SELECT text FROM first",
    "SELECT key FROM second",
    "SELECT value FROM second",
    "SELECT one FROM third",
    "SELECT two FROM third",
)
# Lengths of what follows a word: within a page, and in overflow pages.
_LENGTHS = (0, 1, 5, 40, 200, 1000, 5000, 20_000)
_LONG = 0.1
_ROWS = 2000


class Scrap:
    """The database.

    Args:
        connection: to a new file.
        seed: chooses the changes.
    """

    def __init__(self, connection: sqlite3.Connection, seed: int) -> None:
        self.connection = connection
        self._random = random.Random(seed)
        connection.executescript(
            "CREATE TABLE first (id INTEGER PRIMARY KEY, text TEXT); CREATE INDEX first_text ON first (text);"
            "CREATE TABLE second (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID;"
            "CREATE TABLE third (one TEXT, two TEXT UNIQUE);"
        )

    def fill(self, rows: int) -> None:
        """Insert rows."""
        for row in range(rows):
            word, text = self._texts()
            table = ("first VALUES (?2, ?3)", "second VALUES (?1, ?3)", "third VALUES (?3, ?1)")[row % 3]
            self.connection.execute(f"INSERT INTO {table}", (word, _ROWS + row, text))

    def _texts(self) -> tuple[str, str]:
        """Return a word that was never used, and a text with it."""
        chosen = self._random
        word = f"SECRET{chosen.randrange(1 << 64):016x}"
        length = chosen.choice(_LENGTHS) if chosen.random() < _LONG else chosen.randrange(60)
        return word, word + "z" * length

    def change(self, rows: int) -> None:
        """Insert, replace and delete rows, in one transaction."""
        connection, chosen = self.connection, self._random
        connection.execute("BEGIN")
        for _ in range(rows):
            (word, text), row = self._texts(), chosen.randrange(_ROWS)
            match chosen.randrange(7):
                case 0:
                    connection.execute("INSERT OR REPLACE INTO first VALUES (?, ?)", (row, text))
                case 1:
                    connection.execute("INSERT OR REPLACE INTO second VALUES (?, ?)", (word, text.encode()))
                case 2:
                    connection.execute("INSERT OR REPLACE INTO third VALUES (?, ?)", (text, word))
                case 3:
                    connection.execute("UPDATE first SET text = ? WHERE id = ?", (text, row))
                case 4:
                    connection.execute("DELETE FROM first WHERE id = ?", (row,))
                case 5:
                    connection.execute("DELETE FROM second WHERE key IN (SELECT key FROM second LIMIT 1 OFFSET 9)")
                case _:
                    connection.execute("DELETE FROM third WHERE rowid = ?", (row,))
        connection.execute("COMMIT")

    def empty(self) -> None:
        """Delete all rows but a few."""
        for table in ("first", "second", "third"):
            self.connection.execute(f"DELETE FROM {table} WHERE random() % 50 <> 0")

    def words(self) -> set[bytes]:
        """Return the words in the rows."""
        values = [value for query in _QUERIES for (value,) in self.connection.execute(query)]
        texts = [value if isinstance(value, bytes) else value.encode() for value in values]
        return {word for text in texts for word in WORD.findall(text)}

    def content(self) -> tuple[str, ...]:
        """Return everything that is stored."""
        return tuple(self.connection.iterdump())

    def is_sound(self) -> bool:
        """Return whether SQLite finds nothing wrong."""
        return self.connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@contextmanager
def scrap(path: str, seed: int, *pragmas: str) -> Iterator[Scrap]:
    """Make a database in WAL mode that a pass can clear."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for pragma in (*pragmas, "auto_vacuum = INCREMENTAL", "journal_mode = WAL", "synchronous = OFF"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        yield Scrap(connection, seed)


def words_in(directory: Path) -> set[bytes]:
    """Return the words that the files of a directory have."""
    return {word for path in directory.iterdir() for word in WORD.findall(path.read_bytes())}

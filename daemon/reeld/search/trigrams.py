"""Which events may have some letters: the trigrams of blocks of texts, so that few texts are read for a pattern.

A block is a run of events of one volume with about 16 kB of text. A table of FTS5 has the trigrams of each block,
without their places. Measured with 7,852 real messages of 8.9 MB, beside an index of 4.0 MB: trigrams of each message
would take 3.3 MB, of blocks of 16 kB 1.8, of 64 kB 1.4.

Blocks are made when the words of all events are in the index, because they take longer than the words. What is in none
yet is read as it is. Nothing is deleted from a block: the blocks of the volume are forgotten, and made again.
"""

import sqlite3
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from itertools import islice
from typing import TypeAlias

from reeld.search.volumes import Volume, down_from
from reeld.store.connection import transaction

_CHARACTERS = 16 << 10
# The characters of a word with what is around it, by which a block is judged before its texts are read.
_WORD = 6
# Seconds of one batch, and the most events that are read for a block.
_SECONDS = 0.1
_EVENTS = 4096
# Yields the ids and texts of the events behind an id, up to another one.
ReadTexts: TypeAlias = Callable[[int, int], Generator[tuple[int, str], None, None]]


def create(connection: sqlite3.Connection) -> None:
    """Create the table of blocks, unless an earlier version has made the index, and the table since."""
    connection.execute(
        "CREATE TABLE IF NOT EXISTS blocks (number INTEGER PRIMARY KEY, volume INTEGER NOT NULL,"
        " first INTEGER NOT NULL, last INTEGER NOT NULL) STRICT"
    )
    connection.execute("CREATE INDEX IF NOT EXISTS blocks_of_volume ON blocks (volume, last)")


def forget(connection: sqlite3.Connection, volume: int) -> None:
    """Remove the blocks of a volume."""
    connection.execute("DELETE FROM blocks WHERE volume = ?", (volume,))
    connection.execute(f"DROP TABLE IF EXISTS trigrams_{volume}")


def ranges(connection: sqlite3.Connection, volume: Volume, needed: str) -> list[tuple[int, int]]:
    """Return the first and last ids of the stretches of a volume in which events may have what is needed."""
    end = _end(connection, volume)
    found: list[tuple[int, int]] = []
    if end >= volume.first:
        table = f"trigrams_{volume.number}"
        query = (
            f"SELECT first, last FROM blocks WHERE number IN (SELECT rowid FROM {table} WHERE {table} MATCH ?)"  # noqa: S608 - ours
            " ORDER BY first"
        )
        for first, last in connection.execute(query, (needed,)):
            if found and found[-1][1] == first - 1:
                found[-1] = found[-1][0], last
            else:
                found.append((first, last))
    return [*found, (end + 1, volume.end - 1)]


def lacking(connection: sqlite3.Connection) -> int:
    """Return how many events are in no block yet; some of the newest always are."""
    query = "SELECT count(*) FROM facts WHERE event > ? AND event < ?"
    found = 0
    for volume in down_from(connection, 1 << 62):
        end = _end(connection, volume)
        if end < volume.first:
            found += volume.events
        else:
            found += int(connection.execute(query, (end, volume.end)).fetchone()[0])
    return found


def _end(connection: sqlite3.Connection, volume: Volume) -> int:
    """Return the id up to which the events of a volume are in blocks."""
    query = "SELECT coalesce(max(last), ?) FROM blocks WHERE volume = ?"
    return int(connection.execute(query, (volume.first - 1, volume.number)).fetchone()[0])


def make(connection: sqlite3.Connection, texts: ReadTexts) -> bool:
    """Make the next blocks, of the newest volumes first; return whether there is more to do."""
    ends = time.monotonic() + _SECONDS
    for number, volume in enumerate(down_from(connection, 1 << 62)):
        with transaction(connection):
            while _make_block(connection, volume, texts, is_full=number > 0):
                if time.monotonic() > ends:
                    return True
    return False


def _make_block(connection: sqlite3.Connection, volume: Volume, texts: ReadTexts, *, is_full: bool) -> bool:
    """Make the next block of a volume; return whether there was one to make.

    The last block of a full volume may be a short one. In the volume that is being filled, it waits for more.
    """
    after = _end(connection, volume)
    last = connection.execute("SELECT max(event) FROM facts WHERE event < ?", (volume.end,)).fetchone()[0] or 0
    if last <= after:
        return False
    if not (is_full or _is_enough(connection, after, last)):
        return False
    some: list[str] = []
    characters = 0
    with closing(texts(after, last)) as rows:
        for event, text in islice(rows, _EVENTS):
            upto = event
            some.append(text)
            characters += len(text)
            if characters >= _CHARACTERS or len(some) == _EVENTS:
                break
        else:
            upto = last
    _insert(connection, volume, after + 1, upto, some)
    if is_full and upto == last:
        table = f"trigrams_{volume.number}"
        connection.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")  # noqa: S608 - a number
    return True


def _is_enough(connection: sqlite3.Connection, after: int, last: int) -> bool:
    """Return whether the events behind one, up to another, have as many words as a block; no text is read for that."""
    query = "SELECT count(*), total(length) FROM facts WHERE event > ? AND event <= ?"
    events, words = connection.execute(query, (after, last)).fetchone()
    return bool(events >= _EVENTS or words * _WORD >= _CHARACTERS)


def _insert(connection: sqlite3.Connection, volume: Volume, first: int, last: int, texts: Sequence[str]) -> None:
    from reeld.search.literals import folded  # noqa: PLC0415 - a daemon at rest makes none

    table = f"trigrams_{volume.number}"
    connection.execute(
        f"CREATE VIRTUAL TABLE IF NOT EXISTS {table} USING fts5 (text, content = '', columnsize = 0, detail = none,"
        " tokenize = 'trigram case_sensitive 1')"
    )
    query = "INSERT INTO blocks (volume, first, last) VALUES (?, ?, ?) RETURNING number"
    (number,) = connection.execute(query, (volume.number, first, last)).fetchone()
    connection.execute(f"INSERT INTO {table} (rowid, text) VALUES (?, ?)", (number, folded("\n".join(texts))))  # noqa: S608 - ours

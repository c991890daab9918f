"""Copying a log from one database to another, whatever their engines are.

Events come first, in the order of their ids, in batches of one transaction each: an interrupted copy resumes after the
newest one that was copied. Everything else follows in one final transaction. It compares the two databases row by row,
and is committed only if they are equal. So a database with events but without agents is an unfinished copy, and no
daemon starts on it (:func:`require_whole`). Milestones are derived from the events, and are recomputed.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import zip_longest
from typing import Any, TypeAlias

from reel.base.errors import Conflict, Storage
from reel.base.light_typing import NamedTuple
from reel.wire.msgpack_codec import packer
from reeld.core.paging import batches
from reeld.store.connection import Connection, transaction
from reeld.store.erasures import newest

_Row: TypeAlias = tuple[Any, ...]
Tell: TypeAlias = Callable[[int, int], None]

# The tables to copy, ordered so that each row comes after the rows that it refers to. The first column orders the rows.
COLUMNS = {
    "events": "id, agent, seq, command, kind, content, data_json, parent, client, time, checksum, sent, ref",
    "agents": "id, uid, name, title, tags, source, source_at, created, updated, killed, head",
    "keys": "id, key, agent, command, digest, reply, address, about, checksum",
    "purged_agents": "uid",
    "retention": "id, killed_days, days, tag, since",
    "erasures": (
        "id, method, agent, client, time, events, newest, state, backups, key, digest, address, reply, checksum"
    ),
}
# A batch ends with this many rows, or characters.
_ROWS, _SIZE = 1000, 4 << 20
# Rows that are compared between two progress reports.
_LOOK = 1000


class End:
    """One of the two databases: a file.

    Args:
        connection: a connection to it.
        name: what it is called in messages.
    """

    def __init__(self, connection: Connection, name: str) -> None:
        self.connection = connection
        self.name = name

    def exclude(self) -> None:
        """Exclude all other writers until the end of the transaction; that of a file does so by itself."""

    def size(self) -> int:
        """Return the bytes of the database."""
        (size,) = self.connection.execute(
            "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
        ).fetchone()
        return int(size)

    def newest(self) -> int:
        """Return the newest id that was given to an event."""
        return newest(self.connection)

    def advance(self, event: int) -> None:
        """Record the newest id that was given to an event; a file derives it from its rows."""

    def finish(self) -> None:
        """Make later rows have greater numbers than the copied ones; a file does so by itself."""


class Copied(NamedTuple):
    """What was copied: the rows of each table, and a hash over all of their columns."""

    rows: dict[str, int]
    hash: str


def require_whole(connection: Connection, name: str) -> None:
    """Raise an error if a database is a copy that was not finished."""
    if _exists(connection, "events") and not _exists(connection, "agents"):
        raise Storage(f"a copy to {name} was not finished; finish it with: reel copy --from … --to {name}")


def copy(source: End, target: End, copied: Tell, compared: Tell) -> Copied:
    """Copy a whole database to an empty one, or resume an interrupted copy.

    Args:
        source: the database, which is not changed.
        target: the other one.
        copied: called with how many events have been copied, and how many there are.
        compared: called with how many events have been compared, and how many there are.

    Raises:
        Conflict: the target is neither empty nor the beginning of this copy, or another process writes to it.
        Storage: the source is itself an unfinished copy, or has an unfinished erasure; or the two differ at the end.
    """
    source.connection.execute("BEGIN")
    _require_complete(source)
    place = _place(source, target)
    (total,) = source.connection.execute("SELECT count(*) FROM events").fetchone()
    (done,) = target.connection.execute("SELECT count(*) FROM events").fetchone()
    later = source.connection.execute(f"SELECT {COLUMNS['events']} FROM events WHERE id > ? ORDER BY id", (place,))
    copied(done, total)
    for batch in batches(later, _ROWS, _SIZE, _size):
        with _writing(target, place):
            _insert(target, "events", batch)
            place = batch[-1][0]
            target.advance(place)
        done += len(batch)
        copied(done, total)
    with _writing(target, place):
        for table in list(COLUMNS)[1:]:
            for batch in batches(_rows(source, table), _ROWS, _SIZE, _size):
                _insert(target, table, batch)
        target.advance(source.newest())
        target.finish()
        return _compare(source, target, lambda rows: compared(rows, total))


def _require_complete(source: End) -> None:
    require_whole(source.connection, source.name)
    if _exists(source.connection, "erased_events"):
        raise Storage(f"an erasure in {source.name} was not finished; a daemon that is started over it finishes it")


def _place(source: End, target: End) -> int:
    """Return the newest event that has been copied; 0 if there is none."""
    place = _newest_event(target.connection)
    used = any(_exists(target.connection, table) for table in list(COLUMNS)[1:])
    if used or target.newest() != place:
        raise Conflict(f"{target.name} is not empty, or the copy was finished; name an empty database")
    if place and _event(source, place) != _event(target, place):
        raise Conflict(f"{target.name} is the beginning of a copy of another database; name an empty one")
    return place


def _newest_event(connection: Connection) -> int:
    (newest,) = connection.execute("SELECT coalesce(max(id), 0) FROM events").fetchone()
    return int(newest)


def _exists(connection: Connection, table: str) -> bool:
    """Whether a table has a row."""
    return connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() is not None


def _event(end: End, number: int) -> Any:
    return end.connection.execute(f"SELECT {COLUMNS['events']} FROM events WHERE id = ?", (number,)).fetchone()


def _rows(end: End, table: str) -> Iterable[_Row]:
    columns = COLUMNS[table]
    return end.connection.execute(f"SELECT {columns} FROM {table} ORDER BY {columns.partition(',')[0]}")


@contextmanager
def _writing(target: End, place: int) -> Iterator[None]:
    """Write to the target in one transaction, unless another process has written to it."""
    with transaction(target.connection):
        target.exclude()
        if target.newest() != place:
            raise Conflict(f"another process writes to {target.name}; stop the daemons that use it")
        yield


def _size(row: _Row) -> int:
    return sum(len(value) for value in row if isinstance(value, str | bytes))


def _insert(target: End, table: str, rows: list[_Row]) -> None:
    columns = COLUMNS[table]
    values = ", ".join("?" * len(rows[0]))
    target.connection.executemany(f"INSERT INTO {table} ({columns}) VALUES ({values})", rows)


def _compare(source: End, target: End, tell: Callable[[int], None]) -> Copied:
    """Compare all rows of two databases."""
    digest, pack, counts = hashlib.sha256(), packer(), {}
    for table in COLUMNS:
        count = 0
        for ours, theirs in zip_longest(_rows(source, table), _rows(target, table)):
            if ours != theirs:
                first = (ours or theirs)[0]
                raise Storage(
                    f"{target.name} differs from {source.name} at {first} of {table}, so the copy was not finished;"
                    f" remove what is in {target.name}, and copy again"
                )
            digest.update(pack(list(ours)))
            count += 1
            if table == "events" and count % _LOOK == 0:
                tell(count)
        counts[table] = count
    return Copied(counts, digest.hexdigest())

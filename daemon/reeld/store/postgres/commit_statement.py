"""The statement of a commit: it writes events, the heads of their agents, and the keys of their commands.

Each column is one array, whatever the number of rows, so that the server plans the statement only once. It writes
nothing if the log has moved on, or has lost the newest event that the daemon knows. So it may be sent without reading
the log first, as a transaction of its own.
"""

from collections.abc import Iterator
from typing import Any

import psycopg

from reel.base.light_typing import NamedTuple
from reeld.store.checksums import COLUMNS, ORIGIN
from reeld.store.loss import NOTHING, Known
from reeld.store.postgres.arrays import Blobs, Integers, Strings
from reeld.store.postgres.connection import ServerConnection
from reeld.store.sealed import KEY

# The channel on which a commit wakes the other daemons, which then read the log.
CHANNEL = "reel"

_EVENT = (*COLUMNS, *ORIGIN, "checksum")
_KEY = (*KEY, "checksum")
_HEAD = ("agent", "head", "updated")
# Where the values of an event without an origin are.
_PLACES = {name: place for place, name in enumerate((*COLUMNS, "checksum"))}
_ARRAY: dict[str, type[list[Any]]] = {
    **dict.fromkeys((*_EVENT, *_KEY, *_HEAD), Integers),
    **dict.fromkeys(("kind", "content", "data_json", "client", "ref", "key", "address"), Strings),
    **dict.fromkeys(("digest", "reply"), Blobs),
}


def _new(columns: tuple[str, ...]) -> str:
    return f"advanced, unnest({', '.join(['%s'] * len(columns))}) AS new ({', '.join(columns)})"


def _insert(table: str, columns: tuple[str, ...]) -> str:
    names = ", ".join(columns)
    return f"INSERT INTO {table} ({names}) SELECT {', '.join(f'new.{name}' for name in columns)} FROM {_new(columns)}"


_STATEMENT = f"""
    WITH advanced AS (
        UPDATE log SET newest = %s WHERE newest = %s AND (
            %s = 0 OR EXISTS (SELECT FROM events WHERE id = %s AND agent = %s AND seq = %s AND time = %s)
        )
        RETURNING CASE WHEN newest > %s THEN pg_notify('{CHANNEL}', %s) END
    ),
    written AS ({_insert("events", _EVENT)}),
    remembered AS ({_insert("keys", _KEY)}),
    moved AS (UPDATE agents SET head = new.head, updated = new.updated FROM {_new(_HEAD)} WHERE agents.id = new.agent)
    SELECT FROM advanced
"""


class CommitRows(NamedTuple):
    """The rows that the statement writes, each as a flat list of values.

    Args:
        newest: the id that the newest event in the log must have.
        next_id: the id after the last event that is written.
        events: the values of events without an origin.
        wide: those of events with one.
        keys: those of keys.
        heads: those of the heads of agents.
    """

    newest: int
    next_id: int
    events: list[Any]
    wide: list[Any]
    keys: list[Any]
    heads: list[Any]

    def send(self, connection: ServerConnection, daemon: str, known: Known = NOTHING) -> "psycopg.Cursor[Any]":
        """Send the statement. It returns one row if it wrote, and none if the log is not as expected.

        Args:
            connection: the writing connection.
            daemon: the number of this daemon, for the notification of the others.
            known: an event that the log must have; by default none, while the lock of the log is held.
        """
        columns = (*_event_columns(self.events, self.wide), *_columns(_KEY, self.keys), *_columns(_HEAD, self.heads))
        return connection.send(
            _STATEMENT, (self.next_id - 1, self.newest, known.id, *known, self.newest, daemon, *columns)
        )


def _columns(names: tuple[str, ...], values: list[Any]) -> Iterator[list[Any]]:
    for place, name in enumerate(names):
        yield _ARRAY[name](values[place :: len(names)])


def _event_columns(events: list[Any], wide: list[Any]) -> Iterator[list[Any]]:
    width, wide_width = len(_PLACES), len(_EVENT)
    without = [None] * (len(events) // width)
    for place, name in enumerate(_EVENT):
        column = events[_PLACES[name] :: width] if name in _PLACES else without
        yield _ARRAY[name](column + wide[place::wide_width])

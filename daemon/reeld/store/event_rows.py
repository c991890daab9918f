"""The rows of events, agents and keys: their values, and the statements that write many at a time."""

import json
from collections.abc import Sequence
from typing import Any

from reeld.core.events import Event, Pack
from reeld.core.state import Profile
from reeld.store.checksums import COLUMNS, ORIGIN, checksum, counted
from reeld.store.connection import Cursor
from reeld.store.sealed import KEY

# Rows that one statement writes. Each step of a statement releases the GIL and has to reacquire it, which takes longer
# than writing the row while the event loop is busy.
_SIZES = (128, 64, 32, 16, 8, 4, 2, 1)


class BatchInsert:
    """An INSERT or UPDATE of many rows: one prepared text for each of a few sizes."""

    def __init__(self, before: str, columns: int, after: str = "") -> None:
        row = f"({', '.join('?' * columns)})"
        self._texts = [(size * columns, f"{before} VALUES {', '.join([row] * size)}{after}") for size in _SIZES]

    def write(self, cursor: Cursor, values: list[Any]) -> None:
        """Write rows in order; ``values`` are those of the first row, then those of the second, and so on."""
        done, end = 0, len(values)
        for size, text in self._texts:
            while end - done >= size:
                cursor.execute(text, values[done : done + size])
                done += size


# The values of an event's row, and where its texts are.
WIDTH = len(COLUMNS) + 1
WIDE = WIDTH + len(ORIGIN)
_CONTENT, _DATA = COLUMNS.index("content"), COLUMNS.index("data_json")
EVENTS = BatchInsert(f"INSERT INTO events ({', '.join(COLUMNS)}, checksum)", WIDTH)
EVENTS_WITH_ORIGIN = BatchInsert(f"INSERT INTO events ({', '.join((*COLUMNS, *ORIGIN))}, checksum)", WIDE)
KEYS = BatchInsert(f"INSERT INTO keys ({', '.join(KEY)}, checksum)", len(KEY) + 1)
HEADS = BatchInsert(
    "WITH news (agent, head, time) AS (",
    3,
    ") UPDATE agents SET head = news.head, updated = news.time FROM news WHERE id = news.agent",
)
PROFILE = "UPDATE agents SET head = ?, updated = ?, name = ?, title = ?, tags = ?, killed = ? WHERE id = ?"
AGENT = (
    "INSERT INTO agents (id, uid, name, title, tags, source, source_at, created, updated, killed, head)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, ?)"
)


def event_values(
    agent: int, events: Sequence[Event], first: int, values: list[Any], wide: list[Any], pack: Pack
) -> None:
    """Append the values of events; those with an origin go to a separate list, so that the others bind fewer values."""
    for event_id, event in enumerate(events, first):
        seq, command, kind, content, data_json, parent, time, client, _, _, origin = event
        if parent is not None and parent < 0:
            parent = first + ~parent
        row = (event_id, agent, seq, command, kind, content, data_json, parent, client, time)
        if origin is None:
            values += row
            values.append(checksum(pack, row))
        else:
            wide += (*row, *origin, checksum(pack, counted((*row, *origin))))


def new_row(profile: Profile) -> tuple[Any, ...]:
    """Return the values of a new agent."""
    source, at = (profile.source.row, profile.source.at) if profile.source else (None, None)
    tags = json.dumps(profile.tags, ensure_ascii=False)
    return (
        profile.row,
        profile.uid,
        profile.name,
        profile.title,
        tags,
        source,
        at,
        profile.created,
        profile.updated,
        profile.head,
    )


def changed_row(profile: Profile) -> tuple[Any, ...]:
    """Return the values of an agent of which more than the head changed."""
    tags = json.dumps(profile.tags, ensure_ascii=False)
    return (profile.head, profile.updated, profile.name, profile.title, tags, profile.killed, profile.row)


def size_of_texts(values: list[Any], width: int) -> int:
    """Return how many characters the texts of events have, whose rows are that wide."""
    return sum(map(len, filter(None, (*values[_CONTENT::width], *values[_DATA::width]))))

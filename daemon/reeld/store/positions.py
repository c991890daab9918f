"""Positions in the past of an agent: the tip of its state now, before an event, and at the end of a command."""

from reel.base.errors import InvalidParams
from reel.base.light_typing import NamedTuple
from reeld.core.events import data_of
from reeld.core.pruning import says_nothing
from reeld.core.tree import tip_after
from reeld.store.connection import Connection, DatabaseError
from reeld.store.pruned import pruned_as

# The last event of a command, searched from one of its events on. Later events belong to later commands, so the search
# takes steps that become shorter: a command may have 10,000 events, and none has more than 16 million. It is one
# statement, because the server may be far away.
_END = f"""
    WITH RECURSIVE search (at, step) AS (
        SELECT :seq, {1 << 23}
        UNION ALL
        SELECT CASE WHEN :command = (
            SELECT command FROM events WHERE agent = :agent AND seq <= at + step ORDER BY seq DESC LIMIT 1
        ) THEN at + step ELSE at END, step / 2
        FROM search WHERE step > 0
    )
    SELECT seq, id, kind, parent FROM events
    WHERE agent = :agent AND seq <= (SELECT at FROM search WHERE step = 0) ORDER BY seq DESC LIMIT 1
"""  # noqa: S608 - our own words
_SAID = "SELECT agent, kind, content, data_json, parent FROM events WHERE id = ?"


class Position(NamedTuple):
    """A position in an agent's past: the end of a command, and the tip of the state there."""

    at: int
    tip: int | None


def tip_of(connection: Connection, row: int) -> int | None:
    """Return the tip of an agent's current state."""
    last = connection.execute(
        "SELECT id, kind, parent FROM events WHERE agent = ? ORDER BY seq DESC LIMIT 1", (row,)
    ).fetchone()
    return None if last is None else tip_after(*last)


def tip_before(connection: Connection, row: int, seq: int) -> int | None:
    """Return the tip of an agent's state before one of its events; ``None`` before the first."""
    found = connection.execute(
        "SELECT id, kind, parent FROM events WHERE agent = ? AND seq < ? ORDER BY seq DESC LIMIT 1", (row, seq)
    ).fetchone()
    return None if found is None else tip_after(*found)


def id_of(connection: Connection, row: int, seq: int) -> int | None:
    """Return the id of an agent's own event; ``None`` if its log has none with this seq."""
    found = connection.execute("SELECT id FROM events WHERE agent = ? AND seq = ?", (row, seq)).fetchone()
    return None if found is None else int(found[0])


def position(connection: Connection, row: int, at: int) -> Position:
    """Return the end of the command that a position is in, and the tip of the state there.

    A position below an agent's first own seq means its source's state there.

    Raises:
        InvalidParams: the event there was lost by the server, so that the state is unknown.
    """
    owner: int | None = row
    while owner is not None:
        found = _newest(connection, owner, at)
        if found is not None:
            if found.seq < at:
                _require_not_lost(connection, owner, at)
            return _end_of(connection, owner, found)
        # `source < id` ends the search even in a damaged table in which a source is not older than its clone.
        source = connection.execute("SELECT source FROM agents WHERE id = ? AND source < id", (owner,)).fetchone()
        (owner,) = source or (None,)
    return Position(0, None)


def kept_position(connection: Connection, row: int, at: int) -> Position:
    """Return a position whose state can be read.

    Raises:
        InvalidParams: it was lost, as above, or pruned.
    """
    found = position(connection, row, at)
    tip = found.tip
    while tip is not None:
        said = connection.execute(_SAID, (tip,)).fetchone()
        if said is None:  # it is missing from the file
            break
        owner, kind, content, data_json, parent = said
        if (marker := pruned_as(connection, tip, owner, kind, content, data_json)) is not None:
            raise InvalidParams(
                f"what the conversation was at #{at} cannot be brought back; it is {marker}", field="at", seq=at
            )
        tip = parent if says_nothing(kind, content) else None
    return found


def _require_not_lost(connection: Connection, row: int, at: int) -> None:
    """Refuse a position that has no event, if it was lost."""
    later = connection.execute(
        "SELECT kind, data_json FROM events WHERE agent = ? AND seq > ? ORDER BY seq LIMIT 1", (row, at)
    ).fetchone()
    if later is not None and later[0] == "lost":
        data = data_of(later[1])
        first, last = data.get("from"), data.get("to")
        raise InvalidParams(f"at: the events {first} to {last} were lost by the database server", field="at")


class _LastEvent(NamedTuple):
    """The columns of an event that tell where a conversation continues after it."""

    seq: int
    command: int
    id: int
    kind: str
    parent: int | None


def _newest(connection: Connection, row: int, at: int) -> _LastEvent | None:
    """Return an agent's newest event up to a seq."""
    found = connection.execute(
        "SELECT seq, command, id, kind, parent FROM events WHERE agent = ? AND seq <= ? ORDER BY seq DESC LIMIT 1",
        (row, at),
    ).fetchone()
    return None if found is None else _LastEvent(*found)


def _end_of(connection: Connection, row: int, event: _LastEvent) -> Position:
    """Return the position of the last event of an event's command.

    Raises:
        DatabaseError: the event has gone since it was found, in an erasure.
    """
    found = connection.execute(_END, {"agent": row, "seq": event.seq, "command": event.command}).fetchone()
    if found is None:
        raise DatabaseError("events were erased while they were read; repeat the call")
    return Position(found[0], tip_after(*found[1:]))

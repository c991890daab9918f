"""The queries: jobs for the reading connections."""

import json
import logging
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import suppress
from sys import intern
from typing import Any, NamedTuple

from reel.blocks import InvalidRecord
from reeld.core.conversation import data_of, label_of
from reeld.core.events import Event, Mark, Node, Pack, entry, read
from reeld.core.state import Profile, Source
from reeld.core.tree import tip_after
from reeld.core.undo import UNDOABLE_KINDS, Command, Newest, end_of_first_state, redoable, undoable
from reeld.store.schema import UNKNOWN_KIND

log = logging.getLogger(__name__)

_COLUMNS = "a.id, a.uid, a.name, a.title, a.tags, a.source, s.uid, a.source_at, a.created, a.updated, a.killed, a.head"
_AGENTS = f"SELECT {_COLUMNS} FROM agents a LEFT JOIN agents s ON s.id = a.source"
# A living agent of this name, an id, or the newest dead one of this name: in this order.
_FIND = (
    f"{_AGENTS} WHERE a.name = :address AND a.killed IS NULL",
    f"{_AGENTS} WHERE a.uid = :address",
    f"{_AGENTS} WHERE a.name = :address ORDER BY a.killed DESC, a.id DESC LIMIT 1",
)
# A parent is older than its child; in a damaged log, where one is not, a walk has to end as well.
_WALK = """
    WITH RECURSIVE path (id, seq, kind, content, data_json, time, parent) AS (
        SELECT id, seq, kind, content, data_json, time, parent FROM events WHERE id = ?
        UNION ALL
        SELECT e.id, e.seq, e.kind, e.content, e.data_json, e.time, e.parent
        FROM path JOIN events e ON e.id = path.parent AND e.id < path.id
    )
    SELECT id, seq, kind, content, data_json, time FROM path
"""
_EVENTS = """
    SELECT e.id, e.seq, e.command, e.kind, e.content, e.data_json, p.seq, pa.uid, e.time, e.client
    FROM events e LEFT JOIN events p ON p.id = e.parent LEFT JOIN agents pa ON pa.id = p.agent
    WHERE e.agent = ? AND e.seq > ? AND e.seq <= ?
"""

_UNDOABLE = tuple(sorted(UNDOABLE_KINDS))
_NEWEST = f"""
    SELECT command, kind, data_json FROM events
    WHERE agent = ? AND seq <= ? AND seq > ? AND kind IN ({", ".join("?" * len(_UNDOABLE))})
    ORDER BY seq DESC LIMIT 1
"""


class Position(NamedTuple):
    """A place in an agent's past: the end of a command, and the tip of the state there."""

    at: int
    tip: int | None


class Skip(NamedTuple):
    """An event of the log that means nothing, and why."""

    seq: int
    field: str
    reason: str


class Past(NamedTuple):
    """A state read from the log."""

    nodes: list[Node]
    skipped: list[Skip]


class StoredKey(NamedTuple):
    """What a key stands for, and the agent that it was used for.

    ``address`` and ``about`` are those of :class:`~reeld.store.transactions.Key`; a key of an older file has neither.
    """

    digest: bytes
    reply: bytes
    address: str | None
    about: int | None
    uid: str
    name: str


class EventsPage(NamedTuple):
    """Events as the wire has them, packed."""

    events: list[bytes]
    more: bool


def find(connection: sqlite3.Connection, address: str) -> Profile | None:
    """Look an agent up by its name or id."""
    for query in _FIND:
        if row := connection.execute(query, {"address": address}).fetchone():
            return _profile(row)
    return None


def profile_of(connection: sqlite3.Connection, row: int) -> Profile:
    """Read an agent's row."""
    return _profile(connection.execute(f"{_AGENTS} WHERE a.id = ?", (row,)).fetchone())


def _profile(row: Sequence[Any]) -> Profile:
    number, uid, name, title, tags, source, source_uid, source_at, *rest = row
    created, updated, killed, head = rest
    origin = None if source is None else Source(source, source_uid, source_at)
    return Profile(number, uid, name, title, json.loads(tags), origin, created, updated, killed, head)


def agents(
    connection: sqlite3.Connection, prefix: str, alive: bool | None, limit: int, after: str | None
) -> tuple[list[dict[str, Any]], bool]:
    """List agents in the order in which they were made; tell whether there are more."""
    where = ["substr(a.name, 1, length(:prefix)) = :prefix"]
    if alive is not None:
        where.append(f"a.killed IS {'' if alive else 'NOT '}NULL")
    if after is not None:
        where.append("a.id > (SELECT id FROM agents WHERE uid = :after)")
    query = f"{_AGENTS} WHERE {' AND '.join(where)} ORDER BY a.id LIMIT :limit"
    rows = connection.execute(query, {"prefix": prefix, "after": after, "limit": limit + 1}).fetchall()
    return [_profile(row).as_map() for row in rows[:limit]], len(rows) > limit


def descendants(connection: sqlite3.Connection, row: int) -> dict[int, bool]:
    """Find the clones of an agent, and theirs, also through dead ones, and whether each lives."""
    query = """
        WITH RECURSIVE kin (id) AS (
            SELECT id FROM agents WHERE source = ? UNION SELECT a.id FROM kin JOIN agents a ON a.source = kin.id
        )
        SELECT kin.id, a.killed IS NULL FROM kin JOIN agents a ON a.id = kin.id ORDER BY kin.id
    """
    return {number: bool(alive) for number, alive in connection.execute(query, (row,))}


def tip_of(connection: sqlite3.Connection, row: int) -> int | None:
    """Find the tip of an agent's living state."""
    last = connection.execute(
        "SELECT id, kind, parent FROM events WHERE agent = ? ORDER BY seq DESC LIMIT 1", (row,)
    ).fetchone()
    return None if last is None else tip_after(*last)


def position(connection: sqlite3.Connection, row: int, at: int) -> Position:
    """Find the end of the command that a position is in, and the tip of the state there.

    A position below an agent's first own seq means its source's state there.
    """
    owner: int | None = row
    while owner is not None:
        found = connection.execute(
            "SELECT command FROM events WHERE agent = ? AND seq <= ? ORDER BY seq DESC LIMIT 1", (owner, at)
        ).fetchone()
        if found is not None:
            return _end_of(connection, owner, found[0])
        # A source is older than its clone; where the list of agents is damaged, the search has to end as well.
        source = connection.execute("SELECT source FROM agents WHERE id = ? AND source < id", (owner,)).fetchone()
        (owner,) = source or (None,)
    return Position(0, None)


def _end_of(connection: sqlite3.Connection, row: int, command: int) -> Position:
    """Find the last event of a command: its events lie side by side."""
    rows = connection.execute(
        "SELECT seq, command, id, kind, parent FROM events WHERE agent = ? AND seq >= ? ORDER BY seq", (row, command)
    )
    end = Position(0, None)
    for seq, of, event_id, kind, parent in rows:
        if of != command:
            break
        end = Position(seq, tip_after(event_id, kind, parent))
    return end


def walk(connection: sqlite3.Connection, tip: int | None, pack: Pack) -> Past:
    """Read the state whose tip is given, by walking from parent to parent."""
    if tip is None:
        return Past([], [])
    return read_nodes(reversed(connection.execute(_WALK, (tip,)).fetchall()), pack)


def read_nodes(rows: Iterable[Sequence[Any]], pack: Pack) -> Past:
    """Read the nodes of a state; a row that is no message stays a record, and is listed."""
    past = Past([], [])
    for event_id, seq, kind, content, data_json, time in rows:
        if kind == "mark":
            past.nodes.append(Mark(event_id, seq, label_of(data_json)))
            continue
        message = tools = None
        try:
            message, tools = read(pack, kind, content, data_json, seq, time)
        except InvalidRecord as error:
            past.skipped.append(Skip(seq, error.field, error.reason))
        # SQLite gives each row a kind of its own; the names are few, and the rows many.
        past.nodes.append(entry(event_id, seq, intern(kind), content, data_json, time, message, tools))
    return past


def unknown_kinds(connection: sqlite3.Connection, row: int, at: int) -> list[Skip]:
    """List the events of an agent whose kind we do not know."""
    rows = connection.execute(
        f"SELECT seq, kind FROM events WHERE agent = ? AND seq <= ? AND {UNKNOWN_KIND} ORDER BY seq", (row, at)
    )
    return [Skip(seq, "kind", f"the kind {kind!r} is unknown") for seq, kind in rows]


def undo_target(connection: sqlite3.Connection, row: int, head: int) -> int | None:
    """Find the command that an undo would take back."""
    return undoable(_newest(connection, row), head)


def redo_target(connection: sqlite3.Connection, row: int, head: int) -> int | None:
    """Find the command that a redo would bring back."""
    return redoable(_newest(connection, row), head)


def _newest(connection: sqlite3.Connection, row: int) -> Newest:
    """Return the function that finds an agent's newest undoable command."""
    floor = _end_of_first_state(connection, row)

    def newest(at: int) -> Command | None:
        found = connection.execute(_NEWEST, (row, at, floor, *_UNDOABLE)).fetchone()
        if found is None:
            return None
        command, kind, data_json = found
        if kind != "restore":
            return Command(command)
        data = data_of(data_json)
        return Command(command, data.get("undoes"), data.get("redoes"))

    return newest


def _end_of_first_state(connection: sqlite3.Connection, row: int) -> int:
    found = connection.execute("SELECT min(seq) FROM events WHERE agent = ?", (row,)).fetchone()
    first = found[0] or 0
    kinds = connection.execute("SELECT kind FROM events WHERE agent = ? AND command = ? LIMIT 3", (row, first))
    return end_of_first_state(first, [kind for (kind,) in kinds])


def history(
    connection: sqlite3.Connection,
    row: int,
    since: int,
    head: int,
    limit: int,
    kinds: Sequence[str] | None,
    inherited: bool,
    max_bytes: int,
    pack: Pack,
) -> EventsPage:
    """Read a page of an agent's log, its source's past in front where that is asked for."""
    page = EventsPage([], more=False)
    room = max_bytes
    for owner, uid, upto in _lineage(connection, row, head) if inherited else [_own(connection, row, head)]:
        query, values = _EVENTS, list[Any]((owner, since, upto))
        if kinds is not None:
            query += f" AND e.kind IN ({', '.join('?' * len(kinds))})"
            values += kinds
        for event in connection.execute(f"{query} ORDER BY e.seq LIMIT ?", (*values, limit + 1 - len(page.events))):
            packed = pack(_event(uid, event))
            room -= len(packed)
            if len(page.events) == limit or (room < 0 and page.events):
                return page._replace(more=True)
            page.events.append(packed)
    return page


def _own(connection: sqlite3.Connection, row: int, head: int) -> tuple[int, str, int]:
    (uid,) = connection.execute("SELECT uid FROM agents WHERE id = ?", (row,)).fetchone()
    return row, uid, head


def _lineage(connection: sqlite3.Connection, row: int, head: int) -> list[tuple[int, str, int]]:
    """List an agent and what it was cloned from, the oldest first, each with the last seq that counts."""
    line: list[tuple[int, str, int]] = []
    owner: int | None = row
    while owner is not None:
        uid, source, at = connection.execute(
            "SELECT uid, source, source_at FROM agents WHERE id = ?", (owner,)
        ).fetchone()
        line.append((owner, uid, head))
        owner, head = source if source is not None and source < owner else None, at
    return line[::-1]


def _event(uid: str, row: Sequence[Any]) -> dict[str, Any]:
    event_id, seq, command, kind, content, data_json, parent_seq, parent_uid, time, client = row
    return {
        "id": event_id,
        "agent": uid,
        "seq": seq,
        "command": command,
        "kind": kind,
        "content": content,
        "data_json": data_json,
        "parent": None if parent_seq is None else {"agent": parent_uid, "seq": parent_seq},
        "time": time,
        "client": client,
    }


def key(connection: sqlite3.Connection, name: str) -> StoredKey | None:
    """Look up what a key stands for."""
    row = connection.execute(
        "SELECT k.digest, k.reply, k.address, k.about, coalesce(a.uid, ''), coalesce(a.name, '?')"
        " FROM keys k LEFT JOIN agents a ON a.id = coalesce(k.about, k.agent) WHERE k.key = ?",
        (name,),
    ).fetchone()
    return None if row is None else StoredKey(*row)


def totals(connection: sqlite3.Connection) -> dict[str, int]:
    """Count what can be counted without reading it all."""
    (events,) = connection.execute("SELECT coalesce(max(id), 0) FROM events").fetchone()
    (made,) = connection.execute("SELECT count(*) FROM agents").fetchone()
    (living,) = connection.execute("SELECT count(*) FROM agents WHERE killed IS NULL").fetchone()
    return {"newest_event": events, "agents": made, "living_agents": living}


# --- forward, as it was written

_LOGGED = "SELECT id, agent, seq, command, kind, content, data_json, parent, time, client FROM events"
_LOGGED_OF_ONE = f"{_LOGGED} WHERE agent = :row AND seq > :place ORDER BY seq LIMIT :limit"
_LOGGED_OF_ALL = f"{_LOGGED} WHERE id > :place ORDER BY id LIMIT :limit"


class Logged(NamedTuple):
    """An event of the log: whose, its id, and what was committed."""

    profile: Profile
    event_id: int
    event: Event


def after(
    connection: sqlite3.Connection, row: int | None, place: int, limit: int, max_bytes: int, pack: Pack
) -> list[Logged]:
    """Read the events after a place: of one agent after a seq, of all after an id.

    Args:
        connection: where to.
        row: the agent; ``None``: all.
        place: the seq, or the id.
        limit: how many at most.
        max_bytes: what their texts may have together; one comes at least.
        pack: encodes a message for the wire.
    """
    events: list[Logged] = []
    profiles: dict[int, Profile] = {}
    room = max_bytes
    query = _LOGGED_OF_ALL if row is None else _LOGGED_OF_ONE
    for event_id, agent, *columns in connection.execute(query, {"row": row, "place": place, "limit": limit}):
        if agent not in profiles:
            profiles[agent] = profile_of(connection, agent)
        event = _read(pack, Event(*columns))
        room -= len(event.content or "") + len(event.data_json or "")
        if room < 0 and events:
            break
        events.append(Logged(profiles[agent], event_id, event))
    return events


def _read(pack: Pack, event: Event) -> Event:
    """Make the message of an event; one that is none stays a record, as in every reading of the log."""
    with suppress(InvalidRecord):
        message, tools = read(pack, event.kind, event.content, event.data_json, event.seq, event.time)
        return event._replace(message=message, tools=tools)
    return event


def tip_before(connection: sqlite3.Connection, row: int, seq: int) -> int | None:
    """Find the tip of an agent's state before one of its events; before the first, there is none."""
    found = connection.execute(
        "SELECT id, kind, parent FROM events WHERE agent = ? AND seq < ? ORDER BY seq DESC LIMIT 1", (row, seq)
    ).fetchone()
    return None if found is None else tip_after(*found)

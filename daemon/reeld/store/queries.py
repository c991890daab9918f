"""The queries: jobs for the reading connections.

The rules of the model are in :mod:`reeld.core`: here is only how the log is asked.
"""

import json
import logging
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from sys import intern
from typing import Any, NamedTuple, cast

from reel.blocks import InvalidRecord
from reel.values import clean_deep
from reeld.core.conversation import data_of, label_of
from reeld.core.events import Event, Mark, Node, Pack, entry, read
from reeld.core.paging import PackedPage, packed_page, take_page
from reeld.core.state import Profile, Source
from reeld.core.tree import tip_after
from reeld.core.undo import UNDOABLE_KINDS, Command, Newest, Undone, end_of_first_state, redoable, undoable
from reeld.store.checksums import COLUMNS, is_intact
from reeld.store.schema import UNKNOWN_KIND

log = logging.getLogger(__name__)

DAMAGED = "the stored event is not what was written"
_CUT = f"{DAMAGED}, and what was said before it is not known"

_COLUMNS = "a.id, a.uid, a.name, a.title, a.tags, a.source, s.uid, a.source_at, a.created, a.updated, a.killed, a.head"
AGENTS = f"SELECT {_COLUMNS} FROM agents a LEFT JOIN agents s ON s.id = a.source"
# A live agent with this name, else the agent with this id, else the killed one with this name that has the newest
# event. The times of deaths do not say which was killed last: a clock may have been set back in between.
_FIND = (
    f"{AGENTS} WHERE a.name = :address AND a.killed IS NULL",
    f"{AGENTS} WHERE a.uid = :address",
    (
        f"{AGENTS} WHERE a.name = :address"
        " ORDER BY (SELECT id FROM events WHERE agent = a.id ORDER BY seq DESC LIMIT 1) DESC LIMIT 1"
    ),
)
# What a checksum is computed of, and the checksum.
EVENT_COLUMNS = ", ".join(f"e.{column}" for column in (*COLUMNS, "checksum"))
ID, AGENT, SEQ, CONTENT, PARENT = map(COLUMNS.index, ("id", "agent", "seq", "content", "parent"))
# `e.id < path.id` ends the walk even in a damaged log in which a parent is not older than its child.
_WALK = f"""
    WITH RECURSIVE path (id, parent) AS (
        SELECT id, parent FROM events WHERE id = ?
        UNION ALL
        SELECT e.id, e.parent FROM path JOIN events e ON e.id = path.parent AND e.id < path.id
    )
    SELECT {EVENT_COLUMNS} FROM path CROSS JOIN events e ON e.id = path.id
"""
# The outer query looks the event up in the table: what the index says of it could be of another agent.
_LAST = f"""
    SELECT {EVENT_COLUMNS} FROM events e
    WHERE e.id = (SELECT id FROM events WHERE agent = ? ORDER BY seq DESC LIMIT 1)
"""
_EVENTS = f"""
    SELECT {EVENT_COLUMNS}, p.seq, pa.uid
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
    """A position in an agent's past: the end of a command, and the tip of the state there."""

    at: int
    tip: int | None


class Skip(NamedTuple):
    """An event of the log that cannot be read, and why."""

    seq: int
    field: str
    reason: str


class Past(NamedTuple):
    """A state read from the log."""

    nodes: list[Node]
    skipped: list[Skip]
    # The node before the first, if the walk ended there.
    base: int | None = None


class StoredKey(NamedTuple):
    """The command that a key was used for, and its agent.

    ``address`` and ``about`` are those of :class:`~reeld.store.transactions.Key`; a key of an older file has neither.
    """

    digest: bytes
    reply: bytes
    address: str | None
    about: int | None
    uid: str
    name: str


def ascending(rows: Iterable[Sequence[Any]], column: int, after: int) -> Iterator[Sequence[Any]]:
    """Yield rows, each with a greater number in a column than the one before.

    A lost write may leave a page twice in a tree of the file. Then SQLite returns rows again, as if they came later: a
    caller that asks for the rows after the last one would never come to an end.

    Args:
        rows: what a query returns that asks for numbers above ``after``, in order.
        column: the index of the number.
        after: the number before the first.

    Raises:
        sqlite3.DatabaseError: the rows are not in order, or there again.
    """
    for row in rows:
        if row[column] <= after:
            raise sqlite3.DatabaseError(f"a page of the file is there twice: row {row[column]} comes after {after}")
        after = row[column]
        yield row


def find(connection: sqlite3.Connection, address: str) -> Profile | None:
    """Return the agent with a name or id."""
    for query in _FIND:
        if row := connection.execute(query, {"address": address}).fetchone():
            return read_profile(row)
    return None


def profile_of(connection: sqlite3.Connection, row: int) -> Profile:
    """Return an agent's profile."""
    return read_profile(connection.execute(f"{AGENTS} WHERE a.id = ?", (row,)).fetchone())


def read_profile(row: Sequence[Any]) -> Profile:
    """Return the profile in a row of ``AGENTS``."""
    number, uid, name, title, tags, source, source_uid, source_at, *rest = row
    created, updated, killed, head = rest
    origin = None if source is None else Source(source, source_uid, source_at)
    return Profile(number, uid, name, title, json.loads(tags), origin, created, updated, killed, head)


def descendants(connection: sqlite3.Connection, row: int) -> dict[int, bool]:
    """Return the clones of an agent, recursively and through killed ones, and whether each is alive."""
    query = """
        WITH RECURSIVE kin (id) AS (
            SELECT id FROM agents WHERE source = ? UNION SELECT a.id FROM kin JOIN agents a ON a.source = kin.id
        )
        SELECT kin.id, a.killed IS NULL FROM kin JOIN agents a ON a.id = kin.id ORDER BY kin.id
    """
    return {number: bool(alive) for number, alive in connection.execute(query, (row,))}


def tip_of(connection: sqlite3.Connection, row: int) -> int | None:
    """Return the tip of an agent's current state."""
    last = connection.execute(
        "SELECT id, kind, parent FROM events WHERE agent = ? ORDER BY seq DESC LIMIT 1", (row,)
    ).fetchone()
    return None if last is None else tip_after(*last)


def current(connection: sqlite3.Connection, row: int, pack: Pack) -> Past:
    """Return an agent's current state; its last event is listed as skipped if it is damaged, also if it is no node."""
    last = connection.execute(_LAST, (row,)).fetchone()
    if last is None:
        return Past([], [])
    *columns, stored = last
    event_id, agent, seq, _, kind, _, _, parent, _, _ = columns
    if agent != row:
        raise sqlite3.DatabaseError(f"the index has an event of the agent {agent} among those of the agent {row}")
    tip = tip_after(event_id, kind, parent)
    past = walk(connection, tip, pack)
    if tip != event_id and not is_intact(pack, columns, stored):
        past.skipped.append(Skip(seq, "checksum", DAMAGED))
    return past


def position(connection: sqlite3.Connection, row: int, at: int) -> Position:
    """Return the end of the command that a position is in, and the tip of the state there.

    A position below an agent's first own seq means its source's state there.
    """
    owner: int | None = row
    while owner is not None:
        found = connection.execute(
            "SELECT command FROM events WHERE agent = ? AND seq <= ? ORDER BY seq DESC LIMIT 1", (owner, at)
        ).fetchone()
        if found is not None:
            return _end_of(connection, owner, found[0])
        # `source < id` ends the search even in a damaged table in which a source is not older than its clone.
        source = connection.execute("SELECT source FROM agents WHERE id = ? AND source < id", (owner,)).fetchone()
        (owner,) = source or (None,)
    return Position(0, None)


def _end_of(connection: sqlite3.Connection, row: int, command: int) -> Position:
    """Return the position of a command's last event; its events have consecutive seqs."""
    rows = connection.execute(
        "SELECT seq, command, id, kind, parent FROM events WHERE agent = ? AND seq >= ? ORDER BY seq", (row, command)
    )
    end = Position(0, None)
    for seq, of, event_id, kind, parent in rows:
        if of != command:
            break
        end = Position(seq, tip_after(event_id, kind, parent))
    return end


def walk(
    connection: sqlite3.Connection, tip: int | None, pack: Pack, is_base: Callable[[int], bool] | None = None
) -> Past:
    """Return the state with this tip, by walking from parent to parent.

    Args:
        connection: a reading connection.
        tip: the newest node.
        pack: encodes a value as MessagePack.
        is_base: whether to end the walk before the node with this id; by default it goes on to the root.
    """
    past = Past([], [])
    while tip is not None:
        if is_base is not None and is_base(tip):
            past = past._replace(base=tip)
            break
        with closing(connection.execute(_WALK, (tip,))) as rows:
            tip = _read_path(connection, rows, pack, past, is_base)
    past.nodes.reverse()
    past.skipped.reverse()
    return past


def _read_path(
    connection: sqlite3.Connection,
    rows: Iterable[Sequence[Any]],
    pack: Pack,
    past: Past,
    is_base: Callable[[int], bool] | None,
) -> int | None:
    """Read nodes, the newest first, down to the root, to the base, or to a damaged one with the wrong parent.

    A row that cannot be read stays a record, and a damaged one an empty record; both are listed as skipped.

    Returns:
        the node from which to go on; ``None`` if that was all.
    """
    owner = None
    for *row, stored in rows:
        if is_base is not None and is_base(row[0]):
            return cast("int", row[0])
        if is_intact(pack, row, stored):
            past.nodes.append(_read_node(row, pack, past.skipped))
        else:
            parent = _parent_of_damaged(connection, row, stored, owner, pack)
            past.skipped.append(Skip(row[SEQ], "checksum", DAMAGED if parent else _CUT))
            past.nodes.append(_empty_node(row))
            if row[PARENT] not in parent:
                return parent[0] if parent else None
        owner = row[AGENT]
    return None


def _read_node(row: Sequence[Any], pack: Pack, skipped: list[Skip]) -> Node:
    event_id, _, seq, _, kind, content, data_json, _, _, time = row
    message = tools = None
    if kind == "mark":
        return Mark(event_id, seq, label_of(data_json))
    try:
        message, tools = read(pack, kind, content, data_json, seq, time)
    except InvalidRecord as error:
        skipped.append(Skip(seq, error.field, error.reason))
    # SQLite returns a new string for each row, and there are few kinds.
    return entry(event_id, seq, intern(kind), content, data_json, time, message, tools)


def _empty_node(row: Sequence[Any]) -> Node:
    event_id, _, seq, _, kind, _, _, _, _, time = row
    return Mark(event_id, seq, None) if kind == "mark" else entry(event_id, seq, kind, None, None, time, None, None)


def _parent_of_damaged(
    connection: sqlite3.Connection, row: Sequence[Any], stored: int, owner: int | None, pack: Pack
) -> list[int | None]:
    """Return the parent of a damaged node in a list; it is empty if the stored one may be of another conversation.

    Args:
        connection: a reading connection.
        row: the columns of the event.
        stored: its checksum.
        owner: the agent of the node that it is the parent of, if any.
        pack: encodes a value as MessagePack.
    """
    event_id, agent, seq, _, _, _, _, parent, _, _ = row
    expected = tip_before(connection, agent, seq)
    if parent == expected:
        return [parent]
    if expected is not None and expected < event_id:
        repaired = [*row[:PARENT], expected, *row[PARENT + 1 :]]
        if is_intact(pack, repaired, stored):  # it is the parent that changed, and nothing else
            return [expected]
    found = connection.execute("SELECT agent FROM events WHERE id = ?", (parent,)).fetchone()
    return [parent] if found is not None and found[0] in (agent, owner) else []


def unknown_kinds(connection: sqlite3.Connection, row: int, at: int) -> list[Skip]:
    """Return the events of an agent whose kind is unknown."""
    rows = connection.execute(
        f"SELECT seq, kind FROM events WHERE agent = ? AND seq <= ? AND {UNKNOWN_KIND} ORDER BY seq", (row, at)
    )
    return [Skip(seq, "kind", f"the kind {kind!r} is unknown") for seq, kind in rows]


def undo_target(connection: sqlite3.Connection, row: int, head: int) -> int | None:
    """Return the command that an undo would take back."""
    return undoable(_newest(connection, row), head)


def redo_target(connection: sqlite3.Connection, row: int, head: int) -> Undone | None:
    """Return the command that a redo would bring back."""
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
        return Command(command, data.get("undoes"), data.get("redoes"), data.get("undo"))

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
) -> PackedPage:
    """Return a page of an agent's log, with the inherited past in front if asked for."""
    line = _lineage(connection, row, head) if inherited else [_own(connection, row, head)]
    events = _events(connection, line, since, limit, kinds, pack)
    return packed_page((pack(event) for event in events), limit, max_bytes)


def _events(
    connection: sqlite3.Connection,
    line: Iterable[tuple[int, str, int]],
    since: int,
    limit: int,
    kinds: Sequence[str] | None,
    pack: Pack,
) -> Iterator[dict[str, Any]]:
    """Yield the events of agents after a seq, each up to its last one: more than a page has, if there are so many."""
    query, chosen = _EVENTS, tuple(kinds or ())
    number = len(chosen)
    if kinds is not None:
        query += f" AND e.kind IN ({', '.join('?' * number)})"
    for owner, uid, upto in line:
        rows = connection.execute(f"{query} ORDER BY e.seq LIMIT ?", (owner, since, upto, *chosen, limit + 1))
        for event in ascending(rows, SEQ, since):
            yield _event(uid, event, pack)


def _own(connection: sqlite3.Connection, row: int, head: int) -> tuple[int, str, int]:
    (uid,) = connection.execute("SELECT uid FROM agents WHERE id = ?", (row,)).fetchone()
    return row, uid, head


def _lineage(connection: sqlite3.Connection, row: int, head: int) -> list[tuple[int, str, int]]:
    """Return an agent and its sources, the oldest first, each with the last seq that belongs to its past.

    A position below an agent's first own seq is one in its source's past. So a clone that was taken there has less of
    that past than the agent has.
    """
    line: list[tuple[int, str, int]] = []
    owner = row
    while True:
        uid, source, at = connection.execute(
            "SELECT uid, source, source_at FROM agents WHERE id = ?", (owner,)
        ).fetchone()
        line.append((owner, uid, head))
        if source is None or at is None or source >= owner:  # the list of agents may be damaged
            break
        owner, head = source, min(at, head)
    return line[::-1]


def _event(uid: str, columns: Sequence[Any], pack: Pack) -> dict[str, Any]:
    *row, stored, parent_seq, parent_uid = columns
    event_id, _, seq, command, kind, content, data_json, _, client, time = row
    event = {
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
    return event if is_intact(pack, row, stored) else {**clean_deep(event)[0], "damaged": True}


def key(connection: sqlite3.Connection, name: str) -> StoredKey | None:
    """Return the command that a key was used for."""
    row = connection.execute(
        "SELECT k.digest, k.reply, k.address, k.about, coalesce(a.uid, ''), coalesce(a.name, '?')"
        " FROM keys k LEFT JOIN agents a ON a.id = coalesce(k.about, k.agent) WHERE k.key = ?",
        (name,),
    ).fetchone()
    return None if row is None else StoredKey(*row)


def totals(connection: sqlite3.Connection) -> dict[str, int]:
    """Return counts that need no scan of the events."""
    (events,) = connection.execute("SELECT coalesce(max(id), 0) FROM events").fetchone()
    (made,) = connection.execute("SELECT count(*) FROM agents").fetchone()
    (living,) = connection.execute("SELECT count(*) FROM agents WHERE killed IS NULL").fetchone()
    return {"newest_event": events, "agents": made, "living_agents": living}


# --- forward, as it was written

_LOGGED = f"SELECT {EVENT_COLUMNS} FROM events e"
_LOGGED_OF_ONE = f"{_LOGGED} WHERE agent = :row AND seq > :place ORDER BY seq LIMIT :limit"
_LOGGED_OF_ALL = f"{_LOGGED} WHERE id > :place ORDER BY id LIMIT :limit"


class Logged(NamedTuple):
    """An event of the log, its agent and its id."""

    profile: Profile
    event_id: int
    event: Event


def after(
    connection: sqlite3.Connection, row: int | None, place: int, limit: int, max_bytes: int, pack: Pack
) -> list[Logged]:
    """Return the events after a position: of one agent after a seq, or of all after an id.

    Args:
        connection: a reading connection.
        row: the agent; ``None`` for all.
        place: the seq, or the id.
        limit: how many events at most.
        max_bytes: how many bytes their texts may have together; there is always one event.
        pack: encodes a message for the wire.
    """
    query, column = (_LOGGED_OF_ALL, ID) if row is None else (_LOGGED_OF_ONE, SEQ)
    rows = connection.execute(query, {"row": row, "place": place, "limit": limit})
    events, _ = take_page(_logged(connection, ascending(rows, column, place), pack), limit, max_bytes, _text_size)
    return events


def _logged(connection: sqlite3.Connection, rows: Iterable[Sequence[Any]], pack: Pack) -> Iterator[Logged]:
    profiles: dict[int, Profile] = {}
    for *row, stored in rows:
        event_id, agent, seq, command, kind, content, data_json, parent, client, time = row
        if agent not in profiles:
            profiles[agent] = profile_of(connection, agent)
        event = Event(seq, command, kind, content, data_json, parent, time, client)
        is_sound = is_intact(pack, row, stored)
        event = _read(pack, event) if is_sound else event._replace(content=None, data_json=None)
        yield Logged(profiles[agent], event_id, event)


def _text_size(logged: Logged) -> int:
    return len(logged.event.content or "") + len(logged.event.data_json or "")


def _read(pack: Pack, event: Event) -> Event:
    """Add the message to an event; one that cannot be read stays a record, as everywhere."""
    with suppress(InvalidRecord):
        message, tools = read(pack, event.kind, event.content, event.data_json, event.seq, event.time)
        return event._replace(message=message, tools=tools)
    return event


def tip_before(connection: sqlite3.Connection, row: int, seq: int) -> int | None:
    """Return the tip of an agent's state before one of its events; ``None`` before the first."""
    found = connection.execute(
        "SELECT id, kind, parent FROM events WHERE agent = ? AND seq < ? ORDER BY seq DESC LIMIT 1", (row, seq)
    ).fetchone()
    return None if found is None else tip_after(*found)

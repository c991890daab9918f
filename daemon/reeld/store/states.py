"""The states of agents, read from the log: the walk from a tip to the root of the tree.

A damaged event stays in a state as an empty record. If its link to its parent has changed too, the link is found again,
or the state begins there: it never has anything of another conversation.
"""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from sys import intern
from typing import Any, NamedTuple, cast

from reel.blocks import InvalidRecord
from reeld.core.conversation import label_of
from reeld.core.events import Mark, Node, Pack, entry, read
from reeld.core.tree import tip_after
from reeld.store.checksums import AGENT, DAMAGED, EVENT_COLUMNS, PARENT, SEQ, is_intact

_CUT = f"{DAMAGED}, and what was said before it is not known"
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


def tip_of(connection: sqlite3.Connection, row: int) -> int | None:
    """Return the tip of an agent's current state."""
    last = connection.execute(
        "SELECT id, kind, parent FROM events WHERE agent = ? ORDER BY seq DESC LIMIT 1", (row,)
    ).fetchone()
    return None if last is None else tip_after(*last)


def tip_before(connection: sqlite3.Connection, row: int, seq: int) -> int | None:
    """Return the tip of an agent's state before one of its events; ``None`` before the first."""
    found = connection.execute(
        "SELECT id, kind, parent FROM events WHERE agent = ? AND seq < ? ORDER BY seq DESC LIMIT 1", (row, seq)
    ).fetchone()
    return None if found is None else tip_after(*found)


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

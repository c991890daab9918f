"""Queries about agents, keys and the whole database: jobs for the reading connections.

The rules of the model are in :mod:`reeld.core`; this module only queries the log. :mod:`reeld.store.states` and
:mod:`reeld.store.history` read what agents hold.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from reel.base.errors import NotFound
from reel.base.light_typing import NamedTuple
from reel.wire.msgpack_codec import packer
from reeld.core.state import Profile, Source
from reeld.core.undo import UNDOABLE_KINDS, Command, Newest, Undone, command_of, end_of_first_state, redoable, undoable
from reeld.store.checksums import CHECKSUM, EVENT_COLUMNS, ID
from reeld.store.connection import Connection, DatabaseError, Numbers
from reeld.store.erasures import first_reply, newest
from reeld.store.loss import Known
from reeld.store.schema import UNKNOWN_KIND
from reeld.store.sealed import KEY, is_unchanged
from reeld.store.states import Skip

_COLUMNS = "a.id, a.uid, a.name, a.title, a.tags, a.source, s.uid, a.source_at, a.created, a.updated, a.killed, a.head"
_JOINED = "FROM agents a LEFT JOIN agents s ON s.id = a.source"
AGENTS = f"SELECT {_COLUMNS} {_JOINED}"
# One statement, so that both are of the same moment whoever writes meanwhile.
_WITH_NEWEST_EVENT = f"""
    SELECT {EVENT_COLUMNS}, {_COLUMNS} {_JOINED}
    LEFT JOIN events e ON e.id = (SELECT id FROM events WHERE agent = a.id ORDER BY seq DESC LIMIT 1)
    WHERE a.id = ?
"""
# A live agent with this name, else the agent with this id, else the killed one with this name that has the newest
# event. Timestamps do not tell which was killed last: the clock may have been set back in between.
_FIND = f"""
    {AGENTS} WHERE a.id = coalesce(
        (SELECT id FROM agents WHERE name = :address AND killed IS NULL),
        (SELECT id FROM agents WHERE uid = :address AND name <> ''),
        (
            SELECT id FROM agents named WHERE name = :address AND name <> ''
            ORDER BY (SELECT id FROM events WHERE agent = named.id ORDER BY seq DESC LIMIT 1) DESC NULLS LAST LIMIT 1
        )
    )
"""
_CLONES = """
    WITH RECURSIVE kin (id) AS (
        SELECT id FROM agents WHERE source IN (SELECT value FROM json_each(?))
        UNION SELECT a.id FROM kin JOIN agents a ON a.source = kin.id
    )
    SELECT a.id, a.source, a.killed IS NULL, a.name = '' FROM kin JOIN agents a ON a.id = kin.id
"""
_SEQS_BY_ID = "SELECT id, seq FROM events WHERE id IN (SELECT value FROM json_each(?))"
_UNDOABLE = tuple(sorted(UNDOABLE_KINDS))
_NEWEST = f"""
    SELECT command, kind, data_json FROM events
    WHERE agent = ? AND seq <= ? AND seq > ? AND kind IN ({", ".join("?" * len(_UNDOABLE))})
    ORDER BY seq DESC LIMIT 1
"""

# Whether the log has an event that is known by its id, agent, seq and time, unless it was purged. The first parameter
# and the last are its id as well.
IS_KNOWN = """
    ? = 0 OR EXISTS (SELECT 1 FROM events WHERE id = ? AND agent = ? AND seq = ? AND time = ?)
    OR EXISTS (SELECT 1 FROM erasures WHERE method = 'purge' AND newest >= ?)
"""


_KEY_COLUMNS = ", ".join(f"k.{column}" for column in KEY)
_KEY = f"""
    SELECT {_KEY_COLUMNS}, k.checksum, coalesce(a.uid, ''), coalesce(a.name, '?')
    FROM keys k LEFT JOIN agents a ON a.id = coalesce(k.about, k.agent) WHERE k.key = ?
"""


class Clone(NamedTuple):
    """A clone: its row and that of its source."""

    row: int
    source: int
    is_alive: bool
    is_purged: bool


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
    # Whether it is what was written.
    is_intact: bool = True


def find(connection: Connection, address: str) -> Profile | None:
    """Return the agent with a name or id.

    Raises:
        DatabaseError: an index of the agents is damaged: it leads to another agent.
    """
    row = connection.execute(_FIND, {"address": address}).fetchone()
    if row is None:
        return None
    profile = read_profile(row)
    if address not in (profile.name, profile.uid):
        raise DatabaseError(f"an index of the agents leads from {address} to another agent")
    return profile


def profile_of(connection: Connection, row: int) -> Profile:
    """Return an agent's profile.

    Raises:
        NotFound: there is no such agent: it was purged, or the server has lost it.
    """
    found = connection.execute(f"{AGENTS} WHERE a.id = ?", (row,)).fetchone()
    return read_profile(required(found))


def with_newest_event(connection: Connection, row: int) -> tuple[Profile, Sequence[Any] | None]:
    """Return an agent's profile, and the columns of its newest event with their checksum; ``None`` if it has none.

    Raises:
        NotFound: there is no such agent: it was purged, or the server has lost it.
    """
    found = required(connection.execute(_WITH_NEWEST_EVENT, (row,)).fetchone())
    last, profile = found[: CHECKSUM + 1], read_profile(found[CHECKSUM + 1 :])
    return profile, None if last[ID] is None else last


def required(found: Any) -> Any:
    """Return the row of an agent that was found.

    Raises:
        NotFound: none was: the agent was purged, or the server has lost it.
    """
    if found is None:
        raise NotFound(
            "the agent is no longer in the database: it was purged, or the server has lost its newest events"
        )
    return found


def profile_unless_purged(connection: Connection, row: int) -> Profile | None:
    """Return an agent's profile; ``None`` if the agent was purged."""
    found = connection.execute(f"{AGENTS} WHERE a.id = ? AND a.name <> ''", (row,)).fetchone()
    return None if found is None else read_profile(found)


def profiles(connection: Connection, rows: Sequence[int]) -> list[Profile]:
    """Return the profiles of some agents, except for those that were purged."""
    found = (profile_unless_purged(connection, row) for row in rows)
    return [profile for profile in found if profile is not None]


def read_profile(row: Sequence[Any]) -> Profile:
    """Return the profile in a row of ``AGENTS``."""
    number, uid, name, title, tags, source, source_uid, source_at, *rest = row
    created, updated, killed, head = rest
    origin = None if source is None else Source(source, source_uid, source_at)
    return Profile(number, uid, name, title, json.loads(tags), origin, created, updated, killed, head)


def clones(connection: Connection, rows: Iterable[int]) -> list[Clone]:
    """Return the clones of some agents, recursively and through killed and purged ones; sources come first."""
    # Sorted here: with ORDER BY, PostgreSQL would scan all agents. A clone has a greater row than its source.
    found = connection.execute(_CLONES, (Numbers(rows),)).fetchall()
    return [Clone(row, source, bool(alive), bool(purged)) for row, source, alive, purged in sorted(found)]


def descendants(connection: Connection, row: int) -> dict[int, bool]:
    """Return the clones of an agent, recursively, and whether each is alive."""
    return {clone.row: clone.is_alive for clone in clones(connection, [row]) if not clone.is_purged}


def unknown_kinds(connection: Connection, row: int, at: int) -> list[Skip]:
    """Return the events of an agent whose kind is unknown."""
    rows = connection.execute(
        f"SELECT seq, kind FROM events WHERE agent = ? AND seq <= ? AND {UNKNOWN_KIND} ORDER BY seq", (row, at)
    )
    return [Skip(seq, "kind", f"the kind {kind!r} is unknown") for seq, kind in rows]


def _nothing_staged(_: int) -> None:
    return None


def undo_target(connection: Connection, row: int, head: int, staged: Newest = _nothing_staged) -> int | None:
    """Return the command that an undo would take back; ``staged`` finds those that are not in the log yet."""
    return undoable(_newest(connection, row, staged), head)


def redo_target(connection: Connection, row: int, head: int, staged: Newest = _nothing_staged) -> Undone | None:
    """Return the command that a redo would bring back; ``staged`` finds those that are not in the log yet."""
    return redoable(_newest(connection, row, staged), head)


def seqs_by_id(connection: Connection, ids: Iterable[int]) -> dict[int, int]:
    """Return the seqs of events by their ids."""
    return dict(connection.execute(_SEQS_BY_ID, (Numbers(ids),)).fetchall())


def _newest(connection: Connection, row: int, staged: Newest) -> Newest:
    """Return the function that finds an agent's newest undoable command."""
    floor = _end_of_first_state(connection, row)

    def newest(at: int) -> Command | None:
        if (command := staged(at)) is not None:
            return command
        found = connection.execute(_NEWEST, (row, at, floor, *_UNDOABLE)).fetchone()
        if found is None:
            return None
        return command_of(*found)

    return newest


def _end_of_first_state(connection: Connection, row: int) -> int:
    found = connection.execute("SELECT min(seq) FROM events WHERE agent = ?", (row,)).fetchone()
    first = found[0] or 0
    # Without a bound on seq it would scan every event of the agent: there is no index of commands.
    kinds = connection.execute(
        "SELECT kind FROM events WHERE agent = ? AND command = ? AND seq < ? ORDER BY seq", (row, first, first + 3)
    )
    return end_of_first_state(first, [kind for (kind,) in kinds])


def key(connection: Connection, name: str) -> StoredKey | None:
    """Return the command that a key was used for."""
    pack = packer()
    found = connection.execute(_KEY, (name,)).fetchone()
    if found is not None:
        *row, stored, uid, called = found
        _, _, _, digest, reply, address, about = row
        return StoredKey(digest, reply, address, about, uid, called, is_unchanged(pack, row, stored))
    purge = first_reply(connection, name, pack)
    # No agent has this row: only the same address stands for the same agent.
    if purge is None:
        return None
    digest, reply, address, uid, is_intact = purge
    return StoredKey(digest, reply, address, -1, uid, address or "?", is_intact)


def totals(connection: Connection) -> dict[str, int]:
    """Return counts that need no scan of the events."""
    events = newest(connection)
    (made,) = connection.execute("SELECT count(*) FROM agents WHERE name <> ''").fetchone()
    (living,) = connection.execute("SELECT count(*) FROM agents WHERE killed IS NULL").fetchone()
    return {"newest_event": events, "agents": made, "living_agents": living}


def is_current(connection: Connection, newest: int, known: Known) -> bool:
    """Return whether the log ends with an id, and has an event; for a server."""
    query = f"SELECT newest = ? AND ({IS_KNOWN}) FROM log"
    (is_so,) = connection.execute(query, (newest, known.id, *known, known.id)).fetchone()
    return bool(is_so)

"""Erasing events permanently: the steps, as jobs of the writing connection, and their completion at the next start.

An erasure is *staged*: the new form of each event is written beside the log, in slices, and nothing has changed yet. It
is *decided* in one transaction, with the event that logs it. Then it is *applied* to the events, in slices between
which others commit; and the file is *cleaned*: the bytes that SQLite does not use, in which deleted rows leave traces,
are overwritten (:mod:`reeld.store.sweep`), and the WAL is truncated. If the process dies, an erasure that was decided
is completed at the next start, and one that was only staged is abandoned; its caller had no reply yet.

A row in the table of erasures remains: when something was erased, by whom and of which agent, without the content.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Generic, TypeVar

from reel.base.light_typing import NamedTuple
from reeld.core.events import Pack
from reeld.core.paging import batches
from reeld.store.checksums import COLUMNS, ORIGIN, checksum, counted, is_intact
from reeld.store.connection import Connection, Cursor, Numbers, transaction
from reeld.store.forgetting import forget_purged
from reeld.store.plans import Plan
from reeld.store.remains import DIGEST, digest, remains_of, to_store
from reeld.store.room import MARGIN
from reeld.store.sealed import ERASURE, change_key, is_unchanged, seal_erasure

T = TypeVar("T")
STAGED, DECIDED, APPLIED, DONE = STATES = "staged", "decided", "applied", "done"
INCOMPLETE = "something is to be erased, and could not all be overwritten"
# Events of a slice: 10 ms, and 2 MB of the WAL if each is on a page of its own. And their bytes, for the same reason.
SLICE = 500
_BYTES = 1 << 20
# Bytes of a change besides its texts: 11 with the first ids, 14 with ids of billions.
_ROW_BYTES = 16
_CONTENT, _DATA, _REF = (COLUMNS.index("content"), COLUMNS.index("data_json"), len(COLUMNS) + ORIGIN.index("ref"))
_ROW = ", ".join(f"e.{column}" for column in (*COLUMNS, *ORIGIN))
# All kinds of changes in one query: one that looks for a kind passes a million of the other with each slice.
_SLICE = """
    SELECT x.event, x.is_gone, coalesce(length(x.content), 0) + coalesce(length(x.data_json), 0)
        + coalesce(length(e.content), 0) + coalesce(length(e.data_json), 0)
    FROM erased_events x JOIN events e ON e.id = x.event ORDER BY x.event LIMIT ?
"""
_NEXT = f"""
    SELECT {_ROW}, e.checksum, x.content, x.data_json, x.ref
    FROM erased_events x JOIN events e ON e.id = x.event WHERE NOT x.is_gone AND x.event <= ? ORDER BY x.event
"""
# SQLite joins a page with its neighbours when a row is deleted from it, and not when one shrinks. So rows that got much
# smaller are deleted and inserted as they are. The log lets only those go that are to be removed.
_REPLACE = (
    "UPDATE erased_events SET is_gone = 1 WHERE event IN (SELECT value FROM json_each(?))",
    "INSERT OR REPLACE INTO events SELECT * FROM events WHERE id IN (SELECT value FROM json_each(?))",
)
# How many characters smaller the rows of a slice are on average, for that to be worth its time.
_WORTH = 100
_FORGET_MILESTONES = """
    DELETE FROM milestones WHERE id >= ? AND (SELECT agent FROM events WHERE events.id = milestones.id) IN (
        SELECT value FROM json_each(?)
    )
"""


class Change(NamedTuple):
    """The new form of an event: other content, or its removal if it ``is_gone``."""

    event: int
    content: str | None = None
    data_json: str | None = None
    ref: str | None = None
    is_gone: bool = False


class Changes(Generic[T]):
    """What an erasure does to each of some events, made when it is needed: there may be a million.

    Args:
        events: the events.
        change: returns the change of one.
    """

    def __init__(self, events: Sequence[T], change: Callable[[T], Change]) -> None:
        self._events = events
        self._change = change

    def __len__(self) -> int:
        return len(self._events)

    def __iter__(self) -> Iterator[Change]:
        return map(self._change, self._events)


class Labels(NamedTuple):
    """The new title and tags of an agent, the tags as JSON."""

    row: int
    title: str | None
    tags: str


class KeptKey(NamedTuple):
    """The new form of the reply that is stored with a key, and of how the agent was addressed."""

    id: int
    reply: bytes
    address: str | None


class Order(NamedTuple):
    """The origin of an erasure: the method, the id of the agent, the client and the time."""

    method: str
    agent: str
    client: str | None
    time: int


class OwnKey(NamedTuple):
    """The idempotency key of a purge; the table of keys cannot have it, because its agents are gone."""

    key: str
    digest: bytes
    address: str | None
    reply: bytes


class Outdated(NamedTuple):
    """The milestones of some agents that are invalid: from an event on."""

    first: int
    agents: Sequence[int]


class Decision(NamedTuple):
    """The content of the transaction that decides an erasure.

    Args:
        erasure: its number.
        events: how many events it is about.
        labels: the titles and tags that change.
        keys: the keys that change.
        purged: the rows of agents that are purged.
        milestones: those that are invalid.
        key: the idempotency key of a purge.
    """

    erasure: int
    events: int
    labels: Sequence[Labels] = ()
    keys: Sequence[KeptKey] = ()
    purged: Sequence[int] = ()
    milestones: Outdated | None = None
    key: OwnKey | None = None

    @property
    def is_nothing(self) -> bool:
        """Whether nothing is erased."""
        return not (self.events or self.labels or self.keys or self.purged)


def hidden(address: str | None) -> str | None:
    """Return what is stored in place of an erased address of an agent: it still tells whether another one equals it."""
    return address if address is None or address.startswith(DIGEST) else digest(address)


def begin(connection: Connection, order: Order, backups: str = "[]") -> int:
    """Begin an erasure, empty so far; return its number.

    Args:
        backups: the paths of the backups in which it is done as well, as JSON.
    """
    values = (*order, STAGED, backups)
    columns = "method, agent, client, time, state, backups, events, newest"
    insert = f"INSERT INTO erasures ({columns}) VALUES (?, ?, ?, ?, ?, ?, 0, 0) RETURNING id"
    (number,) = connection.execute(insert, values).fetchone()
    return int(number)


def stage(connection: Connection, changes: Sequence[Change]) -> None:
    """Write the new form of some events beside the log."""
    with transaction(connection):
        connection.executemany(
            "INSERT INTO erased_events (event, content, data_json, ref, is_gone) VALUES (?, ?, ?, ?, ?)", changes
        )


def abandon(connection: Connection) -> None:
    """Abandon an erasure that was not decided."""
    with transaction(connection):
        connection.execute("DELETE FROM erased_events")
        connection.execute("DELETE FROM erasures WHERE state = ?", (STAGED,))


def decide(cursor: Cursor, decision: Decision, newest: int, pack: Pack) -> None:
    """Decide an erasure, inside a transaction.

    Args:
        decision: what is decided.
        newest: the newest id given so far; it is never reused, even if its event is erased.
    """
    own = decision.key or (None, None, None, None)
    cursor.execute(
        "UPDATE erasures SET state = ?, events = ?, newest = ?, key = ?, digest = ?, address = ?, reply = ?"
        " WHERE id = ?",
        (DECIDED, decision.events, newest, *own, decision.erasure),
    )
    seal_erasure(cursor, decision.erasure, pack)
    for row, title, tags in decision.labels:
        cursor.execute("UPDATE agents SET title = ?, tags = ? WHERE id = ?", (title, tags, row))
    for key, reply, address in decision.keys:
        change_key(cursor, key, reply, address, pack)
    _take_names(cursor, decision.purged)
    if decision.milestones is not None:
        cursor.execute(_FORGET_MILESTONES, (decision.milestones.first, Numbers(decision.milestones.agents)))


def _take_names(cursor: Cursor, rows: Sequence[int]) -> None:
    """Take the names, titles and tags from purged agents. Those that were purged before have none any more."""
    named = "SELECT id, name, tags FROM agents WHERE name <> '' AND id IN (SELECT value FROM json_each(?))"
    purge = "UPDATE agents SET name = '', title = NULL, tags = ?, killed = coalesce(killed, updated) WHERE id = ?"
    found = cursor.execute(named, (Numbers(rows),)).fetchall()
    cursor.executemany(purge, [(to_store(remains_of(name, tags)), row) for row, name, tags in found])


def unfinished(connection: Connection) -> set[str]:
    """Return the state of the unfinished erasures: one in progress, and any that left traces."""
    return {state for (state,) in connection.execute("SELECT state FROM erasures WHERE state <> ?", (DONE,))}


def slices(changes: Iterable[Change]) -> Iterator[list[Change]]:
    """Return changes in slices, each for one call of :func:`stage`."""
    return batches(changes, SLICE, _BYTES, size_of)


def room_for(changes: Iterable[Change]) -> int:
    """Return how many bytes of room an erasure needs: a text goes beside the log, and into the WAL and the log."""
    return MARGIN + sum(_ROW_BYTES + 3 * size_of(change) for change in changes)


def size_of(change: Change) -> int:
    """Return the bytes of the new form of an event."""
    return sum(len(text.encode()) for text in (change.content, change.data_json, change.ref) if text is not None)


def apply(connection: Connection, pack: Pack, limit: int = SLICE) -> bool:
    """Apply a slice of the decided erasure; return whether there is more."""
    with transaction(connection):
        events, gone = _next_slice(connection, limit)
        if len(gone) < len(events):
            _change(connection, pack, events[-1])
        if gone:
            removed = [(event,) for event in gone]
            connection.executemany("DELETE FROM events WHERE id = ?", removed)
            connection.executemany("DELETE FROM milestones WHERE id = ?", removed)
        if events:
            done = "DELETE FROM erased_events WHERE event IN (SELECT value FROM json_each(?))"
            connection.execute(done, (Numbers(events),))
        else:  # whatever is left has no event any more
            connection.execute("DELETE FROM erased_events")
        more = connection.execute("SELECT 1 FROM erased_events LIMIT 1").fetchone() is not None
        if not more:
            connection.execute("UPDATE erasures SET state = ? WHERE state = ?", (APPLIED, DECIDED))
    return more


def _next_slice(connection: Connection, limit: int) -> tuple[list[int], list[int]]:
    """Return the next events to change or remove, and those among them that are removed."""
    events: list[int] = []
    gone: list[int] = []
    size = 0
    for event, is_gone, length in connection.execute(_SLICE, (limit,)).fetchall():
        events.append(event)
        if is_gone:
            gone.append(event)
        size += length
        if size > _BYTES:
            break
    return events, gone


def _change(connection: Connection, pack: Pack, last: int) -> None:
    """Give events their new form, up to the last one."""
    changed: list[int] = []
    saved = 0
    for *row, stored, content, data_json, ref in connection.execute(_NEXT, (last,)).fetchall():
        made = [*row]
        made[_CONTENT], made[_DATA], made[_REF] = content, data_json, ref
        # Damaged events stay damaged, because their link to the parent may be wrong.
        sealed = checksum(pack, counted(made)) if is_intact(pack, row, stored) else stored
        query = "UPDATE events SET content = ?, data_json = ?, ref = ?, checksum = ? WHERE id = ?"
        connection.execute(query, (content, data_json, ref, sealed, row[0]))
        changed.append(row[0])
        saved += sum(len(text) for text in row if isinstance(text, str))
        saved -= sum(len(text) for text in made if isinstance(text, str))
    if saved >= _WORTH * len(changed) and isinstance(connection, sqlite3.Connection):
        for query in _REPLACE:
            connection.execute(query, (Numbers(changed),))


def completion(pack: Pack) -> Plan[None]:
    """Apply the decided erasure, in slices, and forget what was purged."""
    while (yield partial(apply, pack=pack)):
        pass
    yield from forget_purged()


def end(connection: Connection) -> None:
    """Mark decided erasures as done."""
    connection.execute("UPDATE erasures SET state = ?, backups = '[]' WHERE state = ?", (DONE, APPLIED))


def recovery(pack: Pack) -> Plan[bool]:
    """Abandon what was only staged, and complete what was decided; return whether there was any.

    The caller calls :func:`end` when nothing has traces of it.
    """
    found: set[str] = yield unfinished
    if STAGED in found and DECIDED not in found:
        yield abandon
    if not found & {DECIDED, APPLIED}:
        return False
    yield from completion(pack)
    return True


def newest(connection: Connection) -> int:
    """Return the largest id that an event ever had."""
    query = (
        "SELECT coalesce(max(id), 0) FROM ("
        "SELECT max(id) AS id FROM events UNION ALL SELECT max(newest) FROM erasures) AS ids"
    )
    return int(connection.execute(query).fetchone()[0])


def first_reply(connection: Connection, key: str, pack: Pack) -> tuple[bytes, bytes, str | None, str, bool] | None:
    """Return the digest, the reply, the address and the agent of the purge that a key was used for, if it is intact."""
    query = f"SELECT {', '.join(ERASURE)}, checksum FROM erasures WHERE key = ?"
    found = connection.execute(query, (key,)).fetchone()
    if found is None:
        return None
    *row, stored = found
    _, _, agent, *_, digest, address, reply = row
    return digest, reply, address, agent, is_unchanged(pack, row, stored)

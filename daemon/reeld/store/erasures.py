"""Erasing events permanently: the steps, as jobs of the writing connection, and their completion at the next start.

An erasure is *staged*: the new form of each event is written beside the log, in slices, and nothing has changed yet. It
is *decided* in one transaction, with the event that logs it. Then it is *applied* to the events, in slices between
which others commit; and the file is *cleaned*: ``VACUUM`` writes it again without the free space in which deleted rows
leave traces, and the WAL is truncated. If the process dies, an erasure that was decided is completed at the next start,
and one that was only staged is abandoned; its caller had no reply yet.

A row in the table of erasures remains: when something was erased, by whom and of which agent, without the content.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any, NamedTuple

from reeld.core.events import Pack
from reeld.store.checksums import COLUMNS, ORIGIN, checksum, counted, is_intact
from reeld.store.connection import Connection, Cursor

STAGED, DECIDED, APPLIED, DONE = "staged", "decided", "applied", "done"
# Events of a slice: 20 ms.
SLICE = 1000
# What no address of an agent begins with.
_HIDDEN = "#"
# Keys of a slice.
_KEYS = 20_000
_CONTENT, _DATA, _REF = (COLUMNS.index("content"), COLUMNS.index("data_json"), len(COLUMNS) + ORIGIN.index("ref"))
_ROW = ", ".join(f"e.{column}" for column in (*COLUMNS, *ORIGIN))
_NEXT = f"""
    SELECT {_ROW}, e.checksum, x.content, x.data_json, x.ref
    FROM erased_events x JOIN events e ON e.id = x.event WHERE NOT x.is_gone ORDER BY x.event LIMIT ?
"""
_FORGET_KEYS = """
    DELETE FROM keys WHERE id IN (
        SELECT k.id FROM keys k WHERE k.id > :after AND k.id <= :last
        AND (k.agent IN (SELECT id FROM agents WHERE name = '') OR k.about IN (SELECT id FROM agents WHERE name = '')))
"""


class Change(NamedTuple):
    """The new form of an event: other content, or its removal if it ``is_gone``."""

    event: int
    content: str | None = None
    data_json: str | None = None
    ref: str | None = None
    is_gone: bool = False


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


class Decision(NamedTuple):
    """The content of the transaction that decides an erasure.

    Args:
        erasure: its number.
        events: how many events it is about.
        labels: the titles and tags that change.
        keys: the keys that change.
        purged: the rows of agents that are purged.
        milestones: the first event whose milestone, and all later ones, no longer say what the log says.
        key: the idempotency key of a purge.
    """

    erasure: int
    events: int
    labels: Sequence[Labels] = ()
    keys: Sequence[KeptKey] = ()
    purged: Sequence[int] = ()
    milestones: int | None = None
    key: OwnKey | None = None


def hidden(address: str | None) -> str | None:
    """Return what is stored in place of an erased address of an agent: it still tells whether another one equals it."""
    if address is None or address.startswith(_HIDDEN):
        return address
    return f"{_HIDDEN}{blake2b(address.encode(), digest_size=16).hexdigest()}"


@contextmanager
def _transaction(connection: Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def begin(connection: Connection, order: Order, backups: str = "[]") -> int:
    """Begin an erasure, empty so far; return its number.

    Args:
        connection: the writing connection.
        order: who asks for it.
        backups: the paths of the backups in which it is done as well, as JSON.
    """
    values = (*order, STAGED, backups)
    columns = "method, agent, client, time, state, backups, events, newest"
    insert = f"INSERT INTO erasures ({columns}) VALUES (?, ?, ?, ?, ?, ?, 0, 0) RETURNING id"
    (number,) = connection.execute(insert, values).fetchone()
    return int(number)


def stage(connection: Connection, changes: Sequence[Change]) -> None:
    """Write the new form of some events beside the log."""
    with _transaction(connection):
        connection.executemany(
            "INSERT INTO erased_events (event, content, data_json, ref, is_gone) VALUES (?, ?, ?, ?, ?)", changes
        )


def abandon(connection: Connection) -> None:
    """Abandon an erasure that was not decided."""
    with _transaction(connection):
        connection.execute("DELETE FROM erased_events")
        connection.execute("DELETE FROM erasures WHERE state = ?", (STAGED,))


def decide(cursor: Cursor, decision: Decision, newest: int) -> None:
    """Decide an erasure, inside a transaction.

    Args:
        cursor: of the writing connection.
        decision: what is decided.
        newest: the id of the newest event; no later one gets it, even if that one is erased.
    """
    own = decision.key or (None, None, None, None)
    cursor.execute(
        "UPDATE erasures SET state = ?, events = ?, newest = ?, key = ?, digest = ?, address = ?, reply = ?"
        " WHERE id = ?",
        (DECIDED, decision.events, newest, *own, decision.erasure),
    )
    for row, title, tags in decision.labels:
        cursor.execute("UPDATE agents SET title = ?, tags = ? WHERE id = ?", (title, tags, row))
    for key, reply, address in decision.keys:
        cursor.execute("UPDATE keys SET reply = ?, address = ? WHERE id = ?", (reply, address, key))
    purge = "UPDATE agents SET name = '', title = NULL, tags = '{}', killed = coalesce(killed, updated) WHERE id = ?"
    cursor.executemany(purge, [(row,) for row in decision.purged])
    if decision.milestones is not None:
        cursor.execute("DELETE FROM milestones WHERE id >= ?", (decision.milestones,))


def unfinished(connection: Connection) -> set[str]:
    """Return the state of the unfinished erasures: one in progress, and any that left traces."""
    return {state for (state,) in connection.execute("SELECT state FROM erasures WHERE state <> ?", (DONE,))}


def apply(connection: Connection, pack: Pack, limit: int = SLICE) -> bool:
    """Apply a slice of the decided erasure; return whether there is more."""
    with _transaction(connection):
        rows = connection.execute(_NEXT, (limit,)).fetchall()
        for *row, stored, content, data_json, ref in rows:
            made = [*row]
            made[_CONTENT], made[_DATA], made[_REF] = content, data_json, ref
            # Damaged events stay damaged, because their link to the parent may be wrong.
            sealed = checksum(pack, counted(made)) if is_intact(pack, row, stored) else stored
            query = "UPDATE events SET content = ?, data_json = ?, ref = ?, checksum = ? WHERE id = ?"
            connection.execute(query, (content, data_json, ref, sealed, row[0]))
        done = [row[:1] for row in rows]
        if len(done) < limit:
            gone = connection.execute(
                "SELECT event FROM erased_events WHERE is_gone ORDER BY event LIMIT ?", (limit - len(done),)
            ).fetchall()
            connection.executemany("DELETE FROM events WHERE id = ?", gone)
            connection.executemany("DELETE FROM milestones WHERE id = ?", gone)
            done += gone
        connection.executemany("DELETE FROM erased_events WHERE event = ?", done)
        more = len(done) == limit
        if not more:
            connection.execute("UPDATE erasures SET state = ? WHERE state = ?", (APPLIED, DECIDED))
    return more


def forget_keys(connection: Connection, after: int) -> int | None:
    """Delete a slice of the keys of purged agents; return where the next slice begins, ``None`` at the end."""
    (newest,) = connection.execute("SELECT coalesce(max(id), 0) FROM keys").fetchone()
    with _transaction(connection):
        connection.execute(_FORGET_KEYS, {"after": after, "last": after + _KEYS})
    return after + _KEYS if after + _KEYS < newest else None


def forget_agents(connection: Connection) -> None:
    """Delete purged agents that have no events left and are not the source of another agent."""
    with _transaction(connection):
        connection.execute("INSERT INTO purged_agents SELECT uid FROM agents WHERE name = '' ON CONFLICT DO NOTHING")
        # A clone is younger than its source. So the youngest come first, and their sources follow.
        for (row,) in connection.execute("SELECT id FROM agents WHERE name = '' ORDER BY id DESC").fetchall():
            connection.execute(
                "DELETE FROM agents WHERE id = :row AND NOT EXISTS (SELECT 1 FROM events WHERE agent = :row)"
                " AND NOT EXISTS (SELECT 1 FROM agents WHERE source = :row)",
                {"row": row},
            )
            connection.execute(
                "UPDATE agents SET head = (SELECT coalesce(max(place), 0) FROM ("
                "SELECT max(seq) AS place FROM events WHERE agent = :row"
                " UNION ALL SELECT max(source_at) FROM agents WHERE source = :row) AS places) WHERE id = :row",
                {"row": row},
            )


def end(connection: Connection) -> None:
    """Mark decided erasures as done."""
    connection.execute("UPDATE erasures SET state = ?, backups = '[]' WHERE state = ?", (DONE, APPLIED))


def carry_through(connection: Connection, pack: Pack) -> bool:
    """Abandon what was only staged, and complete what was decided; return whether there was any.

    The caller calls :func:`end` when nothing has traces of it.
    """
    found = unfinished(connection)
    if STAGED in found:
        abandon(connection)
    if not found & {DECIDED, APPLIED}:
        return False
    while apply(connection, pack):
        pass
    after: int | None = 0
    while after is not None:
        after = forget_keys(connection, after)
    forget_agents(connection)
    return True


def newest(connection: Connection) -> int:
    """Return the largest id that an event ever had."""
    query = (
        "SELECT coalesce(max(id), 0) FROM ("
        "SELECT max(id) AS id FROM events UNION ALL SELECT max(newest) FROM erasures) AS ids"
    )
    return int(connection.execute(query).fetchone()[0])


def first_reply(connection: Connection, key: str) -> tuple[Any, ...] | None:
    """Return the digest, the reply, the address and the agent of the purge that a key was used for."""
    found = connection.execute("SELECT digest, reply, address, agent FROM erasures WHERE key = ?", (key,)).fetchone()
    return None if found is None else tuple(found)

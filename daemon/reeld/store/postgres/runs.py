"""Where the log goes on after the server was started, and after it came back with less than it had acknowledged.

The table of runs has a row for each start of the server. A start may have lost what the server had acknowledged: the
daemon that sees it first cannot know what others had seen, and whether they will tell. So ids go on far above all that
it knows itself (``SKIP``): no id is ever used for two events, by whichever daemon. Ids between ``survivor`` and
``first`` of a row are of lost events, or were never used.

A daemon finds out that events are gone when the newest one that it knows is not in the log. It then writes an event of
the kind ``lost`` to each agent that has lost some, as far as it knows. The seq of this event is above all known ones,
so that no seq means two events to a client, either; its data says which seqs are gone. Another daemon may have
acknowledged a few more for the same agent, so some seqs are left out as well (``UNUSED``).
"""

import json
import time
from collections.abc import Iterable, Sequence
from typing import Any

import psycopg

from reel.base.light_typing import NamedTuple
from reeld.core.events import UNUSED, Pack, data_of
from reeld.core.tree import tip_after
from reeld.store.checksums import checksum
from reeld.store.connection import Numbers
from reeld.store.loss import NOTHING, Known, LostAgent
from reeld.store.postgres.connection import ServerConnection
from reeld.store.postgres.heads import Head
from reeld.store.queries import IS_KNOWN

# How many ids are left out.
SKIP = 1 << 20
# How many numbers of daemons: the server may have forgotten that it gave the next ones.
_DAEMONS = 64
# A server has a new start after each crash, promotion and restore.
_LOOK = f"""
    SELECT {IS_KNOWN.replace("?", "%s")},
        (SELECT server FROM runs ORDER BY first DESC LIMIT 1),
        (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint::text
"""  # noqa: S608 - a constant
_LEAVE_OUT_DAEMONS = "SELECT max(nextval('daemons')) FROM generate_series(1, %s)"
_BEGIN = "INSERT INTO runs (first, survivor, server, lost, time) VALUES (%s, %s, %s, %s, %s)"
_COVERING = "SELECT first, survivor FROM runs WHERE survivor < %s AND first > %s ORDER BY first LIMIT 1"
_SURVIVOR = "SELECT coalesce(max(id), 0) FROM events WHERE id < %s"
_NEWEST = "SELECT id, agent, seq, time FROM events ORDER BY id DESC LIMIT 1"
# The agents that are left, with their newest event, the newest seq that has survived, and the newest event that says
# what is lost.
_LEFT = """
    SELECT a.id, a.uid, a.head, e.id, e.kind, e.parent, coalesce(survivor.seq, 0), (
        SELECT data_json FROM events m
        WHERE m.agent = a.id AND m.seq > coalesce(survivor.seq, 0) AND m.kind = 'lost' ORDER BY m.seq DESC LIMIT 1
    )
    FROM agents a JOIN events e ON e.agent = a.id AND e.seq = a.head,
        LATERAL (SELECT max(seq) AS seq FROM events s WHERE s.agent = a.id AND s.id <= %s) AS survivor
    WHERE a.id = ANY(%s) AND a.name <> '' ORDER BY a.id
"""


class Look(NamedTuple):
    """What a look at the log says.

    Args:
        is_known: whether the log has the newest event that the daemon knows.
        recorded: the start of the server in the newest row; ``None`` if there is none.
        server: the start of this server.
    """

    is_known: bool
    recorded: str | None
    server: str

    @property
    def is_new(self) -> bool:
        """Whether the server was started since anybody wrote."""
        return self.recorded != self.server


def ask(connection: ServerConnection, known: Known) -> "psycopg.Cursor[Any]":
    """Look whether the log has an event; may be used in a pipeline. Its row is a :class:`Look`."""
    return connection.send(_LOOK, (known.id, *known, known.id))


def begin(connection: ServerConnection, newest: int, used: int, look: Look) -> int:
    """Begin a run while holding the lock of the log; return the id after which the log goes on.

    Args:
        connection: the writing connection.
        newest: the newest id of the log.
        used: the largest id that is known to have been used.
        look: what was found.
    """
    return _begin(connection, newest, used, look.server, survivor=newest, lost=0, skip=SKIP if look.recorded else 0)


def _begin(
    connection: ServerConnection, newest: int, used: int, server: str, *, survivor: int, lost: int, skip: int
) -> int:
    after = max(newest, used) + skip
    connection.send(_BEGIN, (after + 1, survivor, server, lost, time.time_ns() // 1_000_000))
    connection.send("UPDATE log SET newest = %s", (after,))
    connection.send(_LEAVE_OUT_DAEMONS, (_DAEMONS,))
    return after


class LeftOut(NamedTuple):
    """Ids that were never used: those after one id, up to another one."""

    after: int
    last: int


class Found(NamedTuple):
    """What a daemon found out about a loss.

    Args:
        survivor: the newest event that has survived.
        lost: how many events are gone.
        first: the id from which on the log has events that were written since.
        newest: the id after which the log goes on.
    """

    survivor: int
    lost: int
    first: int
    newest: int


def note_loss(
    connection: ServerConnection, newest: int, used: int, known: Known, look: Look, left_out: Sequence[LeftOut]
) -> Found:
    """Record a loss while holding the lock of the log, unless another daemon has.

    Args:
        connection: the writing connection.
        newest: the newest id of the log.
        used: the largest id that is known to have been used.
        known: the event that is gone.
        look: what was found.
        left_out: ids that are known to have been left out.
    """
    covering = connection.send(_COVERING, (known.id, known.id)).fetchone()
    survivor = covering[1] if covering else connection.send(_SURVIVOR, (known.id,)).fetchone()[0]  # type: ignore[index]
    lost = known.id - survivor - sum(last - after for after, last in left_out if survivor <= after and last < known.id)
    if covering is None:
        newest = _begin(connection, newest, used, look.server, survivor=survivor, lost=lost, skip=SKIP)
        return Found(survivor, lost, newest + 1, newest)
    connection.send("UPDATE runs SET lost = greatest(lost, %s) WHERE first = %s", (lost, covering[0]))
    if look.is_new:
        newest = begin(connection, newest, used, look)
    return Found(survivor, lost, covering[0], newest)


class Markers(NamedTuple):
    """The events that say what agents have lost.

    Args:
        events: their values, one row after the other.
        heads: the heads that the agents get.
        next_id: the id after the last of them.
    """

    events: list[Any]
    heads: list[int]
    next_id: int


def mark(connection: ServerConnection, found: Found, lost: Iterable[Head], pack: Pack) -> Markers:
    """Return an event for each agent that has lost some and does not say so yet.

    Args:
        connection: the writing connection.
        found: the loss.
        lost: what is known of the agents that have lost some.
        pack: encodes a value as MessagePack.
    """
    heads = {head.row: head for head in lost}
    made = Markers([], [], found.newest + 1)
    now = time.time_ns() // 1_000_000
    for row, uid, head, *newest, survivor, said in connection.send(_LEFT, (found.survivor, Numbers(heads))).fetchall():
        known = heads[row]
        if known.uid != uid or (said is not None and data_of(said).get("to", 0) >= known.seq):
            continue
        seq = max(head, known.seq + UNUSED) + 1
        data = json.dumps({"from": survivor + 1, "to": known.seq}, separators=(",", ":"))
        event = (made.next_id, row, seq, seq, "lost", None, data, tip_after(*newest), None, now)
        made = made._replace(next_id=made.next_id + 1)
        made.events.extend((*event, checksum(pack, event)))
        made.heads.extend((row, seq, now))
    return made


def newest_known(connection: ServerConnection) -> Known:
    """Return the newest event of the log."""
    found = connection.send(_NEWEST).fetchone()
    return Known(*found) if found else NOTHING


def agents_of(heads: Iterable[Head]) -> list[LostAgent]:
    """Return the agents that have lost events."""
    return [LostAgent(head.row, head.uid, head.seq) for head in heads]

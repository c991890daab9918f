"""Check agents, their logs and the keys, a slice at a time: jobs for a reading connection.

No read transaction is longer than a slice, because a checkpoint cannot pass a reader in the WAL.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Any

from reel.wire.msgpack_codec import packer, unpack
from reeld.core.conversation import Conversation
from reeld.core.events import Mark, Pack, label_of
from reeld.core.reading import Reader
from reeld.core.state import Profile
from reeld.core.tree import tip_after
from reeld.store.checksums import EVENT_COLUMNS, SEQ, is_intact
from reeld.store.connection import Connection, DatabaseError
from reeld.store.erasures import STATES
from reeld.store.history import ascending
from reeld.store.positions import position
from reeld.store.purging import was_purged
from reeld.store.sealed import ERASURE, is_unchanged
from reeld.store.states import SqlLog
from reeld.verify.rows import AgentRow, EventRow, Problem, Report, check_agent
from reeld.verify.rules import LogValidator, StoredPrompt

# The duration of a slice in seconds.
SLICE = 0.01
# Smaller than every seq, even an invalid one.
_LOWEST = -(1 << 63)

# The plus keeps SQLite from using the unique index of live names, which never returns a name twice.
_AGENT = """
    SELECT a.id, a.uid, a.name, a.title, a.tags, a.source, a.source_at, a.killed, a.head, s.uid, s.head,
        (SELECT max(seq) FROM events WHERE agent = a.id),
        (SELECT count(*) FROM agents n WHERE n.name = a.name AND +n.killed IS NULL)
    FROM agents a LEFT JOIN agents s ON s.id = a.source
    WHERE a.id > :row AND (CAST(:only AS BIGINT) IS NULL OR a.id = :only) ORDER BY a.id LIMIT 1
"""
_EVENTS = f"""
    SELECT {EVENT_COLUMNS}, p.kind
    FROM events e LEFT JOIN events p ON p.id = e.parent
    WHERE e.agent = ? AND e.seq > ? AND e.seq <= ? ORDER BY e.seq
"""
_MARKS = """
    WITH RECURSIVE path (id, seq, kind, data_json, parent) AS (
        SELECT id, seq, kind, data_json, parent FROM events WHERE id = :tip
        UNION ALL
        SELECT e.id, e.seq, e.kind, e.data_json, e.parent
        FROM path JOIN events e ON e.id = path.parent AND e.id < path.id WHERE path.seq > :seq
    )
    SELECT id, seq, data_json FROM path WHERE kind = 'mark' AND seq >= :seq
"""
_PARENT = """
    WITH RECURSIVE path (id, seq, kind, parent) AS (
        SELECT id, seq, kind, parent FROM events WHERE id = :tip
        UNION ALL
        SELECT e.id, e.seq, e.kind, e.parent
        FROM path JOIN events e ON e.id = path.parent AND e.id < path.id WHERE path.seq > :seq
    )
    SELECT parent FROM path WHERE kind <> 'mark' AND seq = :seq
"""
_PROMPT = """
    WITH RECURSIVE path (id, kind, parent) AS (
        SELECT id, kind, parent FROM events WHERE id = ?
        UNION ALL
        SELECT e.id, e.kind, e.parent
        FROM path JOIN events e ON e.id = path.parent AND e.id < path.id WHERE path.kind <> 'system'
    )
    SELECT e.content, e.data_json FROM path JOIN events e ON e.id = path.id WHERE path.kind = 'system'
"""
_MILESTONES = "SELECT id FROM milestones WHERE id > ? ORDER BY id"
_KEYS = """
    SELECT k.id, k.key, k.agent, k.command, k.digest, k.reply, k.address, k.about, k.checksum, a.uid, a.name, e.command
    FROM keys k LEFT JOIN agents a ON a.id = k.agent
    LEFT JOIN events e ON e.agent = k.agent AND e.seq = k.command
    WHERE k.id > ? ORDER BY k.id
"""
_ERASURES = f"SELECT {', '.join(ERASURE)}, state, checksum FROM erasures WHERE id > ? ORDER BY id"


class _SqlLookup:
    """Answers the validator's questions about the log with queries."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def row_of(self, uid: str) -> int | None:
        found = self._connection.execute("SELECT id FROM agents WHERE uid = ?", (uid,)).fetchone()
        return None if found is None else int(found[0])

    def has_redactions(self) -> bool:
        query = "SELECT 1 FROM erasures WHERE method <> 'purge' LIMIT 1"
        return self._connection.execute(query).fetchone() is not None

    def was_purged(self, uid: str) -> bool:
        return was_purged(self._connection, uid)

    def position(self, row: int, at: int) -> tuple[int, int | None]:
        return position(self._connection, row, at)

    def begins(self, row: int, seq: int) -> bool:
        query = "SELECT 1 FROM events WHERE agent = ? AND seq = ? AND command = seq"
        return self._connection.execute(query, (row, seq)).fetchone() is not None

    def marks(self, tip: int | None, seq: int) -> list[Mark]:
        rows = self._connection.execute(_MARKS, {"tip": tip, "seq": seq})
        return [Mark(event_id, seq, label_of(data_json)) for event_id, seq, data_json in rows]

    def prompt(self, tip: int | None) -> StoredPrompt | None:
        found = self._connection.execute(_PROMPT, (tip,)).fetchone()
        return None if found is None else StoredPrompt(*found)

    def parents(self, tip: int | None, seq: int) -> list[int | None]:
        return [parent for (parent,) in self._connection.execute(_PARENT, {"tip": tip, "seq": seq})]


class LogChecker:
    """Checks agents and their logs, and then the keys.

    Args:
        row: the only agent to check; ``None`` for all.
    """

    def __init__(self, report: Report, row: int | None = None) -> None:
        self._report = report
        self._only = row
        self._pack = packer()
        # Progress: agents up to this row, and rows of the table that is being checked up to this one.
        self._row = 0 if row is None else row - 1
        self._place = 0
        # When the slice is over.
        self._until = 0.0
        # The agent whose log is being checked, and the seq up to which it has been.
        self._validator: LogValidator | None = None
        self._seq = _LOWEST
        self._steps: list[Callable[[Connection], bool]] = [self._agents, partial(self._rows, _KEYS, self._key)]
        if row is None:
            self._steps.append(partial(self._rows, _ERASURES, self._erasure))
            self._steps.append(partial(self._rows, _MILESTONES, self._milestone))

    def work(self, connection: Connection) -> bool:
        """Work for one slice; return whether there is more to do."""
        self._until = time.monotonic() + SLICE
        try:
            more = self._steps[0](connection)
        except DatabaseError as error:
            more = self._pass_over(error)
        if not more:
            del self._steps[0]
            self._place = 0
        return bool(self._steps)

    def _pass_over(self, error: DatabaseError) -> bool:
        """Report unreadable data; continue with the next agent if there is one."""
        agent = None if self._validator is None else self._validator.agent
        self._note([Problem("unreadable", str(error))], agent)
        self._validator = None
        return agent is not None and self._only is None

    def _note(self, problems: Iterable[Problem], agent: AgentRow | None) -> None:
        if agent is None:
            self._report.note(problems)
        else:
            self._report.note(problems, agent.uid, agent.name)

    def _agents(self, connection: Connection) -> bool:
        while True:
            if self._validator is None:
                self._validator = self._next(connection)
            if self._validator is None:
                return False
            if self._check_events(connection, self._validator):
                self._note(self._validator.end(), self._validator.agent)
                self._validator = None
            if time.monotonic() >= self._until:
                return True

    def _next(self, connection: Connection) -> LogValidator | None:
        rows = connection.execute(_AGENT, {"row": self._row, "only": self._only}).fetchall()
        if not rows:
            return None
        (found,) = ascending(rows, 0, self._row)
        agent = AgentRow(*found)
        self._row = agent.row
        self._seq = _LOWEST
        self._report.agents += not agent.is_purged
        self._note(check_agent(agent), agent)
        return LogValidator(agent, _SqlLookup(connection))

    def _check_events(self, connection: Connection, validator: LogValidator) -> bool:
        """Check events until the slice is over; return whether these were the last."""
        # Events written after the start are not checked: with a busy agent, the check would never end.
        with closing(
            connection.execute(_EVENTS, (validator.agent.row, self._seq, validator.agent.newest or 0))
        ) as rows:
            for *row, stored, parent_kind in ascending(rows, SEQ, self._seq):
                event_id, agent, seq, command, kind, content, data_json, parent, _, written, *_ = row
                if agent != validator.agent.row:
                    raise DatabaseError(f"the index has an event of the agent {agent} among those of this one")
                sound = is_intact(self._pack, row, stored)
                event = EventRow(
                    event_id, seq, command, kind, content, data_json, parent, written, parent_kind, is_intact=sound
                )
                self._note(validator.check(event), validator.agent)
                self._seq = event.seq
                self._report.events += 1
                if time.monotonic() >= self._until:
                    return False
        return True

    def _rows(self, query: str, check: Callable[[Connection, Sequence[Any]], None], connection: Connection) -> bool:
        """Check rows of a table after the last one until the slice is over; return whether there are more."""
        with closing(connection.execute(query, (self._place,))) as rows:
            for row in ascending(rows, 0, self._place):
                self._place = row[0]
                check(connection, row)
                if time.monotonic() >= self._until:
                    return True
        return False

    def _key(self, _: Connection, found: Sequence[Any]) -> None:
        _, *columns, stored, uid, name, begins = found
        key, row, command, digest, reply, _, _ = columns
        if self._only in (None, row):
            self._report.note(_check_key(key, command, len(digest or b""), reply, uid, begins), uid, name)
            if not is_unchanged(self._pack, columns, stored):
                self._report.note([Problem("key", f"{key}: it is not what was written")], uid, name)

    def _erasure(self, _: Connection, found: Sequence[Any]) -> None:
        *columns, state, stored = found
        number, method = columns[:2]
        if state not in STATES or not is_unchanged(self._pack, columns, stored):
            self._report.note([Problem("erasure", f"the {method} with the number {number} is not what was written")])

    def _milestone(self, connection: Connection, found: Sequence[Any]) -> None:
        self._report.note(_check_milestone(connection, found[0], self._pack))


def _check_milestone(connection: Connection, place: int, pack: Pack) -> Iterator[Problem]:
    """Yield the problem of a milestone: it is damaged, or differs from the state that its events produce."""
    remedy = "reel replay makes it again"
    log = SqlLog(connection, pack)
    found = log.milestone(place)
    if found is None:
        yield Problem("milestone", f"the milestone is not what was written; {remedy}", event_id=place)
        return
    expected = Reader(log).recomputed(found)
    if expected != found and not log.skipped:  # damage is reported as such
        yield Problem("milestone", f"the milestone is not what the events say; {remedy}", event_id=place)


def _check_key(
    key: str, command: int, digest: int, reply: bytes, uid: str | None, begins: int | None
) -> Iterator[Problem]:
    if uid is None:
        yield Problem("key", f"{key}: its agent does not exist")
    elif begins != command:
        yield Problem("key", f"{key}: no command begins at {command}")
    if digest != 16:  # noqa: PLR2004 - as reeld.agents.idempotency makes them
        yield Problem("key", f"{key}: its digest has {digest} bytes")
    try:
        first = unpack(reply)
    except Exception as error:  # msgpack has no base class for its errors
        yield Problem("key", f"{key}: its reply cannot be read: {error or type(error).__name__}")
        return
    if not isinstance(first, dict) or first.get("command") != command:
        yield Problem("key", f"{key}: its reply is not that of the command {command}")


def compare_live_state(connection: Connection, profile: Profile, live: Conversation, pack: Pack) -> list[Problem]:
    """Compare a live state with the log at the same seq.

    Args:
        profile: the agent when its state was copied.
        live: the copy.
    """
    last = connection.execute(
        "SELECT id, kind, parent FROM events WHERE agent = ? AND seq = ?", (profile.row, profile.head)
    ).fetchone()
    if last is None:
        return [Problem("living", f"the running agent is at {profile.head}, but its log has no such event")]
    logged, _ = Reader(SqlLog(connection, pack)).state(tip_after(*last))
    if logged != live:
        return [Problem("living", "the running state is not what its log says")]
    stored = connection.execute("SELECT head, name, title, killed FROM agents WHERE id = ?", (profile.row,)).fetchone()
    if stored[0] == profile.head and stored[1:] != (profile.name, profile.title, profile.killed):
        return [Problem("living", "the live agent's name, title or killed time differs from its row")]
    return []

"""The transactions: jobs for the writing connection."""

import json
import sqlite3
from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

from reel.errors import Exists, Internal, ReelError, Storage
from reeld.core.state import Profile
from reeld.store.units import Part, Unit

# Rows that one statement writes. Each step of a statement lets other threads run and then has to wait for its
# turn again; beside a busy event loop that costs more than the row.
_SIZES = (128, 32, 8, 1)


class _Many:
    """A statement over a number of rows: one text for each of a few sizes."""

    def __init__(self, before: str, columns: int, after: str = "") -> None:
        row = f"({', '.join('?' * columns)})"
        self._texts = [(size, f"{before} VALUES {', '.join([row] * size)}{after}") for size in _SIZES]

    def write(self, cursor: sqlite3.Cursor, rows: Sequence[Sequence[Any]]) -> None:
        """Write all rows, in order."""
        done = 0
        for size, text in self._texts:
            while len(rows) - done >= size:
                cursor.execute(text, list(chain.from_iterable(rows[done : done + size])))
                done += size


_EVENTS = _Many(
    "INSERT INTO events (id, agent, seq, command, kind, content, data_json, parent, client, time)", columns=10
)
_KEYS = _Many("INSERT INTO keys (key, agent, command, digest, reply, address, about)", columns=7)
_HEADS = _Many(
    "WITH news (agent, head, time) AS (",
    3,
    ") UPDATE agents SET head = news.head, updated = news.time FROM news WHERE id = news.agent",
)
_PROFILE = "UPDATE agents SET head = ?, updated = ?, name = ?, title = ?, tags = ?, killed = ? WHERE id = ?"
_AGENT = (
    "INSERT INTO agents (id, uid, name, title, tags, source, source_at, created, updated, killed, head)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, ?)"
)

# What a unit may fail with; the last two: it holds a value that cannot be bound. All else is a bug of the writer.
_FAULTS = (sqlite3.Error, UnicodeError, OverflowError)


class KeyTakenError(ReelError):
    """A command with this key has been carried out; never sent: its first reply is looked up instead."""


class DivergedError(Exception):
    """The log has what a living state knows nothing of."""


# A transaction of so many takes some twenty milliseconds.
_FORGOTTEN_AT_ONCE = 1000

# The id of the first event of each part, or why the unit was not written.
Outcome: TypeAlias = list[int] | ReelError | DivergedError


class InDoubtError(sqlite3.OperationalError):
    """A commit was written, but neither synced nor written over: a crash may bring it back."""


class Log:
    """The end of the log; only jobs of the writing connection touch it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM events").fetchone()
        (given,) = connection.execute(
            "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'events'"
        ).fetchone()
        self.next_id: int = max(last, given) + 1

    def commit(self, connection: sqlite3.Connection, units: Sequence[Unit]) -> list[Outcome]:
        """Write units in one transaction; where it fails, each in its own, so that only the guilty one fails."""
        try:
            return list(self._transaction(connection, units))
        except _FAULTS as error:
            if len(units) == 1 or _is_nobodys_fault(error):
                return [explain(error) for _ in units]
        return [self._alone(connection, unit) for unit in units]

    def _alone(self, connection: sqlite3.Connection, unit: Unit) -> Outcome:
        try:
            return self._transaction(connection, [unit])[0]
        except _FAULTS as error:
            return explain(error)

    def _transaction(self, connection: sqlite3.Connection, units: Sequence[Unit]) -> list[list[int]]:
        next_id = self.next_id
        firsts: list[list[int]] = []
        events: list[tuple[Any, ...]] = []
        for unit in units:
            firsts.append([])
            for part in unit.parts:
                firsts[-1].append(next_id)
                _lay_out(part, next_id, events)
                next_id += len(part.drafts)
        cursor = connection.cursor()
        cursor.execute("BEGIN IMMEDIATE")
        try:
            _write_agents(cursor, units)
            _EVENTS.write(cursor, events)
            _KEYS.write(cursor, [key for unit in units for key in unit.keys])
            cursor.execute("COMMIT")
        except BaseException as error:
            if connection.in_transaction:
                cursor.execute("ROLLBACK")
            if _code(error) == sqlite3.SQLITE_IOERR_FSYNC and not _write_over(connection):
                raise InDoubtError(str(error)) from error
            raise
        self.next_id = next_id
        return firsts


def _code(error: BaseException) -> int:
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK)


def _is_nobodys_fault(error: Exception) -> bool:
    """Whether no unit would fare better alone."""
    return isinstance(error, InDoubtError) or _code(error) & 0xFF == sqlite3.SQLITE_BUSY


def _write_over(connection: sqlite3.Connection) -> bool:
    """Commit a change of nothing in the place of a commit that was not synced; tell whether that one is gone.

    SQLite has rolled it back and forgotten where it ended, but all of it stands in the WAL: whoever opened the file
    after a crash would take it for good.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    try:
        connection.execute(f"PRAGMA user_version = {version}")
    except sqlite3.Error:
        return False
    return True


def _lay_out(part: Part, first: int, events: list[tuple[Any, ...]]) -> None:
    agent = part.profile.row
    for event_id, draft in enumerate(part.drafts, first):
        parent = draft.parent
        if parent is not None and parent < 0:
            parent = first + ~parent
        events.append(
            (
                event_id,
                agent,
                draft.seq,
                draft.command,
                draft.kind,
                draft.content,
                draft.data_json,
                parent,
                draft.client,
                draft.time,
            )
        )


def _write_agents(cursor: sqlite3.Cursor, units: Sequence[Unit]) -> None:
    heads = []
    for unit in units:
        for part in unit.parts:
            profile = part.profile
            if part.new:
                cursor.execute(_AGENT, _new_row(profile))
            elif part.changed:
                cursor.execute(_PROFILE, _changed_row(profile))
            else:
                heads.append((profile.row, profile.head, profile.updated))
    _HEADS.write(cursor, heads)


def _new_row(profile: Profile) -> tuple[Any, ...]:
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


def _changed_row(profile: Profile) -> tuple[Any, ...]:
    tags = json.dumps(profile.tags, ensure_ascii=False)
    return (profile.head, profile.updated, profile.name, profile.title, tags, profile.killed, profile.row)


def explain(error: Exception) -> ReelError | DivergedError:
    """Say what a failed commit means to who asked for it."""
    text = str(error)
    if isinstance(error, InDoubtError):
        return Internal(
            f"nobody knows whether this is written: {text}; look when the disk works, or repeat it by its key"
        )
    if isinstance(error, sqlite3.IntegrityError):
        if "keys.key" in text:
            return KeyTakenError(text)
        if "agents.name" in text:
            return Exists("a living agent has this name; choose another, or kill that one first")
        if "events.agent" in text:
            return DivergedError(text)
    return Storage(f"nothing was written: {text}")


class Wal(NamedTuple):
    """The frames in the WAL, and how many of them are not in the file yet."""

    frames: int
    left: int


def checkpoint(connection: sqlite3.Connection) -> Wal:
    """Copy the WAL into the file as far as no reader is in the way.

    Passive and without truncation: a WAL that is written over commits faster than one that grows. It is written
    over from its beginning if all of it has been copied and nobody reads in it when the next commit comes.
    """
    _busy, frames, done = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    return Wal(int(frames), int(frames) - int(done))


def restart_wal(connection: sqlite3.Connection, patience: int) -> bool:
    """Wait until nobody reads in the WAL any more, so that it is written over; tell whether that came about.

    Args:
        connection: where to.
        patience: how long to wait for readers, in milliseconds; nothing is committed meanwhile.
    """
    (before,) = connection.execute("PRAGMA busy_timeout").fetchone()
    connection.execute(f"PRAGMA busy_timeout = {patience}")
    try:
        busy, *_ = connection.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()
    finally:
        connection.execute(f"PRAGMA busy_timeout = {before}")
    return not busy


def forget_keys(connection: sqlite3.Connection, keep: int) -> bool:
    """Forget some of the oldest keys, and return whether there are more to forget.

    Age is counted in later keys, never in time: one look at a wall clock that has jumped would forget keys whose
    commands may be repeated at any moment.

    Args:
        connection: the writing connection.
        keep: how many of the newest keys stay.
    """
    done = connection.execute(
        "DELETE FROM keys WHERE id IN ("
        "SELECT id FROM keys WHERE id <= (SELECT max(id) FROM keys) - ? ORDER BY id LIMIT ?)",
        (keep, _FORGOTTEN_AT_ONCE),
    ).rowcount
    return done == _FORGOTTEN_AT_ONCE

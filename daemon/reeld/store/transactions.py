"""The transactions: jobs for the writing connection.

All queued transactions are written in one SQLite transaction. If that fails, each is written by itself, so that only
the guilty one fails.
"""

import sqlite3
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from operator import attrgetter
from typing import Any, TypeAlias

from reel.base.errors import ReelError
from reel.base.light_typing import NamedTuple
from reel.base.values import new_tuple
from reel.wire.msgpack_codec import LastingPacker, packer
from reeld.core.events import Event, Pack
from reeld.core.milestones import Milestone
from reeld.core.state import Profile
from reeld.store import event_rows
from reeld.store.checksums import checksum
from reeld.store.commit_faults import FAULTS, DivergedError, InDoubtError, explain
from reeld.store.connection import Connection, Cursor
from reeld.store.erasures import Decision, decide, newest
from reeld.store.failures import COMMITS, Failures
from reeld.store.loss import NOTHING, Loss
from reeld.store.milestones import write_milestones


class Key(NamedTuple):
    """A command's idempotency key, the digest of its parameters, and the reply to repeat.

    ``agent`` is the row of the agent whose log has the command, and ``about`` that of the agent that the command named
    by ``address``: a clone names its source.
    """

    key: str
    agent: int
    command: int
    digest: bytes
    reply: bytes
    address: str | None
    about: int


class Values(NamedTuple):
    """The bound values of events; those of events with an origin are separate.

    They contain the ids of the events, from ``first`` on.
    """

    first: int
    plain: list[Any]
    wide: list[Any]


class AgentWrite(NamedTuple):
    """The new events of one agent, and its profile after them; ``new`` if the agent is new."""

    profile: Profile
    events: list[Event]
    new: bool = False
    # Whether the profile changed besides its head and time: name, title, tags, or whether it is killed.
    changed: bool = False
    # The prebuilt values of the events, if any; they are built again if the ids in them do not come next.
    values: Values | None = None


class Family(NamedTuple):
    """The clones of an agent, recursively, and whether each is alive."""

    root: int
    clones: dict[int, bool]


class Transaction(NamedTuple):
    """One or several commands that succeed or fail together."""

    parts: list[AgentWrite]
    keys: list[Key]
    milestones: Sequence[Milestone] = ()
    # Written and synced even if it is empty, whatever the durability: its outcome proves that the disk responds.
    is_probe: bool = False
    # The erasure that it decides.
    decision: Decision | None = None
    # What must not have changed since it was staged, besides the agents that it writes to: other agents, and a family.
    # Only other daemons can change these meanwhile.
    reads: frozenset[int] = frozenset()
    family: Family | None = None

    @property
    def is_look(self) -> bool:
        """Whether it writes nothing and depends on nothing: it only looks what is new."""
        return self == Transaction([], [])


_is_probe = attrgetter("is_probe")
_REST_OF_WRITE = tuple(AgentWrite._field_defaults.values())
_REST_OF_TRANSACTION = tuple(Transaction._field_defaults.values())


def one_write(profile: Profile, events: list[Event], keys: list[Key]) -> Transaction:
    """Return a transaction of one agent's new events and no more, as nearly all are, in half the usual time."""
    write = new_tuple(AgentWrite, (profile, events, *_REST_OF_WRITE))
    return new_tuple(Transaction, ([write], keys, *_REST_OF_TRANSACTION))


def spared(transaction: Transaction) -> int:
    """Return how many ids before those in a transaction's prebuilt values may be left unused for ever.

    They are for what others write while the values are built in a thread. If too few are spared, the values are built a
    second time at the commit; if too many, no event ever has the rest: at most a hundredth of the ids is lost.
    """
    return sum(len(part.events) for part in transaction.parts) // 100


def prepared(transaction: Transaction, first: int) -> Transaction:
    """Return a transaction with prebuilt values of its events, whose ids begin with ``first``.

    They are used if others have left these ids free until the commit, but not many before them: see :func:`spared`.
    """
    pack, parts = packer(), []
    for part in transaction.parts:
        values = Values(first, [], [])
        event_rows.event_values(part.profile.row, part.events, first, values.plain, values.wide, pack)
        parts.append(part._replace(values=values))
        first += len(part.events)
    return transaction._replace(parts=parts)


# How long a commit waits for another process that has locked the file, as Python's sqlite3 sets it.
_WAIT = "PRAGMA busy_timeout = 5000"
# Deleting this many keys takes about 20 ms.
_FORGOTTEN_AT_ONCE = 1000

# The id of the first event of each agent's write, or why the transaction was not written.
Outcome: TypeAlias = list[int] | ReelError | DivergedError


class EventWriter:
    """Writes events, and assigns their ids; only jobs of the writing connection use it.

    Args:
        database: what the log calls the database.
    """

    # Whether some ids before those in prebuilt values may stay unused for ever.
    _may_leave_out_ids = True

    def __init__(self, connection: Connection, database: str) -> None:
        self.next_id: int = newest(connection) + 1
        # The newest event that is known of a log on a server.
        self.known = NOTHING
        # How many events were written since the last call of `take_written`, and the characters of their texts.
        self._written = 0
        self._size = 0
        # Seconds that COMMITs took since the last call of `take_synced`, also those that failed.
        self._synced_in = 0.0
        self.failures = Failures(COMMITS, database)
        self._packer = LastingPacker()

    def commit(self, connection: sqlite3.Connection, transactions: Sequence[Transaction]) -> list[Outcome]:
        """Write transactions together; if that fails, each by itself, so that only the guilty one fails."""
        if any(map(_is_probe, transactions)):
            with _syncing(connection):
                return self._commit(connection, transactions)
        return self._commit(connection, transactions)

    def commit_at_once(
        self, connection: sqlite3.Connection, transactions: Sequence[Transaction]
    ) -> list[Outcome] | None:
        """Write transactions as :meth:`commit` does, or return ``None`` if another process has locked the file.

        It waits for no lock, so that it may run in the event loop's thread.
        """
        cursor = connection.cursor()
        cursor.execute("PRAGMA busy_timeout = 0")
        try:
            cursor.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:  # whatever it is, the connection's thread meets it as well
            return None
        finally:
            cursor.execute(_WAIT)
        return self.commit(connection, transactions)

    def _commit(self, connection: sqlite3.Connection, transactions: Sequence[Transaction]) -> list[Outcome]:
        try:
            return list(self._transaction(connection, transactions))
        except FAULTS as error:
            if len(transactions) == 1 or _is_environmental(error):
                self._note(error)
                return [explain(error) for _ in transactions]
        return [self._alone(connection, transaction) for transaction in transactions]

    def take_written(self) -> tuple[int, int]:
        """Return how many events were written since the last call, and how many characters their texts have."""
        written, size, self._written, self._size = self._written, self._size, 0, 0
        return written, size

    def take_synced(self) -> float:
        """Return how many seconds COMMITs took since the last call, nearly all of them for the sync."""
        seconds, self._synced_in = self._synced_in, 0.0
        return seconds

    def take_moved(self) -> frozenset[int]:
        """Return the agents to which others have written since the last call: none, because a file has one writer."""
        return frozenset()

    def take_loss(self) -> Loss | None:
        """Return a loss that was found out since the last call: none, because a file is not lost in part."""
        return None

    def _alone(self, connection: sqlite3.Connection, transaction: Transaction) -> Outcome:
        try:
            return self._transaction(connection, [transaction])[0]
        except FAULTS as error:
            self._note(error)
            return explain(error)

    def _note(self, error: Exception) -> None:
        """Note that a commit failed, unless the transaction is to blame."""
        if isinstance(error, sqlite3.OperationalError) or type(error) is sqlite3.DatabaseError:
            self.failures.failed(str(explain(error)))

    def _transaction(self, connection: sqlite3.Connection, transactions: Sequence[Transaction]) -> list[list[int]]:
        values: list[Any] = []
        wide: list[Any] = []
        firsts, next_id = self._draft(transactions, self.next_id, values, wide)
        cursor = connection.cursor()
        if not connection.in_transaction:
            cursor.execute("BEGIN IMMEDIATE")
        try:
            self._write(cursor, transactions, values, wide, next_id - 1)
            if any(map(_is_probe, transactions)):
                _rewrite_header(connection)
            began = time.perf_counter()
            try:
                cursor.execute("COMMIT")
            finally:
                self._synced_in += time.perf_counter() - began
        except BaseException as error:
            if connection.in_transaction:
                cursor.execute("ROLLBACK")
            if _code(error) == sqlite3.SQLITE_IOERR_FSYNC and not _overwrite_unsynced(connection):
                raise InDoubtError(str(error)) from error
            raise
        self.next_id = next_id
        with suppress(MemoryError):  # it is written, whether it is counted or not
            self._count(values, wide)
        return firsts

    def _draft(
        self, transactions: Sequence[Transaction], next_id: int, values: list[Any], wide: list[Any]
    ) -> tuple[list[list[int]], int]:
        """Append the values of the events to lists; return the first id of each part, and the id after the last."""
        firsts: list[list[int]] = []
        for transaction in transactions:
            firsts.append([])
            for part in transaction.parts:
                made = part.values
                if made is not None and self._may_follow(made.first - next_id, transaction):
                    next_id = made.first
                    values += made.plain
                    wide += made.wide
                else:
                    event_rows.event_values(part.profile.row, part.events, next_id, values, wide, self._packer.pack)
                firsts[-1].append(next_id)
                next_id += len(part.events)
        return firsts, next_id

    def _may_follow(self, gap: int, transaction: Transaction) -> bool:
        """Return whether the prebuilt values of a transaction may be used after a gap of so many ids."""
        return not gap or (self._may_leave_out_ids and 0 < gap <= spared(transaction))

    def _write(
        self, cursor: Cursor, transactions: Sequence[Transaction], values: list[Any], wide: list[Any], newest: int
    ) -> None:
        """Write everything in the transactions, inside a transaction of the database.

        Args:
            transactions: what is written.
            values: the values of their events.
            wide: those of their events with an origin.
            newest: the id of the last one.
        """
        write_profiles(cursor, transactions)
        event_rows.HEADS.write(cursor, heads_of(transactions))
        event_rows.EVENTS.write(cursor, values)
        if wide:
            event_rows.EVENTS_WITH_ORIGIN.write(cursor, wide)
        event_rows.KEYS.write(cursor, keys_of(transactions, self._packer.pack))
        self._write_more(cursor, transactions, newest)

    def _write_more(self, cursor: Cursor, transactions: Sequence[Transaction], newest: int) -> None:
        """Write the rarer parts of transactions."""
        for transaction in transactions:
            if transaction.milestones:
                write_milestones(cursor, transaction.milestones, self._packer.pack)
            if transaction.decision is not None:
                decide(cursor, transaction.decision, newest, self._packer.pack)

    def _count(self, values: list[Any], wide: list[Any]) -> None:
        """Count what a commit wrote."""
        self._written += len(values) // event_rows.WIDTH + len(wide) // event_rows.WIDE
        size = event_rows.size_of_texts(values, event_rows.WIDTH) + (
            event_rows.size_of_texts(wide, event_rows.WIDE) if wide else 0
        )
        self._size += size
        self._packer.forget(size)
        self.failures.succeeded()


@contextmanager
def _syncing(connection: sqlite3.Connection) -> Iterator[None]:
    """Sync every commit of the block."""
    (level,) = connection.execute("PRAGMA synchronous").fetchone()
    connection.execute("PRAGMA synchronous = FULL")
    try:
        yield
    finally:
        connection.execute(f"PRAGMA synchronous = {level}")


def _rewrite_header(connection: sqlite3.Connection) -> None:
    """Rewrite the first page of the database unchanged: an empty commit would not touch the disk."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    connection.execute(f"PRAGMA user_version = {version}")


def _code(error: BaseException) -> int:
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK)


def _is_environmental(error: Exception) -> bool:
    """Return whether the disk or another process is to blame, so that each transaction alone would fail too."""
    return isinstance(error, InDoubtError) or _code(error) & 0xFF == sqlite3.SQLITE_BUSY


def _overwrite_unsynced(connection: sqlite3.Connection) -> bool:
    """Overwrite a commit that was not synced with one that changes nothing; return whether it is gone.

    SQLite has rolled the commit back, but all of its frames are in the WAL: after a crash, the next process that opens
    the file would see it as committed, although its caller was told that it failed.
    """
    try:
        _rewrite_header(connection)
    except sqlite3.Error:
        return False
    return True


def keys_of(transactions: Sequence[Transaction], pack: Pack) -> list[Any]:
    """Return the values of the keys of transactions and their checksums, one row after the other."""
    keys = [key for transaction in transactions for key in transaction.keys]
    return [value for key in keys for value in (*key, checksum(pack, key))]


def heads_of(transactions: Sequence[Transaction]) -> list[int]:
    """Return the values of the heads of agents of which only the head changed, one row after the other."""
    heads: list[int] = []
    for transaction in transactions:
        for profile, _, new, changed, _ in transaction.parts:
            if not (new or changed):
                heads += (profile.row, profile.head, profile.updated)
    return heads


def write_profiles(cursor: Cursor, transactions: Sequence[Transaction]) -> None:
    """Write agents that are new, or of which more than the head changed."""
    for transaction in transactions:
        for profile, _, new, changed, _ in transaction.parts:
            if new:
                cursor.execute(event_rows.AGENT, event_rows.new_row(profile))
            elif changed:
                cursor.execute(event_rows.PROFILE, event_rows.changed_row(profile))


def is_about(transaction: Transaction, rows: Collection[int]) -> bool:
    """Return whether a transaction is about one of these agents, to which other daemons have written."""
    return bool(rows) and any(
        row in rows for row in (*transaction.reads, *(part.profile.row for part in transaction.parts))
    )


def forget_keys(connection: Connection, keep: int) -> bool:
    """Delete some of the oldest keys, and return whether there are more to delete.

    Age is counted in later keys, never in time: after a jump of the wall clock, keys whose commands may still be
    repeated would be deleted.

    Args:
        keep: how many of the newest keys stay.
    """
    done = connection.execute(
        "DELETE FROM keys WHERE id IN ("
        "SELECT id FROM keys WHERE id <= (SELECT max(id) FROM keys) - ? ORDER BY id LIMIT ?)",
        (keep, _FORGOTTEN_AT_ONCE),
    ).rowcount
    return done == _FORGOTTEN_AT_ONCE

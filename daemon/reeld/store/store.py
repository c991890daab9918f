"""The store: one writer, a few readers, and the interface of both to the rest of the daemon."""

import logging
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any, Concatenate, ParamSpec

import anyio

from reel.base.errors import InvalidParams, Storage
from reel.base.installation import install_command
from reel.base.light_typing import NamedTuple
from reel.daemon.database_url import is_url, printable
from reel.wire.msgpack_codec import packer
from reeld.core.conversation import Branch, Conversation, Takeover
from reeld.core.events import Entry
from reeld.core.milestones import Milestone
from reeld.core.reading import Before, Reader
from reeld.core.state import State
from reeld.core.superseding import LookBack
from reeld.store import positions, states, transactions
from reeld.store.backup import Copy, require_foreign
from reeld.store.bridge import AsyncioBridge, open_bridge
from reeld.store.connection import Connection
from reeld.store.connection_thread import ConnectionThread, Job, T, open_database
from reeld.store.displacement import Displacement
from reeld.store.engine import Channel, Engine
from reeld.store.eraser import Eraser
from reeld.store.failures import READS, Failures
from reeld.store.file_engine import open_file
from reeld.store.going_back import reader
from reeld.store.loading import Loading
from reeld.store.looks import Looks
from reeld.store.positions import Position
from reeld.store.presence import LOCK, Held
from reeld.store.schema import FULL
from reeld.store.states import Skip, SqlLog
from reeld.store.writer import Writer

log = logging.getLogger(__name__)

P = ParamSpec("P")


class Rebuilt(NamedTuple):
    """A state that was rebuilt from the log alone, and the events that could not be read."""

    conversation: Conversation
    skipped: list[Skip]


class Store:
    """An open database; see :func:`open_store`."""

    def __init__(self, writer: Writer, engine: Engine, path: str, bridge: AsyncioBridge) -> None:
        self._bridge = bridge
        # The poller, which delivers the outcomes of commits.
        self.poller = bridge.poller
        self.engine = engine
        self._database = engine.database
        self._readers = engine.readers
        self._next_row = engine.next_row
        # The backups in progress.
        self.copies: list[Copy] = []
        # The path of the database file, or the URL of a database on a server.
        self.path = path
        self._long_read = anyio.Lock()
        self.writer = writer
        self.displacement = Displacement(path, writer.presence, engine.database)
        # The reads of what agents and subscriptions have to know, which an outage ends.
        self.reads = Failures(READS, printable(path))
        self.looks = Looks(writer, engine.readers[0], self.poller.batch)
        self.housekeeping = writer.housekeeping
        self.is_file = engine.is_file
        # The channel to other daemons; ``None`` if there can be none.
        self.channel: Channel | None = None
        self.eraser = Eraser(engine, self.read_long, writer.changes.note_any)
        self._loading = Loading(lambda: self.eraser.applied)

    @property
    def is_shared(self) -> bool:
        """Whether other daemons may write to the same database."""
        return not self.is_file

    async def be_current(self) -> None:
        """Wait until everything that any daemon committed before the call is known here, and whatever is gone since.

        Raises:
            Storage: the server cannot be reached, or does not respond.
            Busy: there is not enough memory.
        """
        if self.is_shared:
            await self.looks.wait()

    def new_row(self, above: int = 0) -> int:
        """Return the row of a new agent; if it is never used, a harmless gap remains.

        Args:
            above: the row of its source, which another daemon may have created: a clone must have a greater one.
        """
        row, step = self._next_row, self.engine.row_step
        if row <= above:
            row += ((above - row) // step + 1) * step
        self._next_row = row + step
        return row

    async def read(self, job: Callable[Concatenate[Any, P], T], *args: P.args, **more: P.kwargs) -> T:
        """Run a short job on a reading connection, with these arguments after it.

        Raises:
            Storage: the database cannot be read, or a text in it is not UTF-8.
        """
        return await self._run(self._readers, lambda connection: job(connection, *args, **more))

    async def read_log(self, job: Callable[Concatenate[Any, P], T], *args: P.args, **more: P.kwargs) -> T:
        """Run a short job that handles damaged events: bytes that are not text do not make it fail."""
        tolerant = partial(_reading_any_bytes, lambda connection: job(connection, *args, **more))
        return await self._run(self._readers, tolerant)

    def at_once(self, job: Callable[Concatenate[Any, P], T], *args: P.args, **more: P.kwargs) -> T | None:
        """Look something up in an index without awaiting it; ``None`` if the disk or the readers do not allow that.

        It returns what :meth:`read_log` does. If that fails, it has to be awaited to learn why.
        """
        pace, reader = self.engine.pace, next((each for each in self._readers if each.is_idle), None)
        if pace is None or reader is None or not pace.is_fast():
            return None
        began = time.monotonic()
        found = reader.run_here(partial(_reading_any_bytes, lambda connection: job(connection, *args, **more)))
        pace.note_look(time.monotonic() - began)
        return None if isinstance(found, BaseException) else found

    async def read_long(self, job: Callable[Concatenate[Any, P], T], *args: P.args, **more: P.kwargs) -> T:
        """Run a job like :meth:`read_log` that may take long, on a connection for which no command waits."""
        tolerant = partial(_reading_any_bytes, lambda connection: job(connection, *args, **more))
        return await self._run(self._readers[1:], tolerant)

    @staticmethod
    async def _run(readers: Sequence[ConnectionThread], job: Job[T]) -> T:
        try:
            return await min(readers, key=lambda reader: reader.waiting).run(job)
        except sqlite3.Error as error:
            raise Storage(f"the database cannot be read: {error}") from error

    async def load(self, row: int) -> State:
        """Return an agent's current state; rows that cannot be read are logged."""
        with self._loading.waiting():
            loaded = await self.read_log(self._loading.load, row)
        self.writer.note(loaded.made)
        for skip in dict.fromkeys(loaded.skipped):
            # The reason may quote content, as may the path of the field.
            what = skip.reason if skip.quotes_nothing else f"its {skip.field.partition('.')[0]} is invalid"
            log.warning("agent=%s seq=%d cannot be read: %s; see reel replay", loaded.profile.name, skip.seq, what)
        return State(loaded.profile, loaded.conversation)

    async def state(self, tip: int | None) -> Conversation:
        """Return the state with this tip, its newest entries in memory."""
        conversation, made = await self.read_log(lambda connection: reader(connection).state(tip))
        self.writer.note(made)
        return conversation

    async def takeover(self, tip: int | None, conversation: Conversation) -> Takeover:
        """Return how a conversation, which must not change meanwhile, takes over the state with this tip."""
        if conversation.has(tip):
            return Branch(tip)
        return await self.read_log(lambda connection: reader(connection).takeover(tip, conversation))

    async def tip_before(self, base: Milestone, seq: int) -> Before | None:
        """Return the state before the entry with this seq; ``None`` if none has it up to a milestone."""
        return await self.read_log(lambda connection: reader(connection).before(base, seq))

    async def look_back(self, base: Milestone, look: LookBack) -> None:
        """Let somebody look at the entries up to a milestone."""

        def job(connection: Connection) -> None:
            look.take(node for node, _ in SqlLog(connection, packer()).path(base.id))

        await self.read_long(job)

    async def before(self, row: int, seq: int) -> Conversation:
        """Return an agent's state before one of its events."""
        return await self.state(await self.read(positions.tip_before, row, seq))

    async def whole(self, tip: int | None) -> Conversation:
        """Return the state with this tip, all its entries in memory."""
        return await self.read_long(lambda connection: Conversation(reader(connection).whole(tip)))

    async def newest(self, tip: int, size: int) -> Conversation:
        """Return the state with this tip, so many of its newest entries in memory that their messages have a size."""
        return await self.read_long(lambda connection: reader(connection).newest(tip, size))

    async def read_entries(
        self,
        base: Milestone,
        since: int,
        last: int | None,
        counts: Callable[[Entry], bool],
        use: Callable[[Iterator[Entry]], T],
    ) -> T:
        """Return a function's result for the entries up to a milestone; see :meth:`reeld.core.reading.Reader.entries`.

        Args:
            base: the milestone.
            since: only entries with a greater seq.
            last: only the newest, so many that count; ``None`` for all.
            counts: whether an entry counts.
            use: the function, which runs in a thread.
        """
        return await self.read_long(lambda connection: use(reader(connection).entries(base, since, last, counts)))

    async def rebuild(self, row: int, at: Position | None = None) -> Rebuilt:
        """Rebuild an agent's state, current or at a position, from its log alone, and write its milestones again."""

        def job(connection: Connection) -> tuple[Rebuilt, list[Milestone]]:
            if at is None:
                tip, skipped = states.sound_tip_of(connection, row, packer())
            else:
                tip, skipped = at.tip, []
            sql = SqlLog(connection, packer())
            conversation, made = Reader(sql).rebuild(tip)
            return Rebuilt(conversation, skipped + sql.skipped), made

        rebuilt, made = await self.read_long(job)
        self.writer.note(made)
        return rebuilt

    async def write(self, job: Job[None]) -> None:
        """Run a short job on the writing connection that concerns no agent.

        Raises:
            Storage: it cannot be written.
        """
        try:
            await self._database.run(job)
        except sqlite3.Error as error:
            raise Storage(f"the database cannot be written: {error}") from error

    @asynccontextmanager
    async def open_reader(self) -> AsyncIterator[ConnectionThread]:
        """Open a separate reading connection for long work; only one is open at a time.

        Raises:
            Storage: a file of the database was removed or replaced, so that it cannot be opened again.
        """
        displaced = self.writer.presence.look()
        if displaced is not None and displaced.kind != LOCK:
            raise Storage(f"the database cannot be opened again: {displaced}")
        async with self._long_read, self.engine.reader() as database:
            yield database

    def open_beside(
        self, path: str, setup: Job[None], *, readonly: bool
    ) -> AbstractAsyncContextManager[ConnectionThread]:
        """Open a connection to another file of SQLite's, such as the search index, until the block ends."""
        return open_database(self._bridge, path, setup, readonly=readonly)

    async def backup(self, path: str, check: Callable[[Copy], Awaitable[None]] | None = None) -> int:
        """Write a copy of everything that was committed into a new file; return its size in bytes.

        Args:
            path: the new file, an absolute path.
            check: is given the copy before it gets its name; whatever it raises keeps it from getting it.

        Raises:
            InvalidParams: there is a file of this name, it is one of the database's own, or the database is no file.
            Storage: the copy cannot be written; nothing is left of it.
        """
        copier = self._require_copier()
        require_foreign(path, self.path)
        await self.displacement.watch()
        displaced, abandoned, copy = self.displacement.displaced, threading.Event(), Copy(path)
        self.copies.append(copy)
        try:
            size = await copier.run(partial(copy.write, abandoned=abandoned.is_set))
            if check is not None:
                await self._check(copier, copy, check)
            await copier.run(lambda _: copy.give_name())
        finally:
            abandoned.set()
            self.copies.remove(copy)
        self.displacement.note_backup(displaced)
        return size

    def _require_copier(self) -> ConnectionThread:
        if self.engine.copier is None:
            raise InvalidParams(
                "backup copies a file of SQLite's, and this database is on a PostgreSQL server;"
                " make backups there, with pg_dump or pg_basebackup"
            )
        return self.engine.copier

    @staticmethod
    async def _check(copier: ConnectionThread, copy: Copy, check: Callable[[Copy], Awaitable[None]]) -> None:
        try:
            await check(copy)
        except Exception:
            await copier.run(lambda _: copy.clear_away())
            raise
        except BaseException:  # cancelled, so it must not wait for the thread
            copier.submit(lambda _: copy.clear_away(), lambda _: None)
            raise

    async def tidy(self) -> None:
        """Delete old keys and copy the WAL into the file, at an idle moment."""
        await self.writer.report_failures()
        self.reads.report()
        self.writer.flush()
        if self.is_shared:
            self.looks.hear()  # in case a notification was lost with the connection
        if self.displacement.displaced is not None:
            return
        await self.housekeeping.attempt("forgetting old keys", self._forget_keys)
        await self.writer.checkpoint()

    async def _forget_keys(self) -> None:
        while await self._database.run(partial(transactions.forget_keys, keep=KEYS_KEPT)):
            pass  # so that commits can run in between


# How many keys are kept: 250 bytes each, as measured with replies of ``add``. At ten thousand commands per second the
# oldest is a hundred seconds old; clients repeat a command within seconds.
KEYS_KEPT = 1_000_000


def _reading_any_bytes(job: Job[T], connection: sqlite3.Connection) -> T:
    """Run a job; if it finds bytes that are not UTF-8, run it again with U+FFFD for them."""
    try:
        return job(connection)
    except sqlite3.OperationalError as error:
        if not str(error).startswith("Could not decode to UTF-8"):
            raise
    connection.text_factory = lambda text: text.decode(errors="replace")
    try:
        return job(connection)
    finally:
        connection.text_factory = str


@asynccontextmanager
async def open_store(database: str, durability: str = FULL, held: Held | None = None) -> AsyncIterator[Store]:
    """Open the database until the block ends; everything that was submitted is written first.

    The caller holds the lock on a file.

    Args:
        database: the path of a file, or the URL of a server's.
        durability: whether each commit waits for the disk (``full``) or each checkpoint (``normal``).
        held: its locks, if it is a file: the lock file beside it is watched like the database.

    Raises:
        Unavailable: the database cannot be opened now.
        Storage: the file is another program's, damaged, from a newer version, or cannot be opened; the message says
            what to do.
    """
    async with AsyncExitStack() as stack:
        bridge = await stack.enter_async_context(open_bridge())
        if is_url(database):
            try:
                from reeld.store.postgres.engine import open_engine  # noqa: PLC0415 - only who has a server needs psycopg
            except ImportError as error:
                command = install_command("postgres")
                missing = f"to use {printable(database)}, reeld needs psycopg; install it with: {command}"
                raise Storage(missing) from error
            engine = await stack.enter_async_context(open_engine(bridge.poller, database, durability))
        else:
            engine = await stack.enter_async_context(open_file(bridge, database, durability, held))
        writer = Writer(engine.database, engine.events, engine.presence, engine.pace)
        tasks = await stack.enter_async_context(anyio.create_task_group())
        await tasks.start(writer.run)
        try:
            store = Store(writer, engine, database, bridge)
            if engine.listen is None:
                yield store
            else:
                async with engine.listen(store.looks.hear) as store.channel:
                    tasks.start_soon(store.looks.run)
                    try:
                        yield store
                    finally:
                        store.looks.end()
        finally:
            await writer.close()

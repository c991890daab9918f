"""Opens a database on a server: the connections, each in a thread of its own, and their configuration for the store."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from threading import Thread
from typing import Any, cast

import anyio

from reel.daemon.address import state_directory
from reel.daemon.database_url import printable
from reel.wire.msgpack_codec import packer
from reeld.core.events import Pack
from reeld.poller import Poller
from reeld.store import erasures
from reeld.store.connection import Connection, Error
from reeld.store.connection_thread import ConnectionThread, Job, T
from reeld.store.copying import require_whole
from reeld.store.engine import READERS, Engine, Exclusion
from reeld.store.plans import carry_out
from reeld.store.postgres import exclusion
from reeld.store.postgres.connection import ServerConnection, connect
from reeld.store.postgres.high_water import HighWater
from reeld.store.postgres.listening import listening
from reeld.store.postgres.remedies import explained
from reeld.store.postgres.schema import prepare
from reeld.store.postgres.survey import require_usable
from reeld.store.postgres.writer import ServerEventWriter
from reeld.store.presence import Presence
from reeld.store.schema import FULL
from reeld.store.traces import Recovered

# Milliseconds after which the server aborts the transaction of a daemon that hangs, for which all others wait.
_HANGS = 60_000
# The distance between the rows of one daemon's agents. The rows of other daemons lie in between, so that a clone always
# has a greater row than its source, whichever daemon created that. This many daemons can start before a number is
# reused.
_STEP = 1 << 24


@asynccontextmanager
async def open_engine(poller: Poller, url: str, durability: str) -> AsyncIterator[Engine]:
    """Open a database on a server until the block ends.

    Args:
        poller: delivers the outcomes of its jobs.
        url: says where it is.
        durability: whether each commit waits for the server's disk (``full``) or not (``normal``).

    Raises:
        Storage: it cannot be opened; it says what to do.
    """
    writing = {
        "synchronous_commit": "on" if durability == FULL else "off",
        "idle_in_transaction_session_timeout": str(_HANGS),
    }
    async with AsyncExitStack() as stack:
        await anyio.to_thread.run_sync(require_usable, url)
        try:
            setup = partial(prepare, url=url)
            database = await stack.enter_async_context(_open(poller, url, setup, readonly=False, settings=writing))
            await database.run(partial(require_whole, name=printable(url)))
            was_decided = await database.run(partial(_carry_through, pack=packer()))
            identity = await database.run(_identity)
            events = await database.run(
                partial(
                    ServerEventWriter,
                    database=printable(url),
                    may_lose=durability != FULL,
                    high_water=HighWater(f"{state_directory()}/newest-{identity}"),
                )
            )
            # After the events, whose end may show that the server has forgotten numbers of daemons.
            events.daemon = daemon = await database.run(_number_of_daemon)
            next_row = await database.run(partial(_next_row, daemon=daemon))
            version = await database.run(_version)
            reader = partial(_open, poller, url, _nothing, readonly=True, settings={})
            readers = [await stack.enter_async_context(reader()) for _ in range(READERS)]
        except Error as error:
            raise explained(error, url) from error
        connecting = partial(connect, url, readonly=True, settings={})
        listen = partial(listening, connecting, poller, daemon, identity)
        stack.callback(events.close)
        yield Engine(
            database=database,
            readers=readers,
            reader=reader,
            copier=None,
            events=events,
            presence=Presence(None),
            next_row=next_row,
            recovered=Recovered(was_decided),
            listen=listen,
            row_step=_STEP,
            lone=Exclusion(exclusion.take, exclusion.require, exclusion.give_back),
            name=f"PostgreSQL {version}",
            id=identity,
            open_log=partial(ServerConnection, connecting),
        )


class _Reader(ConnectionThread):
    """A connection whose jobs only read, each all of it from one server."""

    async def run(self, job: Job[T]) -> T:
        def read(connection: Any) -> T:
            return cast("ServerConnection", connection).read_whole(cast("Callable[[Any], T]", job))

        return await super().run(read)


@asynccontextmanager
async def _open(
    poller: Poller, url: str, setup: Job[None], *, readonly: bool, settings: dict[str, str]
) -> AsyncIterator[ConnectionThread]:
    """Open a connection until the block ends."""
    with anyio.CancelScope(shield=True):  # a connection would never be closed if opening it were cancelled
        connection = await anyio.to_thread.run_sync(
            ServerConnection, partial(connect, url, readonly=readonly, settings=settings)
        )
    database = _Reader(poller) if readonly else ConnectionThread(poller)
    thread = Thread(target=_serve, args=(database, connection), name="reeld-postgres")
    thread.start()
    try:
        await database.run(setup)
        yield database
    finally:
        database.end()
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(thread.join)


def _carry_through(connection: Connection, pack: Pack) -> bool:
    """Complete an erasure that a vanished daemon had decided; return whether there was one.

    Only the check for other daemons may have to wait: a daemon that erases excludes all others, so unless an erasure is
    unfinished there is nothing to do.
    """
    if not erasures.unfinished(connection):
        return False
    return exclusion.alone(partial(carry_out, erasures.recovery(pack)), otherwise=False)(connection)


def _serve(database: ConnectionThread, connection: ServerConnection) -> None:
    try:
        database.serve(connection)
    finally:
        connection.close()


def _nothing(_: Connection) -> None:
    """Leave a connection as it is."""


def _number_of_daemon(connection: Connection) -> int:
    """Return a number that no other daemon of this database has used."""
    (number,) = connection.execute("SELECT nextval('daemons')").fetchone()
    return int(number)


def _next_row(connection: Connection, daemon: int) -> int:
    """Return a row that no other daemon assigns, and that is greater than all existing ones."""
    (newest,) = connection.execute("SELECT coalesce(max(id), 0) FROM agents").fetchone()
    return (int(newest) // _STEP + 1) * _STEP + daemon % _STEP


def _identity(connection: Connection) -> str:
    """Return the id of the database."""
    (identity,) = connection.execute("SELECT id FROM log").fetchone()
    return str(identity)


def _version(connection: Connection) -> str:
    """Return the version of the server, without what its packager calls it."""
    (version,) = connection.execute("SELECT split_part(current_setting('server_version'), ' ', 1)").fetchone()
    return str(version)

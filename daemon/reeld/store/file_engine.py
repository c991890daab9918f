"""Opens a SQLite file: the connections, and their configuration for the store."""

import logging
import os
import sqlite3
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from reel.daemon.placement import file_system_of
from reel.wire.msgpack_codec import packer
from reeld.store.bridge import AsyncioBridge
from reeld.store.connection_thread import ConnectionThread, open_database
from reeld.store.copying import require_whole
from reeld.store.engine import READERS, Engine
from reeld.store.erasing_backups import finish_in_backups
from reeld.store.opening import opening
from reeld.store.pace import Pace
from reeld.store.presence import Held, Presence
from reeld.store.schema import prepare, prepare_copier, prepare_reader
from reeld.store.sweep import Ground, open_descriptor, open_guard
from reeld.store.traces import Recovered, recover
from reeld.store.transactions import EventWriter
from reeld.store.wal import checkpoint_at_the_end
from reeld.store.wal_copies import WalCopies

log = logging.getLogger(__name__)

_never_closed: list[sqlite3.Connection] = []


@asynccontextmanager
async def open_file(bridge: AsyncioBridge, path: str, durability: str, held: Held | None) -> AsyncIterator[Engine]:
    """Open a file until the block ends; see :func:`reeld.store.store.open_store`."""
    with opening(path):
        Path(path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    async with AsyncExitStack() as stack:
        with opening(path):
            presence = Presence(path, held)
            descriptor = stack.enter_context(open_descriptor(path, os.O_CREAT | os.O_NOFOLLOW))
            # The system tells each descriptor once that something was not written, and both have to know it.
            other = stack.enter_context(open_descriptor(path, os.O_NOFOLLOW))
            copies = WalCopies(path, other)
            prepared = partial(_prepare, presence=presence, opened=(descriptor, other), copies=copies)
            setup = partial(prepared, path=path, durability=durability)
            database = await stack.enter_async_context(open_database(bridge, path, setup, readonly=False))
            stack.push_async_callback(_settle, database, path)
            stack.enter_context(presence.hold_wal())
            recovered, events, next_row = await database.run(partial(_begin, path=path))
            reader = partial(open_database, bridge, path, prepare_reader, readonly=True)
            readers = [await stack.enter_async_context(reader()) for _ in range(READERS)]
            # Opened now, because a file that is removed or replaced later cannot be opened any more. It has its own
            # connection, because a backup takes long and nothing should wait behind it.
            opened = open_database(bridge, path, prepare_copier, readonly=True)
            copier = await stack.enter_async_context(opened)
            guard = stack.enter_context(closing(open_guard(path)))
        presence.look()
        ground = Ground(path, descriptor, guard)
        pace = _pace(path)
        yield Engine(database, readers, reader, copier, events, presence, next_row, recovered, ground=ground, pace=pace)


async def _settle(database: ConnectionThread, path: str) -> None:
    """Copy the WAL before the last connection is closed; if something may have been lost, keep it.

    SQLite removes it when the last connection is closed. So one that only reads, and cannot do that, stays open until
    the process ends.
    """
    with anyio.CancelScope(shield=True):
        if not await database.run(checkpoint_at_the_end):
            log.error("checkpoints of %s fail: its WAL stays, and is copied at the next start", path)
            with suppress(sqlite3.Error):
                _never_closed.append(open_guard(path))
                prepare_copier(_never_closed[-1])


def _prepare(
    connection: sqlite3.Connection,
    presence: Presence,
    opened: Iterable[int],
    copies: WalCopies,
    path: str,
    durability: str,
) -> None:
    """Prepare a file that SQLite has just opened, unless another one was put at its path before that."""
    for descriptor in opened:
        presence.require_locked(descriptor)
    connection.copies = copies  # type: ignore[attr-defined]  # it is one of connection_thread's
    prepare(connection, path, durability)


def _begin(connection: Any, path: str) -> tuple[Recovered, EventWriter, int]:
    """Require a whole file, end what a killed daemon had begun; return that, what writes events, and a free row."""
    require_whole(connection, name=path)
    finish_in_backups(connection, database=path)
    return recover(connection, pack=packer()), EventWriter(connection, database=path), _next_row(connection)


def _pace(path: str) -> Pace | None:
    """Return what lets small commits run in the event loop's thread; ``None`` for a file on the network."""
    found = file_system_of(path)
    return None if found is not None and found.is_network else Pace()


def _next_row(connection: Any) -> int:
    (given,) = connection.execute("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'agents'").fetchone()
    return int(given) + 1

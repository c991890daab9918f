"""Agents and events made by hand, and helpers that look at files."""

import sqlite3
import stat
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
import trio

from reel.daemon.database_url import is_url
from reel.wire.msgpack_codec import packer
from reeld.core.events import Event
from reeld.core.state import Profile
from reeld.store import pace
from reeld.store.checksums import EVENT_COLUMNS, checksum, counted, write_checksums
from reeld.store.connection import Connection
from reeld.store.postgres.connection import ServerConnection
from reeld.store.store import Store, open_store
from reeld.store.transactions import AgentWrite, Key, Outcome, Transaction
from tests.patience import PATIENCE
from tests.postgres import server_connection

NODES = frozenset({"system", "user", "assistant", "tool_call", "tool_result", "tool", "mark"})


def profile(row: int = 1, head: int = 0, **more: Any) -> Profile:
    """Return an agent's row."""
    return Profile(row, f"{row:032x}", f"agent-{row}", None, {}, None, 1, 1, None, head)._replace(**more)


def event(seq: int, kind: str = "user", content: str | None = "hi", **more: Any) -> Event:
    """Return an event that is its own command and has no parent."""
    return Event(seq, seq, kind, content, None, None, 1000 + seq, None)._replace(**more)


def made(row: int = 1, *events: Event, **more: Any) -> Transaction:
    """Return a transaction that creates an agent; a node's parent is the one before, unless it names another."""
    log = [event(1, "created", None), *events]
    return Transaction([AgentWrite(profile(row, log[-1].seq, **more), chained(log), new=True)], [])


def sound(row: int = 1, *events: Event) -> Transaction:
    """Return a transaction that creates an agent with which a check finds nothing wrong."""
    (agent,) = made(row, *events).parts
    created = agent.events[0]._replace(data_json=f'{{"name":"agent-{row}"}}')
    return Transaction([agent._replace(events=[created, *agent.events[1:]])], [])


def said(row: int, *events: Event, keys: tuple[str, ...] = ()) -> Transaction:
    """Return a transaction that writes to an agent; each node has the one before as its parent."""
    return Transaction(
        [AgentWrite(profile(row, events[-1].seq), chained(list(events)))], [key(name, row) for name in keys]
    )


def key(name: str, row: int = 1) -> Key:
    """Return a key with its reply."""
    return Key(name, row, 1, b"digest", b"reply", "named", row)


def chained(events: list[Event]) -> list[Event]:
    """Make each event's parent the newest node before it."""
    tip: int | None = None
    laid = []
    for number, event in enumerate(events):
        laid.append(event if event.parent is not None else event._replace(parent=tip))
        if event.kind in NODES:
            tip = ~number
    return laid


async def write(store: Store, *transactions: Transaction) -> list[Outcome]:
    """Submit transactions at once and return each outcome."""
    outcomes: list[Outcome] = []
    settled = anyio.Event()

    def settle(outcome: Outcome) -> None:
        outcomes.append(outcome)
        if len(outcomes) == len(transactions):
            settled.set()

    for transaction in transactions:
        store.writer.submit(transaction, settle)
    await settled.wait()
    return outcomes


async def pragma(store: Store, text: str) -> Any:
    """Run a statement on the writing connection, and return its rows."""
    row = await store._database.run(lambda connection: connection.execute(f"PRAGMA {text}").fetchone())
    return row[0] if row else None


@asynccontextmanager
async def busy(store: Store, *statements: str) -> AsyncIterator[None]:
    """Keep the writing connection occupied, after some statements, for as long as the block lasts."""
    token = trio.lowlevel.current_trio_token()
    begun, over = anyio.Event(), threading.Event()

    def job(connection: sqlite3.Connection) -> None:
        for sql in statements:
            connection.execute(sql)
        token.run_sync_soon(begun.set)
        over.wait(PATIENCE)
        if connection.in_transaction:
            connection.execute("ROLLBACK")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(store._database.run, job)
        try:
            await begun.wait()
            yield
        finally:
            over.set()


def query(path: str, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """Run a statement on a database, and return its rows."""
    with open_connection(path) as connection:
        return connection.execute(sql, values).fetchall()


def spoil(path: str, page: int, at: int = 0) -> None:
    """Write rubbish over a page of a file, whose header tells the size of its pages."""
    with Path(path).open("r+b") as file:
        file.seek(int.from_bytes(file.read(18)[16:]) * (page - 1) + at)
        file.write(b"\xa5" * 2000)


def contents(path: str) -> bytes:
    """Return the bytes of a file."""
    return Path(path).read_bytes()


def size(path: str) -> int:
    """Return the size of a file."""
    return Path(path).stat().st_size


def mode(path: str) -> int:
    """Return the permission bits of a file."""
    return stat.S_IMODE(Path(path).stat().st_mode)


def unlock(connection: Connection) -> None:
    """Let events be changed and deleted, as damage does."""
    if isinstance(connection, ServerConnection):
        connection.execute("ALTER TABLE events DISABLE TRIGGER USER")
        return
    connection.execute("DROP TRIGGER IF EXISTS events_are_never_changed")
    connection.execute("DROP TRIGGER IF EXISTS events_are_never_deleted")


@contextmanager
def unguarded(path: str) -> Iterator[Connection]:
    """Open a database in which the log can be changed; it is append-only again afterwards."""
    with open_connection(path) as connection:
        guards: list[str] = []
        if not isinstance(connection, ServerConnection):
            guards = [sql for (sql,) in connection.execute("SELECT sql FROM sqlite_schema WHERE type = 'trigger'")]
        unlock(connection)
        yield connection
        for guard in guards or ["ALTER TABLE events ENABLE TRIGGER USER"]:
            connection.execute(guard)


@contextmanager
def open_connection(path: str) -> Iterator[Connection]:
    """Open a connection to a database."""
    made = server_connection(path) if is_url(path) else sqlite3.connect(path, isolation_level=None)
    with closing(made) as connection:
        yield connection


def seal(connection: Connection) -> None:
    """Give every event the checksum of what it is now; on a server the log must be unlocked."""
    if isinstance(connection, sqlite3.Connection):
        trigger = "SELECT sql FROM sqlite_schema WHERE name = 'events_are_never_changed'"
        found = connection.execute(trigger).fetchone()
        connection.execute("DROP TRIGGER IF EXISTS events_are_never_changed")
        write_checksums(connection)
        if found is not None:
            connection.execute(found[0])
        return
    pack = packer()
    for *row, _ in connection.execute(f"SELECT {EVENT_COLUMNS} FROM events e").fetchall():
        connection.execute("UPDATE events SET checksum = ? WHERE id = ?", (checksum(pack, counted(row)), row[0]))


def names(directory: Path) -> set[str]:
    """Return the names in a directory."""
    return {path.name for path in directory.iterdir()}


async def written(path: str, *transactions: Transaction, backup: str | None = None) -> None:
    """Open a database, write to it, make a backup if wanted, and close it."""
    async with open_store(path) as store:
        if transactions:
            await write(store, *transactions)
        if backup is not None:
            await store.backup(backup)


def lose_newest(url: str) -> None:
    """Remove the newest event from a server's log, as if the server had come back without it."""
    with closing(server_connection(url)) as connection:
        connection.execute("ALTER TABLE events DISABLE TRIGGER ALL")
        connection.execute("DELETE FROM events WHERE id = (SELECT max(id) FROM events)")
        connection.execute("UPDATE agents SET head = (SELECT max(seq) FROM events WHERE agent = agents.id)")
        connection.execute("UPDATE log SET newest = (SELECT max(id) FROM events)")
        connection.execute("ALTER TABLE events ENABLE TRIGGER ALL")


def distrust_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let threads do all that reads or writes the database, however fast this disk is."""
    monkeypatch.setattr(pace, "_PROOF", 1_000_000)


def trust_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the event loop do what is short from the second commit on, however slow this disk is."""
    monkeypatch.setattr(pace, "_PROOF", 1)
    for bound in ("_FAST", "_SLOW", "_STOP"):
        monkeypatch.setattr(pace, bound, PATIENCE)

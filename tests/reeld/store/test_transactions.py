"""What a transaction writes, which transaction of a batch fails, and with what error."""

import json
import resource
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any
from zlib import crc32

import anyio
import pytest
from msgpack import packb

from reel.base.errors import Exists, Internal, ReelError, Storage
from reel.wire.msgpack_codec import packer
from reel.wire.short_messages import unpacked
from reeld.core.events import Origin
from reeld.core.state import Source
from reeld.store import history, queries, transactions
from reeld.store.checksums import COLUMNS
from reeld.store.commit_faults import DivergedError, KeyTakenError
from reeld.store.schema import prepare
from reeld.store.store import Store, open_store
from reeld.store.transactions import AgentWrite, Outcome, Transaction, prepared
from tests.patience import PATIENCE
from tests.reeld.store.making import event, key, made, pragma, profile, query, said, write


def failed(outcome: Outcome) -> tuple[type[Exception], str]:
    """Return the error that a transaction failed with."""
    assert isinstance(outcome, Exception)
    return type(outcome), outcome.message if isinstance(outcome, ReelError) else str(outcome)


@contextmanager
def files_no_larger_than(size: int) -> Iterator[None]:
    """Limit the size to which files of this process may grow."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_every_column_is_written(store: Store, path: str) -> None:
    """An event and its agent are stored as they were drafted, byte for byte."""
    call = event(2, "tool_call", 'f("é")', data_json='{"a": "\\u00e9 é"}', command=1, client="nvim", time=77)
    await write(store, made(7, call, title="T", tags={"k": "ü"}, created=3, updated=4))

    assert [(7, f"{7:032x}", "agent-7", "T", '{"k": "ü"}', None, None, 3, 4, None, 2)] == query(
        path, "SELECT * FROM agents"
    )
    row = (2, 7, 2, 1, "tool_call", 'f("é")', '{"a": "\\u00e9 é"}', None, "nvim", 77)
    assert [(*row, crc32(packb(row)))] == query(
        path, f"SELECT {', '.join(COLUMNS)}, checksum FROM events WHERE seq = 2"
    )


@pytest.mark.parametrize(
    ("spared", "first"),
    [(0, 2), (2, 4), (3, 2), (-1, 2)],
    ids=["next ids", "later ids", "too late ids", "given ids"],
)
async def test_values_made_before(store: Store, path: str, engine: str, spared: int, first: int) -> None:
    """Events whose values were made before are written like others; a file leaves out a hundredth of the ids."""
    first = first if engine == "sqlite" else 2
    events = [event(2), event(3, origin=Origin(5, "r")), *map(event, range(4, 202))]
    await write(store, made(1))
    later = event(202, parent=first + 199)
    outcomes = await write(store, prepared(said(1, *events), 2 + spared), said(1, later))
    state = await store.load(1)

    assert [[[first]], [[first + 200]]] == [[outcome] for outcome in outcomes]
    assert [1, *range(first, first + 201)] == [number for (number,) in query(path, "SELECT id FROM events ORDER BY id")]
    assert [None, first, first + 1] == [
        parent for (parent,) in query(path, "SELECT parent FROM events WHERE seq > 1 ORDER BY id")
    ][:3]
    assert [*range(2, 203)] == [entry.seq for entry in state.conversation.entries]
    assert 202 == store.writer.events


async def test_events_with_an_origin_among_others(store: Store, path: str) -> None:
    """The original times of some events of a commit are stored, and every event is read as it was written."""
    sent = [None, 5, None, 0, 6]
    events = [event(seq, origin=None if time is None else Origin(time)) for seq, time in enumerate(sent, 2)]
    await write(store, made(1, *events))
    state = await store.load(1)

    assert sent == [time for (time,) in query(path, "SELECT sent FROM events WHERE seq > 1 ORDER BY id")]
    assert sent == [entry.origin and entry.origin.sent for entry in state.conversation.entries]
    assert sent == [unpacked(entry.message or b"").get("sent") for entry in state.conversation.entries]
    assert [made.origin for made in events] == [
        logged.event.origin for logged in await store.read_long(history.after, 1, 1, 99, 9999, packer())
    ]


async def test_a_row_refers_to_its_neighbours_by_position(store: Store, path: str) -> None:
    """Drafts with parents among themselves get their ids in the commit; committed parents keep theirs."""
    await write(store, made(1), made(2))
    transaction = Transaction(
        [
            AgentWrite(profile(1, 3), [event(2), event(3, parent=~0)]),
            AgentWrite(profile(2, 4), [event(2, parent=1), event(3, parent=~0), event(4, parent=~1)]),
        ],
        [],
    )

    assert [[3, 5]] == await write(store, transaction)
    assert [(3, None), (4, 3), (5, 1), (6, 5), (7, 6)] == query(path, "SELECT id, parent FROM events WHERE id > 2")


async def test_ids_ascend_in_commit_order(store: Store, path: str) -> None:
    """However the transactions of agents alternate, a later commit has greater ids."""
    await write(store, made(1), made(2))
    await write(store, said(2, event(2), event(3)), said(1, event(2)))
    await write(store, said(1, event(3)), said(2, event(4)))

    expected = [(1, 1), (2, 1), (2, 2), (2, 3), (1, 2), (1, 3), (2, 4)]
    assert expected == query(path, "SELECT agent, seq FROM events ORDER BY id")


@pytest.mark.file
async def test_rows_of_agents_are_never_reused(path: str) -> None:
    """A new agent gets a row number that was never used."""
    with anyio.fail_after(PATIENCE):
        async with open_store(path) as store:
            await write(store, made(store.new_row()), made(store.new_row()))
        query(path, "DROP TRIGGER events_are_never_deleted")
        query(path, "DELETE FROM events")
        query(path, "DELETE FROM agents WHERE id = 2")
        async with open_store(path) as store:
            rows = [store.new_row(), store.new_row()]

    assert [3, 4] == rows


async def test_a_clone_knows_its_source(store: Store, path: str) -> None:
    """An agent's row names the agent and event it was cloned from."""
    await write(store, made(1), made(2, source=Source(1, f"{1:032x}", 1)))

    assert [(None, None), (1, 1)] == query(path, "SELECT source, source_at FROM agents ORDER BY id")


async def test_a_profile_is_written_where_it_changed(store: Store, path: str) -> None:
    """Name, title, tags and death are written when they changed, and only then."""
    await write(store, made(1))
    other = profile(1, 2, name="other", title="T", tags={"a": "b"}, killed=9)
    await write(store, Transaction([AgentWrite(other, [event(2, "agent_killed", None)], changed=True)], []))
    await write(store, Transaction([AgentWrite(profile(1, 3), [event(3, "note")])], []))

    assert [("other", "T", {"a": "b"}, 9, 3)] == [
        (name, title, json.loads(tags), killed, head)
        for name, title, tags, killed, head in query(path, "SELECT name, title, tags, killed, head FROM agents")
    ]


BAD_UNITS: list[tuple[Transaction, type[Exception], str]] = [
    (said(1, event(1)), DivergedError, "UNIQUE constraint failed: events.agent, events.seq"),
    (Transaction([], [key("k2", 99)]), Storage, "nothing was written: FOREIGN KEY constraint failed"),
    (said(1, event(2), keys=("k",)), KeyTakenError, "UNIQUE constraint failed: keys.key"),
    (made(5, name="agent-1"), Exists, "a live agent has this name; choose another, or continue with that agent"),
    (said(1, event(2, content="\ud800")), Storage, "nothing was written: 'utf-8' codec can't encode character"),
    (said(1, event(2, time=1 << 70)), Storage, "nothing was written: Integer value out of range"),
]


@pytest.mark.parametrize(("bad", "error", "message"), BAD_UNITS, ids=lambda value: getattr(value, "__name__", ""))
async def test_a_bad_unit_fails_alone(
    engine: str, store: Store, path: str, bad: Transaction, error: type[Exception], message: str
) -> None:
    """A faulty transaction is not written at all, and the others of its batch are."""
    await write(store, made(1), made(2))
    await write(store, said(2, event(2), keys=("k",)))
    bad = bad._replace(parts=[AgentWrite(profile(2, 3), [event(3, "note", "half")]), *bad.parts])
    first, guilty, last = await write(store, made(8), bad, made(9))

    kind, said_of_it = failed(guilty)
    assert error == kind
    assert "postgres" == engine or said_of_it.startswith(message)
    assert not isinstance(first, Exception)
    assert not isinstance(last, Exception)
    assert [] == query(path, "SELECT * FROM events WHERE content = 'half'")


async def test_a_bad_unit_alone_in_its_transaction(store: Store) -> None:
    """A single faulty transaction is tried once, and the next one is written."""
    await write(store, made(1))
    (outcome,) = await write(store, said(1, event(1)))

    assert failed(outcome)[0] is DivergedError
    assert [[2]] == await write(store, said(1, event(2)))


@pytest.mark.file
async def test_no_room_in_the_file(store: Store) -> None:
    """A full file refuses a transaction that does not fit, can be read, and takes it once there is room."""
    await write(store, made(1))
    pages = await pragma(store, "page_count")
    await pragma(store, f"max_page_count = {pages}")
    (outcome,) = await write(store, said(1, event(2, content="x" * 100_000)))
    found = await store.read(queries.find, "agent-1")
    await pragma(store, "max_page_count = 100000")

    assert "nothing was written: database or disk is full" == failed(outcome)[1]
    assert profile(1, 1) == found
    assert [[2]] == await write(store, said(1, event(2, content="x" * 100_000)))


@pytest.mark.file
async def test_no_room_on_the_disk(store: Store) -> None:
    """A write that the system refuses fails one transaction; one that fits in the same batch is written."""
    await write(store, made(1), made(2))
    with files_no_larger_than(400_000):
        outcomes = await write(store, said(1, event(2, content="x" * 900_000)), said(2, event(2)))
    later = await write(store, said(1, event(2)))

    assert failed(outcomes[0])[0] is Storage
    assert [[3], [4]] == [outcomes[1], *later]
    assert "ok" == await pragma(store, "integrity_check")


@pytest.mark.file
async def test_a_file_that_became_read_only(store: Store) -> None:
    """Reads are served while nothing can be written, and writing goes on once it can."""
    await write(store, made(1))
    await pragma(store, "query_only = ON")
    (outcome,) = await write(store, said(1, event(2)))
    found = await store.read(queries.find, "agent-1")
    await pragma(store, "query_only = OFF")

    assert "nothing was written: attempt to write a readonly database" == failed(outcome)[1]
    assert found is not None
    assert [[2]] == await write(store, said(1, event(2)))


@pytest.mark.file
async def test_a_locked_file(store: Store, path: str) -> None:
    """If another program holds the lock, all transactions wait for it together, and fail together."""
    await write(store, made(1), made(2))
    await pragma(store, "busy_timeout = 10")
    begun: list[str] = []
    await store._database.run(lambda connection: connection.set_trace_callback(begun.append))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        outcomes = await write(store, said(1, event(2)), said(2, event(2)))

    assert ["nothing was written: database is locked"] * 2 == [failed(outcome)[1] for outcome in outcomes]
    assert 1 == begun.count("BEGIN IMMEDIATE")
    assert [[3], [4]] == await write(store, said(1, event(2)), said(2, event(2)))


class _UnsyncedCursor(sqlite3.Cursor):
    """A cursor whose commits SQLite cannot sync."""

    def execute(self, sql: str, *values: Any) -> "_UnsyncedCursor":
        if sql == "COMMIT":
            raise _unsynced()
        return super().execute(sql, *values)


class _UnsyncedConnection(sqlite3.Connection):
    """A connection on which no commit can be synced, except the PRAGMA that follows one, if that ``works``."""

    works = True

    def cursor(self, *_: Any) -> Any:
        return _UnsyncedCursor(self)

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        if " = " in sql and not self.works:
            raise _unsynced()
        return super().cursor().execute(sql, *values)


def _unsynced() -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_FSYNC
    return error


@pytest.mark.file
@pytest.mark.parametrize(
    ("works", "expected"),
    [(True, (Storage, "nothing was written: ")), (False, (Internal, "commit state unknown: "))],
)
def test_a_commit_that_is_not_synced(path: str, works: bool, expected: tuple[type[ReelError], str]) -> None:
    """A commit that was not synced is overwritten; if that is not possible either, its caller is told of the doubt."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        prepare(connection, path)
    done: list[str] = []
    with closing(sqlite3.connect(path, isolation_level=None, factory=_UnsyncedConnection)) as connection:
        writer = transactions.EventWriter(connection, "a file")
        connection.works = works
        connection.set_trace_callback(done.append)
        (outcome,) = writer.commit(connection, [made(1)])

    assert (True, True) == (issubclass(failed(outcome)[0], expected[0]), failed(outcome)[1].startswith(expected[1]))
    assert works == any(" = " in sql for sql in done[done.index("ROLLBACK") :])


@pytest.mark.file
def test_old_keys_are_forgotten(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest keys are deleted, a few at a time, and the newest stay."""
    monkeypatch.setattr(transactions, "_FORGOTTEN_AT_ONCE", 2)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        prepare(connection, path)
        log = transactions.EventWriter(connection, "a file")
        log.commit(connection, [made(1)._replace(keys=[key(name) for name in ("z", "y", "x", "new")])])
        more = transactions.forget_keys(connection, 1)
        half: list[Any] = connection.execute("SELECT key FROM keys ORDER BY id").fetchall()
        still_more = transactions.forget_keys(connection, 1)
        left: list[Any] = connection.execute("SELECT key FROM keys").fetchall()

    assert (True, [("x",), ("new",)], False, [("new",)]) == (more, half, still_more, left)

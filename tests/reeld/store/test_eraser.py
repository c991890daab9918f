"""Erasures one after the other: what was decided is finished, whatever came after it, and nothing else is."""

import errno
import os
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import anyio
import pytest

from reel.base.errors import Storage
from reel.daemon.database_url import is_url
from reel.wire.msgpack_codec import packer
from reeld.core.redaction import Redaction
from reeld.store import eraser, erasing_backups, erasures, sweep
from reeld.store.erasing_backups import erase_in
from reeld.store.erasures import Change, Decision, Order
from reeld.store.redacting import Past, plan_redaction
from reeld.store.room import MARGIN
from reeld.store.store import Store, open_store
from reeld.store.wal import checkpoint, truncate_wal
from tests.patience import PATIENCE
from tests.reeld.store.making import event, made, query, write

ORDER = Order("redact", "a", None, 1)
_STATES = "SELECT state FROM erasures ORDER BY id"
_CONTENTS = "SELECT content FROM events ORDER BY id"


def decided(connection: sqlite3.Connection, event_id: int) -> None:
    """Decide an erasure of the content of an event."""
    number = erasures.begin(connection, ORDER)
    erasures.stage(connection, [Change(event_id, "gone")])
    erasures.decide(connection.cursor(), Decision(number, 1), 3, packer())


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Read an old state of a file for as long as the block lasts, as another program may do."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        connection.execute(_CONTENTS).fetchall()
        yield


def has_secret(path: str) -> bool:
    """Return whether a file has the first message."""
    return b"secret" in Path(path).read_bytes().replace(b"secret too", b"")


async def filled(store: Store) -> None:
    """Write two messages."""
    await write(store, made(1, event(2, content="secret"), event(3, content="secret too")))


async def decide(store: Store, event_id: int) -> None:
    """Decide an erasure in an open database, as if the daemon was killed then."""
    await store._database.run(lambda connection: decided(connection, event_id))


async def test_what_was_not_decided_is_not_done(path: str) -> None:
    """The start forgets an erasure that was only staged, also if traces of one before it were left."""
    with anyio.fail_after(PATIENCE):
        async with open_store(path) as store:
            await filled(store)
            await decide(store, 2)
            await store._database.run(lambda connection: erasures.apply(connection, packer()))
            await store._database.run(lambda connection: erasures.begin(connection, ORDER))
            await store._database.run(lambda connection: erasures.stage(connection, [Change(3, "gone")]))
        async with open_store(path) as store:
            await store.eraser.end()
            await store.eraser.tidy()

    assert [(None,), ("gone",), ("secret too",)] == query(path, _CONTENTS)
    assert [("done",)] == query(path, _STATES)
    assert [] == query(path, "SELECT * FROM erased_events")


@pytest.mark.file
async def test_a_start_beside_a_reader(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An erasure that a start carries through is done when nobody reads an old state any more, and not before."""
    monkeypatch.setattr(eraser, "_TRIES", 1)
    with anyio.fail_after(PATIENCE):
        async with open_store(path) as store:
            await filled(store)
        with reading(path):
            with closing(sqlite3.connect(path, isolation_level=None)) as connection:
                decided(connection, 2)
            async with open_store(path) as store:
                await store.eraser.end()
                await store.eraser.tidy()
                before = store.eraser.has_traces, await store.read(lambda opened: opened.execute(_STATES).fetchall())
        async with open_store(path) as store:
            pass

    assert (True, [("applied",)]) == before


@pytest.mark.file
async def test_traces_go_when_the_reader_ends(path: str) -> None:
    """What a start could not remove is removed later, and neither the index nor a moment of quiet ends it too early."""
    with anyio.fail_after(PATIENCE):
        async with open_store(path) as store:
            await filled(store)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            decided(connection, 2)
        reader = reading(path)
        with reader:
            opened = open_store(path)
            store = await opened.__aenter__()
        await store.eraser.tidy()
        first = store.eraser.has_traces, await store.read(lambda opened: opened.execute(_STATES).fetchall())
        await store.eraser.end()
        second = await store.read(lambda opened: opened.execute(_STATES).fetchall())
        await opened.__aexit__(None, None, None)

    assert ((False, [("applied",)]), [("done",)]) == (first, second)
    assert not has_secret(path)


@pytest.mark.file
async def test_a_sync_that_fails(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was cleared is written again, though the file shows it."""
    told, cleared = set[int](), list[tuple[int, int]]()
    write_, sync = os.pwrite, os.fsync

    def tell(descriptor: int) -> None:
        """Fail once for each descriptor of the database, as the system does."""
        sync(descriptor)
        if descriptor not in told and os.path.sameopenfile(descriptor, ground.descriptor):
            told.add(descriptor)
            raise OSError(errno.EIO, "it was lost")

    def note(descriptor: int, data: bytes, at: int) -> int:
        if descriptor == ground.descriptor:
            cleared.append((len(data), at))
        return write_(descriptor, data, at)

    async with open_store(path) as store:
        await filled(store)
        await decide(store, 2)
    async with open_store(path) as store:
        assert store.engine.ground is not None
        ground = store.engine.ground
        monkeypatch.setattr(os, "pwrite", note)
        monkeypatch.setattr(os, "fsync", tell)
        await store.eraser.tidy()
        failed, first = store.eraser.has_traces, set(cleared)
        cleared.clear()
        await store.eraser.tidy()

        assert (True, False) == (failed, store.eraser.has_traces)
        assert set() < first <= set(cleared)
    assert not has_secret(path)


@asynccontextmanager
async def returning_reader(store: Store, busy: int) -> AsyncIterator[None]:
    """Let another program read an old state of the file again and again.

    Args:
        store: the database.
        busy: how many attempts in a row to empty the WAL see the reader; the next one does not.
    """
    attempts = 0

    def look(sql: str) -> None:
        nonlocal attempts
        if "TRUNCATE" not in sql:
            return
        if attempts % (busy + 1) == 0:
            other.execute("UPDATE agents SET updated = updated + 1")
            other.execute("BEGIN")
            other.execute(_CONTENTS).fetchall()
        elif attempts % (busy + 1) == busy:
            other.execute("ROLLBACK")
        attempts += 1

    with closing(sqlite3.connect(store.path, isolation_level=None, check_same_thread=False)) as other:
        await store._database.run(lambda connection: connection.set_trace_callback(look))
        yield
        await store._database.run(lambda connection: connection.set_trace_callback(None))


@pytest.mark.file
@pytest.mark.parametrize(("busy", "is_clean"), [(1, True), (2, False)])
async def test_readers_that_return(
    store: Store, path: str, monkeypatch: pytest.MonkeyPatch, busy: int, *, is_clean: bool
) -> None:
    """However often the file is held, the pass ends if it waits more than it clears; it is completed later."""
    for module, name, value in (
        *((eraser, name, 0) for name in ("_PATIENCE", "_PAUSE", "_REST")),
        # Three pages are cleared each time the file is held: the clock goes on by one with each.
        *((sweep, "time", SimpleNamespace(monotonic=count().__next__)), (sweep, "_SLICE", 2), (sweep, "_KEPT", 0)),
        *((eraser, "_TRIES", 4), (eraser, "_EARNED", 1)),
    ):
        monkeypatch.setattr(module, name, value)
    await write(store, made(1, event(2, content="secret"), event(3, content="x" * 1_000_000)))
    async with store.eraser.turn():
        await decide(store, 2)
        await store.eraser.apply()
        async with returning_reader(store, busy):
            cleaned = await store.eraser.clean()
    problem = store.eraser.problem
    await store.eraser.tidy()

    assert is_clean == cleaned
    assert is_clean or "reads an old state of it" in str(problem)
    assert (None, False) == (store.eraser.problem, has_secret(path))


async def test_a_quiet_moment_in_an_erasure(store: Store) -> None:
    """Maintenance ends no erasure that still goes on."""
    await filled(store)
    store.eraser.has_traces = True
    async with anyio.create_task_group() as tasks, store.eraser.turn():
        store.eraser.has_traces = True
        await decide(store, 2)
        tasks.start_soon(store.eraser.tidy)
        await store.eraser.apply()
        states = await store.read(lambda opened: opened.execute(_STATES).fetchall())

    assert [("applied",)] == states


@pytest.mark.file
async def test_an_erasure_that_could_not_be_applied(store: Store) -> None:
    """After one that is decided but cannot be applied, no other is begun until the next start."""
    await filled(store)
    broken = "CREATE TRIGGER broken BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'broken'); END"
    await store._database.run(lambda opened: opened.execute(broken))

    async def erase() -> None:
        async with store.eraser.turn():
            await decide(store, 2)
            await store.eraser.apply()

    with pytest.raises(Storage, match="could not all be overwritten: broken"):
        await erase()
    with pytest.raises(Storage, match="one before it is not complete"):
        await erase()

    assert [(2,)] == await store.read(lambda opened: opened.execute("SELECT event FROM erased_events").fetchall())


@pytest.mark.file
async def test_a_backup_that_somebody_reads(store: Store, tmp_path: Path) -> None:
    """A backup of which another program reads an old state is not called done."""
    copy = str(tmp_path / "copy.db")
    await filled(store)
    await store.backup(copy)
    query(copy, "PRAGMA journal_mode = WAL")
    past = Past(1, {1: f"{1:032x}"}, [(1, 9)], [], {})
    find = partial(plan_redaction, past, Redaction("now", b"k", ["secret"]))
    with reading(copy), pytest.raises(Storage, match="another program reads it"):
        erase_in(copy, ORDER, find)
    with closing(sqlite3.connect(store.path, isolation_level=None)) as connection:
        erasures.begin(connection, ORDER, f'["{copy}"]')
        erasing_backups.finish_in_backups(connection, store.path)

    assert [("done",)] == query(copy, _STATES)
    assert not has_secret(copy)


async def test_nobody_cleans_after_an_erasure(store: Store, path: str) -> None:
    """What was applied is cleaned at the next idle moment, also if its command has not come to that."""
    await filled(store)
    async with store.eraser.turn():
        await decide(store, 2)
        await store.eraser.apply()
    await store.eraser.tidy()

    assert [("done",)] == await store.read(lambda opened: opened.execute(_STATES).fetchall())
    assert is_url(path) or not has_secret(path)


@pytest.mark.file
async def test_a_wal_that_was_removed(store: Store, path: str) -> None:
    """The file is not cleaned while the WAL is away: a copy of the WAL into it could not be repaired after a crash."""
    await filled(store)
    await decide(store, 2)
    wal, aside = f"{path}-wal", f"{path}-aside"
    os.rename(wal, aside)
    await store.eraser.apply()
    cleaned = await store.eraser.clean()
    problem = store.eraser.problem
    os.rename(aside, wal)

    assert (False, True) == (cleaned, "was removed or moved away" in str(problem))
    assert await store.eraser.clean()
    assert store.eraser.problem is None


@pytest.mark.file
async def test_an_erasure_that_cannot_be_recorded_as_complete(store: Store) -> None:
    """On a disk that has become full, the reply says that something is left, and it is tried again."""
    await filled(store)
    broken = (
        "CREATE TRIGGER broken BEFORE UPDATE ON erasures WHEN NEW.state = 'done' BEGIN SELECT RAISE(ABORT, 'full'); END"
    )
    await store._database.run(lambda opened: opened.execute(broken))
    async with store.eraser.turn():
        await decide(store, 2)
        await store.eraser.apply()
        cleaned = await store.eraser.clean()
    problem = store.eraser.problem
    await store._database.run(lambda opened: opened.execute("DROP TRIGGER broken"))
    await store.eraser.tidy()

    assert (False, "an erasure cannot be recorded as complete: full") == (cleaned, problem)
    assert store.eraser.problem is None
    assert not await store.read(erasures.unfinished)


@pytest.mark.file
async def test_an_erasure_that_could_not_be_abandoned(store: Store) -> None:
    """What was staged and refused is done with no later erasure; nothing is erased until it is abandoned."""
    await filled(store)
    broken = "CREATE TRIGGER broken BEFORE DELETE ON erased_events BEGIN SELECT RAISE(ABORT, 'broken'); END"
    await store._database.run(lambda opened: opened.execute(broken))

    async def refused() -> None:
        async with store.eraser.turn():
            await store.eraser.stage(ORDER, [Change(2, "gone")])
            raise Storage("refused")

    with pytest.raises(Storage, match="refused"):
        await refused()
    with pytest.raises(Storage, match="one before it is not complete"):
        await refused()
    problem = store.eraser.problem
    await store._database.run(lambda opened: opened.execute("DROP TRIGGER broken"))
    async with store.eraser.second_turn():
        await store.eraser.apply()
    async with store.eraser.turn():
        await decide(store, 3)
        await store.eraser.apply()

    assert "it is not known whether anything is left of an erasure: broken" == problem
    assert [(None,), ("secret",), ("gone",)] == await store.read(lambda opened: opened.execute(_CONTENTS).fetchall())
    assert None is store.eraser.problem


@pytest.mark.file
async def test_an_erasure_while_the_wal_cannot_be_copied(store: Store) -> None:
    """It is staged and applied all the same, as on a full disk: the WAL only goes on growing."""
    await filled(store)
    reading = await store._database.run(lambda opened: opened.execute(_CONTENTS))
    await store._database.run(lambda _: reading.fetchone())  # half-read, it keeps this connection from copying
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        await store._database.run(checkpoint)
    async with store.eraser.turn():
        number = await store.eraser.stage(ORDER, [Change(2, "gone")])
        decision = Decision(number, 1)
        await store._database.run(lambda opened: erasures.decide(opened.cursor(), decision, 3, packer()))
        await store.eraser.apply()
    await store._database.run(lambda _: reading.close())

    assert [(None,), ("gone",), ("secret too",)] == await store.read(
        lambda opened: opened.execute(_CONTENTS).fetchall()
    )


@pytest.mark.file
@pytest.mark.parametrize("is_gone", [False, True])
async def test_a_slice_costs_the_same_however_much_is_left(path: str, is_gone: bool) -> None:
    """Each slice of an erasure looks at its own events alone: commits of others wait for it."""
    steps: list[int] = []

    def apply(connection: sqlite3.Connection) -> bool:
        steps.append(0)

        def count() -> None:
            steps[-1] += 1

        connection.set_progress_handler(count, 100)
        try:
            return erasures.apply(connection, packer(), limit=100)
        finally:
            connection.set_progress_handler(None, 0)

    def stage(connection: sqlite3.Connection) -> None:
        number = erasures.begin(connection, ORDER)
        erasures.stage(connection, [Change(event_id, is_gone=is_gone) for event_id in range(2, 5002)])
        erasures.decide(connection.cursor(), Decision(number, 5000), 5002, packer())

    async with open_store(path) as store:
        await write(store, made(1, *(event(seq, content="secret") for seq in range(2, 5002))))
        await store._database.run(stage)
        while await store._database.run(apply):
            pass

    assert 50 == len(steps)
    assert max(steps) <= 1.5 * min(steps)


@pytest.mark.file
@pytest.mark.parametrize("is_gone", [False, True])
async def test_a_slice_fits_into_little_room(path: str, is_gone: bool) -> None:
    """However far apart its events are, a slice leaves much of the room that a command requires to others."""
    far_apart = range(9, 9000, 9)

    def stage(connection: sqlite3.Connection) -> None:
        number = erasures.begin(connection, ORDER)
        erasures.stage(connection, [Change(event_id, is_gone=is_gone) for event_id in far_apart])
        erasures.decide(connection.cursor(), Decision(number, len(far_apart)), 9000, packer())

    sizes: list[int] = []
    async with open_store(path) as store:
        await write(store, made(1, *(event(seq, content="x" * 900) for seq in range(2, 9000))))
        await store._database.run(stage)
        more = True
        while more:
            await store._database.run(lambda connection: truncate_wal(connection, 0))
            more = await store._database.run(partial(erasures.apply, pack=packer()))
            sizes.append((await store._database.run(checkpoint)).size)

    assert max(sizes) < 0.6 * MARGIN

"""When the WAL is lengthened, copied into the file, and begun again, and how large it becomes."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from operator import attrgetter
from pathlib import Path

import anyio
import pytest
import trio.testing

from reel.base.errors import Storage
from reeld.store import checkpoints, wal
from reeld.store.store import Store
from reeld.store.transactions import Outcome
from reeld.verify.verifier import open_verifier
from tests.patience import PATIENCE
from tests.reeld.store.making import content, event, made, pragma, query, said, size, write

pytestmark = [pytest.mark.slow, pytest.mark.file]


@pytest.fixture
def never_lengthened(monkeypatch: pytest.MonkeyPatch) -> None:
    """The WAL is only as long as what was written."""
    monkeypatch.setattr(checkpoints, "_IN_USE", 1 << 60)


async def copied_ahead(store: Store) -> None:
    """Wait until the WAL is not being copied while others commit."""
    copier = store.engine.copier
    assert copier is not None
    await copier.run(lambda _: None)


@pytest.mark.usefixtures("never_lengthened")
async def test_the_wal_is_copied_after_so_many_rows(store: Store, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer checkpoints between two commits, so that the WAL is reused and does not grow."""
    monkeypatch.setattr(checkpoints, "_EVERY", 20)
    await write(store, made(1))
    await pragma(store, "wal_checkpoint(TRUNCATE)")
    for seq in range(2, 80):
        await write(store, said(1, event(seq, content="x" * 4000)))
        await copied_ahead(store)

    assert size(path + "-wal") < 40 * 4120 < size(path)


@pytest.mark.usefixtures("never_lengthened")
async def test_the_wal_is_copied_after_so_much_text(store: Store, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few long texts fill as many pages as many short ones."""
    monkeypatch.setattr(checkpoints, "_EVERY", 20)
    await write(store, made(1))
    await pragma(store, "wal_checkpoint(TRUNCATE)")
    for seq in range(2, 7):
        await write(store, said(1, event(seq, content="x" * 100_000)))
        await copied_ahead(store)

    assert size(path + "-wal") < 3 * 100_000 < size(path)


async def test_a_checkpoint_lets_those_who_wait_pass(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting transactions are committed before the checkpoint that is due; later ones wait for it."""
    await write(store, made(1))
    await store.writer.checkpoint()
    monkeypatch.setattr(checkpoints, "_EVERY", 1)
    store.writer._checkpoints._copier = None
    pages: list[int] = []
    over = anyio.Event()

    def settle(_: Outcome) -> None:
        pages.append(store.writer._checkpoints.pages)
        if len(pages) < 4:
            store.writer.submit(said(1, event(1 + len(pages))), settle)
        else:
            over.set()

    store.writer.submit(said(1, event(1)), settle)
    await over.wait()

    assert [1, 2, 1, 2] == [count // checkpoints._PAGES_OF_A_COMMIT for count in pages]


def pages_since(store: Store) -> int:
    """Return how many commits of a page or so were made since the last checkpoint."""
    return store.writer._checkpoints.pages // checkpoints._PAGES_OF_A_COMMIT


async def test_others_commit_while_the_wal_is_copied(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checkpoint comes when all that was there before is in the file."""
    monkeypatch.setattr(checkpoints, "_EVERY", 1)
    await write(store, made(1))
    await copied_ahead(store)
    await store.writer.checkpoint()
    turn = (await store._database.run(attrgetter("copies")))._turn
    with turn:  # so the copying has begun, and does not end
        for seq in range(2, 6):
            await write(store, said(1, event(seq)))
        meanwhile = pages_since(store)
    await copied_ahead(store)
    monkeypatch.setattr(checkpoints, "_EVERY", 1 << 60)
    await write(store, said(1, event(6)))

    assert 4 == meanwhile
    assert pages_since(store) < 2


async def test_the_wal_is_copied_in_portions(store: Store, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of it is in the file long before the checkpoint."""
    await write(store, made(1))
    await store.writer.checkpoint()
    monkeypatch.setattr(checkpoints, "_EVERY", 12 * checkpoints._PAGES_OF_A_COMMIT)
    changed = []
    for seq in range(2, 8):
        before = content(path)
        await write(store, said(1, event(seq)))
        await copied_ahead(store)
        changed.append(before != content(path))

    assert [False, False, True, False, False, True] == changed
    assert 6 == pages_since(store)


async def test_commits_wait_for_copying_that_does_not_end(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """They would make the WAL grow without bounds."""
    monkeypatch.setattr(checkpoints, "_EVERY", 1)
    await write(store, made(1))
    await copied_ahead(store)
    await store.writer.checkpoint()
    monkeypatch.setattr(checkpoints, "_LARGE", 3 * checkpoints._PAGES_OF_A_COMMIT * checkpoints._PAGE)
    turn = (await store._database.run(attrgetter("copies")))._turn
    waiting = []
    with turn:  # so the copying has begun, and does not end
        for seq in range(2, 6):
            await write(store, said(1, event(seq)))
            await trio.testing.wait_all_tasks_blocked()
            waiting.append(store._database.waiting)

    assert [0, 0, 0, 1] == waiting


async def test_a_checkpoint_does_not_wait_for_a_backup(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the connection that copies the WAL makes a backup, the one that commits does all of it."""
    monkeypatch.setattr(checkpoints, "_EVERY", 1)
    copier, over = store.engine.copier, threading.Event()
    assert copier is not None
    await write(store, made(1))
    await copied_ahead(store)
    await store.writer.checkpoint()
    copier.submit(lambda _: over.wait(PATIENCE), lambda _: None)
    await write(store, said(1, event(2)))
    monkeypatch.setattr(checkpoints, "_EVERY", 1 << 60)
    await write(store, said(1, event(3)))
    over.set()

    assert 1 == pages_since(store)


async def test_a_wal_of_a_displaced_file_is_not_copied(
    store: Store, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file without its WAL would be damaged if the daemon were killed meanwhile."""
    await write(store, made(1))
    await store.writer.checkpoint()
    await write(store, said(1, event(2, content="x" * 20_000)))
    before = content(path)
    exchange(Path(f"{path}-wal"))
    monkeypatch.setattr(checkpoints, "_EVERY", 1)
    store.writer._checkpoints.note(1, 1)
    await copied_ahead(store)

    assert before == content(path)


async def test_a_checkpoint_that_is_due_of_a_displaced_file(
    store: Store, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not made by a commit that is refused."""
    await write(store, made(1))
    await store.writer.checkpoint()
    monkeypatch.setattr(checkpoints, "_EVERY", 1)
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.executescript("BEGIN; SELECT count(*) FROM events")  # so not everything is copied
        await write(store, said(1, event(2, content="x" * 20_000)))
        await copied_ahead(store)
    before = content(path)
    exchange(Path(f"{path}-wal"))
    (refused,) = await write(store, said(1, event(3)))
    await trio.testing.wait_all_tasks_blocked()

    assert isinstance(refused, Storage)
    assert before == content(path)


async def test_copying_the_wal_fails(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is said, and the checkpoint after it makes up for that."""
    copier = store.engine.copier
    assert copier is not None
    await write(store, made(1))
    await store.writer.checkpoint()
    monkeypatch.setattr(checkpoints, "_EVERY", 1)
    await copier.run(lambda connection: connection.set_authorizer(lambda *_: sqlite3.SQLITE_DENY))
    await write(store, said(1, event(2)))
    await copied_ahead(store)
    monkeypatch.setattr(checkpoints, "_EVERY", 1 << 60)
    failed = store.writer.housekeeping.problem
    await write(store, said(1, event(3)))
    await write(store, said(1, event(4)))

    assert "checkpoint: not authorized; it is tried again" == failed
    assert store.writer.housekeeping.problem is None
    assert "checkpoint works again" == caplog.messages[-1]


@contextmanager
def relay(path: str) -> Iterator[None]:
    """Let two readers alternate so that there is no moment without a reader."""
    over = threading.Event()

    def read() -> None:
        with ExitStack() as stack:
            one, other = (
                stack.enter_context(closing(sqlite3.connect(path, isolation_level=None, timeout=PATIENCE)))
                for _ in "ab"
            )
            while not over.wait(0.002):
                other.execute("BEGIN")
                other.execute("SELECT count(*) FROM agents").fetchall()
                if one.in_transaction:
                    one.execute("COMMIT")
                one, other = other, one

    thread = threading.Thread(target=read)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.mark.usefixtures("never_lengthened")
async def test_the_wal_is_bounded_though_somebody_always_reads(
    store: Store, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If readers never pause, the writer waits for the present ones, and the WAL is reused."""
    monkeypatch.setattr(checkpoints, "_EVERY", 20)
    monkeypatch.setattr(checkpoints, "_LARGE", 1 << 20)
    store.writer._checkpoints._large = 1 << 20
    await write(store, made(1))
    with relay(path):
        largest = 0
        for seq in range(2, 1500):
            await write(store, said(1, event(seq, content="x" * 4000)))
            await copied_ahead(store)
            largest = max(largest, size(path + "-wal"))

    assert largest < 3 << 20 < 5 << 20 < size(path)


@pytest.mark.usefixtures("never_lengthened")
async def test_commits_wait_briefly_before_they_wait_long(
    store: Store, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A WAL that overlapping readers keep is overwritten before it is so large that commits wait long for them."""
    monkeypatch.setattr(checkpoints, "_EVERY", 20)
    monkeypatch.setattr(checkpoints, "_LARGE", 2 << 20)
    # The readers of this test may take longer than our own, on a busy machine; nothing is gained by a long wait.
    monkeypatch.setattr(checkpoints, "_GLANCE", 60_000)
    monkeypatch.setattr(checkpoints, "_MAX_PATIENCE", 0)
    store.writer._checkpoints._large = 2 << 20
    await write(store, made(1))
    with relay(path):
        largest = 0
        for seq in range(2, 1000):
            await write(store, said(1, event(seq, content="x" * 4000)))
            await copied_ahead(store)
            largest = max(largest, size(path + "-wal"))

    assert largest < 2 << 20 < 3 << 20 < size(path)


@pytest.mark.usefixtures("never_lengthened")
async def test_the_wal_is_bounded_while_it_is_all_verified(
    store: Store, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under constant load, with checks and long walks all the time, the WAL stays as small."""
    monkeypatch.setattr(checkpoints, "_EVERY", 20)
    monkeypatch.setattr(checkpoints, "_LARGE", 1 << 20)
    store.writer._checkpoints._large = 1 << 20
    await write(store, made(1, *(event(seq) for seq in range(2, 500))))

    async def verify() -> None:
        while True:
            async with open_verifier(store) as verifier:
                await verifier.check_file()
                await verifier.check_logs(None)

    async def walk() -> None:
        while True:
            await store.rebuild(1)

    largest = 0
    async with anyio.create_task_group() as tasks:
        for task in (verify, walk, walk, walk):
            tasks.start_soon(task)
        await write(store, made(2))
        for seq in range(2, 400):
            await write(store, said(2, event(seq, content="x" * 12_000)))
            await copied_ahead(store)
            largest = max(largest, size(path + "-wal"))
        tasks.cancel_scope.cancel()

    assert largest < 3 << 20 < 4 << 20 < size(path)


async def test_a_reader_that_stays(store: Store, path: str, caplog: pytest.LogCaptureFixture) -> None:
    """A very long read is not waited for repeatedly: the next try comes when the WAL is twice as large."""
    await write(store, made(1))
    store.writer._checkpoints._large = 1
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM agents").fetchall()
        await write(store, said(1, event(2)))
        await store.writer.checkpoint()
        await store.writer.checkpoint()

        assert ["a reader is slow; the WAL has 0 MB and grows"] == caplog.messages
    store.writer._checkpoints._large = 1
    await store.writer.checkpoint()
    assert 1 << 20 < store.writer._checkpoints._large


async def test_a_wal_that_has_begun_anew_is_bounded_as_before(store: Store) -> None:
    """One long read does not let the WAL grow further the next time."""
    await write(store, made(1))
    store.writer._checkpoints._large = 1 << 40
    await store.writer.checkpoint()

    assert checkpoints._LARGE == store.writer._checkpoints._large


async def test_a_checkpoint_that_fails_is_no_failure(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    """If checkpoints fail, the WAL grows, the log says why, and transactions are written."""
    store.writer._checkpoints._database = None  # type: ignore[assignment]
    await store.writer.checkpoint()
    store.writer._checkpoints._database = store._database

    assert [True] == [text.startswith("checkpoint failed, and is tried again: ") for text in caplog.messages]
    assert [[1]] == await write(store, made(1))


async def test_a_wal_is_lengthened_once_it_is_in_use(store: Store, path: str) -> None:
    """A daemon that commits again and again has a WAL that does not grow until the first checkpoint."""
    await write(store, made(1))
    for seq in range(2, checkpoints._IN_USE):
        await write(store, said(1, event(seq)))
    before = size(f"{path}-wal")
    sizes = []
    for seq in range(checkpoints._IN_USE, 250):
        await write(store, said(1, event(seq)))
        sizes.append(size(f"{path}-wal"))
    steps = wal._LENGTH // len(wal._ZEROS) + 2

    assert before < len(wal._ZEROS)
    assert {wal._LENGTH} == set(sizes[steps * checkpoints._IN_USE :])
    assert 249 == query(path, "SELECT count(*) FROM events")[0][0]


def exchange(file: Path) -> None:
    """Put another file in the place of one."""
    file.rename(f"{file}.away")
    file.write_bytes(b"somebody's")


async def test_a_displaced_wal_is_not_lengthened(store: Store, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that somebody has put at the path of the WAL is left as it is."""
    await write(store, made(1))
    monkeypatch.setattr(checkpoints, "_IN_USE", 0)
    exchange(Path(f"{path}-wal"))
    await store.writer._checkpoints.do_what_is_due()

    assert len(b"somebody's") == size(f"{path}-wal")

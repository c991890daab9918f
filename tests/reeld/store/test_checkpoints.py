"""When the WAL is lengthened, copied into the file, and begun again, and how large it becomes."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import anyio
import pytest

from reel.base.errors import Storage
from reeld.store import checkpoints, wal
from reeld.store.store import Store
from reeld.store.transactions import Outcome
from reeld.store.wal_format import FRAME_SIZE
from reeld.verify.verifier import open_verifier
from tests.patience import PATIENCE
from tests.reeld.store.making import contents, event, made, pragma, query, said, size, write

pytestmark = [pytest.mark.slow, pytest.mark.file]


@pytest.fixture
def never_lengthened(monkeypatch: pytest.MonkeyPatch) -> None:
    """The WAL is only as long as what was written."""
    monkeypatch.setattr(checkpoints, "_IN_USE", 1 << 60)


@pytest.mark.usefixtures("never_lengthened")
async def test_the_wal_is_copied_after_so_many_rows(store: Store, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer checkpoints between two commits, so that the WAL is reused and does not grow."""
    monkeypatch.setattr(checkpoints, "_COMMITS", 4)
    await write(store, made(1))
    await pragma(store, "wal_checkpoint(TRUNCATE)")
    for seq in range(2, 80):
        await write(store, said(1, event(seq, content="x" * 4000)))

    assert size(path + "-wal") < 40 * (FRAME_SIZE + 4096) < size(path)


@pytest.mark.usefixtures("never_lengthened")
async def test_the_wal_is_copied_after_so_much_text(store: Store, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few long texts fill as many pages as many short ones."""
    monkeypatch.setattr(checkpoints, "_OF_ROWS", 80_000)
    await write(store, made(1))
    await pragma(store, "wal_checkpoint(TRUNCATE)")
    for seq in range(2, 7):
        await write(store, said(1, event(seq, content="x" * 100_000)))

    assert size(path + "-wal") < 3 * 100_000 < size(path)


@pytest.mark.usefixtures("never_lengthened")
async def test_the_wal_is_copied_after_fewer_pages_that_are_new(
    store: Store, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages of rows count for more than those that each commit writes again."""
    monkeypatch.setattr(checkpoints, "_COMMITS", 1 << 60)
    monkeypatch.setattr(checkpoints, "_OF_ROWS", 80_000)
    await write(store, made(1))
    await pragma(store, "wal_checkpoint(TRUNCATE)")
    for seq in range(2, 80):
        await write(store, said(1, event(seq, content="x" * 4000)))

    assert size(path + "-wal") < 600_000


async def test_a_checkpoint_lets_those_who_wait_pass(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting transactions are committed before the checkpoint that is due; later ones wait for it."""
    await write(store, made(1))
    await store.writer.checkpoint()
    monkeypatch.setattr(checkpoints, "_COMMITS", 1)
    commits: list[int] = []
    over = anyio.Event()

    def settle(_: Outcome) -> None:
        commits.append(store.writer._checkpoints.commits)
        if len(commits) < 4:
            store.writer.submit(said(1, event(1 + len(commits))), settle)
        else:
            over.set()

    store.writer.submit(said(1, event(1)), settle)
    await over.wait()

    assert [1, 2, 1, 2] == commits


async def test_a_checkpoint_that_is_due_of_a_displaced_file(
    store: Store, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not made by a commit that is refused."""
    await write(store, made(1))
    await store.writer.checkpoint()
    await write(store, said(1, event(2, content="x" * 20_000)))
    before = contents(path)
    exchange(Path(f"{path}-wal"))
    monkeypatch.setattr(checkpoints, "_COMMITS", 1)
    (refused,) = await write(store, said(1, event(3)))

    assert isinstance(refused, Storage)
    assert before == contents(path)


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
    monkeypatch.setattr(checkpoints, "_COMMITS", 4)
    monkeypatch.setattr(checkpoints, "_LARGE", 1 << 20)
    store.writer._checkpoints._large = 1 << 20
    await write(store, made(1))
    with relay(path):
        largest = 0
        for seq in range(2, 1500):
            await write(store, said(1, event(seq, content="x" * 4000)))
            largest = max(largest, size(path + "-wal"))

    assert largest < 3 << 20 < 5 << 20 < size(path)


@pytest.mark.usefixtures("never_lengthened")
async def test_commits_wait_briefly_before_they_wait_long(
    store: Store, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A WAL that overlapping readers keep is overwritten before it is so large that commits wait long for them."""
    monkeypatch.setattr(checkpoints, "_COMMITS", 4)
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
            largest = max(largest, size(path + "-wal"))

    assert largest < 2 << 20 < 3 << 20 < size(path)


@pytest.mark.usefixtures("never_lengthened")
async def test_the_wal_is_bounded_while_it_is_all_verified(
    store: Store, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under constant load, with checks and long walks all the time, the WAL stays as small."""
    monkeypatch.setattr(checkpoints, "_COMMITS", 4)
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
    length = wal._FRAMES * (FRAME_SIZE + 4096)
    steps = length // len(wal._ZEROS) + 2

    assert before < len(wal._ZEROS)
    assert {length} == set(sizes[steps * checkpoints._IN_USE :])
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

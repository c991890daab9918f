"""The writer's task: what is one transaction, when callers are told, and how it ends."""

import logging
import sqlite3
import threading
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial

import anyio
import pytest

from reel.base.errors import Internal, Storage
from reeld.core.milestones import Extent, Milestone
from reeld.store import pace, queries, schema
from reeld.store.commit_faults import CommitInDoubt
from reeld.store.store import Store, open_store
from reeld.store.transactions import Outcome, Transaction
from tests.daemon import until
from tests.patience import PATIENCE
from tests.reeld.store.making import busy, event, made, pragma, profile, query, said, size, write
from tests.reeld.store.test_changes import counters

pytestmark = pytest.mark.slow


async def test_what_queued_up_during_a_commit_is_one_transaction(store: Store) -> None:
    """Transactions that are submitted during a commit are committed together, however many they are."""
    async with anyio.create_task_group() as tasks, busy(store):
        tasks.start_soon(write, store, made(1))
        while not store.writer.waiting:
            await anyio.lowlevel.checkpoint()
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(write, store, *(made(row) for row in range(2, 50)))
        tasks.start_soon(write, store, made(50))
        await anyio.wait_all_tasks_blocked()

    assert (2, 50) == (store.writer.commits, store.writer.events)


@pytest.mark.file
async def test_nobody_is_told_before_the_commit(store: Store, path: str) -> None:
    """A transaction is settled once another connection can read it, in the order of submission."""
    seen: list[tuple[int, int]] = []
    settled = anyio.Event()

    def settle(number: int, _: Outcome) -> None:
        seen.append((number, query(path, "SELECT count(*) FROM events")[0][0]))
        if number == 2:
            settled.set()

    async with busy(store):
        for number in range(3):
            store.writer.submit(made(number + 1), partial(settle, number))
        assert [] == seen
        assert 3 == store.writer.waiting
    await settled.wait()

    assert [(0, 3), (1, 3), (2, 3)] == seen
    assert 0 == store.writer.waiting


@pytest.mark.file
async def test_what_others_can_read_is_counted(store: Store, path: str) -> None:
    """A commit is counted before another connection can read it, and once more before its caller is told."""
    counts, told = store.writer.changes._counts, anyio.Event()
    before = sum(counts[1:])
    with store.poller.batch:
        store.writer.submit(made(), lambda _: told.set())
    until(lambda: [(1,)] == query(path, "SELECT count(*) FROM events"))  # the event loop does nothing meanwhile
    readable = sum(counts[1:])
    await told.wait()

    assert before < readable < sum(counts[1:])


async def commit_threads(store: Store, transactions: Iterable[Transaction]) -> list[bool]:
    """Commit transactions one after the other; return of each whether it ran in the event loop's thread."""
    threads: list[int] = []

    def note(sql: str) -> None:
        if sql == "COMMIT":
            threads.append(threading.get_ident())

    await store._database.run(lambda connection: connection.set_trace_callback(note))
    for transaction in transactions:
        await write(store, transaction)
    return [thread == threading.get_ident() for thread in threads]


@pytest.mark.file
async def test_small_commits_run_in_the_loop(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a disk that was fast ten times, small commits run in the event loop's thread, and large ones do not."""
    monkeypatch.setattr(pace, "_FAST", PATIENCE)  # this disk may be slow
    monkeypatch.setattr(pace, "_SLOW", PATIENCE)
    monkeypatch.setattr(pace, "_STOP", PATIENCE)

    first = await commit_threads(store, (made(row) for row in range(1, 11)))
    assert [False] * 10 == first
    later = [made(11), made(12, *(event(seq) for seq in range(2, 100))), made(13)]
    assert [True, False, True] == await commit_threads(store, later)
    assert 13 == await store.read(lambda connection: len(connection.execute("SELECT * FROM agents").fetchall()))


@pytest.mark.file
async def test_a_file_that_another_process_has_locked(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit that finds the file locked waits in the connection's thread: the event loop goes on."""
    monkeypatch.setattr(pace, "_PROOF", 1)
    monkeypatch.setattr(pace, "_FAST", PATIENCE)  # this disk may be slow
    goes_on, is_locked = threading.Event(), threading.Event()

    def lock() -> bool:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            is_locked.set()
            return goes_on.wait(PATIENCE)

    with ThreadPoolExecutor(1) as threads:
        async with open_store(path) as store:
            await write(store, made(1))
            assert [True] == await commit_threads(store, [made(2)])
            await pragma(store, f"busy_timeout = {2000 * PATIENCE}")
            waited = threads.submit(lock)
            is_locked.wait(PATIENCE)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(write, store, made(3))
                await anyio.wait_all_tasks_blocked()
                goes_on.set()

    assert waited.result()
    assert [(3,)] == query(path, "SELECT count(*) FROM agents")


@pytest.mark.file
async def test_syncs_that_fail_leave_the_loop(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that takes long before it fails holds up the event loop twice in a minute at most."""
    monkeypatch.setattr(pace, "_PROOF", 1)
    monkeypatch.setattr(pace, "_FAST", PATIENCE)  # this disk may be slow
    monkeypatch.setattr(pace, "_SLOW", PATIENCE)
    async with open_store(path) as store:
        await write(store, made(1))
        monkeypatch.setattr(pace, "_STOP", 0.0)  # from now on, it takes long
        await store._database.run(fail_at_commits)

        assert [True, True, False] == await commit_threads(store, [made(2), made(3), made(4)])
    assert [(1,)] == query(path, "SELECT count(*) FROM agents")


def fail_at_commits(connection: sqlite3.Connection) -> None:
    """Let each commit with an event fail at its end, where the disk would."""
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("CREATE TEMP TABLE one (id INTEGER PRIMARY KEY)")
    connection.execute("CREATE TEMP TABLE other (id REFERENCES one DEFERRABLE INITIALLY DEFERRED)")
    connection.execute("CREATE TEMP TRIGGER late AFTER INSERT ON main.events BEGIN INSERT INTO other VALUES (1); END")


async def test_only_what_was_written_is_counted(store: Store) -> None:
    """A failed transaction adds nothing to the number of events written."""
    await write(store, made(1), made(1), made(2, event(2)))

    assert 3 == store.writer.events
    assert store.writer.longest_commit > 0


async def test_many_milestones_are_written_in_slices(path: str) -> None:
    """A commit writes at most a hundred of them, with those of others in between; closing writes all that are left."""
    noted = [
        Milestone(number, number, Extent(number, number), "user", None, None, None, (), ()) for number in range(1, 1001)
    ]
    async with open_store(path) as store:
        store.writer.note(noted)
        await write(store, made(1))
        ((few,),) = query(path, "SELECT count(*) FROM milestones")
        commits = store.writer.commits + 1  # one more may have been read before it is counted

    assert 0 < few <= 100 * commits < 1000
    assert [(1000,)] == query(path, "SELECT count(*) FROM milestones")


async def test_closing_writes_what_was_submitted(path: str) -> None:
    """Closing the store writes everything that it has accepted."""
    outcomes: list[Outcome] = []
    with anyio.fail_after(PATIENCE):
        async with open_store(path) as store:
            for row in range(1, 4):
                store.writer.submit(made(row), outcomes.append)

    assert [[1], [2], [3]] == outcomes
    assert [(3,)] == query(path, "SELECT count(*) FROM events")


async def test_a_cancelled_store_writes_what_was_submitted(path: str) -> None:
    """Draining waits for every accepted transaction."""
    outcomes: list[Outcome] = []
    with anyio.fail_after(PATIENCE), anyio.CancelScope() as scope:
        async with open_store(path) as store:
            store.writer.submit(made(), outcomes.append)
            scope.cancel()
            await anyio.sleep_forever()

    assert [[1]] == outcomes


async def collapse(path: str, use: Callable[[Store], Awaitable[None]]) -> pytest.ExceptionInfo[BaseExceptionGroup]:
    """Open a store, use it, and return the error it ended with."""

    async def run() -> None:
        async with open_store(path) as store:
            await use(store)

    with anyio.fail_after(PATIENCE), pytest.raises(BaseExceptionGroup) as raised:
        await run()
    return raised


async def test_a_bug_takes_the_store_down(path: str) -> None:
    """An error in a ``settle`` ends the store; the others of its commit hear that they are written."""
    outcomes: list[Outcome] = []

    def fail(_: Outcome) -> None:
        raise RuntimeError("a bug")

    async def use(store: Store) -> None:
        for settle in (outcomes.append, fail, fail, outcomes.append):
            store.writer.submit(made(store.new_row()), settle)
        try:
            await anyio.sleep_forever()
        finally:
            store.writer.submit(made(store.new_row()), outcomes.append)

    raised = await collapse(path, use)

    assert raised.group_contains(RuntimeError, match="a bug")
    assert [[1], [4], Internal] == [value if isinstance(value, list) else type(value) for value in outcomes]
    assert [(4,)] == query(path, "SELECT count(*) FROM events")


async def test_a_bug_in_a_transaction_takes_the_store_down(path: str) -> None:
    """An error that no transaction caused leaves the whole commit in doubt, and nobody else."""
    (agent,) = made().parts
    nonsense = Transaction([agent._replace(events=[object()])], [])  # type: ignore[list-item]
    outcomes: list[Outcome] = []

    async def use(store: Store) -> None:
        async with busy(store):
            store.writer.submit(made(), outcomes.append)
            store.writer.submit(nonsense, outcomes.append)
        try:
            await anyio.sleep_forever()
        finally:
            store.writer.submit(made(), outcomes.append)

    raised = await collapse(path, use)

    assert raised.group_contains(TypeError)
    assert [CommitInDoubt, CommitInDoubt, Internal] == [type(outcome) for outcome in outcomes]


async def test_a_bug_before_a_commit_is_settled(path: str) -> None:
    """If a bug comes between a commit and its outcomes, none of its transactions counts as failed."""
    outcomes: list[Outcome] = []

    async def use(store: Store) -> None:
        store.writer.news = object()  # type: ignore[assignment]
        store.writer.submit(made(1), outcomes.append)
        store.writer.submit(made(2), outcomes.append)
        await anyio.sleep_forever()

    await collapse(path, use)

    assert [CommitInDoubt] * 2 == [type(outcome) for outcome in outcomes]
    assert [(2,)] == query(path, "SELECT count(*) FROM events")


async def test_readers_do_not_wait_for_a_commit(store: Store) -> None:
    """While a transaction is open, a reader sees only what was committed."""
    await write(store, made(1))
    async with busy(store, "BEGIN IMMEDIATE", "UPDATE agents SET head = 99"):
        found = await store.read(queries.find, "agent-1")

    assert profile(1, 1) == found


async def test_proof_of_life(store: Store) -> None:
    """A writer sends heartbeats without writing events; one whose disk is busy sends none meanwhile."""
    proved = anyio.Event()

    async def prove() -> None:
        await store.writer.heartbeat()
        proved.set()

    async with anyio.create_task_group() as tasks:
        async with busy(store):
            tasks.start_soon(prove)
            await anyio.wait_all_tasks_blocked()
            assert not proved.is_set()
        await proved.wait()

    assert 0 == store.writer.events


@pytest.mark.file
@pytest.mark.parametrize("durability", schema.DURABILITIES)
async def test_a_heartbeat_reaches_the_disk(path: str, durability: str) -> None:
    """A heartbeat of an idle writer commits a page and syncs it, and leaves the connection's durability as it was."""
    statements: list[str] = []
    async with open_store(path, durability) as store:
        await pragma(store, "wal_checkpoint(TRUNCATE)")
        before = await pragma(store, "synchronous")
        await store._database.run(lambda opened: opened.set_trace_callback(statements.append))
        await store.writer.heartbeat()
        await store._database.run(lambda opened: opened.set_trace_callback(None))

        assert 32 + 24 + 4096 == size(f"{path}-wal")  # a header, and a frame with its header
        assert "PRAGMA synchronous = FULL" in statements[: statements.index("COMMIT")]
        assert before == await pragma(store, "synchronous")


@pytest.mark.file
async def test_commits_that_fail_are_logged(store: Store, path: str, caplog: pytest.LogCaptureFixture) -> None:
    """What the disk does to commits is logged, once; a transaction that is wrong in itself is not the disk's fault."""
    await write(store, made(1))
    with caplog.at_level(logging.WARNING):
        await write(store, said(1, event(1)), said(99, event(1)))
        await pragma(store, "query_only = ON")
        for _ in range(3):
            await write(store, said(1, event(2)))
        await store.writer.heartbeat()
        problem = store.writer.problem
        await pragma(store, "query_only = OFF")
        await write(store, said(1, event(1)))
        await store.writer.heartbeat()

    assert [
        f"a commit to {path} failed: storage: nothing was written: attempt to write a readonly database",
        f"commits to {path} work again; 4 failed within 0 s",
    ] == caplog.messages
    assert problem is not None
    assert problem.startswith("the last commit failed: storage: nothing was written: attempt to write a readonly")
    assert store.writer.problem is None


@pytest.mark.file
async def test_those_who_do_not_wait_notice_a_commit_that_fails(store: Store) -> None:
    """Its events count as if it had been made; so that nobody takes it for that, all agents count as changed."""
    await write(store, made(1))
    of_any, [of_agent] = counters(store.writer.changes)
    await pragma(store, "query_only = ON")
    (outcome,) = await write(store, said(1, event(2)))
    after = counters(store.writer.changes)
    await pragma(store, "query_only = OFF")

    assert isinstance(outcome, Storage)
    assert (of_any + 1, [of_agent + 2]) == after

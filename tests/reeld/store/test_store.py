"""The store as the rest of the daemon sees it."""

import logging
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgpack import unpackb

from reel.base.errors import Storage
from reel.wire.msgpack_codec import packer
from reeld.core.conversation import Branch, Conversation
from reeld.core.events import Entry
from reeld.core.undo import Undone
from reeld.protocol.params import History
from reeld.store import history, listing, positions, queries, transactions
from reeld.store import store as store_module
from reeld.store.engine import READERS
from reeld.store.listing import Listing
from reeld.store.positions import Position
from reeld.store.queries import StoredKey
from reeld.store.states import Skip
from reeld.store.store import Store, open_store
from tests.patience import PATIENCE
from tests.reeld.store.making import (
    contents,
    event,
    key,
    made,
    mode,
    pragma,
    profile,
    query,
    said,
    spoil,
    trust_disk,
    write,
)
from tests.reeld.store.rows import Rows
from tests.reeld.verify.damage import damage


async def test_a_directory_is_made_for_its_owner_only(tmp_path: Path) -> None:
    """A missing directory is created, and only its owner can list it."""
    path = tmp_path / "state" / "reel" / "reel.db"
    with anyio.fail_after(PATIENCE):
        async with open_store(str(path)):
            pass

    assert 0o700 == mode(str(path.parent))


async def test_a_state_is_what_was_written(store: Store) -> None:
    """Loading returns the profile and the live conversation, also after the file was closed."""
    await write(store, made(1, event(2, "system", "be brief"), event(3, "mark", None), event(4), event(5, "note")))
    state = await store.load(1)

    assert profile(1, 5) == state.profile
    assert ["system", "user"] == [entry.kind for entry in state.conversation.entries]
    assert ([3], "be brief") == ([mark.seq for mark in state.conversation.marks], state.conversation.system)


async def test_rows_that_are_no_messages_are_logged(rows: Rows, path: str, caplog: pytest.LogCaptureFixture) -> None:
    """Loading tolerates invalid rows, and lists them."""
    rows.agent(1)
    rows.event(1, "tool_call", None, "no json")
    with anyio.fail_after(PATIENCE), caplog.at_level(logging.WARNING):
        async with open_store(path) as store:
            await store.load(1)

    assert ["agent=agent-1 seq=1 cannot be read: its data_json is invalid; see reel replay"] == caplog.messages


@pytest.mark.parametrize("change", ["content = 'hu'", "content = CAST(x'ff' AS TEXT)", "client = 'x'", "time = 5"])
async def test_a_damaged_event_is_not_shown(path: str, caplog: pytest.LogCaptureFixture, change: str) -> None:
    """It stays as an empty record, is listed and logged, and what comes before and after it can be read."""
    async with open_store(path) as store:
        await write(store, made(1, event(2), event(3), event(4)))
    damage(path, f"UPDATE events SET {change} WHERE seq = 3", sealed=False)
    with anyio.fail_after(PATIENCE), caplog.at_level(logging.WARNING):
        async with open_store(path) as store:
            state = await store.load(1)
            rebuilt = await store.rebuild(1)

    for read in (state.conversation, rebuilt.conversation):
        assert [("hi", True), (None, False), ("hi", True)] == [
            (entry.content, entry.message is not None) for entry in read.entries
        ]
    assert [Skip(3, "checksum", "the stored event is not what was written")] == rebuilt.skipped
    assert [
        "agent=agent-1 seq=3 cannot be read: the stored event is not what was written; see reel replay"
    ] == caplog.messages


@pytest.mark.file
async def test_a_damaged_event_in_the_log(path: str) -> None:
    """History shows it as it is stored, and says that it is damaged; what is pushed of it is empty."""
    async with open_store(path) as store:
        await write(store, made(1, event(2), event(3)))
    damage(path, "UPDATE events SET content = CAST(x'6869ff' AS TEXT) WHERE seq = 2", sealed=False)
    with anyio.fail_after(PATIENCE):
        async with open_store(path) as store:
            page = await store.read_long(history.history, 1, 9, History(), packer())
            pushed = await store.read_long(history.after, 1, 1, 9, 9999, packer())

    shown = [unpackb(event) for event in page.items]
    assert [(None, None), ("hi\ufffd", True), ("hi", None)] == [
        (event["content"], event.get("damaged")) for event in shown
    ]
    assert [(None, False), ("hi", True)] == [
        (logged.event.content, logged.event.message is not None) for logged in pushed
    ]


@pytest.mark.parametrize(("live", "base", "after"), [([5], None, [2, 3, 4]), ([2, 3], 3, [4]), ([2, 5], 2, [3, 4])])
async def test_only_the_branch_of_a_state_is_read(
    store: Store, live: list[int], base: int | None, after: list[int]
) -> None:
    """A state is walked from its tip to the first node that the conversation has."""
    await write(store, made(1, event(2), event(3, parent=2), event(4, parent=3), event(5, parent=2)))
    everything = {node.id: node for tip in (4, 5) for node in (await store.state(tip)).entries}

    branch = await store.takeover(4, Conversation([everything[node] for node in live]))

    assert isinstance(branch, Branch)
    assert (base, after) == (branch.base, [node.id for node in branch.nodes])


async def test_every_question_is_asked_of_a_reader(store: Store) -> None:
    """The store returns the results of the queries."""
    await write(store, made(1, event(2), event(3)))
    await write(store, said(1, event(4, "restore", None, data_json='{"to": 2, "undoes": 3}', parent=2)))
    await write(store, said(1, event(5, "brand_new")), made(2)._replace(keys=[key("k", row=2)]))

    assert Position(2, 2) == await store.read(positions.position, 1, 2)
    assert [2] == [node.seq for node in (await store.state(2)).entries]
    assert (2, Undone(3, 4)) == (
        await store.read(queries.undo_target, 1, 5),
        await store.read(queries.redo_target, 1, 4),
    )
    assert [5] == [skip.seq for skip in await store.read_long(queries.unknown_kinds, 1, 9)]
    assert {} == await store.read(queries.descendants, 1)
    assert profile(1, 5) == await store.read(queries.profile_unless_purged, 1)
    assert StoredKey(b"digest", b"reply", "named", 2, "0" * 31 + "2", "agent-2") == await store.read(queries.key, "k")
    assert None is await store.read(queries.key, "other")
    assert {"newest_event": 6, "agents": 2, "living_agents": 2} == await store.read(queries.totals)
    listed = await store.read_long(listing.agents, Listing(), packer())
    assert ["agent-1", "agent-2"] == [unpackb(agent)["name"] for agent in listed.items]


async def test_the_live_state_is_made_from_the_log(store: Store) -> None:
    """A walk from the tip meets the live nodes only."""
    await write(store, made(1, event(2), event(3), event(4, "restore", None, parent=2)))

    assert [2] == [node.seq for node in (await store.rebuild(1)).conversation.entries]


async def test_history_is_packed(store: Store) -> None:
    """A page holds events in the form of the protocol."""
    await write(store, made(1, event(2), event(3)))
    page = await store.read_long(
        history.history, 1, 9, History(since=1, limit=1, inherited=True, max_bytes=999), packer()
    )

    assert ([2], True) == ([unpackb(event)["seq"] for event in page.items], page.more)


async def test_a_short_question_does_not_wait_for_long_ones(store: Store) -> None:
    """However many read long pages, the agent of a command is found and loaded meanwhile."""
    await write(store, made(1, event(2)))
    whole = await store.state(2)
    base = whole.sum_up(whole.entries[-1])
    goes_on, begun = threading.Event(), threading.Semaphore(0)

    def use(_: Iterator[Entry]) -> None:
        begun.release()
        assert goes_on.wait(PATIENCE)

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            for _ in range(2 * READERS):
                tasks.start_soon(store.read_entries, base, 0, None, bool, use)
            for _ in range(READERS - 1):
                await anyio.to_thread.run_sync(begun.acquire)
            try:
                assert profile(1, 2) == await store.read(queries.find, "agent-1")
                assert [2] == [entry.seq for entry in (await store.load(1)).conversation.entries]
            finally:
                goes_on.set()


@pytest.mark.file
async def test_a_look_up_at_once(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fast disk is asked in the loop; one that is slow or damaged, or whose readers are busy, is not."""
    trust_disk(monkeypatch)
    threads: list[threading.Thread] = []

    def look(connection: Any, row: int) -> Any:
        threads.append(threading.current_thread())
        return connection.execute("SELECT uid FROM agents WHERE id = ?", (row,)).fetchone()

    goes_on = threading.Event()
    async with open_store(path) as store, anyio.create_task_group() as tasks:
        assert store.at_once(look, 1) is None
        await write(store, made(1))
        assert (f"{1:032x}",) == store.at_once(look, 1)
        assert [threading.current_thread()] == threads
        assert store.at_once(lambda connection: connection.execute("SELECT nothing")) is None
        for _ in range(READERS):
            tasks.start_soon(store.read, lambda _: goes_on.wait(PATIENCE))
        await anyio.wait_all_tasks_blocked()
        assert store.at_once(look, 1) is None
        goes_on.set()


@pytest.mark.file
@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="only Linux lists what is mapped")
async def test_the_file_is_not_mapped(store: Store, path: str) -> None:
    """What is read of the file does not count as the daemon's memory; only the index of the WAL is mapped."""
    await write(store, made(1, event(2)))
    await pragma(store, "wal_checkpoint(TRUNCATE)")
    await store.load(1)

    mapped = Path("/proc/self/maps").read_text().split()  # noqa: ASYNC240 - it is not on a disk
    assert [False, True] == [path in mapped, f"{path}-shm" in mapped]


@pytest.mark.file
async def test_what_cannot_be_read_is_a_storage_error(store: Store, path: str) -> None:
    """A page that is damaged while the store is open raises a storage error, not another library's error."""
    await write(store, made(1))
    await pragma(store, "wal_checkpoint(TRUNCATE)")
    ((root,),) = query(path, "SELECT rootpage FROM sqlite_master WHERE name = 'agents_by_living_name'")
    spoil(path, root)

    with pytest.raises(Storage, match="the database cannot be read: database disk image is malformed"):
        await store.read(queries.find, "agent-1")


@pytest.mark.file
@pytest.mark.parametrize(
    ("column", "ask"),
    [
        ("data_json", lambda store: store.read(queries.undo_target, 1, 3)),
        ("kind", lambda store: store.read(positions.position, 1, 3)),
    ],
    ids=["undo", "position"],
)
async def test_a_row_that_is_no_text_keeps_no_reader_in_the_past(
    path: str, column: str, ask: Callable[[Store], Awaitable[Any]]
) -> None:
    """After a failed query, whose error somebody keeps, the next queries see what was written since."""
    async with open_store(path) as store:
        await write(store, made(1, event(2), event(3, "clear", None)))
    damage(path, f"UPDATE events SET {column} = CAST(x'7bff7d' AS TEXT) WHERE seq = 3")

    with anyio.fail_after(PATIENCE):
        async with open_store(path) as store:
            with pytest.raises(Storage, match="Could not decode to UTF-8 column") as kept:
                await ask(store)
            await write(store, made(2))

            assert profile(2, 1) == await store.read(queries.find, "agent-2")
            assert kept.value.__cause__ is not None


@pytest.mark.file
async def test_tidying_forgets_old_keys_and_copies_the_wal(
    store: Store, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest million keys are kept; closing moves what was written into the file itself."""
    assert 1_000_000 == store_module.KEYS_KEPT
    monkeypatch.setattr(store_module, "KEYS_KEPT", 2)
    monkeypatch.setattr(transactions, "_FORGOTTEN_AT_ONCE", 1)
    await write(store, made(1)._replace(keys=[key(name) for name in ("oldest", "older", "old", "b", "a")]))
    before = contents(path)
    await store.tidy()

    assert [None, None, None] == [await store.read(queries.key, name) for name in ("oldest", "older", "old")]
    assert [StoredKey(b"digest", b"reply", "named", 1, "0" * 31 + "1", "agent-1")] * 2 == [
        await store.read(queries.key, name) for name in ("b", "a")
    ]
    assert b"agent-1" not in before
    assert b"agent-1" in contents(path)


@pytest.mark.file
async def test_tidying_waits_for_better_times(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    """If nothing can be written, old keys stay, and no error is raised."""
    await write(store, made(1)._replace(keys=[key("old")]))
    await pragma(store, "query_only = ON")
    await store.tidy()

    failed = "forgetting old keys failed, and is tried again: attempt to write a readonly database"
    assert failed in caplog.messages
    assert await store.read(queries.key, "old") is not None

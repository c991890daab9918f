"""Events replayed from the log equal those that were published."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import cast

import anyio
import pytest

from reel.wire.msgpack_codec import packer
from reeld.agents.event_bus import CommittedEvent
from reeld.core.conversation import Conversation
from reeld.core.milestones import Extent
from reeld.serving import log_replayer
from reeld.serving.log_replayer import LogReplayer
from reeld.store import history
from reeld.store.schema import prepare
from reeld.store.store import Store, open_store
from tests.patience import PATIENCE
from tests.reeld.store.rows import Rows


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A log written by hand: a clone, a rewind and a restore with unreadable data, invalid rows."""
    path = str(tmp_path / "r.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        prepare(connection, path)
        rows = Rows(connection)
        rows.agent(1)
        rows.event(1, "system", "be brief")
        first = rows.event(1)
        mark = rows.event(1, "mark", None)
        bad = rows.event(1, "user", None)
        rows.event(1, "gossip", "x")
        rows.event(1, "rewind", None, "no json", parent=mark)
        rows.event(1, "restore", None, "no json", parent=bad)
        rows.event(1, "clear", None, parent=None)
        rows.event(1, "restore", None, None, parent=bad)
        rows.agent(2, source=1, at=2)
        rows.event(2, "clone", None, parent=first)
        rows.event(2)
    return path


@pytest.fixture
async def store(path: str) -> AsyncIterator[Store]:
    """The store of that log."""
    async with open_store(path) as opened:
        yield opened


COUNTS = [(0, 1), (1, 2), (2, 2), (2, 3), (3, 3), (2, 2), (2, 3), (0, 0), (0, 3), (0, 2), (2, 3)]


async def replayed(store: Store, since: int) -> list[CommittedEvent]:
    """Return all events after an id, replayed."""
    replayer = LogReplayer(store, with_extents=True)
    return [
        await replayer.event(logged) for logged in await store.read_long(history.after, None, since, 99, 9999, packer())
    ]


@pytest.mark.parametrize("since", range(len(COUNTS)))
async def test_a_replay_that_starts_anywhere(store: Store, since: int) -> None:
    """Wherever a replay starts, each event has the counts that it was published with."""
    with anyio.fail_after(PATIENCE):
        events = await replayed(store, since)

    assert COUNTS[since:] == [(each.kept.records, each.extent.records) for each in events]


@pytest.mark.parametrize("entries", [0, 1, 3])
async def test_a_replay_with_little_room(store: Store, monkeypatch: pytest.MonkeyPatch, entries: int) -> None:
    """A conversation that was dropped to make room is read again, and the counts are the same."""
    monkeypatch.setattr(log_replayer, "_MAX_FOLDED", entries)

    found = await replayed(store, 0)

    assert COUNTS == [(event.kept.records, event.extent.records) for event in found]


class CountingStore:
    """A store that counts how many states are read before events."""

    def __init__(self, store: Store) -> None:
        self.reads = 0
        self.takeover = store.takeover
        self._store = store

    async def before(self, row: int, seq: int) -> Conversation:
        self.reads += 1
        return await self._store.before(row, seq)


async def test_what_was_dropped_makes_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once others were dropped, as many entries are kept as before: agents in turns are not read again and again."""
    monkeypatch.setattr(log_replayer, "_MAX_FOLDED", 25)
    path = str(tmp_path / "turns.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        prepare(connection, path)
        rows = Rows(connection)
        for agent in range(1, 6):
            rows.agent(agent)
            for _ in range(8):
                rows.event(agent)
        for _ in range(4):
            rows.event(4)
            rows.event(5)
    async with open_store(path) as store:
        counting = CountingStore(store)
        replayer = LogReplayer(cast("Store", counting), with_extents=True)
        for logged in await store.read_long(history.after, None, 0, 99, 99_999, packer()):
            await replayer.event(logged)

    assert 5 == counting.reads


async def test_messages_are_counted_apart(store: Store) -> None:
    """Rows that are not valid messages count among the records only."""
    with anyio.fail_after(PATIENCE):
        events = await replayed(store, 0)

    assert [0, 1, 1, 1, 1, 1, 1, 0, 1, 1, 2] == [each.extent.messages for each in events]
    assert [0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 1] == [each.kept.messages for each in events]


async def test_a_replay_without_counts(path: str) -> None:
    """Without counts nothing is folded, and no state is read: a closed store is enough."""
    with anyio.fail_after(PATIENCE):
        async with open_store(path) as store:
            logged = await store.read_long(history.after, None, 0, 99, 9999, packer())
        replayer = LogReplayer(store, with_extents=False)
        events = [await replayer.event(each) for each in logged]

    assert [*range(1, 12)] == [each.event_id for each in events]
    assert {Extent(0, 0)} == {each.kept for each in events}


async def test_what_is_kept_until_others_write_again(tmp_path: Path) -> None:
    """A follower of many agents at another daemon reads the state of each once, unless it has heard of it otherwise."""
    path = str(tmp_path / "many.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        prepare(connection, path)
        rows = Rows(connection)
        for agent in range(1, 61):
            rows.agent(agent)
        for _ in range(3):
            for agent in range(1, 61):
                rows.event(agent)
    async with open_store(path) as store:
        counting = CountingStore(store)
        replayer = LogReplayer(cast("Store", counting), with_extents=True)
        logged = await store.read_long(history.after, None, 0, 999, 99999, packer())
        found = []
        for number, each in enumerate(logged):
            if number == 120:  # the last events of each
                replayer.forget(7)
            found.append(await replayer.event(each))
            replayer.rest()

    assert 61 == counting.reads
    assert [1, 2, 3] == [found[place].extent.records for place in (6, 66, 126)]

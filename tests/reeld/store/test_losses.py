"""What a daemon remembers of a log on a server, to find out that the server has lost something."""

import logging
from contextlib import closing
from pathlib import Path

import anyio
import pytest
from trio.testing import wait_all_tasks_blocked

from reeld.core.milestones import Extent, Milestone
from reeld.store.loss import Forgotten, Known
from reeld.store.postgres import high_water
from reeld.store.postgres.heads import Head, Heads
from reeld.store.postgres.high_water import HighWater
from reeld.store.schema import NORMAL
from reeld.store.store import open_store
from reeld.store.transactions import Outcome
from tests.lossy import lossy
from tests.patience import PATIENCE
from tests.postgres import own_schema, server_connection
from tests.reeld.store.making import event, made, said, write

KNOWN = Known(7, 1, 3, 1000)


def head(row: int, number: int) -> Head:
    """Return the head of an agent."""
    return Head(row, f"{row}" * 32, number, number)


def test_the_agents_with_newer_events() -> None:
    """Those are told whose newest event is later than what is left."""
    heads = Heads()
    for row, number in ((1, 1), (2, 2), (3, 3), (1, 4)):
        heads.note(head(row, number))

    assert [4, 3] == [each.event for each in heads.after(2)]
    heads.forget(2)
    assert [2] == [each.event for each in heads.after(0)]


def test_only_so_many_agents_are_remembered() -> None:
    """Those that were written to first are forgotten."""
    heads = Heads(most=2)
    for number in (1, 2, 3):
        heads.note(head(number, number))

    assert [3, 2] == [each.event for each in heads.after(0)]


def test_the_file_is_ahead_and_seldom_written(tmp_path: Path) -> None:
    """Its id is above all that were used, whenever the daemon is killed."""
    path = tmp_path / "state" / "newest"
    high = HighWater(str(path))
    high.reach(8, KNOWN)
    written = path.stat().st_ino
    high.reach(9, KNOWN._replace(id=8))
    read = HighWater(str(path))

    assert written == path.stat().st_ino
    assert (KNOWN, high.id) == (read.known, read.id)
    high.reach(read.id + 1, KNOWN)
    assert read.id + 1 < HighWater(str(path)).id


@pytest.mark.parametrize("content", ["", "1 2 3", "a b c d e", "1 2 3 4 5 6"])
def test_a_file_that_cannot_be_read(tmp_path: Path, content: str) -> None:
    """A damaged file is as good as none."""
    path = tmp_path / "newest"
    path.write_text(content)
    high = HighWater(str(path))

    assert (0, 0) == (high.known.id, high.id)


def test_a_directory_that_cannot_be_written(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The daemon works without the file, and says so."""
    (tmp_path / "state").write_text("")
    with caplog.at_level(logging.WARNING, high_water.__name__):
        HighWater(f"{tmp_path}/state/newest").reach(1, KNOWN)

    assert "cannot be written" in caplog.text


def replace_newest(url: str, seq: int) -> None:
    """Put another event in the place of one, as if the server had lost it and somebody else had written since."""
    with closing(server_connection(url)) as connection:
        connection.execute("ALTER TABLE events DISABLE TRIGGER ALL")
        connection.execute("UPDATE events SET content = 'another', time = time + 1 WHERE seq = ?", (seq,))


@pytest.mark.slow
async def test_another_log_of_the_same_length() -> None:
    """A commit in one round trip does not write after events that are not the known ones."""
    with own_schema() as url:
        async with open_store(url) as store:
            await write(store, made(1))
            await write(store, said(1, event(2)))
            replace_newest(url, 2)
            (refused,) = await write(store, said(1, event(3)))

            assert isinstance(refused, Forgotten)
            assert (1, 1) == (store.writer.losses, store.writer.lost_events)
            (again,) = await write(store, said(1, event(9)))
            assert isinstance(again, list)
            assert again[0] > 1 << 20


@pytest.mark.slow
async def test_a_read_notices_another_log() -> None:
    """Whoever reads finds out as well, also if the log is as long as it was."""
    with own_schema() as url:
        async with open_store(url) as store:
            await write(store, made(1))
            replace_newest(url, 1)
            await store.be_current()

            assert 1 == store.writer.losses


@pytest.mark.slow
async def test_what_waits_behind_a_look_is_refused() -> None:
    """A transaction that waits while a look finds a loss was staged over what is gone, and is not written."""
    outcomes: list[Outcome] = []
    with own_schema() as url, lossy(url) as between, anyio.fail_after(PATIENCE):
        async with open_store(between.url) as store:
            await write(store, made(1))
            between.is_deaf = True
            between.is_open.clear()
            store.looks.hear()
            await wait_all_tasks_blocked()  # the look has begun
            store.writer.submit(said(1, event(9)), outcomes.append)
            replace_newest(url, 1)
            between.is_open.set()
            await store.looks.look()

    assert [Forgotten] == [type(outcome) for outcome in outcomes]


@pytest.mark.slow
async def test_a_lost_connection_of_a_daemon_that_does_not_wait() -> None:
    """With `normal`, ids are left out after each lost connection: others may have seen what is gone."""
    with own_schema() as url:
        async with open_store(url, NORMAL) as store:
            await write(store, made(1))
            with closing(server_connection(url)) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
                    " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
                ).fetchall()
            await store.looks.look()  # on a new connection
            (outcome,) = await write(store, said(1, event(2)))

            assert isinstance(outcome, list)
            assert outcome[0] > 1 << 20
            assert 0 == store.writer.losses


@pytest.mark.slow
async def test_a_purge_is_no_loss() -> None:
    """If the newest event was purged, it is not missed."""
    with own_schema() as url:
        async with open_store(url) as store:
            await write(store, made(1))
            await write(store, made(2))
            with closing(server_connection(url)) as connection:
                connection.execute("ALTER TABLE events DISABLE TRIGGER ALL")
                connection.execute("DELETE FROM events WHERE agent = 2")
                connection.execute(
                    "INSERT INTO erasures (method, agent, time, events, newest, state, backups)"
                    " VALUES ('purge', '', 0, 1, 2, 'done', '[]')"
                )
            (outcome,) = await write(store, said(1, event(2)))

            assert [3] == outcome
            assert 0 == store.writer.losses


@pytest.mark.slow
async def test_milestones_of_lost_events_are_not_written() -> None:
    """A milestone that was read before the loss, and is written after it, would stand at no event."""
    with own_schema() as url:
        async with open_store(url) as store:
            await write(store, made(1))
            await write(store, said(1, event(2)))
            replace_newest(url, 2)
            await store.be_current()
            store.writer.note([Milestone(2, 2, Extent(1, 1), None, None, None, None, (), ())])
            await write(store, said(1, event(9)))
        with closing(server_connection(url)) as connection:
            assert [] == connection.execute("SELECT id FROM milestones").fetchall()

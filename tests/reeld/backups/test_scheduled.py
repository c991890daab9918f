"""Backups that the daemon makes by itself."""

import logging
import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import anyio
import pytest
from trio.testing import MockClock

from reeld.backups.schedule import Schedule, files_in, name_at, series_of
from reeld.backups.scheduled import ScheduledBackups
from reeld.backups.service import Backups
from reeld.store.store import Store, open_store
from tests.patience import PATIENCE
from tests.reeld.store.rows import Rows

HOUR = 3_600_000
NOON = 1_795_435_200_000

pytestmark = pytest.mark.slow  # each backup is checked by a process of its own


class Setting:
    """Scheduled backups of a store, at a time that the test sets."""

    def __init__(self, store: Store, directory: Path) -> None:
        self.now = NOON
        self.directory = Path(series_of(str(directory), store.path))
        schedule = Schedule(str(directory), keep=2)
        self.scheduled = ScheduledBackups(Backups(store), schedule, store.path, lambda: self.now)

    async def make(self, hours: int) -> bool:
        """Let hours pass, and make a backup if one is due."""
        self.now += hours * HOUR
        return await self.scheduled.look(str(self.directory))

    def names(self) -> list[str]:
        """Return the files that are there."""
        return sorted(os.listdir(self.directory))


@pytest.fixture
async def setting(tmp_path: Path) -> AsyncIterator[Setting]:
    """A database with a message, and a place for its backups."""
    with anyio.fail_after(PATIENCE):
        async with open_store(str(tmp_path / "reel.db")) as store:
            await store._database.run(_fill)
            yield Setting(store, tmp_path / "backups")


def _fill(connection: sqlite3.Connection) -> None:
    rows = Rows(connection)
    rows.agent(1)
    rows.event(1, "created", None, '{"name":"agent-1"}')
    rows.event(1, "user", "hi")


async def test_one_a_day(setting: Setting) -> None:
    """A backup is made when one is due, for the owner only, and the oldest goes when there are enough."""
    made = [await setting.make(hours) for hours in (0, 23, 1, 24)]

    assert [True] * 4 == made
    assert [name_at(NOON + 24 * HOUR), name_at(NOON + 48 * HOUR)] == setting.names()
    assert [0o700] * 2 == [each.stat().st_mode & 0o777 for each in (setting.directory, setting.directory.parent)]
    assert 0o600 == (setting.directory / setting.names()[0]).stat().st_mode & 0o777
    with closing(sqlite3.connect(setting.directory / setting.names()[1])) as copy:
        assert [("hi",)] == copy.execute("SELECT content FROM events WHERE kind = 'user'").fetchall()
    assert (NOON + 48 * HOUR, 0, None) == tuple(setting.scheduled.counters().values())[1:]


async def test_a_failure(setting: Setting, caplog: pytest.LogCaptureFixture) -> None:
    """A failure is logged once and counted, the older backups stay, and the next success ends it."""
    await setting.make(0)
    moved = setting.directory.rename(setting.directory.with_name("moved"))
    setting.directory.write_text("in the way")
    with caplog.at_level(logging.WARNING):
        made = [await setting.make(24), await setting.make(1)]

    assert [False, False] == made
    assert 1 == len(caplog.messages)
    assert f"{setting.directory}: File exists" in caplog.messages[0]
    counted = setting.scheduled.counters()
    assert (2, True) == (counted["scheduled_backup_failures"], "File exists" in counted["scheduled_backup_problem"])
    setting.directory.unlink()
    moved.rename(setting.directory)
    assert await setting.make(1)
    assert 2 == len(setting.names())
    assert setting.scheduled.counters()["scheduled_backup_problem"] is None


async def test_a_damaged_database(setting: Setting, caplog: pytest.LogCaptureFixture) -> None:
    """A damaged backup is named so, replaces no sound one, and is reported until the next sound one."""
    await setting.make(0)
    await setting.make(24)
    sound = setting.names()
    await setting.scheduled._backups._store._database.run(_damage)
    with caplog.at_level(logging.WARNING):
        made = [await setting.make(24), await setting.make(24)]

    assert [True, True] == made
    assert [*sound, name_at(setting.now, is_damaged=True)] == setting.names()
    assert "the database is damaged, and its backup " in caplog.messages[0]
    assert "see reel verify" in str(setting.scheduled.counters()["scheduled_backup_problem"])
    assert NOON + 24 * HOUR == setting.scheduled.counters()["scheduled_backup_time"]


async def test_damage_is_reported_after_a_restart(setting: Setting) -> None:
    """A daemon that starts while the newest backup is damaged says so, though none is due."""
    await setting.make(0)
    newest = setting.directory / name_at(setting.now + HOUR, is_damaged=True)
    newest.touch()
    await setting.make(2)

    assert str(newest) in str(setting.scheduled.counters()["scheduled_backup_problem"])


async def test_a_directory_that_comes_back(setting: Setting) -> None:
    """A problem ends when the directory is there again with a backup that is new enough."""
    await setting.make(0)
    moved = setting.directory.rename(setting.directory.with_name("moved"))
    setting.directory.write_text("in the way")
    assert not await setting.make(1)
    setting.directory.unlink()
    moved.rename(setting.directory)

    assert await setting.make(1)
    assert (NOON, 1, None) == tuple(setting.scheduled.counters().values())[1:]


async def test_a_clock_that_was_set_back(setting: Setting) -> None:
    """Backups of the future neither remove the new one nor count as the newest."""
    await setting.make(48)
    await setting.make(24)
    made = [await setting.make(-96), await setting.make(1)]

    assert [True, True] == made
    assert [NOON + hours * HOUR for hours in (-24, 48, 72)] == [_time_of(name) for name in setting.names()]
    assert NOON - 24 * HOUR == setting.scheduled.counters()["scheduled_backup_time"]


def _time_of(name: str) -> int:
    return files_in([name], 2 * NOON)[0].time


def _damage(connection: sqlite3.Connection) -> None:
    connection.execute("DROP TRIGGER events_are_never_changed")
    connection.execute("UPDATE events SET content = 'other' WHERE kind = 'user'")


async def test_what_a_killed_daemon_left(setting: Setting) -> None:
    """A copy that was never completed is removed when the daemon starts."""
    left = setting.directory / ".reel-backup-abc"
    left.mkdir(parents=True)
    (left / "part").write_text("half")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(setting.scheduled.run)
        while setting.scheduled.counters()["scheduled_backup_time"] is None:
            await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()

    assert [name_at(NOON)] == setting.names()


async def test_it_is_tried_again_less_and_less_often(setting: Setting, mock_clock: MockClock) -> None:
    """A backup that fails is tried again after one minute, and then after two."""
    setting.directory.parent.write_text("in the way")
    failures: list[object] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(setting.scheduled.run)
        for _ in range(4):
            await _no_thread_works()
            failures.append(setting.scheduled.counters()["scheduled_backup_failures"])
            mock_clock.jump(60)
        tasks.cancel_scope.cancel()

    assert [1, 2, 2, 3] == failures


async def _no_thread_works() -> None:
    """Wait until all tasks wait for the clock: a task whose thread works counts as blocked, too."""
    threads = anyio.to_thread.current_default_thread_limiter()
    await anyio.wait_all_tasks_blocked()
    while threads.borrowed_tokens:
        await anyio.wait_all_tasks_blocked()


async def test_a_backup_that_does_not_come(setting: Setting) -> None:
    """If there was no new backup for twice the time, that is a problem, though nothing has failed."""
    await setting.make(0)
    setting.now += 47 * HOUR
    assert setting.scheduled.counters()["scheduled_backup_problem"] is None
    setting.now += HOUR

    assert "no backup for twice the 24 hours" in str(setting.scheduled.counters()["scheduled_backup_problem"])

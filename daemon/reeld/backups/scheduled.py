"""Backups that the daemon makes on the schedule that ``[backup]`` in the settings defines."""

import logging
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio

from reel.base.errors import ReelError
from reeld.backups.schedule import (
    Schedule,
    ScheduledFile,
    files_in,
    is_due,
    is_overdue,
    name_at,
    next_look,
    series_of,
    superfluous,
)
from reeld.backups.service import Backups
from reeld.store.backup import PART_PREFIX

log = logging.getLogger(__name__)


class ScheduledBackups:
    """Makes a backup when one is due, and removes the oldest.

    Args:
        backups: writes and checks them.
        schedule: the settings.
        database: the absolute path of the database.
        now: returns the time, in milliseconds since the epoch.
    """

    def __init__(self, backups: Backups, schedule: Schedule, database: str, now: Callable[[], int]) -> None:
        self._backups = backups
        self._schedule = schedule
        self._series = None if schedule.directory is None else series_of(schedule.directory, database)
        self._now = now
        self._begun = now()
        self._newest: int | None = None
        self._failures = 0
        self._problem: str | None = None

    def counters(self) -> dict[str, Any]:
        """Return the location of the backups, the start of the newest sound one, and the current problem."""
        return {
            "scheduled_backup_directory": self._series,
            "scheduled_backup_time": self._newest,
            "scheduled_backup_failures": self._failures,
            "scheduled_backup_problem": None if self._series is None else self._problem or self._delay(self._series),
        }

    def _delay(self, series: str) -> str | None:
        if not is_overdue(max(self._newest or 0, self._begun), self._schedule.hours, self._now()):
            return None
        return f"{series}: no backup for twice the {self._schedule.hours:g} hours from one to the next"

    async def run(self) -> None:
        """Make backups until cancelled, if the settings ask for them."""
        if self._series is None:
            return
        await anyio.to_thread.run_sync(_remove_parts, self._series)
        failures = 0
        while True:
            failures = 0 if await self.look(self._series) else failures + 1
            await anyio.sleep(next_look(failures))

    async def look(self, series: str) -> bool:
        """Make a backup if one is due, and remove those it replaces; return whether all of it succeeded.

        A failure is logged when it begins and when its reason changes.

        Args:
            series: the directory.
        """
        before = self._problem
        try:
            self._problem = await self._look(series)
        except ReelError as error:
            self._problem = error.message
        except OSError as error:
            self._problem = f"{error.filename or series}: {error.strerror}"
        else:
            return True
        self._failures += 1
        if self._problem != before:
            log.warning("a scheduled backup failed and will be retried: %s", self._problem)
        return False

    async def _look(self, series: str) -> str | None:
        """Return the problem with the newest backup, if any."""
        now = self._now()
        files = files_in(await anyio.to_thread.run_sync(_names_in, series), now)
        if is_due(files, self._schedule.hours, now):
            files.insert(0, await self._make(series, now))
        self._newest = next((file.time for file in files if not file.is_damaged), None)
        await anyio.to_thread.run_sync(_remove, series, superfluous(files, self._schedule.keep))
        return _damage_in(series, files[0].name) if files[0].is_damaged else None

    async def _make(self, series: str, now: int) -> ScheduledFile:
        name, damaged = name_at(now), name_at(now, is_damaged=True)
        written = await self._backups.write(f"{series}/{name}", if_damaged=f"{series}/{damaged}")
        if written.damage:
            log.error("%s", _damage_in(series, damaged))
            return ScheduledFile(damaged, now, is_damaged=True)
        log.info("made the backup %s/%s, %d bytes", series, name, written.reply["bytes"])
        return ScheduledFile(name, now, is_damaged=False)


def _damage_in(series: str, name: str) -> str:
    return f"the database is damaged, and its backup {series}/{name} as well; see reel verify"


def _names_in(series: str) -> list[str]:
    """Return the names of the files in a directory, and create it if it does not exist."""
    for directory in (Path(series).parent, Path(series)):  # the mode does not apply to parents
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    return os.listdir(series)


def _remove(series: str, names: list[str]) -> None:
    for name in names:
        Path(series, name).unlink(missing_ok=True)


def _remove_parts(series: str) -> None:
    """Remove the partial backups of a killed daemon."""
    with suppress(OSError):
        for name in os.listdir(series):
            if name.startswith(PART_PREFIX):
                shutil.rmtree(f"{series}/{name}", ignore_errors=True)

"""Determines when a scheduled backup is due, its name, and which older ones it replaces."""

import os
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from zlib import crc32

from reel.base.light_typing import NamedTuple

_HOUR = 3_600_000
# Copying and checking a million events takes 20 to 45 s on a busy machine. With a shorter interval, a large database
# would be copied all the time.
LEAST_HOURS = 0.25
# Seconds between two checks of the clock. A timer for a whole day would not notice that the machine slept or that the
# clock was set.
_LOOK_EVERY, _LONGEST_PAUSE = 60, 3600
_NAME = re.compile(r"(\d{8}T\d{6}Z)(-damaged)?\.db")
_TIME = "%Y%m%dT%H%M%SZ"


class Schedule(NamedTuple):
    """The settings of scheduled backups: the directory, if any, how many are kept, and the hours between two."""

    directory: str | None = None
    keep: int = 7
    hours: float = 24.0


class ScheduledFile(NamedTuple):
    """A backup of a series: its name, its start in milliseconds since the epoch, and whether it is damaged."""

    name: str
    time: int
    is_damaged: bool


def series_of(directory: str, database: str) -> str:
    """Return the directory for the backups of one database.

    Several daemons may share their settings: the backups of one database must not replace those of another.
    """
    return f"{directory}/{Path(database).stem}-{crc32(os.fsencode(database)):08x}"


def name_at(time: int, *, is_damaged: bool = False) -> str:
    """Return the name of a backup that is begun now.

    Args:
        time: milliseconds since the epoch.
        is_damaged: whether its check found damage.
    """
    begun = datetime.fromtimestamp(time // 1000, UTC)
    return f"{begun:{_TIME}}{'-damaged' if is_damaged else ''}.db"


def files_in(names: Iterable[str], now: int) -> list[ScheduledFile]:
    """Return the backups among file names, newest first.

    Backups dated in the future are left out: the clock was set back since, and they would count as the newest until
    then.

    Args:
        names: the files of a series.
        now: milliseconds since the epoch.
    """
    found = []
    for name in names:
        if (match := _NAME.fullmatch(name)) is None:
            continue
        try:
            begun = datetime.strptime(match[1], _TIME).replace(tzinfo=UTC)
        except ValueError:  # digits, but not a date
            continue
        found.append(ScheduledFile(name, int(begun.timestamp()) * 1000, match[2] is not None))
    return sorted((file for file in found if file.time <= now), key=lambda file: file.time, reverse=True)


def is_due(files: Sequence[ScheduledFile], hours: float, now: int) -> bool:
    """Return whether a backup is due.

    Args:
        files: the existing backups, newest first.
        hours: the interval between two backups.
        now: milliseconds since the epoch.
    """
    return not files or now - files[0].time >= hours * _HOUR


def is_overdue(since: int, hours: float, now: int) -> bool:
    """Return whether something must be wrong: two backups in a row are missing.

    Args:
        since: the start of the newest backup, or of the daemon if that was later.
        hours: the interval between two backups.
        now: milliseconds since the epoch.
    """
    return now - since >= 2 * hours * _HOUR


def superfluous(files: Iterable[ScheduledFile], keep: int) -> list[str]:
    """Return the names of the backups to remove: all but the newest sound ones, and all but one of the damaged ones.

    A damaged backup never replaces a sound one, however long the damage goes unnoticed.

    Args:
        files: the existing backups, newest first.
        keep: how many sound ones to keep.
    """
    sound: list[str] = []
    damaged: list[str] = []
    for file in files:
        (damaged if file.is_damaged else sound).append(file.name)
    return [*sound[keep:], *damaged[1:]]


def next_look(failures: int) -> int:
    """Return the seconds until the next check whether a backup is due.

    Args:
        failures: the number of consecutive failures; each doubles the pause.
    """
    return min(_LOOK_EVERY << max(failures - 1, 0), _LONGEST_PAUSE)

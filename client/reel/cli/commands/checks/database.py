"""Checks of the database, by its file or by what the daemon says of it, and of what belongs to it."""

import re
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reel.base.errors import NotRunning
from reel.cli.commands.checks.finding import BAD, FINE, WARN, Finding
from reel.cli.commands.shared.retention_notice import retention_notice
from reel.daemon.placement import file_system_of, synced_folder
from reel.daemon.program import checked_settings
from reel.reading.wording import age, count, size

_MEGABYTE = 1 << 20
# Besides new messages, the WAL and its checkpoints need some room.
_SCARCE = 500 * _MEGABYTE
_TOO_LITTLE = 50 * _MEGABYTE
# The daemon itself keeps the WAL at half of it.
_LARGE_WAL = 128 * _MEGABYTE
_USE_A_STANDBY = (
    "the log names the time; to lose nothing, let commits wait for a standby and a disk, see docs/operations.md"
)
_FIND_READER = "see who has it open: lsof FILE-shm; nothing is lost, but starts after a crash take longer"
_END_READER = "end the transaction or the process; nothing is lost, but starts after a crash take longer"
# SQLite's file header and the start of its first page, up to the number of tables in the page that lists them.
_HEADER = 105
_SQLITE = b"SQLite format 3\0"
# The application id with which the daemon marks its databases.
_APPLICATION = b"reel"
_ANOTHER = "name another file with $REEL_DATABASE"
_MOVE = "move it away with its -wal and -shm, and put a backup in its place, or name another file with $REEL_DATABASE"
_MOVE_TO_A_DISK = "stop the daemon, move the file to a local folder that nothing syncs, and set $REEL_DATABASE to it"
_MOVE_INDEX = "move it away; it is built again within a minute, nothing is lost"
_TRIED_AGAIN = "make room on the disk, or end what reads the database; it is tried again every 20 seconds"
_READ_AGAIN = "it goes on when the database can be read again"
_VERDICTS = {"warning": WARN, "problem": BAD}
# What `reeld --check` says of a server.
_ABOUT_SERVER = re.compile(r"^# (server|warning|problem): (.*)$", re.MULTILINE)


def check_database(database: str) -> Finding | None:
    """Check by its first page that a file is a database of ours; return ``None`` if nothing is wrong."""
    try:
        mode = Path(database).stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # opening a pipe would block
            return Finding("database", BAD, f"{database}: not a regular file", _ANOTHER)
        with Path(database).open("rb") as file:
            header = file.read(_HEADER)
    except FileNotFoundError:
        return None  # reeld creates it
    except OSError as error:
        return Finding("database", BAD, f"{database}: {error.strerror}", _ANOTHER)
    if header and not header.startswith(_SQLITE):
        return Finding("database", BAD, f"{database}: not an SQLite database", _MOVE)
    application, user_version, tables = header[68:72], header[60:64], header[103:105]
    # A new database still has its application id and its tables in the WAL only.
    begun = not any(application) and (_has_wal(database) or not any(user_version + tables))
    if application != _APPLICATION and not begun:
        return Finding("database", BAD, f"{database}: another program's database", _MOVE)
    return None


def check_place(database: str) -> Finding | None:
    """Check that a database is on a disk of this machine, and that nothing syncs its folder; ``None`` if so."""
    found = file_system_of(database)
    if found is not None and found.is_network:
        return Finding("database's disk", BAD, f"{database}: on a network file system ({found})", _MOVE_TO_A_DISK)
    folder = synced_folder(database)
    if folder is not None:
        about = f"{database}: in {folder}, which seems to be synced with other machines"
        return Finding("database's disk", WARN, about, _MOVE_TO_A_DISK)
    return None


def has_tables(database: str) -> bool:
    """Return whether a file that :func:`check_database` accepts has tables: an interrupted first start leaves none."""
    try:
        with Path(database).open("rb") as file:
            return any(file.read(_HEADER)[60:64]) or _has_wal(database)
    except OSError:
        return False


def _has_wal(database: str) -> bool:
    try:
        return Path(f"{database}-wal").stat().st_size > 0
    except OSError:
        return False


def check_server(database: str, printed: str) -> Iterator[Finding]:
    """Yield what the daemon's own check says of a database on a server.

    Args:
        database: its URL.
        printed: what the check prints; empty if it cannot look at the database.
    """
    said = _ABOUT_SERVER.findall(printed)
    facts = [sentence for word, sentence in said if word == "server"]
    if facts or not said:
        yield Finding("database", FINE, f"{database}: {'; '.join(facts) or 'see reeld --check'}")
    for word, sentence in said:
        if word in _VERDICTS:
            about, _, remedy = sentence.partition("; ")
            yield Finding("server", _VERDICTS[word], about, remedy)


def server_report(database: str) -> str:
    """Return what the daemon's own check prints if it can look at a database that the settings do not name.

    It cannot if the daemon was started with a password, which is not printed.
    """
    try:
        _, printed = checked_settings("--database", database)
    except NotRunning:
        return ""
    return printed if any(word == "server" for word, _ in _ABOUT_SERVER.findall(printed)) else ""


def check_space(database: str) -> Finding:
    """Check how much space is free where the database is, or would be."""
    where = Path(database).parent
    try:
        while not where.exists():
            where = where.parent
        free = shutil.disk_usage(where).free
    except OSError as error:
        return Finding("database", BAD, f"{where}: {error.strerror}", "use another place with $REEL_DATABASE")
    about = f"{database}: {_size_of(database)}; {size(free)} free on its disk"
    if free < _SCARCE:
        return Finding("database", BAD if free < _TOO_LITTLE else WARN, about, f"make room on the disk of {where}")
    return Finding("database", FINE, about)


def _size_of(database: str) -> str:
    try:
        return size(Path(database).stat().st_size)
    except OSError:
        return "not there yet"


def check_wal(stats: dict[str, Any]) -> Finding | None:
    """Check that no other process keeps the WAL from being overwritten; return ``None`` if it is not large.

    Args:
        stats: what the daemon counts.
    """
    wal, readers = stats.get("wal_bytes") or 0, stats.get("wal_readers")
    if wal < _LARGE_WAL:
        return None
    about = f"{stats['database']}-wal: {size(wal)}"
    if not readers:
        return Finding("WAL", WARN, f"{about}; it may be that another process reads the database", _FIND_READER)
    return Finding("WAL", WARN, f"{about}; it grows while others read the database: {', '.join(readers)}", _END_READER)


def check_losses(stats: dict[str, Any]) -> Finding | None:
    """Check that the database server has lost nothing; return ``None`` if the daemon has not noticed a loss.

    Args:
        stats: what the daemon counts.
    """
    if not (lost := stats.get("lost_events")):
        return None
    about = f"{count(lost, 'acknowledged event')} were gone when the server came back"
    return Finding("losses", WARN, about, _USE_A_STANDBY)


def check_search(stats: dict[str, Any]) -> Finding | None:
    """Check that everything can be found; return ``None`` if the daemon is older than its search.

    Args:
        stats: what the daemon counts.
    """
    if (path := stats.get("search_index")) is None:
        return None
    if (problem := stats.get("search_problem")) is not None:
        about, _, remedy = problem.partition("; ")
        return Finding("search", WARN, about, remedy or (_MOVE_INDEX if about.startswith(path) else _READ_AGAIN))
    behind = stats.get("search_behind") or 0
    left = f"; {count(behind, 'event')} not in it yet" if behind else ""
    return Finding("search", FINE, f"{path}: {size(stats.get('search_index_bytes') or 0)}{left}")


def check_backups(stats: dict[str, Any]) -> Finding | None:
    """Check the backups that the daemon makes by itself; return ``None`` if it makes none.

    Args:
        stats: what the daemon counts.
    """
    if (directory := stats.get("scheduled_backup_directory")) is None:
        return None
    newest = stats.get("scheduled_backup_time")
    about = "no backup yet" if newest is None else f"last backup {age(newest)} ago"
    if (problem := stats.get("scheduled_backup_problem")) is not None:
        return Finding("backups", WARN, f"{problem}; {about}", "repair that; the older backups stay")
    return Finding("backups", FINE, f"{directory}: {about}")


def check_erasing(stats: dict[str, Any]) -> Finding | None:
    """Check that nothing is left of what was erased; return ``None`` if nothing is.

    Args:
        stats: what the daemon counts.
    """
    if (problem := stats.get("erasing_problem")) is None:
        return None
    return Finding("erasing", WARN, problem, _TRIED_AGAIN)


def check_retention(stats: dict[str, Any]) -> Finding | None:
    """Check that old agents are purged as the settings say; return ``None`` if they are, or if there are no settings.

    Args:
        stats: what the daemon counts.
    """
    if (problem := stats.get("retention_problem")) is not None:
        return Finding("retention", WARN, problem, "correct [retention] in reeld.toml, or do what it says")
    if (notice := retention_notice(stats)) is not None:
        return Finding("retention", WARN, notice, "see which: reel purge --retention --dry-run")
    if (days := stats.get("retention_history_days")) is not None:
        done = f"{count(stats['retention_pruned_events'], 'event')}, {size(stats['retention_pruned_bytes'])} of text"
        about = f"what nothing reaches any more is pruned after {days:g} days; since the daemon was started: {done}"
        return Finding("retention", FINE, about)
    return None


def check_housekeeping(stats: dict[str, Any]) -> Finding | None:
    """Check that nothing fails for which nobody waits; return ``None`` if nothing does.

    Args:
        stats: what the daemon counts.
    """
    if (problem := stats.get("housekeeping_problem")) is None:
        return None
    about, _, remedy = problem.rpartition("; ")
    return Finding("housekeeping", WARN, about, f"{remedy}; nothing is lost meanwhile, and the daemon's log says more")


def reported_problem(problem: str) -> Finding:
    """Return the problem that the daemon itself has reported of its database."""
    about, _, remedy = problem.partition("; ")
    return Finding("database", BAD, about, remedy)

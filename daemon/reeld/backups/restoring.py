"""Restoring a backup in place of the database, in two steps.

In the first step, the backup is copied beside the database, migrated and checked; a daemon may still run. In the second
step, the daemon has ended, and the copy replaces the database with one ``rename``. Before that, the database gets a
second name, and its WAL is folded into it. So at every moment there is a complete database at the path, the old or the
new one, with its own WAL or none.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import Any

from reel.base.errors import Conflict, Storage
from reeld.backups.comparing import Difference, compare, is_empty
from reeld.backups.remains import free_name, remove_second_names, workplace
from reeld.locks import lock_database
from reeld.startup import StartupError
from reeld.store.backup import sync
from reeld.store.opening import opening
from reeld.store.schema import MIGRATIONS, migrate, require_ours
from reeld.verify.file import Tell, check, open_unchanged
from reeld.verify.rows import Report

_MODE = 0o600
# Pages copied between two progress reports.
_PAGES = 4096
_FORCE = "use --force to restore it anyway"


class Restore:
    """A backup that is being restored; see :func:`prepared`.

    Args:
        database: the path of the database.
        part: the copy of the backup that will take its place.
        force: whether to accept the loss of data that the backup does not have, and a damaged backup.
    """

    def __init__(self, backup: str, database: str, part: str, *, force: bool) -> None:
        self._backup = backup
        self._database = database
        self._part = part
        self._force = force
        self._report = Report()

    def prepare(self, copied: Tell, checked: Tell) -> None:
        """Copy and check the backup, and compare it with the database, which may be in use.

        Args:
            copied: called with how many bytes have been copied, and with their total.
            checked: called with how many events have been checked.

        Raises:
            Conflict: something would be lost.
            Storage: the backup cannot be used or copied.
        """
        self._require_no_loss()
        self._copy(copied)
        self._report = check(self._part, checked)
        if self._report.damage and not self._force:
            raise Storage(
                f"{self._backup} is damaged (see reel verify --database {self._backup}); restore another, or {_FORCE}"
            )

    def finish(self) -> dict[str, Any]:
        """Replace the database with the copy; no daemon has it open any more. Return a summary.

        Raises:
            Conflict: data written since the preparation would be lost.
            Storage: a daemon has the database open, or it cannot be replaced; it is unchanged.
        """
        try:
            with lock_database(self._database, create=False):
                remove_second_names(self._database)
                difference = self._require_no_loss()
                kept = self._replace()
        except StartupError as error:
            raise Storage(str(error)) from error
        except OSError as error:
            raise Storage(f"{self._database} was not replaced: {error.filename}: {error.strerror}") from error
        lost = [] if difference is None else [loss._asdict() for loss in difference.lost]
        about = {"agents": self._report.agents, "events": self._report.events}
        return {"database": self._database, "kept": kept, **about, "lost": lost}

    def _require_no_loss(self) -> Difference | None:
        """Return what would be lost; ``None`` if there is no database, or it is unreadable."""
        if not os.path.lexists(self._database):
            return None
        if os.path.islink(self._database):
            raise Storage(f"{self._database} is a link, which reeld does not follow; name the file itself")
        try:
            difference = None if is_empty(self._database) else compare(self._database, self._backup)
        except (OSError, sqlite3.Error) as error:
            if self._force:
                return None
            self._require_readable_backup()
            raise Conflict(
                f"{self._database} cannot be read ({error}), so it is unknown what would be lost; {_FORCE}"
            ) from error
        if difference and not self._force:
            raise Conflict(f"restoring {self._backup} would {difference}; {_FORCE}")
        return difference

    def _require_readable_backup(self) -> None:
        """Raise an error if a comparison failed because of the backup, as one with itself does, too."""
        try:
            compare(self._backup, self._backup)
        except (OSError, sqlite3.Error) as error:
            raise Storage(f"{self._backup} is not a backup, or is damaged ({error}); name another one") from error

    def _copy(self, tell: Tell) -> None:
        with opening(self._backup), closing(open_unchanged(self._backup)) as source:
            if not require_ours(source, self._backup):
                raise Storage(f"{self._backup} has no tables; name a backup")
            (size,) = source.execute("PRAGMA page_size").fetchone()
            os.close(os.open(self._part, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _MODE))
            with closing(sqlite3.connect(self._part, isolation_level=None)) as copy:
                source.backup(
                    copy, pages=_PAGES, progress=lambda _, left, total: tell((total - left) * size, total * size)
                )
                migrate(copy, MIGRATIONS)
            sync(self._part)

    def _replace(self) -> str | None:
        """Exchange the files; return the new name of the old database, or ``None`` if there was none."""
        kept = free_name(self._database)
        directory = os.path.dirname(self._database)
        # The WAL as well: SQLite removes one that does not fit a damaged database.
        linked = [suffix for suffix in ("", "-wal") if _link(f"{self._database}{suffix}", f"{kept}{suffix}")]
        sync(directory)
        if "" in linked and _fold_wal(self._database):
            _unlink(f"{kept}-wal")
        for suffix in ("-wal", "-shm"):
            _unlink(f"{self._database}{suffix}")
        sync(directory)
        os.rename(self._part, self._database)
        sync(directory)
        return kept if linked else None


@contextmanager
def prepared(backup: str, database: str, *, force: bool, copied: Tell, checked: Tell) -> Iterator[Restore]:
    """Prepare a restore; remove its working files when the block ends.

    Args:
        database: the path of the database, which need not exist.
        force: whether to accept the loss of data that the backup does not have, and a damaged backup.
        copied: called with how many bytes have been copied, and with their total.
        checked: called with how many events have been checked, and with their total.

    Raises:
        Conflict: something would be lost.
        Storage: the backup cannot be used or copied, or another restore is running.
    """
    with ExitStack() as stack:
        try:
            os.makedirs(os.path.dirname(database), mode=0o700, exist_ok=True)
            if os.path.exists(database) and os.path.samefile(backup, database):
                raise Storage(f"{backup} is the database itself; name a backup")
            place = stack.enter_context(workplace(database))
        except OSError as error:
            raise Storage(f"nothing was restored: {error.filename}: {error.strerror}") from error
        restore = Restore(backup, database, f"{place}/part", force=force)
        restore.prepare(copied, checked)
        yield restore


def _fold_wal(database: str) -> bool:
    """Fold the WAL into the database; return whether the WAL is no longer needed."""
    try:
        with closing(sqlite3.connect(database, isolation_level=None)) as connection:
            (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.Error:
        return False
    sync(database)
    return not busy


def _link(path: str, name: str) -> bool:
    """Give a file a second name; return whether the file exists."""
    try:
        os.link(path, name)
    except FileNotFoundError:
        return False
    return True


def _unlink(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)

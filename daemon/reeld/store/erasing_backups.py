"""Erasing in backups: the same steps as in the database, in a file that no other process has open.

The backups that a command names are erased before the command is decided. Meanwhile their paths are in the table of
erasures: if the daemon is killed, what was decided in a backup is completed at the next start.
"""

import json
import logging
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TypeAlias

from reel.base.errors import InvalidParams, Storage
from reel.wire.msgpack_codec import packer
from reeld.store import erasures
from reeld.store.backup import require_foreign
from reeld.store.connection import transaction, uri_of
from reeld.store.erasures import Order
from reeld.store.plans import Plan, carry_out
from reeld.store.purging import Purge
from reeld.store.redactions import Redactions
from reeld.store.room import MARGIN, require_room
from reeld.store.schema import APPLICATION_ID, VERSION
from reeld.store.sweep import clean, open_descriptor

log = logging.getLogger(__name__)

# Milliseconds to wait for another program that has locked a backup.
_PATIENCE = 2000


# Plans what is erased in an open backup.
FindIn: TypeAlias = Callable[[], Plan[Redactions | Purge]]


def require_backup(path: str) -> None:
    """Refuse a file in which nothing can be erased.

    Raises:
        InvalidParams: there is no such file, or it is not a backup of this version.
        Storage: it cannot be read.
    """
    with _opened(path):
        require_room(path, MARGIN, f"nothing was erased in the backup {path}")


def erase_in(path: str, order: Order, find: FindIn) -> int:
    """Erase something in a backup; return how many events were changed or removed.

    Args:
        path: the backup.
        find: makes the plan.

    Raises:
        InvalidParams: there is no such file, or it is not a backup of this version.
        Storage: it cannot be written.
    """
    with _opened(path) as (connection, descriptor):
        _recover(connection, path, descriptor)
        planned = carry_out(find(), connection)
        changes = planned.changes
        if planned.decision().is_nothing:
            return 0
        require_room(path, erasures.room_for(changes), f"nothing was erased in the backup {path}")
        erasure = erasures.begin(connection, order)
        for part in erasures.slices(changes):
            erasures.stage(connection, part)
        with transaction(connection):
            erasures.decide(connection.cursor(), planned.decision(erasure), erasures.newest(connection), packer())
        _recover(connection, path, descriptor)
        return len(changes)


def finish_in_backups(connection: sqlite3.Connection, database: str) -> None:
    """Complete or abandon erasures in backups that a killed daemon had begun.

    Args:
        connection: to the database, which knows their paths.
        database: its path.
    """
    for (paths,) in connection.execute("SELECT backups FROM erasures WHERE backups <> '[]'").fetchall():
        for path in json.loads(paths):
            try:
                require_foreign(path, database)
                with _opened(path) as (backup, descriptor):
                    _recover(backup, path, descriptor)
            except (InvalidParams, Storage) as error:
                log.warning("something may be left in a backup that was to be erased: %s", error.message)


def _recover(connection: sqlite3.Connection, path: str, descriptor: int) -> None:
    if carry_out(erasures.recovery(packer()), connection):
        clean(connection, path, descriptor)
        erasures.end(connection)


@contextmanager
def _opened(path: str) -> Iterator[tuple[sqlite3.Connection, int]]:
    """Open a backup, and a descriptor of it: see :class:`reeld.store.sweep.Ground`."""
    with _refusing(path), open_descriptor(path) as descriptor, closing(_open(path)) as connection:
        yield connection, descriptor


def _open(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri_of(path, "rw"), uri=True, isolation_level=None)
    try:
        connection.execute(f"PRAGMA busy_timeout = {_PATIENCE}")
        _require_this_version(connection, path)
        for pragma in (
            "secure_delete = FAST",
            "temp_store = MEMORY",
            "foreign_keys = ON",
            "recursive_triggers = ON",
            "synchronous = FULL",
        ):
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection


def _require_this_version(connection: sqlite3.Connection, path: str) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if (application, version) != (APPLICATION_ID, VERSION):
        raise InvalidParams(
            f"backups: {path} is not of this version; delete it, or migrate it with: reeld --database {path}",
            field="backups",
        )


@contextmanager
def _refusing(path: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise InvalidParams(f"backups: {path} cannot be opened; name a backup", field="backups") from error
    except OSError as error:
        raise Storage(f"the backup {path} cannot be erased: {error.strerror}") from error
    except sqlite3.OperationalError as error:
        raise Storage(f"the backup {path} cannot be erased: {error}") from error
    except sqlite3.DatabaseError as error:
        raise InvalidParams(f"backups: {path} is not a backup: {error}", field="backups") from error

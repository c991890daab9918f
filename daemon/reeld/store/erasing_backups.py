"""Erasing in backups: the same steps as in the database, in a file that no other process has open.

The backups that a command names are erased before the command is decided. Meanwhile their paths are in the table of
erasures: if the daemon is killed, what was decided in a backup is completed at the next start.
"""

import json
import logging
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import NamedTuple
from urllib.parse import quote

from reel.errors import InvalidParams, Storage
from reel.msgpack_codec import packer
from reeld.core.redaction import Redaction
from reeld.store import erasures
from reeld.store.backup import require_foreign
from reeld.store.erasures import Change, Decision, Order
from reeld.store.plans import carry_out
from reeld.store.purging import clones, plan_purge
from reeld.store.redacting import Past, plan_redaction
from reeld.store.room import MARGIN, require_room
from reeld.store.schema import APPLICATION_ID, VERSION
from reeld.store.sweep import clean, open_descriptor

log = logging.getLogger(__name__)

# Milliseconds to wait for another program that has locked a backup.
_PATIENCE = 2000


class Found(NamedTuple):
    """What a search of a backup found: the events to erase, and how they change."""

    changes: list[Change]
    # All of it except for the numbers.
    decision: Decision


# Finds what to erase in an open backup.
Find = Callable[[sqlite3.Connection], Found]


def redaction_in(row: int, past: Past, redaction: Redaction, seqs: list[int] | None) -> Find:
    """Return the function that finds a redaction in a backup.

    Args:
        row: the agent.
        past: its past according to the database. The backup may lack states that it took over later. If an older
            backup was restored since, or if it is of another database, it may have other agents and events in place of
            these.
        redaction: what is removed.
        seqs: the only events that are redacted; ``None`` for all.
    """

    def find(connection: sqlite3.Connection) -> Found:
        planned = carry_out(plan_redaction(row, redaction, seqs, past=past), connection)
        decision = Decision(0, 0, labels=planned.labels, keys=planned.keys, milestones=planned.milestones)
        return Found([each.change for each in planned.found], decision)

    return find


def purge_in(uids: Sequence[str], *, cascade: bool, force: bool) -> Find:
    """Return the function that finds a purge in a backup.

    Args:
        uids: the ids of the agents.
        cascade: whether clones that are killed there go as well, recursively.
        force: whether all clones go.
    """

    def find(connection: sqlite3.Connection) -> Found:
        query = "SELECT id, name FROM agents WHERE uid IN (SELECT value FROM json_each(?))"
        named = connection.execute(query, (json.dumps(list(uids)),)).fetchall()
        rows = {row for row, name in named if name}
        rows = rows.union(*(clones(connection, row, alive=force) for row, _ in named if cascade or force))
        if not rows:
            return Found([], Decision(0, 0))
        planned = carry_out(plan_purge(rows), connection)
        return Found([Change(event, is_gone=True) for event in planned.events], Decision(0, 0, purged=planned.agents))

    return find


def require_backup(path: str) -> None:
    """Refuse a file in which nothing can be erased.

    Raises:
        InvalidParams: there is no such file, or it is not a backup of this version.
        Storage: it cannot be read.
    """
    with _opened(path):
        require_room(path, MARGIN, f"nothing was erased in the backup {path}")


def erase_in(path: str, order: Order, find: Find) -> int:
    """Erase something in a backup; return how many events were changed or removed.

    Args:
        path: the backup.
        order: who asks for it.
        find: finds it there.

    Raises:
        InvalidParams: there is no such file, or it is not a backup of this version.
        Storage: it cannot be written.
    """
    with _opened(path) as (connection, descriptor):
        _carry_through(connection, path, descriptor)
        changes, decision = find(connection)
        if not (changes or decision.labels or decision.keys or decision.purged):
            return 0
        require_room(path, erasures.room_for(changes), f"nothing was erased in the backup {path}")
        erasure = erasures.begin(connection, order)
        for part in erasures.slices(changes):
            erasures.stage(connection, part)
        connection.execute("BEGIN IMMEDIATE")
        decision = decision._replace(erasure=erasure, events=len(changes))
        erasures.decide(connection.cursor(), decision, erasures.newest(connection), packer())
        connection.execute("COMMIT")
        _carry_through(connection, path, descriptor)
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
                    _carry_through(backup, path, descriptor)
            except (InvalidParams, Storage) as error:
                log.warning("something may be left in a backup that was to be erased: %s", error.message)


def _carry_through(connection: sqlite3.Connection, path: str, descriptor: int) -> None:
    if carry_out(erasures.carry_through(packer()), connection):
        clean(connection, path, descriptor)
        erasures.end(connection)


@contextmanager
def _opened(path: str) -> Iterator[tuple[sqlite3.Connection, int]]:
    """Open a backup, and a descriptor of it: see :class:`reeld.store.sweep.Ground`."""
    with _explained(path), open_descriptor(path) as descriptor, closing(_open(path)) as connection:
        yield connection, descriptor


def _open(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"file:{quote(path)}?mode=rw", uri=True, isolation_level=None)
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
def _explained(path: str) -> Iterator[None]:
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

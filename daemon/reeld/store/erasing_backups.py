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
from reeld.store import erasures, traces
from reeld.store.erasures import Change, Decision, Order
from reeld.store.purging import clones, plan_purge
from reeld.store.redacting import Past, carry_out, plan_redaction
from reeld.store.schema import APPLICATION_ID, VERSION

log = logging.getLogger(__name__)

# Milliseconds to wait for another program that has locked a backup.
_PATIENCE = 2000


class Found(NamedTuple):
    """What is erased in a backup."""

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
    with _explained(path), closing(_open(path)):
        pass


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
    with _explained(path), closing(_open(path)) as connection:
        _carry_through(connection)
        changes, decision = find(connection)
        if not (changes or decision.labels or decision.keys or decision.purged):
            return 0
        erasure = erasures.begin(connection, order)
        erasures.stage(connection, changes)
        connection.execute("BEGIN IMMEDIATE")
        decision = decision._replace(erasure=erasure, events=len(changes))
        erasures.decide(connection.cursor(), decision, erasures.newest(connection))
        connection.execute("COMMIT")
        _carry_through(connection)
        return len(changes)


def finish_in_backups(connection: sqlite3.Connection) -> None:
    """Complete or abandon erasures in backups that a killed daemon had begun.

    Args:
        connection: to the database, which knows their paths.
    """
    for (paths,) in connection.execute("SELECT backups FROM erasures WHERE backups <> '[]'").fetchall():
        for path in json.loads(paths):
            try:
                with _explained(path), closing(_open(path)) as backup:
                    _carry_through(backup)
            except (InvalidParams, Storage) as error:
                log.warning("something may be left in a backup that was to be erased: %s", error.message)


def _carry_through(connection: sqlite3.Connection) -> None:
    carried = traces.carry_through(connection, packer())
    if carried.has_traces:
        raise sqlite3.OperationalError("another program reads it")
    if carried.was_decided:
        erasures.end(connection)


def _open(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"file:{quote(path)}?mode=rw", uri=True, isolation_level=None)
    try:
        connection.execute(f"PRAGMA busy_timeout = {_PATIENCE}")
        _require_this_version(connection, path)
        for pragma in ("secure_delete = ON", "foreign_keys = ON", "recursive_triggers = ON", "synchronous = FULL"):
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
    except sqlite3.OperationalError as error:
        if "unable to open" in str(error):
            raise InvalidParams(f"backups: {path} cannot be opened; name a backup", field="backups") from error
        raise Storage(f"the backup {path} cannot be erased: {error}") from error
    except sqlite3.DatabaseError as error:
        raise InvalidParams(f"backups: {path} is not a backup: {error}", field="backups") from error

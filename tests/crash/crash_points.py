"""Daemons that kill themselves at named points of their code.

This is what a fork server runs (:mod:`tests.forkserver`); its orders are ``{"point_file": PATH, "log": PATH,
"later": bool, "arguments": [reeld's arguments]}``.

The point file contains the name of a point. When the daemon reaches that point, it writes the name to ``PATH.died``
and kills itself. The names of all points that it has reached are in ``PATH.reached``. It is the real daemon; in this
process alone, SQLite traces the statements that it is about to run, and a few functions are wrapped.
"""

import functools
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reeld import app, config
from reeld.agents.live_state import LiveState
from reeld.search import index, next_events, volumes
from reeld.serving import outbox
from reeld.store import checkpoints, connection_thread, eraser, image, pace, schema, transactions, wal, writer
from tests.forkserver import Order, serve, write_to

# Commits between two checkpoints: few, so that there are many.
CHECKPOINT_EVERY = 50
# The size in bytes from which the WAL restarts after a checkpoint: small, so that this happens too.
LARGE = 1 << 19
# Commits in the connection's thread before the first one in the event loop's: few, so that there are many of both. No
# disk is too slow for those.
PROOF = 10
_NEVER = 1e9
# Seconds between two rounds of the janitor.
TIDY_EVERY = 0.2
# Events of a batch of the search index, and of a volume.
BATCH, VOLUME = 20, 50

# How the statement begins that is about to run at each of these points.
STATEMENTS = {
    "opening, before anything": "PRAGMA application_id",
    "opening, before the WAL is recovered": "PRAGMA journal_mode",
    "before BEGIN": "BEGIN IMMEDIATE",
    "before a new agent": "INSERT INTO agents",
    "before the heads": "WITH news",
    "before the profile of an agent": "UPDATE agents SET head = ",
    "between profiles, as in a cascade": "UPDATE agents SET head = ",
    "before the first rows": "INSERT INTO events",
    "between rows": "INSERT INTO events",
    "before the keys": "INSERT INTO keys",
    "before COMMIT": "COMMIT",
    "before a checkpoint": "PRAGMA main.wal_checkpoint(PASSIVE)",
    "before the WAL begins anew": "PRAGMA main.wal_checkpoint(RESTART)",
    "before old keys are forgotten": "DELETE FROM keys",
}
IN_LOOP, AFTER_LOOP = (f"{when} a commit in the event loop's thread" for when in ("before", "after"))
# The function that is about to be called, or has just returned.
CALLS = {
    "after COMMIT": (transactions.EventWriter, "commit", "after"),
    IN_LOOP: (transactions.EventWriter, "commit_at_once", "before"),
    AFTER_LOOP: (transactions.EventWriter, "commit_at_once", "after"),
    "committed, before it is applied": (LiveState, "apply", "before"),
    "applied, before the answer": (LiveState, "apply", "after"),
    "before the answer leaves": (outbox.Outbox, "send_now", "before"),
    "before the WAL is lengthened": (wal, "_append_zeros", "before"),
    "after the WAL was lengthened": (wal, "_append_zeros", "after"),
    "after a checkpoint": (checkpoints, "checkpoint", "after"),
    "after the WAL began anew": (checkpoints, "restart_wal", "after"),
    "stopping, before the writer ends": (writer.Writer, "close", "before"),
}
# How the statement of a migration begins that is about to run at each of these points.
MIGRATIONS = {
    "in the first migration": "CREATE INDEX agents_by_source",
    "before the first migration ends": "CREATE INDEX keys_by_time",
    "before the second migration ends": "DROP TABLE keys_by_text",
    "in the third migration": "ALTER TABLE keys ADD COLUMN about",
    "in the fourth migration": "ALTER TABLE events ADD COLUMN checksum",
    "in the midst of the fourth migration": "UPDATE events SET checksum",
    "before the fourth migration ends": "CREATE TRIGGER events_are_never_changed",
    "after the fourth migration": "PRAGMA wal_checkpoint(TRUNCATE)",
    "in a later migration": "CREATE TABLE probes",
    "in the midst of a later migration": "INSERT INTO probes",
    "before a later migration ends": "DROP TABLE probes",
}
# The same, while the search index is made and filled.
INDEXING = {
    "before the index has tables": "CREATE TABLE progress",
    "before the index has a volume": "CREATE VIRTUAL TABLE volume_",
    "before the words": "INSERT INTO volume_1 (rowid",
    "between words": "INSERT INTO volume_1 (rowid",
    "before a volume is merged": "INSERT INTO volume_1 (volume_1) VALUES",
    "before it is noted how far the index is": "UPDATE progress SET",
}
# The same, while something is redacted or purged.
ERASING = {
    "before words are deleted": "INSERT INTO volume_1 (volume_1, rowid",
    "before an erasure is staged": "INSERT INTO erasures",
    "between staged events": "INSERT INTO erased_events",
    "before it is decided": "UPDATE erasures SET state = 'decided'",
    "before the log is changed": "UPDATE events SET content",
    "between changed events": "UPDATE events SET content",
    "before events are deleted": "DELETE FROM events",
    "before it is applied": "UPDATE erasures SET state = 'applied'",
    "before it is noted how far the index is now": "UPDATE progress SET checksum",
    "before keys are forgotten": "DELETE FROM keys WHERE id IN (\n",
    "before it is noted who was purged": "INSERT INTO purged_agents",
    "before an agent is deleted": "DELETE FROM agents",
    "before the WAL is emptied": "PRAGMA main.wal_checkpoint(TRUNCATE)",
    "before it is done": "UPDATE erasures SET state = 'done'",
}
# What is about to be called then.
CLEARING = {
    "before the index is cleared": (index, "clean", "before"),
    "before a page is cleared": (image.Image, "clear", "before"),
    "after a page is cleared": (image.Image, "clear", "after"),
    "before room is given back": (eraser, "give_back_room", "before"),
    "before the file is cleared": (eraser, "Sweep", "before"),
    "before pages in memory are forgotten": (eraser, "forget_pages", "before"),
}
_LATER = "CREATE TABLE probes (id INTEGER) STRICT; INSERT INTO probes SELECT id FROM events; DROP TABLE probes;"

POINTS = (*STATEMENTS, *CALLS, *MIGRATIONS, *INDEXING, *ERASING, *CLEARING)


class CrashPoints:
    """The points of a daemon, one of which the file may name.

    Args:
        path: the point file.
    """

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._death_file = Path(f"{path}.died")
        self._reached_file = Path(f"{path}.reached")
        self._reached: set[str] = set()
        self._previous = ""

    def reach(self, point: str) -> None:
        """Kill this process if the file names this point."""
        if point not in self._reached:
            self._reached.add(point)
            with self._reached_file.open("a") as file:
                file.write(f"{point}\n")
        if self._path.read_text() == point:
            self._death_file.write_text(point)
            os.kill(os.getpid(), signal.SIGKILL)

    def statement(self, text: str) -> None:
        """Reach the points of a statement that is about to run."""
        if text.startswith("--"):  # FTS5's own
            return
        for point, begins in (STATEMENTS | MIGRATIONS | INDEXING | ERASING).items():
            first = not self._previous.startswith(begins)
            if text.lstrip().startswith(begins) and not (first and point.startswith("between ")):
                self.reach(point)
        self._previous = text

    def wrap(self, point: str, owner: Any, name: str, when: str) -> None:
        """Reach a point before or after each call of a function."""
        function: Callable[..., Any] = getattr(owner, name)

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            if when == "before":
                self.reach(point)
            result = function(*args, **kwargs)
            if when == "after":
                self.reach(point)
            return result

        setattr(owner, name, wrapped)


def install(path: str, *, later: bool) -> None:
    """Install the points in this process; ``later`` adds a migration."""
    points = CrashPoints(path)

    class Connection(connection_thread._FunctionRunner):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.set_trace_callback(points.statement)

    connection_thread._FunctionRunner = Connection  # type: ignore[misc]
    checkpoints._COMMITS = CHECKPOINT_EVERY
    checkpoints._LARGE = LARGE
    pace._PROOF, pace._FAST, pace._SLOW, pace._STOP = PROOF, _NEVER, _NEVER, _NEVER
    app._MAINTENANCE_EVERY = TIDY_EVERY
    next_events._EVENTS, volumes._EVENTS = BATCH, VOLUME
    if later:
        schema.MIGRATIONS = (*schema.MIGRATIONS, _LATER)
        schema.VERSION = len(schema.MIGRATIONS)
    for point, (owner, name, when) in (CALLS | CLEARING).items():
        points.wrap(point, owner, name, when)


def run_daemon(order: Order) -> int:
    """Run a daemon in this process; return its exit code."""
    write_to(order["log"])
    install(order["point_file"], later=order["later"])
    return app.main(config.parse(order["arguments"]))


if __name__ == "__main__":
    serve(run_daemon)

"""Daemons that die where they are told to.

A nursery (``python -m tests.crash.doomed``) has loaded all that a daemon needs, and starts one for each line that it
is told: ``{"doom": PATH, "log": PATH, "later": bool, "arguments": [what reeld is told]}``. It answers with its pid, and
later with what it died of.

The doom is a file with the name of a place. Whenever the daemon comes to that place it leaves the name in
``PATH.died`` and kills itself. It is the real daemon: only in this process, SQLite says which statement it is about to
run, and a few functions are wrapped.
"""

import functools
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reeld import app, config
from reeld.agents.agent import Agent
from reeld.serving import outbox
from reeld.store import database, schema, transactions, writer

# Pages between two checkpoints: few, so that there are many.
CHECKPOINT_EVERY = 200
# Bytes from which the WAL is begun anew after a checkpoint, so that this happens as well.
LARGE = 1 << 19
# Seconds between two rounds of the janitor.
TIDY_EVERY = 0.2

# How the statement begins that is about to run at each of these places.
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
    "before a checkpoint": "PRAGMA wal_checkpoint(PASSIVE)",
    "before the WAL begins anew": "PRAGMA wal_checkpoint(RESTART)",
    "before old keys are forgotten": "DELETE FROM keys",
}
# What is about to be called, or has just returned.
CALLS = {
    "after COMMIT": (transactions.EventWriter, "commit", "after"),
    "committed, before it is applied": (Agent, "apply", "before"),
    "applied, before the answer": (Agent, "apply", "after"),
    "before the answer leaves": (outbox, "pieces", "before"),
    "after a checkpoint": (writer, "checkpoint", "after"),
    "after the WAL began anew": (writer, "restart_wal", "after"),
    "stopping, before the writer ends": (writer.Writer, "close", "before"),
}
# A file of an older version, and what makes it one of today; the places are told by a function of SQL.
MIGRATIONS = {
    "in the first migration": "CREATE INDEX agents_by_source",
    "before the first migration ends": "CREATE INDEX keys_by_time",
    "before the second migration ends": "DROP TABLE keys_by_text",
    "in the third migration": "ALTER TABLE keys ADD COLUMN about",
    "in a later migration": "CREATE TABLE probes",
    "in the midst of a later migration": "INSERT INTO probes",
    "before a later migration ends": "DROP TABLE probes",
}
_LATER = "CREATE TABLE probes (id INTEGER) STRICT; INSERT INTO probes SELECT id FROM events; DROP TABLE probes;"

POINTS = (*STATEMENTS, *CALLS, *MIGRATIONS)


class Doom:
    """Where to die: what the file says at the moment."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._died = Path(f"{path}.died")
        self._previous = ""

    def reach(self, point: str) -> None:
        """Die here, if this is the place."""
        if self._path.read_text() == point:
            self._died.write_text(point)
            os.kill(os.getpid(), signal.SIGKILL)

    def statement(self, text: str) -> None:
        """Look whether a statement that is about to run begins as one of a place does."""
        for point, begins in (STATEMENTS | MIGRATIONS).items():
            first = not self._previous.startswith(begins)
            if text.lstrip().startswith(begins) and not (first and point.startswith("between ")):
                self.reach(point)
        self._previous = text

    def wrap(self, point: str, owner: Any, name: str, when: str) -> None:
        """Put a place before or after a function."""
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


def doom(path: str, *, later: bool) -> None:
    """Change this process; ``later`` adds a migration."""
    fate = Doom(path)

    class Connection(database._FunctionRunner):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.set_trace_callback(fate.statement)

    database._FunctionRunner = Connection  # type: ignore[misc]
    writer._CHECKPOINT_EVERY = CHECKPOINT_EVERY
    writer._LARGE = LARGE
    app._MAINTENANCE_EVERY = TIDY_EVERY
    if later:
        schema.MIGRATIONS = (*schema.MIGRATIONS, _LATER)
        schema.VERSION = len(schema.MIGRATIONS)
    for point, (owner, name, when) in CALLS.items():
        fate.wrap(point, owner, name, when)


def live(order: dict[str, Any]) -> None:
    """Be a daemon."""
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for descriptor in (1, 2):
        os.dup2(log, descriptor)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    doom(order["doom"], later=order["later"])
    sys.exit(app.main(config.parse(order["arguments"])))


def nurse() -> None:
    """Start one daemon after the other."""
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            live(json.loads(line))
        say(pid)
        say(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def say(number: int) -> None:
    """Tell who gives the orders."""
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    nurse()

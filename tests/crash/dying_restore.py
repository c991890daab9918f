"""Restores that kill themselves before one of their steps.

This is what a fork server runs (:mod:`tests.forkserver`); its orders are ``{"directory": PATH, "step": N, "log":
PATH}``. A step is whatever Python reports that touches a file of the directory: opening it, giving it a name, taking
one from it. What the step was is written to ``step`` in the directory.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

from reeld.backups.restoring import prepared
from tests.forkserver import Order, serve, write_to

DATABASE, BACKUP, STEP = "r.db", "copy.db", "step"
_EVENTS = frozenset({"open", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "sqlite3.connect"})


class Steps:
    """Counts steps in a directory, and kills this process before one of them.

    Args:
        directory: the directory.
        last: the number of that step.
    """

    def __init__(self, directory: str, last: int) -> None:
        self._directory = directory
        self._left = last

    def note(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Take what Python reports."""
        if event not in _EVENTS or not any(self._directory in str(argument) for argument in arguments):
            return
        self._left -= 1
        if self._left == 0:
            Path(f"{self._directory}.{STEP}").write_text(event)
            os.kill(os.getpid(), signal.SIGKILL)


def run_restore(order: Order) -> int:
    """Restore the backup of a directory in this process; return the exit code."""
    write_to(order["log"])
    directory = order["directory"]
    sys.addaudithook(Steps(directory, order["step"]).note)
    backup, database = f"{directory}/{BACKUP}", f"{directory}/{DATABASE}"
    with prepared(backup, database, force=True, copied=nothing, checked=nothing) as restore:
        restore.finish()
    return 0


def nothing(_done: int, _total: int) -> None:
    """Show nobody how far it is."""


if __name__ == "__main__":
    serve(run_restore)

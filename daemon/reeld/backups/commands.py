"""``reeld verify``, ``restore`` and ``copy``: long operations on a file, in a separate process.

The daemon and ``reel verify --database`` run the first one, ``reel restore-backup`` the second one, and ``reel copy``
the third one. Output goes to stdout as JSON Lines: progress (``step``, ``done``, ``total``) a few times a second, and
finally the ``report`` or the ``error``. Between its two steps, ``restore`` reports that it is ``ready``, and waits for
a line on stdin while the daemon is being stopped. Without that line it ends, and nothing has changed.
"""

import argparse
import json
import os
import sys
import time
from typing import Any

from reel.base.errors import Cancelled, ReelError, as_map
from reel.daemon.database_url import is_url
from reeld.backups.moving import move
from reeld.backups.restoring import prepared
from reeld.startup import OK
from reeld.verify.file import check

# The niceness of a process that works beside a daemon: the highest possible.
_NICE = 19
# Seconds between two lines of progress.
_REPORT_EVERY = 0.25
REFUSED = 1


def main(arguments: list[str]) -> int:
    """Run the command that is named by the first argument; return the exit status."""
    given = _parser().parse_args(arguments)
    os.umask(0o077)
    try:
        report = {"verify": _verify, "restore": _restore, "copy": _copy}[given.command](given)
    except ReelError as error:
        write({"error": as_map(error)})
        return REFUSED
    write({"report": report})
    return OK


def _verify(given: argparse.Namespace) -> dict[str, Any]:
    if given.background:
        os.nice(_NICE)
    report = check(os.path.abspath(given.file), Progress("checking").tell)
    return {**report.as_map(), "damage": report.damage}


def _restore(given: argparse.Namespace) -> dict[str, Any]:
    backup, database = os.path.abspath(given.file), os.path.abspath(given.database)
    copied, checked = Progress("copying").tell, Progress("checking").tell
    with prepared(backup, database, force=given.force, copied=copied, checked=checked) as restore:
        write({"ready": True})
        if not sys.stdin.readline():
            raise Cancelled("nothing was restored: nobody waits for it any more")
        return restore.finish()


def _copy(given: argparse.Namespace) -> dict[str, Any]:
    source, target = (name if is_url(name) else os.path.abspath(name) for name in (given.source, given.target))
    return move(source, target, Progress("copying events").tell, Progress("comparing").tell)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="reeld", description="Work on a file, and print JSON Lines.")
    commands = parser.add_subparsers(dest="command", required=True)
    verify = commands.add_parser("verify", help="check a file that no daemon has open, or a backup")
    verify.add_argument("file", metavar="FILE", help="the file")
    verify.add_argument("--background", action="store_true", help="leave the processor to others")
    restore = commands.add_parser("restore", help="put a backup in the place of a database")
    restore.add_argument("file", metavar="FILE", help="the backup")
    restore.add_argument("--database", metavar="FILE", required=True, help="the database")
    restore.add_argument("--force", action="store_true", help="lose what the backup does not have")
    copy = commands.add_parser("copy", help="copy a database to a server, or from one to a file")
    copy.add_argument("source", metavar="FROM", help="the database")
    copy.add_argument("target", metavar="TO", help="an empty one")
    return parser


class Progress:
    """Prints the progress of a step, at a limited rate.

    Args:
        step: the name of the step.
    """

    def __init__(self, step: str) -> None:
        self._step = step
        self._next = 0.0

    def tell(self, done: int, total: int) -> None:
        """Print the progress unless a line was just printed."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _REPORT_EVERY
            write({"step": self._step, "done": done, "total": total})


def write(value: dict[str, Any]) -> None:
    """Print a line of JSON."""
    sys.stdout.write(f"{json.dumps(value)}\n")
    sys.stdout.flush()

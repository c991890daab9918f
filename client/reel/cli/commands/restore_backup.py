"""The command ``restore-backup``."""

import os
from collections.abc import Iterator
from typing import Any

from reel.base.errors import NotRunning, ReelError
from reel.cli.commands.shared.file_work import work_on_file
from reel.cli.commands.stop import STOP_TIMEOUT, stop_daemon
from reel.cli.line.context import Context
from reel.cli.line.exits import OK, REFUSED
from reel.cli.screen.output import Line
from reel.daemon.address import default_database
from reel.daemon.starting import start
from reel.daemon.stop_marker import is_marked, unmark
from reel.reading.wording import count


class _Pause:
    """Stops the daemon for a restore, if one runs, and starts it again if it ran.

    Args:
        socket: the path of its socket.
        limit: how long it may take to stop, in seconds.
    """

    def __init__(self, socket: str, limit: float) -> None:
        self._socket = socket
        self._limit = limit
        self._was_marked = is_marked(socket)
        self._begun = False
        self._stopped = False

    def begin(self) -> None:
        """Stop it, and keep others from starting it."""
        self._begun = True
        self._stopped = stop_daemon(self._socket, self._limit)

    def end(self, database: str) -> str | None:
        """Start it again if it was stopped; return why that is not possible."""
        try:
            if self._stopped:
                start(self._socket, database=None if database == default_database() else database)
            elif self._begun and not self._was_marked:
                unmark(self._socket)
        except ReelError as error:
            return error.message
        return None


def restore_backup(ctx: Context) -> int:
    """Replace the database with a backup; print what was restored and where the replaced file is."""
    backup = os.path.abspath(ctx.words[0])
    database = _database_path(ctx)
    pause = _Pause(ctx.socket, ctx.args.time_limit or STOP_TIMEOUT)
    arguments = ["restore", backup, "--database", database, *(["--force"] if ctx.args.force else [])]
    problem = None
    try:
        report = work_on_file(ctx.out, f"reading {ctx.words[0]}", *arguments, ready=pause.begin)
    finally:
        problem = pause.end(database)
        if problem is not None:
            ctx.out.warn(f"the daemon was not started again: {problem}; start it with: {ctx.command('start')}")
    if ctx.out.as_json:
        ctx.out.document(report)
    else:
        ctx.out.lines(_restored_lines(report, backup))
    return OK if problem is None else REFUSED


def _database_path(ctx: Context) -> str:
    """Return the database of the daemon that runs, else of the one that would be started."""
    try:
        return str(ctx.client.stats()["database"])
    except NotRunning:
        return default_database()


def _restored_lines(report: dict[str, Any], backup: str) -> Iterator[Line]:
    restored = f"{count(report['agents'], 'conversation')}, {count(report['events'], 'event')}"
    yield [f"restored {report['database']} from {backup}: {restored}"]
    for loss in report["lost"]:
        yield [("lost: ", "bad"), f"{count(loss['events'], 'event')} of {loss['name']}"]
    if report["kept"] is not None:
        yield [f"the database that was there: {report['kept']}"]

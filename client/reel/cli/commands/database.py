"""Commands about the whole database: verify, backup, restore-backup, copy."""

import os
from collections.abc import Iterator
from typing import Any

from reel.base.errors import NotRunning, ReelError
from reel.cli.commands.daemon import STOP_TIMEOUT, stop_daemon
from reel.cli.commands.shared.file_work import watch_backup, work_on_file
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.cli.line.exits import OK, REFUSED
from reel.cli.screen.output import Line
from reel.daemon.address import default_database
from reel.daemon.database_url import has_password, is_url, printable
from reel.daemon.process import start
from reel.daemon.stop_marker import is_marked, unmark
from reel.reading.wording import count
from reel.replies import Problem, Verified
from reel.requests.calls import reply_reader

# What to do about each kind of problem; every other kind is damage.
_REMEDIES = {
    "living": "repair it from the log, and report it: reel replay {name}",
    "record": "a record that cannot be read is kept and left out of messages; nothing to do",
    "kind": "an event of an unknown kind is kept and ignored; a newer reeld may know it",
    "unchecked": "check again when the daemon is less busy: reel verify",
}
_DAMAGE = "first make a copy of the database, then replace it with a backup; see docs/operations.md"


def verify(ctx: Context) -> int:
    """Check the database, one agent's log, or a file; print the problems."""
    if ctx.args.all and ctx.args.agent:
        raise UsageError("--all and -a cannot be combined")
    report = _of_daemon(ctx) if ctx.args.database is None else _of_file(ctx, ctx.args.database)
    if ctx.out.as_json:
        ctx.out.document(report)
    else:
        ctx.out.lines(report_lines(report))
    return REFUSED if report.problems else OK


def _of_daemon(ctx: Context) -> Verified:
    with ctx.out.waiting("checking every event"):
        return ctx.client.verify(None if ctx.args.all else ctx.agent or None)


def _of_file(ctx: Context, file: str) -> Verified:
    """Check a file without the daemon, in a process of its own."""
    if ctx.args.all or ctx.args.words or ctx.args.agent:
        raise UsageError("--database checks the whole file; leave out AGENT, -a and --all")
    if is_url(file):
        raise UsageError("--database checks a file; a database on a server is checked by its daemon: reel verify")
    path = os.path.abspath(file)
    return reply_reader(Verified)(work_on_file(ctx.out, f"checking {file}", "verify", path))


def backup(ctx: Context) -> int:
    """Let the daemon write a copy of the database, and print its path and what checking it has found."""
    path = os.path.abspath(ctx.words[0])
    with watch_backup(ctx, path):
        written = ctx.client.backup(path)
    if ctx.out.as_json:
        ctx.out.document(written)
    else:
        ctx.out.line(f"{written.path}: {written.bytes:,} bytes")
        if written.agents is not None:
            checked = (written.agents, written.events or 0, [*written.problems], written.omitted)
            ctx.out.lines(report_lines(Verified(*checked)))
    return REFUSED if written.problems else OK


def report_lines(report: Verified) -> Iterator[Line]:
    """Lay out a report: the problems, how many there are, and one line for each thing to do."""
    for problem in report.problems:
        yield [f"{_where(problem)}: ", (problem.what, "bad"), f": {problem.reason}"]
    if report.omitted:
        yield [f"and {report.omitted:,} more"]
    problems = len(report.problems) + report.omitted
    verdict = count(problems, "problem") if problems else "nothing is wrong"
    yield [f"{count(report.agents, 'agent')}, {count(report.events, 'event')}: {verdict}"]
    remedies = [_REMEDIES.get(problem.what, _DAMAGE).format(name=problem.name) for problem in report.problems]
    for remedy in dict.fromkeys(remedies):
        yield [(remedy, "bold")]


def _where(problem: Problem) -> str:
    place = problem.name or "the database"
    return f"{place} #{problem.seq}" if problem.seq is not None else place


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
    restored = f"{count(report['agents'], 'agent')}, {count(report['events'], 'event')}"
    yield [f"restored {report['database']} from {backup}: {restored}"]
    for loss in report["lost"]:
        yield [("lost: ", "bad"), f"{count(loss['events'], 'event')} of {loss['name']}"]
    if report["kept"] is not None:
        yield [f"the database that was there: {report['kept']}"]


def copy(ctx: Context) -> int:
    """Copy the database to a server, or from one to a file; print what was copied."""
    source, target = ctx.args.source, ctx.args.target
    if not (source and target):
        raise UsageError("name both databases, with --from and --to")
    for name in (source, target):
        if has_password(name):
            raise UsageError(
                "the URL contains a password, which everybody who lists processes can see; put it into ~/.pgpass"
            )
    report = work_on_file(ctx.out, f"reading {printable(source)}", "copy", source, target)
    if ctx.out.as_json:
        ctx.out.document(report)
    else:
        ctx.out.lines(_copied_lines(report))
    return OK


def _copied_lines(report: dict[str, Any]) -> Iterator[Line]:
    yield [f"copied {report['from']} to {report['to']}; both have the same:"]
    for table, rows in report["rows"].items():
        yield [f"{table.replace('_', ' ')}: {rows:,}"]
    yield [f"hash of all rows: {report['hash']}"]

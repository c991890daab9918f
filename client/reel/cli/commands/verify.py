"""The command ``verify``, and how what a check found is shown."""

import os
from collections.abc import Iterator

from reel.cli.commands.shared.file_work import work_on_file
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.cli.line.exits import OK, REFUSED
from reel.cli.screen.output import Line
from reel.daemon.database_url import is_url
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
        raise UsageError("--database checks the whole file; leave out NAME, -a and --all")
    if is_url(file):
        raise UsageError("--database checks a file; a database on a server is checked by its daemon: reel verify")
    path = os.path.abspath(file)
    return reply_reader(Verified)(work_on_file(ctx.out, f"checking {file}", "verify", path))


def report_lines(report: Verified) -> Iterator[Line]:
    """Lay out a report: the problems, how many there are, and one line for each thing to do."""
    for problem in report.problems:
        yield [f"{_where(problem)}: ", (problem.what, "bad"), f": {problem.reason}"]
    if report.omitted:
        yield [f"and {report.omitted:,} more"]
    problems = len(report.problems) + report.omitted
    verdict = count(problems, "problem") if problems else "nothing is wrong"
    yield [f"{count(report.agents, 'conversation')}, {count(report.events, 'event')}: {verdict}"]
    remedies = [_REMEDIES.get(problem.what, _DAMAGE).format(name=problem.name) for problem in report.problems]
    for remedy in dict.fromkeys(remedies):
        yield [(remedy, "bold")]


def _where(problem: Problem) -> str:
    place = problem.name or "the database"
    return f"{place} #{problem.seq}" if problem.seq is not None else place

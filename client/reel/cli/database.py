"""Commands about the whole database: verify, backup."""

import os
from collections.abc import Iterator

from reel.cli.arguments import UsageError
from reel.cli.context import Context
from reel.cli.exits import OK, REFUSED
from reel.cli.output import Line
from reel.replies import Problem, Verified

# What is to be done, by the word for what was found; all else is damage.
_REMEDIES = {
    "living": "mend it from the log, and report it: reel replay {name}",
    "record": "a record that cannot be read is kept and left out of messages; nothing has to be done",
    "kind": "an event of an unknown kind is kept and passed over; a newer reeld may know it",
    "unchecked": "check again when less is going on: reel verify",
}
_DAMAGE = "keep a copy of the database before all else, then put a backup in its place; see docs/operations.md"


def verify(ctx: Context) -> int:
    """Check the database, or one agent's log; say what was report."""
    if ctx.args.all and ctx.args.agent:
        raise UsageError("--all and -a do not go together")
    with ctx.out.waiting("checking every event"):
        report = ctx.client.verify(None if ctx.args.all else ctx.agent or None)
    if ctx.out.as_json:
        ctx.out.document(report)
    else:
        ctx.out.lines(report_lines(report))
    return REFUSED if report.problems else OK


def backup(ctx: Context) -> None:
    """Let the daemon write the copy, and print where it is."""
    path = os.path.abspath(ctx.words[0])  # noqa: PTH100 - a symlink stays one
    with ctx.out.waiting("writing the copy"):
        written = ctx.client.backup(path)
    ctx.report(written, f"{written.path}: {written.bytes:,} bytes")


def report_lines(report: Verified) -> Iterator[Line]:
    """Put what was found into lines: the problems, how many there are, and a line for each thing to do."""
    for problem in report.problems:
        yield [f"{_where(problem)}: ", (problem.what, "bad"), f": {problem.reason}"]
    if report.omitted:
        yield [f"and {report.omitted:,} more"]
    count = len(report.problems) + report.omitted
    verdict = _count(count, "problem") if count else "nothing is wrong"
    yield [f"{_count(report.agents, 'agent')}, {_count(report.events, 'event')}: {verdict}"]
    remedies = [_REMEDIES.get(problem.what, _DAMAGE).format(name=problem.name) for problem in report.problems]
    for remedy in dict.fromkeys(remedies):
        yield [(remedy, "bold")]


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _where(problem: Problem) -> str:
    place = problem.name or "the database"
    return f"{place} #{problem.seq}" if problem.seq is not None else place

"""The command ``copy``: a database on a server from a file, and back."""

from collections.abc import Iterator
from typing import Any

from reel.cli.commands.shared.file_work import work_on_file
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.cli.line.exits import OK
from reel.cli.screen.output import Line
from reel.daemon.database_url import has_password, printable


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

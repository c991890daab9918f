"""The command ``backup``."""

import os

from reel.cli.commands.shared.file_work import watch_backup
from reel.cli.commands.verify import report_lines
from reel.cli.line.context import Context
from reel.cli.line.exits import OK, REFUSED
from reel.replies import Verified


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

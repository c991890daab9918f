"""The command ``load``: add the history of a request."""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING
from reel.cli.commands.shared.bodies import format_of, show_changes
from reel.cli.line.context import Context
from reel.cli.line.files import read_text
from reel.reading.wording import seq_range

if TYPE_CHECKING:
    pass
from reel.cli.commands.ingest import print_notes


def load(ctx: Context) -> None:
    """Add the history of a request."""
    args = ctx.args
    reply = ctx.client.load(
        ctx.agent,
        format_of(ctx),
        read_text(ctx.word),
        model=args.model,
        create=args.create or None,
        if_seq=args.if_seq,
    )
    if not ctx.out.as_json:
        show_changes(ctx, reply.report)
    print_notes(ctx, reply)
    ctx.report(reply, f"{ctx.agent}: added {seq_range(reply.first, reply.head)}", "undo", ctx.agent)

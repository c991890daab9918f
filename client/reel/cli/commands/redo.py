"""The command ``redo``."""

from reel.cli.commands.undo import called
from reel.cli.line.context import Context


def redo(ctx: Context) -> None:
    """Redo what undo has undone."""
    reply = ctx.client.redo(ctx.agent, if_seq=ctx.args.if_seq)
    ctx.report(reply, f"{ctx.agent}: redid {called(ctx, reply.redone)}", "undo", ctx.agent)

"""The command ``mark``."""

from reel.cli.line.context import Context


def mark(ctx: Context) -> None:
    """Set a mark to rewind to."""
    reply = ctx.client.mark(ctx.agent, ctx.word, if_seq=ctx.args.if_seq)
    label = f" as {reply.label}" if reply.label is not None else ""
    ctx.report(reply, f"{ctx.agent}: marked{label} (#{reply.seq})", "undo", ctx.agent)

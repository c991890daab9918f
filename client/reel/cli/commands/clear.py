"""The command ``clear``."""

from reel.cli.line.context import Context


def clear(ctx: Context) -> None:
    """Remove all messages except the system prompt."""
    reply = ctx.client.clear(ctx.agent, if_seq=ctx.args.if_seq)
    ctx.report(reply, f"{ctx.agent}: cleared", "restore", ctx.agent, str(reply.was), destructive=True)

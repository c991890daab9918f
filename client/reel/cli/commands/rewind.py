"""The command ``rewind``."""

from reel.cli.line.context import Context
from reel.reading.wording import count


def rewind(ctx: Context) -> None:
    """Go back to a mark."""
    reply = ctx.client.rewind(ctx.agent, ctx.word, if_seq=ctx.args.if_seq)
    label = ctx.word if reply.label is None else reply.label
    mark = f"mark #{reply.target}" if label is None else f"{label} (#{reply.target})"
    text = f"{ctx.agent}: back at {mark}; {count(reply.dropped, 'message')} set aside"
    ctx.report(reply, text, "restore", ctx.agent, str(reply.was), destructive=True)

"""The command ``rewind``."""

from reel.cli.line.context import Context
from reel.reading.wording import count


def rewind(ctx: Context) -> None:
    """Go back to a mark."""
    reply = ctx.client.rewind(ctx.agent, ctx.word, if_seq=ctx.args.if_seq)
    mark = f"#{reply.target}" if ctx.word is None else f"{ctx.word} (#{reply.target})"
    text = f"{ctx.agent}: back at mark {mark}; {count(reply.dropped, 'message')} set aside"
    ctx.report(reply, text, "restore", ctx.agent, str(reply.was), destructive=True)

"""The command ``restore``."""

from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.reading.positions import FORMS, FromEnd, parse_position


def restore(ctx: Context) -> None:
    """Restore the conversation as it was at a seq."""
    to = ctx.seq(_position(ctx.words[0]))
    reply = ctx.client.restore(ctx.agent, to, if_seq=ctx.args.if_seq)
    ctx.report(reply, f"{ctx.agent}: restored to #{to}", "restore", ctx.agent, str(reply.was), destructive=True)


def _position(word: str) -> int | FromEnd:
    if (parsed := parse_position(word)) is None:
        raise UsageError(f"{word!r} is not a position; write {FORMS}; `reel log` shows the numbers")
    return parsed

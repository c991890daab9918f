"""Commands that move a conversation about: clear, mark, rewind, restore, undo, redo."""

from reel.cli.arguments import UsageError, number
from reel.cli.context import Context


def clear(ctx: Context) -> None:
    """Empty the conversation but for its prompt."""
    reply = ctx.client.clear(ctx.agent, if_seq=ctx.args.if_seq)
    ctx.report(reply, f"{ctx.agent}: cleared", "restore", ctx.agent, str(reply.was))


def mark(ctx: Context) -> None:
    """Set a mark to rewind to."""
    reply = ctx.client.mark(ctx.agent, ctx.word, if_seq=ctx.args.if_seq)
    label = f" {reply.label}" if reply.label is not None else ""
    ctx.report(reply, f"{ctx.agent}: mark{label} at {reply.seq}", "undo", ctx.agent)


def rewind(ctx: Context) -> None:
    """Go back to a mark."""
    reply = ctx.client.rewind(ctx.agent, ctx.word, if_seq=ctx.args.if_seq)
    text = f"{ctx.agent}: back at mark {reply.target}, {_count(reply.dropped, 'record')} dropped"
    ctx.report(reply, text, "restore", ctx.agent, str(reply.was))


def restore(ctx: Context) -> None:
    """Make the conversation what it was at a seq."""
    reply = ctx.client.restore(ctx.agent, seq(ctx.words[0]), if_seq=ctx.args.if_seq)
    ctx.report(reply, f"{ctx.agent}: as it was at {ctx.words[0]}", "restore", ctx.agent, str(reply.was))


def undo(ctx: Context) -> None:
    """Take back the newest command."""
    reply = ctx.client.undo(ctx.agent, if_seq=ctx.args.if_seq)
    ctx.report(reply, f"{ctx.agent}: took back command {reply.undone}", "redo", ctx.agent)


def redo(ctx: Context) -> None:
    """Bring back what undo took."""
    reply = ctx.client.redo(ctx.agent, if_seq=ctx.args.if_seq)
    ctx.report(reply, f"{ctx.agent}: brought back command {reply.redone}", "undo", ctx.agent)


def seq(word: str) -> int:
    """Read a position.

    Raises:
        UsageError: it is no number.
    """
    try:
        return number(word)
    except ValueError:
        raise UsageError(f"{word!r} is no seq; `reel log` shows them") from None


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"

"""Commands that move a conversation back and forth: clear, mark, rewind, restore, undo, redo."""

from argparse import ArgumentTypeError

from reel.cli.arguments import UsageError, number
from reel.cli.context import Context
from reel.cli.terminal import count


def clear(ctx: Context) -> None:
    """Remove all messages except the system prompt."""
    reply = ctx.client.clear(ctx.agent, if_seq=ctx.args.if_seq)
    ctx.report(reply, f"{ctx.agent}: cleared", "restore", ctx.agent, str(reply.was))


def mark(ctx: Context) -> None:
    """Set a mark to rewind to."""
    reply = ctx.client.mark(ctx.agent, ctx.word, if_seq=ctx.args.if_seq)
    label = f" as {reply.label}" if reply.label is not None else ""
    ctx.report(reply, f"{ctx.agent}: marked{label} (#{reply.seq})", "undo", ctx.agent)


def rewind(ctx: Context) -> None:
    """Go back to a mark."""
    reply = ctx.client.rewind(ctx.agent, ctx.word, if_seq=ctx.args.if_seq)
    mark = f"#{reply.target}" if ctx.word is None else f"{ctx.word} (#{reply.target})"
    text = f"{ctx.agent}: back at mark {mark}; {count(reply.dropped, 'record')} set aside"
    ctx.report(reply, text, "restore", ctx.agent, str(reply.was))


def restore(ctx: Context) -> None:
    """Restore the conversation as it was at a seq."""
    to = seq(ctx.words[0])
    reply = ctx.client.restore(ctx.agent, to, if_seq=ctx.args.if_seq)
    ctx.report(reply, f"{ctx.agent}: restored to #{to}", "restore", ctx.agent, str(reply.was))


def undo(ctx: Context) -> None:
    """Undo the newest command."""
    reply = ctx.client.undo(ctx.agent, if_seq=ctx.args.if_seq)
    ctx.report(reply, f"{ctx.agent}: undid #{reply.undone}", "redo", ctx.agent)


def redo(ctx: Context) -> None:
    """Redo what undo has undone."""
    reply = ctx.client.redo(ctx.agent, if_seq=ctx.args.if_seq)
    ctx.report(reply, f"{ctx.agent}: redid #{reply.redone}", "undo", ctx.agent)


def seq(word: str) -> int:
    """Return an argument as a seq.

    Raises:
        UsageError: it is not a number.
    """
    try:
        return number(word)
    except ArgumentTypeError:
        raise UsageError(f"{word!r} is not a seq; `reel log` shows them") from None

"""Commands that move a conversation back and forth: clear, mark, rewind, restore, undo, redo."""

from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.reading.positions import FORMS, FromEnd, parse_position
from reel.reading.wording import count, seq_range

# Commands that people know by the name of their first event; all others add messages.
_NAMED = frozenset(("clear", "clone", "mark", "restore", "rewind"))
# How many events of a command are counted.
_LONGEST = 100


def clear(ctx: Context) -> None:
    """Remove all messages except the system prompt."""
    reply = ctx.client.clear(ctx.agent, if_seq=ctx.args.if_seq)
    ctx.report(reply, f"{ctx.agent}: cleared", "restore", ctx.agent, str(reply.was), destructive=True)


def mark(ctx: Context) -> None:
    """Set a mark to rewind to."""
    reply = ctx.client.mark(ctx.agent, ctx.word, if_seq=ctx.args.if_seq)
    label = f" as {reply.label}" if reply.label is not None else ""
    ctx.report(reply, f"{ctx.agent}: marked{label} (#{reply.seq})", "undo", ctx.agent)


def rewind(ctx: Context) -> None:
    """Go back to a mark."""
    reply = ctx.client.rewind(ctx.agent, ctx.word, if_seq=ctx.args.if_seq)
    mark = f"#{reply.target}" if ctx.word is None else f"{ctx.word} (#{reply.target})"
    text = f"{ctx.agent}: back at mark {mark}; {count(reply.dropped, 'message')} set aside"
    ctx.report(reply, text, "restore", ctx.agent, str(reply.was), destructive=True)


def restore(ctx: Context) -> None:
    """Restore the conversation as it was at a seq."""
    to = ctx.seq(_position(ctx.words[0]))
    reply = ctx.client.restore(ctx.agent, to, if_seq=ctx.args.if_seq)
    ctx.report(reply, f"{ctx.agent}: restored to #{to}", "restore", ctx.agent, str(reply.was), destructive=True)


def undo(ctx: Context) -> None:
    """Undo the newest command."""
    reply = ctx.client.undo(ctx.agent, if_seq=ctx.args.if_seq)
    ctx.report(reply, f"{ctx.agent}: undid {_called(ctx, reply.undone)}", "redo", ctx.agent, destructive=True)


def redo(ctx: Context) -> None:
    """Redo what undo has undone."""
    reply = ctx.client.redo(ctx.agent, if_seq=ctx.args.if_seq)
    ctx.report(reply, f"{ctx.agent}: redid {_called(ctx, reply.redone)}", "undo", ctx.agent)


def _called(ctx: Context, command: int) -> str:
    """Return what to call a command, such as ``the rewind (#7)`` or ``#3-#5``."""
    if ctx.out.as_json:
        return ""
    events = ctx.client.history(ctx.agent, since=command - 1, limit=_LONGEST).events
    seqs = [event["seq"] for event in events if event["command"] == command]
    replaces = len(seqs) > 1 and events[0]["kind"] == "rewind"
    if not seqs or replaces or events[0]["kind"] not in _NAMED:
        return seq_range(command, max(seqs, default=command))
    return f"the {events[0]['kind']} (#{command})"


def _position(word: str) -> int | FromEnd:
    if (parsed := parse_position(word)) is None:
        raise UsageError(f"{word!r} is not a position; write {FORMS}; `reel log` shows the numbers")
    return parsed

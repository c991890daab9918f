"""The command ``undo``."""

from reel.cli.line.context import Context
from reel.reading.wording import count, seq_range

# Commands that people know by the name of their first event; all others add messages.
_NAMED = frozenset(("clear", "clone", "mark", "restore", "rewind"))
# How many events of a command are counted.
_LONGEST = 100


def undo(ctx: Context) -> None:
    """Undo the newest command, or the newest turn."""
    if ctx.args.turn:
        taken = ctx.client.undo_turn(ctx.agent, if_seq=ctx.args.if_seq)
        told = f"{ctx.agent}: took back the turn from #{taken.first} on; {count(taken.dropped, 'message')} set aside"
        ctx.report(taken, told, "undo", ctx.agent, destructive=True)
        return
    reply = ctx.client.undo(ctx.agent, if_seq=ctx.args.if_seq)
    ctx.report(reply, f"{ctx.agent}: undid {called(ctx, reply.undone)}", "redo", ctx.agent, destructive=True)


def called(ctx: Context, command: int) -> str:
    """Return what to call a command, such as ``the rewind (#7)`` or ``#3-#5``."""
    if ctx.out.as_json:
        return ""
    events = ctx.client.history(ctx.agent, since=command - 1, limit=_LONGEST).events
    seqs = [event["seq"] for event in events if event["command"] == command]
    replaces = len(seqs) > 1 and events[0]["kind"] == "rewind"
    if not seqs or replaces or events[0]["kind"] not in _NAMED:
        return seq_range(command, max(seqs, default=command))
    return f"the {events[0]['kind']} (#{command})"

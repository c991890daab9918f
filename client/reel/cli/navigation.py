"""Commands that move a conversation about: clear, mark, rewind, restore, undo, redo."""

from reel.cli.arguments import UsageError, number
from reel.cli.context import Invocation


def clear(run: Invocation) -> None:
    """Empty the conversation but for its prompt."""
    reply = run.client.clear(run.agent, if_seq=run.args.if_seq)
    run.done(reply, f"{run.agent}: cleared", "restore", run.agent, str(reply.was))


def mark(run: Invocation) -> None:
    """Set a mark to rewind to."""
    reply = run.client.mark(run.agent, run.word, if_seq=run.args.if_seq)
    label = f" {reply.label}" if reply.label is not None else ""
    run.done(reply, f"{run.agent}: mark{label} at {reply.seq}", "undo", run.agent)


def rewind(run: Invocation) -> None:
    """Go back to a mark."""
    reply = run.client.rewind(run.agent, run.word, if_seq=run.args.if_seq)
    text = f"{run.agent}: back at mark {reply.target}, {_count(reply.dropped, 'record')} dropped"
    run.done(reply, text, "restore", run.agent, str(reply.was))


def restore(run: Invocation) -> None:
    """Make the conversation what it was at a seq."""
    reply = run.client.restore(run.agent, seq(run.words[0]), if_seq=run.args.if_seq)
    run.done(reply, f"{run.agent}: as it was at {run.words[0]}", "restore", run.agent, str(reply.was))


def undo(run: Invocation) -> None:
    """Take back the newest command."""
    reply = run.client.undo(run.agent, if_seq=run.args.if_seq)
    run.done(reply, f"{run.agent}: took back command {reply.undone}", "redo", run.agent)


def redo(run: Invocation) -> None:
    """Bring back what undo took."""
    reply = run.client.redo(run.agent, if_seq=run.args.if_seq)
    run.done(reply, f"{run.agent}: brought back command {reply.redone}", "undo", run.agent)


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

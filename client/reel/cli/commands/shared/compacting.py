"""A summary in place of the beginning of a conversation, written by a model.

It is stored as the importers store the compactions of other tools: the conversation goes back to its beginning, and
goes on with the summary, a message of the user's, and with copies of what stays. That is one command, so ``undo`` takes
it back; the messages are in the log as before, and are found by a search. Nothing is written before the whole summary
is there.
"""

from __future__ import annotations

from reel.base.errors import Conflict, Killed, ReelError
from reel.base.light_typing import TYPE_CHECKING, NamedTuple
from reel.base.strict_json import encode
from reel.cli.commands.shared.aside import Aside, ask_aside
from reel.cli.line.arguments import UsageError
from reel.cli.line.files import keep_text
from reel.reading.cutting_point import Cut, find_cut
from reel.said.messages import COMPACTED
from reel.said.new_messages import text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from reel.cli.commands.shared.provider import Provider
    from reel.cli.line.context import Context
    from reel.replies import AgentInfo, Appended
    from reel.said.messages import Message

_QUESTION = """\
Write a summary of this conversation. It will take the place of everything above: you will go on from it, and from \
nothing else of what was said. Keep what the user wants and decided, in their own words where these matter; every \
fact, name, path, number and piece of code that is still needed; what was done, and what came of it; the errors that \
occurred, and how they were solved; what is still open, and the next step. Answer with the summary alone, as text, and \
call no tools."""
_HEADING = "This conversation began earlier. This is a summary of what was said before:"
# How often to try again if others write meanwhile.
_TRIES = 10


class Compacted(NamedTuple):
    """What became of a conversation: the daemon's reply, where it was cut, and the summary."""

    reply: Appended
    cut: Cut
    summary: Aside


def put_summary(
    ctx: Context,
    agent: str,
    provider: Provider,
    *,
    keep: int = 0,
    mark: int | None = None,
    note: str | None = None,
    if_seq: int | None = None,
) -> Compacted:
    """Let a model summarize the beginning of a conversation, and put the summary in its place.

    Args:
        ctx: the command's context.
        agent: the conversation, an id.
        provider: who writes the summary.
        keep: how many of the newest questions stay, with what answers them.
        mark: the seq of a mark; what is after it stays.
        note: what the summary should not miss.
        if_seq: only if the conversation's head is still this seq. Default: whatever comes meanwhile stays behind it.

    Raises:
        UsageError: there is nothing to summarize.
        Unanswered: no whole summary came.
        Killed: the conversation was killed.
        Conflict: what was summarized is no longer in the conversation; the log keeps the summary.
    """
    _require_writable(ctx.client.agent(agent), if_seq)
    cut = _cut(ctx, agent, keep, mark)
    if cut is None:
        waits = "; give the results of the open calls first" if ctx.client.agent(agent).open_calls else ""
        raise UsageError(f"there is nothing to summarize before what stays{waits}")
    question = f"{_QUESTION} {note}" if note else _QUESTION
    summary = ask_aside(ctx, agent, provider, question, "waiting for the summary", cut.last)
    try:
        return Compacted(_put(ctx, agent, cut, summary, if_seq), cut, summary)
    except Conflict:
        noted = ctx.client.add(agent, [*summary.usage, {"kind": "note", "content": summary.text}]).head
        ctx.out.warn(f"the log keeps the summary as #{noted}")
        raise
    except ReelError:
        ctx.out.warn(f"the summary was saved: {keep_text(summary.text, '.txt')}")
        raise


def _require_writable(info: AgentInfo, if_seq: int | None) -> None:
    """Refuse what would be refused at the end, before anybody is asked and paid.

    Raises:
        Killed: the conversation was killed.
        Conflict: something has happened to it since ``if_seq``.
    """
    if not info.alive:
        raise Killed(f"{info.name} was killed", agent=info.id)
    if if_seq not in (None, info.head):
        raise Conflict(f"{info.name} is at #{info.head}, not at #{if_seq}", head=info.head)


def _put(ctx: Context, agent: str, cut: Cut, summary: Aside, if_seq: int | None) -> Appended:
    """Put a summary in the place of what it is about, whatever has come behind that.

    Raises:
        Conflict: that is gone, or others write all the time.
    """
    left = _TRIES if if_seq is None else 1
    while True:
        left -= 1
        head = ctx.client.agent(agent).head if if_seq is None else if_seq
        kept = _after(ctx, agent, cut)
        if kept is None:
            raise Conflict("what was summarized is no longer in the conversation", head=head)
        events = [*_counts(summary), *_events(ctx, agent, cut, summary, kept)]
        try:
            return ctx.client.append(agent, events, if_seq=head)
        except Conflict:
            if not left:
                raise


def _cut(ctx: Context, agent: str, keep: int, mark: int | None) -> Cut | None:
    with ctx.out.waiting("reading the conversation", midway=True):
        return find_cut(ctx.client.iter_messages(agent), keep=keep, mark=mark)


def _after(ctx: Context, agent: str, cut: Cut) -> list[Message] | None:
    """Return the messages after a cut as they are now; ``None`` if those before it have changed."""
    first = ctx.client.messages(agent, limit=1).messages
    last = list(ctx.client.iter_messages(agent, since=cut.last - 1))
    stands = [message["seq"] for message in (*first, *last[:1])] == [cut.first, cut.last]
    return last[1:] if stands else None


def _counts(summary: Aside) -> Iterator[dict[str, Any]]:
    """Yield the records that count what the summary took; they are before it, so that an undo leaves them."""
    for record in summary.usage:
        yield {**record, "command": 1}


def _events(ctx: Context, agent: str, cut: Cut, summary: Aside, kept: list[Message]) -> Iterator[dict[str, Any]]:
    """Yield the command that puts the summary in the place of what it is about."""
    yield {"kind": "rewind", "data_json": encode({"before": cut.first}), "command": 2}
    prompts = ctx.client.history(agent, kinds=["system"], since=cut.first, live=True, inherited=True).events
    if prompts:  # which the beginning did not have
        yield {**text("system", ctx.client.agent(agent).system or ""), "command": 2}
    metadata: dict[str, Any] = {"provider": "reel", COMPACTED: True}
    if summary.model is not None:
        metadata["summarized_by"] = summary.model
    yield {**text("user", f"{_HEADING}\n\n{summary.text}"), "provider_metadata": metadata, "command": 2}
    for message in kept:
        copy = {name: message[name] for name in ("role", "content", "provider_metadata")}
        yield {**copy, "sent": message.get("sent", message["time"]), "command": 2}

"""Pushes as a person sees them at a terminal: what was said, what was taken away, and what others are writing."""

import sys
from collections.abc import Iterator, Sequence

from reel.base.errors import InvalidParams, NotFound
from reel.cli.commands.shared.reconnecting import retry_until_running
from reel.cli.line.context import Context
from reel.cli.line.names import Names
from reel.cli.screen.event_lines import EventLines
from reel.cli.screen.live_drafts import LiveDrafts
from reel.cli.screen.output import Line, Span, screen_height
from reel.cli.screen.transcript import Transcript, in_short
from reel.reading.wording import count, cut
from reel.replies import AgentInfo
from reel.wire.pushes import DraftPush, EventPush, Push, ResetPush

# How many of the messages that a command took away, or brought back, are listed.
_LISTED = 8


def require_agent(ctx: Context, name: str, agent: str) -> None:
    """Raise an error if the agent was purged: nothing can happen to it any more."""
    try:
        retry_until_running(ctx, lambda: ctx.client.agent(agent))
    except NotFound:
        raise NotFound(f"agent {name} was purged", agent=agent) from None


class PushPrinter:
    """Shows pushes to a person: whole messages if one agent is followed, else one line per event.

    Args:
        ctx: the command's context.
        info: the agent that is followed; ``None`` for all of them.
        transcript: lays out messages.
        since: the position from which on the log is shown; ``None`` for what happens from now on.
    """

    def __init__(
        self, ctx: Context, info: AgentInfo | None, transcript: Transcript, *, since: int | None = None
    ) -> None:
        self._ctx = ctx
        self._one = info is not None
        self._names = Names(ctx.client)
        self._transcript = transcript
        self._lines = EventLines(ctx.out.width, ctx.clock, self._name_of)
        self._drafts = LiveDrafts(None if self._one else self._name_of)
        # How many messages the conversation has; unknown if the log is shown from an earlier moment on.
        self._count = info.messages if info is not None and since is None else None

    def _name_of(self, agent: str) -> str:
        return retry_until_running(self._ctx, lambda: self._names.of(agent))

    def lose(self) -> None:
        """Forget the drafts after the connection was lost: the daemon sends those that are left again."""
        self._drafts.clear()

    def show(self, push: Push) -> None:
        """Show a push; :meth:`draw` shows the drafts."""
        out = self._ctx.out
        if isinstance(push, DraftPush):
            self._drafts.update(push)
        elif isinstance(push, ResetPush):
            out.transient(())
            sys.stdout.flush()
            out.warn(
                "the lines above may be wrong: something was redacted or purged, or the daemon's log was replaced or"
                " its state repaired"
            )
        elif self._one and push.message is not None:
            out.lines(self._transcript.message(push.message))
            self._count = push.count
        else:
            self._line(push)

    def pass_over(self, push: EventPush) -> None:
        """Take note of an event that is on the screen already."""
        self._count = push.count

    def draw(self, below: Sequence[Span] = ()) -> None:
        """Show what others are writing, and lines below that, until something is printed."""
        out = self._ctx.out
        if out.terminal:
            room = screen_height(sys.stdout) - len(below)
            out.transient([*self._drafts.lines(out.current_width(), room), *below])

    def _line(self, push: EventPush) -> None:
        """Show an event as the log does; the push does not contain its content, so ask for it."""
        out = self._ctx.out
        client = self._ctx.client
        page = retry_until_running(self._ctx, lambda: client.history(push.agent, since=push.seq - 1, limit=1))
        if self._one:
            out.lines(self._transcript.remark(self._lines.layout(event) for event in page.events))
            out.lines(self._moved(push))
            return
        name = f"{push.name}  "
        for event in page.events:
            out.line((name, "bold"), *self._lines.layout(event, margin=len(name)))

    def _moved(self, push: EventPush) -> Iterator[Line]:
        """Yield the messages that an event took away, and those that it brought back."""
        before, self._count = self._count, push.count
        if before is None or push.keep is None or push.count is None:
            return
        yield from self._listed("-", push.agent, push.seq - 1, before - push.keep)
        yield from self._listed("+", push.agent, push.seq, push.count - push.keep)

    def _listed(self, sign: str, agent: str, at: int, number: int) -> Iterator[Line]:
        """Yield the newest messages at a position, ``number`` of them, a line for each."""
        if number <= 0:
            return
        client, last = self._ctx.client, min(number, _LISTED)
        try:
            page = retry_until_running(self._ctx, lambda: client.messages(agent, last=last, at=at))
        except InvalidParams:
            return  # the database server has lost what was there
        if number > last:
            yield [(f"  {sign} {count(number - last, 'more message')}", "dim")]
        for message in page.messages:
            start = f"  {sign} #{message['seq']}  "
            room = None if self._ctx.out.width is None else self._ctx.out.width - len(start) - len(message["role"]) - 2
            said = in_short(message)
            yield [(start, "dim"), (message["role"], message["role"]), f"  {said if room is None else cut(said, room)}"]

"""The command ``follow``."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator

from reel.base.errors import InvalidParams, NotFound
from reel.cli.commands.shared.reconnecting import retry_until_running
from reel.cli.commands.show import transcript_for
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.cli.line.exits import describe_end
from reel.cli.line.names import Names
from reel.cli.line.stdin import EVENT, event_stdin
from reel.cli.screen.event_lines import EventLines
from reel.cli.screen.live_drafts import LiveDrafts
from reel.cli.screen.output import Line, screen_height, to_json
from reel.cli.screen.transcript import Transcript, in_short
from reel.daemon.lock_file import socket_to_use
from reel.reading.wording import count, cut
from reel.replies import AgentInfo
from reel.wire.pushes import DraftPush, EventPush, Push, ResetPush

# How many of the messages that a command took away, or brought back, are listed.
_LISTED = 8


def follow(ctx: Context) -> None:
    """Show events as they happen, until interrupted."""
    args = ctx.args
    if args.all and args.agent:
        raise UsageError("--all and -a cannot be combined")
    # The id, so that a rename does not matter. The client resolves a prefix here.
    info = None if args.all or not ctx.agent else ctx.client.agent(ctx.agent)
    agent = info and info.id
    since = args.since
    if args.last is not None and (agent is None or since is not None):
        raise UsageError("--last needs one conversation, and cannot be combined with --since")
    transcript = transcript_for(ctx, folds=True)
    if agent is not None and args.last is not None:
        since = _show_last(ctx, agent, transcript)
    printer = _PushPrinter(ctx, info, transcript)
    show = _printer(ctx, printer)
    # A lost connection is reported at once, and the retries are made here.
    ctx.client.give_up_after(0)
    with ctx.client.subscribe(agent, since, kinds=args.kind) as subscription:
        if not ctx.out.as_json and not args.exec:
            ctx.out.hint(f"following {info.name if info else 'all agents'}; Ctrl-C ends it")
        while True:
            push = retry_until_running(ctx, lambda: next(subscription), printer.lose)
            if info is not None and isinstance(push, ResetPush):
                _require_agent(ctx, info)
            show(push)
            sys.stdout.flush()


def _require_agent(ctx: Context, info: AgentInfo) -> None:
    """Raise an error if the agent was purged: nothing can happen to it any more."""
    try:
        retry_until_running(ctx, lambda: ctx.client.agent(info.id))
    except NotFound:
        raise NotFound(f"conversation {info.name} was purged", agent=info.id) from None


def _show_last(ctx: Context, agent: str, transcript: Transcript) -> int:
    """Show the newest messages, and return the seq up to which everything has been shown."""
    page = ctx.client.messages(agent, last=ctx.args.last or 1)
    if not ctx.args.exec:
        for message in page.messages if ctx.args.last else ():
            if ctx.out.as_json:
                ctx.out.document(message)
            else:
                ctx.out.lines(transcript.message(message))
        sys.stdout.flush()
    return page.head


def _printer(ctx: Context, printer: "_PushPrinter") -> Callable[[Push], None]:
    """Return the function that shows a push."""
    if ctx.args.exec:
        return lambda push: _run_command(ctx, push)
    if ctx.out.as_json:
        return lambda push: ctx.out.document(push) if isinstance(push, EventPush) else None
    return printer.show


class _PushPrinter:
    """Shows pushes to a person: whole messages if one agent is followed, else one line per event.

    Args:
        ctx: the command's context.
        info: the agent that is followed; ``None`` for all of them.
        transcript: lays out messages.
    """

    def __init__(self, ctx: Context, info: AgentInfo | None, transcript: Transcript) -> None:
        self._ctx = ctx
        self._one = info is not None
        self._names = Names(ctx.client)
        self._transcript = transcript
        self._lines = EventLines(ctx.out.width, ctx.clock, self._name_of)
        self._drafts = LiveDrafts(None if self._one else self._name_of)
        # How many messages the conversation has; unknown if the log is shown from an earlier moment on.
        self._count = info.messages if info is not None and ctx.args.since is None else None

    def _name_of(self, agent: str) -> str:
        return retry_until_running(self._ctx, lambda: self._names.of(agent))

    def lose(self) -> None:
        """Forget the drafts after the connection was lost: the daemon sends those that are left again."""
        self._drafts.clear()

    def show(self, push: Push) -> None:
        """Show a push, and below it the drafts."""
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
        if out.terminal:
            out.transient(self._drafts.lines(out.current_width(), screen_height(sys.stdout)))

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


def _run_command(ctx: Context, push: Push) -> None:
    """Run the command for an event, with the push as JSON on stdin and its main fields in the environment."""
    if not isinstance(push, EventPush):
        return
    known = {
        "REEL_AGENT": push.name,
        "REEL_SEQ": str(push.seq),
        "REEL_KIND": push.kind,
        "REEL_SOCKET": socket_to_use(ctx.socket),
    }
    with event_stdin(to_json(push).encode() + b"\n") as (stdin, name):
        environment = {**os.environ, **known, EVENT: name}
        ran = subprocess.run(  # noqa: S602 - the user's own command line
            ctx.args.exec or "", shell=True, check=False, stdin=stdin, env=environment
        )
    if ran.returncode:
        ctx.out.warn(f"{push.name} #{push.seq}: the command {describe_end(ran.returncode)}")

"""Commands that wait for events: follow, wait."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from reel import requests
from reel.cli.arguments import UsageError
from reel.cli.context import Context
from reel.cli.exits import OK, REFUSED
from reel.cli.output import to_json
from reel.cli.stdin import EVENT, event_stdin
from reel.cli.terminal import flat
from reel.cli.transcript import Transcript
from reel.errors import NotRunning
from reel.peer import RETRY_INTERVAL
from reel.pushes import DraftPush, EventPush, Push, ResetPush

R = TypeVar("R")

# How many seconds one request waits at most, before the next one is sent.
_LONGEST_WAIT = 30.0


def follow(ctx: Context) -> None:
    """Show events as they happen, until interrupted."""
    args = ctx.args
    if args.all and args.agent:
        raise UsageError("--all and -a cannot be combined")
    # The id, so that a rename does not matter. The client resolves a prefix here.
    agent = None if args.all or not ctx.agent else ctx.client.agent(ctx.agent).id
    since = args.since
    if args.last is not None:
        if agent is None or since is not None:
            raise UsageError("--last needs one agent, and cannot be combined with --since")
        since = _show_last(ctx, agent)
    show = _printer(ctx, agent)
    for push in _pushes(ctx, agent, since):
        show(push)
        sys.stdout.flush()


def _show_last(ctx: Context, agent: str) -> int:
    """Show the newest messages, and return the seq up to which everything has been shown."""
    page = ctx.client.messages(agent, last=ctx.args.last or 1)
    if not ctx.args.exec:
        transcript = Transcript(ctx.out.width, ctx.clock)
        for message in page.messages if ctx.args.last else ():
            if ctx.out.as_json:
                ctx.out.document(message)
            else:
                ctx.out.lines(transcript.message(message))
        sys.stdout.flush()
    return page.head


def _pushes(ctx: Context, agent: str | None, since: int | None) -> Iterator[Push]:
    """Yield the pushes of a subscription, across restarts of the daemon."""
    with ctx.client.subscribe(agent, since, kinds=ctx.args.kind) as subscription:
        while True:
            yield _retry_until_running(ctx, lambda: next(subscription))


def _retry_until_running(ctx: Context, ask: Callable[[], R]) -> R:
    """Try again until the daemon is running."""
    warned = False
    while True:
        try:
            return ask()
        except NotRunning:
            if not warned:
                ctx.out.warn("lost the connection to the daemon; waiting for it to come back")
            warned = True
            time.sleep(RETRY_INTERVAL)  # nothing signals that it is back


def _printer(ctx: Context, agent: str | None) -> Callable[[Push], None]:
    """Return the function that shows a push."""
    if ctx.args.exec:
        return lambda push: _run_command(ctx, push)
    if ctx.out.as_json:
        return lambda push: ctx.out.document(push) if isinstance(push, EventPush) else None
    return _PushPrinter(ctx, one=agent is not None).show


class _PushPrinter:
    """Shows pushes to a person: whole messages if one agent is followed, else one line per event."""

    def __init__(self, ctx: Context, *, one: bool) -> None:
        self._ctx = ctx
        self._one = one
        self._transcript = Transcript(ctx.out.width, ctx.clock)
        self._lines = ctx.event_lines

    def show(self, push: Push) -> None:
        """Show a push; a draft is shown until the next line comes."""
        out = self._ctx.out
        if isinstance(push, DraftPush):
            out.transient(f"… {flat(push.text[-1000:])}" if push.text else "")
        elif isinstance(push, ResetPush):
            out.warn("the lines above may be wrong: the daemon's log was replaced, or its state was repaired")
        elif self._one and push.message is not None:
            out.lines(self._transcript.message(push.message))
        else:
            self._line(push)

    def _line(self, push: EventPush) -> None:
        """Show an event as the log does; the push does not contain its content, so ask for it."""
        out = self._ctx.out
        client = self._ctx.client
        page = _retry_until_running(self._ctx, lambda: client.history(push.agent, since=push.seq - 1, limit=1))
        if self._one:
            out.lines(self._transcript.remark(self._lines.layout(event) for event in page.events))
            return
        name = f"{push.name}  "
        for event in page.events:
            out.line((name, "bold"), *self._lines.layout(event, margin=len(name)))


def _run_command(ctx: Context, push: Push) -> None:
    """Run the command for an event, with the push as JSON on stdin and its main fields in the environment."""
    if not isinstance(push, EventPush):
        return
    known = {"REEL_AGENT": push.name, "REEL_SEQ": str(push.seq), "REEL_KIND": push.kind, "REEL_SOCKET": ctx.socket}
    with event_stdin(to_json(push).encode() + b"\n") as (stdin, name):
        environment = {**os.environ, **known, EVENT: name}
        ran = subprocess.run(  # noqa: S602 - the user's own command line
            ctx.args.exec, shell=True, check=False, stdin=stdin, env=environment
        )
    if ran.returncode:
        ctx.out.warn(f"{push.name} #{push.seq}: the command exited with status {ran.returncode}")


def wait(ctx: Context) -> int:
    """Wait for an event and show it."""
    args = ctx.args
    since = ctx.client.agent(ctx.agent).head if args.since is None else args.since
    end = None if args.timeout is None else time.monotonic() + args.timeout
    while True:
        left = _LONGEST_WAIT if end is None else min(max(end - time.monotonic(), 0.0), _LONGEST_WAIT)
        reply = ctx.client.call(requests.wait(ctx.agent, since, args.kind, int(left * 1000)))
        if reply.events:
            break
        if end is not None and time.monotonic() >= end:
            ctx.out.warn(f"{ctx.agent}: nothing happened within {args.timeout:g} s")
            return REFUSED
        since = max(since, reply.head)
    if ctx.out.as_json:
        ctx.out.documents(reply.events)
    else:
        lines = ctx.event_lines
        ctx.out.lines(lines.layout(event) for event in reply.events)
    return OK

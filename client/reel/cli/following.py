"""The commands that go on: follow, wait."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from reel import requests
from reel.cli import event_lines
from reel.cli.arguments import UsageError
from reel.cli.context import Invocation
from reel.cli.exits import OK, REFUSED
from reel.cli.output import to_json
from reel.cli.stdin import EVENT, event_stdin
from reel.cli.terminal import flat
from reel.cli.transcript import Transcript
from reel.errors import NotRunning
from reel.peer import RETRY_INTERVAL
from reel.pushes import DraftPush, EventPush, Push, ResetPush

R = TypeVar("R")

# How long one request waits at most, in seconds; then comes the next.
_WAIT = 30.0


def follow(run: Invocation) -> None:
    """Show what happens, as it happens, until interrupted."""
    args = run.args
    if args.all and args.agent:
        raise UsageError("--all and -a do not go together")
    # A name that was typed in part becomes a whole one here.
    agent = None if args.all or not run.agent else run.client.agent(run.agent).id
    since = args.since
    if args.last is not None:
        if agent is None or since is not None:
            raise UsageError("--last goes with one agent, and not with --since")
        since = _show_last(run, agent)
    show = _shown(run, agent)
    for push in _pushes(run, agent, since):
        show(push)
        sys.stdout.flush()


def _show_last(run: Invocation, agent: str) -> int:
    """Show the newest messages; give the seq up to which everything has been shown."""
    page = run.client.messages(agent, last=run.args.last or 1)
    if not run.args.exec:
        paper = Transcript(run.out.width, run.clock)
        for message in page.messages if run.args.last else ():
            if run.out.as_json:
                run.out.document(message)
            else:
                run.out.lines(paper.message(message))
        sys.stdout.flush()
    return page.head


def _pushes(run: Invocation, agent: str | None, since: int | None) -> Iterator[Push]:
    """Give what happens, however often the daemon comes and goes."""
    with run.client.subscribe(agent, since, kinds=run.args.kind) as subscription:
        while True:
            yield _at_last(run, lambda: next(subscription))


def _at_last(run: Invocation, ask: Callable[[], R]) -> R:
    """Ask until the daemon is there to answer."""
    told = False
    while True:
        try:
            return ask()
        except NotRunning:
            if not told:
                run.out.warn("the daemon went away; waiting for it to come back")
            told = True
            time.sleep(RETRY_INTERVAL)  # nothing tells when it is back


def _shown(run: Invocation, agent: str | None) -> Callable[[Push], None]:
    """Choose how pushes are shown."""
    if run.args.exec:
        return lambda push: _execute(run, push)
    if run.out.as_json:
        return lambda push: run.out.document(push) if isinstance(push, EventPush) else None
    return _Reader(run, one=agent is not None).show


class _Reader:
    """Shows pushes to a person: what is said in full where one agent is followed, else a line for each event."""

    def __init__(self, run: Invocation, *, one: bool) -> None:
        self._run = run
        self._one = one
        self._paper = Transcript(run.out.width, run.clock)

    def show(self, push: Push) -> None:
        """Show a push; a draft only until something else comes."""
        out = self._run.out
        if isinstance(push, DraftPush):
            out.passing(f"… {flat(push.text[-1000:])}" if push.text else "")
        elif isinstance(push, ResetPush):
            out.warn("what was shown so far is not what the daemon has: its log was exchanged, or its state mended")
        elif self._one and push.message is not None:
            out.lines(self._paper.message(push.message))
        else:
            self._line(push)

    def _line(self, push: EventPush) -> None:
        """Show an event as the log does, whose words the push does not have."""
        out = self._run.out
        client = self._run.client
        page = _at_last(self._run, lambda: client.history(push.agent, since=push.seq - 1, limit=1))
        width = out.width
        if not self._one:
            name = f"{push.name}  "
            width = None if width is None else max(width - len(name), 20)
            for event in page.events:
                out.line((name, "bold"), *event_lines.layout(event, width, self._run.clock))
            return
        out.lines(self._paper.remark(event_lines.layout(event, width, self._run.clock) for event in page.events))


def _execute(run: Invocation, push: Push) -> None:
    """Run the command for an event: its push as JSON on stdin, and the most important of it in the environment."""
    if not isinstance(push, EventPush):
        return
    known = {"REEL_AGENT": push.name, "REEL_SEQ": str(push.seq), "REEL_KIND": push.kind, "REEL_SOCKET": run.socket}
    with event_stdin(to_json(push).encode() + b"\n") as (stdin, name):
        environment = {**os.environ, **known, EVENT: name}
        ran = subprocess.run(  # noqa: S602 - it is the user's own command line
            run.args.exec, shell=True, check=False, stdin=stdin, env=environment
        )
    if ran.returncode:
        run.out.warn(f"{push.name} seq {push.seq}: the command ended with status {ran.returncode}")


def wait(run: Invocation) -> int:
    """Wait until something happens, and show it."""
    args = run.args
    since = run.client.agent(run.agent).head if args.since is None else args.since
    end = None if args.timeout is None else time.monotonic() + args.timeout
    while True:
        left = _WAIT if end is None else min(max(end - time.monotonic(), 0.0), _WAIT)
        reply = run.client.call(requests.wait(run.agent, since, args.kind, int(left * 1000)))
        if reply.events:
            break
        if end is not None and time.monotonic() >= end:
            run.out.warn(f"{run.agent}: nothing came in {args.timeout:g} s")
            return REFUSED
        since = max(since, reply.head)
    if run.out.as_json:
        run.out.documents(reply.events)
    else:
        run.out.lines(event_lines.layout(event, run.out.width, run.clock) for event in reply.events)
    return OK

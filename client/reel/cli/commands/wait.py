"""The command ``wait``."""

import time

from reel import requests
from reel.cli.line.context import Context
from reel.cli.line.exits import OK, REFUSED

# How many seconds one request waits at most, before the next one is sent.
_LONGEST_WAIT = 30.0


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

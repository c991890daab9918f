"""The command ``log``."""

from reel import requests
from reel.cli.commands.shared.pager import paged
from reel.cli.line.context import Context


def log(ctx: Context) -> None:
    """Show the log, one line per event."""
    args = ctx.args
    call = requests.history(ctx.agent, since=args.since, kinds=args.kind, inherited=args.inherited or None)
    lines = ctx.event_lines
    # Left out here: a request for all other kinds would miss those that only a newer daemon has.
    without = frozenset(args.without or ())
    with paged(ctx, at_end=True):
        for page in ctx.client.pages(call):
            events = [event for event in page.events if event["kind"] not in without]
            if ctx.out.as_json:
                ctx.out.documents(events)
            else:
                ctx.out.lines(lines.layout(event) for event in events)

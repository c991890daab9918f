"""The command ``log``."""

from functools import partial

from reel import requests
from reel.cli.commands.shared.ending import ending
from reel.cli.commands.shared.pager import paged
from reel.cli.line.context import Context


def log(ctx: Context) -> None:
    """Show the log, one line per event."""
    args = ctx.args
    ask = partial(requests.history, ctx.agent, since=args.since, kinds=args.kind, inherited=args.inherited or None)
    lines = ctx.event_lines
    # Left out here: a request for all other kinds would miss those that only a newer daemon has.
    without = frozenset(args.without or ())
    with paged(ctx, at_end=True):
        if args.since is None and not without:  # nobody knows how many would be left of a thousand
            _, pages = ending(ctx, ask, lambda page: page.events, _whole(ctx))
        else:
            pages = ctx.client.pages(ask())
        for page in pages:
            events = [event for event in page.events if event["kind"] not in without]
            if ctx.out.as_json:
                ctx.out.documents(events)
            else:
                ctx.out.lines(lines.layout(event) for event in events)


def _whole(ctx: Context) -> list[str]:
    """Return the words of the command that shows all of the log."""
    args = ctx.args
    kinds = [word for kind in args.kind or () for word in ("--kind", kind)]
    return ["log", ctx.agent, "--since", "0", *kinds, *(["--inherited"] if args.inherited else [])]

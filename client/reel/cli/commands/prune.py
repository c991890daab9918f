"""The command ``prune``: what nothing can reach any more goes, for good."""

import time
from typing import Any

from reel.base.errors import ReelError
from reel.cli.commands.shared.erasing import agreed, tell_traces
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.cli.line.exits import OK, REFUSED
from reel.cli.line.names import Names
from reel.reading.moments import moment
from reel.reading.wording import count, size
from reel.replies import Pruned


def prune(ctx: Context) -> int:
    """Remove what was replaced or undone before a point."""
    args = ctx.args
    if (args.before is None) == (args.keep_last is None):
        raise UsageError("say up to where with --before or --keep-last: one of both")
    point = _point(ctx)
    hello = ctx.client.server or ctx.client.connect().server
    if hello is not None and "prune" not in hello.features:
        raise ReelError("the daemon is older than this command; restart it: reel stop; reel start")
    tried = ctx.client.prune(ctx.agent, **point, if_seq=args.if_seq, dry_run=True)
    if args.dry_run or not tried.pruned:
        _tell(ctx, tried, "would be pruned" if args.dry_run else "pruned")
        return OK
    if not ctx.out.as_json and not args.yes:
        _tell(ctx, tried, "would be pruned")
    if not agreed(ctx, f"Prune {count(tried.pruned, 'event')} for good?"):
        return REFUSED
    # What a time stood for is fixed now; what was undone meanwhile goes with the rest.
    _tell(ctx, ctx.client.prune(ctx.agent, before=tried.before, if_seq=args.if_seq), "pruned")
    return OK


def _point(ctx: Context) -> dict[str, Any]:
    typed = ctx.args.before
    if typed is None:
        kept = ctx.client.messages(ctx.agent, last=ctx.args.keep_last).messages
        return {"before": kept[0]["seq"] if kept else 1}
    if (seq := typed.removeprefix("#")).isascii() and seq.isdigit():
        return {"before": int(seq)}
    until = moment(typed, time.time())
    if until is None or until < 0:
        raise UsageError(f"--before: {typed!r} is no seq and no time, such as 2026-11-01, yesterday or 30d")
    return {"until": until}


def _tell(ctx: Context, reply: Pruned, what: str) -> None:
    if ctx.out.as_json:
        ctx.out.document(reply)
        return
    if not reply.pruned:
        ctx.out.line(f"there is nothing to prune before #{reply.before}")
    else:
        ctx.out.line(f"{count(reply.pruned, 'event')} before #{reply.before} {what}: {size(reply.bytes)}")
    if reply.kept:
        heirs = f" for {Names(ctx.client).listed(reply.heirs)}" if reply.heirs else ""
        ctx.out.line(f"{count(reply.kept, 'event')} more stay{heirs}: a mark, a redo or another conversation has them")
    tell_traces(ctx, reply)

"""The command ``purge``: agents and their events are removed, for good."""

from collections.abc import Sequence
from typing import Any

from reel.base.errors import NotFound
from reel.cli.commands.shared.erasing import NAME_THEM, agreed, backups_of, tell_backups, warn_of_backups
from reel.cli.commands.shared.origins import imported, imported_among, keep_away, tell_sources
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.cli.line.exits import OK, REFUSED
from reel.cli.line.names import Names
from reel.reading.wording import count, size
from reel.replies import Purged, Retained


def purge(ctx: Context) -> int:
    """Remove agents and their events."""
    args = ctx.args
    if bool(args.retention) == bool(ctx.words):
        raise UsageError("name the conversations, or give --retention: one of both")
    if args.retention:
        return _retain(ctx)
    if args.now:
        raise UsageError("--now goes with --retention; conversations that are named are purged at once")
    how: dict[str, Any] = {"cascade": args.cascade or None, "force": args.force or None}
    backups = backups_of(ctx)
    tried = [ctx.client.purge(agent, **how, backups=backups, dry_run=True) for agent in ctx.words]
    names = Names(ctx.client)
    going = list(dict.fromkeys(uid for reply in tried for uid in reply.purged))
    if not ctx.out.as_json or args.dry_run:
        for reply in tried:
            _describe(ctx, reply, names)
    if args.dry_run or not args.yes:
        warn_of_backups(ctx, NAME_THEM)
    if args.dry_run:
        return OK
    if not agreed(ctx, f"Purge {count(len(going), 'conversation')} for good?"):
        return REFUSED
    origins = imported_among(ctx, going)
    keep_away(ctx, origins)
    _purge_each(ctx, tried, {**how, "backups": backups}, names)
    tell_sources(ctx, origins)
    warn_of_backups(ctx, _repeat_purge(how, tried))
    return OK


def _purge_each(ctx: Context, tried: list[Purged], how: dict[str, Any], names: Names) -> None:
    gone: set[str] = set()
    for reply in tried:
        if reply.agent in gone:
            continue
        try:
            done = ctx.client.purge(reply.agent, **how)
        except NotFound:
            ctx.out.warn(f"{names.of(reply.agent)} is gone already")
            continue
        gone.update(done.purged)
        if ctx.out.as_json:
            ctx.out.document(done)
            continue
        if done.purged:
            ctx.out.line(f"{names.listed(done.purged)} purged: {count(done.events, 'event')}")
        tell_backups(ctx, done)


def _repeat_purge(how: dict[str, Any], done: Sequence[Purged | Retained]) -> str:
    """Return the command that purges removed agents from backups: by id, because their names are free."""
    gone = dict.fromkeys(uid for reply in done for uid in reply.purged or [getattr(reply, "agent", "")])
    options = "".join(f" --{name}" for name, is_set in how.items() if is_set)
    return f"purge them there as well with: reel purge {' '.join(gone)}{options} --backup FILE"


def _retain(ctx: Context) -> int:
    """Remove what is older than the daemon's settings allow: agents, and what nothing reaches in the others."""
    tried = ctx.client.retention(dry_run=True, now=ctx.args.now or None)
    waits = [time for time, is_any in ((tried.after, tried.agents), (tried.history_after, tried.pruned)) if is_any]
    applies = max((time for time in waits if time is not None), default=None)
    is_any = bool(tried.agents or tried.pruned)
    if not ctx.out.as_json:
        _list_old(ctx, tried)
    elif ctx.args.dry_run or not is_any or applies is not None:
        ctx.out.document(tried)
    if not is_any:
        return OK
    if applies is not None:
        _warn_of_notice(ctx, applies, "would be" if ctx.args.dry_run else "was")
        return OK if ctx.args.dry_run else REFUSED
    if ctx.args.dry_run:
        return OK
    if not agreed(ctx, _question(tried)):
        return REFUSED
    return _remove_old(ctx)


def _remove_old(ctx: Context) -> int:
    # The replies name a thousand agents at most.
    before = imported(ctx)
    done = ctx.client.retention(now=ctx.args.now or None)
    if before:
        left = {row.id for row in ctx.client.iter_agents()}
        keep_away(ctx, {agent: origin for agent, origin in before.items() if agent not in left})
    if ctx.out.as_json:
        ctx.out.document(done)
    if done.agents and done.after is not None:  # an older daemon does not say so before
        _warn_of_notice(ctx, done.after, "was")
        return REFUSED
    if not ctx.out.as_json:
        _tell_what_went(ctx, done)
    if done.purged_count:
        warn_of_backups(ctx, _repeat_purge({}, [done]))
    return OK


def _tell_what_went(ctx: Context, done: Retained) -> None:
    if done.agents:
        ctx.out.line(f"{count(done.purged_count, 'conversation')} purged: {count(done.events, 'event')}")
    if used := done.agents_count - done.purged_count:
        ctx.out.line(f"{count(used, 'conversation')} left for the next time, because somebody uses {_it(used)}")
    if done.pruned:
        ctx.out.line(f"{_histories(done)} pruned")


def _list_old(ctx: Context, tried: Retained) -> None:
    """Print which agents are too old, or why none is purged."""
    for agent in tried.agents:
        ctx.out.line(f"{agent.name}  {ctx.clock(agent.updated)}")
    if tried.agents_count > len(tried.agents):
        ctx.out.line(f"and {count(tried.agents_count - len(tried.agents), 'more conversation')}")
    if tried.off:
        ctx.out.line("retention is off: no setting says after how many days a conversation is too old")
    elif tried.agents:
        events = "" if tried.after is not None else f": {count(tried.events, 'event')}"
        ctx.out.line(f"{count(tried.agents_count, 'conversation')} too old{events}")
    elif not tried.followed_count and not tried.pruned:
        ctx.out.line("no conversation is too old")
    if tried.pruned:
        ctx.out.line(f"{_histories(tried)} that nothing reaches any more")
    if tried.followed_count:
        followed = count(tried.followed_count, "conversation")
        ctx.out.line(f"{followed} too old and left, because somebody follows {_it(tried.followed_count)}")


def _histories(told: Retained) -> str:
    """Return what is pruned, and how much that is."""
    where = count(told.histories_count, "living conversation")
    return f"{count(told.pruned, 'event')} of {where}, {size(told.pruned_bytes)} of text,"


def _question(tried: Retained) -> str:
    """Return what is asked before anything is removed."""
    parts = [f"Purge {count(tried.agents_count, 'conversation')}"] if tried.agents else []
    parts += [f"prune {count(tried.pruned, 'event')}"] if tried.pruned else []
    asked = " and ".join(parts)
    return f"{asked[0].upper()}{asked[1:]} for good?"


def _it(number: int) -> str:
    return "it" if number == 1 else "them"


def _warn_of_notice(ctx: Context, after: int, verb: str) -> None:
    ctx.out.warn(
        f"nothing {verb} purged or pruned: the settings are new, or reach further than before;"
        f" they apply from {ctx.clock(after)} on, and now with: reel purge --retention --now"
    )


def _describe(ctx: Context, reply: Purged, names: Names) -> None:
    """Print what would go, and what would stay."""
    if ctx.out.as_json:
        ctx.out.document(reply)
        return
    if not reply.purged:
        ctx.out.line(f"{reply.agent} is gone; it is purged from backups only")
        return
    ctx.out.line(f"{names.listed(reply.purged)}: {count(reply.events, 'event')}")
    if reply.kept:
        ctx.out.line(f"  {count(reply.kept, 'event')} will stay as the past of {names.listed(reply.heirs)}")

"""Commands that permanently remove content: redact, purge."""

import glob
import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from reel.base.errors import NotFound
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.cli.line.exits import OK, REFUSED
from reel.cli.line.names import Names
from reel.reading.wording import count
from reel.replies import Purged, Redacted, Retained

# Matches that are shown, and characters of each.
_SHOWN = 20
_WIDTH = 60
# Backups that are listed.
_LISTED = 3
_NAME_THEM = "name them with --backup FILE"


def redact(ctx: Context) -> int:
    """Replace texts, or events, by a marker."""
    args = ctx.args
    if sum(map(bool, (args.match, args.text, args.seq))) != 1:
        raise UsageError("name what to redact with --match, --text or --seq: one of them")
    what: dict[str, Any] = {"seqs": args.seq or None, "text": args.text, "pattern": _compiled(args.match)}
    how: dict[str, Any] = {"backups": _backups(ctx), "if_seq": args.if_seq}
    tried = ctx.client.redact(ctx.agent, **what, **how, dry_run=True)
    if args.match:  # redact exactly what was shown, and nothing that arrives meanwhile
        what = {"text": list(tried.texts)}
        if not ctx.out.as_json:
            _show(ctx, what["text"])
    if not (tried.redacted or tried.affected or how["backups"]):
        return _nothing(ctx, tried)
    if args.dry_run:
        _tell(ctx, tried, "would be redacted")
    if args.dry_run or not args.yes:
        _warn_of_backups(ctx, _NAME_THEM)
    if args.dry_run:
        return OK
    if not _agreed(ctx, f"Redact {count(tried.redacted, 'event')} for good?", "redact"):
        return REFUSED
    _tell(ctx, ctx.client.redact(ctx.agent, **what, **how), "redacted")
    # A pattern would find nothing any more.
    again = "repeat it with --text and --backup FILE" if args.match else "repeat it with --backup FILE"
    _warn_of_backups(ctx, f"{again}, or remove them")
    return OK


def _nothing(ctx: Context, tried: Redacted) -> int:
    if ctx.out.as_json:
        ctx.out.document(tried)
    else:
        ctx.out.line("there is nothing to redact")
    return OK


def _tell(ctx: Context, reply: Redacted, what: str) -> None:
    if ctx.out.as_json:
        ctx.out.document(reply)
        return
    ctx.out.line(f"{count(reply.redacted, 'event')} {what}, in the past of {Names(ctx.client).listed(reply.affected)}")
    _tell_backups(ctx, reply)


def _tell_backups(ctx: Context, reply: Redacted | Purged) -> None:
    for backup in reply.backups:
        ctx.out.line(f"{backup.path}: {count(backup.events, 'event')}")
    if reply.traces:
        ctx.out.warn(
            f"traces are left in the database; the daemon removes them as soon as it can, and says in"
            f" `{ctx.command('status')}` why it cannot yet"
        )


def _warn_of_backups(ctx: Context, remedy: str) -> None:
    """Print which backups may still contain what is erased: scheduled ones, and copies from before a migration."""
    stats = ctx.client.stats()
    named = _backups(ctx) or []
    left = [path for path in _known_backups(stats) if path not in named]
    if left:
        more = f" and {count(len(left) - _LISTED, 'older one')}" if len(left) > _LISTED else ""
        ctx.out.warn(f"these may still have it: {', '.join(left[:_LISTED])}{more}; {remedy}")


def _known_backups(stats: dict[str, Any]) -> list[str]:
    """Return the paths of the backups that the daemon knows, and of the copies beside its database, the newest first.

    Args:
        stats: what the daemon says of itself.
    """
    database = str(stats["database"])
    stem = glob.escape(database.removesuffix(".db"))
    patterns = [f"{stem}-before-*.db", f"{stem}-version-*-event-*.db"]
    if (directory := stats.get("scheduled_backup_directory")) is not None:
        patterns.append(f"{glob.escape(directory)}/*.db")
    found = []
    for path in (path for pattern in patterns for path in glob.glob(pattern)):
        with suppress(OSError):  # an older one goes when a newer one was made
            found.append((os.stat(path).st_mtime, path))
    return [path for _, path in sorted(found, reverse=True)]


def _backups(ctx: Context) -> list[str] | None:
    """Return the paths of the backups that were named; a relative one would mean the daemon's directory."""
    return [os.path.abspath(path) for path in ctx.args.backup or ()] or None


def _compiled(pattern: str | None) -> re.Pattern[str] | None:
    try:
        return None if not pattern else re.compile(pattern)
    except re.error as error:
        raise UsageError(f"--match: {pattern!r} is not a regular expression: {error}") from None


def _show(ctx: Context, texts: list[str]) -> None:
    for text in texts[:_SHOWN]:
        shown = text if len(text) <= _WIDTH else f"{text[:_WIDTH]}…"
        ctx.out.line(f"  {shown!r}")
    if len(texts) > _SHOWN:
        ctx.out.line(f"  and {count(len(texts) - _SHOWN, 'other text')}")


def purge(ctx: Context) -> int:
    """Remove agents and their events."""
    args = ctx.args
    if bool(args.retention) == bool(ctx.words):
        raise UsageError("name the agents, or give --retention: one of both")
    if args.retention:
        return _retain(ctx)
    if args.now:
        raise UsageError("--now goes with --retention; agents that are named are purged at once")
    how: dict[str, Any] = {"cascade": args.cascade or None, "force": args.force or None}
    backups = _backups(ctx)
    tried = [ctx.client.purge(agent, **how, backups=backups, dry_run=True) for agent in ctx.words]
    names = Names(ctx.client)
    going = list(dict.fromkeys(uid for reply in tried for uid in reply.purged))
    if not ctx.out.as_json or args.dry_run:
        for reply in tried:
            _describe(ctx, reply, names)
    if args.dry_run or not args.yes:
        _warn_of_backups(ctx, _NAME_THEM)
    if args.dry_run:
        return OK
    if not _agreed(ctx, f"Purge {count(len(going), 'agent')} for good?", "purge"):
        return REFUSED
    _purge_each(ctx, tried, {**how, "backups": backups}, names)
    _warn_of_backups(ctx, _repeat_purge(how, tried))
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
        _tell_backups(ctx, done)


def _repeat_purge(how: dict[str, Any], done: Sequence[Purged | Retained]) -> str:
    """Return the command that purges removed agents from backups: by id, because their names are free."""
    gone = dict.fromkeys(uid for reply in done for uid in reply.purged or [getattr(reply, "agent", "")])
    options = "".join(f" --{name}" for name, is_set in how.items() if is_set)
    return f"purge them there as well with: reel purge {' '.join(gone)}{options} --backup FILE"


def _retain(ctx: Context) -> int:
    """Remove the agents that are older than the daemon's settings allow."""
    now = ctx.args.now or None
    tried = ctx.client.retention(dry_run=True, now=now)
    if ctx.out.as_json:
        if ctx.args.dry_run or not tried.agents or tried.after is not None:
            ctx.out.document(tried)
    else:
        _list_old(ctx, tried)
    if not tried.agents:
        return OK
    if tried.after is not None:
        _warn_of_notice(ctx, tried.after, "would be" if ctx.args.dry_run else "was")
        return OK if ctx.args.dry_run else REFUSED
    if ctx.args.dry_run:
        return OK
    if not _agreed(ctx, f"Purge {count(tried.agents_count, 'agent')} for good?", "purge --retention"):
        return REFUSED
    done = ctx.client.retention(now=now)
    if ctx.out.as_json:
        ctx.out.document(done)
    if done.after is not None:  # an older daemon does not say so before
        _warn_of_notice(ctx, done.after, "was")
        return REFUSED
    if not ctx.out.as_json:
        ctx.out.line(f"{count(done.purged_count, 'agent')} purged: {count(done.events, 'event')}")
        if used := done.agents_count - done.purged_count:
            ctx.out.line(f"{count(used, 'agent')} left for the next time, because somebody uses {_it(used)}")
    _warn_of_backups(ctx, _repeat_purge({}, [done]))
    return OK


def _list_old(ctx: Context, tried: Retained) -> None:
    """Print which agents are too old, or why none is purged."""
    for agent in tried.agents:
        ctx.out.line(f"{agent.name}  {ctx.clock(agent.updated)}")
    if tried.agents_count > len(tried.agents):
        ctx.out.line(f"and {count(tried.agents_count - len(tried.agents), 'more agent')}")
    if tried.off:
        ctx.out.line("retention is off: no setting says after how many days an agent is too old")
    elif tried.agents:
        events = "" if tried.after is not None else f": {count(tried.events, 'event')}"
        ctx.out.line(f"{count(tried.agents_count, 'agent')} too old{events}")
    elif not tried.followed_count:
        ctx.out.line("no agent is too old")
    if tried.followed_count:
        followed = count(tried.followed_count, "agent")
        ctx.out.line(f"{followed} too old and left, because somebody follows {_it(tried.followed_count)}")


def _it(number: int) -> str:
    return "it" if number == 1 else "them"


def _warn_of_notice(ctx: Context, after: int, verb: str) -> None:
    ctx.out.warn(
        f"nothing {verb} purged: the settings are new, or reach further than before;"
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


def _agreed(ctx: Context, question: str, command: str) -> bool:
    """Ask whether to do it; without a person it takes ``--yes``."""
    if ctx.args.yes:
        return True
    if not (sys.stdin.isatty() and ctx.out.tells_a_person):
        ctx.out.warn(f"nothing was removed: there is no terminal to confirm it on; use reel {command} --yes")
        return False
    try:
        answer = input(f"{question} This cannot be undone. [y/N] ")
    except EOFError:
        return False
    return answer.strip().lower() in ("y", "yes")

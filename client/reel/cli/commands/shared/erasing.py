"""What the commands share that erase: they ask first, and say which backups may still have what was erased."""

import glob
import os
import sys
from contextlib import suppress
from typing import Any

from reel.cli.line.context import Context
from reel.reading.wording import count
from reel.replies import Pruned, Purged, Redacted

# Backups that are listed.
_LISTED = 3
# What to do about them.
NAME_THEM = "name them with --backup FILE"


def tell_backups(ctx: Context, reply: Redacted | Purged) -> None:
    """Print what was erased in backups that were named, and whether traces are left in the database."""
    for backup in reply.backups:
        ctx.out.line(f"{backup.path}: {count(backup.events, 'event')}")
    tell_traces(ctx, reply)


def tell_traces(ctx: Context, reply: Pruned | Redacted | Purged) -> None:
    """Print whether traces are left in the database."""
    if reply.traces:
        ctx.out.warn(
            f"traces are left in the database; the daemon removes them as soon as it can, and says in"
            f" `{ctx.command('status')}` why it cannot yet"
        )


def warn_of_backups(ctx: Context, remedy: str) -> None:
    """Print which backups may still contain what is erased: scheduled ones, and copies from before a migration."""
    stats = ctx.client.stats()
    named = backups_of(ctx) or []
    left = [path for path in known_backups(stats) if path not in named]
    if left:
        more = f" and {count(len(left) - _LISTED, 'older one')}" if len(left) > _LISTED else ""
        ctx.out.warn(f"these may still have it: {', '.join(left[:_LISTED])}{more}; {remedy}")


def known_backups(stats: dict[str, Any]) -> list[str]:
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


def backups_of(ctx: Context) -> list[str] | None:
    """Return the paths of the backups that were named; a relative one would mean the daemon's directory."""
    return [os.path.abspath(path) for path in ctx.args.backup or ()] or None


def agreed(ctx: Context, question: str) -> bool:
    """Ask whether to do it; without a person it takes ``--yes``."""
    if ctx.args.yes:
        return True
    if not (sys.stdin.isatty() and ctx.out.tells_a_person):
        ctx.out.warn("nothing was removed: there is no terminal to confirm it on; repeat the command with --yes")
        return False
    try:
        answer = input(f"{question} This cannot be undone. [y/N] ")
    except EOFError:
        return False
    return answer.strip().lower() in ("y", "yes")

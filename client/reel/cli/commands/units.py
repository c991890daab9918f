"""The command ``units``: the files for the supervisor of this system."""

import os
import subprocess
from collections.abc import Sequence
from shlex import join

from reel.cli.commands.shared.installed import write
from reel.cli.commands.shared.unit_files import (
    DAEMON_LABEL,
    IMPORT,
    IMPORT_LABEL,
    SOCKET,
    daemon_files,
    import_file,
    import_files,
    is_launchd,
    place,
)
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.cli.line.exits import OK, REFUSED

# Seconds for an order to the supervisor, which may have to wait for the end of an import.
_WITHIN = 120.0
_SYSTEMCTL = ("systemctl", "--user")
_LINGER = "it ends when you log out, and goes on when you log in; to let it go on all the time: loginctl enable-linger"


def units(ctx: Context) -> int:
    """Print the files for the supervisor of this system, or install them for this user."""
    if ctx.args.remove and not ctx.args.importing:
        raise UsageError("--remove goes with --import: it removes the unit that imports")
    if ctx.args.remove:
        return _remove(ctx)
    if ctx.args.importing:
        return _keep_importing(ctx)
    files = daemon_files()
    for path, text in files.items():
        if ctx.args.install:
            write(path, text)
            ctx.out.line(f"installed {path}")
        else:
            ctx.out.lines([line] for line in [f"# {path}", *text.splitlines(), ""])
    if ctx.args.install:
        ctx.out.line(f"next: {_next()}")
    return OK


def _next() -> str:
    if is_launchd():
        return f"launchctl bootstrap gui/{os.getuid()} {place(DAEMON_LABEL)}"
    return "systemctl --user daemon-reload && systemctl --user enable --now reeld.socket"


def _keep_importing(ctx: Context) -> int:
    """Install the unit that imports, with those of the daemon, and let the supervisor start it."""
    for path, text in {**daemon_files(), **import_files(os.environ)}.items():
        write(path, text)
        ctx.out.line(f"installed {path}")
    if is_launchd():
        domain = f"gui/{os.getuid()}"
        _ordered("launchctl", "bootout", f"{domain}/{IMPORT_LABEL}")  # of an earlier installation; most have none
        orders = [["launchctl", "bootstrap", domain, str(import_file())]]
    else:
        orders = [
            [*_SYSTEMCTL, "daemon-reload"],
            # Not --now: a daemon may be running that systemd has not started.
            [*_SYSTEMCTL, "enable", SOCKET, IMPORT],
            [*_SYSTEMCTL, "restart", IMPORT],
        ]
    if not _carried_out(ctx, orders):
        return REFUSED
    ctx.out.line(f"started; `{ctx.command('status')}` says what was read")
    if not is_launchd():
        ctx.out.line(_LINGER)
    return OK


def _remove(ctx: Context) -> int:
    """End the import, and remove its unit; those of the daemon stay."""
    path = import_file()
    if not path.exists():
        ctx.out.warn(f"{path} is not there; no unit imports")
        return REFUSED
    end = ["launchctl", "bootout", f"gui/{os.getuid()}/{IMPORT_LABEL}"]
    is_done = _carried_out(ctx, [end] if is_launchd() else [[*_SYSTEMCTL, "disable", "--now", IMPORT]])
    path.unlink()
    ctx.out.line(f"removed {path}")
    if is_done and not is_launchd():
        is_done = _carried_out(ctx, [[*_SYSTEMCTL, "daemon-reload"]])
    return OK if is_done else REFUSED


def _carried_out(ctx: Context, orders: Sequence[Sequence[str]]) -> bool:
    """Give orders to the supervisor; if one fails, print it and those that follow, for a person to repeat."""
    for number, order in enumerate(orders):
        if (why := _ordered(*order)) is not None:
            ctx.out.warn(f"{join(order)}: {why}")
            ctx.out.line(f"next: {' && '.join(map(join, orders[number:]))}")
            return False
    return True


def _ordered(*order: str) -> str | None:
    """Give an order; return why it failed, or ``None``."""
    try:
        ran = subprocess.run(  # noqa: S603 - the supervisor's own command
            order, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=_WITHIN
        )
    except FileNotFoundError:
        return "it is not installed here"
    except subprocess.TimeoutExpired:
        return f"it did not answer within {_WITHIN:.0f} s"
    return None if not ran.returncode else (ran.stderr.strip().splitlines() or ["it gave no reason"])[0]

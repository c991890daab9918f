"""The command ``socket``."""

from reel.cli.line.context import Context
from reel.daemon.lock_file import socket_to_use


def socket(ctx: Context) -> None:
    """Print the path of the daemon's socket; if it went away, the path of another one that it listens on."""
    found = socket_to_use(ctx.socket)
    ctx.report({"socket": found}, found)

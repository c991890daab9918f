"""The command ``start``."""

import os

from reel.cli.line.context import Context
from reel.cli.line.exits import OK, REFUSED
from reel.daemon import starting
from reel.daemon.database_url import is_url, printable


def start(ctx: Context) -> int:
    """Start the daemon unless it is running, and wait until it answers."""
    wanted = ctx.args.database
    if wanted and not is_url(wanted):
        wanted = os.path.abspath(wanted)
    begin = starting.autostart if ctx.args.unless_stopped else starting.start
    with ctx.out.waiting("starting the daemon"):
        started = begin(ctx.socket, database=wanted)
    ctx.client.connect()  # what listens may be too busy to answer, or no daemon
    if wanted and not started and (kept := ctx.client.stats()["database"]) != printable(wanted):
        end = ctx.command("stop")
        ctx.out.warn(f"the daemon on this socket uses {kept}; stop it with: {end}, or name another --socket")
        return REFUSED
    reply = {"socket": ctx.socket, "started": started}
    ctx.report(reply, f"{'started' if started else 'already running'}: {ctx.socket}", *(["stop"] if started else []))
    return OK
